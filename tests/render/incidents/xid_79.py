"""A GPU falls off the bus while a two-node server works: the kernel says it first, in another file than the cascade."""

from __future__ import annotations

import random

from tests.render import kernel as k
from tests.render import vllm as v
from tests.render import vllm_failures as f
from tests.render.envelopes import docker, journal
from tests.render.nccl import Comm, Member, buses
from tests.render.scene import Node, Scene

MODEL, VERSION, MASTER = "moonshotai/Kimi-K2.6", "0.14.1", "172.20.3.41:29501"
CULPRIT, FALL = 12, 913.27
LAUNCH = "torch.AcceleratorError: CUDA error: unspecified launch failure\nSearch for `cudaErrorLaunchFailure' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"


def scene() -> Scene:
    rng = random.Random(79)
    head, tail = Node("hgx-041", "172.20.3.41", skew=0.0), Node("hgx-042", "172.20.3.42", skew=1.8)
    comm = Comm("2.27.5", "12090", 16, 2, "0x3cfe1a77d2905b18", ifname="ens1f0np0")
    workers = [v.Proc((head, tail)[r // 8], 2210 + 5 * (r % 8), f"Worker_PP{r // 8}_TP{r % 8}", 14, "0;36") for r in range(16)]
    api, core = v.Proc(head, 1, "APIServer", 14, "0;36"), v.Proc(head, 1490, "EngineCore_DP0", 14, "0;36")
    api.info(1.0, "api_server.py:1272", f"vLLM API server version {VERSION}")
    api.info(
        1.1,
        "utils.py:263",
        f"non-default args: {{'model_tag': '{MODEL}', 'model': '{MODEL}', 'tensor_parallel_size': 8, 'pipeline_parallel_size': 2, 'nnodes': 2, 'trust_remote_code': True}}",
    )
    v.engine(core, 12.0, VERSION, MODEL, 131072, 8, 2, 2, "172.20.3.41")
    for r, w in enumerate(workers):
        v.join(w.named("Worker"), 20.0 + rng.random(), r, 16, r % 8, MASTER)
        v.assigned(w.named("Worker"), 29.0 + rng.random() * 0.1, r, 16, r // 8, r % 8)
        m = Member(comm, w.node, w.pid, r, r % 8, buses()[r % 8], f"0x7f{rng.randrange(16**10):010x}", "mlx5_0 mlx5_1 mlx5_4 mlx5_5")
        m.open(22.0 + rng.random() * 0.4)
        m.boot(22.8 + rng.random() * 0.04, 0.7)
        m.done(25.0 + rng.random() * 0.08, 2.91)
        v.load(w, 31.0, MODEL, 63.81, 240.0 + rng.random() * 20, True)
    v.warm(workers[0], core, 300.0, 41.22, 1843200, 131072)
    v.serve(api, 352.0)
    for n in range(6):
        v.request(api, 860.0 + 9 * n + rng.random(), "172.20.3.9:41806")
        v.stats(api, 861.0 + 10 * n, 812.3 + n, 402.1 - n, 11, 0, 21.4, 31.0)
    fall(workers, core, api, tail, head)
    noise(tail)
    out = Scene(
        what="2 nodes x 8 ranks, TP8 x PP2 serving: Xid 79 on the GPU of rank 12, then a CUDA error there and RDMA errors on node 0",
        truth={
            "outcome": "failure",
            "needles": ["Xid (PCI:0000:9d:00): 79", "GPU has fallen off the bus"],
            "ranks_ok": [CULPRIT],
            "node": tail.name,
            "phases_ok": ["serving"],
            "categories_ok": ["gpu_hardware"],
        },
        versions={
            "vllm": VERSION,
            "nccl": comm.version,
            "driver": "575.57.08",
            "wrapper": "docker logs --timestamps; journalctl -k -o short",
        },
        how="kernel, NCCL and vLLM formats as their sources print them; the silent rank is not the output rank, so the engine waits for its time-out",
        clocks={head.name: 0.0, tail.name: 1.8},
    )
    out.add(f"{head.name}.log", head, docker)
    out.add(f"{tail.name}.log", tail, docker)
    out.add(f"{tail.name}.kern.log", tail, journal, "kernel")
    return out


def noise(node: Node) -> None:
    k.gpu_seen(node, -86000.0, "0000:9d:00", "5e0b6f1d-77aa-31c4-9e10-2f6a86c1d0e4")
    k.kernel(node, 340.0, "pcieport 0000:3a:01.0: AER: Corrected error message received from 0000:3a:01.0")
    k.kernel(node, 340.0, "pcieport 0000:3a:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)")
    k.kernel(node, 611.0, "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing")


def fall(workers: list[v.Proc], core: v.Proc, api: v.Proc, tail: Node, head: Node) -> None:
    k.kernel(tail, FALL, "NVRM: Xid (PCI:0000:9d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
    k.kernel(tail, FALL, "NVRM: GPU 0000:9d:00.0: GPU has fallen off the bus.")
    k.kernel(tail, FALL + 0.002, "NVRM: GPU 0000:9d:00.0: GPU serial number is 1653924017734.")
    k.kernel(
        tail, FALL + 0.01, "NVRM: Xid (PCI:0000:9d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    )
    f.worker_serving(workers[CULPRIT], FALL + 0.9, f.EXECUTE, LAUNCH)
    where = f"{head.name}:{workers[4].pid}:{workers[4].pid + 90} [4]"
    head.say(
        FALL + 1.7,
        f"\n[{head.local(FALL + 1.7):%Y-%m-%d %H:%M:%S}] {where} transport/net_ib.cc:2356 NCCL WARN NET/IB: Got completion from peer 172.20.3.42<40713> with status=10 opcode=0 len=0 vendor err 136 (Send) localGid ::ffff:172.20.13.41 remoteGids::ffff:172.20.13.42 hca mlx5_4",
    )
    head.say(FALL + 1.7, f"{where} NCCL INFO transport/net.cc:1298 -> 6")
    late = FALL + 300.4
    core.info(
        FALL + 61,
        "shm_broadcast.py:542",
        "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization).",
    )
    core.log(
        late,
        "ERROR",
        "dump_input.py:72",
        f"Dumping input data for V1 LLM engine (v{VERSION}) with config: model='{MODEL}', speculative_config=None, tensor_parallel_size=8, pipeline_parallel_size=2, ",
    )
    core.log(
        late,
        "ERROR",
        "dump_input.py:79",
        "Dumping scheduler output for model execution: SchedulerOutput(scheduled_new_reqs=[],scheduled_cached_reqs=CachedRequestData(req_ids=['chatcmpl-5f0c'],num_computed_tokens=[2048]),num_scheduled_tokens={chatcmpl-5f0c: 1},total_num_scheduled_tokens=1)",
    )
    core.log(
        late + 0.01,
        "ERROR",
        "core.py:844",
        "EngineCore encountered a fatal error.\n"
        + f.traceback(
            [
                ("vllm/v1/engine/core.py", 835, "run_engine_core", "engine_core.run_busy_loop()"),
                (
                    "vllm/v1/executor/multiproc_executor.py",
                    351,
                    "collective_rpc",
                    'raise TimeoutError(f"RPC call to {method} timed out.") from e',
                ),
            ],
            "TimeoutError: RPC call to execute_model timed out.",
        ),
    )
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    api.log(
        late + 0.03,
        "ERROR",
        "async_llm.py:543",
        "AsyncLLM output_handler failed.\n"
        + f.traceback([("vllm/v1/engine/async_llm.py", 499, "output_handler", "outputs = await engine_core.get_output_async()")], dead),
    )
    v.request(api, late + 0.1, "172.20.3.9:41806", status="500 Internal Server Error")
    api.raw(
        late + 0.2,
        "INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.\nINFO:     Finished server process [1]",
    )
