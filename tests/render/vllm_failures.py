"""How a failure climbs from a vLLM worker to the API server: the same traceback printed again and again."""

from __future__ import annotations

from tests.render.vllm import EXECUTOR, SITE, Proc

Frame = tuple[str, int, str, str]

INIT_DEVICE: list[Frame] = [
    ("vllm/v1/executor/multiproc_executor.py", 841, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    ("vllm/v1/executor/multiproc_executor.py", 597, "__init__", "self.worker.init_device()"),
    ("vllm/v1/worker/worker_base.py", 326, "init_device", "self.worker.init_device()  # type: ignore"),
    ("vllm/v1/worker/gpu_worker.py", 265, "init_device", "init_worker_distributed_environment("),
    ("vllm/v1/worker/gpu_worker.py", 1005, "init_worker_distributed_environment", "ensure_model_parallel_initialized("),
]
LOAD_MODEL: list[Frame] = [
    ("vllm/v1/executor/multiproc_executor.py", 841, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    ("vllm/v1/executor/multiproc_executor.py", 605, "__init__", "self.worker.load_model()"),
    ("vllm/v1/worker/gpu_worker.py", 322, "load_model", "self.model_runner.load_model(eep_scale_up=eep_scale_up)"),
]
PYNCCL: list[Frame] = [
    ("vllm/distributed/parallel_state.py", 1557, "initialize_model_parallel", "_TP = init_model_parallel_group("),
    ("vllm/distributed/device_communicators/cuda_communicator.py", 58, "__init__", "self.pynccl_comm = PyNcclCommunicator("),
    ("vllm/distributed/device_communicators/pynccl.py", 141, "__init__", "self.comm: ncclComm_t = self.nccl.ncclCommInitRank("),
    ("vllm/distributed/device_communicators/pynccl_wrapper.py", 418, "ncclCommInitRank", "self.NCCL_CHECK("),
    ("vllm/distributed/device_communicators/pynccl_wrapper.py", 372, "NCCL_CHECK", 'raise RuntimeError(f"NCCL error: {error_str}")'),
]
EXECUTE: list[Frame] = [
    ("vllm/v1/executor/multiproc_executor.py", 961, "worker_busy_loop", "output = func(*args, **kwargs)"),
    ("vllm/v1/worker/worker_base.py", 369, "execute_model", "return self.worker.execute_model(scheduler_output)"),
    ("vllm/v1/worker/gpu_worker.py", 611, "execute_model", "output = self.model_runner.execute_model("),
    ("vllm/v1/worker/gpu_model_runner.py", 3308, "execute_model", "model_output = self._model_forward("),
]
_CORE: list[Frame] = [
    ("vllm/v1/engine/core.py", 1046, "run_engine_core", "engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)"),
    ("vllm/v1/engine/core.py", 120, "__init__", "self.model_executor = executor_class(vllm_config)"),
    ("vllm/v1/executor/abstract.py", 101, "__init__", "self._init_executor()"),
    ("vllm/v1/executor/multiproc_executor.py", 178, "_init_executor", "self.workers = WorkerProc.wait_for_ready(unready_workers)"),
    ("vllm/v1/executor/multiproc_executor.py", 723, "wait_for_ready", "raise e from None"),
]
_SERVER: list[Frame] = [
    ("vllm/entrypoints/cli/serve.py", 118, "cmd", "uvloop.run(run_server(args))"),
    ("vllm/entrypoints/openai/api_server.py", 918, "run_server", "await run_server_worker(listen_address, sock, args, **uvicorn_kwargs)"),
    ("vllm/v1/engine/async_llm.py", 160, "__init__", "self.engine_core = EngineCoreClient.make_async_mp_client("),
    ("vllm/v1/engine/core_client.py", 517, "__init__", "with launch_core_engines("),
    ("vllm/v1/engine/utils.py", 1103, "wait_for_engine_startup", "raise RuntimeError("),
]
_BUSY: list[Frame] = [
    ("vllm/v1/engine/core.py", 1055, "run_engine_core", "engine_core.run_busy_loop()"),
    ("vllm/v1/engine/core.py", 1082, "run_busy_loop", "self._process_engine_step()"),
    ("vllm/v1/executor/multiproc_executor.py", 363, "get_response", "raise RuntimeError("),
]
_OUTPUT: list[Frame] = [
    ("vllm/v1/engine/async_llm.py", 703, "output_handler", "outputs = await engine_core.get_output_async()"),
    ("vllm/v1/engine/core_client.py", 1001, "get_output_async", "raise self._format_exception(outputs) from None"),
]
GENERIC = "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."


def traceback(frames: list[Frame], tail: str) -> str:
    """A Python traceback of those frames (path below site-packages, line, function, source) that ends in ``tail``."""
    body = "".join(f'  File "{SITE}{path}", line {line}, in {name}\n    {source}\n' for path, line, name, source in frames)
    return f"Traceback (most recent call last):\n{body}{tail}"


def worker_start(worker: Proc, at: float, frames: list[Frame], tail: str, gap: float = 0.0) -> None:
    """`WorkerProc failed to start.`: the traceback's tail is the message that matters."""
    worker.log(at, "ERROR", EXECUTOR, "WorkerProc failed to start.\n" + traceback(frames, tail), gap)


def worker_serving(worker: Proc, at: float, frames: list[Frame], tail: str) -> None:
    """`WorkerProc hit an exception.`: the traceback stands twice in one record (an exception note)."""
    text = traceback(frames, tail)
    worker.log(at, "ERROR", "multiproc_executor.py:968", f"WorkerProc hit an exception.\n{text}\n{text}\n")


def stop_workers(parent: Proc, at: float, killed: int, waiting: int) -> float:
    """The executor ends its workers: 5 s of grace, SIGTERM, 4 s, SIGKILL. Returns when it is over."""
    parent.info(at, "multiproc_executor.py:447", f"[shutdown] Executor: waiting for worker exit count={waiting}")
    if not killed:
        parent.info(at + 1.2, "multiproc_executor.py:454", "[shutdown] Executor: all workers exited gracefully")
        return at + 1.3
    parent.log(
        at + 5.0,
        "WARNING",
        "multiproc_executor.py:459",
        f"[shutdown] Executor: workers still running after grace period; sending SIGTERM count={killed}",
    )
    parent.log(
        at + 9.0,
        "WARNING",
        "multiproc_executor.py:469",
        f"[shutdown] Executor: workers still running after SIGTERM; sending SIGKILL count={killed}",
    )
    return at + 9.05


def climb_start(core: Proc, api: Proc, at: float, tail: str = GENERIC) -> None:
    """Engine core, the raw copy of multiprocessing, the API server: three more tracebacks about the same thing."""
    core.log(at, "ERROR", "core.py:1068", "EngineCore failed to start.\n" + traceback(_CORE, tail))
    core.raw(at + 0.02, "Process EngineCore:\n" + traceback(_CORE, tail))
    dead = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"
    api.raw(at + 0.31, traceback(_SERVER, dead))
    api.raw(
        at + 0.9,
        "/usr/lib/python3.12/multiprocessing/resource_tracker.py:279: UserWarning: resource_tracker: There appear to be 2 leaked shared_memory objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '",
    )


def climb_headless(parent: Proc, at: float, tail: str = GENERIC) -> None:
    """A node without API server: its launcher prints the generic exception raw."""
    parent.raw(at, traceback(_CORE[2:], tail))


def climb_serving(core: Proc, api: Proc, at: float, quoted: str) -> None:
    """The engine quotes the worker, the front end says that the engine is dead."""
    core.log(
        at,
        "ERROR",
        "core.py:1070",
        "EngineCore encountered a fatal error.\n"
        + traceback(_BUSY, f"RuntimeError: Worker failed with error '{quoted}', please check the stack trace above for the root cause"),
    )
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    api.log(at + 0.02, "ERROR", "async_llm.py:746", "AsyncLLM output_handler failed.\n" + traceback(_OUTPUT, dead))
