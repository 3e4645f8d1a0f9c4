"""The README's example: what its command prints today. ``python tests/readme.py`` writes it into the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
EXAMPLE = re.compile(r"(<!-- example: (?P<from>.+?) = (?P<to>.+?) -->\n```console\n\$ (?P<command>[^\n]+)\n)(?P<output>.*?)(```\n)", re.DOTALL)


def printed(match: re.Match[str]) -> str:
    """What the example's command prints, the log coming from the corpus instead of a container."""
    command = re.sub(re.escape(match["from"]) + r"[^|]*", match["to"] + " ", match["command"])
    command = command.replace("k3logs triage", f"{sys.executable} -m k3logs triage")
    plain = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "NO_COLOR")}
    return subprocess.run(["bash", "-c", command], cwd=ROOT, env=plain, capture_output=True, text=True, check=True).stdout


def renewed(text: str) -> str:
    """The README with its example as printed today."""
    return EXAMPLE.sub(lambda m: m[1] + printed(m) + m[6], text)


if __name__ == "__main__":
    README.write_text(renewed(README.read_text()))
