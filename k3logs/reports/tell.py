"""Parts of a verdict in words, the same for every report that people read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from k3logs.redact import mask_lines
from k3logs.reports import words
from k3logs.reports.safe import one_line

if TYPE_CHECKING:
    from k3logs.model import ClockOffset, Consequence, Coverage, Difference, Finding, RankState, Run, Suspect, Verdict

LONGEST = 600
"""Characters of one log text shown at most."""

MOST = 12
"""Nodes' clocks and notices shown at most; the rest is counted."""

LONGEST_READ = 8_192
"""Characters of a line that are looked over for secrets: enough for those at the cut."""


_WITNESS = {"cascade.only": "witness", "cascade.odd_one_out": "waited for", "crash.untied": "one of them", "pointer.path": "between"}


def role(suspect: Suspect) -> str:
    """What the root is called: ``first``, unless the rule that decided leaves open who was first."""
    return _WITNESS.get(suspect.rule, "first" if suspect.details.get("observed") is not False else "to blame")


def who(suspect: Suspect) -> str:
    """``rank 3, node-2, VllmWorker-3 (pid 4121)``."""
    if len(suspect.ranks) > 1:
        parts = [f"{len(suspect.ranks)} ranks ({words.ranks(suspect.ranks)}), the same failure on each"]
    else:
        parts = [f"rank {suspect.rank}"] if suspect.rank is not None else []
    parts += [one_line(text, 100) for text in (suspect.group, suspect.node) if text]
    pid = f"pid {suspect.pid}" if suspect.pid is not None else ""
    if suspect.process:
        parts.append(one_line(suspect.process, 100) + (f" ({pid})" if pid else ""))
    elif pid:
        parts.append(pid)
    return ", ".join(parts) or "process not known"


def message(suspect: Suspect) -> str:
    """The first meaningful message, in one line."""
    return one_line(suspect.message or suspect.raw, LONGEST)


def when(suspect: Suspect) -> str:
    """The time on the reference clock, how exact it is, and the stamp to search for."""
    if suspect.time is None:
        text = "not known"
    else:
        text = words.clock(suspect.time)
        low, high = suspect.time_low, suspect.time_high
        if low is not None and high is not None and high > low:
            text += f", between {words.clock(low)} and {words.clock(high)}"
        if suspect.time_basis == "assumed":
            text += " (zone or year assumed)"
    stamp = one_line(suspect.stamp, 60) if suspect.stamp else ""
    return f'{text}; printed as "{stamp}"' if stamp else text


def sure(suspect: Suspect) -> str:
    """The confidence as a number and a word."""
    word = "high" if suspect.confidence >= 0.8 else "fair" if suspect.confidence >= 0.5 else "low"
    return f"{suspect.confidence:.2f} ({word})"


def exception(suspect: Suspect) -> str:
    """Type and message of the exception where the message line does not already say both; else empty."""
    if suspect.exception is None:
        return ""
    text = one_line(f"{suspect.exception.type}: {suspect.exception.message.strip()}".removesuffix(": "), LONGEST)
    return "" if text == message(suspect) else text


def numbers(suspect: Suspect) -> str:
    """What was read from the message: ``errno 524, nic mlx5_3``."""
    shown = [(key, value) for key, value in suspect.details.items() if isinstance(value, (int, float, str)) and not isinstance(value, bool)]
    return ", ".join(f"{one_line(key, 40)} {one_line(value, 80)}" for key, value in shown[:12])


def signature(suspect: Suspect) -> str:
    """``NCCL001, DMA-BUF registration refused ``; empty where none matched."""
    if not suspect.signature:
        return ""
    title = f", {one_line(suspect.title, 120)}" if suspect.title else ""
    return f"{one_line(suspect.signature, 40)}{title}"


def place(source: str, line: int) -> str:
    """``node2.log:1234``, for an editor."""
    return f"{one_line('stdin' if source == '-' else source, 200)}:{line}"


def seen(evidence: str) -> str:
    """A piece of evidence, with standard input by its name."""
    return one_line(f"stdin{evidence[1:]}" if evidence.startswith("-:") else evidence, 200)


def evidence(suspect: Suspect) -> list[tuple[int, str, bool]]:
    """Line number, text and whether it is the line itself; the raw line alone where no context was kept."""
    if not suspect.context:
        return [(suspect.line, one_line(suspect.raw, LONGEST), True)]
    texts = mask_lines([near.text[:LONGEST_READ] for near in suspect.context])
    return [(near.line, one_line(text, LONGEST), near.marked) for near, text in zip(suspect.context, texts, strict=True)]


def aside(consequence: Consequence) -> str:
    """``12 lines of ranks 0-2: Remote peer closed the connection (cascade, first at a.log:88)``."""
    of = f" of {'rank' if len(consequence.ranks) == 1 else 'ranks'} {words.ranks(consequence.ranks)}" if consequence.ranks else ""
    where = place(consequence.source, consequence.line)
    return f"{words.counted(consequence.count, 'line')}{of}: {one_line(consequence.title, 160)} ({consequence.role}, first at {where})"


_STATES = ("root", "never_joined", "silent", "lagging", "exited", "log_missing", "victim", "healthy", "unknown")


def states(rows: Iterable[RankState]) -> Iterator[str]:
    """One text per state, the worst first: ``victim: ranks 0-2 (serving)``."""
    groups: dict[tuple[str, str], list[RankState]] = {}
    for row in rows:
        groups.setdefault((row.state, row.phase), []).append(row)
    order = {state: n for n, state in enumerate(_STATES)}
    for (state, phase), members in sorted(groups.items(), key=lambda item: (order.get(item[0][0], 99), item[0])):
        known = [row.rank for row in members if row.rank is not None]
        others = [one_line(row.process or f"pid {row.pid}", 60) for row in members if row.rank is None and (row.process or row.pid is not None)]
        parts = [f"{'rank' if len(set(known)) == 1 else 'ranks'} {words.ranks(known)}"] if known else []
        parts += others[:4] + ([f"{len(others) - 4} more processes"] if len(others) > 4 else [])
        if parts:
            yield f"{state.replace('_', ' ')}: {', '.join(parts)} (in {phase})"


def clocks(offsets: Iterable[ClockOffset]) -> Iterator[str]:
    """One text per node whose clock is known or not; nothing where there is only one."""
    rows = list(offsets)
    if len(rows) > MOST:  # those that say most: not tied, then far away
        rows.sort(key=lambda row: (row.offset is not None, -abs(row.offset or 0.0)))
        rest = [row.offset for row in rows[MOST:] if row.offset is not None]
        more = f"{words.counted(len(rows) - MOST, 'more node')}" + (f", {words.seconds(min(rest))} to {words.seconds(max(rest))}" if rest else ", not tied to the others")
        rows, after = rows[:MOST], [more]
    else:
        after = []
    for row in rows if len(rows) > 1 else ():
        node = one_line(row.node, 80)
        zone = f", stamps in UTC{row.utc_offset:+g} h" if row.utc_offset else ""
        if row.offset is None:
            yield f"{node}: not tied to the others; compared by causality alone{zone}"
            continue
        bounds = f" ({words.seconds(row.low)} to {words.seconds(row.high)})" if row.low is not None and row.high is not None else ""
        yield f"{node}: {words.seconds(row.offset)}{bounds}, {words.counted(row.anchors, 'anchor')}{zone}"
    yield from after


def notices(texts: Sequence[str]) -> Iterator[str]:
    """What was odd about the input, the first ones, and how many more there are."""
    yield from (one_line(text, 400) for text in texts[:MOST])
    if len(texts) > MOST:
        yield f"{words.counted(len(texts) - MOST, 'more notice')} (all are in --format json)"


def runs(attempts: Iterable[Run]) -> Iterator[str]:
    """One text per attempt; nothing where there is only one."""
    rows = list(attempts)
    for row in rows if len(rows) > 1 else ():
        leads = "; this one leads" if row.leads else ""
        yield f"attempt {row.index}: {words.clock(row.started)} to {words.clock(row.ended)}, {row.outcome}, reached {row.phase_reached}{leads}"


def findings(found: Iterable[Finding]) -> Iterator[str]:
    """``request errors: 2 requests failed while the server lived. (a.log:50)``."""
    for finding in found:
        where = f" ({', '.join(map(seen, finding.evidence[:3]))})" if finding.evidence else ""
        yield f"{finding.kind.replace('_', ' ')}: {one_line(finding.message, LONGEST)}{where}"


def more(count: int) -> str:
    """`` and 3 more``; nothing for none."""
    return f" and {words.number(count)} more" if count > 0 else ""


def differences(rows: Iterable[Difference]) -> Iterator[str]:
    """``warning: nccl_version: 2.27.3 on node-02; 2.28.1 on node-03``."""
    for row in rows:
        values = "; ".join(f"{one_line(value, 100)} on {', '.join(one_line(name, 60) for name in names[:8])}{more(len(names) - 8)}" for value, names in row.values.items())
        yield f"{row.severity}: {one_line(row.fact, 100)}: {values}"


def coverage(found: Coverage) -> str:
    """``1,234 lines in 2 sources (3.4 MB); 97.1% understood (nccl 40%, vllm 57%)``."""
    text = f"{words.counted(found.lines, 'line')} in {words.counted(found.sources, 'source')} ({words.size(found.bytes)})"
    if not found.lines:
        return text
    rows = max(found.lines, sum(found.by_dialect.values()))  # a line that a progress bar rewrote is several rows
    kinds = sorted(((count, name) for name, count in found.by_dialect.items() if count), reverse=True)[:6]
    names = f" ({', '.join(f'{one_line(name, 40)} {words.percent(count, rows)}' for count, name in kinds)})" if kinds else ""
    return f"{text}; {words.percent(found.parsed_lines, found.lines)} understood{names}"


def suggestion(verdict: Verdict) -> str:
    """What to try next where nothing could be said."""
    if verdict.outcome != "inconclusive":
        return ""
    if not verdict.coverage.lines and verdict.coverage.notices and verdict.coverage.sources:
        return "Nothing of the input could be read; the notices below say why."
    if not verdict.coverage.lines:
        return "The input holds no line. Pipe the log of the container: docker logs --timestamps NAME 2>&1 | k3logs triage"
    if not verdict.coverage.parsed_lines:
        return "No line is in a format k3logs knows. `k3logs grammars test FILE` shows where lines leave each grammar; `k3logs grammars list` names them."
    return ""
