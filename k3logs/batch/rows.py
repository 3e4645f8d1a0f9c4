"""The table of verdicts: one row per incident."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from k3logs.redact import mask, mask_all
from k3logs.sources.names import shown

if TYPE_CHECKING:
    import polars as pl

    from k3logs.batch.incidents import Incident
    from k3logs.model import Verdict

Row = dict[str, Any]

LONGEST = 2000
"""Characters of one text in the table."""

COLUMNS = {
    "incident": ("String", "name of the incident: its entry in the folder"),
    "path": ("String", "where it was read"),
    "size": ("Int64", "bytes of its files when it was read"),
    "modified": ("Int64", "last change of its files, ns since 1970"),
    "outcome": ("String", "failure, no_failure or inconclusive; null where it could not be read"),
    "sentence": ("String", "the answer in one sentence"),
    "rank": ("Int64", "global rank of the first failure"),
    "ranks": ("List(Int64)", "all ranks with that same failure"),
    "node": ("String", "where it failed first"),
    "process": ("String", "which process failed first"),
    "pid": ("Int64", "its process id"),
    "time": ("Time", "when, on the reference clock"),
    "phase": ("String", "what the process was doing"),
    "category": ("String", "kind of failure"),
    "signature": ("String", "id of the known failure text"),
    "confidence": ("Float64", "0 to 1"),
    "message": ("String", "the first meaningful message"),
    "exception": ("String", "type of the exception"),
    "fingerprint": ("String", "the same for the same failure, wherever and whenever"),
    "source": ("String", "log that holds the message"),
    "line": ("Int64", "its line, from 1"),
    "route": ("String", "branch of the runbook"),
    "actions": ("List(String)", "what to do"),
    "missing": ("List(String)", "what to collect"),
    "lines": ("Int64", "lines read"),
    "bytes": ("Int64", "bytes read, unpacked"),
    "parsed_lines": ("Int64", "lines understood"),
    "notices": ("List(String)", "what was odd about the input"),
    "seconds": ("Float64", "wall clock of the triage"),
    "version": ("String", "of k3logs"),
    "error": ("String", "why there is no verdict; null where there is one"),
}
"""Column -> type and meaning."""


def of_verdict(incident: Incident, verdict: Verdict, seconds: float) -> Row:
    """The row of an incident that was read."""
    root = verdict.root_cause
    row: Row = {
        "outcome": verdict.outcome, "sentence": verdict.sentence, "route": verdict.route, "missing": verdict.missing,
        "actions": [action.do for action in verdict.actions], "lines": verdict.coverage.lines, "bytes": verdict.coverage.bytes,
        "parsed_lines": verdict.coverage.parsed_lines, "notices": verdict.coverage.notices, "version": verdict.version,
    }  # fmt: skip
    if root is not None:
        row |= {
            "rank": root.rank, "ranks": root.ranks, "node": root.node, "process": root.process, "pid": root.pid, "time": _time(root.time),
            "phase": root.phase, "category": root.category, "signature": root.signature, "confidence": root.confidence, "message": root.message,
            "exception": root.exception.type if root.exception else None, "fingerprint": root.fingerprint or None, "source": root.source, "line": root.line,
        }  # fmt: skip
    return _whole(incident, mask_all(row), seconds)


def of_error(incident: Incident, error: str, seconds: float) -> Row:
    """The row of an incident that could not be read."""
    return _whole(incident, {"error": mask(error)}, seconds)


def _whole(incident: Incident, row: Row, seconds: float) -> Row:
    known = {"incident": incident.shown, "path": mask(shown(str(incident.path))), "size": incident.size, "modified": incident.modified, "seconds": round(seconds, 3)}
    return {name: _short((known | row).get(name)) for name in COLUMNS}


def _short(value: Any) -> Any:
    return value[:LONGEST] if isinstance(value, str) else [_short(inner) for inner in value] if isinstance(value, list) else value


def _time(nanos: int | None) -> datetime | None:
    try:
        return None if nanos is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanos // 1000)
    except OverflowError:
        return None


def frame(rows: list[Row]) -> pl.DataFrame:
    """The rows as a table."""
    import polars as pl

    kinds: dict[str, Any] = {"List(Int64)": pl.List(pl.Int64), "List(String)": pl.List(pl.String), "Time": pl.Datetime("us", "UTC")}
    return pl.DataFrame(rows, schema={name: kinds.get(kind) or getattr(pl, kind) for name, (kind, _) in COLUMNS.items()})
