"""Processes that measure: a fresh interpreter each, one thread, one at a time, and never a crash of the whole run."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parent.parent
# Every library that could bring threads of its own is told to use one.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}


@dataclass(frozen=True)
class Outcome:
    """What a measuring process reported, and why it ended early if it did."""

    records: list[dict[str, Any]]
    failure: str | None


# Paths that would mix the environments; and without bytecode on disk a start measures Python's parser.
DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")


def environment_of(folder: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a measuring process: one thread, and an empty cache of compiled code in `folder`."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    return {
        **kept,
        **ONE_THREAD,
        "PYTHONPATH": str(ROOT),
        "DAEDALUS_CACHE": str(Path(folder, "cache")),
        **(extra or {}),
    }


def measure(
    python: str,
    measurement: str,
    options: Mapping[str, Any],
    extra: Mapping[str, str] | None = None,
    limit: float = 180.0,
) -> Outcome:
    """Run one file of benchmarks/measurements in its own process; `limit` is in seconds of wall clock."""
    with tempfile.TemporaryDirectory(prefix="benchmark_") as folder:
        path = Path(folder, "records.jsonl")
        command = [python, "-m", "benchmarks.worker", measurement, json.dumps(options), str(path)]
        failure = run(command, folder, extra, limit)[1]
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    records = [record for record in map(parsed, lines) if record is not None]
    reported = next((str(record["failure"]) for record in records if set(record) == {"failure"}), None)
    return Outcome([record for record in records if set(record) != {"failure"}], reported or failure)


def run(command: list[str], folder: str, extra: Mapping[str, str] | None, limit: float) -> tuple[float, str | None]:
    """Run a command in a folder: the wall-clock seconds it took, and why it failed if it did."""
    begin = perf_counter()
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment_of(folder, extra), capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return perf_counter() - begin, f"stopped after {limit:.0f} s"
    except OSError as refused:
        return perf_counter() - begin, f"did not start: {refused.strerror}"
    return perf_counter() - begin, failure_of(done.returncode, done.stderr)


def failure_of(code: int, errors: str) -> str | None:
    """Why a process ended with that code; None when it ended well."""
    if code == 0:
        return None
    if code < 0:
        return f"crashed: {signal.Signals(-code).name}"
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][-200:] if lines else f"ended with code {code}"


def parsed(line: str) -> dict[str, Any] | None:
    """A record, or None for a line that a dying process left half written."""
    try:
        record: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record
