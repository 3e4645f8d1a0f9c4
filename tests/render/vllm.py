"""vLLM records and start-up marks (upstream: vllm/logger.py, logging_utils/formatter.py, v1/executor/multiproc_executor.py).

A record of several lines repeats its header on each line and ends every line but the last in CR LF. Up to 0.30 the
process tag also stands before raw output (tracebacks, uvicorn); from 0.31 it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.render.envelopes import short
from tests.render.scene import Node

SITE = "/usr/local/lib/python3.12/dist-packages/"
EXECUTOR = "multiproc_executor.py:872"


@dataclass(frozen=True)
class Proc:
    """A vLLM process. ``tag`` is what it calls itself now, ``minor`` the vLLM minor version."""

    node: Node
    pid: int
    tag: str
    minor: int = 27
    colour: str = ""  # "0;36" where the tag is coloured even in a file (0.13, 0.14)

    def named(self, tag: str) -> Proc:
        """The same process after it has learnt its name."""
        return replace(self, tag=tag)

    @property
    def prefix(self) -> str:
        tag = f"({self.tag} pid={self.pid})" if self.tag else ""
        if tag and self.colour:
            tag = f"\x1b[{self.colour}m{tag}\x1b[0;0m"
        return tag and tag + " "

    def log(self, at: float, level: str, where: str, text: str, gap: float = 0.0) -> None:
        """One record of vLLM's own logger; ``gap`` s between its lines lets other processes in between."""
        head = f"{self.prefix}{level} {short(self.node.local(at))} [{where}] "
        lines = text.split("\n")
        for i, line in enumerate(lines):
            self.node.say(at + gap * i, head + line + ("\r" if i < len(lines) - 1 else ""))

    def info(self, at: float, where: str, text: str) -> None:
        self.log(at, "INFO", where, text)

    def raw(self, at: float, text: str, stream: str = "stderr") -> None:
        """Output that does not pass through the logger."""
        prefix = self.prefix if self.minor <= 30 else ""
        for line in text.split("\n"):
            self.node.say(at, prefix + line, stream)


def server(api: Proc, at: float, version: str, model: str, arch: str, max_len: int, args: dict[str, object]) -> None:
    """From the banner to the checked configuration."""
    api.info(
        at,
        "api_utils.py:299",
        f"\n       █     █     █▄   ▄█\n ▄▄ ▄█ █     █     █ ▀▄▀ █  version {version}\n  █▄█▀ █     █     █     █  model   {model}\n   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀\n",
    )
    api.info(at + 0.01, "api_utils.py:238", f"non-default args: {args!r}")
    api.info(at + 1.6, "model.py:561", f"Resolved architecture: {arch}")
    api.info(at + 1.7, "model.py:1569", f"Using max model len {max_len}")
    api.info(at + 1.9, "scheduler.py:228", "Chunked prefill is enabled with max_num_batched_tokens=8192.")


def engine(
    core: Proc, at: float, version: str, model: str, max_len: int, tp: int, pp: int = 1, nodes: int = 1, master: str = "127.0.0.1"
) -> None:
    """The engine core says what it was asked for."""
    core.info(
        at,
        "core.py:104",
        f"Initializing a V1 LLM engine (v{version}) with config: model='{model}', speculative_config=None, tokenizer='{model}', skip_tokenizer_init=False, tokenizer_mode=auto, revision=None, tokenizer_revision=None, trust_remote_code=True, dtype=torch.bfloat16, max_seq_len={max_len}, download_dir=None, load_format=auto, tensor_parallel_size={tp}, pipeline_parallel_size={pp}, data_parallel_size=1, disable_custom_all_reduce=True, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda, seed=0, served_model_name={model}, enable_prefix_caching=True, enable_chunked_prefill=True, compilation_config={{'level': None, 'mode': 3, 'debug_dump_path': None, 'cache_dir': '', 'backend': 'inductor', 'cudagraph_mode': 'FULL_AND_PIECEWISE'}}",
    )
    world, local = tp * pp, tp * pp // nodes
    core.info(
        at + 0.1,
        "multiproc_executor.py:129",
        f"DP group leader: node_rank=0, node_rank_within_dp=0, master_addr={master}, mq_connect_ip={master} (local), world_size={world}, local_world_size={local}",
    )


def join(worker: Proc, at: float, rank: int, world: int, local: int, master: str) -> None:
    """The line that ties a pid to its global rank (on every rank since 0.11.2)."""
    worker.info(
        at,
        "parallel_state.py:1405",
        f"world_size={world} rank={rank} local_rank={local} distributed_init_method=tcp://{master} backend=nccl",
    )


def assigned(worker: Proc, at: float, rank: int, world: int, pp: int, tp: int, ep: str = "N/A") -> None:
    """Place in the groups; from 0.20 only local rank 0 prints it."""
    worker.info(
        at,
        "parallel_state.py:1716",
        f"rank {rank} in world size {world} is assigned as DP rank 0, PP rank {pp}, PCP rank 0, TP rank {tp}, EP rank {ep}, EPLB rank N/A",
    )


def load(worker: Proc, at: float, model: str, gib: float, seconds: float, first: bool) -> None:
    """Weights; the marks in the middle come from the first local rank only."""
    if first:
        worker.info(at, "gpu_model_runner.py:4105", f"Starting to load model {model}...")
        worker.info(
            at + 0.3,
            "cuda.py:428",
            "Using FLASHMLA attention backend out of potential backends: ('FLASHMLA', 'FLASHINFER_MLA', 'TRITON_MLA')",
        )
        worker.info(at + seconds - 0.2, "default_loader.py:293", f"Loading weights took {seconds - 1:.2f} seconds")
        worker.info(at + seconds, "gpu_model_runner.py:4202", f"Model loading took {gib:.2f} GiB memory and {seconds:.6f} seconds")


def warm(worker: Proc, core: Proc, at: float, kv_gib: float, tokens: int, max_len: int) -> None:
    """Profile, cache, graphs, ready: by local rank 0 and the engine core."""
    worker.info(
        at,
        "backends.py:916",
        "Using cache directory: /root/.cache/vllm/torch_compile_cache/5d1c90be0f/rank_0_0/backbone for vLLM's torch.compile",
    )
    worker.info(at + 4.1, "backends.py:976", "Dynamo bytecode transform time: 14.62 s")
    worker.info(at + 31, "monitor.py:48", "torch.compile took 48.20 s in total")
    worker.info(at + 36, "gpu_worker.py:436", f"Available KV cache memory: {kv_gib:.2f} GiB")
    core.info(at + 36.2, "kv_cache_utils.py:1307", f"GPU KV cache size: {tokens:,} tokens")
    core.info(at + 36.2, "kv_cache_utils.py:1312", f"Maximum concurrency for {max_len:,} tokens per request: {tokens / max_len:.2f}x")
    worker.info(at + 47, "gpu_model_runner.py:5094", "Graph capturing finished in 9 secs, took 1.74 GiB")
    core.info(at + 47.5, "core.py:273", "init engine (profile, create kv cache, warmup model) took 52.13 seconds")


def serve(api: Proc, at: float, port: int = 8000) -> None:
    """The server is up."""
    api.info(at, "entry.py:112", "Supported tasks: ['generate']")
    api.info(at + 0.4, "entry.py:116", f"Starting vLLM server on http://0.0.0.0:{port}")
    api.info(at + 0.4, "launcher.py:38", "Available routes are:")
    for route, methods in (
        ("/health", "GET"),
        ("/metrics", "GET"),
        ("/v1/models", "GET"),
        ("/v1/chat/completions", "POST"),
        ("/v1/completions", "POST"),
    ):
        api.info(at + 0.41, "launcher.py:46", f"Route: {route}, Methods: {methods}")
    api.raw(
        at + 0.5,
        f"INFO:     Started server process [{api.pid}]\nINFO:     Waiting for application startup.\nINFO:     Application startup complete.",
    )


def request(api: Proc, at: float, client: str, path: str = "/v1/chat/completions", status: str = "200 OK", verb: str = "POST") -> None:
    """An access line of uvicorn."""
    api.raw(at, f'INFO:     {client} - "{verb} {path} HTTP/1.1" {status}', "stdout")


def stats(api: Proc, at: float, prompt: float, generation: float, running: int, waiting: int, usage: float, hits: float) -> None:
    """The line every 10 s."""
    api.info(
        at,
        "loggers.py:259",
        f"Engine 000: Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {generation:.1f} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {usage:.1f}%, Prefix cache hit rate: {hits:.1f}%",
    )
