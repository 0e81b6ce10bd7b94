"""The surface that a condition is zero on, and the equations on its two sides.

Conditions of one surface, such as v > 0 and v < 0 in sign(v), change together: their guards have a constant ratio. The
equations, the guards of events and the outputs are rewritten with the conditions of the surface decided, on either side
or on the surface itself, and all others as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import casadi as ca
import numpy as np

from daedalus.algebra.newton_steps import full_newton, largest_entry
from daedalus.algebra.rank_decision import NOT_ZERO, SAME_FORMULA, SINGULAR
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.deadline import poll
from daedalus.model.expressions import concatenate, contains, divided, elements, symbol_key
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.modes_put_in import SWITCHING
from daedalus.reduction.switches import Switches, switches_of
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.plants import find_plant
from daedalus.simulation.sliding.solved_slopes import Undetermined, slopes_of

# A guard below this part of what it is made of is zero.
AT_ZERO = 1e-11
# Unknowns that are eliminated by a formula.
MOST_UNKNOWNS = 12


def rate_of(system: System, guard: ca.SX) -> ca.SX:
    """ġ along the equations."""
    slope, own = slopes_in_states(system, guard)
    return ca.SX(ca.mtimes(slope, system.symbol("xdot")) + own)


def slopes_in_states(system: System, guard: ca.SX) -> tuple[ca.SX, ca.SX]:
    """∂g/∂x and ∂g/∂t with z(t, x) as the equations without derivatives give it: L_z z' = -L_x x' - L_t."""
    x, t, z = system.symbols(("x", "t", "z"))
    slope, own = ca.jacobian(guard, x), ca.jacobian(guard, t)
    if not ca.depends_on(guard, z):
        return slope, own
    law, z = system.residual[structure_of(system).rows_without("xdot")], z[settled_unknowns(system)]
    moved = ca.solve(ca.jacobian(law, z), -ca.densify(ca.horzcat(ca.jacobian(law, x), ca.jacobian(law, t))))
    along = ca.mtimes(ca.jacobian(guard, z), moved)
    return slope + along[:, : x.numel()], own + along[:, x.numel() :]


def settled_unknowns(system: System) -> list[int]:
    """Which of z follow from x by the equations without derivatives; none where these leave some open."""
    rows = structure_of(system).rows_without("xdot")
    pattern = ca.jacobian_sparsity(system.residual[rows], system.symbol("z"))
    columns = sorted({int(k) for k in pattern.get_triplet()[1]})
    settled = 0 < len(rows) == len(columns) <= MOST_UNKNOWNS and ca.sprank(pattern) == len(rows)
    return columns if settled else []


def _switches_with_outputs(system: System) -> Switches | None:
    """The switches of the equations and the outputs together, the same for every surface; None where there are none."""
    found = switches_of(system)
    if system.output_names:
        whole = concatenate([system.residual, *(ca.vec(value) for value in system.outputs.values())])
        found = switches_of(system.changed(residual=whole, rows=system.rows)) or found
    return found


def _known_switches(system: System) -> Switches:
    """The same of a system whose equations have some."""
    found = once(system, _switches_with_outputs)
    assert found is not None
    return found


def _in_states(system: System, guards: list[ca.SX]) -> list[ca.SX]:
    """Guards with formulas in the place of z and x', where there are such and no condition comes in with them."""
    plant = find_plant(system)
    if not isinstance(plant, ExplicitPlant):
        return guards
    applied = [plant.form.applied(system, guard) for guard in guards]
    return [
        guard if contains(ca.Function("guard", [concatenate(ca.symvar(new))], [new]), SWITCHING) else new
        for guard, new in zip(guards, applied)
    ]


def switches_in_states(system: System) -> tuple[list[tuple[str, ca.SX]], list[tuple[str, ca.SX]]]:
    """The conditions of equations and outputs with their guards, in states where that can be; and what time decides."""
    found = once(system, _switches_with_outputs)
    if found is None:  # what numbers alone decide
        return [], []
    guards = _in_states(system, _unfolded(list(found.guards), found, {}))
    timed = []
    if found.clock is not None:
        values = found.clock(system.symbol("t"), system.symbol("p")[: found.clock.numel_in(1)])
        timed = list(zip(found.on_time, elements(values)))
    return list(zip(found.conditions, guards)), timed


def random_place(system: System, draw: np.random.Generator) -> list[np.ndarray]:
    """(t, x', x, z, u, p) at random, in nominal values: levels of picoamperes are no rounding beside their states."""
    units = {"xdot": system.nominal["x"], **{letter: system.nominal[letter] for letter in ("x", "z", "u")}}
    sizes = zip(ARGUMENTS, system.symbols())
    return [draw.uniform(0.5, 1.5, int(column.numel())) * units.get(letter, 1.0) for letter, column in sizes]


def _sampled_guards(system: System) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """Random places, and the guards of all conditions of the equations and the outputs there."""
    found = _known_switches(system)
    guards = _in_states(system, _unfolded(found.guards, found, {}))
    function = ca.Function("guards", system.symbols(), [ca.densify(concatenate(guards))])
    rng, points, values = np.random.default_rng(1), [], []
    for _ in range(4):
        poll("modes of conditions and contacts")
        points.append(random_place(system, rng))
        values.append(function(*points[-1]).full().ravel())
    return points, np.array(values)


class HeldState(NamedTuple):
    """The state that follows from g = 0: its place, its formula, and the nominal size of what it gives to g."""

    place: int
    formula: ca.SX
    size: float


def held_state(system: System, guard: ca.SX) -> HeldState | None:
    """The state that follows from a surface; None where the surface is not flat."""
    x = system.symbol("x")
    slope = ca.jacobian(guard, x)
    if not slope.is_constant() or slope.nnz() == 0:
        return None
    sizes = np.abs(ca.DM(slope).full().ravel()) * system.nominal["x"]
    k = int(np.argmax(sizes))
    return HeldState(k, -ca.substitute(guard, x[k], 0) / slope[k], float(sizes[k]))


class SurfaceSide(NamedTuple):
    """What holds with the conditions of a surface decided."""

    residual: ca.SX
    guards: ca.SX  # of the events
    outputs: dict[str, ca.SX]
    guard: ca.SX  # that is zero on the surface


class Surface:
    """The surface of one condition of a system, by its number among the switches."""

    def __init__(self, system: System, which: int) -> None:
        self.system = system
        own = switches_of(system)
        assert own is not None
        self.condition = own.conditions[which]
        self._outputs = system.outputs
        self._switches = _known_switches(system)
        # Its own modes are those of the run's twin; in the guard of one condition others stand as conditions.
        self.guard = _in_states(system, _unfolded([ca.SX(own.guards[which])], own, {}))[0]
        self._ratios = self.changing_with(self.guard)
        arguments = system.symbols()
        self.of_unknowns = bool(ca.depends_on(self.guard, arguments[3]))
        self.is_of_states = not ca.depends_on(self.guard, arguments[1])
        self.is_of_states &= not self.of_unknowns or self._keeps_unknowns()
        if self.is_of_states:
            slope = ca.densify(slopes_in_states(system, self.guard)[0])
            self._function = ca.Function("surface", arguments, [self.guard, slope, rate_of(system, self.guard)])

    def _keeps_unknowns(self) -> bool:
        """Whether z follows from x by equations without derivatives that do not change on the surface."""
        known = settled_unknowns(self.system)
        others = [k for k in range(self.system.sizes["z"]) if k not in known]
        if not known or ca.depends_on(self.guard, self.system.symbol("z")[others]):
            return False
        law = self._switches.system.residual[structure_of(self.system).rows_without("xdot")]
        return not ca.depends_on(law, ca.vertcat(*(self._switches.modes[k] for k in self._ratios)))

    def changing_with(self, guard: ca.SX) -> dict[int, float]:
        """The conditions that change where a guard is zero: +1 where they hold above it, -1 below."""
        found, (points, others) = self._switches, once(self.system, _sampled_guards)
        function = ca.Function("guard", self.system.symbols(), [guard])
        own = np.array([float(function(*point)) for point in points])
        ratios = {}
        for k in range(found.count):
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = others[:, k] / own
            same = np.all(np.isfinite(ratio)) and np.all(np.abs(ratio - ratio[0]) <= SAME_FORMULA * abs(ratio[0]))
            if same and ratio[0] != 0:
                ratios[k] = float(np.sign(ratio[0]))
        return ratios

    def _at(self, t: float, y: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
        n = self.system.sizes["x"]
        return [part.full().ravel() for part in self._function(t, y[:n], x, y[n:], u, p)]

    def _unknowns(self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, guess: np.ndarray | None) -> np.ndarray:
        """x' and z at a state, where the surface depends on them.

        z is the same on both sides. They are those of one side: x' jumps to and fro with the rounding of z on it.
        """
        if not self.of_unknowns:
            return np.zeros(len(x) + self.system.sizes["z"])
        return slopes_of(self._above).at(t, x, u, p, guess)

    @cached_property
    def _above(self) -> System:
        """The system with the conditions of the surface decided as they are above it."""
        return self.system.changed(residual=self.side(True).residual)

    def gap(
        self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, guess: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """g and ∂g/∂x at a state."""
        guard, slope, _ = self._at(t, self._unknowns(t, x, u, p, guess), x, u, p)
        return float(guard[0]), slope

    def moved(
        self, away: float, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, guess: np.ndarray | None = None
    ) -> np.ndarray:
        """A state moved across the surface by a part of the nominal values, to the side where g > 0 if positive."""
        nominal = self.system.nominal["x"]
        slope = self._at(t, self._unknowns(t, x, u, p, guess), x, u, p)[1] * nominal
        return np.asarray(x + away * nominal * slope / max(float(np.abs(slope).max()), NOT_ZERO))

    def rate(self, t: float, y: np.ndarray, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> float:
        """ġ with x' and z in y."""
        return float(self._at(t, y, x, u, p)[2][0])

    def nearest(
        self, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, guess: np.ndarray | None = None
    ) -> np.ndarray:
        """The state moved onto the surface by the shortest way in nominal values: by rounding, where it just met it."""
        weights = self.system.nominal["x"] ** 2

        def correction(x: np.ndarray) -> np.ndarray | None:
            guard, slope, _ = self._at(t, self._unknowns(t, x, u, p, guess), x, u, p)
            steep = float(slope @ (weights * slope))
            if not np.isfinite(steep):
                raise Undetermined
            return None if steep == 0 or guard[0] == 0 else -weights * slope * (guard[0] / steep)

        return full_newton(correction, x, largest_entry, most=2, tolerance=0.0).values

    def opposes(self, other: Surface) -> bool:
        """Whether another guard of the same surface has the other sign."""
        own, across = values_at_random(self.system, self.guard, other.guard)[0]
        return bool(own * across < 0)

    def side(self, above: bool | None, also: Mapping[int, float] = MappingProxyType({})) -> SurfaceSide:
        """The equations above the surface, below it, or with both sides of its conditions equal (None).

        also: conditions of another surface that are decided with it.
        """
        sign = {True: 1.0, False: -1.0, None: 0.0}[above]
        ratios = {**self._ratios, **also}
        decided = {k: ca.SX(1.0 if sign * ratio > 0 else 0.0) for k, ratio in ratios.items()}
        found, count = self._switches, int(self.system.residual.numel())
        twin = found.system
        guards = elements(twin.guards)[: int(self.system.guards.numel())]
        parts = _unfolded([twin.residual, concatenate(guards), self.guard], found, decided)
        outputs = dict(zip(self._outputs, divided(parts[0][count:], self._outputs.values())))
        return SurfaceSide(parts[0][:count], parts[1], outputs, parts[2])


def vanishes(system: System, expression: ca.SX) -> bool:
    """Whether an expression of a system's symbols is zero wherever one looks."""
    arguments = system.symbols()
    function, rng = ca.Function("gap", arguments, [expression]), np.random.default_rng(2)
    points = ([rng.uniform(0.5, 1.5, int(a.numel())) for a in arguments] for _ in range(3))
    return all(bool(np.all(np.abs(function(*point).full()) <= 1e-12)) for point in points)


def moved_onto(
    surfaces: Sequence[Surface],
    sides: np.ndarray,
    t: float,
    x: np.ndarray,
    u: np.ndarray,
    p: np.ndarray,
    nears: Sequence[np.ndarray | None],
) -> np.ndarray:
    """The state moved onto several surfaces, or a part of the nominal values to a side of some, by the shortest way."""
    if not surfaces:
        return x
    nominal = surfaces[0].system.nominal["x"]

    def correction(at: np.ndarray) -> np.ndarray | None:
        gaps = [surface.gap(t, at, u, p, near) for surface, near in zip(surfaces, nears)]
        slopes = np.array([slope for _, slope in gaps]) * nominal
        sizes = np.abs(slopes).max(axis=1)
        away = np.array([guard for guard, _ in gaps]) - sides * sizes
        if not np.all(np.isfinite(slopes)):
            raise Undetermined
        if not away.any():
            return None
        # Guards in any units: each in that of its own slopes.
        sizes = np.where(sizes > 0, sizes, 1.0)
        return np.asarray(-nominal * np.linalg.lstsq(slopes / sizes[:, None], away / sizes, rcond=SINGULAR)[0])

    return full_newton(correction, x, lambda step, at: np.inf, most=2, tolerance=0.0).values


def conditions_at_zero(system: System, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> list[int]:
    """The conditions on states alone that are zero at a state to rounding, the first of each surface."""
    guards, places = once(system, _guards_of_states)
    if not places:
        return []
    values, slopes = (part.full() for part in guards(t, x, u, p))
    sizes = np.abs(slopes) @ np.maximum(system.nominal["x"], np.abs(x))
    return [k for k, value, size in zip(places, values.ravel(), sizes) if abs(value) <= AT_ZERO * size]


def conditions_within(
    system: System, t: float, x: np.ndarray, u: np.ndarray, p: np.ndarray, within: np.ndarray
) -> list[int]:
    """The conditions on states alone that some changes of the states reach, the first of each surface."""
    guards, places = once(system, _guards_of_states)
    values, slopes = (part.full() for part in guards(t, x, u, p)) if places else (np.zeros(0), np.zeros((0, len(x))))
    return [k for k, value, reach in zip(places, values.ravel(), np.abs(slopes) @ within) if abs(value) <= reach]


def _guards_of_states(system: System) -> tuple[ca.Function, list[int]]:
    """The guards that contain neither x', z nor other conditions, with their slopes; of equal ones the first."""
    found, letters = switches_of(system), ("t", "x", "u", "p")
    own = system.symbols(letters)
    known = {symbol_key(s) for part in own for s in elements(part)}
    guards = [] if found is None else list(found.guards)
    moving = []
    for k, guard in enumerate(guards):
        poll("conditions that a run is on")
        reads = ca.symvar(guard)
        if all(symbol_key(s) in known for s in reads) and ca.depends_on(guard, own[1]):
            moving.append(k)
    places: list[int] = []
    values = values_at_random(system, *(guards[k] for k in moving))
    for n, k in enumerate(moving):
        before = values[:, [j for j in range(n) if moving[j] in places]]
        if not _one_ratio(before, values[:, [n]]).any():
            places.append(k)
    chosen = concatenate([guards[k] for k in places])
    return ca.Function("guards", own, [ca.densify(chosen), ca.densify(ca.jacobian(chosen, own[1]))]), places


def condition_like(system: System, guard: ca.SX) -> int:
    """The first condition of a system whose guard, as written or in states, has a constant ratio to another one.

    Undetermined where none has.
    """
    found = switches_of(system)
    if found is not None:
        for guards in (list(found.guards), once(system, _all_in_states)):
            if like := of_one_ratio(system, guards, guard):
                return like[0]
    raise Undetermined


def of_one_ratio(system: System, guards: Sequence[ca.SX], guard: ca.SX) -> list[int]:
    """Which of some guards are zero together with another one."""
    values = values_at_random(system, guard, *guards)
    return [int(k) for k in np.flatnonzero(_one_ratio(values[:, 1:], values[:, :1]))]


def _all_in_states(system: System) -> list[ca.SX]:
    """The guards of all conditions of a system, in states where that can be."""
    found = switches_of(system)
    return [] if found is None else _in_states(system, _unfolded(list(found.guards), found, {}))


def values_at_random(system: System, *guards: ca.SX) -> np.ndarray:
    """Guards at four random places of all symbols that they contain, (4, guards), in nominal values of the system."""
    whole, units = ca.densify(concatenate(guards)), once(system, _units)
    symbols = ca.symvar(whole)
    sizes = np.array([units.get(symbol_key(symbol), 1.0) for symbol in symbols])
    function = ca.Function("guards", [ca.vertcat(ca.SX(0, 1), *symbols)], [whole])
    rng, values = np.random.default_rng(3), []
    for _ in range(4):
        poll("conditions that a run is on")
        values.append(function(rng.uniform(0.5, 1.5, len(symbols)) * sizes).full().ravel())
    return np.array(values)


def _units(system: System) -> dict[int, float]:
    """The nominal value of each symbol of x', x, z and u."""
    units: dict[int, float] = {}
    for letter, own in (("xdot", "x"), ("x", "x"), ("z", "z"), ("u", "u")):
        units.update(zip(map(symbol_key, elements(system.symbol(letter))), system.nominal[own].tolist()))
    return units


def _one_ratio(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of guards by their values at random places, which of them are zero where another is: their ratio is constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = values / other
        same = np.all(np.abs(ratios - ratios[:1]) <= SAME_FORMULA * np.abs(ratios[:1]), axis=0)
    return np.asarray(same & np.all(np.isfinite(ratios) & (ratios != 0), axis=0))


def _unfolded(expressions: list[ca.SX], switches: Switches, decided: Mapping[int, ca.SX]) -> list[ca.SX]:
    """Expressions of the twin in the symbols of the system: modes become conditions again, unless they are decided."""
    twin, guards, modes = switches.system, switches.guards, switches.modes
    whole = concatenate(ca.vec(expression) for expression in expressions)
    for k in reversed(range(switches.count)):  # a guard contains modes of conditions inside it, which come before
        whole = ca.substitute(whole, modes[k], decided.get(k, guards[k] > 0))
    if switches.clock is not None:
        hidden = elements(twin.symbol("u"))[-switches.clock.numel_out(0) :]
        t, p = twin.symbol("t"), concatenate(elements(twin.symbol("p"))[: switches.clock.numel_in(1)])
        whole = ca.substitute(whole, ca.vertcat(*hidden), switches.clock(t, p))
    return divided(whole, expressions)
