"""The verdict in one sentence."""

from __future__ import annotations

from k3logs.incidents.crash import Choice
from k3logs.model import Suspect, Verdict

_PHASES = {
    "container": "before Python started", "import": "while importing", "config": "while reading its configuration", "device_init": "during device initialisation",
    "distributed_init": "while ranks were connecting", "weight_load": "while loading weights", "memory_profile": "during memory profiling",
    "compile": "during compilation", "kv_cache": "while sizing the KV cache", "graph_capture": "during warm-up and graph capture", "serving": "while serving",
    "shutdown": "during shutdown", "unknown": "in a phase that the logs do not show",
}


def sentence(verdict: Verdict, choice: Choice) -> str:
    """What an engineer wants to know first; ends with a full stop."""
    root = verdict.root_cause
    if verdict.outcome == "no_failure":
        requests = next((f for f in verdict.findings if f.kind == "request_errors"), None)
        return "No failure found" + (f"; {requests.message}." if requests else ".")
    if root is None:
        why = f": {'; '.join(choice.why)}" if choice.why else ""
        return f"Cannot tell what failed{why}; collect what is listed below."
    when = _PHASES[root.phase]
    what = root.title or root.message.split("\n")[0]
    what = what if len(what) <= 160 else what[:157] + "..."
    where = f" on {root.node}" if root.node else ""
    who = _who(root, choice)
    if choice.rule == "cascade.only" and root.rank is None:
        return f"Cannot tell who failed first: its line is not in these logs. The first consequence, {when}{where}: {what}."
    if choice.rule == "crash.untied":
        return f"Cannot tell who failed first: {choice.why[0]}. One of them, {when}{where}: {what}."
    if choice.between:
        lead = f"The path between {' and '.join(choice.between[:4])} failed first {when}, and none of them is to blame for sure"
    elif choice.kind == "hang":
        verb = "is the one the others wait for" if root.rank is not None else "hang"
        lead = f"{who}{where} {verb} {when}"
    elif choice.kind == "spmd":
        lead = f"{len(root.ranks) or 'Several'} {'ranks' if root.ranks else 'workers'} failed alike{where if len({root.node}) == 1 and root.node else ''} {when}"
    elif choice.rule == "crash.odd_size":
        lead = f"{who}{where} is the odd one out {when}"
    elif root.details.get("observed") is False and root.rank is not None:
        lead = f"{who}{where} died without a word {when}"
    else:
        lead = f"{who}{where} failed first {when}"
    hedge = "" if verdict.outcome == "failure" else "Not sure: "
    return f"{hedge}{lead}: {what}."


def _who(root: Suspect, choice: Choice) -> str:
    if root.rank is not None:
        return f"Rank {root.rank}"
    if choice.kind == "hang":
        return "Some ranks"
    return root.process or "A process"
