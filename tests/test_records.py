"""Kept lines become records: each stream on its own, an exception with its causes as one event, the first cause first."""

from __future__ import annotations

import io
import logging
import random
import traceback
from collections.abc import Callable

import pytest
import reading
from reading import events, raised


def load_shard() -> None:
    raise KeyError("model.layers.3.weight")


def caused() -> None:
    try:
        load_shard()
    except KeyError as error:
        raise RuntimeError("cannot load the model") from error


def during() -> None:
    try:
        load_shard()
    except KeyError:
        raise RuntimeError("cannot load the model")


def hidden() -> None:
    try:
        load_shard()
    except KeyError:
        raise RuntimeError("cannot load the model") from None


def write_shard() -> None:
    raise OSError(28, "No space left on device")


def grouped() -> None:
    found = []
    for task in (load_shard, write_shard):
        try:
            task()
        except (KeyError, OSError) as error:
            found.append(error)
    raise ExceptionGroup("two tasks failed", found)


def noted() -> None:
    """As WorkerProc does it: the formatted traceback is added as a note."""
    try:
        load_shard()
    except KeyError as error:
        error.add_note("".join(traceback.format_exception(error)))
        raise


def several_lines() -> None:
    raise RuntimeError("Expected all tensors to be on the same device,\nbut found at least two devices,\ncuda:0 and cuda:1!")


def printed(function: Callable[[], None]) -> str:
    """What Python prints when this ends a process."""
    try:
        function()
    except Exception:
        return traceback.format_exc()
    raise AssertionError


def tagged(text: str, tag: str = "(Worker_TP1 pid=302)", end: str = "\n", head: str = "WorkerProc failed to start.") -> list[str]:
    """As vLLM logs it: the whole prefix on every line, CR LF inside the record."""
    lines = [head, *text.rstrip("\n").split("\n")]
    return [f"{tag} ERROR 08-05 09:30:00 [multiproc_executor.py:872] {line}{end if n + 1 < len(lines) else chr(10)}" for n, line in enumerate(lines)]


def types(text: str) -> list[list[str]]:
    return [[link.type for link in event.chain] for event in raised(text)]


@pytest.mark.parametrize("function", [caused, during])
@pytest.mark.parametrize("wrap", [str, lambda text: "".join(tagged(text)), lambda text: "".join(tagged(text, end="\r\n"))], ids=["bare", "tagged", "crlf"])
def test_a_chain_is_one_event_and_its_cause_is_shown(function: Callable[[], None], wrap: Callable[[str], str]) -> None:
    text = wrap(printed(function))
    (event,) = raised(text)
    assert [(link.type, link.message) for link in event.chain] == [("KeyError", "'model.layers.3.weight'"), ("RuntimeError", "cannot load the model")]
    assert "KeyError" in text.split("\n")[event.anchor.number - 1]
    assert event.chain[0].frames[-1].startswith(f"{__file__}:")
    assert event.chain[0].frames[-1].split()[1] == "load_shard"


def test_a_cause_that_python_hides_is_not_there() -> None:
    assert types(printed(hidden)) == [["RuntimeError"]]


def test_every_exception_of_a_group_is_read() -> None:
    text = printed(grouped)
    found = [(link.type, link.message.split("\n")[0]) for event in raised(text) for link in event.chain]
    assert ("KeyError", "'model.layers.3.weight'") in found
    assert ("OSError", "[Errno 28] No space left on device") in found
    assert ("ExceptionGroup", "two tasks failed (2 sub-exceptions)") in found


def nested() -> None:
    try:
        grouped()
    except ExceptionGroup as inner:
        try:
            raise ExceptionGroup("outer", [inner, several_lines_of(TimeoutError)]) from inner.exceptions[0]
        except ExceptionGroup:
            raise RuntimeError("engine died")


def several_lines_of(kind: type[Exception]) -> Exception:
    error = kind("no answer\nfrom rank 3")
    error.add_note("see the log")
    error.add_note("see the log")
    return error


WRAPS = pytest.mark.parametrize(
    "wrap", [str, lambda text: "".join(tagged(text)), lambda text: "".join(tagged(text, end="\r\n"))], ids=["bare", "tagged", "crlf"]
)


@WRAPS
def test_a_group_is_one_event_and_stands_behind_its_causes(wrap: Callable[[str], str]) -> None:
    (event,) = raised(wrap(printed(grouped)))
    assert [(link.type, link.message) for link in event.chain] == [
        ("KeyError", "'model.layers.3.weight'"),
        ("OSError", "[Errno 28] No space left on device"),
        ("ExceptionGroup", "two tasks failed (2 sub-exceptions)"),
    ]
    assert [[frame.split()[1] for frame in link.frames] for link in event.chain] == [
        ["grouped", "load_shard"],
        ["grouped", "write_shard"],
        ["printed", "grouped"],
    ]
    assert event.anchor.message == "KeyError: 'model.layers.3.weight'"


@WRAPS
def test_groups_in_groups_are_in_the_order_of_cause_and_consequence(wrap: Callable[[str], str]) -> None:
    (event,) = raised(wrap(printed(nested)))
    assert [(link.type, link.message) for link in event.chain] == [
        ("KeyError", "'model.layers.3.weight'"),
        ("OSError", "[Errno 28] No space left on device"),
        ("ExceptionGroup", "two tasks failed (2 sub-exceptions)"),
        ("TimeoutError", "no answer\nfrom rank 3\nsee the log"),
        ("ExceptionGroup", "outer (2 sub-exceptions)"),
        ("RuntimeError", "engine died"),
    ]


def test_a_group_below_a_record_belongs_to_it() -> None:
    (event,) = raised("ERROR:    Exception in ASGI application\n" + printed(grouped) + 'INFO:     127.0.0.1:4412 - "GET /health HTTP/1.1" 200 OK\n')
    assert event.text == "Exception in ASGI application"
    assert [link.type for link in event.chain] == ["KeyError", "OSError", "ExceptionGroup"]


def test_a_group_whose_head_is_cut_off_is_read_from_there() -> None:
    (event,) = raised("\n".join(printed(grouped).split("\n")[7:]))
    assert [link.type for link in event.chain] == ["KeyError", "OSError"]


@WRAPS
def test_exceptions_of_a_group_that_are_left_out_are_none(wrap: Callable[[str], str]) -> None:
    text = "".join(traceback.format_exception(ExceptionGroup("many", [ValueError("shard " + chr(97 + n)) for n in range(26)])))
    (event,) = raised(wrap(text))
    assert [link.type for link in event.chain] == ["ValueError"] * 15 + ["ExceptionGroup"]


def renoted() -> None:
    """An exception with a note, printed again as the note of itself."""
    try:
        load_shard()
    except KeyError as error:
        error.add_note("while loading shard 3 of 8")
        error.add_note("".join(traceback.format_exception(error)))
        raise


@WRAPS
def test_a_note_that_is_printed_twice_is_told_once(wrap: Callable[[str], str]) -> None:
    (event, *_) = raised(wrap(printed(renoted)))
    assert [(link.type, link.message) for link in event.chain] == [("KeyError", "'model.layers.3.weight'\nwhile loading shard 3 of 8")]


def test_a_traceback_noted_on_itself_is_the_same_exception() -> None:
    assert types("".join(tagged(printed(noted)))) == [["KeyError"]]


@pytest.mark.parametrize("wrap", [str, lambda text: "".join(tagged(text, end="\r\n"))], ids=["bare", "crlf"])
def test_a_message_keeps_all_its_lines(wrap: Callable[[str], str]) -> None:
    (event,) = raised(wrap(printed(several_lines)))
    assert event.chain[0].message.split("\n") == ["Expected all tensors to be on the same device,", "but found at least two devices,", "cuda:0 and cuda:1!"]


@pytest.mark.parametrize("seed", range(4))
def test_records_of_eight_ranks_are_put_together_from_any_interleaving(seed: int) -> None:
    choice = random.Random(seed)
    queues = [tagged(printed(caused).replace("layers.3", f"layers.{rank}"), tag=f"(Worker_TP{rank} pid={300 + rank})", end="\r\n") for rank in range(8)]
    mixed = ""
    while any(queues):
        mixed += choice.choice([q for q in queues if q]).pop(0)
    found = raised(mixed)
    assert sorted(event.chain[0].message for event in found) == [f"'model.layers.{rank}.weight'" for rank in range(8)]
    assert {tuple(link.type for link in event.chain) for event in found} == {("KeyError", "RuntimeError")}


def test_two_records_of_one_line_of_source_stay_two() -> None:
    later = [line.replace("09:30:00", "09:30:04") for line in tagged(printed(caused))]
    assert types("".join(tagged(printed(caused)) + later)) == [["KeyError", "RuntimeError"]] * 2


def test_logging_exception_and_its_traceback_are_one_record() -> None:
    stream = io.StringIO()
    logger = logging.getLogger("test_records")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.propagate, logger.level = False, logging.INFO
    try:
        load_shard()
    except KeyError:
        logger.exception("step 7 failed")
    logger.info("going on")
    failed, on = events(stream.getvalue())
    assert failed.text == "step 7 failed"
    assert [link.type for link in failed.chain] == ["KeyError"]
    assert (on.text, on.chain) == ("going on", [])


def test_a_process_head_opens_the_traceback_below_it() -> None:
    (event,) = raised("Process EngineCore_DP0:\n" + printed(caused))
    assert event.opening is not None
    assert event.opening.fields["process"] == "EngineCore_DP0"
    assert event.anchor.message.startswith("KeyError: ")


def test_a_terminate_handler_and_its_what_are_one_exception() -> None:
    text = """terminate called after throwing an instance of 'c10::DistBackendError'
  what():  [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: CUDA error: unspecified launch failure
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.

Fatal Python error: Aborted
"""
    (event,) = raised(text)
    assert event.chain[0].type == "c10::DistBackendError"
    assert event.chain[0].message.startswith("[PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog")
    assert event.anchor.number == 2
    assert [e.text for e in events(text) if e.first.form == "native.fatal"] == ["Fatal Python error: Aborted"]


def test_what_spawn_wraps_is_told_not_the_wrapper() -> None:
    text = (
        "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    mp.spawn(run, nprocs=2)\n"
        "  File \"/usr/lib/python3/torch/multiprocessing/spawn.py\", line 215, in join\n    raise ProcessRaisedException(msg, error_index, failed_process.pid)\n"
        "torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the following error:\n" + printed(load_shard)
    )  # fmt: skip
    (event,) = raised(text)
    assert [link.type for link in event.chain] == ["KeyError"]
    assert event.opening is not None
    assert event.opening.message.startswith("-- Process 1 ")


def test_ordinary_lines_below_a_traceback_are_not_its_message() -> None:
    text = (
        printed(load_shard)
        + "INFO 08-05 09:30:09 [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s\n[rank1]: Traceback (most recent call last):\n"
    )
    (event,) = raised(text)
    assert event.chain[0].message == "'model.layers.3.weight'"


def test_one_exceptions_message_does_not_grow_without_end() -> None:
    (event, *_) = raised(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: first\n' + "Error: more of it\n" * 3 + "  Error detail\n" * 5_000
    )
    assert len(event.chain[0].message.split("\n")) < 100


def test_lines_apart_do_not_join_where_processes_cannot_be_told_apart() -> None:
    head = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
    noise = "".join(f"INFO 08-05 09:30:09 [loggers.py:118] Engine 000: step {n}\n" for n in range(30))
    far = raised(head + noise + "ValueError: of another process\n")
    assert not any(link.frames for event in far for link in event.chain)


def test_what_is_kept_of_a_source_is_bounded() -> None:
    line = "(Worker_TP1 pid=302) ERROR 08-05 09:30:00 [multiproc_executor.py:872] ValueError: shard {} is bad\n"
    (digest,) = reading.digested("".join(line.format(n) for n in range(3_000)))
    assert digest.lines == 3_000
    assert len(digest.rows) <= 64
    assert digest.skipped["alike"] >= 2_900
