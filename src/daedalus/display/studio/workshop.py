"""The studio's side of its worker: one job at a time, the newest first, each with limits.

A run that is asked for while another goes on takes its place. A job ends by itself, by the stop button, when its time
is over, or when nobody asks for it any more; a worker that does not end its job when told to is replaced.
"""

from __future__ import annotations

import multiprocessing
import os
import signal as signals
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from daedalus.display.studio.job import Job, RunValues, State
from daedalus.display.studio.worker import work
from daedalus.errors import InputError

# Seconds between looks at clocks; until a job nobody asks for is stopped; until a worker told to stop is ended, and
# until one that has stopped and draws what it has is: of a minute's run, 1.6 s on a quiet machine.
LOOK, FORGOTTEN = 0.05, 20.0
GRACE, DRAWING = 5.0, 60.0
# Jobs that are remembered; the oldest that is not kept goes first.
MOST_JOBS = 24


@dataclass(frozen=True)
class Limits:
    """What one job may use: seconds, and bytes of memory."""

    seconds: float = 120.0
    memory: int = 6 << 30


class Workshop:
    """Jobs by number, and the worker that does them; every method may be called from any thread."""

    def __init__(self, load: Callable[[], Any], limits: Limits) -> None:
        self._load, self.limits = load, limits
        self._lock = threading.RLock()
        self._jobs: dict[int, Job] = {}
        self._count = 0
        self._active: Job | None = None
        self._next: Job | None = None
        self._asked = self._begun = self._told_to_stop = 0.0
        self._why, self._grace = "", GRACE
        self.form: dict[str, Any] | None = None
        self.unusable: dict[str, Any] | None = None
        self._closed = threading.Event()
        self._start_worker()
        self._thread = threading.Thread(target=self._watch, name="studio", daemon=True)
        self._thread.start()

    # -- what the page asks for --------------------------------------------------------------------------------

    def run(self, values: RunValues) -> Job:
        """Begin a run; one that goes on gives way."""
        return self._begin(lambda number: Job(number, values=values, label=f"run {number}"))

    def compare(self, runs: tuple[int, ...]) -> Job:
        """Begin to put runs over each other."""
        with self._lock:
            for number in runs:
                if self.job(number).values is None:
                    raise InputError(f"Number {number} is a comparison.", "runs are compared", remedy="numbers of runs")
        return self._begin(lambda number: Job(number, runs=runs, label="comparison"))

    def _begin(self, make: Callable[[int], Job]) -> Job:
        with self._lock:
            self._count += 1
            job = make(self._count)
            self._jobs[job.number] = job
            self._make_room()
            if self.unusable is not None:
                job.state, job.error = State.FAILED, self.unusable
                return job
            if self._next is not None:
                self._next.state = State.STOPPED
            self._next, self._asked = job, time.monotonic()
            if self._active is not None and self._active.state == State.RUNNING:
                self._tell_to_stop("because another run was started")
            return job

    def job(self, number: int) -> Job:
        """The job of a number."""
        with self._lock:
            if number not in self._jobs:
                known = ", ".join(map(str, list(self._jobs)[-8:])) or "none yet"
                raise InputError(f"There is no run {number}.", f"there are {known}")
            self._asked = time.monotonic()
            return self._jobs[number]

    def jobs(self) -> list[Job]:
        """All jobs that are remembered."""
        with self._lock:
            return list(self._jobs.values())

    def stop(self, number: int) -> None:
        """End a job; what it has computed so far stays."""
        with self._lock:
            job = self.job(number)
            if job is self._next:
                job.state, self._next = State.STOPPED, None
            elif job is self._active:
                self._tell_to_stop("by you")

    def change(self, number: int, label: str | None, kept: bool | None) -> Job:
        """Give a run a name, or keep it when others go."""
        with self._lock:
            job = self.job(number)
            job.label = job.label if label is None else label
            job.kept = job.kept if kept is None else kept
            return job

    def forget(self, number: int) -> None:
        """Drop a job."""
        self.stop(number)
        with self._lock:
            self._jobs.pop(number, None)

    def close(self) -> None:
        """End the worker."""
        self._closed.set()
        self._thread.join(5)
        with self._lock:
            self._end_worker()

    def _make_room(self) -> None:
        for number in [n for n, job in self._jobs.items() if not job.kept]:
            if len(self._jobs) <= MOST_JOBS:
                return
            if self._jobs[number] not in (self._active, self._next):
                del self._jobs[number]
        while len(self._jobs) > 2 * MOST_JOBS:  # all kept: even these have an end
            del self._jobs[next(iter(self._jobs))]

    # -- the worker --------------------------------------------------------------------------------------------

    def _start_worker(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._unwanted = context.RawValue("q", 0)
        told = (self._load, other, self._unwanted, self.limits.memory)
        self._process = context.Process(target=work, args=told, name="daedalus studio", daemon=True)
        self._process.start()
        self._is_ready = False  # while it loads the model it takes no job, and hears no request to stop one
        other.close()

    def _end_worker(self) -> None:
        self._process.kill()
        self._process.join(5)
        self._connection.close()

    def _tell_to_stop(self, why: str) -> None:
        assert self._active is not None
        self._unwanted.value = self._active.number
        if not self._told_to_stop:
            self._told_to_stop, self._why, self._grace = time.monotonic(), why, GRACE
        with suppress(ProcessLookupError, TypeError, AttributeError):
            os.kill(self._process.pid, signals.SIGINT)  # type: ignore[arg-type]

    def _watch(self) -> None:
        """Read what the worker tells, begin what waits, and look at the clocks."""
        while not self._closed.is_set():
            try:
                told = self._connection.recv() if self._connection.poll(LOOK) else None
                with self._lock:
                    if told is not None:
                        self._hear(*told)
                    self._begin_next()
            except (EOFError, OSError):
                if self._closed.is_set():
                    return
                with self._lock:
                    self._fallen("The worker process ended unexpectedly.")
            with self._lock:
                self._look_at_clocks()

    def _begin_next(self) -> None:
        if self._active is not None or self._next is None or not (self._is_ready or self.unusable):
            return
        job = self._next
        if self.unusable is not None:  # found out after it was asked for
            job.state, job.error, self._next = State.FAILED, self.unusable, None
            return
        if job.values is None:
            asked = [(n, self._jobs[n].values, self._jobs[n].label) for n in job.runs if n in self._jobs]
            message: tuple[Any, ...] = ("compare", job.number, asked)
        else:
            message = ("run", job.number, job.values)
        self._connection.send(message)  # to one that has fallen: the job stays the next
        job.state, self._active, self._next = State.RUNNING, job, None
        self._begun, self._told_to_stop = time.monotonic(), 0.0

    def _look_at_clocks(self) -> None:
        now = time.monotonic()
        if self._active is None:
            return
        if self._told_to_stop:
            if now - self._told_to_stop > self._grace:
                self._fallen("")
        elif now - self._begun > self.limits.seconds:
            self._tell_to_stop(f"after {self.limits.seconds:g} s, the time limit of the studio")
        elif now - self._asked > FORGOTTEN:
            self._tell_to_stop("because no page shows it any more")

    def _fallen(self, what: str) -> None:
        """Replace the worker; what it was doing is over."""
        if self._active is not None:
            self._active.state = State.STOPPED if not what else State.FAILED
            remedy = "" if not what else "a shorter run, or more memory: daedalus studio --memory"
            self._active.error = {"what": what or f"Stopped {self._why}.", "facts": [], "because": "",
                                  "remedy": remedy}  # fmt: skip
            self._active, self._told_to_stop = None, 0.0
        self._end_worker()
        if not self._is_ready:
            # It fell while it loaded the model, and would fall again.
            self.unusable = {"what": "The model could not be loaded.", "facts": [what], "because": "", "remedy": ""}
            self._closed.set()
            self._begin_next()
        else:
            self._start_worker()

    def _hear(self, kind: str, *told: Any) -> None:
        if kind in ("described", "unusable"):
            self._is_ready = True
            if kind == "described":
                self.form = told[0]
            else:
                self.unusable = told[0]
            return
        job = self._active
        if job is None or job.number != told[0]:
            return
        if kind == "progress":
            job.share = told[1]
        elif kind == "seen":
            job.data, job.seen = told[1], job.seen + 1
        elif kind == "computed":
            job.share = 1.0
            if self._told_to_stop:  # it obeyed, and draws what it has
                self._told_to_stop, self._grace = time.monotonic(), DRAWING
        elif kind == "verdict":
            job.sentence, job.verdict = told[1:]
        else:
            self._ended(job, kind, told)

    def _ended(self, job: Job, kind: str, told: tuple[Any, ...]) -> None:
        if kind == "done":
            job.told, job.data, job.share = told[1], told[2], 1.0
            job.state = State.STOPPED if self._told_to_stop and not told[1]["success"] else State.DONE
            if job.state == State.STOPPED:
                job.error = {"what": f"Stopped {self._why}.", "facts": [], "because": "", "remedy": ""}
        elif kind == "failed":
            job.state, job.error = State.FAILED, told[1]
        else:
            job.state = State.STOPPED
            job.error = {"what": f"Stopped {self._why}.", "facts": [], "because": "", "remedy": ""}
        self._active, self._told_to_stop = None, 0.0
