"""Many incidents by worker processes that may die without taking the run along."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path

from k3logs.batch.incidents import Incident
from k3logs.batch.rows import Row, of_error, of_verdict
from k3logs.errors import K3LogsError

Work = Callable[[Incident], Row]
"""What a worker does with an incident; it travels to other processes, so it is a function of a module, or a partial of one."""


AWHILE = 1.0


def triage_one(incident: Incident, grammars: tuple[Path, ...] = (), signatures: tuple[Path, ...] = ()) -> Row:
    """One incident to one row, whatever it holds."""
    from k3logs.triage import Options, triage

    began = time.perf_counter()
    try:
        verdict = triage([str(incident.path)], options=Options(grammars, signatures))
        return of_verdict(incident, verdict, time.perf_counter() - began)
    except K3LogsError as error:
        return of_error(incident, str(error), time.perf_counter() - began)
    except Exception as error:  # noqa: BLE001 - one bad incident must not end the run
        return of_error(incident, f"internal error, {type(error).__name__}: {error}", time.perf_counter() - began)


def run(todo: Sequence[Incident], workers: int = 2, work: Work = triage_one) -> Iterator[Row]:
    """Work on incidents side by side, and yield each one's row when it is done.

    A worker that is killed (out of memory, a crash in a library) may have been killed by any incident then in work; each of
    those is tried again alone, and only one that kills its worker once more gets a row that says so.
    """
    waiting = list(reversed(todo))
    suspects: list[Incident] = []
    while waiting or suspects:
        alone = bool(suspects)
        dropped = yield from _pool(suspects if alone else waiting, 1 if alone else workers, work)
        if not alone:
            suspects = dropped
        elif dropped:
            yield of_error(dropped[0], "the worker process was killed, perhaps for want of memory", 0.0)


def _pool(queue: list[Incident], workers: int, work: Work) -> Generator[Row, None, list[Incident]]:
    """Work the queue off until it is empty or a worker dies.

    Returns:
        the incidents that were in work when one died.
    """
    running: dict[Future[Row], Incident] = {}
    dropped: list[Incident] = []
    others = active_children()
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare, initargs=(workers,))
    try:
        while (queue or running) and not dropped:
            while queue and len(running) < workers and not dropped:
                incident = queue.pop()
                try:
                    running[pool.submit(work, incident)] = incident
                except BrokenProcessPool:
                    dropped.append(incident)
            # waits of a second, since an interrupt may reach a thread that does not wake this one
            for future in wait(running, AWHILE, return_when=FIRST_COMPLETED).done:
                incident = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    dropped.append(incident)
        dropped += running.values()
    except BaseException:  # interrupted, or the caller has enough: what is in work is not waited for
        for process in active_children():
            if process not in others:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return dropped


def _prepare(workers: int) -> None:
    """In a new worker: an interrupt is the parent's to handle, and workers share the cores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if workers > 1:
        os.environ.setdefault("POLARS_MAX_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


def _end_with(parent: int) -> None:
    """End this worker when its parent is gone, even if that was killed: nobody else would."""
    connection.wait([parent])
    os._exit(1)
