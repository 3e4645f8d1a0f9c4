"""Secrets out of every text that leaves the tool: tokens, keys, passwords in URLs, authorisation headers.

What stays is the shape (``hf_***``, ``user:***@host``), so that a reader still sees that a secret stood there. This
is the one place where patterns of secrets live. Texts are first looked over for a few literals; only those with one are
searched further, so a log without secrets costs one pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

MASK = "***"

_NAME = r"(?:api[_-]?keys?|secret[_-]?keys?|secrets?|passwords?|passwd|passphrase|access[_-]?keys?(?:[_-]?id)?|private[_-]?keys?|credentials?)"
_TOKEN = r"(?:hf|hub|auth|access|refresh|bearer|api|secret|session|security|id|git(?:hub|lab)|slack|wandb|ngc|csrf)[_-]?token"
_VALUE = r"""(?!(?:None|null|True|False|true|false)\b)(?:\[[^\]]{0,4000}\]|[bBrRuU]{0,2}"[^"]{0,4000}"|[bBrRuU]{0,2}'[^']{0,4000}'|["'\[]?[^\s,;'"()\[\]{}&]+)"""
_QUOTED_WORD = r"""\\?["']?"""

# Words that make a rule worth trying (lower case) and the rule: the last group stays after the mask, those before it before.
# Repeats that a long line could hold many times over are bounded, so that no text costs its length squared.
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("hf_",), r"(?<![A-Za-z0-9])(hf_)(?:[A-Za-z0-9]{20,}|[a-z]*[A-Z0-9][A-Za-z0-9]{6,})()"),
    (("gsk_", "r8_", "xai-", "tvly-", "pplx-", "ya29.", "sk_live_", "rk_live_", "xapp-", "hvs.", "api_org_", "wandb_v1_", "lsv2_pt_"),
     r"(?<![A-Za-z0-9])(gsk_|r8_|xai-|tvly-|pplx-|ya29\.|[sr]k_live_|xapp-|hvs\.|api_org_|wandb_v1_|lsv2_pt_)[A-Za-z0-9_.-]{16,}()"),
    (("value",),
     rf"""((?i:name["']?\s*[:=]\s*["']?[A-Za-z0-9_.-]{{0,80}}(?:key|token|secret|passw(?:or)?d|pass|pwd|credentials?)["']?\s*,?\s*["']?value["']?\s*[:=]\s*)){_VALUE}()"""),
    (("_pass", "_pwd", "_auth"), rf"(\b[A-Z][A-Z0-9_]{{0,60}}_(?:PASS|PWD|AUTH)\s?[=:]\s?){_VALUE}()"),
    (("sk-",), r"\b(sk-)[A-Za-z0-9_-]{12,}()"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"), r"\b(gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{12,}()"),
    (("glsa_", "glc_"), r"\b(glsa_|glc_)[A-Za-z0-9_+/=-]{12,}()"),
    (("xox",), r"\b(xox[a-z]-)[A-Za-z0-9-]{8,}()"),
    (("nvapi-", "dckr_pat_", "npm_", "pypi-", "dop_v1_"), r"\b(nvapi-|dckr_pat_|npm_|pypi-|dop_v1_)[A-Za-z0-9_-]{16,}()"),
    (("akia", "asia"), r"\b(AKIA|ASIA)[A-Z0-9]{16}\b()"),
    (("aiza",), r"\b(AIza)[A-Za-z0-9_-]{30,}()"),
    (("eyj",), r"\b(eyJ)[A-Za-z0-9_-]{5,4000}\.[A-Za-z0-9_-]{5,9000}(?:\.[A-Za-z0-9_-]*)?()"),
    (("private key-----",), r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?s:.*?)(-----END [A-Z ]*PRIVATE KEY-----|$)"),
    (("://",), r"""(\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/@:'"<>]{0,200}:)[^\s/'"<>]{1,500}(@)"""),
    (("://",), r"""(\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/@:'"<>]{16,500}(@)"""),
    (("bearer",), r"(?i:\b(bearer\s+))[A-Za-z0-9._~+/=-]{8,}()"),
    (("basic",), r"\b((?i:basic)\s+)[a-z]*[A-Z0-9+/][A-Za-z0-9+/]{5,}={0,2}()"),
    (("authorization", "x-api-key"),
     r"""(?i:\b((?:proxy-)?authorization|x-api-key)(["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|apikey|digest|negotiate)\s+)?))[^\s'",]+()"""),
    (("cookie",), r"""(?i:\b((?:set-)?cookie["']?\s*[:=]\s*["']?))[^\r\n'"]+()"""),
    (("x-amz-", "x-goog-", "sig="), r"(?i:((?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|[?&]sig)=))[^\s&'\"]+()"),
    (("key", "secret", "passw", "passphrase", "credential", "token"),
     rf"(?i:(--[a-z0-9_-]{{0,40}}(?:{_NAME}|token){_QUOTED_WORD}(?:\s*,\s*|\s+|=)))(?!--){_VALUE}()"),
    (("key", "secret", "passw", "passphrase", "credential"),
     rf"""((?i:{_NAME}(?:_[A-Z0-9]+)?{_QUOTED_WORD}\s*[:=]\s*\\?)){_VALUE}()"""),
    (("token",), rf"""((?i:{_TOKEN}{_QUOTED_WORD}\s*[:=]\s*\\?)){_VALUE}()"""),
    (("token",), rf"""(TOKEN{_QUOTED_WORD}\s*[:=]\s*\\?){_VALUE}()"""),
    (("token",), rf"""((?:^|[\s,(&?{{])(?:["']token["']\s*:\s*|token\s*=\s*)){_VALUE}()"""),
)  # fmt: skip

_GATE = (
    r"hf_|sk-|gh[pousr]_|_pat_|lpat-|gl(?:sa|c)_|xox|vapi-|npm_|pypi-|dop_v|AKIA|ASIA|AIza|eyJ|KEY--|earer|EARER|asic|ASIC|horiz|HORIZ|ookie|OOKIE"
    r"|-[Aa]mz|-[Gg]oog|sig=|[_-]key|pikey|[_-]Key|[_-]KEY|piKey|ecret|ECRET|assw|ASSW|phrase|PHRASE|edent|EDENT|oken[=:'\" ,\\]|OKEN[=:'\" ,\\]"
    r"|gsk_|r8_|xai-|tvly-|pplx-|ya29\.|k_live_|xapp-|hvs\.|api_org_|wandb_v1_|lsv2_pt_|_PASS|_PWD|_AUTH|\x1b\["
    r"|://[^\s/'\"<>]+@"
)
"""What a text must hold before a rule is tried on it. Short and few literals in the case they are written in: Rust searches
these three times as fast as whole words in any case."""


def gate_without_digits() -> str:
    """What a text must hold, where all its digits are zero bytes, before :func:`mask` changes anything in it: a Rust regex."""
    return _GATE.replace(r"\x1b", "\x1b").translate(dict.fromkeys(map(ord, "0123456789"), "\0"))


@cache
def _gate() -> re.Pattern[str]:
    return re.compile(_GATE)


@cache
def _colours() -> re.Pattern[str]:
    return re.compile(r"\x1b\[[0-9;:]*[A-Za-z]")


@cache
def _compiled() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    return tuple((words, re.compile(pattern)) for words, pattern in _RULES)


def _masked(found: re.Match[str]) -> str:
    *before, after = found.groups()
    secret = found[0][sum(map(len, before)) : len(found[0]) - len(after)]
    quote = secret[:1] if secret[:1] in ("'", '"', "[") and len(secret) > 1 else ""
    if quote and len(secret) == 2:
        return found[0]
    close = secret[-2:] if secret[-2:-1] == "\\" else "]" if quote == "[" else quote
    return f"{''.join(before)}{quote}{MASK}{close}{after}"


def mask(text: str) -> str:
    """``text`` with every secret in it replaced by ``***``; doing so twice changes nothing more."""
    if not _gate().search(text):
        return text
    if "\x1b[" in text and (plain := _colours().sub("", text)) != text:
        # a colour may stand between a name and its value, or inside a token
        masked = mask(plain)
        return masked if masked != plain else text
    low = text.lower()
    for words, pattern in _compiled():
        if any(word in low for word in words):
            text = pattern.sub(_masked, text)
    return text


def mask_series(texts: pl.Series) -> pl.Series:
    """:func:`mask` over a column of strings (nulls stay); only the few rows that hold one of the literals are copied out."""
    places = texts.str.contains(_GATE).fill_null(value=False).arg_true()
    cleaned = {text: mask(text) for text in texts.gather(places).unique().to_list()}
    changed = {old: new for old, new in cleaned.items() if old != new}
    if not changed:
        return texts
    return texts.scatter(places, texts.gather(places).replace(changed))


def mask_all(value: Any) -> Any:
    """:func:`mask` over every text inside lists, tuples and mappings, keys included."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask_all(key): mask_all(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [mask_all(inner) for inner in value]
    return value
