"""What a file's path says about its content; the weakest evidence, used only where the lines say nothing."""

from __future__ import annotations

import re  # the lint allows re.compile only for grammars; path names are matched with re.search
from pathlib import PurePath

_PART_HINTS = (
    ("rank", r"(?:^|[._-])rank[._-]?0*(\d+)(?:[._-]|$)"),
    ("attempt", r"^attempt_(\d+)$"),
    ("node", r"(?:^|[._])((?:[A-Za-z0-9]+[-_])*?(?:gpu-?)?(?:node|host|worker)[-_]?\d+)(?:[._-]|$)"),
)
_CONTAINER = r"^(?P<pod>[a-z0-9.-]+)_(?P<namespace>[a-z0-9-]+)_(?P<container>[a-z0-9.-]+)-(?P<id>[0-9a-f]{64})\.log"
_POD = r"^(?P<namespace>[a-z0-9-]+)_(?P<pod>[a-z0-9.-]+)_(?P<uid>[0-9a-f-]{32,36})$"
_JSON_FILE = r"^(?P<container_id>[0-9a-f]{64})-json\.log"
_RAY = r"^worker-[0-9a-f]{56}-[0-9a-f]{8}-(?P<pid>\d+)\.(?:out|err)"


def shown(path: str) -> str:
    """A path as text that any output can hold: bytes that are not UTF-8 as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def hints(path: str) -> dict[str, str]:
    """Fields that a path gives: node, rank, local_rank, attempt, pod, namespace, container, restart, pid, stream.

    Knows torchrun's ``attempt_0/3/stderr.log``, the kubelet's ``/var/log/pods/<ns>_<pod>_<uid>/<container>/0.log`` and
    ``/var/log/containers/...``, Docker's ``<id>-json.log``, Ray's ``worker-...-<pid>.out`` and names such as
    ``node2.log`` or ``rank03.log``.
    """
    parts = PurePath(path).parts
    found: dict[str, str] = {}
    for part in parts:
        for name, pattern in _PART_HINTS:
            if m := re.search(pattern, part):
                found[name] = m[1] if name == "node" else str(int(m[1]))
        for pattern in (_CONTAINER, _POD, _JSON_FILE, _RAY):
            if m := re.search(pattern, part):
                found.update({k: v for k, v in m.groupdict().items() if k not in ("uid", "id")})
    if len(parts) >= 3 and parts[-3].startswith("attempt_") and parts[-2].isdigit():
        found["local_rank"] = parts[-2]
    if len(parts) >= 3 and "pod" in found and "container" not in found and (m := re.match(r"^(\d+)\.log", parts[-1])):
        found["container"], found["restart"] = parts[-2], m[1]
    if (stem := PurePath(path).name.split(".")[0]) in ("stdout", "stderr"):
        found["stream"] = stem
    return found
