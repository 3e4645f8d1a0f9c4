"""Which rank of a distributed vLLM deployment failed first, with which message, in which phase, and what to do next.

::

    verdict = k3logs.triage(["logs/"])      # k3logs.model.Verdict
    table = k3logs.read(["logs/"])          # polars.DataFrame, one row per line

Names are imported when first used, so that ``import k3logs`` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from k3logs.errors import AuthorError, InputError, K3LogsError
    from k3logs.model import Suspect, Verdict
    from k3logs.read import read
    from k3logs.triage import Options, triage

__version__ = "0.1.0"
__all__ = ["AuthorError", "InputError", "K3LogsError", "Options", "Suspect", "Verdict", "__version__", "read", "triage"]

_HOME = {
    "AuthorError": "k3logs.errors",
    "InputError": "k3logs.errors",
    "K3LogsError": "k3logs.errors",
    "Options": "k3logs.triage",
    "Suspect": "k3logs.model",
    "Verdict": "k3logs.model",
    "read": "k3logs.read",
    "triage": "k3logs.triage",
}


class _Package(ModuleType):
    """This package, on which ``triage`` and ``read`` stay functions: importing the modules of these names would hang those here."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'k3logs' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
