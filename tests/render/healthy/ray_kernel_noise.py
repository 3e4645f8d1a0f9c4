"""A Ray deployment that serves, and the kernel log of a busy but sound node."""

from __future__ import annotations

import random

from tests.render import kernel as k
from tests.render import vllm as v
from tests.render.envelopes import journal, plain, short
from tests.render.scene import Node, Scene

MODEL, VERSION = "moonshotai/Kimi-K2.5", "0.11.2"
DEDUP = "\x1b[32m [repeated 14x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see https://docs.ray.io/en/master/ray-observability/user-guides/configure-logging.html#log-deduplication for more options.)\x1b[0m"
NOISE = [
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3-AE18-09-6)",
    "nvidia-nvswitch0: using MSI",
    "mlx5_core 0000:5d:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:5d:00.0 ibs3f0: Link up",
    "IPv6: ADDRCONF(NETDEV_CHANGE): ibs3f0: link becomes ready",
    "pcieport 0000:16:01.0: AER: Corrected error message received from 0000:17:00.0",
    "pcieport 0000:16:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
    "pcieport 0000:16:01.0:   device [1000:c030] error status/mask=00001000/00002000",
    "pcieport 0000:16:01.0:    [12] Timeout               ",
    "mlx5_core 0000:5d:00.0: mlx5_cmd_out_err:838:(pid 2711): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2), syndrome (0x4a5c89), err(-22)",
    "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
    "perf: interrupt took too long (2533 > 2500), lowering kernel.perf_event_max_sample_rate to 78750",
    "workqueue: nv_drm_dev_load [nvidia_drm] hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND",
    "NUMA: node 1 has CPUs without memory, falling back to node 0",
]


def scene() -> Scene:
    rng = random.Random(2)
    node = Node("ray-head-0", "10.8.1.10")
    say = node.say
    say(1.0, f"INFO {short(node.local(1.0))} [api_server.py:2040] vLLM API server version {VERSION}")
    core = v.Proc(node, 846, "EngineCore_DP0", 11, "1;36")
    v.engine(core, 12.0, VERSION, MODEL, 131072, 16)
    say(
        13.0,
        f"{node.local(13.0):%Y-%m-%d %H:%M:%S},412\tINFO worker.py:1832 -- Connecting to existing Ray cluster at address: 10.8.1.10:6379...",
        "stderr",
    )
    say(13.1, f"{node.local(13.1):%Y-%m-%d %H:%M:%S},503\tINFO worker.py:2003 -- Connected to Ray cluster.", "stderr")
    say(13.2, "[2026-08-05 09:30:13,204 W 846 846] global_state_accessor.cc:435: Retrying to get node with node ID 5f0c3a77", "stderr")
    core.info(14.0, "ray_utils.py:345", "No current placement group found. Creating a new placement group.")

    def ray(at: float, pid: int, ip: str, text: str, tail: str = "") -> None:
        say(at, f"\x1b[36m(RayWorkerWrapper pid={pid}{ip})\x1b[0m {text}{tail}")

    ray(
        22.0,
        1021,
        "",
        f"INFO {short(node.local(22.0))} [parallel_state.py:1208] world_size=16 rank=0 local_rank=0 distributed_init_method=tcp://10.8.1.10:40123 backend=nccl",
    )
    ray(
        24.0,
        733,
        ", ip=10.8.1.11",
        f"INFO {short(node.local(24.0))} [parallel_state.py:1208] world_size=16 rank=9 local_rank=1 distributed_init_method=tcp://10.8.1.10:40123 backend=nccl",
        DEDUP,
    )
    ray(25.0, 1021, "", "[Gloo] Rank 0 is connected to 15 peer ranks. Expected number of connected peer ranks is : 15")
    ray(
        26.0,
        1021,
        "",
        f"WARNING {short(node.local(26.0))} [symm_mem.py:58] SymmMemCommunicator: Device capability 9.0 not supported, communicator is not available.",
    )
    ray(
        26.2,
        733,
        ", ip=10.8.1.11",
        f"WARNING {short(node.local(26.2))} [custom_all_reduce.py:84] Custom allreduce is disabled because this process group spans across nodes.",
        DEDUP,
    )
    ray(26.4, 1021, "", f"WARNING {short(node.local(26.4))} [numa_utils.py:31] NUMA node of GPU 0 is unknown (-1), process is not bound")
    ray(
        260.0,
        1021,
        "",
        f"INFO {short(node.local(260.0))} [gpu_model_runner.py:3267] Model loading took 71.3341 GiB memory and 221.870412 seconds",
    )
    ray(300.0, 1021, "", f"INFO {short(node.local(300.0))} [gpu_worker.py:359] Available KV cache memory: 31.02 GiB")
    core.info(330.0, "core.py:250", "init engine (profile, create kv cache, warmup model) took 66.02 seconds")
    api = v.Proc(node, 1, "APIServer", 11, "1;36")
    v.serve(api, 340.0)
    for n in range(25):
        v.request(api, 350.0 + 8 * n + rng.random(), f"10.8.0.5:{39000 + n}")
        if n % 2:
            v.stats(api, 352.0 + 8 * n, 1033.0 + n, 380.5, 7, 0, 12.2, 55.0)
    say(
        420.0,
        "\x1b[33m(raylet)\x1b[0m [2026-08-05 09:37:00,112 W 512 540] (raylet) file_system_monitor.cc:116: /tmp/ray/session_2026-08-05_09-20-11_100231_1 is over 80% full, available space: 171.2 GB.",
    )
    for n in range(60):
        k.kernel(node, -500.0 + 18.0 * n + rng.random(), NOISE[n % len(NOISE)])
    out = Scene(
        what="16 ranks under Ray, serving; kernel log with corrected AER errors, link events and peer-memory noise",
        truth={"outcome": "no_failure"},
        versions={"vllm": VERSION, "ray": "2.51", "driver": "580.95.05", "wrapper": "plain; journalctl -k -o short"},
        how="the driver's console as Ray prints it, colours and de-duplication included",
    )
    out.add(f"{node.name}.log", node, plain)
    out.add(f"{node.name}.kern.log", node, journal, "kernel")
    return out
