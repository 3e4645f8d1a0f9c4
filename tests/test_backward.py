"""A log that begins with its newest line is read from its end, and its lines keep their places."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import reading
import rewrap

from k3logs.events.backward import MIRROR, from_the_end, places, shift
from k3logs.events.digest import Digest
from k3logs.model import Verdict
from k3logs.sources.source import Source
from k3logs.triage import digest_all, judge

CORPUS = Path(__file__).parent.parent / "corpus"
FEW = ("driver-too-old", "runtime-refusal")
"""Incidents with too few stamps for an order to show."""

INCIDENTS = sorted(p.parent.relative_to(CORPUS).as_posix() for p in [*CORPUS.glob("*/logs"), *CORPUS.glob("healthy/*/logs")])
STEPS = "".join(f"(Worker_TP{n % 2} pid={300 + n % 2}) INFO 08-05 09:30:{n:02} [gpu_model_runner.py:12] Loading model weights took {n} GB\n" for n in range(40))
FAILED = "".join(f"(Worker_TP1 pid=301) ERROR 08-05 09:31:00 [multiproc_executor.py:671] {line}\n" for line in (
    "WorkerProc hit an exception.", "Traceback (most recent call last):", '  File "a.py", line 3, in load', "    read()", "AssertionError: expert map mismatch"))  # fmt: skip
LOG = STEPS + FAILED


def turned(text: str) -> str:
    return "".join(reversed(text.splitlines(keepends=True)))


def piped(data: bytes) -> tuple[list[Digest], Verdict]:
    """A log that cannot be read twice."""
    out, into = os.pipe()

    def write() -> None:
        with os.fdopen(into, "wb") as file:
            file.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    grammars, catalog, gates = reading.tools()
    digests = digest_all([Source("-", lambda: io.FileIO(out))], grammars, gates, [])
    writer.join()
    return digests, judge(digests, grammars, catalog, [])


@pytest.mark.parametrize("step", [1, 2, 7, 64, 1 << 20])
@pytest.mark.parametrize("text", ["", "\n", "a", "a\nb", "a\n\nb\n", "one\ntwo\nthree three three\n\n\nfour"])
def test_lines_come_from_the_end(text: str, step: int) -> None:
    lines = text.removesuffix("\n").split("\n") if text else []
    assert b"".join(from_the_end(io.BytesIO(text.encode()), step)).decode() == "".join(line + "\n" for line in reversed(lines))


def test_a_pipe_and_a_file_are_read_from_their_end() -> None:
    total = LOG.count("\n")
    for verdict in (reading.verdict(turned(LOG)), piped(turned(LOG).encode())[1]):
        root = verdict.root_cause
        assert root is not None
        assert (root.rank, root.message, root.line) == (1, "AssertionError: expert map mismatch", 1)
        assert [line.line for line in root.context] == sorted((line.line for line in root.context), reverse=True)
        assert root.exception is not None
        assert root.exception.frames == ["a.py:3 load > read"]
        assert verdict.coverage.lines == total
        assert any("newest line first" in notice for notice in verdict.coverage.notices)
        assert str(MIRROR)[:7] not in str(verdict.to_json())


def test_a_pipe_in_order_is_read_whole() -> None:
    digests, verdict = piped(STEPS.encode() * 200 + FAILED.encode())
    assert digests[0].lines == 200 * 40 + 5
    assert verdict.root_cause is not None
    assert verdict.root_cause.line == 200 * 40 + 5
    assert verdict.coverage.notices == []


def test_a_record_of_several_lines_that_go_forward_is_not_torn() -> None:
    records = [line + "\n" for line in STEPS.splitlines()]
    backward = "".join(FAILED if n == 0 else record for n, record in enumerate(reversed(["", *records, ""])))
    verdict = reading.verdict(backward)
    assert verdict.root_cause is not None
    assert verdict.root_cause.line == 5
    assert any("as it stands" in notice for notice in verdict.coverage.notices)


@pytest.mark.parametrize("text", [STEPS, STEPS * 3, STEPS + turned(STEPS), turned(STEPS[:500]) + STEPS])
def test_logs_in_order_or_without_one_are_read_as_they_stand(text: str) -> None:
    (digest,) = reading.digested(text)
    assert not digest.notices
    assert digest.uses[max(digest.uses)].last_line <= digest.lines


def test_numbers_and_places_of_lines() -> None:
    (up,), (down,) = reading.digested(LOG), reading.digested(turned(LOG))
    assert (shift(up), shift(down)) == (0, MIRROR - 1 - LOG.count("\n"))
    assert places(np.array([1, 7, 1 + shift(down)])).tolist() == [1, 7, LOG.count("\n")]


@pytest.mark.parametrize("slug", [slug for slug in INCIDENTS if slug not in FEW])
def test_the_answer_is_that_of_the_log_in_order(slug: str) -> None:
    logs = rewrap.load(CORPUS / slug / "logs")
    other = {name: list(reversed(lines)) for name, lines in logs.items()}
    was, now = reading.verdict(rewrap.dump(logs)), reading.verdict(rewrap.dump(other))
    assert now.outcome == was.outcome
    if was.root_cause is not None and now.root_cause is not None:
        place = other[now.root_cause.source][now.root_cause.line - 1].origin
        assert (now.root_cause.rank, place) == (was.root_cause.rank, (was.root_cause.source, was.root_cause.line))
