"""A big log, the same bytes every time: one vLLM container of two, as `docker logs --timestamps` gives it.

Eight of sixteen ranks serve with NCCL's collective trace on; at 80 % of the log the network of rank 11 gives up, its
worker raises, the engine dies and the front end answers 500 until the end. Line formats as the sources of vLLM, NCCL,
torch and uvicorn print them (see ``tests/render``); only the share of each is made up, and is in ``SHARES``.
"""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from messages import SITES, TOPOLOGY

RANKS = range(8, 16)
CULPRIT = 11
CAUSE = "Got completion from peer 10.41.7.20<41873> with status=12 opcode=1 len=0 vendor err 129 (Send)"
_EPOCH = 1_785_922_200  # seconds: 2026-08-05 09:30:00 UTC
_HOST = "b300-r7-n21"
_SITE = "/usr/local/lib/python3.12/dist-packages/vllm/v1/"
_INCIDENT = 0.8

# Thirty fixed strings of failures, the yardstick's needles; the catalogue may grow without moving them.
NEEDLES = (
    "NCCL WARN", "Got completion from peer", "unhandled system error", "unhandled cuda error", "remote process exited",
    "Connection closed by remote peer", "Watchdog caught collective operation timeout", "CUDA out of memory", "device-side assert triggered",
    "an illegal memory access", "EngineDeadError", "EngineCore encountered a fatal error", "WorkerProc hit an exception",
    "WorkerProc failed to start", "Engine core initialization failed", "Failed to load model", "Address already in use", "NVRM: Xid",
    "invoked oom-killer", "Memory cgroup out of memory", "fallen off the bus", "No available memory for the cache blocks",
    "DistStoreError", "DistBackendError", "Timed out after", "Broken pipe", "ibv_reg_mr", "mlx5dv_reg_dmabuf_mr", "Segmentation fault",
    "died unexpectedly",
)  # fmt: skip


class Now:
    """The time of the next line, moving on; texts of the same second are made once."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.ns, self.second = rng, 0, -1
        self.docker = self.short = self.long = ""

    def step(self) -> str:
        """Move on by 0 to 8 ms; returns the container's stamp."""
        self.ns += self.rng.randrange(8_000_000)
        second, ns = divmod(self.ns, 1_000_000_000)
        if second != self.second:
            self.second, when = second, time.gmtime(_EPOCH + second)
            self.docker, self.short, self.long = (time.strftime(f, when) for f in ("%Y-%m-%dT%H:%M:%S", "%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"))
        return f"{self.docker}.{ns:09d}Z "


Say = Callable[[random.Random, Now, int], str]


def _worker(rank: int) -> str:
    return f"(Worker_TP{rank} pid={301 + 7 * (rank % 8)}) "


def _nccl(rank: int) -> str:
    pid = 301 + 7 * (rank % 8)
    return f"{_HOST}:{pid}:{pid + 61} [{rank % 8}] "


def _collective(rng: random.Random, now: Now, rank: int) -> str:
    return (
        f"{_nccl(rank)}NCCL INFO AllReduce: opCount {rng.randrange(1 << 20):x} sendbuff 0x7f{rng.randrange(1 << 36):09x} recvbuff 0x7f{rng.randrange(1 << 36):09x}"
        f" count {1 << rng.randrange(10, 22)} datatype 9 op 0 root 0 comm 0x55d0c3{rank:02x}7a10 [nranks=16] stream 0x55d0c2{rank:02x}11f0"
    )


def _access(rng: random.Random, now: Now, rank: int) -> str:
    return f'(APIServer pid=1) INFO:     10.40.{rng.randrange(4)}.{rng.randrange(256)}:{rng.randrange(32768, 60999)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def _refused(rng: random.Random, now: Now, rank: int) -> str:
    return _access(rng, now, rank).removesuffix("200 OK") + "500 Internal Server Error"


def _stats(rng: random.Random, now: Now, rank: int) -> str:
    return (
        f"(APIServer pid=1) INFO {now.short} [loggers.py:259] Engine 000: Avg prompt throughput: {rng.random() * 9000:.1f} tokens/s, Avg generation throughput:"
        f" {rng.random() * 3000:.1f} tokens/s, Running: {rng.randrange(256)} reqs, Waiting: {rng.randrange(9)} reqs, GPU KV cache usage: {rng.random() * 90:.1f}%,"
        f" Prefix cache hit rate: {rng.random() * 60:.1f}%"
    )


def _request(rng: random.Random, now: Now, rank: int) -> str:
    return (
        f"(APIServer pid=1) INFO {now.short} [logger.py:39] Received request chatcmpl-{rng.getrandbits(128):032x}: params: SamplingParams(n=1,"
        f" temperature={rng.random():.2f}, top_p=0.95, max_tokens={rng.randrange(16, 8192)}), lora_request: None."
    )


def _step(rng: random.Random, now: Now, rank: int) -> str:
    return f"{_worker(rank)}INFO {now.short} [gpu_model_runner.py:3308] step {rng.randrange(1 << 24)} took {rng.random() * 90:.3f} ms, {rng.randrange(1, 512)} sequences"


def _warning(rng: random.Random, now: Now, rank: int) -> str:
    return f"{_worker(rank)}WARNING {now.short} [fused_moe.py:{rng.choice((642, 818))}] Using default MoE config. Performance might be sub-optimal! Config file not found at configs/E={rng.randrange(64)}.json"


def _c10(rng: random.Random, now: Now, rank: int) -> str:
    month_day = now.long[6:7] + now.long[8:10]
    return f"[rank{rank}]:[I{month_day} {now.long[11:]}.{rng.randrange(10**9):09d} ProcessGroupNCCL.cpp:{rng.choice((979, 2093, 2867))}] [PG ID 2 PG GUID 3 Rank {rank}] Launched collective SeqNum={rng.randrange(1 << 22)}"


def _client(rng: random.Random, now: Now, rank: int) -> str:
    return f'{now.long},{rng.randrange(1000):03d} - httpx - INFO - HTTP Request: GET http://10.40.0.9:8500/v1/kv/{rng.getrandbits(32):08x} "HTTP/1.1 200 OK"'


def _progress(rng: random.Random, now: Now, rank: int) -> str:
    return "\r".join(f"Loading safetensors checkpoint shards: {10 * n:3d}% | {n}/10 [00:{n:02d}<00:{10 - n:02d}, {rng.random() * 3:.2f}it/s]" for n in range(1, 6))


def _site(rng: random.Random, now: Now, rank: int) -> str:
    """One of many places in vLLM; which one is drawn, as are its numbers."""
    where, text = rng.choice(SITES)
    return f"{_worker(rank)}INFO {now.short} [{where}] {_filled(rng, text)}"


def _topology(rng: random.Random, now: Now, rank: int) -> str:
    return f"{_nccl(rank)}NCCL INFO {_filled(rng, rng.choice(TOPOLOGY))}"


def _filled(rng: random.Random, text: str) -> str:
    return text.format(n=rng.randrange(1 << 16), m=rng.randrange(16), k=rng.randrange(16), f=rng.random() * 100, x=rng.getrandbits(40))


def _plain(rng: random.Random, now: Now, rank: int) -> str:
    return rng.choice(("", "  - vocab: 163840", "    warnings.warn(", "=" * 60, f"cache entry {rng.getrandbits(64):016x} written"))


SHARES: dict[Say, int] = {
    _collective: 200, _topology: 140, _access: 220, _step: 60, _site: 160, _request: 80, _stats: 40, _warning: 10, _c10: 70, _client: 50,
    _progress: 5, _plain: 25,
}  # fmt: skip
AFTER: dict[Say, int] = {_refused: 600, _client: 300, _plain: 100}


def _traceback(head: str, where: str, first: str, tail: str) -> list[str]:
    frames = [
        f'  File "{_SITE}{path}", line {line}, in {name}'
        for path, line, name in (("executor/multiproc_executor.py", 961, "worker_busy_loop"), ("worker/gpu_worker.py", 611, "execute_model"))
    ]
    return [f"{head}[{where}] {text}" for text in (first, "Traceback (most recent call last):", *frames, tail)]


def _start(now: Now) -> list[str]:
    """What ties pids to ranks and says that the engine was up."""
    lines = ["(APIServer pid=1) INFO 08-05 09:30:00 [api_utils.py:299] version 0.27.1"]
    for r in RANKS:
        world = f"world_size=16 rank={r} local_rank={r % 8} distributed_init_method=tcp://10.41.7.20:29547 backend=nccl"
        comm = f"comm 0x55d0c3{r:02x}7a10 rank {r} nranks 16 cudaDev {r % 8} nvmlDev {r % 8} busId {r + 11:x}000 commId 0x8b1f2ce95d37a604"
        lines += [
            f"{_worker(r)}INFO {now.short} [parallel_state.py:1405] {world}",
            f"{_nccl(r)}NCCL INFO ncclCommInitRankConfig {comm} - Init START",
            f"{_nccl(r)}NCCL INFO ncclCommInitRankConfig {comm} - Init COMPLETE",
            f"{_worker(r)}INFO {now.short} [gpu_model_runner.py:5094] Graph capturing finished in 9 secs, took 1.74 GiB",
        ]
    return [*lines, "(APIServer pid=1) INFO:     Application startup complete."]


def _incident(now: Now) -> list[str]:
    """The cause on one rank, then those who notice."""
    error = "RuntimeError: NCCL error: remote process exited or there was a network error"
    worker, engine, server = (f"{who}ERROR {now.short} " for who in (_worker(CULPRIT), "(EngineCore pid=187) ", "(APIServer pid=1) "))
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    quoted = "RuntimeError: Worker failed with error 'NCCL error: remote process exited or there was a network error', please check the stack trace above for the root cause"
    return [
        "",
        f"[{now.long}] {_nccl(CULPRIT)}transport/net_ib/p2p.cc:612 NCCL WARN NET/IB: {CAUSE} localGid ::ffff:10.41.7.21 remoteGids::ffff:10.41.7.20 hca mlx5_3",
        f"{_nccl(CULPRIT)}NCCL INFO transport/net.cc:1375 -> 6",
        *_traceback(worker, "multiproc_executor.py:968", "WorkerProc hit an exception.", error),
        *_traceback(engine, "core.py:1070", "EngineCore encountered a fatal error.", quoted),
        *_traceback(server, "async_llm.py:746", "AsyncLLM output_handler failed.", dead),
    ]


def lines(size: int) -> Iterator[str]:
    """The log's lines, stamped, until at least ``size`` bytes."""
    rng = random.Random(524)
    now = Now(rng)
    done, broken = 0, False
    pending = [now.step() + line for line in _start(now)]
    while done < size:
        if not broken and done >= _INCIDENT * size:
            broken = True
            pending = [now.step() + line for line in _incident(now)]
        if not pending:
            shares = AFTER if broken else SHARES
            says = rng.choices(list(shares), list(shares.values()), k=512)
            pending = [now.step() + say(rng, now, rng.choice(RANKS)) for say in says]
        yield from pending
        done += sum(map(len, pending)) + len(pending)
        pending = []


def folder() -> Path:
    """Where made logs are kept between runs: below the system's folder for temporary files."""
    path = Path(tempfile.gettempdir()) / f"k3logs-bench-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def big(megabytes: int, kind: str = "serving") -> Path:
    """The log of that many MB (10^6 bytes), made once for each text of these modules: this module's (``serving``) or that of ``mixed``."""
    made_by = hashlib.sha256(b"".join(Path(__file__).with_name(name).read_bytes() for name in ("logs.py", "messages.py", "mixed.py"))).hexdigest()[:12]
    path = folder() / f"{kind}-{megabytes}-{made_by}.log"
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        made = lines if kind == "serving" else import_module("mixed").lines
        with draft.open("w", encoding="utf-8", errors="surrogateescape", newline="") as out:
            out.writelines(line + "\n" for line in made(megabytes * 1_000_000))
        draft.replace(path)
    return path


def head(log: Path, count: int) -> Path:
    """The first ``count`` lines of a log, in a file beside it."""
    path = log.with_suffix(f".head{count}")
    if not path.exists():
        with log.open("rb") as source:
            path.write_bytes(b"".join(line for line, _ in zip(source, range(count), strict=False)))
    return path
