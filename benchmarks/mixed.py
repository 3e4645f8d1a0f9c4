"""A log of four nodes and thirty-two ranks that a collector merged: many programs, wrappers and colours, some damage, and one lost GPU.

At 80 % a GPU of ``node01`` falls off the bus: the kernel says so, a second later every rank reports a broken connection, the engines raise, a minute
later the watchdogs speak; healthy traffic goes on all the while. Formats as the sources of each program print them (see ``tests/render``).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

from logs import Now
from messages import SITES, TOPOLOGY

WORLD = 32
CULPRIT, NODE, SIGNATURE = 11, "node01", "XID079"
_INCIDENT = 0.8
_QUIET = 20
"""Lines of traffic between two of the incident's."""

Line = Callable[[random.Random, Now, int], str]


def _node(rank: int) -> str:
    return f"node{rank // 8:02d}"


def _pid(rank: int) -> int:
    return 2100 + 43 * rank


def _nccl(rank: int) -> str:
    return f"{_node(rank)}:{_pid(rank)}:{_pid(rank) + 70} [{rank % 8}] "


def _filled(rng: random.Random, text: str) -> str:
    return text.format(n=rng.randrange(1 << 16), m=rng.randrange(16), k=rng.randrange(16), f=rng.random() * 100, x=rng.getrandbits(40))


def _vllm(rng: random.Random, now: Now, rank: int) -> str:
    where, text = rng.choice(SITES)
    who = rng.choice((f"(Worker_TP{rank % 8} pid={_pid(rank)})", f"(EngineCore_DP{rank // 8} pid={80 + rank // 8})", "(APIServer pid=9)"))
    return f"{who} {rng.choice(('INFO', 'INFO', 'INFO', 'WARNING'))} {now.short} [{where}] {_filled(rng, text)}"


def _ray(rng: random.Random, now: Now, rank: int) -> str:
    where, text = rng.choice(SITES)
    return f"\x1b[36m(RayWorkerWrapper pid={_pid(rank)}, ip=10.9.0.{2 + rank // 8})\x1b[0m INFO {now.short} [{where}] {_filled(rng, text)}"


def _topology(rng: random.Random, now: Now, rank: int) -> str:
    return f"{_nccl(rank)}NCCL INFO {_filled(rng, rng.choice(TOPOLOGY))}"


def _init(rng: random.Random, now: Now, rank: int) -> str:
    comm = f"comm 0x{rng.getrandbits(44):x} rank {rank} nranks {WORLD} cudaDev {rank % 8} nvmlDev {rank % 8} busId {16 * rank:x}000 commId 0x{rng.getrandbits(60):x}"
    return f"{_nccl(rank)}NCCL INFO ncclCommInitRankConfig {comm} - Init START"


def _access(rng: random.Random, now: Now, rank: int) -> str:
    return f'(APIServer pid=9) INFO:     10.9.{rng.randrange(4)}.{rng.randrange(250)}:{rng.randrange(32768, 60999)} - "GET /metrics HTTP/1.1" 200 OK'


def _client(rng: random.Random, now: Now, rank: int) -> str:
    return f"{now.long},{rng.randrange(1000):03d} - INFO - kvstore.client - fetched {rng.randrange(4096)} of {rng.randrange(9999)} blocks in {rng.random() * 50:.3f} ms"


def _step(rng: random.Random, now: Now, rank: int) -> str:
    return f"[default{rank % 8}]:[rank{rank}]: step {rng.randrange(1 << 20)} loss={rng.random() * 4:.5f} tokens/s={rng.random() * 1e5:.1f}"


def _c10(rng: random.Random, now: Now, rank: int) -> str:
    return f"[rank{rank}]:[I{now.long[6:7]}{now.long[8:10]} {now.long[11:]}.{rng.randrange(10**9):09d} ProcessGroupNCCL.cpp:{rng.choice((979, 2093))}] [PG ID 2 PG GUID 3 Rank {rank}] NCCL version: 2.27.5"


def _kernel(rng: random.Random, now: Now, rank: int) -> str:
    return f"Aug  5 {now.long[11:]} {_node(rank)} kernel: [{rng.random() * 1e6:13.6f}] IPv6: ADDRCONF(NETDEV_CHANGE): veth{rng.getrandbits(28):07x}: link becomes ready"


def _progress(rng: random.Random, now: Now, rank: int) -> str:
    return "\r".join(f"Capturing CUDA graphs: {10 * n:3d}%|{'#' * n}| {n}/10 [00:{n:02d}<00:{10 - n:02d}]" for n in range(1, rng.randrange(3, 8)))


def _odd(rng: random.Random, now: Now, rank: int) -> str:
    arguments = ", ".join(f"'option_{n}': {rng.getrandbits(30)}" for n in range(rng.randrange(100, 600)))
    return rng.choice(("", "", "  - heads: 64", f"torn \udcff\udc80 \x00\x00 bytes {rng.getrandbits(30)}", f"INFO {now.short} [config.py:7] settings: {{{arguments}}}"))


SHARES: dict[Line, int] = {_vllm: 250, _topology: 260, _init: 40, _access: 200, _ray: 40, _client: 50, _step: 60, _c10: 25, _kernel: 10, _progress: 10, _odd: 25}


def _incident(now: Now) -> Iterator[str]:
    yield f"Aug  5 {now.long[11:]} {NODE} kernel: [774411.018822] NVRM: Xid (PCI:0000:4b:00): 79, pid={_pid(CULPRIT)}, name=python3, GPU has fallen off the bus."
    for rank in range(WORLD):
        yield f"[{now.long}] {_nccl(rank)}transport/net_ib.cc:1295 NCCL WARN NET/IB: Got completion from peer 10.9.0.3<51022> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
        yield f"{_nccl(rank)}NCCL INFO transport/net.cc:1298 -> 6"
    for engine in range(WORLD // 8):
        head = f"(EngineCore_DP{engine} pid={80 + engine}) ERROR {now.short} [core.py:1070] "
        yield head + "EngineCore encountered a fatal error."
        yield head + "Traceback (most recent call last):"
        yield head + '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 1061, in run_engine_core'
        yield head + "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:268, remote process exited or there was a network error, NCCL version 2.27.5"


def _wrapped(rng: random.Random, now: Now, text: str) -> str:
    stamp = now.step()
    kind = rng.random()
    if kind < 0.35:
        return stamp + text
    if kind < 0.43:
        return f"{stamp}{rng.choice(('stdout', 'stderr'))} {'F' if rng.randrange(200) else 'P'} {text}"
    if kind < 0.51 and text.isprintable():
        return json.dumps({"log": text + "\n", "stream": "stderr", "time": stamp.strip()}, separators=(",", ":"), ensure_ascii=False)
    return text


def lines(size: int) -> Iterator[str]:
    """The log's lines, until at least ``size`` bytes."""
    rng = random.Random(79)
    now = Now(rng)
    done, incident, broken = 0, iter(()), False
    while done < size:
        if not broken and done >= _INCIDENT * size:
            incident, broken = _incident(now), True
        told = next(incident, None)
        says = rng.choices(list(SHARES), list(SHARES.values()), k=_QUIET if broken else 512)
        texts = [say(rng, now, rng.randrange(WORLD)) for say in says]
        pending = [*([told] if told is not None else []), *(_wrapped(rng, now, text) for text in texts)]
        yield from pending
        done += sum(map(len, pending)) + len(pending)
