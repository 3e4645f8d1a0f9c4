"""A server that works while its users paste logs of broken ones; some requests are bad, one handler fails."""

from __future__ import annotations

import random

from tests.render import vllm as v
from tests.render.envelopes import docker
from tests.render.scene import Node, Scene

MODEL, VERSION = "Qwen/Qwen3-32B", "0.9.2"
QUOTES = [
    'Explain this: Traceback (most recent call last):\\n  File "train.py", line 7, in <module>\\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.02 GiB is free.',
    "why do I get\\nNCCL WARN Call to mlx5dv_reg_dmabuf_mr failed with error Unknown error 524\\non rank 11 and then RuntimeError: NCCL error: unhandled system error",
    "NVRM: Xid (PCI:0000:9d:00): 79, pid=4711, name=python, GPU has fallen off the bus. Is my GPU dead?",
    "[rank3]:[E805 12:34:56.123456789 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 600012 milliseconds before timing out.",
    "ERROR 08-05 11:11:11 [core.py:588] EngineCore encountered a fatal error. what does it mean",
    "Write a haiku about a worker that died unexpectedly, exit code: -9",
]
PREPROCESS = """Error in preprocessing prompt inputs
Traceback (most recent call last):
  File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/serving_completion.py", line 128, in create_completion
    request_prompts, engine_prompts = await self._preprocess_completion(
  File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/serving_engine.py", line 437, in _validate_input
    raise ValueError(
ValueError: This model's maximum context length is 40960 tokens. However, you requested 51200 tokens in the messages, Please reduce the length of the messages."""
HANDLER = """ERROR:    Exception in ASGI application
Traceback (most recent call last):
  File "/usr/local/lib/python3.12/dist-packages/uvicorn/protocols/http/httptools_impl.py", line 409, in run_asgi
    result = await app(  # type: ignore[func-returns-value]
  File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/api_server.py", line 593, in create_chat_completion
    generator = await handler.create_chat_completion(request, raw_request)
  File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/tool_parsers/hermes_tool_parser.py", line 161, in extract_tool_calls
    name = call["name"]
KeyError: 'name'"""


def scene() -> Scene:
    rng = random.Random(400)
    node = Node("gw-2", "10.0.0.2")
    api = v.Proc(node, 1, "", 9)
    api.info(1.0, "api_server.py:1395", f"vLLM API server version {VERSION}")
    api.info(1.2, "cli_args.py:325", f"non-default args: {{'model': '{MODEL}', 'max_model_len': 40960}}")
    api.info(
        40.0,
        "core.py:69",
        f"Initializing a V1 LLM engine (v{VERSION}) with config: model='{MODEL}', max_seq_len=40960, tensor_parallel_size=1, pipeline_parallel_size=1, enable_prefix_caching=True",
    )
    api.info(90.0, "core.py:171", "init engine (profile, create kv cache, warmup model) took 38.11 seconds")
    api.raw(
        92.0, "INFO:     Started server process [1]\nINFO:     Waiting for application startup.\nINFO:     Application startup complete."
    )
    for n in range(60):
        at = 100.0 + 7.0 * n + rng.random()
        client = f"10.0.4.{rng.randrange(2, 250)}:{rng.randrange(30000, 60000)}"
        key = f"chatcmpl-{rng.randrange(16**12):012x}{rng.randrange(16**20):020x}"
        quote = QUOTES[n % len(QUOTES)] if n % 2 else "Translate 'good morning' to Finnish"
        api.info(
            at,
            "logger.py:43",
            f"Received request {key}: prompt: '<|im_start|>user\\n{quote}<|im_end|>\\n<|im_start|>assistant\\n', params: SamplingParams(n=1, temperature=0.7, top_p=0.8, max_tokens=1024), prompt_token_ids: None, prompt_embeds shape: None, lora_request: None, prompt_adapter_request: None.",
        )
        api.info(at + 0.01, "async_llm.py:270", f"Added request {key}.")
        status = {9: "400 Bad Request", 23: "404 Not Found", 31: "500 Internal Server Error", 47: "422 Unprocessable Entity"}.get(
            n, "200 OK"
        )
        if n == 9:
            api.log(at + 0.02, "ERROR", "serving_completion.py:142", PREPROCESS)
        v.request(api, at + 0.03, client, status=status)
        if n == 31:
            api.raw(at + 0.031, HANDLER)
        if n % 3 == 0:
            api.info(
                at + 5,
                "loggers.py:118",
                f"Engine 000: Avg prompt throughput: {rng.randrange(40, 400)}.2 tokens/s, Avg generation throughput: {rng.randrange(40, 90)}.7 tokens/s, Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.4%, Prefix cache hit rate: 17.9%",
            )
    out = Scene(
        what="one server, 60 requests of which four fail, prompts that quote log lines of other people's failures",
        truth={"outcome": "no_failure"},
        versions={"vllm": VERSION, "wrapper": "docker logs --timestamps"},
        how="0.9.2 prints every prompt; its engine and server have no tag",
    )
    out.add(f"{node.name}.log", node, docker)
    return out
