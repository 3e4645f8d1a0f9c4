"""``docker logs -t`` prints a stamp before each 16 KiB piece of a long line, in the middle of what it shows as one line."""

from __future__ import annotations

import polars as pl
import reading
from test_decide import root_of, start

from k3logs.envelopes.stamped_pieces import PIECE, mend

STAMP = "2026-08-05T09:30:43.000000001Z "


def stamped(line: str) -> str:
    data = line.encode()
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    return "".join(STAMP + piece.decode() for piece in pieces)


def test_the_stamps_between_pieces_go_and_nothing_else() -> None:
    lines = ["x" * PIECE, "x" * (PIECE + 1), "ab" * PIECE + "c", "y" * PIECE + STAMP + "z" * 10, "short"]
    shown = [stamped(line) for line in lines]
    assert mend(pl.Series(shown, dtype=pl.String)).to_list() == [STAMP + line for line in lines]
    other = "z" * 20_000
    assert mend(pl.Series([other], dtype=pl.String)).to_list() == [other]


def test_a_failure_that_stands_over_a_border_is_found() -> None:
    head = "(Worker_TP2 pid=302) ERROR 08-05 09:31:10 [multiproc_executor.py:872] "
    text = "RuntimeError: CUDA error: an illegal memory access was encountered"
    long = head + "x" * (PIECE - len(head) - 30) + " " + text
    lines = [*(head + t for t in ("WorkerProc hit an exception.", "Traceback (most recent call last):", '  File "/vllm/w.py", line 3, in load_model', "    run()")), head + text]
    plain = start(4) + "\n".join([long, *lines]) + "\n"
    answer = reading.verdict("".join(stamped(line) + "\n" for line in plain.splitlines()))
    assert root_of(answer).rank == 2
    assert answer.coverage.by_dialect == reading.verdict("".join(STAMP + line + "\n" for line in plain.splitlines())).coverage.by_dialect
