"""What watchdogs say of their process groups: sequence numbers as a clock of the job itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k3logs.grammar.message import parse_message
from k3logs.incidents.failure import Failure
from k3logs.incidents.hang import Collective


def collectives(failures: Sequence[Failure]) -> list[Collective]:
    """One entry per line that gives sequence numbers, for processes of a known rank."""
    found = []
    for failure in failures:
        rank = failure.process.rank if failure.process else None
        if rank is None:
            continue
        for telling in (failure, *failure.copies):
            text = telling.text
            work, status = parse_message("work_nccl", text), parse_message("pg_status", text)
            if work is None and status is None:
                continue
            both: dict[str, Any] = {**(work or {}), **(status or {}), **{f"group_{k}": v for k, v in (parse_message("process_group", text) or {}).items()}}
            group = str(both.get("group_pg_guid") or both.get("group_pg_id") or "")
            found.append(Collective(rank, group, _int(both.get("enqueued")), _int(both.get("completed")), _int(both.get("seq_num")), both.get("op_type"),
                                    _int(both.get("numel_in"))))
    # a line that names no group may be of any: it counts only where none does
    return [c for c in found if c.group] or found


def _int(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, str)) and str(value).lstrip("-").isdigit() else None
