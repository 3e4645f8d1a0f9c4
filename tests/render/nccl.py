"""NCCL lines (upstream: src/debug.cc, init.cc, bootstrap.cc, misc/socket.cc, transport/net_ib)."""

from __future__ import annotations

from dataclasses import dataclass

from tests.render.scene import Node


@dataclass(frozen=True)
class Comm:
    """A communicator as all its ranks see it. ``commid`` is one 64-bit hash for all of them."""

    version: str
    cuda: str
    nranks: int
    nodes: int
    commid: str
    ifname: str = "eth0"
    call: str = "ncclCommInitRank"  # torch asks with ncclCommInitRankConfig

    @property
    def minor(self) -> int:
        return int(self.version.split(".")[1])


@dataclass(frozen=True)
class Member:
    """One rank of a communicator: its process, device and PCI bus id (as NCCL prints it, hex without leading zeros)."""

    comm: Comm
    node: Node
    pid: int
    rank: int
    dev: int
    bus: str
    pointer: str
    hcas: str
    prefix: str = ""  # what a launcher puts before every line of this process
    nvml: int = -1  # physical device; that of ``dev`` where -1
    every: bool = False  # NCCL_DEBUG_TIMESTAMP_LEVELS=ALL with microseconds

    def info(self, at: float, text: str, tid: int = 0) -> None:
        """`HOST:PID:TID [DEV] NCCL INFO text`."""
        stamp = f"[{self.node.local(at):%Y-%m-%d %H:%M:%S.%f}] " if self.every else ""
        self.node.say(at, f"{self.prefix}{stamp}{self.node.name}:{self.pid}:{tid or self.pid} [{self.dev}] NCCL INFO {text}")

    def warn(self, at: float, site: str, text: str, tid: int = 0) -> None:
        """The same at WARN: an empty line first, the stamp (1 s, local) since 2.26, then file:line."""
        stamp = f"[{self.node.local(at):%Y-%m-%d %H:%M:%S}] " if self.comm.minor >= 26 else ""
        head = f"{stamp}{self.node.name}:{self.pid}:{tid or self.pid} [{self.dev}] {site}"
        self.node.say(at, f"{self.prefix}\n{self.prefix}{head} NCCL WARN {text}")

    def chain(self, at: float, sites: list[str], result: int, tid: int = 0) -> None:
        """The back-trace `FILE:LINE -> R` from the failing function upwards."""
        for site in sites:
            self.info(at, f"{site} -> {result}", tid)

    @property
    def service(self) -> int:
        """Thread id of the proxy service."""
        return self.pid + 61

    def _who(self) -> str:
        return f"rank {self.rank} nranks {self.comm.nranks} cudaDev {self.dev} nvmlDev {self.dev if self.nvml < 0 else self.nvml} busId {self.bus} commId {self.comm.commid}"

    def open(self, at: float, data_direct: bool = False, network: str = "IB") -> None:
        """From the first line to `Init START`."""
        self.info(at, f"NCCL_SOCKET_IFNAME set by environment to {self.comm.ifname}")
        colon = "Bootstrap:" if self.comm.minor >= 24 else "Bootstrap :"
        self.info(at, f"{colon} Using {self.comm.ifname}:{self.node.address}<0>")
        self.info(at + 0.011, f"cudaDriverVersion {self.comm.cuda}")
        self.info(at + 0.012, f"NCCL version {self.comm.version}+cuda{int(self.comm.cuda) // 1000}.{int(self.comm.cuda) % 1000 // 10}")
        if self.comm.minor >= 24:
            self.info(at + 0.013, "NET/Plugin: Could not find: libnccl-net.so. ")
        else:
            self.info(at + 0.013, "NET/Plugin: No plugin found (libnccl-net.so)")
        if data_direct:
            for hca in self.hcas.split():
                self.info(at + 0.016, f"NET/IB: Data Direct DMA Interface is detected for device {hca}")
        tail = "_dma" if data_direct else ""
        using = " ".join(f"[{i}]{hca}{tail}:1/IB" for i, hca in enumerate(self.hcas.split()))
        self.info(at + 0.02, f"NET/IB : Using {using} [RO]; OOB {self.comm.ifname}:{self.node.address}<0>")
        if self.comm.minor >= 27:
            self.info(at + 0.021, f"Initialized NET plugin {network}")
            self.info(at + 0.021, f"Assigned NET plugin {network} to comm")
        self.info(at + 0.022, f"Using network {network}")
        self.info(at + 0.023, f"DMA-BUF is available on GPU device {self.dev}")
        self.info(at + 0.025, f"{self.comm.call} comm {self.pointer} {self._who()} - Init START")

    def boot(self, at: float, total: float) -> None:
        """Bootstrap is over; the ranks have told each other where they are."""
        per_node = self.comm.nranks // self.comm.nodes
        self.info(
            at,
            f"Bootstrap timings total {total:.6f} (create 0.000041, send 0.000312, recv {total * 0.7:.6f}, ring {total * 0.2:.6f}, delay 0.000000)",
        )
        self.info(
            at + 0.31,
            f"comm {self.pointer} rank {self.rank} nRanks {self.comm.nranks} nNodes {self.comm.nodes} localRanks {per_node} localRank {self.rank % per_node} MNNVL 0",
        )
        self.info(at + 0.33, "P2P Chunksize set to 524288")
        self.info(at + 0.34, f"[Proxy Service] Device {self.dev} CPU core {8 * self.dev + 3}", self.service)

    def channels(self, at: float, count: int = 2) -> None:
        """Ring connections: the network where the next rank is on another node."""
        per_node, n = self.comm.nranks // self.comm.nodes, self.comm.nranks
        before, after = (self.rank - 1) % n, (self.rank + 1) % n
        for c in range(count):
            if before // per_node != self.rank // per_node:
                self.info(
                    at,
                    f"Channel {c:02d}/0 : {before}[{before % per_node}] -> {self.rank}[{self.dev}] [receive] via NET/IB/{self.dev}/GDRDMA",
                )
            if after // per_node != self.rank // per_node:
                self.info(
                    at, f"Channel {c:02d}/0 : {self.rank}[{self.dev}] -> {after}[{after % per_node}] [send] via NET/IB/{self.dev}/GDRDMA"
                )
            else:
                self.info(at, f"Channel {c:02d}/0 : {self.rank}[{self.dev}] -> {after}[{after % per_node}] via P2P/CUMEM/read")

    def done(self, at: float, total: float) -> None:
        """Connected, then `Init COMPLETE`."""
        self.info(at, "Connected all rings, use ring PXN 0 GDR 1")
        self.info(at + 0.06, "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer")
        self.info(at + 0.07, "TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.")
        self.info(at + 0.071, f"{self.comm.call} comm {self.pointer} {self._who()} - Init COMPLETE")
        self.info(
            at + 0.0712,
            f"Init timings - {self.comm.call}: rank {self.rank} nranks {self.comm.nranks} total {total:.2f} (kernels 0.21, alloc 0.03, bootstrap {total * 0.3:.2f}, allgathers 0.05, topo 0.31, graphs 0.02, connections {total * 0.3:.2f}, rest 0.04)",
        )

    def retry(self, at: float, peer: str, first: int = 1, last: int = 5, limit: int = 34) -> float:
        """`connect … returned Connection refused, retrying (n/34)`; the pauses grow by 100 ms. Returns the time after the last."""
        for n in range(first, last + 1):
            self.info(
                at,
                f"socketPollConnect: connect to {peer} returned Connection refused, retrying ({n}/{limit}) after sleep for {100 * n} msec",
            )
            at += 0.1 * n
        return at


def buses(base: str = "1b 43 52 61 9d c3 d1 df") -> list[str]:
    """Bus ids of eight GPUs as NCCL prints them."""
    return [f"{b.lstrip('0')}000" for b in base.split()]
