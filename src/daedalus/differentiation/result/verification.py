"""A result checked by other ways: differences over shrinking increments, symmetry, forward against adjoint.

All of them take the steps of the nominal run, so that they differentiate one and the same discrete map: its derivative
agrees with central differences to ε² until rounding (slope 2), and with the adjoint to rounding. The error-controlled
variational equations solve the flow instead and agree to the tolerance, scaled by ‖S‖. Across events steps cannot be
held, and differences run with a tight tolerance instead. Beside all this `dd.simulate` runs the model alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import damped_newton, sizes_of_equations
from daedalus.algebra.rank_decision import NOT_ZERO, SINGULAR
from daedalus.differentiation.case import Case, hybrid_case, nominal_again
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.events.jumping_conditions import jumping_conditions
from daedalus.differentiation.forward_run import differentiate
from daedalus.differentiation.gradient import pulled_back
from daedalus.differentiation.result.differentiated_run import DifferentiatedRun
from daedalus.differentiation.result.independent_run import AT_MOST, compared_with_simulate
from daedalus.differentiation.steps.adjoint import recorded_segments
from daedalus.differentiation.steps.adjoint_in_parts import ForwardPart
from daedalus.differentiation.steps.discrete import nominal_run, nominal_settings, states_again, taken_again
from daedalus.differentiation.steps.frozen_steps import pieces
from daedalus.differentiation.steps.stepwise import by_radau, family_of, stepwise
from daedalus.differentiation.variational.augmented import augmented_of
from daedalus.differentiation.variational.tangent_start import TangentStart
from daedalus.errors import SolverError
from daedalus.integrators.methods import is_implicit
from daedalus.model.expressions import concatenate
from daedalus.simulation.plant.constant_mass import varying_mass

INCREMENTS = 10.0 ** np.arange(-2, -8, -1)
# Differences of first derivatives; a run that grows fast needs the shorter ones.
SECOND_INCREMENTS = (1e-4, 1e-5, 1e-6)
# Differences lose digits to rounding, the adjoint hardly any; chaotic runs amplify rounding, too.
DIFFERENCES, ADJOINT, SYMMETRY = 1e-5, 1e-6, 1e-4
# Errors of the flow against those of the steps, in tolerances.
IN_TOLERANCES = 100.0
# Through events differences are taken of runs with these tolerances, of explicit and of implicit methods.
EXPLICIT_RTOL, IMPLICIT_RTOL = 1e-11, 1e-10
ITERATIONS = 50


@dataclass(frozen=True)
class Check:
    """One comparison: its name, the largest relative difference, what is allowed, and what else there is to say.

    slope: how fast differences approach the derivative, 2 for central ones; None where they are small from the start.
    """

    name: str
    error: float
    allowed: float
    detail: str = ""
    slope: float | None = None
    ran: bool = True

    @property
    def passed(self) -> bool:
        """Whether the check was made and the difference is small enough."""
        return self.ran and bool(self.error <= self.allowed)

    @property
    def verdict(self) -> str:
        """The comparison in words."""
        if not self.ran:
            return f"not made: {self.detail}"
        words = f"{'agrees' if self.passed else 'DIFFERS'}: {self.error:.1e} of {self.allowed:.0e} allowed"
        return f"{words}; {self.detail}" if self.detail else words


@dataclass(frozen=True)
class Verification:
    """What `sens.verify()` returns: `passed`, and one line a check."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check that could be made passed, and at least one could."""
        made = [check for check in self.checks if check.ran]
        return bool(made) and all(check.passed for check in made)

    def __getitem__(self, name: str) -> Check:
        """A check by name."""
        return next(check for check in self.checks if check.name == name)

    def __repr__(self) -> str:
        width = max(len(check.name) for check in self.checks)
        lines = [f"  {check.name.ljust(width)}  {check.verdict}" for check in self.checks]
        return "\n".join([f"Verification: {'passed' if self.passed else 'NOT passed'}", *lines])


def verify(sens: DifferentiatedRun) -> Verification:
    """All checks that fit the result."""
    case, directions = steps_to_verify(_with_corners(sens._parts[0].case)), sens._directions
    chart = StartChart(case, directions, sens._start)
    size = directions.sizes(case.system, case.p)
    try:  # the steps of the nominal run, differentiated
        steps = DifferentiatedRun(*differentiate(case, 1, directions, "discrete"))
    except SolverError as error:
        why = f"the steps cannot be differentiated: {'; '.join(error.facts) or error.what}"
        others = [_not_made(name, why) for name in ("the adjoint", "the steps differentiated")]
        return Verification((_against_differences(sens, chart, None, sens._slopes[0], size), *others))
    S = steps._slopes[0]
    scaled = S * size / case.system.nominal["x"][:, None]
    checks = [_against_differences(sens, chart, steps, S, size)]
    checks.append(_against_adjoint(case, directions, steps, S, size))
    own = sens._slopes[0] * size / case.system.nominal["x"][:, None]
    gap = np.abs(own - scaled).max(initial=0.0) / max(np.abs(scaled).max(initial=0.0), NOT_ZERO)
    rtol = case.settings.call["rtol"]
    allowed = 1e-9 if sens.how == "discrete" else _of_the_flow(rtol, scaled)
    checks.append(Check("the steps differentiated", gap, allowed, _compared(sens, case, gap > allowed)))
    if sens.order == 2:
        checks += _second_order(sens, chart, steps, size)
    return Verification(tuple(checks))


def _not_made(name: str, why: str) -> Check:
    return Check(name, np.nan, np.nan, why, ran=False)


def _compared(sens: DifferentiatedRun, case: Case, differs: bool) -> str:
    """What was compared, and where the steps may differ from the flow for a good reason."""
    told = f"the result is {sens.how}"
    if case.method != sens._case.method:
        told += f" by {sens._case.method}, the steps are those of {case.method}"
    if differs and sens.how != "discrete":
        told += "; steps chosen for the states alone may pass over what a change of the start sets in motion"
    return told


def _with_corners(case: Case) -> Case:
    """The case with a record of where its equations bend: steps that are differentiated end there."""
    request = case.request
    if case.foreseen is not None or request is None or not jumping_conditions(case.system, corners=True):
        return case
    found = hybrid_case(request, case.grid)
    return found if found.method == case.method else found.with_method(case.method, case.settings.reason)


def steps_to_verify(case: Case) -> Case:
    """The case whose steps the result is compared with: its own, or those of Radau where they have no derivative."""
    family = family_of(case)
    if family == "bdf" or (family == "rosenbrock" and case.has_formulas and varying_mass(case.system)):
        case = by_radau(case, f"the steps of {case.method} cannot be differentiated here")
    case = stepwise(case, "sens.verify()")
    # They are followed to the end, stiff or not.
    settings = replace(case.settings, call={**case.settings.call, "watch_stiffness": False})
    return replace(case, settings=settings)


def _of_the_flow(rtol: float, scaled: np.ndarray) -> float:
    """By how much a relative error may differ where the flow and the steps are differentiated."""
    return min(AT_MOST, IN_TOLERANCES * rtol * (1 + float(np.abs(scaled).max(initial=0.0))))


def _directions(sens: DifferentiatedRun, size: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """Random directions, in the sizes of what is varied."""
    draw = np.random.default_rng(seed)
    return [size * draw.standard_normal(len(size)) / np.sqrt(len(size)) for _ in range(count)]


def _against_differences(
    sens: DifferentiatedRun, chart: StartChart, steps: DifferentiatedRun | None, S: np.ndarray, size: np.ndarray
) -> Check:
    """Central differences over shrinking increments, of the steps or, through events and without steps, of runs."""
    nominal_x = sens._case.system.nominal["x"]
    worst, slopes = 0.0, []
    through_events = steps is None or len(steps._parts) > 1 or sens._case.foreseen is not None
    for direction in _directions(sens, size, 3, 7):
        errors = []
        reference = (S @ direction) / nominal_x
        for step in INCREMENTS:
            try:
                ends = [_end(chart.moved(sign * step * direction), steps or sens, through_events) for sign in (1, -1)]
            except SolverError:  # too far away for these steps
                errors.append(np.inf)
                continue
            errors.append(np.abs((ends[0] - ends[1]) / (2 * step) / nominal_x - reference).max())
        if through_events and not np.isfinite(errors).any():
            return _not_made("differences", "runs nearby do not get to the end with a tight tolerance")
        scale = max(np.abs(reference).max(), NOT_ZERO)
        slopes.append(_slope(np.array(errors), scale))
        worst = max(worst, min(errors) / scale)
    found = [slope for slope in slopes if slope is not None]
    slope = float(np.median(found)) if found else None
    detail = "small at every increment" if slope is None else f"slope {slope:.1f}"
    how = "of runs" if steps is None else "through events"
    detail += f"; {how} with a tolerance of {_tolerance(sens._case):.0e}" if through_events else ""
    allowed = 1e-3 if through_events else DIFFERENCES
    alone = compared_with_simulate(sens, sens._slopes[0], size)
    detail += f"; {alone.detail}" if alone.detail else ""
    # Runs of their own are compared in what is allowed them; beyond that the check has failed.
    error = worst if alone.share <= 1 else max(worst, alone.share * allowed)
    return Check("differences", error, allowed, detail, slope)


def _slope(errors: np.ndarray, scale: float) -> float | None:
    """How fast the error falls with the increment, while it does; None where it is small from the beginning."""
    if errors[0] < 1e-6 * scale:
        return None
    above = errors > 30 * max(errors.min(), 1e-11 * scale)
    pairs = [(one, two) for one, two, clear in zip(errors, errors[1:], above[1:]) if clear and np.isfinite(one)]
    falling = [np.log10(one / two) for one, two in pairs or [(errors[0], errors[1])] if 0 < two < one < np.inf]
    return float(falling[-1]) if falling else None


def _end(case: Case, steps: DifferentiatedRun, through_events: bool) -> np.ndarray:
    """The last state of a case, on the steps of the nominal run."""
    if through_events:
        return _last_state(_tight(case))
    row = case.row0 if is_implicit(case.method) else case.x0
    return states_again(case, steps.steps, row)[-1][: len(case.x0)]


def _last_state(case: Case) -> np.ndarray:
    """The last state of a run; behind a terminal event, whose time moves, the motion is prolonged."""
    if case.foreseen is None:
        return np.array(nominal_run(case).x[-1])[: len(case.x0)]
    nominal = case.nominal or nominal_again(case)
    call, wanted = nominal_settings(case).call, case.foreseen.end
    numbers = {name: call[name] for name in ("rtol",) if "step" not in call}
    own = nominal.settings.call
    if numbers:
        numbers["atol"] = own["atol"] * (call["rtol"] / own["rtol"])
    run = nominal.run(case.drive, case.p, (case.t0, case.asked_time), case.row0, {**numbers, "watch_stiffness": False})
    if not run.success:
        raise SolverError("A run nearby stopped early.", run.stop_reason)
    labels, end = case.system.labels["x"], run.end
    late = float(end.time) - wanted
    rates = np.array([float(np.asarray(end[f"{name}_dot"])) if late and name in end else 0.0 for name in labels])
    return np.array([float(np.asarray(end[name])) for name in labels]) - late * rates


def _tolerance(case: Case) -> float:
    return IMPLICIT_RTOL if is_implicit(case.method) else EXPLICIT_RTOL


def _tight(case: Case) -> Case:
    call = nominal_settings(case).call
    if "step" in call:
        return case
    tolerance = min(_tolerance(case), call["rtol"])
    factor = tolerance / call["rtol"]
    tighter = {**call, "rtol": tolerance, "atol": call["atol"] * factor, "watch_stiffness": False}
    settings = replace(nominal_settings(case), call=tighter)
    if not isinstance(case.atol, Mapping):
        case = replace(case, atol=factor * float(case.atol))  # type: ignore[arg-type]
    tight = replace(case, settings=settings)
    tight.__dict__["implicit_settings"] = settings
    return tight


def _against_adjoint(
    case: Case, directions: Directions, steps: DifferentiatedRun, S: np.ndarray, size: np.ndarray
) -> Check:
    """A random combination of the last state, forward and by the adjoint."""
    if steps.steps[-1] != case.asked_time:
        return _not_made("the adjoint", "the run ends at an event")
    draw = np.random.default_rng(11)
    weights = draw.standard_normal(len(S)) / case.system.nominal["x"]
    scalar = ca.dot(ca.DM(weights), case.system.symbol("x"))
    found = pulled_back(*_segments(steps), directions, scalar)
    forward, reverse = weights @ S * size, found._columns * size
    gap = np.abs(forward - reverse).max(initial=0.0) / max(np.abs(weights) @ np.abs(S * size).max(axis=1), NOT_ZERO)
    return Check("the adjoint", float(gap), ADJOINT)


def _segments(steps: DifferentiatedRun) -> tuple[list[ForwardPart], np.ndarray]:
    """The steps as segments, with the states that were differentiated."""
    runs: list[ForwardPart] = []
    for part in steps._parts:
        case, recorded, width = part.case, part.recorded, part.augmented.layout.width
        rows = recorded.y[:, :width]
        if is_implicit(case.method) and case.has_formulas:
            rows = np.stack([case.row_at(float(t), x) for t, x in zip(recorded.t, rows)])
        segments, last = recorded_segments(recorded.t, rows)
        runs.append(ForwardPart(case, segments, part.joint))
    return runs, last


def _second_order(
    sens: DifferentiatedRun, chart: StartChart, steps: DifferentiatedRun, size: np.ndarray
) -> list[Check]:
    """Differences of first derivatives in two directions, against each other and against the second derivatives."""
    a, b = _directions(sens, size, 2, 13)
    nominal_x = sens._case.system.nominal["x"]
    own = np.einsum("ijk,j,k->i", sens._curvatures[0], a, b) / nominal_x
    spread = np.abs(sens._curvatures[0] * size[:, None] * size[None, :]).max(initial=0.0)
    scale = max(np.abs(own).max(), 1e-3 * spread, NOT_ZERO)
    gaps = []
    for step in SECOND_INCREMENTS:
        one, other = (
            (_slopes_at(sens, chart, steps, step * way) - _slopes_at(sens, chart, steps, -step * way))
            @ across
            / (2 * step * nominal_x)
            for way, across in ((a, b), (b, a))
        )
        gaps.append((float(np.abs(one - other).max() / scale), float(np.abs(one - own).max() / scale)))
        if max(gaps[-1]) <= SYMMETRY:
            break
    symmetry, second = min(gaps, key=max)
    rtol = sens._case.settings.call["rtol"]
    scaled = sens._slopes[0] * size / nominal_x[:, None]
    loose = 0.0 if sens.how == "discrete" else _of_the_flow(rtol, scaled)
    return [
        Check("symmetry", symmetry, SYMMETRY, "of differences of first derivatives"),
        Check("second derivatives", second, SYMMETRY + loose, "against differences"),
    ]


def _slopes_at(sens: DifferentiatedRun, chart: StartChart, steps: DifferentiatedRun, change: np.ndarray) -> np.ndarray:
    """S of a moved case, on the steps of the nominal run."""
    near = chart.moved(change)
    x, S = near.x0, chart.slopes(near)
    for part in steps._parts:
        own = part.case
        here = replace(near, system=own.system, settings=own.settings, t0=own.t0, x0=x, guess=own.guess)
        first = augmented_of(here.plant, sens._directions, 1)
        y = first.begin(here, replace(sens._start, S=S, W=np.zeros((len(x), 0))))
        for begin, end in pieces(part.recorded.t):
            if begin < end:
                y = taken_again(here, first, part.recorded.t[begin : end + 1], y).y[-1]
        x, S = y[: len(x)], first.layout.sensitivities(y[None])[0][: first.layout.n]
    return S


# Starts near a start: where consistent values go when what is varied moves by a finite amount.
#
# The start goes along its tangent and is put back onto the constraints in the directions that `tangent_start` found,
# x₀(θ) = x₀ + S₀ θ + B λ with c(t, x₀(θ), u, p) = 0. Its derivative at θ = 0 is S₀.


class StartChart:
    """Cases near a case, as a function of the change θ of all directions."""

    def __init__(self, case: Case, directions: Directions, start: TangentStart) -> None:
        self._case, self._directions, self._start = case, directions, start
        system = case.system
        self._invariants: ca.Function | None = None
        if system.invariants:
            kept = case.form.applied(system, concatenate(system.invariants.values()))
            arguments = system.symbols(("t", "x", "u", "p"))
            v = ca.vertcat(*arguments[1:])
            self._invariants = ca.Function("invariants", arguments, [kept, ca.densify(ca.jacobian(kept, v))])

    def moved(self, change: np.ndarray) -> Case:
        """The case with everything changed by θ, (m,)."""
        case, d = self._case, self._directions
        p = case.p.copy()
        p[list(d.p)] += change[d.columns("p")]
        blocks = change[d.columns("u")].reshape(max(d.intervals, 1), len(d.u))
        du = np.zeros((len(blocks), case.system.sizes["u"]))
        du[:, list(d.u)] = blocks
        near = case.changed(case.x0 + self._start.S @ change, du if d.intervals else du[0], p)
        return near if self._invariants is None else near.changed(self._put_back(near), 0 * du[0], p)

    def _put_back(self, near: Case) -> np.ndarray:
        assert self._invariants is not None
        invariants, along, sizes = self._invariants, self._start.inverse, np.maximum(1.0, np.abs(near.x0))

        def equations(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            x = near.x0 + along @ shares
            left, slopes = (part.full() for part in invariants(near.t0, x, near.u0, near.p))
            slopes = slopes[:, : len(x)]
            return left.ravel(), slopes @ along, sizes_of_equations(slopes, x, sizes)

        count = along.shape[1]
        root = damped_newton(equations, np.zeros(count), np.ones(count), limit=ITERATIONS)
        if not root.solved:
            raise SolverError(
                "A start this far away cannot be put on the constraints.", f"{np.abs(root.residual).max():.2g} off"
            )
        return near.x0 + along @ root.values

    def slopes(self, near: Case) -> np.ndarray:
        """∂x₀/∂θ at a case that `moved` made, (n, m)."""
        S, n = self._start.S, len(near.x0)
        if self._invariants is None:
            return S
        J = self._invariants(near.t0, near.x0, near.u0, near.p)[1].full()
        V = np.concatenate([S, near.given_slopes(self._directions, near.t0)])
        B = self._start.inverse
        return S - B @ (np.linalg.pinv(J[:, :n] @ B, rcond=SINGULAR) @ (J @ V))
