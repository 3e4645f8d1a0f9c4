"""How sure a verdict is: the counted hit rate of the rule that decided, less what this incident lacks."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from math import sqrt
from pathlib import Path

from k3logs.errors import AuthorError

FILE = Path(__file__).parent / "data" / "rules.toml"
FEW, CAP_OF_FEW = 20, 0.7
_Z = 1.2816
"""Normal quantile of a one-sided 90% bound."""

DEFAULT_PENALTY = 0.05


@cache
def table(file: Path = FILE) -> tuple[dict[str, tuple[int, int]], dict[str, float]]:
    """Counts ``(n, k)`` per rule, and penalties by name."""
    try:
        data = tomllib.loads(file.read_text())
        rules = {name: (int(row["n"]), int(row["k"])) for name, row in data["rules"].items()}
        return rules, {name: float(value) for name, value in data["penalties"].items()}
    except (KeyError, TypeError, ValueError, tomllib.TOMLDecodeError) as error:
        raise AuthorError(file, 0, f"not a table of rules: {error}", "it has [rules] with n and k, and [penalties]") from error


def lower_bound(k: int, n: int) -> float:
    """The lower 90% bound of a rate of ``k`` in ``n`` (Wilson)."""
    if n == 0:
        return 0.0
    rate, z2 = k / n, _Z * _Z
    return (rate + z2 / (2 * n) - _Z * sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)


def confidence(rule: str, penalties: Iterable[str]) -> float:
    """Confidence of a verdict, 0 to 1, two digits."""
    rules, costs = table()
    n, k = rules.get(rule, (0, 0))
    value = lower_bound(k, n)
    if n < FEW:
        value = min(value, CAP_OF_FEW)
    for name in set(penalties):
        value -= costs.get(name, DEFAULT_PENALTY)
    return round(min(max(value, 0.05), 0.99), 2)
