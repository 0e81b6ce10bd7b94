"""The arguments of `solve_ivp`, checked as SciPy checks them and turned into what the core takes."""

from __future__ import annotations

import inspect
import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.algebra.rank_decision import EPSILON
from daedalus.errors import InputError
from daedalus.integrators.methods import METHODS, OF_SCIPY, choose_method, is_implicit, takes_momenta
from daedalus.scipy_calls.ivp_errors import IvpTypeError, IvpValueError
from daedalus.simulation.run.settings import SMALLEST

if TYPE_CHECKING:
    from daedalus.integrators.tableaux.tableau import Tableau

# SciPy's methods by the names they have here; implicit ones run in SciPy where that name or a formula is missing.
EXPLICIT = {name: OF_SCIPY[name] for name in ("RK45", "RK23", "DOP853")}
IMPLICIT = {"Radau": OF_SCIPY["Radau"], "BDF": OF_SCIPY["BDF"], "LSODA": "bdf"}
# What an implicit method takes in SciPy and an exact Jacobian makes superfluous.
ABOUT_JACOBIANS = ("jac", "jac_sparsity", "lband", "uband", "min_step")
# Below this, rounding is larger than the tolerance (SciPy's bound, 100 machine epsilons).
_SMALLEST_RTOL = 100 * EPSILON


@dataclass(frozen=True)
class Problem:
    """What to solve: the span, the start values, the times wanted and the further arguments of the function."""

    span: tuple[float, float]
    y0: np.ndarray
    t_eval: np.ndarray | None
    args: tuple[Any, ...]

    @property
    def start(self) -> tuple[float, np.ndarray]:
        """Time and values at the start."""
        return self.span[0], self.y0


def read_problem(fun: Any, t_span: Any, y0: Any, t_eval: Any, args: Any) -> Problem:
    """The arguments that say what to solve."""
    if not callable(fun):
        raise IvpTypeError(
            "`fun` is not a function.", f"got {type(fun).__name__}", remedy="solve_ivp(lambda t, y: -y, (0, 1), [1.0])"
        )
    try:
        t0, t1 = map(float, t_span)
    except (TypeError, ValueError) as error:
        raise IvpValueError("`t_span` must be two numbers.", f"got {t_span!r}", remedy="t_span=(0, 10)") from error
    if math.isnan(t0) or math.isnan(t1) or math.isinf(t0):
        raise IvpValueError("`t_span` must be two numbers.", f"got ({t0}, {t1})", remedy="t_span=(0, 10)")
    start = np.asarray(y0)
    if start.dtype.kind != "c":
        start = start.astype(float)
    if start.ndim != 1:
        raise IvpValueError(
            "`y0` must be 1-dimensional.",
            f"got shape {start.shape}",
            remedy="y0=[1.0] for one unknown" if start.ndim == 0 else "y0.ravel(), and reshape inside fun",
        )
    if not np.isfinite(start).all():
        bad = np.flatnonzero(~np.isfinite(start))
        raise IvpValueError(
            "All components of the initial state `y0` must be finite.",
            ", ".join(f"y0[{i}] = {start[i]}" for i in bad[:6]),
            remedy="numbers for these components",
        )
    try:
        extra = () if args is None else tuple(args)
    except TypeError as error:
        raise IvpTypeError(
            "Supplied 'args' cannot be unpacked.", f"got {args!r}", remedy=f"`args` as a tuple: args=({args!r},)"
        ) from error
    return Problem((t0, t1), start, _read_times(t_eval, t0, t1), extra)


def _read_times(t_eval: Any, t0: float, t1: float) -> np.ndarray | None:
    if t_eval is None:
        return None
    times = np.asarray(t_eval, dtype=float)
    if times.ndim != 1:
        raise IvpValueError("`t_eval` must be 1-dimensional.", f"got shape {times.shape}", remedy="t_eval.ravel()")
    outside = times[~((times >= min(t0, t1)) & (times <= max(t0, t1)))]
    if outside.size:
        raise IvpValueError(
            "Values in `t_eval` are not within `t_span`.",
            f"t = {outside[0]:.17g} lies outside {t0:.17g} … {t1:.17g}",
            remedy="np.linspace(*t_span, 100)",
        )
    order = np.diff(times) * (1.0 if t1 >= t0 else -1.0)
    if t1 != t0 and np.any(order <= 0):
        k = int(np.argmax(order <= 0))
        raise IvpValueError(
            "Values in `t_eval` are not properly sorted.",
            f"t_eval[{k}] = {times[k]:g} is followed by {times[k + 1]:g} in a run from {t0:g} to {t1:g}",
            remedy="np.unique(t_eval)" + ("" if t1 > t0 else "[::-1]"),
        )
    return times


@dataclass(frozen=True)
class IvpSettings:
    """How to solve it: the method as the core takes it, tolerances and steps."""

    name: str
    method: str | Tableau  # as a road takes it: a name of ours or a tableau
    core: Any  # as the core takes it; None where it is not known yet who runs it
    rtol: float
    atol: np.ndarray
    step: float | None
    first_step: float | None
    max_step: float | None

    @property
    def limits(self) -> dict[str, float]:
        """Those of the steps that were given."""
        named = {"step": self.step, "first_step": self.first_step, "max_step": self.max_step}
        return {name: value for name, value in named.items() if value is not None}


def read_settings(method: Any, problem: Problem, options: dict[str, Any]) -> IvpSettings:
    """The method and the options, with SciPy's defaults and SciPy's rules for each."""
    rest = dict(options)
    rtol, atol = rest.pop("rtol", 1e-3), np.asarray(rest.pop("atol", 1e-6), dtype=float)
    step, first_step, max_step = rest.pop("step", None), rest.pop("first_step", None), rest.pop("max_step", np.inf)
    if rtol < _SMALLEST_RTOL:
        warnings.warn(f"`rtol` is too small. Setting `rtol = {_SMALLEST_RTOL}`.", stacklevel=4)
        rtol = _SMALLEST_RTOL
    n, length = problem.y0.size, abs(problem.span[1] - problem.span[0])
    if atol.ndim > 0 and atol.shape != (n,):
        raise IvpValueError(
            "`atol` has wrong shape.", f"shape {atol.shape} for {n} unknowns", remedy=f"one number, or {n} of them"
        )
    if not (atol >= 0).all():
        raise IvpValueError("`atol` must be positive.", f"got {atol}", remedy="atol=1e-6")
    _check_steps(step, first_step, max_step, length)
    if isinstance(method, str) and method in IMPLICIT:
        return IvpSettings(method, method, None, rtol, atol, step, first_step, max_step)
    if is_implicit(method):
        rest = {name: value for name, value in rest.items() if name not in ABOUT_JACOBIANS}
    if rest:
        names = ", ".join(f"`{name}`" for name in rest)
        warnings.warn(f"The following arguments have no effect for a chosen solver: {names}.", stacklevel=4)
    asked = EXPLICIT.get(method, method) if isinstance(method, str) else method
    name, core = _core_method(method, asked, rtol, step)
    largest = None if math.isinf(max_step) else float(max_step)
    given, taken = np.maximum(np.full(n, atol), SMALLEST), name if asked == "auto" else asked
    return IvpSettings(name, taken, core, float(rtol), given, step, first_step, largest)


def _check_steps(step: float | None, first_step: float | None, max_step: float, length: float) -> None:
    for name, value in (("step", step), ("first_step", first_step), ("max_step", max_step)):
        if value is not None and not value > 0:
            raise IvpValueError(f"`{name}` must be positive.", f"got {value}", remedy=f"leave {name} out")
    if first_step is not None and first_step > length:
        raise IvpValueError(
            "`first_step` exceeds bounds.",
            f"first_step = {first_step:g} in a span of length {length:g}",
            remedy="a first step inside the span, or none",
        )


def _core_method(method: Any, asked: Any, rtol: float, step: float | None) -> tuple[str, Any]:
    """The method, by SciPy's name, by ours, or as a tableau, as the core takes it; `asked` is the same in our names."""
    if takes_momenta(asked):
        raise IvpValueError(
            f"The method {asked!r} does not take a function y' = f(t, y).",
            because="it needs the kinetic energy, the forces and the constraints of a mechanical model apart.",
            remedy="dd.simulate(m, ...) with a model of m.coordinate(...) and m.kinetic_energy(...)",
        )
    try:
        choice = choose_method(asked, rtol, step)
    except InputError as error:
        if isinstance(method, str) and asked not in METHODS:
            names = ", ".join([*EXPLICIT, *IMPLICIT, "auto", *METHODS])
            raise IvpValueError(
                f"There is no method {method!r}.", f"`method` must be one of {names}, a Tableau or an OdeSolver class"
            ) from error
        raise IvpValueError(error.what, error.facts, error.because, error.remedy) from error
    return choice.name, choice.core


def why_scipy(method: Any, problem: Problem, options: dict[str, Any]) -> str:
    """Why the whole call is SciPy's, with the function as it is; empty when it is ours."""
    if inspect.isclass(method):
        return f"handed to SciPy: {method.__name__} is a solver class of its own"
    if np.iscomplexobj(problem.y0):
        return "handed to SciPy: y0 is complex"
    if problem.y0.size == 0:
        return "handed to SciPy: there are no unknowns"
    if np.ndim(options.get("rtol", 0.0)) > 0:
        return "handed to SciPy: rtol has one value for each component"
    return ""
