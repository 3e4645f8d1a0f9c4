"""Messages of variety for the big log: places in vLLM, and what NCCL says of rings, trees and transports.

``n`` is below 65536, ``m`` and ``k`` are below 16, ``f`` is below 100 and ``x`` has 40 bits.
"""

SITES = (
    ("scheduler.py:303", "Request chatcmpl-{x:x} preempted; num_computed_tokens={n}"),
    ("backends.py:216", "Compiling a graph for shape {n} takes {f:.2f} s"),
    ("backends.py:499", "Using FlashAttention backend v{m} with block_size=64 for layer model.layers.{k}.self_attn"),
    ("gpu_model_runner.py:4202", "Model loading took {f:.2f} GiB memory and {f:.6f} seconds"),
    ("gpu_worker.py:436", "Available KV cache memory: {f:.2f} GiB"),
    ("kv_cache_utils.py:1307", "GPU KV cache size: {n:,} tokens"),
    ("shm_broadcast.py:290", "vLLM message queue communication handle: Handle(local_reader_ranks=[1, 2, 3], buffer_handle=({m}, 4194304, 6, 'psm_{x:x}'))"),
    ("block_pool.py:378", "Successfully reset prefix cache after {n} blocks"),
    ("fused_moe.py:875", "expert {n} of layer {m} received {k} tokens"),
    ("cuda_graph.py:112", "Replaying graph {x:x} for batch {n}"),
    ("connector.py:204", "Sent {n} blocks of request {x:x} in {f:.3f} ms"),
    ("lora_manager.py:71", "Adapter {n} evicted, {m} of {k} slots in use"),
    ("structured_output.py:94", "Grammar {x:x} compiled in {f:.1f} ms"),
    ("input_processor.py:255", "Prompt of {n} tokens truncated at {n}"),
    ("spec_decode.py:88", "Accepted {m} of {k} draft tokens, mean {f:.2f}"),
    ("multiproc_executor.py:640", "Worker step {n} queue depth {m}"),
)
TOPOLOGY = (
    "Channel {m:02d}/0 : {k}[{m}] -> {m}[{k}] via P2P/CUMEM/read",
    "Channel {m:02d}/0 : {k}[{m}] -> {m}[{k}] [send] via NET/IB/{m}/GDRDMA",
    "Ring {m:02d} : {k} -> {m} -> {k}",
    "Trees [{m}] {k}/-1/-1->{m}->{k}",
    "threadThresholds 8/8/64 | {n}/8/64 | 512 | 512",
    "Broadcast: {n} Bytes -> Algo {m} proto {k} time {f:.6f}",
    "NVLS Head {m} : {k} {m} {k}",
    "Registered buffer 0x{x:x} of {n} bytes with handle {m}",
    "Allocated {n} bytes of device memory at 0x{x:x}",
    "[Proxy Progress] Device {m} CPU core {n}",
    "comm 0x{x:x} channel {m} peer {k} credits {n}",
    "P2P Chunksize set to {n}",
)
