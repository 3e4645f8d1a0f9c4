"""A training run that catches what goes wrong, logs it with a traceback, goes on and ends well."""

from __future__ import annotations

import random

from tests.render import c10
from tests.render.envelopes import compose
from tests.render.nccl import Comm, Member, buses
from tests.render.scene import Node, Scene

STALE = """upload of checkpoint 300 failed (attempt 1/3), will retry
Traceback (most recent call last):
  File "/workspace/ckpt.py", line 71, in upload
    client.put_object(Bucket=bucket, Key=key, Body=f)
  File "/usr/local/lib/python3.11/site-packages/botocore/client.py", line 1078, in _make_api_call
    raise error_class(parsed_response, operation_name)
botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the PutObject operation (reached max retries: 4): Please reduce your request rate."""
SKIPPED = """micro batch 2 needs 3.1 GiB more than there is, halving it
Traceback (most recent call last):
  File "/workspace/train.py", line 144, in step
    loss = self.forward(batch)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU 1 has a total capacity of 79.11 GiB of which 2.04 GiB is free. Including non-PyTorch memory, this process has 77.06 GiB memory in use. Of the allocated memory 73.90 GiB is allocated by PyTorch, and 1.88 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."""
LEAK = "Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())"


def scene() -> Scene:
    rng = random.Random(300)
    node = Node("train-box", "172.18.0.3", zone=8.0, phase=0.44)
    comm = Comm("2.26.2", "12080", 4, 1, "0x9aa21c07de4417b3", call="ncclCommInitRankConfig")
    ranks = [c10.Rank(node, r, r, 310 + r, f"[default{r}]:") for r in range(4)]
    for q in ranks:
        m = Member(comm, node, q.pid, q.rank, q.local, buses()[q.local], f"0x{rng.randrange(16**11):011x}", "mlx5_0", q.tee)
        m.open(6.0 + rng.random() * 0.1)
        m.boot(6.5, 0.31)
        m.done(7.4 + rng.random() * 0.02, 1.2)
    for step in range(280, 340, 2):
        for q in ranks:
            log(
                q,
                10.0 + (step - 280) * 1.3 + rng.random() * 0.003,
                "INFO",
                f"step {step}: loss {3.2 - step * 0.002:.3f}, error rate 0.{step}, failed samples 0",
            )
        if step == 300:
            log(ranks[0], 36.4, "ERROR", STALE)
        if step == 312:
            log(ranks[1], 52.1, "WARNING", SKIPPED)
    for q in ranks:
        log(q, 90.0 + rng.random() * 0.01, "INFO", "training finished after 340 steps, best eval loss 2.511")
    ranks[0].glog(90.6, "W", "ProcessGroupNCCL.cpp:1479", LEAK)
    c10.agent(
        node,
        91.3,
        88,
        "I",
        "agent/server/api.py:889",
        "[default] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
    )
    c10.agent(node, 91.4, 88, "I", "agent/server/api.py:942", "Done waiting for other agents. Elapsed: 0.0011 seconds")
    out = Scene(
        what="torchrun with 4 ranks: a failed upload and an out-of-memory error are caught, the run ends well",
        truth={"outcome": "no_failure"},
        versions={"torch": "2.7.0", "nccl": comm.version, "launcher": "torchrun --tee 3", "wrapper": "docker compose logs"},
        how="Python logging with tracebacks; the last word of torch is its usual warning about the process group",
    )
    out.add(f"{node.name}.log", node, compose("trainer-1", 13))
    return out


def log(q: c10.Rank, at: float, level: str, text: str) -> None:
    """Python's logging with a format of the user's own."""
    q.print(at, f"{node_time(q, at)} - {level} - train.rank{q.rank} - {text}")


def node_time(q: c10.Rank, at: float) -> str:
    return f"{q.node.local(at):%Y-%m-%d %H:%M:%S,%f}"[:-3]
