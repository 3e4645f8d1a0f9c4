"""Message grammars: their samples, real wordings inside whole records, and odd texts that must not raise."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from grammar_files import MESSAGE_GRAMMARS, mutants, name

from k3logs.errors import AuthorError
from k3logs.grammar.message import MessageGrammar, messages, parse_message, plain, prefilters, read_all, snake
from k3logs.grammar.samples import SUFFIX, check_message, load_samples


@pytest.mark.parametrize("path", MESSAGE_GRAMMARS, ids=name)
def test_samples_are_read_as_they_say(path: Path) -> None:
    assert check_message(path).name == path.stem


@pytest.mark.parametrize("path", MESSAGE_GRAMMARS, ids=name)
def test_odd_texts_never_raise(path: Path) -> None:
    grammar = messages()[path.stem]
    texts = [s.line for s in load_samples(path, forms=False)]
    for text in mutants(path.stem, texts, 300) + [t[:n] for t in texts for n in range(0, len(t), 7)]:
        assert grammar.parse(text) is None or isinstance(grammar.parse(text), dict)


def test_tables_survive_the_cache(tmp_path: Path) -> None:
    path = next(p for p in MESSAGE_GRAMMARS if p.stem == "world_size")
    text = "world_size=16 rank=9 local_rank=1 distributed_init_method=tcp://10.0.0.2:31234 backend=nccl"
    built, loaded = MessageGrammar.open(path), MessageGrammar.open(path)
    loaded.load(built.dump())
    assert built.parse(text) == loaded.parse(text) == parse_message("world_size", text)


def test_a_text_may_say_several_things() -> None:
    text = (
        "[PG ID 2 PG GUID 9 Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
        " Timeout(ms)=600000) ran for 600017 milliseconds before timing out. PG status: last enqueued work: 5, last completed work: 2"
    )
    found = read_all(text)
    assert parse_message("process_group", text) == {"pg_id": "2", "pg_guid": "9", "rank": "4"}
    assert found["work_nccl"]["seq_num"] == "3" and found["work_nccl"]["ran_ms"] == "600017"
    assert found["pg_status"] == {"enqueued": "5", "completed": "2"}


@pytest.mark.parametrize(
    ("text", "grammar", "says"),
    [
        ("(Worker pid=7) INFO 11-30 21:48:13 [parallel_state.py:1] world_size=2 rank=1 local_rank=1 distributed_init_method=file:///tmp/x backend=gloo",
         "world_size", {"world_size": "2", "rank": "1"}),
        ("n:41:43 [2] NCCL INFO ncclCommInitAll comm 0x559205409610 rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 1000 commId 0x89b784d33d72ebbb - Init START",
         "nccl_init", {"comm_id": "0x89b784d33d72ebbb", "step": "START", "function": "ncclCommInitAll"}),
        ("HIP out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 191.98 GiB of which 1.02 GiB is free. "
         + "Of the allocated memory 180.00 GiB is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but unallocated.", "oom",
         {"requested": "2.00 GiB", "device": "1", "allocated": "180.00 GiB"}),
        ("ERROR [dump_input.py:72] Dumping input data for V1 LLM engine (v0.14.1) with config: model='m', dtype=torch.bfloat16, tensor_parallel_size=2",
         "config_repr", {"version": "0.14.1"}),
        ("Aug  5 12:00:00 n kernel: NVRM: Xid (PCI:0000:9b:00): 119, pid=20, name=python3, Timeout after 45s of waiting for RPC response from GPU4 GSP!",
         "xid", {"xid": "119", "pid": "20", "bus": "0000:9b:00"}),
    ],
)
def test_wordings_inside_whole_lines(text: str, grammar: str, says: dict[str, str]) -> None:
    found = parse_message(grammar, text)
    assert found is not None
    assert {key: found[key] for key in says} == says


def test_repeated_words_before_the_right_place_are_passed_over() -> None:
    text = "rank comes first: rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1"
    assert (parse_message("rank_assign", text) or {})["tp"] == "1"


def test_prefilters_are_in_every_sample() -> None:
    for path in MESSAGE_GRAMMARS:
        grammar = messages()[path.stem]
        assert set(grammar.prefilters) <= set(prefilters())
        for sample in load_samples(path, forms=False):
            if sample.form is not None and grammar.prefilters:
                assert any(literal in sample.line for literal in grammar.prefilters)


def test_keys_become_snake_case() -> None:
    assert [snake(key) for key in ("SeqNum", "Timeout(ms)", "DP", "_TP", "total-vm")] == ["seq_num", "timeout_ms", "dp", "tp", "total_vm"]


def test_very_deep_nesting_is_no_error() -> None:
    depth = 20_000
    assert parse_message("config_repr", "non-default args: {'a': " + "[" * depth + "]" * depth + "}") is None
    assert plain  # the recursion that gives up is its own


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [("// @prefilter \"a\"\nstart: A\n", "A"), ("// @prefilter \"a\"\nstart: \"b\"\n", "is not read"), ("// @prefilter \"\\q\"\nstart: \"a\"\n", "not a message grammar")],
)
def test_a_wrong_message_grammar_is_refused(grammar: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "user.lark"
    path.write_text(grammar)
    (tmp_path / f"user{SUFFIX}").write_text('[[sample]]\nline = "a"\nfields = {}\n')
    with pytest.raises(AuthorError, match=reason):
        check_message(path)


def test_a_message_grammar_needs_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "world_size.lark"
    shutil.copy(next(p for p in MESSAGE_GRAMMARS if p.stem == "world_size"), path)
    (tmp_path / f"world_size{SUFFIX}").write_text("")
    with pytest.raises(AuthorError, match="no sample"):
        check_message(path)
