"""``python -m tests.render NAME OUT`` writes one scene; ``python -m tests.render all CORPUS`` writes them all."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.render.catalogue import SCENES, load


def main(argv: list[str]) -> int:
    if len(argv) != 2 or (argv[0] != "all" and argv[0] not in SCENES):
        print(f"usage: python -m tests.render NAME OUT   NAME: all {' '.join(SCENES)}", file=sys.stderr)
        return 2
    name, out = argv[0], Path(argv[1])
    for slug in SCENES if name == "all" else [name]:
        load(slug).write(out / slug if name == "all" else out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
