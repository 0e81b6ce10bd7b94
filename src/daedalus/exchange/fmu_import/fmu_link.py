"""The way to a loaded FMU: through a process of its own, where a crash or a hang is an error here, or directly."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from daedalus.errors import SolverError
from daedalus.exchange.fmu_import import fmu_process
from daedalus.exchange.fmu_import.fmi_calls import Discarded, FmiError

# Bytes of an answer at most.
MOST_BODY = 1 << 30


class FmuLink(ABC):
    """Calls of one FMU, one at a time; where this process was forked, the child gets a process of its own."""

    def __init__(self, name: str, spec: dict[str, Any], time_limit: float) -> None:
        self.name, self.spec, self.time_limit = name, spec, time_limit
        self.lock = threading.RLock()
        self.generation = 0  # grows whenever what the FMU held is lost

    @abstractmethod
    def ensure(self) -> None:
        """Load the FMU, if it is not."""

    @abstractmethod
    def rest(self) -> None:
        """End what runs for the FMU alone, until somebody asks again."""

    @abstractmethod
    def request(self, head: list[Any], numbers: list[float]) -> list[float]:
        """What the FMU answers."""

    def failed(self, function: str, told: str) -> SolverError:
        """The error for a call that the FMU refused."""
        if "Instantiate" in told:
            return SolverError(
                f"The FMU {self.name!r} cannot be instantiated.",
                told[:300],
                because="it rejects its own token or resources, or a library that it needs is missing.",
                remedy="the original file; FMPy's validation lists errors in FMUs",
            )
        return SolverError(
            f"The FMU {self.name!r} failed.", f"{function}: {told[:300]}",
            because="the model inside reports an error.", remedy="other start values, inputs or parameters",
        )  # fmt: skip


class LinkInside(FmuLink):
    """The FMU in this process."""

    def __init__(self, name: str, spec: dict[str, Any], time_limit: float) -> None:
        super().__init__(name, spec, time_limit)
        self._pool: fmu_process.FmuPool | None = None

    def ensure(self) -> None:
        """Load the library."""
        with self.lock:
            if self._pool is None:
                try:
                    self._pool = fmu_process.FmuPool(self.spec)
                except (OSError, AttributeError) as error:
                    raise library_error(self.name, str(error)) from error
                self.generation += 1

    def rest(self) -> None:
        """Nothing: it has no process of its own."""

    def request(self, head: list[Any], numbers: list[float]) -> list[float]:
        """Call the FMU."""
        with self.lock:
            self.ensure()
            assert self._pool is not None
            try:
                return self._pool.answer(head, numbers)
            except FmiError as error:
                raise self.failed(str(head[0]), str(error)) from error
            except Discarded as error:
                raise self.failed(str(head[0]), f"{error} was discarded") from error
            except (OSError, AttributeError) as error:
                raise library_error(self.name, str(error)) from error


class LinkOutside(FmuLink):
    """The FMU in a process of its own."""

    def __init__(self, name: str, spec: dict[str, Any], time_limit: float) -> None:
        super().__init__(name, spec, time_limit)
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._printed: Any = None
        self._end: Any = None

    def request(self, head: list[Any], numbers: list[float]) -> list[float]:
        """Ask the process; an error where it crashed or does not answer in time."""
        with self.lock:
            self.ensure()
            return self._asked(head, numbers)

    def rest(self) -> None:
        """End the process; the next request starts another one."""
        with self.lock:
            if self._process is not None and self._owner == os.getpid():
                self._end()
                self._process = self._printed = None

    def ensure(self) -> None:
        """Start the process, if it does not run."""
        process = self._process
        if process is not None and self._owner == os.getpid() and process.poll() is None:
            return
        if process is not None and self._owner != os.getpid():
            # A forked child must not speak on its parent's pipes.
            self._process = None
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115
        script = Path(fmu_process.__file__)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._printed, cwd=self.spec["folder"],
        )  # fmt: skip
        self._owner = os.getpid()
        self.generation += 1
        self._end = weakref.finalize(self, _ended, self._process, self._owner)
        self._asked(self.spec, [])

    def _asked(self, head: Any, numbers: list[float]) -> list[float]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        what = "loading" if isinstance(head, dict) else str(head[0])
        limit = time.monotonic() + self.time_limit
        try:
            fmu_process.send(process.stdin, head, numbers)  # type: ignore[arg-type]
            sizes = self._read(8, limit, what)
            head_size, body_size = struct.unpack("<II", sizes)
            if head_size > fmu_process.MOST or body_size > MOST_BODY:
                raise EOFError
            answer = fmu_process.json.loads(self._read(head_size, limit, what))
            body = self._read(body_size, limit, what)
            if body_size % 8:
                raise EOFError
        except (OSError, EOFError, ValueError) as error:
            raise self._crashed(what) from error
        if answer[0] == "ok":
            return fmu_process.numbers_of(body)
        kind, told = str(answer[1]), str(answer[2])
        if kind in ("FmiError", "Discarded"):
            raise self.failed(what, told)
        raise library_error(self.name, f"{kind}: {told}")

    def _read(self, count: int, limit: float, what: str) -> bytes:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        source = process.stdout.fileno()
        found = b""
        while len(found) < count:
            left = limit - time.monotonic()
            ready = _ready(source, left)
            if not ready:
                raise self._hung(what)
            piece = os.read(source, min(count - len(found), 1 << 20))
            if not piece:
                raise EOFError
            found += piece
        return found

    def _hung(self, what: str) -> SolverError:
        self._stop()
        return SolverError(
            f"The FMU {self.name!r} does not answer.",
            f"{what} took longer than {self.time_limit:g} s; its process was ended",
            because="a step that never ends would block this process.",
            remedy="load_fmu(..., time_limit=600) if it needs that long",
        )

    def _crashed(self, what: str) -> SolverError:
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2.0)
        code = process.returncode
        self._stop()
        ending = f"exit status {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                ending = signal.Signals(-code).name
        printed = self._last_lines()
        facts = [f"in {what}: {ending}"] + ([f"it printed: {printed}"] if printed else [])
        return SolverError(
            f"The FMU {self.name!r} crashed.", facts,
            because="its code crashed its own process; this process continues.", remedy="a newer export of the FMU",
        )  # fmt: skip

    def _last_lines(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            size = self._printed.seek(0, os.SEEK_END)
            self._printed.seek(max(0, size - 400))
            return " / ".join(self._printed.read().decode("utf-8", "replace").split("\n")[-4:]).strip(" /")
        return ""

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _ended(process, self._owner)


def _ready(source: int, seconds: float) -> bool:
    if os.name != "posix":
        return True  # pipes cannot be waited for with a limit there
    if seconds <= 0:
        return False
    poller = select.poll()
    poller.register(source, select.POLLIN | select.POLLHUP)
    return bool(poller.poll(max(1.0, 1000 * seconds)))


def _ended(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a process that this one started."""
    if owner != os.getpid():
        return
    with contextlib.suppress(OSError):
        process.kill()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    with contextlib.suppress(subprocess.TimeoutExpired, OSError):
        process.wait(5.0)


def library_error(name: str, told: str) -> SolverError:
    """The error for a library that cannot be loaded or called."""
    return SolverError(
        f"The library of the FMU {name!r} cannot be used.",
        told[:300],
        because="it is damaged, for another system, lacks a library that it needs, or a function of FMI.",
        remedy="an FMU exported for this system",
    )
