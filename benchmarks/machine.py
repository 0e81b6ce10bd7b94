"""What the numbers were measured on: processor, system, versions, date, and how busy the machine was."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.peers import Peers, distribution, requirements_of

OWN = ("daedalus", "casadi", "numpy", "llvmlite")


def processor() -> str:
    """The model of the processor, as the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def revision() -> str:
    """The commit that was measured, with a + when files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def describe(peers: Peers, requirements: str) -> dict[str, object]:
    """The machine and the versions, as they go into the results."""
    named = [distribution(line) for line in requirements_of(requirements)]
    versions = {name.lower().replace("_", "-"): version for name, version in peers.versions.items()}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "revision": revision(),
        "versions": {name: metadata.version(name) for name in OWN},
        "peers": {name: versions.get(name.lower().replace("_", "-")) for name in named},
        "not_installed": {distribution(name): reason for name, reason in peers.missing.items()},
    }
