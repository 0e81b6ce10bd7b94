"""What Itô's equation has beside Stratonovich's: a drift of −½ Σ q (∂g/∂x) g for noise that enters x' by g(x).

A run holds the noise over short steps and solves the equations with it. As the steps become shorter, such runs converge
to the solution in the sense of Stratonovich (E. Wong and M. Zakai, Ann. Math. Stat. 36, 1965). The same equation in
the sense of Itô has this drift. It is zero where g does not depend on what the noise moves: noise that is added, and
forces on bodies, which move velocities and depend on positions.

Equations 0 = F(t, x', x, z, w) determine y = (x', z). With y_w = −F_y⁻¹ F_w, its change along a direction (dx, dy) is
−F_y⁻¹ d(F_y y_w + F_w) with y_w kept; the direction is what w moves: dx = g, dy = −F_y⁻¹ F_x g.
"""

from __future__ import annotations

import itertools
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError, ModelError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import derivative_name, listed
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.reduce import reduce

# Points at which the drift is looked at, and what counts as zero beside the sizes of the states.
POINTS, NOTHING = 3, 1e-10


def with_ito_drift(system: System) -> System:
    """The system whose Stratonovich solution is the Itô solution of the one given; itself where both are the same."""
    return once(system, _with_drift)


def _with_drift(system: System) -> System:
    _check_linear(system)
    positions, densities = _ito_noises(system)
    if _is_singular(system):
        reduced = reduce(system).freeze()
        _check_not_differentiated(system, reduced)
        if not _is_singular(reduced):
            _check_straight(reduced)
            known = _ito_noises(reduced)
            if known[0] and not _is_zero(reduced, _Drift(reduced, *known)):
                raise ModelError(
                    "Itô noise depends on the states that it drives, in a model of higher index.",
                    f"the noises are {listed([v.name for v in system.noises])}",
                    because="the correction from Itô's to Stratonovich's form is not defined among constraints.",
                    remedy='m.noise(..., calculus="stratonovich")',
                )
        return system
    _check_straight(system)
    if not positions:
        return system
    drift = _Drift(system, positions, densities)
    if noise_leaves_noise(system) or _is_zero(system, drift):
        return system
    xdot, shift = system.symbol("xdot"), drift.expression()
    if ca.depends_on(shift, xdot):
        raise ModelError(
            "Itô noise multiplies a derivative.",
            f"the noises are {listed([v.name for v in system.noises])}",
            because="its drift would depend on the derivative that it changes.",
            remedy='m.noise(..., calculus="stratonovich")',
        )
    moved = ca.substitute([system.residual], [xdot], [xdot + shift])[0]
    return system.changed(residual=moved, parts=system.parts())


def _check_linear(system: System) -> None:
    w = _symbols(system)
    slopes = ca.jacobian(system.residual, w)
    if ca.depends_on(slopes, w):
        name = next(v.name for v in system.noises if ca.depends_on(slopes, _of(system, v.name)))
        raise InputError(
            f"The noise {name} does not enter the equations linearly.",
            because="white noise has no values; only its integral is defined.",
            remedy="a filtered noise as a state: tau * m.der(n) == -n + w, and n in place of w",
        )


def _check_straight(system: System) -> None:
    """Refuse noise that moves states by more than its first power, as through an algebraic variable squared."""
    white = [v for v in system.noises if v.noise is not None and v.noise.is_white]
    positions = [k for v in white for k in system.place(v.name).positions.tolist()]
    if not positions:
        return
    drift = _Drift(system, positions, [1.0] * len(positions))
    # Shares without a relation: what bends along one noise or between two of them is seen.
    if _is_straight(system, drift, np.cos(np.arange(1.0, len(positions) + 1))):
        return
    alone = {v.name: np.isin(positions, system.place(v.name).positions).astype(float) for v in white}
    bent = [name for name, shares in alone.items() if not _is_straight(system, drift, shares)] or [*alone]
    raise InputError(
        f"The noise {listed(bent)} does not act on the states linearly.",
        "it enters its equation linearly, but x' follows a curve of it, as through an algebraic variable",
        because="white noise has no values; only its integral is defined.",
        remedy="a filtered noise as a state: tau * m.der(n) == -n + w, and n in place of w",
    )


def _is_straight(system: System, drift: _Drift, shares: np.ndarray) -> bool:
    return all(drift.is_nothing(*drift.bend(point, shares)) for point in _points(system))


def _check_not_differentiated(system: System, reduced: System) -> None:
    rates = {v.name for v in reduced.of_kind("input")}
    for variable in system.noises:
        if derivative_name(variable.name, 1) in rates:
            raise InputError(
                f"The noise {variable.name} appears in a constraint that is differentiated.",
                f"the reduction of {system.name!r} needs the derivative of {variable.name}",
                because="noise has no derivative.",
                remedy="a filtered noise as a state: tau * m.der(n) == -n + w, and n in place of w",
            )


def _symbols(system: System) -> ca.SX:
    return ca.vertcat(*(_of(system, v.name) for v in system.noises if v.noise is not None and v.noise.is_white))


def _of(system: System, name: str) -> ca.SX:
    return system.symbol("u")[system.place(name).positions.tolist()]


def _ito_noises(system: System) -> tuple[list[int], list[float]]:
    """Where white noises in the sense of Itô are among the inputs, and their densities."""
    positions: list[int] = []
    densities: list[float] = []
    for variable in system.noises:
        law = variable.noise
        if law is not None and law.is_white and law.calculus == "ito":
            positions += system.place(variable.name).positions.tolist()
            densities += law.spread
    return positions, densities


def _is_singular(system: System) -> bool:
    """Whether the equations do not determine x' and z by themselves."""
    solved = ca.vertcat(system.symbol("xdot"), system.symbol("z"))
    slopes = ca.jacobian_sparsity(system.residual, solved)
    return slopes.size1() != slopes.size2() or ca.sprank(slopes) < slopes.size1()


def _is_zero(system: System, drift: _Drift) -> bool:
    """Whether no state is moved by the drift, at points drawn around the start."""
    return all(drift.is_nothing(*drift.at(point)) for point in _points(system))


def noises_commute(system: System) -> bool:
    """Whether the order of two pushes never matters: then a path converges with order one, otherwise with one half.

    For noises that enter x' by g and h it is (∂g/∂x) h = (∂h/∂x) g, looked at where the drift is.
    """
    return once(system, _commute)


def _commute(system: System) -> bool:
    white = [v for v in system.noises if v.noise is not None and v.noise.is_white]
    positions = [k for v in white for k in system.place(v.name).positions.tolist()]
    if len(positions) < 2 or noise_leaves_noise(system):
        return True
    if _is_singular(system):
        system = reduce(system).freeze()
        if _is_singular(system):
            return True
        return _commute(system)
    drift = _Drift(system, positions, [1.0] * len(positions))
    return all(drift.is_nothing(*bracket) for point in _points(system) for bracket in drift.brackets(point))


def noise_leaves_noise(system: System) -> bool:
    """Whether no white noise changes what another one or itself moves; False where this is not known.

    For noises that enter x' by g and h it is (∂g/∂x) h = 0, looked at where the drift is: noise that is added, and
    forces, which move velocities by factors that depend on positions and time.
    """
    return once(system, _leaves_noise)


def _leaves_noise(system: System) -> bool:
    white = [v for v in system.noises if v.noise is not None and v.noise.is_white]
    positions = [k for v in white for k in system.place(v.name).positions.tolist()]
    if not positions:
        return False
    if _is_singular(system):
        system = reduce(system).freeze()
        return not _is_singular(system) and noise_leaves_noise(system)
    drift = _Drift(system, positions, [1.0] * len(positions))
    return all(drift.is_nothing(*drift.left(point)) for point in _points(system))


def events_of_noise(system: System) -> tuple[str, ...]:
    """The events whose guards noise moves directly: a path passes them, and comes back, many times within any step."""
    return once(system, _events_of_noise)


def _events_of_noise(system: System) -> tuple[str, ...]:
    white = [v for v in system.noises if v.noise is not None and v.noise.is_white]
    positions = [k for v in white for k in system.place(v.name).positions.tolist()]
    watched = [k for k, event in enumerate(system.events) if not event.is_clock]
    if not positions or not watched:
        return ()
    if _is_singular(system):
        reduced = reduce(system).freeze()
        return () if _is_singular(reduced) else events_of_noise(reduced)
    drift, guards = _Drift(system, positions, [1.0] * len(positions)), system.guards[watched]
    slopes = ca.Function("slopes", drift.arguments, [ca.jacobian(guards, system.symbol("x"))])
    moved = np.zeros(len(watched), dtype=bool)
    for point in _points(system):
        pushed = drift._pushed(point)
        if pushed is not None:
            by_x = slopes.call(point)[0].full()
            moved |= np.any(
                np.abs(by_x @ pushed[0].T) > NOTHING * (np.abs(by_x) @ system.nominal["x"])[:, None], axis=1
            )
    return tuple(system.events[k].name for k, is_moved in zip(watched, moved) if is_moved)


def _points(system: System) -> list[list[Any]]:
    """Points (t, x', x, z, u, p) around the sizes of the variables."""
    draw, sizes = np.random.default_rng(0), system.nominal
    return [
        [
            draw.uniform(0.1, 1.0),
            *(sizes[letter] * draw.uniform(0.3, 1.3, system.sizes[letter]) for letter in ("x", "x", "z")),
            draw.uniform(0.3, 1.3, system.sizes["u"]),
            draw.uniform(0.3, 1.3, system.sizes["p"]),
        ]
        for _ in range(POINTS)
    ]


class _Drift:
    """The drift of a system whose equations determine x' and z."""

    def __init__(self, system: System, positions: list[int], densities: list[float]) -> None:
        self.system, self.positions, self.densities = system, positions, densities
        self.arguments = system.symbols()
        self.count = system.sizes["x"]
        self.x, self.y = system.symbol("x"), ca.vertcat(system.symbol("xdot"), system.symbol("z"))
        residual = system.residual
        self.by_y = ca.jacobian(residual, self.y)
        self.by_x = ca.jacobian(residual, self.x)
        self.by_w = ca.jacobian(residual, system.symbol("u")[positions])

    def _change(self, moves: ca.SX, noise: int, dx: ca.SX, dy: ca.SX) -> ca.SX:
        """d(F_y y_w + F_w) along (dx, dy), with y_w kept."""
        kept = ca.SX.sym("kept", moves.numel())
        balance = self.by_y @ kept + self.by_w[:, noise]
        change = ca.jtimes(balance, ca.vertcat(self.x, self.y), ca.vertcat(dx, dy))
        return ca.substitute(change, kept, moves)

    def expression(self) -> ca.SX:
        """The drift as a formula."""
        total = ca.SX.zeros(self.count)
        for noise, density in enumerate(self.densities):
            moves = ca.densify(-ca.solve(self.by_y, self.by_w[:, noise]))
            dx = moves[: self.count]
            dy = ca.densify(-ca.solve(self.by_y, self.by_x @ dx))
            total += 0.5 * density * -ca.solve(self.by_y, self._change(moves, noise, dx, dy))[: self.count]
        return ca.densify(total)

    def is_nothing(self, moved: np.ndarray, moves: np.ndarray) -> bool:
        """Whether a change of the states is nothing beside what moves them; NaN is something."""
        return bool(np.all(np.abs(moved) <= NOTHING * (np.abs(moves) + self.system.nominal["x"])))

    @cached_property
    def _first(self) -> ca.Function:
        return ca.Function("first", self.arguments, [self.by_y, self.by_x, self.by_w])

    @cached_property
    def _second(self) -> ca.Function:
        size = self.y.numel()
        moves, dx, dy = (ca.SX.sym(name, n) for name, n in (("moves", size), ("dx", self.count), ("dy", size)))
        changes = [self._change(moves, noise, dx, dy) for noise in range(len(self.densities))]
        return ca.Function("second", [*self.arguments, moves, dx, dy], [ca.horzcat(*changes)])

    def at(self, point: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """The drift at a point, and what the noises move; solved with numbers."""
        weights = np.array(self.densities)
        try:
            moves = self._moves(point)
            own = [self._changed(point, moves, k, push[: self.count]) for k, push in enumerate(moves)]
        except np.linalg.LinAlgError:
            return np.full(self.count, np.nan), np.zeros(self.count)
        return 0.5 * weights @ np.array(own), weights @ np.abs(moves[:, : self.count])

    @cached_property
    def _curved(self) -> ca.Function:
        """The second derivative of the residual by (x', z) and the noises along one direction."""
        w = self.system.symbol("u")[self.positions]
        direction = ca.SX.sym("direction", self.y.numel() + len(self.positions))
        change, both = self.system.residual, ca.vertcat(self.y, w)
        for _ in range(2):
            change = ca.jtimes(change, both, direction)
        return ca.Function("curved", [*self.arguments, direction], [change])

    def bend(self, point: list[Any], shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The second derivative of x' by noises that act together, in shares, and the first one."""
        by_y, _, by_w = (matrix.full() for matrix in self._first.call(point))
        try:
            moves = -np.linalg.solve(by_y, by_w @ shares)
            curved = self._curved.call([*point, np.concatenate([moves, shares])])[0].full().ravel()
            bent = -np.linalg.solve(by_y, curved)
        except np.linalg.LinAlgError:
            return np.zeros(self.count), np.zeros(self.count)
        return bent[: self.count], moves[: self.count]

    def brackets(self, point: list[Any]) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each two noises what their order changes, and what they move."""
        pushed = self._pushed(point)
        if pushed is None:
            return []
        pushes, changes = pushed
        pairs = itertools.combinations(range(len(pushes)), 2)
        return [(changes[i, j] - changes[j, i], np.abs(pushes[i]) + np.abs(pushes[j])) for i, j in pairs]

    def left(self, point: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """How what noises move changes along what all move in some shares, and what they move, each summed up."""
        try:
            moves = self._moves(point)
            along = np.cos(np.arange(1.0, len(moves) + 1)) @ moves[:, : self.count]
            changes = np.array([self._changed(point, moves, k, along) for k in range(len(moves))])
        except np.linalg.LinAlgError:
            return np.full(self.count, np.nan), np.zeros(self.count)
        return np.abs(changes).sum(axis=0), np.abs(moves[:, : self.count]).sum(axis=0)

    def pushes(self, point: list[Any]) -> np.ndarray | None:
        """How the noises move the states, one row each; None where nothing determines it."""
        try:
            return self._moves(point)[:, : self.count]
        except np.linalg.LinAlgError:
            return None

    def _moves(self, point: list[Any]) -> np.ndarray:
        """What every noise moves, one row each."""
        by_y, _, by_w = (matrix.full() for matrix in self._first.call(point))
        return np.asarray(-np.linalg.solve(by_y, by_w).T)

    def _changed(self, point: list[Any], moves: np.ndarray, noise: int, dx: np.ndarray) -> np.ndarray:
        """How what a noise moves changes along a direction of the states."""
        by_y, by_x, _ = (matrix.full() for matrix in self._first.call(point))
        dy = -np.linalg.solve(by_y, by_x @ dx)
        change = self._second.call([*point, moves[noise], dx, dy])[0].full()[:, noise]
        return np.asarray(-np.linalg.solve(by_y, change)[: self.count])

    def _pushed(self, point: list[Any]) -> tuple[np.ndarray, np.ndarray] | None:
        """What every noise moves, and how it changes along what another one moves; None where nothing determines it."""
        try:
            moves = self._moves(point)
            pushes, places = moves[:, : self.count], range(len(moves))
            changes = np.array([[self._changed(point, moves, k, along) for along in pushes] for k in places])
        except np.linalg.LinAlgError:
            return None
        return pushes, changes
