"""Log records that are JSON objects: vLLM's ``--logging-config.formatter json`` (0.31 up, pythonjsonlogger), and any
``logging`` dictConfig with a JSON formatter.

Keys by ``vllm/logging_utils``: asctime, levelname, name, processName, process, vllm_process_name, message, exc_info.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from k3logs.envelopes.json_text import unescape
from k3logs.events.headers import Header

FORM = "record_json.record"
_STRING = r'"\s*:\s*"((?:[^"\\]|\\.)*)"'
_NUMBER = r'"\s*:\s*"?([0-9]+)'
_SEPARATOR = "\x1f"
STAMPS: tuple[tuple[str, ...], ...] = (("RFC3339",), ("DATE", "CLOCK"))
_KEYS = ("level", "process", "pid", "logger")


def read(lines: pl.Series) -> pl.DataFrame:
    """Read JSON records.

    Returns:
        ``key`` (level, process, pid, logger, for :func:`header`), ``stamp``, ``text`` (message, with the traceback on
        lines of its own), ``ok`` (null on lines that are not such a record).
    """
    frame = pl.DataFrame({"line": lines})

    def text(*names: str) -> pl.Expr:
        return pl.coalesce(*(pl.col("line").str.extract(f'"{name}{_STRING}') for name in names))

    frame = frame.with_columns(
        text("message", "msg", "event").alias("message"),
        text("levelname", "level", "severity").alias("level"),
        text("asctime", "timestamp", "time", "ts").alias("stamp"),
        text("vllm_process_name", "processName").alias("process"),
        pl.col("line").str.extract(f'"process{_NUMBER}').alias("pid"),
        text("name", "logger").alias("logger"),
        text("exc_info", "exception").alias("traceback"),
    )
    frame = frame.with_columns(
        unescape(frame["message"].fill_null("")).alias("body"),
        unescape(frame["traceback"].fill_null("")).alias("traceback"),
    )
    return frame.select(
        pl.concat_str([pl.col(k).fill_null("") for k in _KEYS], separator=_SEPARATOR).alias("key"),
        "stamp",
        pl.concat_str("body", pl.when(pl.col("traceback") != "").then(pl.lit("\n") + pl.col("traceback")).otherwise(pl.lit(""))).alias("text"),
        pl.when(pl.col("message").is_not_null() & pl.col("level").is_not_null()).then(pl.lit(True)).alias("ok"),
    )


def header(key: str) -> Header:
    """The header that a record's key stands for."""
    fields = {name: value for name, value in zip(_KEYS, key.split(_SEPARATOR), strict=True) if value}
    return Header(fields, (FORM,), "record_json", ("DATE", "CLOCK"))


def stamps(frame: pl.DataFrame) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int64], pl.Series]]:
    """The stamps by the kind to read them as, with the rows that they stand in."""
    column = frame["stamp"].fill_null("")
    zoned = column.str.contains("^[0-9-]{10}T.*(?:Z|[+-][0-9:]{4,5})$")
    for kind, chosen in zip(STAMPS, (zoned, ~zoned), strict=True):
        if chosen.any():
            yield kind, np.flatnonzero(chosen.to_numpy()), column.filter(chosen)
