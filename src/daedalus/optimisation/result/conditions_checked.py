"""Whether a plan keeps what was asked for: every written condition on the plan, and on the motion that its inputs give.

A search obeys the rows of its program, from which conditions that seem to follow from others were left out, and whose
equations hold at points. Here conditions are looked at as they were written, once on the plan between its nodes and
once on its replay by the integrator. A motion that does not stay near its plan because the model is unstable is
replayed from node to node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.initialisation.wording import number
from daedalus.model.expressions import concatenate
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.model.values import unit_of
from daedalus.optimisation.description.description import Description, StandIn
from daedalus.optimisation.result.explanation import Explanation, Shortfall
from daedalus.optimisation.result.interpolant import Interpolant
from daedalus.optimisation.result.written_conditions import (
    BETWEEN,
    Places,
    WrittenCondition,
    first,
    last,
    nodes,
    written_conditions,
)
from daedalus.optimisation.transcription.along_rows import AlongRows
from daedalus.optimisation.transcription.collocated import Transcription
from daedalus.optimisation.transcription.usual_sizes import usual_inputs

# What states may miss between the points of a mesh, as a share of their size: a limit that holds at points is passed by
# a little between them, an obstacle that no point lies in by more.
BETWEEN_POINTS = 1e-2
# Around the instant at which least is left, instants are taken so many times closer together, twice.
FINER = 8
# Integrals are summed over so many points of every interval.
INTEGRAL_POINTS = 5

# Times -> the states of a motion at them, (times, states).
States = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class BrokenCondition:
    """A violated condition: its bounds, its value, the time, and where it was checked ("the plan" or "the replay")."""

    name: str
    lower: float
    upper: float
    value: float
    time: float
    on: str
    unit: str = ""

    @property
    def short(self) -> float:
        """By how much it is missed."""
        return max(self.lower - self.value, self.value - self.upper)

    @property
    def shortfall(self) -> Shortfall:
        """The same as a part of an explanation."""
        low = self.value < self.lower
        side, bound = ("lower", self.lower) if low else ("upper", self.upper)
        return Shortfall(self.name, side, bound, self.time, self.time, self.short, unit=self.unit)

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.lower == self.upper:
            asked = f"= {number(self.lower)}"
        else:
            low = self.value < self.lower
            asked = f"{'>=' if low else '<='} {number(self.lower if low else self.upper)}"
        return f"{self.name} {asked}{unit} at {number(self.time, 4)} s is {number(self.value)}{unit} on {self.on}"


def unkept(status: str, broken: tuple[BrokenCondition, ...], remedy: str) -> Explanation:
    """The explanation of a plan that a search found and that breaks conditions."""
    headline = " ".join(part for part in (f"{status[0].upper()}{status[1:]}.", remedy) if part)
    return Explanation(False, headline, tuple(part.shortfall for part in broken))


@dataclass(frozen=True, eq=False)
class Miss:
    """By how much a condition is missed at worst, as a share of its size."""

    condition: WrittenCondition
    share: float
    value: float
    time: float


class ConditionsChecked:
    """The written conditions of a problem, evaluated along motions near a plan."""

    def __init__(self, made: Transcription, plan: Interpolant) -> None:
        description, layout = made.description, made.layout
        self._description, self._layout, self._plan = description, layout, plan
        written = written_conditions(description, layout, frozenset(found.end for found in made.independence))
        self._groups = [_Group(description, list(own)) for own in _by_places(written)]
        along = self._vectors(nodes(layout), None)
        nominal = {"z": description.system.nominal["z"], "u": usual_inputs(description)}
        self.any = bool(written)
        self.size = {letter: np.abs(along[letter]).max(axis=0) + usual for letter, usual in nominal.items()}
        self.size["x"] = plan.state_sizes
        free = np.isin(np.arange(along["p"].shape[1]), list(description.free))
        self._sizes = np.concatenate([*(self.size[letter] for letter in "xzu"), np.abs(along["p"][0]) * free])
        self._sizes = np.concatenate([self._sizes, [abs(plan.length)], self._sizes_of_stand_ins()])

    def missed(self, states: States | None = None) -> list[Miss]:
        """What is missed along the plan, or along a motion with its inputs."""
        elsewhere, sizes = self._elsewhere(states), self._sizes
        groups = [group for group in self._groups if states is not None or not group.between]
        found = [group.missed(self._vectors(group.places, states), elsewhere, sizes) for group in groups]
        for k, group in enumerate(groups):
            for finer in (FINER, FINER**2) if group.between else ():
                # What lies between two instants is near the one at which least is left.
                places = self._around([miss.time for miss in found[k]], finer)
                found[k] = group.missed(self._vectors(places, states), elsewhere, sizes)
        return [miss for own in found for miss in own]

    def slightly_missed(self, missed: list[Miss], least: float) -> tuple[str, ...]:
        """Notes of what is missed between the points of the mesh, by less than counts as broken."""
        told = []
        for miss in missed:
            if miss.condition.between and least < miss.share <= BETWEEN_POINTS:
                broken = self.broken([miss], "the replay, between the points of the mesh", 0.0, 0.0, 0.0)
                told.append(str(broken[0]))
        return tuple(told)

    def broken(
        self,
        missed: list[Miss],
        on: str,
        most: float,
        following: float | None = None,
        between: float = BETWEEN_POINTS,
    ) -> tuple[BrokenCondition, ...]:
        """What is missed by more than a share of its size, the worst first; `following`: of what has to follow."""
        follows = most if following is None else following

        def allowed(condition: WrittenCondition) -> float:
            return between if condition.between else follows if condition.follows else most

        over = (miss for miss in missed if miss.share > allowed(miss.condition))
        worst = sorted(over, key=lambda miss: -miss.share)
        system = self._description.system
        return tuple(
            BrokenCondition(
                miss.condition.name, miss.condition.lower, miss.condition.upper, miss.value, miss.time, on,
                unit_of(system, miss.condition.name),
            )
            for miss in worst
        )  # fmt: skip

    def _around(self, times: list[float], finer: int) -> Places:
        """Instants around some times, so many times closer together than those all over the intervals."""
        shares, widths = self._layout.shares, self._layout.widths
        middle = (np.array(times) - self._description.begin) / self._plan.length
        own = np.clip(np.searchsorted(shares, middle, side="right") - 1, 0, self._layout.intervals - 1)
        apart = FINER / (BETWEEN * finer) * widths[own]
        at = (middle[:, None] + apart[:, None] * np.linspace(-1.0, 1.0, 2 * FINER + 1)).ravel()
        at = np.clip(at, shares[0], shares[-1])
        interval = np.clip(np.searchsorted(shares, at, side="right") - 1, 0, self._layout.intervals - 1)
        return Places(interval, np.clip((at - shares[interval]) / widths[interval], 0.0, 1.0))

    def _elsewhere(self, states: States | None) -> np.ndarray:
        """The duration, and the values of stand-ins along a motion."""
        values = [np.array([self._plan.length])]
        for stand_in in self._description.stand_ins:
            places, weights = self._places_of(stand_in)
            vectors = self._vectors(places, states)
            function = AlongRows(self._description.system.symbols(), [stand_in.expression])
            values.append(weights @ function(*(vectors[letter] for letter in ARGUMENTS))[0])
        return np.concatenate(values)

    def _sizes_of_stand_ins(self) -> np.ndarray:
        """How large stand-ins are: their slopes by all that has a size, times that size."""
        found, symbols = [np.zeros(0)], self._description.system.symbols()
        for stand_in in self._description.stand_ins:
            places, weights = self._places_of(stand_in)
            vectors = self._vectors(places, None)
            slopes = ca.jacobian(stand_in.expression, _sized(self._description))
            flat = AlongRows(symbols, [slopes])(*(vectors[letter] for letter in ARGUMENTS))[0]
            # A stand-in of several entries has a row of slopes for each.
            values = np.abs(np.nan_to_num(flat)).reshape(len(flat), len(self._sizes), stand_in.expression.numel())
            found.append(np.einsum("k,kvc,v->c", weights, values, self._sizes))
        return np.concatenate(found)

    def _places_of(self, stand_in: StandIn) -> tuple[Places, np.ndarray]:
        """Where the expression of a stand-in counts, with its weights."""
        if stand_in.where == "integral":
            return self._for_integrals()
        return first(self._layout) if stand_in.where == "start" else last(self._layout), np.ones(1)

    def _for_integrals(self) -> tuple[Places, np.ndarray]:
        at, weights = np.polynomial.legendre.leggauss(INTEGRAL_POINTS)
        count, widths = self._layout.intervals, self._plan.length * self._layout.widths
        places = Places(np.repeat(np.arange(count), INTEGRAL_POINTS), np.tile(0.5 * (at + 1), count))
        return places, (0.5 * weights[None, :] * widths[:, None]).ravel()

    def _vectors(self, places: Places, states: States | None) -> dict[str, np.ndarray]:
        shares = self._layout.shares[places.interval] + places.tau * self._layout.widths[places.interval]
        times = self._description.begin + self._plan.length * shares
        return self._plan.vectors_at(places.interval, places.tau, None if states is None else states(times))


def _by_places(written: list[WrittenCondition]) -> list[list[WrittenCondition]]:
    """Conditions that count at the same instants together."""
    groups: dict[tuple[object, ...], list[WrittenCondition]] = {}
    for part in written:
        key = (part.since_start, part.between, part.places.interval.tobytes(), part.places.tau.tobytes())
        groups.setdefault(key, []).append(part)
    return list(groups.values())


def _sized(description: Description) -> ca.SX:
    """States, unknowns, inputs and parameters: what the size of a condition follows from."""
    return concatenate(description.system.symbols(("x", "z", "u", "p")))


class _Group:
    """Conditions at the same instants, as one function with its slopes by all that it depends on but time."""

    def __init__(self, description: Description, written: list[WrittenCondition]) -> None:
        self.written, self.places, self.between = written, written[0].places, written[0].between
        system = description.system
        expressions = concatenate(part.expression for part in written)
        elsewhere = concatenate([description.length, *(s.symbol for s in description.stand_ins)])
        by = concatenate([_sized(description), elsewhere])
        symbols = [*system.symbols(), elsewhere]
        self._both = AlongRows(symbols, [expressions, ca.jacobian(expressions, by)])

    def missed(self, vectors: dict[str, np.ndarray], elsewhere: np.ndarray, sizes: np.ndarray) -> list[Miss]:
        count = len(vectors["t"])
        values, flat = self._both(*(vectors[letter] for letter in ARGUMENTS), np.tile(elsewhere, (count, 1)))
        slopes = np.abs(flat.reshape(count, len(sizes), len(self.written)))
        spans = np.nan_to_num(np.einsum("kvc,v->kc", slopes, sizes))
        found = []
        for part, own, along in zip(self.written, values.T, spans.T):
            own = own[1:] - own[0] if part.since_start else own
            bounds = [abs(bound) for bound in (part.lower, part.upper) if np.isfinite(bound)]
            short = np.maximum(part.lower - own, own - part.upper)
            worst = int(np.argmax(np.where(np.isnan(short), np.inf, short)))
            # A small obstacle is judged where it is, not by the way to it.
            span = along[worst] if part.between else along.max()
            share = float(np.nan_to_num(short[worst], nan=np.inf)) / max(float(span), *bounds, NOT_ZERO)
            found.append(Miss(part, share, float(own[worst]), float(vectors["t"][worst + part.since_start, 0])))
        return found
