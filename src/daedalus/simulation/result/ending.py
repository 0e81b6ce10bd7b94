"""How a run ends: an enumeration of endings, and the record that a run which ended carries.

An ending is a word, equal to the string that users compare with (`tr.status == "finished"`), with the sentence that it
is told in, what to try, and what may be behind it: every rule of continuation asks the flags here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from daedalus.simulation.result.records import Record

KEEP_IT = "dd.simulate(..., on_stop='return') to keep what was computed"


@dataclass(frozen=True)
class Meaning:
    """What is said of an ending, and what follows from it.

    sentence: what happened and further facts, with places for the time and names. remedy: what to try.

    success: the run reached its end or a terminal event. final: nothing follows. is_fault: somebody's fault, so that
    failures of Newton's method are told too. tells_remedy: its sentence says what to try; of the others only an error
    does. is_unsolved: the equations of a step were not solved.

    The others say what may have led to it: a singular configuration such as a dead centre, a fold of the algebraic
    equations, a point at which no choice of states is regular, a bad choice of redundant constraints, a switch that no
    step gets to or behind, a start without inertia; or that events or clocks of one instant are to blame.
    """

    sentence: tuple[str, ...]
    remedy: str = KEEP_IT
    success: bool = False
    final: bool = False
    is_fault: bool = False
    tells_remedy: bool = False
    is_unsolved: bool = False
    may_be_singular: bool = False
    may_be_fold: bool = False
    may_lack_states: bool = False
    may_be_bad_constraints: bool = False
    may_be_stalled_switch: bool = False
    may_be_massless: bool = False
    of_an_instant: bool = False


class Ending(StrEnum):
    """How a run, or a piece of one, ended.

    Example
    -------
    >>> Ending.FINISHED == "finished", str(Ending.FINISHED), Ending.FINISHED.success
    (True, 'finished', True)
    >>> [ending for ending in Ending if ending.may_be_fold]
    ['step_too_small', 'newton_failed', 'rounding']
    """

    sentence: tuple[str, ...]
    remedy: str
    success: bool
    final: bool
    is_fault: bool
    tells_remedy: bool
    is_unsolved: bool
    may_be_singular: bool
    may_be_fold: bool
    may_lack_states: bool
    may_be_bad_constraints: bool
    may_be_stalled_switch: bool
    may_be_massless: bool
    of_an_instant: bool

    def __new__(cls, word: str, meaning: Meaning) -> Ending:
        """A member from its word and what that means."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.__dict__.update(vars(meaning))
        return member

    # A member is its word in sets too, and shows as one.
    __hash__ = str.__hash__
    __repr__ = str.__repr__

    FINISHED = "finished", Meaning(("reached {t}",), success=True, final=True)
    EVENT = "event", Meaning(("event {event!r} ended the run at {t}",), success=True)
    INTERRUPTED = "interrupted", Meaning(("interrupted by the user at {t}",), final=True)
    CANCELLED = "cancelled", Meaning(("cancelled at {t}",), final=True)
    STEP_LIMIT = "step_limit", Meaning(
        ("took max_steps = {max_steps} steps and got to {t}",),
        "a larger max_steps, a looser rtol, or a method for stiff systems",
        final=True, is_fault=True, tells_remedy=True,
    )  # fmt: skip
    TIME_LIMIT = "time_limit", Meaning(
        ("ran for time_limit = {time_limit} s and got to {t}",),
        "a larger time_limit, or a looser rtol",
        final=True, is_fault=True, tells_remedy=True,
    )  # fmt: skip
    MEMORY_LIMIT = "memory_limit", Meaning(
        ("the rows of {steps} steps fill the memory for a run, at {t}",),
        "runs one after the other, dd.simulate(m, (t, ...), start=tr.end), or a looser rtol",
        final=True, is_fault=True, tells_remedy=True,
    )  # fmt: skip
    STEP_TOO_SMALL = "step_too_small", Meaning(
        ("step size fell below {smallest:.2g} at {t}", "largest scaled error in {culprit}"),
        "a shorter span if the solution diverges there, or an event where the equations jump",
        is_fault=True, tells_remedy=True, may_be_singular=True, may_be_fold=True, may_lack_states=True,
        may_be_bad_constraints=True, may_be_stalled_switch=True, may_be_massless=True,
    )  # fmt: skip
    NOT_FINITE = "not_finite", Meaning(
        ("{culprit} is not finite at {t}",),
        "other start values; a division by zero or a root of a negative number is likely",
        is_fault=True, may_lack_states=True, may_be_bad_constraints=True, may_be_massless=True,
    )  # fmt: skip
    CHATTERING = "chattering", Meaning(
        ("events follow each other without progress at {t}",),
        "a reset that moves the guard away from zero, a terminal event, or a state that marks what is at rest",
        is_fault=True, tells_remedy=True,
    )  # fmt: skip
    NEWTON_FAILED = "newton_failed", Meaning(
        ("Newton's method does not converge at {t} {step}", "largest correction in {culprit}"),
        "dd.analyse(m, at=...) at the last state, a looser rtol, or a smaller step where it is fixed",
        is_fault=True, tells_remedy=True, is_unsolved=True, may_be_singular=True, may_be_fold=True,
        may_lack_states=True, may_be_bad_constraints=True, may_be_stalled_switch=True,
    )  # fmt: skip
    SINGULAR = "singular", Meaning(
        ("the matrix of the step is singular at {t}", "the equations do not determine {culprit} there"),
        "dd.analyse(m, at=tr.at(tr.time[-1])), which names what is not determined",
        is_fault=True, tells_remedy=True, is_unsolved=True, may_be_singular=True, may_lack_states=True,
        may_be_bad_constraints=True,
    )  # fmt: skip
    ROUNDING = "rounding", Meaning(
        ("rounding errors of {culprit} exceed its tolerance at {t}, whatever the step",),
        "a looser rtol, or a looser atol for it: dd.simulate(..., atol={'name': value})",
        is_fault=True, tells_remedy=True, may_be_singular=True, may_be_fold=True, may_lack_states=True,
        may_be_bad_constraints=True, may_be_stalled_switch=True,
    )  # fmt: skip
    INCONSISTENT = "inconsistent", Meaning(
        ("no consistent values were found after the jump at {t}",),
        "a reset that leaves the constraints as they are; dd.initialise shows what is in conflict",
        is_fault=True, tells_remedy=True, is_unsolved=True, may_lack_states=True, may_be_stalled_switch=True,
    )  # fmt: skip
    NOT_PROJECTED = "not_projected", Meaning(
        ("no state near the one reached obeys the constraints at {t}",),
        "a smaller rtol, or a reset that stays near the constraints",
        may_be_bad_constraints=True,
    )  # fmt: skip
    CONFLICT = "conflict", Meaning(
        ("two events or clocks assign one name at {t}",),
        "one of them, a condition that tells which, or after= for the clock that should win",
        final=True, of_an_instant=True,
    )  # fmt: skip
    ENDLESS = "endless", Meaning(
        ("events trigger each other endlessly at {t}",),
        "assignments that leave the conditions of the others as they are",
        final=True, of_an_instant=True,
    )  # fmt: skip
    CALL_FAILED = "call_failed", Meaning(("Python code raised an exception at {t}",), final=True, of_an_instant=True)
    # Another piece follows: by an implicit method, or behind a singular configuration.
    STIFF = "stiff", Meaning(("stiff at {t}",))
    PASSED = "passed", Meaning(("led over a singular configuration at {t}",))
    # The run ought to go on and cannot: its record says why.
    STUCK = "stuck", Meaning(("stuck at {t}",))


# An ending by its word, as the core reports it.
ENDINGS: dict[str, Ending] = {ending.value: ending for ending in Ending}


class Obstacle(StrEnum):
    """What a run could not get over, where that was found out behind its end."""

    SINGULAR_CONFIGURATION = "singular configuration"
    LEFT_BRANCH = "left its branch"
    IMPASSE = "impasse"
    SLIDING = "sliding along a condition"
    CONFLICT = "constraints in conflict"
    OTHER_RANK = "another number of independent constraints"
    STANDSTILL = "no step"
    REFUSED_RESET = "a reset that is refused"
    CONTACTS = "contacts that are not determined"
    INFINITE_SLOPES = "infinite slopes"


@dataclass(frozen=True)
class Stop(Record):
    """How, when and why a run ended. `print` shows `tr.stop_reason`.

    what: what happened, without a full stop. facts: what else is known. remedy: what to try, where that is known.
    variables, equations, event, condition: whose fault it is, or what ended the run. obstacle: what could not be
    passed, where that was found out.

    Example
    -------
    >>> end = Stop(Ending.STUCK, 0.5, "the chain jams at t = 0.5", ("link 3 turned over",), "a longer link")
    >>> str(end)
    'the chain jams at t = 0.5; link 3 turned over; try a longer link'
    >>> end.sentence, end.advice
    ('the chain jams at t = 0.5; link 3 turned over', 'a longer link')
    """

    ending: Ending
    time: float
    what: str
    facts: tuple[str, ...] = ()
    remedy: str = ""
    variables: tuple[str, ...] = ()
    equations: tuple[str, ...] = ()
    event: str = ""
    condition: str = ""
    obstacle: Obstacle | None = None

    def __post_init__(self) -> None:
        # Words, as files hold them.
        object.__setattr__(self, "ending", ENDINGS[self.ending])
        object.__setattr__(self, "obstacle", None if self.obstacle is None else Obstacle(self.obstacle))

    @property
    def findings(self) -> tuple[str, ...]:
        """What happened and what else is known."""
        return self.what, *self.facts

    @property
    def sentence(self) -> str:
        """The findings in a row."""
        return "; ".join(self.findings)

    @property
    def advice(self) -> str:
        """What to try: that of this run, or what helps after such an ending."""
        return self.remedy or self.ending.remedy

    def __str__(self) -> str:
        return f"{self.sentence}; try {self.remedy}" if self.remedy else self.sentence


def reached(t: float) -> Stop:
    """The end of a run that got to its last time.

    >>> str(reached(2.5))
    'reached t = 2.5'
    """
    return Stop(Ending.FINISHED, t, f"reached {time_text(t)}")


def time_text(t: float) -> str:
    """A time in a sentence.

    >>> time_text(0.12345678)
    't = 0.123457'
    """
    return f"t = {t:.6g}"
