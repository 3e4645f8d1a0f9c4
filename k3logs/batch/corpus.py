"""The labelled incidents: each one's verdict against its truth, and against the verdict that was last accepted."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k3logs.batch import truth
from k3logs.errors import AuthorError, InputError
from k3logs.reports.contract import to_contract

if TYPE_CHECKING:
    from k3logs.model import Verdict

GOLDEN = "expected.json"
HEALTHY = {"outcome": "no_failure"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """One incident of a corpus: ``SLUG/incident.toml`` beside ``SLUG/logs/``, or ``healthy/SLUG/logs/`` without a truth of its own."""

    slug: str
    folder: Path
    truth: dict[str, Any]

    @property
    def logs(self) -> Path:
        """The folder of its logs."""
        return self.folder / "logs"


@dataclass(slots=True)
class Checked:
    """What a check found: misses in words, and the lines of the golden's difference (``accepted`` None: there is no golden)."""

    incident: Labelled
    misses: list[str]
    difference: list[str] = field(default_factory=list)
    accepted: bool | None = True
    text: str = ""

    @property
    def right(self) -> bool:
        """Nothing missed and nothing changed."""
        return not self.misses and self.accepted is True


def labelled(root: Path, slugs: Sequence[str] = ()) -> list[Labelled]:
    """The incidents of a corpus, all or those named.

    Raises:
        AuthorError: an ``incident.toml`` that cannot be used.
        InputError: a slug that is not there, or a folder without any.
    """
    found = []
    for logs in sorted(root.glob("*/logs")) + sorted(root.glob("healthy/*/logs")):
        folder = logs.parent
        found.append(Labelled(folder.relative_to(root).as_posix(), folder, _truth(folder)))
    if not found:
        raise InputError(f"no labelled incident in {root}", "one is a folder with incident.toml and logs/")
    if unknown := [slug for slug in slugs if slug not in {one.slug for one in found}]:
        raise InputError(f"no incident {unknown[0]} in {root}", f"there are {', '.join(one.slug for one in found)}")
    return [one for one in found if not slugs or one.slug in slugs]


def _truth(folder: Path) -> dict[str, Any]:
    path = folder / "incident.toml"
    if not path.is_file() and folder.parent.name == "healthy":
        return dict(HEALTHY)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise AuthorError(path, 0, f"cannot be read: {error}", "see another incident.toml") from error
    found = data.get("truth")
    if folder.parent.name == "healthy" and found is None:
        return dict(HEALTHY)
    if not isinstance(found, dict) or "outcome" not in found:
        raise AuthorError(path, 0, "[truth] has no outcome", "say failure, no_failure or inconclusive")
    if unknown := sorted(set(found) - set(truth.KEYS)):
        raise AuthorError(path, 0, f"[truth] does not know {unknown[0]}", f"it knows {', '.join(truth.KEYS)}")
    return found


def check(incidents: Sequence[Labelled]) -> Iterator[Checked]:
    """Triage each incident and compare."""
    from k3logs.triage import triage

    for incident in incidents:
        yield compare(incident, triage([str(incident.logs)]))


def compare(incident: Labelled, verdict: Verdict) -> Checked:
    """One verdict against truth and golden."""
    checked = Checked(incident, list(truth.misses(incident.truth, to_contract(verdict))), text=golden(verdict))
    path = incident.folder / GOLDEN
    if not path.is_file():
        checked.accepted = None
        return checked
    old = path.read_text(encoding="utf-8")
    checked.accepted = old == checked.text
    checked.difference = list(difflib.unified_diff(old.splitlines(), checked.text.splitlines(), f"{incident.slug}/{GOLDEN}", "now", lineterm="", n=2))
    return checked


def golden(verdict: Verdict) -> str:
    """The verdict as it is kept: without what changes from version to version, or with the year a log is read in."""
    found = to_contract(verdict)
    found.pop("version")
    root = found["root_cause"] or {}
    if root.get("time_basis", "none") != "known":
        found = _without_year(found)
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


_TIMES = frozenset({"time", "time_low", "time_high", "last_seen", "started", "ended"})


def _without_year(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _without_year(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_year(inner) for inner in value]
    return f"YYYY{value[4:]}" if key in _TIMES and isinstance(value, str) else value
