"""Which failure was before which, as far as lines, clocks and their bounds say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from k3logs.clocks.when import Times
from k3logs.incidents.failure import Failure


def before(a: Failure, b: Failure, times: Times) -> bool:
    """Whether ``a`` is known to be before ``b``: in one process by order, in one source by clearly different times, between
    nodes only outside all clock bounds.
    """
    if a.process is not None and a.process is b.process and a.event.source == b.event.source:
        return _order(a) < _order(b)
    if a.event.source == b.event.source or (a.node is not None and a.node == b.node):
        return a.high <= b.low and a.low < b.low
    bounds = times.between(a.node, b.node)
    return b.low - a.high > bounds


def minimal(failures: Sequence[Failure], times: Times) -> list[Failure]:
    """Failures that none of the others is known to be :func:`before`.

    Each is compared with the earliest of its process, its source, its node and each other node only: thousands of processes may fail at once.
    """
    by_process: dict[tuple[int, int], list[Failure]] = {}
    by_source: dict[int, list[Failure]] = {}
    by_node: dict[str | None, list[Failure]] = {}
    for one in sorted(failures, key=lambda f: f.high):
        if one.process is not None:
            by_process.setdefault((id(one.process), one.event.source), []).append(one)
        by_source.setdefault(one.event.source, []).append(one)
        by_node.setdefault(one.node, []).append(one)
    first = {key: min(map(_order, group)) for key, group in by_process.items()}
    bounds: dict[tuple[str | None, str | None], float] = {}

    def preceded(b: Failure) -> bool:
        if b.process is not None and first[id(b.process), b.event.source] < _order(b):
            return True
        near = [by_source[b.event.source], *([by_node[b.node]] if b.node is not None else [])]
        if any(before(a, b, times) for group in near for a in takewhile(lambda a: a.high <= b.low, group) if a is not b):
            return True
        for node, group in by_node.items():
            if node is not None and node == b.node:
                continue
            pair = node, b.node
            if pair not in bounds:
                bounds[pair] = times.between(*pair)
            if any(a.event.source != b.event.source for a in takewhile(lambda a, bound=bounds[pair]: b.low - a.high > bound, group)):  # type: ignore[misc]
                return True
        return False

    return [one for one in failures if not preceded(one)]


def _order(failure: Failure) -> tuple[int, int]:
    return failure.line, failure.event.order
