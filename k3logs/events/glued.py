"""A second record inside a line: two processes wrote at once, and the newline between them was lost or came late.

Only an unmistakable header opens one, and never behind a quote: prompts and error texts quote log lines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import polars as pl

from k3logs.events.digest import Use
from k3logs.events.headers import Headers
from k3logs.events.lines import PAD
from k3logs.events.rows import Rows

_OPENS = (
    r"\((?:Vllm)?(?:Worker|EngineCore|APIServer)[A-Za-z0-9_]* (?:rank=[0-9]+ )?pid=[0-9]+\) (?:ERROR|INFO|WARNING|CRITICAL) [0-9]{2}-[0-9]{2} [0-9]{2}:"
    r"|\[rank[0-9]+\]:\[[EWF][0-9]{4} [0-9]{2}:|[A-Za-z0-9][A-Za-z0-9._-]*:[0-9]+:[0-9]+ \[[0-9]+\] (?:[A-Za-z_/]+\.cc:[0-9]+ )?NCCL (?:WARN|INFO) "
)
_PATTERN = rf"""^(?P<before>[^'"`{{}}]{{1,400}}?)(?P<rest>(?:{_OPENS}).*)$"""
"""Rust regex over messages: what stands before the second record, and the record."""


def split(rows: pl.DataFrame, uses: dict[int, Use], headers: Headers, extract: Callable[[bytearray, int], Rows]) -> pl.DataFrame:
    """Kept rows with each second record as a row of its own: same line, next part.

    Args:
        uses: headers that lines of this source have; those that only second records have are added.
        extract: reads lines to their messages (:meth:`k3logs.events.extract.Extractor.chunk`).
    """
    held = rows["message"].str.contains(_OPENS).fill_null(value=False)
    if not held.any():
        return rows
    found = rows["message"].filter(held).str.extract_groups(_PATTERN).struct.unnest().with_columns(place=held.arg_true())
    found = found.filter(pl.col("rest").is_not_null() & (pl.col("before").str.strip_chars() != ""))
    if not len(found):
        return rows
    text = "".join(rest.replace("\n", " ") + "\n" for rest in found["rest"]).encode()
    inner = extract(bytearray(text + bytes(PAD)), len(text))
    order = list(range(len(inner)))
    known = headers.known

    by_form: dict[str, list[int]] = {}
    for used in uses:
        by_form.setdefault(known[used].forms[-1] if known[used].forms else "", []).append(used)

    @cache
    def as_used(number: int) -> int:
        own = known[number]
        among = by_form.get(own.forms[-1], ()) if own.forms else uses
        return next((h for h in among if known[h].forms[-len(own.forms) :] == own.forms and own.fields.items() <= known[h].fields.items()), number)

    second = rows[found["place"].to_list()].with_columns(
        part=pl.col("part") + 1,
        header=pl.Series([as_used(int(h)) for h in inner.header], dtype=rows["header"].dtype),
        time=pl.Series(inner.time),
        grain=pl.Series(inner.grain),
        message=inner.messages(pl.Series(order).to_numpy()) + "",
        site=inner.site_texts(pl.Series(order).to_numpy()),
    )
    for row in second.iter_rows(named=True):
        if row["header"] not in uses:
            line, time, read = row["line"], row["time"], row["envelope_time"]
            uses[row["header"]] = Use(1, line, line, time, time, read, read, row["message"])
    first = rows.with_row_index("at").join(found.select(pl.col("place").alias("at").cast(pl.UInt32), "before"), on="at", how="left")
    first = first.with_columns(message=pl.coalesce("before", "message")).drop("at", "before")
    return pl.concat([first, second.select(first.columns)], how="vertical_relaxed").sort("line", "part", maintain_order=True)
