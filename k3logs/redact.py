"""Secrets out of every text that leaves the tool: tokens, keys, passwords in URLs, authorisation headers.

What stays is the shape (``hf_***``, ``user:***@host``), so that a reader still sees that a secret stood there. This
is the one place where patterns of secrets live. Texts are first looked over for a few literals; only those with one are
searched further, so a log without secrets costs one pass. A secret that goes over several lines is followed by :func:`mask_lines`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

MASK = "***"

_NAME = (
    r"(?:api[_-]?keys?|secret[_-]?keys?|secrets?|passwords?|passwd|passphrase|access[_-]?keys?(?:[_-]?id)?|private[_-]?keys?|credentials?"
    r"|(?:account|signing|encryption|shared[_-]?access)[_-]?(?:key|signature)s?)"
)
_TOKEN = r"(?:hf|hub|auth|access|refresh|bearer|api|secret|session|security|id|git(?:hub|lab)|slack|wandb|ngc|csrf|identity|registry)[_-]?token"
_QUOTE = r"""\\{0,9}["']?"""
# A value, in the order in which it is tried: a list or mapping; a text in quotes, which may be escaped, hold quotes of its own or miss the
# closing one; else all up to a blank, or to a comma or quote behind which something new begins.
_BARE = r"""(?:[^\s,"'\\]|\\+(?![\\"'\s]|\Z)|\\*["'](?=\w)|,(?![\s"'\\]|\Z|[A-Za-z_][\w.-]{0,40}["']?[=:]))"""
_IS = r"\s*[:=]\s*(?:[|>][+-]?[ \t]*\n\s*)?"
_VALUE = (
    r"""(?!\*\*\*|[|>][+-]?[ \t]*(?:\n|\s*\Z)|(?:None|null|True|False|true|false)(?![\w-]))(?P<s>\[[^\]]{0,4000}\]|\{[^{}]{0,4000}\}"""
    r"""|(?P<q>\\{1,9}["'])(?:(?!(?<!\\)(?P=q)).){0,4000}(?<!\\)(?P=q)"""
    r"""|[bBrRuU]{0,2}(?:"(?:[^"\\]|\\.|"(?=\w)){0,4000}"(?!\w)|'(?:[^'\\]|\\.|'(?=\w)){0,4000}'(?!\w)|["'][^"'\n]{1,4000}\Z)"""
    rf"""|["'\[]?{_BARE}{{1,4000}})"""
)
_NUMBER = r"""(?!["']?[0-9]{1,7}(?![\w.-]))"""  # a token's number, not a token

# Words that make a rule worth trying (lower case) and the rule: its group ``s`` is masked.
# Repeats that a long line could hold many times over are bounded, so that no text costs its length squared.
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("hf_",), r"(?<![A-Za-z0-9])hf_(?P<s>[A-Za-z0-9]{20,}|[a-z]*[A-Z0-9][A-Za-z0-9]{6,})"),
    (("gsk_", "r8_", "xai-", "tvly-", "pplx-", "ya29.", "sk_live_", "rk_live_", "xapp-", "hvs.", "api_org_", "wandb_v1_", "lsv2_pt_"),
     r"(?<![A-Za-z0-9])(?:gsk_|r8_|xai-|tvly-|pplx-|ya29\.|[sr]k_live_|xapp-|hvs\.|api_org_|wandb_v1_|lsv2_pt_)(?P<s>[A-Za-z0-9_.-]{16,})"),
    (("value",),
     rf"""(?i:name{_QUOTE}\s*[:=]\s*{_QUOTE}[A-Za-z0-9_.-]{{0,80}}(?:key|token|secret|passw(?:or)?d|pass|pwd|credentials?){_QUOTE}\s*,?\s*{_QUOTE}value{_QUOTE}\s*[:=]\s*){_VALUE}"""),
    (("_pass", "_pwd", "_auth"), rf"""(?:\b[A-Z][A-Z0-9_]{{0,60}}_(?:PASS|PWD|AUTH)|\b_auth){_QUOTE}\s?[=:]\s?{_VALUE}"""),
    (("auth",), r"""(?<=["'])auth\\{0,9}["']\s*:\s*\\{0,9}["'](?P<s>(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/]{6,}={0,2})(?=\\{0,9}["'])"""),
    (("slack.com",), r"hooks\.slack\.com/services/(?P<s>[A-Za-z0-9/_-]{8,})"),
    (("curl",), r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?[^\s:]{1,100}:(?P<s>[^\s'\"]+)"),
    (("sshpass", "token%3d"), r"(?:\bsshpass\s+-p\s?|(?i:token%3D))(?P<s>[^\s&'\"]+)"),
    (("_password",), r"\b[A-Z][A-Z0-9_]{0,60}_PASSWORD\s+(?P<s>(?=[^\s]*[0-9])[^\s'\"=:]{6,})"),
    (("sk-",), r"\bsk-(?P<s>[A-Za-z0-9_-]{12,})"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"), r"\b(?:gh[pousr]_|github_pat_|glpat-)(?P<s>[A-Za-z0-9_-]{12,})"),
    (("glsa_", "glc_"), r"\b(?:glsa_|glc_)(?P<s>[A-Za-z0-9_+/=-]{12,})"),
    (("xox",), r"\bxox[a-z]-(?P<s>[A-Za-z0-9-]{8,})"),
    (("nvapi-", "dckr_pat_", "npm_", "pypi-", "dop_v1_"), r"\b(?:nvapi-|dckr_pat_|npm_|pypi-|dop_v1_)(?P<s>[A-Za-z0-9_-]{16,})"),
    (("akia", "asia"), r"\b(?:AKIA|ASIA)(?P<s>[A-Z0-9]{16})\b"),
    (("aiza",), r"\bAIza(?P<s>[A-Za-z0-9_-]{30,})"),
    (("eyj",), r"\beyJ(?P<s>[A-Za-z0-9_-]{5,4000}\.[A-Za-z0-9_-]{5,9000}(?:\.[A-Za-z0-9_-]*)?)"),
    (("private key-----",), r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<s>(?s:.*?))(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    (("://",), r"""\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/@:'"<>\[]{0,200}:(?![0-9]{0,5}(?:[\s/"'<>,;)\]?#}\\]|\Z))(?P<s>[^\s'"<>]{1,500}(?=@)|[^<>\n]{1,100}(?=@[A-Za-z0-9]))"""),
    (("://",), r"""\b[A-Za-z][A-Za-z0-9+.-]{0,20}://(?P<s>[^\s/@:'"<>]{16,500})@"""),
    (("bearer",), r"(?i:\bbearer(?:\s+|%20))(?P<s>[A-Za-z0-9._~+/=-]{8,})"),
    (("basic",), r"\b(?i:basic)\s+(?P<s>[a-z]*[A-Z0-9+/][A-Za-z0-9+/]{5,}={0,2})"),
    (("authorization", "x-api-key"),
     rf"""(?i:\b(?:(?:proxy-)?authorization|x-api-key){_QUOTE}\s*[:=]\s*(?:[bBrRuU]?\\{{0,9}}["'])?(?:(?:bearer|basic|token|apikey|digest|negotiate)\s+)?)(?!\*\*\*|(?i:bearer|basic|token|apikey|digest|negotiate)\s|[bBrRuU]?\\{{0,9}}["'])(?P<s>[^\s'",\\]+)"""),
    (("cookie",), rf"""(?i:\b(?:set-)?cookies?{_QUOTE}\s*[:=]\s*)(?P<s>\{{[^{{}}\n]{{1,4000}}\}}|(?!\{{){_QUOTE}[^\r\n'"\\]+)"""),
    (("x-amz-", "x-goog-", "sig="), r"(?i:(?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|[?&]sig)=)(?P<s>[^\s&'\"]+)"),
    (("key", "secret", "passw", "passphrase", "credential", "token"), rf"(?i:[?&][\w.-]{{0,40}}(?:{_NAME}|token)=)(?P<s>[^\s&#'\"<>]+)"),
    (("key", "secret", "passw", "passphrase", "credential", "token"),
     rf"(?i:--[a-z0-9_-]{{0,40}}(?:{_NAME}|token){_QUOTE}(?:\s*,\s*|\s+|=))(?!--){_VALUE}"),
    (("key", "secret", "passw", "passphrase", "credential", "token"),
     rf"""(?i:<(?:\w{{1,40}}:)?[\w.-]{{0,40}}(?:{_NAME}|{_TOKEN}|(?<![A-Za-z])token)(?:\s[^<>]{{0,200}})?>)(?P<s>[^<]{{1,4000}})(?=</)"""),
    (("key", "secret", "passw", "passphrase", "credential"), rf"""(?i:{_NAME}(?:_[A-Z0-9]+)?{_QUOTE}{_IS}){_VALUE}"""),
    (("token",), rf"""(?i:{_TOKEN}{_QUOTE}{_IS}){_VALUE}"""),
    (("token",), rf"""TOKEN{_QUOTE}\s*[:=]\s*{_NUMBER}{_VALUE}"""),
    (("token",), rf"""(?<![A-Za-z0-9_])(?:["']token\\{{0,9}}["']\s*:\s*|token\s*=\s*){_NUMBER}{_VALUE}"""),
)  # fmt: skip

_GATE = (
    r"hf_|sk-|slack\.com/|curl |sshpass|oken%3[Dd]|gh[pousr]_|_pat_|lpat-|gl(?:sa|c)_|xox|vapi-|npm_|pypi-|dop_v|AKIA|ASIA|AIza|eyJ|KEY--|earer|EARER|asic|ASIC|horiz|HORIZ|ookie|OOKIE"
    r"|-[Aa]mz|-[Gg]oog|sig=|[_-]key|pikey|[_-]Key|[_-]KEY|[a-z]Key|ecret|ECRET|assw|ASSW|phrase|PHRASE|edent|EDENT|oken[=:'\" ,\\>]|OKEN[=:'\" ,\\>]|_TOKEN|-token"
    r"|gsk_|r8_|xai-|tvly-|pplx-|ya29\.|k_live_|xapp-|hvs\.|api_org_|wandb_v1_|lsv2_pt_|_PASS|_PWD|_AUTH|_auth|['\"]auth|Signature|signature|\x1b\[|\\u00[2-7]|&quot;|&#"
    r"|://[^\s/'\"<>]+@|://[^\s/@:'\"<>\[]*:[0-9]*[^0-9\s/\"'<>,;)\]?#}\\]"
)
"""What a text must hold before a rule is tried on it. Short and few literals in the case they are written in: Rust searches
these three times as fast as whole words in any case."""



def gate_without_digits() -> str:
    """What a text must hold, where all its digits are zero bytes, before :func:`mask` changes anything in it: a Rust regex."""
    return _GATE.replace(r"\x1b", "\x1b").translate(dict.fromkeys(map(ord, "0123456789"), "\0"))


_SECRET = rf"(?:{_NAME}|{_TOKEN}|(?<!\w)token|(?-i:TOKEN))"
_OPENS = {
    "key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?!.*-----END )",
    "pair": r"""(?i:name["']?\s*[:=]\s*["']?[A-Za-z0-9_.-]{0,80}(?:key|token|secret|passw(?:or)?d|credentials?)["']?\s*,?\s*)$""",
    "value": rf"""(?i:{_SECRET}(?:_[A-Z0-9]+)?{_QUOTE}\s*[:=]\s*[|>]?[+-]?|--[a-z0-9_-]{{0,40}}(?:{_NAME}|token){_QUOTE}\s*,?|<[\w.:-]{{0,40}}{_SECRET}>)\s*$""",
}
"""What a line ends with whose secret stands on the lines below: the body of a key, ``value:`` below ``name:``, a value below its name."""

_CLOSES = r"-----END [A-Z ]*PRIVATE KEY-----"
_LAST_WORD = r"""(?P<s>[A-Za-z0-9+/]+={0,2})\\{0,9}["']?\s*(?:\\+n)?["',]*\s*$"""
_PAIRED = rf"""(?i:value["']?\s*[:=]\s*){_VALUE}"""
_ALONE = rf"""^(?:[^A-Za-z\s"']*\s+)?(?:-\s+)?(?!--){_VALUE}[,;]?\s*$"""
_BODY = r"(?:^|(?<=[\s|:\"'\]>n]))(?P<s>[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{76})={0,2}(?=\\{0,9}[\"']?[,\s]*(?:\\+[nr]|$))"
"""A line of a key's body (PEM 64 letters, OpenSSH 70, MIME 76), for where its first line is not at hand."""

LONGEST_KEY = 200
"""Lines of a key's body at most."""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE) if text == _BODY else re.compile(text)


@cache
def _compiled() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    return tuple((words, re.compile(pattern)) for words, pattern in _RULES)


def _masked(found: re.Match[str]) -> str:
    """All that was found with its group ``s`` masked; quotes and brackets around that stay."""
    low, high = (place - found.start() for place in found.span("s"))
    secret, whole = found["s"], found[0]
    quote = found.groupdict().get("q") or (secret[:1] if secret[:1] in ("'", '"', "[", "{") and len(secret) > 1 else "")
    close = {"[": "]", "{": "}"}.get(quote, quote)
    if quote and secret[len(quote) :] == close:
        return whole
    tail = close if quote and secret.endswith(close) else ""
    if not quote:  # f(token=x), [password=y]: what closes something before the value is not of it
        while secret[-1:] in (")", "]", "}", ";") and (secret[-1] == ";" or secret.count(secret[-1]) > secret.count({")": "(", "]": "[", "}": "{"}[secret[-1]])):
            secret, tail = secret[:-1], secret[-1] + tail
    return whole if secret in ("", MASK) or secret.strip("'\"[]{},; ") == MASK else f"{whole[:low]}{quote}{MASK}{tail}{whole[high:]}"


def _body(found: re.Match[str]) -> str:
    letters = found["s"]
    mixed = any(c.isupper() for c in letters) and any(c.islower() for c in letters) and any(c in "0123456789+/" for c in letters)
    return MASK if mixed else found[0]


def _long(found: re.Match[str]) -> str:
    return _masked(found) if len(found["s"]) >= 16 or found["s"].endswith("=") or (found.start() == 0 and len(found["s"]) % 4 == 0) else found[0]


def _decoded(text: str) -> str:
    """``text`` as it reads: JSON's escapes of plain letters and HTML's of quotes replaced, colours left out (one may stand inside a token)."""
    plain = _pattern(r"\\u00([2-7][0-9a-fA-F])").sub(lambda m: chr(int(m[1], 16)), text) if "\\u00" in text else text
    if "&quot;" in plain or "&#" in plain:
        for escape, letter in (("&quot;", '"'), ("&#34;", '"'), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")):
            plain = plain.replace(escape, letter)
    return _pattern(r"(?:\x1b|\\u001[bB])\[[0-9;:]*[A-Za-z]").sub("", plain)


def mask(text: str) -> str:
    """``text`` with every secret in it replaced by ``***``; doing so twice changes nothing more."""
    if len(text) >= 64:
        text = _pattern(_BODY).sub(_body, text)
    if not _pattern(_GATE).search(text):
        return text
    if ("\x1b[" in text or "\\u00" in text or "&quot;" in text or "&#" in text) and (plain := _decoded(text)) != text:
        masked = mask(plain)
        return masked if masked != plain else text
    low = text.lower()
    for words, pattern in _compiled():
        if any(word in low for word in words):
            text = pattern.sub(_masked, text)
    return text


class Open:
    """What is not closed yet at the end of a line: its kind (see :data:`_OPENS`, empty for nothing), for how many lines it is waited, and the line before."""

    def __init__(self) -> None:
        self.kind = ""
        self.left = 0
        self.before = ""

    def line(self, text: str, last: bool = False) -> str:
        """Mask the next line; ``last`` where the one after it closes a key."""
        kind = self.kind
        self.left -= 1
        if kind == "key" and (closes := _pattern(_CLOSES).search(text)):
            self.kind = ""
            head = text[: closes.start()]
            return _pattern(_LAST_WORD).sub(_long, head) + text[closes.start() :]
        raw = text
        if kind == "pair":
            text = _pattern(_PAIRED).sub(_masked, text)
        elif kind == "value":
            same = next((n for n, (a, b) in enumerate(zip(self.before, text, strict=False)) if a != b), min(len(self.before), len(text)))
            # what both lines begin with is printed before every line
            text = text[:same] + _pattern(_ALONE).sub(_masked, text[same:])
        elif kind or last:
            text = _pattern(_LAST_WORD).sub(_masked if last else _long, text)
        text = mask(text)
        opened = next((name for name, pattern in _OPENS.items() if _pattern(pattern).search(raw)), "")
        if opened:
            self.kind, self.before, self.left = opened, raw, LONGEST_KEY if opened == "key" else 1
        elif self.left <= 0:
            self.kind = ""
        return text


def mask_lines(texts: Sequence[str], state: Open | None = None) -> list[str]:
    """Lines that follow each other, masked as :func:`mask` does, and where a secret goes on from one line to the next.

    Args:
        state: what the lines before these left open.
    """
    state = state or Open()
    closes = [_pattern(_CLOSES).search(text) is not None for text in texts]
    return [state.line(text, closes[n + 1 : n + 2] == [True] and not closes[n]) for n, text in enumerate(texts)]


def mask_series(texts: pl.Series) -> pl.Series:
    """:func:`mask` over a column of strings (nulls stay); only the few rows that hold one of the literals are copied out."""
    return _mask_series(texts)[0]


def _mask_series(texts: pl.Series, among: Any = None) -> tuple[pl.Series, pl.Series]:
    import polars as pl

    places = texts.str.contains(_GATE).fill_null(value=False).arg_true() if among is None else pl.Series(among, dtype=pl.UInt32)
    sized = texts.str.len_bytes().is_between(64, 80).fill_null(value=False).arg_true()  # as long as a line of a key's body
    if len(sized):
        bodies = sized.filter(~texts.gather(sized).str.contains(" ", literal=True))
        places = pl.concat([places, bodies]).unique().sort() if len(bodies) else places
    cleaned = {text: mask(text) for text in texts.gather(places).unique().to_list()}
    changed = {old: new for old, new in cleaned.items() if old != new}
    if not changed:
        return texts, places
    return texts.scatter(places, texts.gather(places).replace(changed)), places


class Columns:
    """Masks the lines of a log that come a column at a time, each line with the number of the stream that it belongs to."""

    def __init__(self) -> None:
        self._open: dict[int, Open] = {}

    def mask(self, texts: pl.Series, stream: Any, among: Any = None) -> pl.Series:
        """The column masked; ``stream`` has a number for each text (an array); only texts at the places ``among`` hold what a rule asks for."""
        masked, places = _mask_series(texts, among)
        opens = "|".join(_OPENS.values())
        found = [place for place in places.to_list() if _pattern(opens).search(texts[place])]
        if not found and not self._open:
            return masked
        changed: dict[int, str] = {}
        starts = {number: [0] for number in self._open}
        for place in found:
            starts.setdefault(int(stream[place]), []).append(place)
        for number, first in starts.items():
            own = (stream == number).nonzero()[0]
            done = -1
            for start in first:
                if start <= done:
                    continue
                rows = own[own >= start][: LONGEST_KEY + 1]
                state = self._open.pop(number, None) or Open()
                window = texts.gather(rows).fill_null("").to_list()
                closes = [_pattern(_CLOSES).search(text) is not None for text in window]
                for n, (row, text) in enumerate(zip(rows.tolist(), window, strict=True)):
                    changed[row] = state.line(text, closes[n + 1 : n + 2] == [True] and not closes[n])
                    done = row
                    if not state.kind:
                        break
                if state.kind:
                    self._open[number] = state
        return masked.scatter(list(changed), list(changed.values())) if changed else masked


def mask_all(value: Any) -> Any:
    """:func:`mask` over every text inside lists, tuples and mappings, keys included; what a secret's name maps to is masked whole."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask_all(key): _of_name(inner) if isinstance(key, str) and _named(key) else mask_all(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [mask_all(inner) for inner in value]
    return value


def _named(key: str) -> bool:
    return _pattern(rf"(?i:[\w.-]*{_SECRET}(?:_\w+)?)\Z").match(key) is not None


def _of_name(value: Any) -> Any:
    """The value of a secret's name: its texts masked, or those called ``value`` in a list of what was read where."""
    if isinstance(value, str):
        return MASK if value not in ("", "None", "True", "False") else value
    if isinstance(value, Mapping):
        return {key: _of_name(inner) if key == "value" else mask_all(inner) for key, inner in value.items()} if "value" in value else {mask_all(k): _of_name(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_of_name(inner) for inner in value]
    return value
