"""Lines that a collector keeps as JSON objects, one a line, keys in any order and spacing.

``log``: Docker's json-file as written anew, Fluent Bit and fluentd (plugins/out_*, filter_kubernetes), moby's fluentd driver;
``line``: logcli -o jsonl (grafana/loki pkg/logcli/output/jsonl.go); ``MESSAGE``: journalctl -o json (systemd
src/shared/logs-show.c, which writes unprintable text as an array of bytes); ``short_message``: GELF; ``textPayload``: Google
Cloud Logging; ``message``: Filebeat, Logstash, Elasticsearch's ``_source``, Vector, stern -o json, CloudWatch events.

An application's own record has a level (``record_json``); here something tells of a collector: a stream, a pod, a label.
"""

from __future__ import annotations

import polars as pl

_TEXTS = ("log", "line", "MESSAGE", "short_message", "textPayload", "message")
_CLAIM = rf'"(?:{"|".join(_TEXTS)})"\s*:\s*["\[]'
_COLLECTOR = (
    r'"(?:stream|source|source_type|kubernetes|labels|podName|pod|_index|_source|@version|host|_HOSTNAME|__REALTIME_TIMESTAMP|'
    r'logStreamName|ingestionTime|logName|container_name|container_id|short_message|textPayload)"\s*:'
)
_LEVEL = r'"(?:levelname|level|severity)"\s*:\s*"'
_STAMP = r'"(?:time|@timestamp|timestamp|ts|date)"\s*:'
_RFC3339 = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
_STAMPS = ("SYSLOG_TIMESTAMP", "time", "@timestamp", "timestamp", "ts", "__REALTIME_TIMESTAMP", "date")
_DIGITS = ((9, 10), (6, 13), (3, 16), (0, 19))
"""An epoch's unit by its number of digits: powers of ten that make it nanoseconds, and digits."""


def _text(name: str) -> pl.Expr:
    return pl.col("line").str.extract(rf'"{name}"\s*:\s*"((?:[^"\\]|\\.)*)"')


def _first(*names: str) -> pl.Expr:
    return pl.coalesce(*(_text(name) for name in names))


def _named(owner: str) -> pl.Expr:
    """``"pod":{... "name":"x"}``, as ECS writes it."""
    return pl.col("line").str.extract(rf'"{owner}"\s*:\s*\{{[^{{}}]*"name"\s*:\s*"([^"\\]+)"')


def read(lines: pl.Series) -> pl.DataFrame:
    """Split the lines that are such objects.

    Returns:
        columns ``place``, ``body`` (still escaped), ``stream``, ``stamp`` (RFC 3339, or null), ``tag`` (``P`` or ``F`` where the
        collector says whether the line is a piece), ``host``, ``pod``, ``container``, ``namespace``.
    """
    line = pl.col("line")
    frame = pl.DataFrame({"line": lines}).with_row_index("place").filter(line.str.contains(_CLAIM))
    if frame.height:
        frame = frame.filter(
            line.str.contains(_COLLECTOR) | (line.str.contains(_STAMP) & ~line.str.contains(_LEVEL)),
            line.str.contains(r"\}\s*,?\s*$"),
        )
    frame = frame.with_columns(_first(*_TEXTS).alias("body"), line.str.extract(r'"MESSAGE"\s*:\s*\[([0-9, ]+)\]').alias("bytes"))
    if frame["bytes"].is_not_null().any():
        frame = frame.with_columns(pl.col("bytes").map_elements(_spelled, pl.String).fill_null(pl.col("body")).alias("body"))
    frame = frame.filter(pl.col("body").is_not_null()).with_columns(
        line.str.extract(r'"(?:stream|source)"\s*:\s*"(stdout|stderr)"').alias("stream"),
        pl.coalesce(line.str.extract(rf'"{name}"\s*:\s*"?([0-9][^",}}]*)') for name in _STAMPS).alias("stamp"),
        pl.when(_text("partial_message") == "true").then(pl.when(_text("partial_last") == "true").then(pl.lit("F")).otherwise(pl.lit("P")))
        .otherwise(line.str.extract(r'"(?:_p|logtag)"\s*:\s*"([PF])')).alias("tag"),
        pl.coalesce(_first("_HOSTNAME", "pod_node_name", "nodeName", "node_name", "host"), _named("node"), _named("host")).alias("host"),
        pl.coalesce(_first("pod_name", "podName", "pod"), _named("pod")).alias("pod"),
        pl.coalesce(_first("container_name", "containerName", "container"), _named("container")).str.strip_prefix("/").alias("container"),
        pl.coalesce(_first("namespace_name", "pod_namespace", "namespace")).alias("namespace"),
    )  # fmt: skip
    return frame.drop("line", "bytes").with_columns(_stamps(frame["stamp"]))


def _spelled(numbers: str) -> str:
    """Text that journalctl wrote as its bytes, escaped as all others here are."""
    text = bytes(int(n) & 255 for n in numbers.split(",") if n.strip()).decode("utf-8", "replace")
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _stamps(text: pl.Series) -> pl.Series:
    """Epochs of any unit and stamps without a zone (they are UTC) as RFC 3339; null for anything else."""
    frame = pl.DataFrame({"stamp": text.str.strip_chars()})
    stamp = pl.col("stamp")
    whole, part = stamp.str.extract(r"^([0-9]+)"), stamp.str.extract(r"^[0-9]{10}\.([0-9]{1,9})").fill_null("").str.pad_end(9, "0").cast(pl.Int64)
    count = pl.when(stamp.str.contains(r"^[0-9]+(?:\.[0-9]+)?$")).then(whole.str.len_bytes())
    nanos = pl.coalesce(pl.when(count == digits).then(whole.cast(pl.Int64, strict=False) * 10**power) for power, digits in _DIGITS) + part
    zoneless = stamp.str.contains(_RFC3339 + "$")
    return frame.select(
        pl.when(stamp.str.contains(_RFC3339))
        .then(stamp.str.replace(" ", "T", literal=True).str.replace(",", ".", literal=True) + pl.when(zoneless).then(pl.lit("Z")).otherwise(pl.lit("")))
        .otherwise(nanos.cast(pl.Datetime("ns")).dt.strftime("%Y-%m-%dT%H:%M:%S%.9fZ"))
        .alias("stamp")
    )["stamp"]
