"""Log text that is safe to show and to paste: nothing in it moves a cursor, hides or turns text around."""

from __future__ import annotations

from k3logs.redact import mask


class _Escapes(dict[int, str]):
    def __missing__(self, code: int) -> str:
        if (char := chr(code)).isprintable():
            return char
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_VISIBLE = _Escapes({9: "    "})
# Printable to Python, yet not seen: combining overlays and variation selectors would hide what they stand on.
for _code in (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)):
    _VISIBLE[_code] = f"\\u{_code:04x}" if _code < 0x10000 else f"\\U{_code:08x}"


def one_line(text: object, limit: int = 0) -> str:
    """``text`` masked and in one line: controls, bidi marks and other invisible characters as escapes.

    Args:
        limit: longest length in characters; what is over is cut and the cut shown. 0 for no limit.
    """
    if limit:
        text = str(text)[: limit * 4 + 4096]  # enough to mask what stands at the cut, without reading a 10 MB line
    shown = mask(str(text).rstrip("\r\n")).translate(_VISIBLE)
    return shown if not limit or len(shown) <= limit else shown[: limit - 1] + "…"
