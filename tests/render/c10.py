"""torch's C++ log lines, the NCCL watchdog and the torchelastic agent (upstream: Logging.cpp, ProcessGroupNCCL.cpp, elastic).

A c10 stamp is wall seconds with the fraction of the monotonic clock: the fraction is wrong by the node's ``phase``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tests.render.scene import Node


@dataclass(frozen=True)
class Rank:
    """One process of a torch job. ``tee`` is what the agent or launcher puts before each of its lines."""

    node: Node
    rank: int
    local: int
    pid: int
    tee: str = ""

    def glog(self, at: float, level: str, site: str, text: str, ranked: bool = True) -> None:
        """`[rankN]:[EMDD HH:MM:SS.ns file:line] text`; continuation lines have no prefix but the launcher's."""
        head = f"[rank{self.rank}]:" if ranked else ""
        first, *more = text.split("\n")
        self.node.say(at, f"{self.tee}{head}[{level}{stamp(self.node, at)} {site}] {first}", "stderr")
        for line in more:
            self.node.say(at, self.tee + line, "stderr")

    def excepthook(self, at: float, text: str) -> None:
        """A Python traceback after init_process_group: `[rankN]: ` before every line that is not empty."""
        for line in text.split("\n"):
            self.node.say(at, f"{self.tee}[rank{self.rank}]: {line}" if line else self.tee, "stderr")

    def print(self, at: float, text: str) -> None:
        for line in text.split("\n"):
            self.node.say(at, self.tee + line)


def stamp(node: Node, at: float) -> str:
    """`MDD HH:MM:SS.ns` in local time, with the fraction of another clock."""
    wall = node.local(at)
    nanos = int(((wall.microsecond / 1e6 - node.phase) % 1.0) * 1e9)
    return f"{wall.month}{wall.day:02d} {wall:%H:%M:%S}.{nanos:09d}"


def agent(node: Node, at: float, pid: int, level: str, site: str, text: str) -> None:
    """A line of the torchelastic agent; every line of a longer text repeats the prefix."""
    wall: datetime = node.local(at)
    head = f"{level}{wall:%m%d %H:%M:%S}.{wall.microsecond // 1000 * 1000:06d} {pid} torch/distributed/elastic/{site}] "
    for line in text.split("\n"):
        node.say(at, head + line, "stderr")


def watchdog(
    r: Rank,
    at: float,
    seq: int,
    op: str,
    numel: int,
    timeout_ms: int,
    ran_ms: int,
    enqueued: int,
    completed: int,
    group: str = "PG ID 0 PG GUID 0(default_pg)",
) -> None:
    """The family of lines that a rank prints when a collective did not end in time (torch 2.6 to 2.8 wording)."""
    who = f"[{group} Rank {r.rank}]"
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)={timeout_ms})"
    caught = f"Watchdog caught collective operation timeout: {work} ran for {ran_ms} milliseconds before timing out."
    site = "ProcessGroupNCCL.cpp:"
    r.glog(at, "E", site + "632", f"[Rank {r.rank}] {caught}")
    r.glog(
        at + 0.001,
        "E",
        site + "2271",
        f"{who}  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {enqueued}, last completed work: {completed}",
    )
    r.glog(
        at + 0.001,
        "E",
        site + "670",
        "Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
    )
    r.glog(at + 0.002, "E", site + "2106", f"{who} First PG on this rank to signal dumping.")
    r.glog(
        at + 0.4,
        "E",
        site + "684",
        f"[Rank {r.rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
    )
    r.glog(at + 0.4, "E", site + "698", f"[Rank {r.rank}] To avoid data inconsistency, we are taking the entire process down.")
    trace = "Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:635 (most recent call first):\nframe #0: c10::Error::Error(c10::SourceLocation, std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >) + 0x98 (0x7f1c2a178758 in /usr/local/lib/python3.12/dist-packages/torch/lib/libc10.so)\nframe #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, std::ratio<1l, 1000l> > >) + 0x247 (0x7f1bd1b6a0c7 in /usr/local/lib/python3.12/dist-packages/torch/lib/libtorch_cuda.so)\n"
    r.glog(
        at + 0.41, "E", site + "1899", f"{who} Process group watchdog thread terminated with exception: [Rank {r.rank}] {caught}\n{trace}"
    )
    r.print(
        at + 0.42,
        f"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  {who} Process group watchdog thread terminated with exception: [Rank {r.rank}] {caught}",
    )


def dump_signal(r: Rank, at: float, teller: int, enqueued: int, completed: int, group: str = "PG ID 0 PG GUID 0(default_pg)") -> None:
    """What a rank prints that did not time out itself but was told to dump (two spaces before `rank`)."""
    r.glog(
        at,
        "E",
        "ProcessGroupNCCL.cpp:1682",
        f"[{group} Rank {r.rank}] Observed flight recorder dump signal from another rank via TCPStore.",
    )
    r.glog(
        at + 0.001,
        "E",
        "ProcessGroupNCCL.cpp:1743",
        f"[{group} Rank {r.rank}] Received a dump signal due to a collective timeout from  rank {teller} and we will try our best to dump the debug info. Last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. NCCL), etc. ",
    )
    r.glog(
        at + 0.002,
        "E",
        "ProcessGroupNCCL.cpp:1533",
        f"[{group} Rank {r.rank}] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1, only active collectives: 0",
    )


def summary(node: Node, at: float, pid: int, script: str, entries: list[tuple[Rank, int, str]]) -> None:
    """The block of ChildFailedError for one node; the last entry is the one that it calls the root cause."""
    rule, bar = "-" * 60, "=" * 60

    def entry(index: int, r: Rank, code: int, signal: str) -> str:
        tail = (
            f"Signal {-code} ({signal}) received by PID {r.pid}"
            if code < 0
            else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        )
        return f"[{index}]:\n  time      : {node.local(at):%Y-%m-%d_%H:%M:%S}\n  host      : {node.name}\n  rank      : {r.rank} (local_rank: {r.local})\n  exitcode  : {code} (pid: {r.pid})\n  error_file: <N/A>\n  traceback : {tail}"

    others = "\n".join(entry(i + 1, *e) for i, e in enumerate(entries[:-1])) or "  <NO_OTHER_FAILURES>"
    node.say(
        at,
        f'Traceback (most recent call last):\n  File "/usr/local/bin/torchrun", line 8, in <module>\n    sys.exit(main())\n  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/run.py", line 901, in main\n    run(args)\n  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/launcher/api.py", line 277, in launch_agent\n    raise ChildFailedError(\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{bar}\n{script} FAILED\n{rule}\nFailures:\n{others}\n{rule}\nRoot Cause (first observed failure):\n{entry(0, *entries[-1])}\n{bar}',
        "stderr",
    )
