"""A process of the deployment, and the table that joins what different lines say about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from k3logs.grammar.message import parse_message

KINDS = ("worker", "engine", "api", "launcher", "kernel", "other")


@dataclass(slots=True)
class Process:
    """One process, as far as the logs identify it.

    Attributes:
        name: its tag as printed (``Worker_TP1``, ``EngineCore_DP0``), the innermost one.
        kind: one of :data:`KINDS`.
        node: host, pod or source it runs on.
        parallel: dp, pp, pcp, tp, ep, local_rank where printed.
        sources: numbers of the sources it prints to.
    """

    id: int
    name: str | None = None
    kind: str = "other"
    node: str | None = None
    pid: int | None = None
    rank: int | None = None
    parallel: dict[str, int] = field(default_factory=dict)
    sources: set[int] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    world: int | None = None
    engine: str | None = None

    @property
    def label(self) -> str:
        """How it is called in sentences."""
        if self.rank is not None:
            return f"rank {self.rank}" + (f" ({self.name})" if self.name else "")
        return self.name or (f"pid {self.pid}" if self.pid is not None else "an unnamed process")


Key = tuple[object, ...]


class Registry:
    """Joins identity keys (``("pid", node, 7)``, ``("rank", 3)``) to processes; a key belongs to one process."""

    def __init__(self) -> None:
        self._parent: dict[Key, Key] = {}
        self.conflicts: list[str] = []

    def find(self, key: Key) -> Key:
        """The key that stands for all that were joined with this one."""
        path = []
        self._parent.setdefault(key, key)
        while self._parent[key] != key:
            path.append(key)
            key = self._parent[key]
        for step in path:
            self._parent[step] = key
        return key

    def join(self, keys: Iterable[Key]) -> None:
        """All keys name one process."""
        first: Key | None = None
        for key in keys:
            root = self.find(key)
            if first is None:
                first = root
            elif root != first:
                self._parent[root] = first

    def groups(self) -> dict[Key, list[Key]]:
        """Standing key -> all its keys."""
        out: dict[Key, list[Key]] = {}
        for key in list(self._parent):
            out.setdefault(self.find(key), []).append(key)
        return out


DIMENSIONS = ("dp", "pp", "pcp", "tp")
"""Dimensions of a world, the outermost first."""

_KIND_PREFIXES = (
    ("Worker", "worker"), ("VllmWorker", "worker"), ("RayWorker", "worker"), ("TrainWorker", "worker"), ("EngineCore", "engine"), ("ForkProcess", "engine"),
    ("SpawnProcess", "engine"), ("APIServer", "api"), ("ApiServer", "api"), ("RustFrontend", "api"), ("DPSupervisor", "api"), ("DPCoordinator", "engine"),
    ("MainProcess", "api"), ("raylet", "launcher"), ("autoscaler", "launcher"),
)


def kind_of(name: str | None) -> str:
    """What a process tag stands for; a Ray actor of any class counts as a worker."""
    if not name:
        return "other"
    return next((kind for prefix, kind in _KIND_PREFIXES if name.startswith(prefix)), "worker" if name.endswith(("Worker", "Actor")) else "other")


@cache
def parallel_of(name: str) -> dict[str, int]:
    """Dimensions in a process's tag: ``Worker_DP1_PP0_TP3_EP11`` -> dp 1, pp 0, tp 3, ep 11 (``setup_proc_title_and_log_prefix``)."""
    found = parse_message("process_tag", name) or {}
    return {k: int(v) for k, v in found.items() if k != "role" and str(v).isdigit()}


def global_rank(parallel: dict[str, int], sizes: dict[str, int], sure: frozenset[str] = frozenset(DIMENSIONS)) -> int | None:
    """``((dp*PP + pp)*PCP + pcp)*TP + tp`` (``vllm/distributed/parallel_state.py``).

    None where no dimension is known, or where it takes a size that is not ``sure``.
    """
    if not set(parallel) & {"dp", "pp", "pcp", "tp"}:
        return None
    rank = parallel.get("dp", 0)
    for name in DIMENSIONS[1:]:
        if rank and name not in sure:
            return None
        rank = rank * sizes.get(name, 1) + parallel.get(name, 0)
    return rank
