"""`dd.lyapunov(m, span, count)`: how fast neighbouring motions part, by the variational equations and QR.

The derivative of the flow is applied to orthonormal directions for a short time, then they are made orthonormal again;
the logarithms of what that takes add up to the exponents (G. Benettin et al., Meccanica 15, 1980; J.-P. Eckmann and D.
Ruelle, Rev. Mod. Phys. 57, 1985).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO, range_of_projector
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted, listed
from daedalus.model.system.system import System
from daedalus.model.time_limit import limits_time
from daedalus.simulation.noise.without_noise import refuse_noise
from daedalus.simulation.run.request import check_options, read_span

# Between two orthonormalisations directions grow or shrink by at most e to this number, and by a fair share of it.
LARGEST_GROWTH, SMALL_GROWTH = 8.0, 1.0
# The first tenth of the span lets the directions turn to where they belong; it is not counted.
SETTLING = 0.1
FIRST_INTERVALS, FEWEST_INTERVALS = 400, 100
SMALLEST = 1e-12


@limits_time
def lyapunov(
    model: Model | System,
    span: float | tuple[float, float],
    count: int = 1,
    start: object = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    **simulate_options: Any,
) -> np.ndarray:
    """The `count` largest Lyapunov exponents along a motion, per unit of time, largest first.

    A positive exponent λ means chaos: neighbouring motions separate like exp(λ t). An autonomous motion that does not
    come to rest has one exponent equal to zero. The first tenth of the span is not counted. In a constrained model,
    only directions along the constraints count. The error only falls like 1/span, so compare two spans.

    Parameters
    ----------
    model: the model. span: the duration; hundreds of periods give about two digits.
    count: the number of exponents, at most the number of free start values.
    start, inputs, parameters: as in `dd.simulate`. simulate_options: rtol, atol, method and others of `dd.simulate`.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("saddle"); x = m.state("x", 2, start=[0.0, 1.0])
    >>> m.equation(m.der(x), [0.5 * x[0], -2.0 * x[1]])
    >>> dd.lyapunov(m, 20.0, 2).round(4).tolist()
    [0.5, -2.0]
    """
    system = as_system(model)
    check_options(simulate_options, "dd.lyapunov")
    refuse_noise(system, "dd.lyapunov", inputs)
    begin, end = read_span(span)
    if not end > begin:
        raise InputError(
            "The span has no positive duration.", f"got {begin:g} to {end:g}", remedy="dd.lyapunov(m, 500.0, 1)"
        )
    if system.of_kind("discrete"):
        raise InputError(
            "Lyapunov exponents are those of motions in states alone.",
            f"{system.name!r} has {listed([v.name for v in system.of_kind('discrete')])}",
            because="directions are carried along the run, and discrete variables have no directions.",
            remedy="dd.periodic for a clocked system; its multipliers show whether neighbouring motions diverge",
        )
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or not 1 <= count <= system.sizes["x"]:
        raise InputError(
            f"{count!r} exponents cannot be computed.",
            f"the model has {counted(system.sizes['x'], 'state')}",
            because="there is one exponent for each free start value.",
            remedy="count=1 for the largest",
        )
    options = {"inputs": inputs, "parameters": parameters, "rtol": 1e-8, "atol": 1e-10, **simulate_options}
    settled = begin + SETTLING * (end - begin)
    interval = (end - begin) / FIRST_INTERVALS
    now, state, frame = begin, start, None
    total, duration = np.zeros(int(count)), 0.0
    while now < end - 1e-9 * (end - begin):
        until = min(now + interval, end)
        if now < settled < until:
            until = settled
        sens = sensitivities(model, (now, until), wrt=("start",), start=state, **options)
        if frame is None:
            frame = _first_frame(np.asarray(sens.projector), int(count), system)
        grown, sizes = np.linalg.qr(sens.M @ frame)
        growth = np.log(np.maximum(np.abs(np.diag(sizes)), NOT_ZERO))
        if np.max(np.abs(growth)) > LARGEST_GROWTH and until - now > SMALLEST * (end - begin):
            interval = (until - now) / 2
            continue
        if now >= settled - 1e-12 * (end - begin):
            total, duration = total + growth, duration + until - now
        state = dict(zip(sens.system.labels["x"], np.asarray(sens.value).ravel().tolist()))
        now, frame = until, grown
        if np.max(np.abs(growth)) < SMALL_GROWTH:
            interval = min(2 * interval, (end - begin) / FEWEST_INTERVALS)
    if duration == 0:
        raise SolverError("The span is too short for exponents.", f"{end - begin:g}", remedy="a longer span")
    return np.sort(total / duration)[::-1]


def _first_frame(projector: np.ndarray, count: int, system: System) -> np.ndarray:
    """Orthonormal directions that obey the constraints, in general position."""
    basis = range_of_projector(projector)
    free = basis.shape[1]
    if count > free:
        raise InputError(
            f"{count} exponents cannot be computed.",
            f"{system.name!r} has {counted(free, 'free start value')}; constraints fix {len(projector) - free} more",
            because="there is one exponent for each free start value.",
            remedy=f"count={free}",
        )
    general = np.random.default_rng(0).standard_normal((free, count))
    frame, _ = np.linalg.qr(basis @ general)
    return frame
