"""Where an event table goes: one class per file format, all written in one step or not at all.

To add a format: a :class:`~k3logs.sinks.base.Sink` in a module of its own and its name in :data:`SINKS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from k3logs.sinks.base import Sink

SINKS = {
    "parquet": "k3logs.sinks.parquet:ParquetSink",
    "arrow": "k3logs.sinks.arrow:ArrowSink",
    "ndjson": "k3logs.sinks.text:NdjsonSink",
    "csv": "k3logs.sinks.text:CsvSink",
}
"""Format name -> module and class; imported when used, since most need pyarrow."""


def sink(name: str) -> Sink:
    """The sink of a format name in :data:`SINKS`.

    Raises:
        KeyError: no such format.
    """
    module, _, kind = SINKS[name].partition(":")
    return cast("Sink", getattr(import_module(module), kind)())
