"""The same logs in other wrappers, files, order or clocks tell of the same failure: outcome, root line and rank stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import reading
import rewrap

CORPUS = Path(__file__).parent.parent / "corpus"
INCIDENTS = sorted(p.parent.relative_to(CORPUS).as_posix() for p in [*CORPUS.glob("*/logs"), *CORPUS.glob("healthy/*/logs")])

WRAPPERS = (rewrap.docker_t, rewrap.cri, rewrap.json_file, rewrap.compose, rewrap.crlf, rewrap.ansi, rewrap.reordered, rewrap.blank_lines, rewrap.head_cut,
            rewrap.split_in_two, rewrap.renamed)  # fmt: skip
CLOCKS = (37, -3600)

ALIKE = "every rank fails alike and nothing ties the nodes' clocks: whose line is shown first is the clocks' to say"
WITNESS = "the root left no line; which rank's watchdog is the witness is the clocks' to say, and nothing ties them"
CUT = "the missing rank is found by elimination, and ranks that are known from the lines cut off are missing too"

LEGITIMATE = {
    ("driver-too-old", "a100-rack2-01 -3600"): ALIKE,
    ("driver-too-old", "a100-rack2-02 37"): ALIKE,
    ("hang-lagging-rank", "k3-sft-worker-0 -3600"): WITNESS,
    ("node-never-joined", "head_cut"): CUT,
}
"""Changes that may change root line or rank, but not outcome and never for more confidence."""

BUGS: dict[tuple[str, str], str] = {}
"""Changes that change the answer although nothing was lost."""


@dataclass(frozen=True)
class Answer:
    outcome: str
    line: tuple[str, int] | None
    rank: int | None
    confidence: float


@cache
def logs_of(slug: str) -> rewrap.Logs:
    return rewrap.load(CORPUS / slug / "logs")


def ask(logs: rewrap.Logs) -> Answer:
    verdict = reading.verdict(rewrap.dump(logs))
    root = verdict.root_cause
    if root is None:
        return Answer(verdict.outcome, None, None, 0.0)
    return Answer(verdict.outcome, logs[root.source][root.line - 1].origin, root.rank, root.confidence)


@cache
def before(slug: str) -> Answer:
    return ask(logs_of(slug))


def _marked(slug: str, name: str, change: rewrap.Change) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=BUGS[slug, name])] if (slug, name) in BUGS else []
    return pytest.param(slug, name, change, marks=marks, id=f"{slug}-{name}")


def _changes() -> Iterator[object]:
    for slug in INCIDENTS:
        for change in WRAPPERS:
            yield _marked(slug, change.__name__, change)
        nodes = sorted({rewrap.node_of(p.relative_to(CORPUS / slug / "logs").as_posix()) for p in (CORPUS / slug / "logs").rglob("*") if p.is_file()})
        for node in nodes if len(nodes) > 1 else []:
            for seconds in CLOCKS:
                yield _marked(slug, f"{node} {seconds}", rewrap.clock_moved(node, seconds))


@pytest.mark.parametrize(("slug", "name", "change"), list(_changes()))
def test_the_answer_stays(slug: str, name: str, change: rewrap.Change) -> None:
    was, now = before(slug), ask(change(logs_of(slug)))
    assert now.outcome == was.outcome
    if (slug, name) in LEGITIMATE:
        assert now.confidence <= was.confidence
    else:
        assert (now.line, now.rank) == (was.line, was.rank)


@pytest.mark.parametrize("slug", [s for s in INCIDENTS if len([p for p in (CORPUS / s / "logs").rglob("*") if p.is_file()]) > 1])
def test_rewrapping_keeps_every_line(slug: str) -> None:
    for change in WRAPPERS:
        origins = [line.origin for lines in change(logs_of(slug)).values() for line in lines if line.origin]
        expected = sum(len(lines) for lines in logs_of(slug).values())
        assert len(origins) == len(set(origins))
        assert len(origins) == expected or change is rewrap.head_cut


# Logs that are missing: the file, what the answer may be then. The root's own line must not be found elsewhere.
SPARE = [("dmabuf-524", "b300-r7-n20.log"), ("hang-lagging-rank", "k3-sft-worker-0.log"), ("vllm-0.27.1-oom-second-node", "node0.log"), ("xid-79", "hgx-041.log"),
         ("driver-too-old", "a100-rack2-01.nvidia-smi.txt"), ("driver-too-old", "a100-rack2-02.nvidia-smi.txt"), ("runtime-refusal", "rtx-b.nvidia-smi.txt"),
         ("healthy/nccl-init-retries", "fab-n1.log"), ("healthy/ray-kernel-noise", "ray-head-0.kern.log")]  # fmt: skip


@pytest.mark.parametrize(("slug", "file"), SPARE)
def test_a_healthy_neighbours_log_is_not_needed(slug: str, file: str) -> None:
    was, now = before(slug), ask(rewrap.without(file)(logs_of(slug)))
    assert (now.outcome, now.rank) == (was.outcome, was.rank)
    assert now.confidence <= was.confidence
    if slug != "hang-lagging-rank":  # its root left no line: another witness may speak
        assert now.line == was.line


WRONG_WITHOUT: dict[tuple[str, str], str] = {}


@pytest.mark.parametrize(("slug", "file"), [
    pytest.param(s, f, marks=pytest.mark.xfail(strict=True, reason=WRONG_WITHOUT[s, f]) if (s, f) in WRONG_WITHOUT else ())
    for s, f in [*WRONG_WITHOUT, ("xid-79", "hgx-042.log"), ("node-never-joined", "spark-3.log"),
                 ("ib-port-down", "pods/ml_llm-pretrain-1_8f11c0de-41aa-4a7e-9b60-0c2f5d7e1b31/trainer/0.log"), ("dmabuf-524", "b300-r7-n21.log"), ("vllm-0.27.1-oom-second-node", "node1.log"),
                 ("node-never-joined", "spark-1.log"), ("xid-79", "hgx-042.kern.log"), ("oom-killer", "worker-b200-3.kern.log")]
])  # fmt: skip
def test_without_the_roots_log_no_other_rank_is_blamed_for_sure(slug: str, file: str) -> None:
    was, now = before(slug), ask(rewrap.without(file)(logs_of(slug)))
    assert now.rank in (None, was.rank)
    assert now.confidence <= was.confidence
