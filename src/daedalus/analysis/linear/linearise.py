"""Linearise a model at a point or along a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from daedalus.algebra.rank_decision import STAYED
from daedalus.analysis.linear.linear_time_varying import LinearTimeVarying
from daedalus.analysis.linear.linearisation import Linearisation, linearised
from daedalus.analysis.points.complete_point import complete_point
from daedalus.analysis.points.jumping_point import refuse_jump
from daedalus.analysis.points.operating_point import OperatingPoint, read_point
from daedalus.analysis.structure.jets.consistent_jet import consistent_jet, jet_start
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import InputError
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system
from daedalus.model.names import did_you_mean, listed, split_index
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping


@overload
def linearise(
    model: Model | System,
    at: object = None,
    *,
    along: None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    modes: Mapping[str, object] | None = None,
) -> Linearisation: ...


@overload
def linearise(model: Model | System, at: None = None, *, along: Any) -> LinearTimeVarying: ...


def linearise(
    model: Model | System,
    at: object = None,
    *,
    along: Any = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    modes: Mapping[str, object] | None = None,
) -> Linearisation | LinearTimeVarying:
    """Linearise a model at a point: E δx' = A δx + B δu, δy = C δx + D δu for small deviations.

    This works for every model, including DAEs of any index. For a DAE, E is singular and the algebraic variables follow
    the states. If a model has no outputs, all states and algebraic variables are outputs.

    Parameters
    ----------
    model: the model to linearise. Its derivatives are compiled at the first call and kept with the model.
    at: the point: values by name of states, algebraic variables, inputs, derivatives ("x_dot") and the time ("t"); or a
        result of `dd.equilibrium`; or `tr.at(t)` of a run. By default, states have their start values, inputs are zero,
        and derivatives and algebraic variables are solved for; so are states without a start value that constraints
        determine.
    along: a run; the result is then a time-varying linear system, see `LinearTimeVarying`.
    inputs: values by name that override those of `at`. Functions of time and tables are evaluated at the time of the
        point.
    parameters: values by name that override those of the model. If you pass inputs or parameters together with an
        equilibrium or a run, its derivatives and algebraic variables are solved for again.
    modes: values of discrete variables by name; the model is linearised in this mode. The default is the value in `at`,
        or else the start value, which `lin.notes` mentions.

    At a point that is not an equilibrium the linearisation is affine: `lin.offset` is not zero, and `lin.warnings` says
    so. `lin.residual` holds the residuals of the equations at the point, and `lin.notes` the assumptions.

    Raises a SolverError if the missing values cannot be solved for, or if equations jump at the point.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum")
    >>> q = m.state("q", start=0.0, rate=0.0); torque = m.input("torque")
    >>> import casadi as ca
    >>> m.equation(m.der(m.der(q)), -9.81 * ca.sin(q) + torque)
    >>> lin = dd.linearise(m)
    >>> lin.A.tolist(), lin.B.tolist(), lin.states
    ([[0.0, 1.0], [-9.81, 0.0]], [[0.0], [1.0]], ('q', 'q_dot'))
    >>> dd.linearise(m, at={"q": 3.141592653589793}).A.round(2).tolist()
    [[0.0, 1.0], [9.81, 0.0]]
    >>> ltv = dd.linearise(m, along=dd.simulate(m, 2.0, start={"q": 0.5}, inputs={"torque": 0.0}))
    >>> ltv.at(0.0).A[1, 0].round(4)
    np.float64(-8.6091)
    >>> room = dd.Model("room")
    >>> T = room.state("T", start=20.0); fan = room.discrete("fan", start=0)
    >>> room.equation(room.der(T), -(0.1 + 0.4 * fan) * (T - 10.0))
    >>> dd.linearise(room, modes={"fan": 1}).A.tolist(), dd.linearise(room).notes
    ([[-0.5]], ('fan = 0, its start value',))
    """
    system = as_system(model)
    refuse_touching(system, "dd.linearise")
    refuse_delays(system, "A linear system of ordinary differential equations")
    if along is not None:
        if at is not None or inputs or parameters or modes:
            raise InputError(
                "linearise takes a point or a run, not both.",
                "along= already contains the values of states, inputs and parameters",
                remedy="dd.linearise(m, along=tr), or dd.linearise(m, at=tr.at(t))",
            )
        return LinearTimeVarying(system, along)
    held, assumed = read_modes(system, at, modes)
    if held:
        parameters = {**(parameters or {}), **held}
    vectors, guess = read_point(system, at, inputs, parameters), None
    if (inputs or parameters) and (isinstance(at, OperatingPoint) or not isinstance(at, Mapping)):
        # With other inputs or parameters the derivatives and algebraic variables of a known point are others, too.
        guess = vectors["z"]
        vectors.update({letter: np.full(system.sizes[letter], np.nan) for letter in ("xdot", "z")})
    followed = follow_missing_states(system, vectors)
    point, notes = complete_point(system, vectors, guess)
    refuse_jump(system, point)
    return linearised(system, point, (*assumed, *followed, *notes))


def follow_missing_states(system: System, vectors: dict[str, np.ndarray]) -> tuple[str, ...]:
    """Solve constraints for states that have no value and no start; what followed, in words.

    vectors: values by letter, NaN where there is none; those of states that follow are put in.
    """
    missing = np.flatnonzero(np.isnan(vectors["x"]) & np.isnan(system.start["x"]))
    if not len(missing):
        return ()
    found, guess = None, np.nan_to_num(system.guessed_start)
    signature = structure_of(system).signature
    if signature.regular and (system.sizes["z"] or signature.c.any()):
        jet = consistent_jet(DerivativeArray(system), jet_start(system, vectors), int(signature.c.max(initial=0)))
        found = jet.y[0, : system.sizes["x"]] if jet.consistent else None
    values = guess if found is None else found
    # What stays at a guess of 0 is told by whoever completes the point.
    told = [k for k in missing if abs(values[k]) > STAYED * system.nominal["x"][k]]
    vectors["x"][told] = values[told]
    moved = [f"{system.labels['x'][k]} = {values[k]:.6g}" for k in told if abs(values[k] - guess[k]) > STAYED]
    return (f"states without a start value follow from the equations: {listed(moved)}",) if moved else ()


def read_modes(
    system: System, at: object, modes: Mapping[str, object] | None
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Values by name of discrete variables that were told, and a sentence for each that has its start value."""
    told = dict(check_mapping(modes, "modes"))
    known = {v.name for v in system.of_kind("discrete")}
    for name in told:
        if split_index(str(name))[0] not in known:
            kinds = f"it has {', '.join(sorted(known)[:8])}" if known else "it has none"
            raise InputError(
                f"{name} is not a discrete variable of {system.name!r}.",
                kinds,
                because="a mode is a set of values of the discrete variables.",
                remedy=did_you_mean(str(name), sorted(known), listed=False)
                or "parameters={...} for what never changes",
            )
    if isinstance(at, OperatingPoint) or (at is not None and not isinstance(at, Mapping)):
        return told, ()
    given = {split_index(str(name))[0] for name in (*told, *(at if isinstance(at, Mapping) else ()))}
    open_ = [v.name for v in system.of_kind("discrete") if v.name not in given]
    return told, tuple(f"{name} = {_text(system, name)}, its start value" for name in open_)


def _text(system: System, name: str) -> str:
    values = system.start["p"][system.place(name).positions]
    return ", ".join(f"{value:g}" for value in values)
