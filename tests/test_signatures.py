"""The shipped catalogue: every file is checked, claims its own samples, and says nothing grave about a healthy log."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from k3logs.signatures.catalog import SHIPPED, Catalog
from k3logs.signatures.match import claim, match
from k3logs.signatures.resembles import mask, resembles
from k3logs.signatures.signature import CATEGORIES, PHASES

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


def samples(catalog: Catalog) -> list[tuple[str, str]]:
    return [(s.id, sample.text) for s in catalog.signatures for sample in s.samples]


def test_catalogue_is_large_enough(catalog: Catalog) -> None:
    assert len(catalog) >= 80


def test_each_family_has_its_own_folder(catalog: Catalog) -> None:
    for signature in catalog.signatures:
        family = Path(signature.path).parent.name
        assert signature.id.rstrip("0123456789").lower() == family, signature.path


def test_actions_say_when_and_causes_have_one(catalog: Catalog) -> None:
    for signature in catalog.signatures:
        assert all(action.do and action.when for action in signature.actions), signature.id
        if signature.role in ("initiating", "depends"):
            assert signature.actions, signature.id


def test_dmabuf_advice_is_conditional(catalog: Catalog) -> None:
    signature = catalog.by_id("NCCL001")
    assert signature is not None and signature.role == "initiating"
    action = next(a for a in signature.actions if "NCCL_DMABUF_ENABLE=0" in a.do)
    assert "nvidia_peermem is loaded" in action.when
    asked = " ".join(action.collect)
    assert all(command in asked for command in ("lsmod", "ibv_devinfo", "ip link"))


def test_words_are_the_contracts() -> None:
    schema = SHARED / "contract" / "verdict.schema.json"
    if not schema.is_file():
        pytest.skip("the contract is not at hand")
    defs = json.loads(schema.read_text())["$defs"]
    assert set(CATEGORIES) == set(defs["category"]["enum"])
    assert set(PHASES) == set(defs["phase"]["enum"]) - {"unknown"}


def test_match_equals_brute_force(catalog: Catalog) -> None:
    texts = [text for _, text in samples(catalog)]
    texts += [sample.text for s in catalog.signatures for sample in s.not_samples]
    texts += texts[:20]  # repeated texts share one answer
    brute = [claim(catalog, text) for text in texts]
    assert len(texts) > 200
    assert match(catalog, texts) == brute
    assert match(catalog, pl.Series(texts)) == brute
    assert [hit for at in range(0, len(texts), 10) for hit in match(catalog, texts[at : at + 10])] == brute  # the path without polars


def test_every_sample_is_claimed_by_its_signature(catalog: Catalog) -> None:
    wrong = [(id, claim(catalog, text)[0], text[:120]) for id, text in samples(catalog) if claim(catalog, text)[0] != id]
    assert wrong == []


def test_patterns_mean_the_same_to_rust(catalog: Catalog) -> None:
    texts = pl.Series("text", [text for _, text in samples(catalog)])
    for signature in catalog.signatures:
        rust = texts.str.contains(signature.pattern).to_list()
        single = Catalog([signature])
        literal = [any(part in text for part in signature.literals) for text in texts]
        python = [claim(single, text)[0] is not None for text in texts]
        assert [r and has for r, has in zip(rust, literal, strict=True)] == python, signature.id


def test_gate_finds_every_sample_that_may_open_it(catalog: Catalog) -> None:
    texts = [sample.text for s in catalog.signatures if s.gate for sample in s.samples]
    assert pl.Series(texts).str.contains(catalog.gate_pattern()).all()


def test_levels_and_dialects_narrow_only_where_known(catalog: Catalog) -> None:
    text = "Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524"
    hit = ("NCCL001", {"errno": "524"})
    assert match(catalog, [text] * 5, levels=["WARN", "INFO", None, "E", "WARNING"]) == [hit, (None, {}), hit, hit, hit]


def test_quoting_text_wins_over_what_it_quotes(catalog: Catalog) -> None:
    text = "RuntimeError: Worker failed with error 'CUDA error: an illegal memory access was encountered', please check the stack trace above"
    assert claim(catalog, text)[0] == "VLLM002"


def test_nothing_fires_inside_prompts_settings_and_dumps(catalog: Catalog) -> None:
    shields = {
        "VLLM025": "Received request cmpl-7f00aa-0: prompt: '{}', params: SamplingParams(n=1)",
        "VLLM024": "non-default args: {{'model': '{}', 'port': 8000}}",
        "VLLM023": "Dumping scheduler output for model execution: SchedulerOutput(scheduled_new_reqs=['{}'])",
    }
    for shield, frame in shields.items():
        for id, text in samples(catalog):
            signature = catalog.by_id(id)
            assert signature is not None
            if not (signature.quotes and not signature.gate):
                assert claim(catalog, frame.format(text))[0] == shield, (id, text)


def test_samples_are_claimed_after_peeling_too(catalog: Catalog) -> None:
    reading = pytest.importorskip("k3logs.cli.reading")
    wanted = [(signature, sample.line) for signature in catalog.signatures for sample in signature.samples]
    owner = [n for n, (_, line) in enumerate(wanted) for _ in line.split("\n")]
    texts: dict[int, list[tuple[str, str]]] = {}
    for row in reading.readings("\n".join(line for _, line in wanted).encode(), ()):
        texts.setdefault(owner[row.line - 1], []).append((row.message, row.fields.get("level", "")))
    missed = []
    for n, (signature, line) in enumerate(wanted):
        whole = ("\n".join(message for message, _ in texts[n]), texts[n][0][1])
        if signature.id not in {claim(catalog, text, level=level)[0] for text, level in [whole, *texts[n]]}:
            missed.append((signature.id, line[:100]))
    assert missed == []


def test_long_texts_and_odd_characters_are_harmless(catalog: Catalog) -> None:
    texts = ["", "\x00\udcff".encode("utf-8", "replace").decode(), "x" * 3_000_000, "é" * 100 + "CUDA out of memory."]
    assert [hit[0] for hit in match(catalog, texts)] == [None, None, None, "CUDA010"]


def test_resembles_names_the_nearest_sample(catalog: Catalog) -> None:
    near = "RuntimeError: rank 7: Timed out after 99 seconds waiting on clients. 3/16 client joined."
    told = resembles(catalog, near, cutoff=60)
    assert told is not None and "C10D016" in told
    assert resembles(catalog, "the quick brown fox jumps over the lazy dog") is None


def test_mask_hides_what_varies() -> None:
    assert mask("pid 4121 at 0x7f00aa read /data/a/b.bin in 3.5 s") == mask("pid 7 at 0x1 read /data/q/c.bin in 12 s")


# ---- cache


def test_cache_gives_the_same_catalogue_quickly(catalog: Catalog, tmp_path: Path) -> None:
    cache = tmp_path / "deep" / "catalog.bin"
    first = Catalog.from_cache(cache)
    assert first.signatures == catalog.signatures
    spent = []
    for _ in range(3):
        began = time.process_time()
        again = Catalog.from_cache(cache)
        spent.append(time.process_time() - began)
    assert again.signatures == catalog.signatures
    assert min(spent) <= 0.04


def test_cache_follows_the_files(tmp_path: Path) -> None:
    extra, cache = tmp_path / "mine", tmp_path / "c.bin"
    extra.mkdir()
    (extra / "SITE001-ours.toml").write_text(SITE)
    assert Catalog.from_cache(cache, [extra]).by_id("SITE001") is not None
    assert Catalog.from_cache(cache).by_id("SITE001") is None
    changed = SITE.replace("Storage gateway", "Storage gate")
    (extra / "SITE001-ours.toml").write_text(changed)
    found = Catalog.from_cache(cache, [extra]).by_id("SITE001")
    assert found is not None and found.title == "Storage gate is down"
    cache.write_bytes(b"not a cache")
    assert Catalog.from_cache(cache, [extra]).by_id("SITE001") is not None


def test_unwritable_cache_costs_only_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert len(Catalog.from_cache(blocked / "c.bin")) == len(Catalog.load())


# ---- healthy logs


def healthy_folders() -> list[Path]:
    truths = sorted((SHARED / "cases").rglob("*.truth.json"))
    return [t.with_name(t.name.removesuffix(".truth.json")) for t in truths if json.loads(t.read_text()).get("outcome") == "no_failure"]


def test_nothing_grave_fires_on_healthy_logs(catalog: Catalog) -> None:
    folders = healthy_folders()
    if not folders:
        pytest.skip("no labelled cases at hand")
    fired: Counter[tuple[str, str, str]] = Counter()
    for folder in folders:
        for log in sorted(p for p in folder.rglob("*") if p.is_file()):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            for line, (id, _) in zip(lines, match(catalog, lines), strict=True):
                signature = catalog.by_id(id) if id else None
                if signature and signature.role not in ("benign", "teardown"):
                    fired[(folder.name, signature.id, line.split("] ", 1)[-1][:100])] += 1
    # A stop that was asked for lets the front end report its own engine as dead.
    assert {id for _, id, _ in fired} <= {"VLLM009"}, fired


SITE = """\
id = "SITE001"
title = "Storage gateway is down"
role = "initiating"
category = "storage"
references = ["our wiki"]
[match]
literals = ["gateway unreachable"]
pattern = 'gateway unreachable: (?P<peer_host>[a-z0-9-]+)'
[explain]
what = "w"
why = "w"
next = "n"
false_positives = "none"
[[actions]]
do = "call storage"
when = "always"
[[samples]]
line = '''ERROR gateway unreachable: gw-1'''
fields = { peer_host = "gw-1" }
[[not_samples]]
line = '''INFO gateway reachable: gw-1'''
"""


def test_shipped_folder_is_read_by_default() -> None:
    assert SHIPPED.is_dir() and os.path.basename(SHIPPED) == "data"
