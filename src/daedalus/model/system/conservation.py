"""Whether the equations keep what was declared to be kept, looked at in points: c' = ∂c/∂t + ∂c/∂x x' where c = 0.

In points drawn near the start c' is a sum of terms that cancel for what is kept and do not for anything else: to be
zero by chance at points drawn at random has probability zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, independent_rows
from daedalus.errors import ModelError
from daedalus.model.expressions import concatenate
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.model.system.once import once
from daedalus.model.system.sampled_points import CANCELLED, Points, rate_terms, states_near
from daedalus.model.system.system import System


@dataclass(frozen=True)
class Broken:
    """An invariant that the equations do not keep: its rate of change, its share of the terms of it, and where.

    >>> str(Broken("energy", 0.5, 0.1, (("x", 1.0), ("v", -0.5))))
    'energy changes at a rate of 0.5 where x = 1, v = -0.5'
    """

    name: str
    rate: float
    share: float
    point: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value:.4g}" for name, value in self.point[:6])
        return f"{self.name} changes at a rate of {self.rate:.3g} where {where}{', …' if self.point[6:] else ''}"


class Rates:
    """The rates of what somebody declared to be kept, in points of a system."""

    def __init__(self, system: System) -> None:
        self._system = system
        declared = [k for k, row in enumerate(system.invariant_rows) if row.role is Role.DECLARED]
        self._labels = [system.invariant_rows[k].label for k in declared]
        kept = concatenate(system.invariants.values())
        whole = concatenate([kept, *system.watched.values()])
        self._points = Points(system, system.residual, whole)
        terms = rate_terms(system, kept[declared])
        self._rates = ca.Function("rates", self._points.arguments, [ca.sum2(terms), ca.sum2(ca.fabs(terms))])

    def broken_at(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[Broken] | None:
        """What changes at the point next to x on all that is kept; None where no such point was found."""
        point = self._points.at(t, x, u, p)
        if point is None:
            return None
        rates, sizes = (part.full().ravel() for part in self._rates.call(point))
        place = tuple(zip(self._system.labels["x"], point[2].tolist()))
        return [
            Broken(label, float(rate), float(abs(rate) / size), place)
            for label, rate, size in zip(self._labels, rates, sizes)
            if abs(rate) > CANCELLED * size + NOT_ZERO
        ]

    def broken(
        self, times: Sequence[float], x: np.ndarray, inputs: Sequence[np.ndarray], p: np.ndarray
    ) -> list[Broken]:
        """What changes at the start or at points near it, once each, where most is left; inputs go with the times."""
        found: dict[str, Broken] = {}
        for k, near in enumerate(states_near(x, self._system.nominal["x"])):
            which = k % len(times)
            for one in self.broken_at(times[which], near, inputs[which], p) or ():
                if one.name not in found or one.share > found[one.name].share:
                    found[one.name] = one
        return list(found.values())


def repeated(system: System) -> list[str]:
    """Declared invariants that follow from what else is kept: zero wherever that is, in all points looked at."""
    if not has_declared(system) or len(system.invariants) < 2:
        return []
    rows, found = _rows_by_name(system), []
    for name in [name for name, own in rows.items() if own[0].role is Role.DECLARED]:
        others = [kept for other, kept in system.invariants.items() if other != name and other not in found]
        if others and _follows(system, system.invariants[name], concatenate(others)):
            found.append(name)
    return found


def _follows(system: System, kept: ca.SX, others: ca.SX) -> bool:
    """Whether something is zero in points where others are, and its slope no direction beside theirs."""
    points = Points(system, system.residual, others)
    slopes = [ca.densify(ca.jacobian(e, system.symbol("x"))) for e in (others, kept)]
    look = ca.Function("look", points.arguments, [ca.densify(kept), *slopes])
    u, p = np.zeros(system.sizes["u"]), np.nan_to_num(system.start["p"], nan=1.0)
    rest, looked = [np.zeros(system.sizes[letter]) for letter in ("xdot", "z")], 0
    for near in states_near(system.default_start, system.nominal["x"]):
        state = points.moved(0.0, near, u, p)
        if state is None:
            continue
        left, along, own = (part.full() for part in look.call([0.0, rest[0], state, rest[1], u, p]))
        size = np.abs(own) @ np.maximum(np.abs(state), system.nominal["x"])
        beside = len(independent_rows(np.vstack([along, own]))) > len(independent_rows(along))
        if beside or not np.all(np.abs(left.ravel()) <= CANCELLED * size):
            return False
        looked += 1
    return looked > 1


def _rows_by_name(system: System) -> dict[str, tuple[EquationRow, ...]]:
    """The rows of each invariant."""
    rows = iter(system.invariant_rows)
    return {name: tuple(next(rows) for _ in range(kept.numel())) for name, kept in system.invariants.items()}


def has_declared(system: System) -> bool:
    """Whether somebody declared that something is kept."""
    return any(row.role is Role.DECLARED for row in system.invariant_rows)


def broken_invariants(
    system: System, times: Sequence[float], x: np.ndarray, inputs: Sequence[np.ndarray], p: np.ndarray
) -> list[Broken]:
    """Declared invariants that the equations do not keep near a start under these inputs."""
    if not has_declared(system) or once(system, _kept_whatever_inputs):
        return []
    return once(system, Rates).broken(times, x, inputs, p)


def _kept_whatever_inputs(system: System) -> bool:
    """Whether all that was declared is kept near the start values, for inputs drawn at random."""
    draw = np.random.default_rng(1)
    x, p = system.default_start, np.nan_to_num(system.start["p"], nan=1.0)
    for near in states_near(x, system.nominal["x"]):
        t, u = float(draw.uniform()), system.nominal["u"] * draw.uniform(-1.0, 1.0, system.sizes["u"])
        if once(system, Rates).broken_at(t, near, u, p) != []:
            return False
    return True


def check_kept(
    system: System, times: Sequence[float], x: np.ndarray, inputs: Sequence[np.ndarray], p: np.ndarray
) -> None:
    """Refuse declared invariants that the equations do not keep, with the numbers."""
    broken = broken_invariants(system, times, x, inputs, p)
    if broken:
        names = [one.name for one in broken]
        raise ModelError(
            f"The equations do not keep {', '.join(names[:6])}.",
            [str(one) for one in broken[:4]],
            because="an invariant must follow from the equations; a run that keeps anything else solves a different "
            "model.",
            remedy="m.output(...) to watch it, m.equation(...) with one more unknown to enforce it, or more "
            "m.invariant(...) if it only holds together with others",
        )
