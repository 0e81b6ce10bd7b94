"""What the studio is asked to do, and what has become of it: a run with its values, or a comparison of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from daedalus.errors import DaedalusError, InputError

GROUPS = ("parameters", "start", "inputs")
# More text than this is no value that somebody typed.
MOST_FIELDS, LONGEST_TEXT = 2000, 4000
LONGEST_COMPARISON = 6


class State(StrEnum):
    """Where a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class RunValues:
    """The values of a run as texts, by group and name; those left out are the model's own."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    begin: str = ""
    end: str = ""
    method: str = "auto"
    rtol: str = "1e-6"


@dataclass
class Job:
    """One run (values) or one comparison (of numbers of runs), how far it is and what it gave.

    share: of the span, 0 to 1. sentence, verdict: what the analysis says, and its card. told: how the run went. data:
    what the viewer shows, as JSON; while the run goes on what there is of it, changed `seen` times. error: its four
    parts.
    """

    number: int
    values: RunValues | None = None
    runs: tuple[int, ...] = ()
    label: str = ""
    state: State = State.WAITING
    share: float = 0.0
    sentence: str = ""
    verdict: str = ""
    told: dict[str, Any] = field(default_factory=dict)
    data: str = ""
    seen: int = 0
    error: dict[str, Any] = field(default_factory=dict)
    kept: bool = False

    def told_to_page(self) -> dict[str, Any]:
        """Everything but the data, as the page asks for it again and again."""
        values = None if self.values is None else vars(self.values)
        return {
            "number": self.number, "kind": "comparison" if self.values is None else "run", "label": self.label,
            "state": self.state.value, "share": self.share, "seen": self.seen, "sentence": self.sentence,
            "verdict": self.verdict, "told": self.told,
            "error": self.error, "kept": self.kept, "runs": list(self.runs),
            "values": values,
        }  # fmt: skip


def error_parts(error: BaseException) -> dict[str, Any]:
    """The four parts of an error, as the page shows them."""
    if isinstance(error, DaedalusError):
        facts = [str(fact) for fact in error.facts]
        return {"what": error.what, "facts": facts, "because": error.because, "remedy": error.remedy}
    if isinstance(error, MemoryError):
        return {"what": "The run needs more memory than the studio may use.", "facts": [], "because": "",
                "remedy": "a shorter span, a looser rtol, or daedalus studio --memory"}  # fmt: skip
    return {"what": f"{type(error).__name__}: {error}"[:500], "facts": [], "because": "", "remedy": ""}


def read_values(told: object) -> RunValues:
    """The values that a page sent, refused in words where they are not texts by name."""
    if not isinstance(told, dict):
        raise InputError("A request for a run must be an object of values.", f"got {type(told).__name__}")
    unknown = [name for name in told if name not in (*GROUPS, "begin", "end", "method", "rtol")]
    if unknown:
        raise InputError(
            f"Runs take no {str(unknown[0])[:60]!r}.", f"it has {', '.join(GROUPS)}, begin, end, method, rtol"
        )
    values: dict[str, Any] = {group: _texts(group, told.get(group, {})) for group in GROUPS}
    values |= {name: read_text(name, told[name]) for name in ("begin", "end", "method", "rtol") if name in told}
    return RunValues(**values)


def _texts(group: str, told: object) -> dict[str, str]:
    if not isinstance(told, dict) or len(told) > MOST_FIELDS:
        raise InputError(f"{group} must be texts by name.", f"got {type(told).__name__}")
    return {read_text("a name", name): read_text(str(name), text) for name, text in told.items()}


def read_text(name: str, text: object) -> str:
    """A short text of characters that can be written to a file."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT or text != text.encode("utf-8", "replace").decode():
        raise InputError(f"The value of {name[:60]} is not a short text.", f"got {type(text).__name__}", remedy='"0.5"')
    return text


def read_comparison(told: object) -> tuple[int, ...]:
    """The numbers of the runs to be shown over each other."""
    numbers = told.get("runs") if isinstance(told, dict) else None
    good = isinstance(numbers, list) and all(type(n) is int for n in numbers)
    if not good or not 1 <= len(set(numbers)) <= LONGEST_COMPARISON:  # type: ignore[arg-type]
        raise InputError(f"A comparison takes 1 to {LONGEST_COMPARISON} numbers of runs.", f"got {str(told)[:80]}")
    return tuple(dict.fromkeys(numbers))  # type: ignore[arg-type]
