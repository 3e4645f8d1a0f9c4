"""The dictionary of the event table: every column's name, type, meaning, and what OpenTelemetry and ECS call it.

Only text until :func:`dtypes` is called, so that reading the dictionary costs no import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from k3logs.model import PHASES

if TYPE_CHECKING:
    import polars as pl

VERSION = 1
"""Raised when a column is dropped or changes meaning; new columns may come at any time."""

ROLES = ("initiating", "cascade", "teardown", "benign", "unknown")
TIME_ORIGINS = ("emitter", "envelope", "inherited")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        dtype: ``String``, ``Int16`` .. ``Int64``, ``UInt32``, ``Categorical`` (few different texts), ``Enum``
            (a fixed list, in ``values``) or ``Time`` (nanoseconds since 1970, UTC).
        meaning: in one sentence, with the unit; every column is null where its value is not known.
        otel, ecs: the name in OpenTelemetry's log data model or conventions, and in the Elastic Common Schema; empty where
            they have none.
    """

    name: str
    dtype: str
    meaning: str
    otel: str = ""
    ecs: str = ""
    values: tuple[str, ...] = ()


COLUMNS = (
    Column("source", "Categorical", "The log as given: a path, archive!member, or - for standard input.", "log.file.path", "log.file.path"),
    Column("line", "UInt32", "Line of the source as given, from 1, before anything is unwrapped."),
    Column("line_end", "UInt32", "Last line of a row that was put together from pieces (Docker's 16 KiB, CRI's P and F)."),
    Column("part", "Int16", "Number of the piece where several records stand in one line, from 0."),
    Column("node", "Categorical", "Host, or pod where no host is known.", "host.name", "host.name"),
    Column("pod", "Categorical", "Pod's name, from the wrapper or the path.", "k8s.pod.name", "kubernetes.pod.name"),
    Column("container", "Categorical", "Container's name, from the wrapper or the path.", "k8s.container.name", "container.name"),
    Column("process", "Categorical", "The process's tag as printed: Worker_TP3, EngineCore_DP0.", "process.title", "process.title"),
    Column("pid", "Int64", "Process id in the namespace of the node that printed it.", "process.pid", "process.pid"),
    Column("tid", "Int64", "Thread id.", "thread.id", "process.thread.id"),
    Column("rank", "Int32", "Global rank in the deployment."),
    Column("local_rank", "Int32", "Rank on its node."),
    Column("dp", "Int16", "Data-parallel rank."),
    Column("pp", "Int16", "Pipeline-parallel rank."),
    Column("tp", "Int16", "Tensor-parallel rank."),
    Column("ep", "Int16", "Expert-parallel rank."),
    Column("time", "Time", "The line's time as stamped, zone and year resolved.", "Timestamp", "@timestamp"),
    Column("time_origin", "Enum", "Whose stamp that is: the emitter's, the wrapper's, or the line's before.", values=TIME_ORIGINS),
    Column("time_resolution", "Int64", "Nanoseconds between neighbouring stamps of this kind."),
    Column("envelope_time", "Time", "When the wrapper read the line.", "ObservedTimestamp", "event.created"),
    Column("time_aligned", "Time", "The time on the reference node's clock."),
    Column("time_low", "Time", "Earliest aligned time that the clocks allow."),
    Column("time_high", "Time", "Latest aligned time that the clocks allow."),
    Column("dialect", "Categorical", "The line grammar that read the line; null for untagged text.", "", "event.module"),
    Column("form", "Categorical", "All forms peeled, outermost first: docker.stamped process.tag vllm.record.", "", "event.dataset"),
    Column("level", "Categorical", "Severity as printed.", "SeverityText", "log.level"),
    Column("file", "Categorical", "Source file that printed the line, where it says so.", "code.file.path", "log.origin.file.name"),
    Column("file_line", "Int32", "Line in that file.", "code.line.number", "log.origin.file.line"),
    Column("message", "String", "The text after wrapper, process prefix and header; secrets masked.", "Body", "message"),
    Column("record", "Int64", "Number of the record; its continuation lines have the same."),
    Column("exception", "Int64", "Number of the exception; all tellings of one failure have the same."),
    Column("signature", "Categorical", "Id of the known failure text in the record (k3logs explain ID).", "", "rule.id"),
    Column("role", "Enum", "What the record is in this incident.", values=ROLES),
    Column("phase", "Enum", "What its process was doing.", values=PHASES),
)  # fmt: skip


def dtypes() -> dict[str, pl.DataType]:
    """Column name -> polars type, in order."""
    import polars as pl

    made: dict[str, pl.DataType] = {}
    for column in COLUMNS:
        if column.dtype == "Enum":
            made[column.name] = pl.Enum(column.values)
        elif column.dtype == "Time":
            made[column.name] = pl.Datetime("ns", "UTC")
        else:
            made[column.name] = getattr(pl, column.dtype)()
    return made
