"""`dd.periodic(m)`: motions that repeat themselves, by collocation or by multiple shooting.

Smooth motions are found by collocation on a mesh that follows them (see `orbits`). With events and switching, and along
families of orbits, it is multiple shooting: between nodes the run and its derivative by the start come from
`dd.sensitivities`, which carries them through events, switching and constraints; Newton's method makes the pieces meet
(H. B. Keller; J. Stoer and R. Bulirsch, Introduction to Numerical Analysis, section 7.3). The product of the
derivatives is the monodromy matrix, whose eigenvalues are the Floquet multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES, NOT_ZERO, range_of_projector
from daedalus.analysis.points.complete_point import complete_point
from daedalus.analysis.points.operating_point import read_point
from daedalus.differentiation.differentiable_system import assigns, flowing_system
from daedalus.errors import InputError, ModelError, SolverError
from daedalus.initialisation.initialise import initialise
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted
from daedalus.model.system.system import System
from daedalus.model.time_limit import limits_time
from daedalus.model.values import check_mapping
from daedalus.simulation.noise.without_noise import refuse_noise
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.request import check_options
from daedalus.simulation.simulate import simulate
from daedalus.studies.orbits.first_orbit import is_smooth, orbit_problem, sampled, takes_inputs
from daedalus.studies.orbits.one_period import OrbitUnknowns, first_values, run_over, unknowns_of
from daedalus.studies.orbits.orbit_search import solved_orbit
from daedalus.studies.orbits.periodic_orbit import OrbitQuestion, PeriodicOrbit
from daedalus.studies.orbits.return_time import (
    SAME_MOTION,
    beat_of,
    check_states,
    depends_on_time,
    return_beats,
    return_time,
    turns_of,
    unrepeated,
)

# Pieces that are tried one after the other: more of them hold a motion that parts fast.
PIECES, PARTS_FAST = (1, 4, 16), 50.0
MOST_STEPS, SMALLEST_DAMPING = 40, 1 / 64
# Newton's method ends when a correction is at most this share of the sizes of the states, or when the pieces meet as
# closely after a correction that was small already; rounding may keep it above.
CONVERGED, STALLED, NEARLY = 1e-10, 1e-7, 1e-4
# Along a family of orbits, corrections end where the pieces meet as closely as runs are known: this many times rtol.
AS_RUNS = 100
# From so many periods later a driven motion is searched for once more: modes and currents have found their ways then.
SETTLES = 16
# A whole correction is taken where it leaves this part of what the pieces miss.
FALLS = 0.5
# A correction may lead far away, where the motion is so fast that its run would not end: a trial takes at most this
# many times the steps of the first period.
MOST_WORK = 100
# The motion found has to close within this share of the sizes when it is run by itself, in one piece.
CLOSES = 1e-5


@limits_time
def periodic(
    model: Model | System,
    start: Any = None,
    period: float | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    begin: float = 0.0,
    **simulate_options: Any,
) -> PeriodicOrbit:
    """Find a periodic motion near a start, with its period and Floquet multipliers.

    Parameters
    ----------
    model: the model; DAEs of any index, events and switching are allowed.
    start: a point near the orbit: values by name, or `tr.end` of a run that has settled; by default the model's start.
    period: for an autonomous model a guess; by default it is estimated from a run. For a model that depends on time
        (inputs, schedules, time in an equation), the period of the excitation or a multiple of it. If only clocks
        depend on time, a run shows by default after how many ticks the motion repeats.
    inputs, parameters: as in `dd.simulate`. begin: the start time.
    simulate_options: rtol (1e-10), atol (1e-12), method and others of `dd.simulate`.

    Raises a SolverError if Newton's method does not converge, or if the orbit does not close when it is run in one
    piece.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("driven"); x = m.state("x", start=0.0)
    >>> m.equation(m.der(x), -x + ca.cos(2 * m.time))
    >>> orbit = dd.periodic(m, period=3.141592653589793)
    >>> round(float(orbit["x"][0]), 9), orbit.multipliers.real.round(6).tolist()
    (0.2, [0.043214])
    """
    system = as_system(model)
    check_options(simulate_options, "dd.periodic", ("progress", "cancel"))
    inputs, parameters = check_mapping(inputs, "inputs"), check_mapping(parameters, "parameters")
    check_states(system)
    refuse_noise(system, "dd.periodic", inputs)
    driven = depends_on_time(system, inputs)
    options = {"inputs": inputs, "parameters": parameters, "rtol": 1e-10, "atol": 1e-12, **simulate_options}
    if period is None:
        beat = beat_of(system, inputs) if driven else None
        if driven and beat is None:
            raise InputError(
                "A driven model needs a period.",
                f"{system.name!r} depends on time",
                because="its motion repeats itself with the period of what drives it, or a multiple of it.",
                remedy="dd.periodic(m, period=0.02)",
            )
        given = model, start, begin, options
        period, start = return_time(*given) if beat is None else return_beats(*given, beat)
    if not isinstance(period, (int, float, np.number)) or not np.isfinite(period) or period <= 0:
        raise InputError(f"{period!r} is not a period.", because="it is a positive time.", remedy="period=0.02")
    question = OrbitQuestion(model, inputs, parameters, begin, simulate_options)
    orbit = _orbit_near(question, driven, options, start, float(period))
    if driven:
        orbit.notes += unrepeated(system, inputs, parameters, begin, float(period))
    return orbit if driven else _least_period(orbit, options)


def _orbit_near(
    question: OrbitQuestion, driven: bool, options: dict[str, Any], start: Any, period: float
) -> PeriodicOrbit:
    """The orbit near a start and a period: by collocation, by shooting, by shooting from where the motion settles."""
    found = _by_collocation(question, driven, options, start, period)
    if found is not None:
        return found
    try:
        return _by_shooting(question, driven, options, start, period)
    except SolverError:
        if not driven:
            raise
        span = question.begin, question.begin + SETTLES * period
        settled = simulate(question.model, span, start=start, **{**options, "progress": False})
        if not settled.success:
            raise
        return _by_shooting(question, driven, options, settled.end, period)


def _least_period(orbit: PeriodicOrbit, options: dict[str, Any]) -> PeriodicOrbit:
    """An autonomous orbit over its least period.

    A run that settles slowly comes back nearer after two turns than after one where a multiplier is negative, and a
    guess may be a multiple of the period: Newton's method then closes the orbit after several turns. An orbit that
    seems to repeat itself is searched for again over one turn; where that fails, as in slow motion near a homoclinic
    orbit, it stays as it is.
    """
    for turns in turns_of(orbit):
        period = orbit.period / turns
        try:
            once = _orbit_near(orbit.question, False, options, orbit.begun, period)
        except SolverError:
            continue
        if abs(once.period - period) <= SAME_MOTION * period:
            note = f"the motion repeats itself {turns} times in {orbit.period:.6g} s, where it was found"
            return PeriodicOrbit(
                once.trajectory, once.multipliers, False, once.residual, once.iterations, (*once.notes, note),
                once.question, once.begun,
            )  # fmt: skip
    return orbit


def _by_shooting(
    question: OrbitQuestion, driven: bool, options: dict[str, Any], start: Any, period: float
) -> PeriodicOrbit:
    """The orbit near a start, with more pieces where the motion parts fast."""
    for pieces in PIECES:
        search = _Shooting(question, driven, options, pieces)
        try:
            return search.solved(start, period)
        except SolverError:
            if pieces == PIECES[-1] or search.parting < PARTS_FAST:
                raise
    raise AssertionError("the last number of pieces returns or raises")


@dataclass(frozen=True, eq=False)
class _OrbitPiece:
    """A run between two nodes: where it begins, on the constraints, where it ends, its derivative by the start, the
    directions that are free there, and x' in the end."""

    begin: np.ndarray
    end: np.ndarray
    derivative: np.ndarray
    free: np.ndarray
    rate: np.ndarray


@dataclass(frozen=True, eq=False)
class _PhasePlane:
    """The plane that the first node stays in: through a point, across the motion there."""

    point: np.ndarray
    rate: np.ndarray


class _Shooting:
    """Newton's method for the values at the nodes and, of an autonomous model, for the period."""

    def __init__(self, question: OrbitQuestion, driven: bool, options: dict[str, Any], pieces: int) -> None:
        self.question, self.driven, self.options, self.pieces = question, driven, options, pieces
        self.model, self.begin = question.model, question.begin
        # Between its switches such a motion is nearly linear, so that long corrections are right.
        self.switches = driven and not is_smooth(as_system(question.model))
        self.system: System | None = None
        self.unknowns: OrbitUnknowns | None = None
        self.labels: tuple[str, ...] = ()
        self.parting = 0.0  # the largest entry of a derivative so far
        self.family = 0  # directions in which the orbits next to one close too

    def solved(self, start: Any, period: float) -> PeriodicOrbit:
        """The orbit, after the check that it closes."""
        nodes, sizes = self._first_nodes(start, period)
        here, pieces = nodes[0].copy(), self._run(nodes, period)
        phase = _PhasePlane(here, np.zeros(nodes.shape[1]) if self.driven else self._rate(here, self.begin))
        for iteration in range(1, MOST_STEPS + 1):
            # A converter that starts from rest is soon larger than in its first period.
            sizes = np.maximum(sizes, np.abs(nodes).max(axis=0))
            if self.switches and (whole := self._whole(nodes, period, pieces, sizes, phase)) is not None:
                nodes, pieces, length = whole
                if length <= CONVERGED or self._misses(nodes, pieces, sizes) <= CONVERGED:
                    return self._orbit(nodes, period, pieces, sizes, iteration)
                continue
            step, change = self._newton(nodes, period, pieces, sizes, phase)
            if self.family and self._misses(nodes, pieces, sizes) <= AS_RUNS * float(self.options["rtol"]):
                return self._orbit(nodes, period, pieces, sizes, iteration)
            length = float(np.max(np.abs(step / sizes)))
            length = max(length, abs(change) / period)
            if not np.isfinite(length):
                break
            damping, taken = min(1.0, 0.5 / max(length, NOT_ZERO) if abs(change) > 0.5 * period else 1.0), None
            misses = self._misses(nodes, pieces, sizes)
            while damping >= SMALLEST_DAMPING:
                trial, longer = nodes + damping * step, period + damping * change
                try:
                    after = self._run(trial, longer) if longer > 0 else None
                except SolverError:
                    after = None
                if after is not None:
                    trial = np.array([piece.begin for piece in after])
                    if self._misses(trial, after, sizes) <= max(misses, CONVERGED):
                        taken = trial, longer, after
                        break
                damping /= 2
            if taken is None:
                if length <= STALLED:
                    return self._orbit(nodes, period, pieces, sizes, iteration)
                break
            nodes, period, pieces = taken
            if length <= CONVERGED or (self._misses(nodes, pieces, sizes) <= CONVERGED and length <= NEARLY):
                return self._orbit(nodes, period, pieces, sizes, iteration)
        raise SolverError(
            f"No periodic orbit of {as_system(self.model).name!r} was found near the start.",
            f"{counted(iteration, 'iteration')}, {counted(self.pieces, 'piece')}, period {period:.6g} in the end",
            because="Newton's method does not converge from there.",
            remedy="start=tr.end of a run that has settled, and period= near the right one",
        )

    def _whole(
        self, nodes: np.ndarray, period: float, pieces: list[_OrbitPiece], sizes: np.ndarray, phase: _PhasePlane
    ) -> tuple[np.ndarray, list[_OrbitPiece], float] | None:
        """Nodes after a correction without Levenberg's term, and its length, where the pieces meet much better then.

        Motions that settle over many periods, as that of a filter behind a switch, have derivatives near one: the term
        would be larger than what they leave.
        """
        step, _ = self._newton(nodes, period, pieces, sizes, phase, held=0.0)
        if not np.all(np.isfinite(step)):
            return None
        try:
            after = self._run(nodes + step, period)
        except SolverError:
            return None
        trial = np.array([piece.begin for piece in after])
        if self._misses(trial, after, sizes) > max(FALLS * self._misses(nodes, pieces, sizes), CONVERGED):
            return None
        return trial, after, float(np.max(np.abs(step / sizes)))

    # -- runs --------------------------------------------------------------------------------------------------

    def _first_nodes(self, start: Any, period: float) -> tuple[np.ndarray, np.ndarray]:
        options = {**self.options, "progress": False}
        run = simulate(self.model, (self.begin, self.begin + period), start=start, **options)
        last = float(run.time[-1])
        if self.options.get("max_steps") is None:
            self.options = {**self.options, "max_steps": MOST_WORK * max(run.work.steps, MOST_WORK)}
        if self.pieces == 1 and not run.success:
            self.parting = np.inf
            raise SolverError(
                f"The run of {as_system(self.model).name!r} over one period stopped early.",
                f"at t = {last:.6g}",
                because=run.stop_reason,
                remedy="start= nearer to the orbit",
            )
        short = min(period, last - self.begin) / 100
        self.unknowns = unknowns_of(self.model, self.begin, short, start, self.options)
        self.system, self.labels = self.unknowns.system, self.unknowns.labels
        labels = self.labels
        # Where the run does not reach, a node begins where the run began.
        times = self.begin + period * np.arange(self.pieces) / self.pieces
        times = np.where(times < last, times, self.begin)
        nodes = np.array([[float(run.at(float(t))[label]) for label in labels] for t in times])
        nodes[0] = first_values(self.unknowns, self.model, start, run)
        rows = np.array([np.abs(np.asarray(run[label])).max() for label in labels])
        if not run.success:
            rows = np.abs(nodes).max(axis=0)
        sizes = np.maximum(rows, 1e-3 * self.unknowns.sizes)
        return nodes, sizes

    def _run(self, nodes: np.ndarray, period: float) -> list[_OrbitPiece]:
        length = period / self.pieces
        try:
            pieces = [self._piece(node, self.begin + k * length, length) for k, node in enumerate(nodes)]
        except SolverError:
            self.parting = np.inf
            raise
        self.parting = max(self.parting, *(float(np.abs(piece.derivative).max()) for piece in pieces))
        return pieces

    def _piece(self, node: np.ndarray, begin: float, length: float) -> _OrbitPiece:
        start = self._start(node, begin)
        run = run_over(self._unknowns(), self.model, (begin, begin + length), start, self.options)
        free = range_of_projector(run.projector)
        rate = self._rate(run.end, begin + length) if not self.driven else np.zeros(len(self.labels))
        held = np.array([float(start[label]) for label in self.labels])
        return _OrbitPiece(held, run.end, run.by_start, free, rate)

    def _start(self, node: np.ndarray, t: float) -> Mapping[str, Any]:
        """The start at a node; where there are constraints, the nearest one that obeys them."""
        unknowns = self._unknowns()
        return unknowns.consistent(self.model, unknowns.start(node), t, self.options)

    def _rate(self, x: np.ndarray, t: float) -> np.ndarray:
        """x' at a point, from the equations."""
        system = self._known()
        here = {"t": t, **dict(zip(self.labels, x.tolist()))}
        vectors = read_point(system, here, self.options["inputs"], self.options["parameters"])
        return np.asarray(complete_point(system, vectors)[0].vectors["xdot"])[: len(self.labels)]

    def _unknowns(self) -> OrbitUnknowns:
        assert self.unknowns is not None
        return self.unknowns

    def _known(self) -> System:
        assert self.system is not None
        return self.system

    # -- Newton's method ---------------------------------------------------------------------------------------

    def _misses(self, nodes: np.ndarray, pieces: list[_OrbitPiece], sizes: np.ndarray) -> float:
        gaps = [(piece.end - nodes[(k + 1) % self.pieces]) / sizes for k, piece in enumerate(pieces)]
        return float(np.sqrt(np.mean(np.square(gaps))))

    def _newton(
        self, nodes: np.ndarray, period: float, pieces: list[_OrbitPiece], sizes: np.ndarray, phase: _PhasePlane,
        held: float | None = None,
    ) -> tuple[np.ndarray, float]:  # fmt: skip
        """Corrections of the nodes, along their free directions, and of the period."""
        n, count = nodes.shape[1], self.pieces
        first = np.cumsum([0, *(piece.free.shape[1] for piece in pieces)])
        columns = int(first[-1]) + (0 if self.driven else 1)
        matrix, right = np.zeros((n * count + (0 if self.driven else 1), columns)), np.zeros(n * count)
        for k, piece in enumerate(pieces):
            rows, after = slice(n * k, n * (k + 1)), (k + 1) % count
            matrix[rows, first[k] : first[k + 1]] += piece.derivative @ piece.free / sizes[:, None]
            matrix[rows, first[after] : first[after + 1]] -= pieces[after].free / sizes[:, None]
            if not self.driven:
                matrix[rows, -1] = piece.rate / count / sizes
            right[rows] = (nodes[after] - piece.end) / sizes
        if not self.driven:
            # The first node stays in the plane across the motion.
            weight = phase.rate / sizes**2
            weight = weight / max(float(np.linalg.norm(weight * sizes)), NOT_ZERO)
            matrix[-1, : first[1]] = weight @ pieces[0].free
            right = np.append(right, -weight @ (nodes[0] - phase.point))
        # Levenberg and Marquardt's term goes to zero with what the nodes miss: along a family of orbits, such as those
        # of a pendulum without friction, it chooses the nearest one and convergence stays quadratic (N. Yamashita and
        # M. Fukushima, Computing Suppl. 15, 2001).
        weights = [np.linalg.norm(piece.free / sizes[:, None], axis=0) for piece in pieces]
        scale = np.concatenate([*weights, [] if self.driven else [1 / period]])
        term = self._misses(nodes, pieces, sizes) if held is None else held
        left, values, directions = np.linalg.svd(matrix / scale, full_matrices=False)
        shares = left.T @ right
        # Near an orbit of a family, derivatives are too rough to tell how far the next one is: such directions are left
        # out, unless the pieces would miss each other in them.
        near = values <= KNOWN_BY_DIFFERENCES * values.max(initial=NOT_ZERO)
        lost = float(np.linalg.norm(shares[near])) > 0.1 * float(np.linalg.norm(right))
        self.family = 0 if self.driven else int(np.count_nonzero(near))
        weak = near if self.family and (not lost or term <= AS_RUNS * float(self.options["rtol"])) else values <= 0
        factors = np.where(weak, 0.0, values / np.maximum(values**2 + term**2, NOT_ZERO))
        solution = directions.T @ (factors * shares) / scale
        step = np.array([piece.free @ solution[first[k] : first[k + 1]] for k, piece in enumerate(pieces)])
        return step, 0.0 if self.driven else float(solution[-1])

    def _orbit(
        self, nodes: np.ndarray, period: float, pieces: list[_OrbitPiece], sizes: np.ndarray, iterations: int
    ) -> PeriodicOrbit:
        """The orbit by a run in one piece, with the multipliers of all pieces together."""
        product = np.eye(nodes.shape[1])
        for piece in pieces:
            product = piece.derivative @ product
        free = pieces[0].free
        felt = np.any(free.T @ product @ free != 0, axis=0)
        # Memory that is written before it is read has no multiplier.
        felt[: len(felt) - (len(self.labels) - self._unknowns().states)] = True
        multipliers = np.linalg.eigvals((free.T @ product @ free)[np.ix_(felt, felt)]).astype(complex)
        notes = () if self.pieces == 1 else (f"by multiple shooting with {self.pieces} pieces",)
        options = {**self.options, "progress": False}
        begun = self._start(nodes[0], self.begin)
        run = simulate(self.model, (self.begin, self.begin + period), start=begun, **options)
        gap = _gap(run, self.labels, sizes)
        orbit = PeriodicOrbit(run, multipliers, self.driven, gap, iterations, notes, self.question, begun)
        return _checked(orbit, self.labels, sizes)


def _gap(run: Trajectory, labels: tuple[str, ...], sizes: np.ndarray) -> float:
    """How far a run is from where it began, in sizes of the states."""
    ends = np.array([[float(np.asarray(run[label])[k]) for label in labels] for k in (0, -1)])
    return float(np.max(np.abs(ends[1] - ends[0]) / sizes))


def _checked(orbit: PeriodicOrbit, labels: tuple[str, ...], sizes: np.ndarray) -> PeriodicOrbit:
    """The orbit, when its run in one piece closes and moves."""
    run, name = orbit.trajectory, as_system(orbit.question.model).name
    parting = max(1.0, float(np.max(np.abs(orbit.multipliers), initial=0.0)))
    moved = float(np.max([np.ptp(np.asarray(run[label])) / size for label, size in zip(labels, sizes)], initial=0.0))
    _check_discrete(orbit)
    if not run.success or orbit.residual > CLOSES * parting:
        raise SolverError(
            f"The motion found for {name!r} does not close.",
            f"after one period it misses its beginning by {orbit.residual:.2g} of the sizes of its states",
            because="the pieces meet, but the run in one piece does not come back.",
            remedy="smaller rtol= and atol=, or a start nearer to the orbit",
        )
    if not orbit.driven and moved < 1e-6:
        raise SolverError(
            f"{name!r} is at rest there: Newton's method converged to an equilibrium.",
            f"the motion is {moved:.2g} of the sizes of its states",
            because="an equilibrium repeats itself with any period.",
            remedy="start=tr.end of a run that has settled on the orbit",
        )
    return orbit


def _check_discrete(orbit: PeriodicOrbit) -> None:
    for variable in as_system(orbit.question.model).of_kind("discrete"):
        values = np.asarray(orbit.trajectory[variable.name])
        if not np.abs(values[-1] - values[0]).max() <= 1e-6 * np.abs(values).max():
            raise SolverError(
                f"{variable.name} does not come back after one period.",
                f"{values[0]} in the beginning, {values[-1]} in the end",
                because="conditions compare it, so that it is a mode, which keeps its start.",
                remedy=f"start={{{variable.name!r}: ...}} with the value it has on the orbit, as tr.end has it",
            )


def _by_collocation(
    question: OrbitQuestion, driven: bool, options: dict[str, Any], start: Any, period: float
) -> PeriodicOrbit | None:
    """The orbit of a smooth model; None where collocation does not apply or does not find it."""
    written = as_system(question.model)
    if assigns(written) or written.events or not takes_inputs(question.inputs) or not is_smooth(written):
        return None
    try:
        system = flowing_system(question.model)
        if not is_smooth(system) or any(label not in written.labels["x"] for label in system.labels["x"]):
            return None
        span = question.begin, question.begin + period
        run = simulate(question.model, span, start=start, **{**options, "progress": False})
        if not run.success:
            return None
        problem = orbit_problem(system, question.inputs, question.parameters, None, driven, question.begin)
        guess = sampled(problem, run, period, 0.0)
        found = None if guess is None else solved_orbit(problem, guess)
        if found is None:
            return None
        equations, values, iterations = found
        labels, sizes = system.labels["x"], equations.size_x
        begun: Any = dict(zip(labels, values.values.x[0].tolist()))
        if system.constrains_start:
            begun = initialise(
                question.model, begun, free=list(begun), time=question.begin, inputs=question.inputs,
                parameters=question.parameters,
            )  # fmt: skip
        span = question.begin, question.begin + values.period
        run = simulate(question.model, span, start=begun, **{**options, "progress": False})
        notes = (f"by collocation on {equations.intervals} intervals",)
        multipliers = equations.multipliers(values)
        orbit = PeriodicOrbit(run, multipliers, driven, _gap(run, labels, sizes), iterations, notes, question, begun)
        return _checked(orbit, labels, sizes)
    except (SolverError, InputError, ModelError):
        # Multiple shooting tries what collocation cannot, and tells what is wrong.
        return None
