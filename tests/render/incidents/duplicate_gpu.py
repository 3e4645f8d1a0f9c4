"""Two of four ranks were given one GPU; the other two lose their neighbours. One log of `mpirun --tag-output`."""

from __future__ import annotations

import random

from tests.render import c10
from tests.render.envelopes import plain
from tests.render.nccl import Comm, Member
from tests.render.scene import Node, Scene

BUSES = ["1b000", "3b000", "5c000", "5c000"]
FRAMES = 'Traceback (most recent call last):\n  File "/workspace/finetune.py", line 212, in <module>\n    main()\n  File "/workspace/finetune.py", line 88, in main\n    dist.barrier()\n  File "/usr/local/lib/python3.10/dist-packages/torch/distributed/c10d_logger.py", line 83, in wrapper\n    return func(*args, **kwargs)\n  File "/usr/local/lib/python3.10/dist-packages/torch/distributed/distributed_c10d.py", line 4159, in barrier\n    work = group.barrier(opts=opts)\n'
END = """--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[52219,1],3]
  Exit code:    1
--------------------------------------------------------------------------"""


def scene() -> Scene:
    rng = random.Random(3)
    node = Node("dgx-12", "10.1.1.12", phase=0.55)
    comm = Comm("2.21.5", "12040", 4, 1, "0x71f0aa2b6c3d9e05", ifname="ibs0", call="ncclCommInitRank")
    for r in range(4):
        q = c10.Rank(node, r, r, 6021 + r, f"[1,{r}]<stdout>:")
        e = c10.Rank(node, r, r, 6021 + r, f"[1,{r}]<stderr>:")
        at = 5.0 + rng.random() * 0.2
        q.print(
            at, f"{node.local(at):%Y-%m-%d %H:%M:%S} | INFO | rank {r}/4 on {node.name}: CUDA_VISIBLE_DEVICES={['0', '1', '2', '2'][r]}"
        )
        m = Member(comm, node, 6021 + r, r, 0, BUSES[r], f"0x{rng.randrange(16**11):011x}", "mlx5_0 mlx5_3", q.tee, min(r, 2))
        m.open(8.0 + rng.random() * 0.1)
        if r >= 2:
            _raise(
                e,
                m,
                8.61 + 0.004 * r,
                "init.cc:943",
                f"Duplicate GPU detected : rank {r} and rank {5 - r} both on CUDA device {BUSES[r]}",
                5,
                ["init.cc:1358", "init.cc:1548", "init.cc:1799"],
            )
        else:
            text = f"socketProgress: Connection closed by remote peer {node.name}.cluster<{38011 + r}>"
            _raise(
                e,
                m,
                9.02 + 0.03 * r,
                "misc/socket.cc:49",
                text,
                6,
                ["misc/socket.cc:752", "bootstrap.cc:75", "init.cc:1172", "init.cc:1548", "init.cc:1799"],
            )
    node.say(10.4, END)
    out = Scene(
        what="4 ranks on one node: ranks 2 and 3 share GPU 5c:00 because of CUDA_VISIBLE_DEVICES, NCCL refuses",
        truth={
            "outcome": "failure",
            "needles": [
                "Duplicate GPU detected : rank 2 and rank 3 both on CUDA device 5c000",
                "Duplicate GPU detected : rank 3 and rank 2 both on CUDA device 5c000",
            ],
            "ranks_ok": [2, 3],
            "node": node.name,
            "phases_ok": ["distributed_init"],
            "categories_ok": ["configuration"],
        },
        versions={"torch": "2.5.1", "nccl": comm.version, "wrapper": "mpirun --tag-output"},
        how="NCCL 2.21 has no stamp in its WARN lines; both ranks of the pair print, each naming itself first",
    )
    out.add(f"{node.name}.log", node, plain)
    return out


def _raise(e: c10.Rank, m: Member, at: float, site: str, text: str, result: int, chain: list[str]) -> None:
    """The WARN, its way up, and torch's exception with the WARN as `Last error`."""
    meaning, name = {
        5: (
            "invalid usage (run with NCCL_DEBUG=WARN for details)",
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
        ),
        6: (
            "remote process exited or there was a network error",
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        ),
    }[result]
    m.warn(at, site, text)
    m.chain(at, chain, result)
    e.excepthook(
        at + 0.12,
        f"{FRAMES}torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, {meaning}, NCCL version {m.comm.version}\n{name}\nLast error:\n{text}",
    )
