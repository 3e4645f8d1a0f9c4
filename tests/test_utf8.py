"""Bytes that are not UTF-8 are overwritten where they stand, as a decoder sees them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from k3logs.events import utf8

PAD = bytes(64)
BYTES = st.lists(st.sampled_from([*b"a\n\x00\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5\xff"]), max_size=60).map(bytes)


def by_decoder(data: bytes) -> tuple[bytes, int]:
    """Python's own decoder, one bad span at a time."""
    out, bad, place = bytearray(data), 0, 0
    while place < len(data):
        try:
            data[place:].decode()
            break
        except UnicodeDecodeError as error:
            first, last = place + error.start, place + error.end
            out[first:last] = b"?" * (last - first)
            place, bad = last, bad + 1
    return bytes(out), bad


@given(st.one_of(BYTES, st.binary(max_size=60), st.text(max_size=20).map(lambda t: t.encode("utf-8", "surrogatepass"))))
@example("é€𐀀\U0010ffff".encode())
@example(b"\xe2\x82A\xf0\x9f\x98")
def test_what_is_overwritten_is_what_no_decoder_reads(data: bytes) -> None:
    chunk = bytearray(data + PAD)
    bad = utf8.repair_utf8(np.frombuffer(chunk, np.uint8), len(data))
    assert (bytes(chunk[: len(data)]), bad) == by_decoder(data)
    assert chunk[len(data) :] == PAD


@pytest.mark.parametrize("tile", [5, 6, 7, 8])
def test_no_sequence_is_torn_between_pieces(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utf8, "_TILE", tile)
    data = "a€é𐀀".encode() * 9 + b"\x80" * 9 + b"\xe2\x82" * 5 + "€".encode() * 4 + b"\xff"
    chunk = bytearray(data + PAD)
    bad = utf8.repair_utf8(np.frombuffer(chunk, np.uint8), len(data))
    assert (bytes(chunk[: len(data)]), bad) == by_decoder(data)
