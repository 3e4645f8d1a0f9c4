"""Work for the workers of a batch, in a module that they can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from k3logs.batch.incidents import Incident
from k3logs.batch.rows import Row, of_error, of_verdict


def work(incident: Incident) -> Row:
    """Does what the incident's name says: die, wait, fail, or a verdict made by hand."""
    import made

    if "die" in incident.name:
        os.kill(os.getpid(), signal.SIGKILL)
    if "wait" in incident.name:
        time.sleep(60)
    if "fail" in incident.name:
        return of_error(incident, "password=hunter2 not accepted", 0.1)
    return of_verdict(incident, made.verdict(), 0.1)


def patient(incident: Incident, grammars: tuple[Path, ...] = (), signatures: tuple[Path, ...] = ()) -> Row:
    """As :func:`work`, in place of what the command does."""
    return work(incident)
