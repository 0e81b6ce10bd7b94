"""The peers' own environment: each is installed on its own, and what does not install is known with its reason."""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
STAMP = "peers.json"
# What tells a person why an installation failed, the most telling first.
TELLING = (
    r"No CMAKE_\w+ could be found",
    r"No matching distribution found for [^\n]+",
    r"[^\n]*fatal error:[^\n]+",
    r"ERROR:[^\n]+",
    r"error:[^\n]+",
)


@dataclass(frozen=True)
class Peers:
    """Where the peers live, their versions, and the reasons of those that are missing."""

    python: str
    key: str
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def lacks(self, requirements: Iterable[str]) -> str | None:
        """Why a tool cannot run: the first of its requirements that is not there; None when all are."""
        for requirement in requirements:
            if requirement in self.missing:
                return f"{distribution(requirement)} not installed: {self.missing[requirement]}"
        return None


def distribution(requirement: str) -> str:
    """The name in a line of requirements: what stands before a version or an extra."""
    found = re.match(r"[\w.-]+", requirement)
    return found.group() if found else requirement


def requirements_of(text: str) -> list[str]:
    """The lines of a requirements file without comments."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def reason_of(output: str) -> str:
    """One line that says why an installation failed, out of the many that pip prints."""
    for pattern in TELLING:
        found = re.search(pattern, output)
        if found:
            return found.group().strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "pip gave no reason"


def pip_install(python: str, requirement: str) -> str | None:
    """Install one requirement; None when that worked, else the reason."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return "the installation took longer than 15 minutes"
    return None if done.returncode == 0 else reason_of(done.stdout + done.stderr)


def installed_versions(python: str) -> dict[str, str]:
    """Every distribution of an environment with its version."""
    script = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def key_of(text: str) -> str:
    """What the environment depends on: the requirements and the Python that builds it."""
    return hashlib.sha256(f"{sys.version}\n{text}".encode()).hexdigest()


def prepare(
    say: Callable[[str], None],
    folder: Path = FOLDER,
    install: Callable[[str, str], str | None] = pip_install,
    renew: bool = False,
) -> Peers:
    """The peers' environment, built on the first call and after every change of the requirements.

    The stamp is written last: an interrupted call is taken up again by the next one.
    """
    text = (folder / "requirements.txt").read_text(encoding="utf-8")
    environment, stamp, key = folder / ".venv", folder / ".venv" / STAMP, key_of(text)
    if stamp.exists() and not renew:
        known = Peers(**json.loads(stamp.read_text(encoding="utf-8")))
        if known.key == key:
            return known
    place = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not place.exists():
        say("building the peers' environment")
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    missing = {}
    for requirement in requirements_of(text):
        say(f"installing {requirement}")
        reason = install(str(place), requirement)
        if reason is not None:
            missing[requirement] = reason
            say(f"  {distribution(requirement)} not installed: {reason}")
    peers = Peers(str(place), key, installed_versions(str(place)), missing)
    stamp.write_text(json.dumps(asdict(peers), indent=1), encoding="utf-8")
    return peers
