"""Which rank of a distributed vLLM deployment failed first, with which message, in which phase, and what to do next.

::

    verdict = k3logs.triage(["logs/"])      # k3logs.model.Verdict
    table = k3logs.read(["logs/"])          # polars.DataFrame, one row per line

Names are imported when first used, so that ``import k3logs`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from k3logs.errors import AuthorError, InputError, K3LogsError
    from k3logs.model import Suspect, Verdict

__version__ = "0.1.0"
__all__ = ["AuthorError", "InputError", "K3LogsError", "Suspect", "Verdict", "__version__"]

_HOME = {
    "AuthorError": "k3logs.errors",
    "InputError": "k3logs.errors",
    "K3LogsError": "k3logs.errors",
    "Suspect": "k3logs.model",
    "Verdict": "k3logs.model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'k3logs' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
