"""Everything a problem says, as data: what a transcription reads and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.model.system.system import System
from daedalus.optimisation.description.conditions import Condition
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.stage_form import StageForm

# Errors off the constraints decay by this power of e over the duration, where intervals are short enough.
QUICK = 30.0


@dataclass(frozen=True, eq=False)
class StandIn:
    """A symbol for the value of an expression elsewhere: at the "start", at the "end", or its "integral"."""

    symbol: ca.SX
    where: str
    expression: ca.SX


@dataclass(frozen=True)
class InputKind:
    """How a chosen input moves between nodes, and how fast it may change (per unit of time)."""

    kind: str = "constant"
    slowest: float = -np.inf
    fastest: float = np.inf

    @property
    def has_rate(self) -> bool:
        """Whether its change is bounded."""
        return bool(np.isfinite(self.slowest) or np.isfinite(self.fastest))


@dataclass(frozen=True, eq=False)
class FixedValue:
    """An element that is fixed at an end: a state by its position, or any other name as an expression."""

    label: str
    value: float
    state: int | None
    expression: ca.SX


@dataclass
class Description:
    """A problem as data.

    written: the system as the user wrote it; system: the one that is planned with, of index 0 or 1.
    starts, ends: what is fixed there; a start of None was never spoken of. bounds: by symbol of the model's own.
    """

    written: System
    system: System
    form: StageForm
    begin: float
    duration: float | Unknown
    intervals: int
    length: ca.SX  # the symbol of the duration
    starts: list[FixedValue] | None = None
    ends: list[FixedValue] = field(default_factory=list)
    running: ca.SX = field(default_factory=lambda: ca.SX(0))
    final: ca.SX = field(default_factory=lambda: ca.SX(0))
    integrated: ca.SX = field(default_factory=lambda: ca.SX(0))  # a running cost that is a state of every interval
    stand_ins: list[StandIn] = field(default_factory=list)
    bounds: dict[int, tuple[float, float]] = field(default_factory=dict)  # by key of the symbol
    conditions: list[Condition] = field(default_factory=list)
    periodic: list[int] = field(default_factory=list)  # states
    given: dict[int, object] = field(default_factory=dict)  # inputs by position: a signal, a function, an expression
    given_names: list[tuple[tuple[int, ...], object]] = field(default_factory=list)
    kinds: dict[int, InputKind] = field(default_factory=dict)  # inputs by position
    free: dict[int, Unknown] = field(default_factory=dict)  # parameters by position
    parameters: np.ndarray = field(default_factory=lambda: np.zeros(0))
    guesses: dict[str, object] = field(default_factory=dict)
    trajectory: object = None
    sizes: dict[str, float] = field(default_factory=dict)  # of states and inputs, as an earlier search has shown them
    linked: bool = False  # begins where another phase ends
    open_mesh: bool = False  # nobody said how many intervals there are: they may become more
    single: frozenset[int] = frozenset()  # free parameters that are one variable, however stages are made
    loose: bool = True  # what stands in the place of an integral of |u| that has a given value may be larger than it
    # Signs of states in whose rates something may stand for |T| that is larger; None: nobody has looked for such.
    relaxed: tuple[float, ...] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def damping(self) -> float:
        """The rate at which a search returns to the constraints, per duration: slow against a single interval."""
        return min(QUICK, 0.5 * self.intervals)

    @property
    def expected_duration(self) -> float:
        """The duration, or the guess of it."""
        return self.duration.guess if isinstance(self.duration, Unknown) else float(self.duration)

    @property
    def rounding(self) -> float:
        """A few times the distance of two numbers at the times of the plan, as a share of the duration."""
        length = self.expected_duration
        return 8 * EPSILON * (abs(self.begin) + length) / length

    @property
    def integrals(self) -> list[StandIn]:
        """The integrals that costs and conditions speak of."""
        return [s for s in self.stand_ins if s.where == "integral"]

    @property
    def chosen(self) -> list[int]:
        """The inputs that are chosen, by position."""
        return [k for k in range(self.system.sizes["u"]) if k not in self.given]

    def input_name(self, positions: tuple[int, ...]) -> str:
        """The name of an input, or of its element, by the positions that it has."""
        places = self.system.places.items()
        found = (name for name, place in places if place.letter == "u" and tuple(place.positions) == positions)
        return next(found, self.system.labels["u"][positions[0]])

    def values_of(self, values: Mapping[str, object]) -> np.ndarray:
        """The parameters with some of them changed."""
        from daedalus.model.values import parameter_values

        return np.array(parameter_values(self.system, values)) if values else self.parameters
