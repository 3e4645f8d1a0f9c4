"""How often each deciding rule is right on labelled logs: the counts of ``k3logs/verdict/data/rules.toml``.

    python -m tests.count_rules FOLDER...

A labelled log is ``NAME.truth.json`` beside ``NAME/`` or ``NAME.log``, or a folder with ``incident.toml`` and ``logs/``. Right
means outcome, root line and rank. Count on logs that no rule was written on, and say which in the table.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from k3logs import triage
from k3logs.batch.truth import misses

_ASKED = ("outcome", "needles", "rank", "ranks_ok", "all_ranks")


def labelled(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Logs below a folder, each with its truth."""
    for file in sorted(folder.rglob("*.truth.json")):
        base = file.with_name(file.name.removesuffix(".truth.json"))
        yield (base if base.is_dir() else base.with_suffix(".log")), json.loads(file.read_text())
    for file in sorted(folder.rglob("incident.toml")):
        yield file.parent / "logs", tomllib.loads(file.read_text())["truth"]


def main(folders: list[str]) -> None:
    """Print ``rule = { n, k }`` for each rule that decided anything, and what was wrong with high confidence."""
    seen: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for folder in folders:
        for path, truth in labelled(Path(folder)):
            verdict = triage([str(path)]).to_json()
            rule = (verdict["root_cause"] or {}).get("rule") or "nothing"
            wrong = list(misses({k: v for k, v in truth.items() if k in _ASKED}, verdict))
            seen[rule] += 1
            right[rule] += not wrong
            if wrong and (verdict["root_cause"] or {}).get("confidence", 0) >= 0.8:
                print(f"# wrong and sure: {path}: {wrong[0]}", file=sys.stderr)
    for rule in sorted(seen):
        print(f'"{rule}" = {{ n = {seen[rule]}, k = {right[rule]} }}')


if __name__ == "__main__":
    main(sys.argv[1:])
