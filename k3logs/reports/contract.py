"""A verdict as the object of ``k3logs.verdict/1``.

Additive: ``sentence``, ``consequences``, ``title`` and ``context`` come beside what the contract names. Times are RFC 3339 in UTC,
every text is masked, and nothing in it is more than JSON can say.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from k3logs.redact import mask_all, mask_lines
from k3logs.reports.words import rfc3339

if TYPE_CHECKING:
    from k3logs.model import RankState, Run, Suspect, Verdict

SCHEMA = "k3logs.verdict/1"
LONGEST_MESSAGE = 500


def to_contract(verdict: Verdict) -> dict[str, Any]:
    """The JSON object, ready for :func:`json.dumps`."""
    root = verdict.root_cause
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "version": verdict.version,
        "outcome": verdict.outcome,
        "sentence": verdict.sentence,
        "root_cause": _suspect(root) if root else None,
        "alternatives": [_suspect(suspect) for suspect in verdict.alternatives],
        "ranks": [_rank(state) for state in verdict.ranks],
        "clocks": [asdict(offset) for offset in verdict.clocks],
        "consistency": [asdict(difference) for difference in verdict.consistency],
        "environment": {name: [asdict(fact) for fact in facts] for name, facts in verdict.environment.items()},
        "actions": [asdict(action) for action in verdict.actions],
        "findings": [asdict(finding) for finding in verdict.findings],
        "missing": list(verdict.missing),
        "consequences": [asdict(consequence) for consequence in verdict.consequences],
        "coverage": asdict(verdict.coverage),
        "route": verdict.route,
        "runs": [_run(run) for run in verdict.runs],
    }
    plain: dict[str, Any] = mask_all(_plain(found))
    for suspect in (plain["root_cause"], *plain["alternatives"]):
        if suspect is not None:
            suspect["message"] = suspect["message"][:LONGEST_MESSAGE]
            for near, text in zip(suspect["context"], mask_lines([near["text"] for near in suspect["context"]]), strict=True):
                near["text"] = text
    return plain


def _suspect(suspect: Suspect) -> dict[str, Any]:
    found = asdict(suspect)
    for name in ("time", "time_low", "time_high"):
        found[name] = rfc3339(found[name])
    return found


def _rank(state: RankState) -> dict[str, Any]:
    return asdict(state) | {"last_seen": rfc3339(state.last_seen)}


def _run(run: Run) -> dict[str, Any]:
    return asdict(run) | {"started": rfc3339(run.started), "ended": rfc3339(run.ended)}


def _plain(value: Any) -> Any:
    """Only what JSON has: NumPy numbers as numbers, sets as lists, other objects as text, NaN and infinity as null."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(inner) for inner in value), key=str)
    return _plain(value.item()) if hasattr(value, "item") else str(value)
