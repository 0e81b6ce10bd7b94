"""`dd.singular_limit(m, "epsilon")`: the DAE that a model with a fast part tends to, with the conditions checked.

x' = f(t, x, z, ε), ε z' = g(t, x, z, ε) tends to x' = f, 0 = g at ε = 0 where the fast part is exponentially stable
along the slow solution, uniformly, and the start lies in the basin of its root. Then x(t) → x0(t) on the whole span and
z(t) → z0(t) for t > 0, both as O(ε), z with the boundary layer added from t = 0 on (A. N. Tikhonov, Mat. Sbornik 31,
1952; A. B. Vasil'eva 1963; H. K. Khalil, Nonlinear Systems, 3rd edition, theorem 11.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from daedalus.analysis.linear.linearise import linearise
from daedalus.errors import DaedalusError, InputError, ModelError, SolverError
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.model.values import given_start, parameter_values
from daedalus.reduction.forms.fast_and_slow import FastAndSlow, fast_and_slow
from daedalus.reduction.forms.first_order import to_first_order
from daedalus.reduction.index.given_inputs import with_inputs
from daedalus.reduction.reduce import reduce
from daedalus.reduction.rewriting import ReducedModel, read_model, rewritten, written_out
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.request import read_span
from daedalus.simulation.simulate import simulate
from daedalus.studies.boundary_layer import (
    BESIDE_ATOL,
    BESIDE_RTOL,
    FastPart,
    Layer,
    eigenvalue_text,
    follow_layer,
    is_stable,
    unstable,
)
from daedalus.studies.limit_comparison import LimitComparison, compared

# Without a span the path is this many times as long as the fastest slow time constant.
PATH = 10.0


@dataclass(frozen=True, eq=False)
class SingularLimit:
    """The result of `dd.singular_limit`; `print` shows it in words.

    limit: the ε = 0 DAE, a Model whose fast variables are algebraic and start at the root. fast, slow: names.
    stable: always True, because other models raise an error. margin: the smallest distance of the eigenvalues of ∂g/∂z
    from the
    imaginary axis along the path, found at `weakest`; in the stretched time τ = (t - t0)/ε, so that disturbances die
    out like exp(-margin t/ε). path: the solution of the limit. layer: the fast motion from the start over τ.
    eigenvalues: (samples, fast) those of ∂g/∂z along the path.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("lag"); eps = m.parameter("epsilon")
    >>> x = m.state("x", start=1.0); z = m.state("z", start=0.0)
    >>> m.equation(m.der(x), -z); m.equation(eps * m.der(z), x - z)
    >>> found = dd.singular_limit(m, "epsilon", 2.0)
    >>> found.stable, found.margin, found.limit.equations["equation_2"]
    (True, 1.0, ['-(x - z) = 0'])
    """

    limit: Model
    parameter: str
    fast: tuple[str, ...]
    slow: tuple[str, ...]
    margin: float
    weakest: float
    path: Trajectory
    layer: Trajectory
    eigenvalues: np.ndarray
    _parts: FastAndSlow = field(repr=False)
    stable: bool = True
    inputs: tuple[str, ...] = ()  # built into the limit: it has no such inputs any more

    def compare(self, epsilon: Sequence[float] | None = None) -> LimitComparison:
        """Compare the model with its limit for some values of ε: how large the difference is, and how it falls with ε.

        Parameters
        ----------
        epsilon: decreasing values; by default three small values, each half of the previous one.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("lag"); eps = m.parameter("epsilon")
        >>> x = m.state("x", start=1.0); z = m.state("z", start=0.0)
        >>> m.equation(m.der(x), -z); m.equation(eps * m.der(z), x - z)
        >>> found = dd.singular_limit(m, "epsilon", 2.0).compare([0.02, 0.01])
        >>> bool(found.slow[1] < 0.6 * found.slow[0]), round(float(found.order))
        (True, 1)
        """
        if epsilon is None:
            length = abs(float(self.path.time[-1] - self.path.time[0]))
            epsilon = [share * self.margin * length for share in (4e-3, 2e-3, 1e-3)]
        return compared(self._parts, self.path, self.layer, np.asarray(epsilon, dtype=float))

    def __str__(self) -> str:
        values = self.eigenvalues[int(np.argmin(np.abs(self.path.time - self.weakest)))]
        least = eigenvalue_text(values, float(np.abs(values).max()))
        t0, t1 = self.path.time[0], self.path.time[-1]
        built_in = (
            [f"  built into the limit, which has no such inputs: {', '.join(self.inputs)}"] if self.inputs else []
        )
        return "\n".join(
            [
                f"{self.limit.name} at {self.parameter} = 0: a DAE of index 1 in the place of fast dynamics",
                f"  fast: {', '.join(self.fast[:8])}; slow: {', '.join(self.slow[:8]) or 'none'}",
                f"  the fast part is exponentially stable from t = {t0:g} to {t1:g}: margin {self.margin:.4g} in "
                f"1/{self.parameter}, smallest at t = {self.weakest:.4g}",
                f"  eigenvalues of dg/dz there: {least}",
                f"  the start lies in its basin: at rest after {self.parameter} x {self.layer.time[-1]:.3g}",
                *built_in,
                f"  so solutions tend to those of the limit as O({self.parameter}), the fast ones after the start",
            ]
        )

    __repr__ = __str__


def singular_limit(
    model: Model | System,
    parameter: str,
    span: float | tuple[float, float] | None = None,
    *,
    start: Mapping[str, object] | None = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
) -> SingularLimit:
    """Compute the limit ε → 0 of a model with a small parameter in front of some derivatives (Tikhonov's theorem).

    Parameters
    ----------
    model: a model with the parameter as a factor: `m.equation(epsilon * m.der(z), g)`. Fast variables are those whose
        derivative vanishes with it.
    parameter: the name of the parameter; it needs no value.
    span: the time over which the fast part is checked; by default ten time constants of the slow motion at the start.
    start, inputs, parameters: as in `dd.simulate`; inputs as numbers, functions of time or expressions.

    Raises a ModelError if the fast part is undamped, unstable or singular somewhere (with its eigenvalues and the
    time), or if the model does not have this form. Raises an InconsistentStartError if the start is outside the basin
    of attraction of the fast part.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("motor"); eps = m.parameter("epsilon", 0.01)
    >>> speed = m.state("speed", start=0.0); current = m.state("current", start=0.0)
    >>> m.equation(m.der(speed), current, name="torque")
    >>> m.equation(eps * m.der(current), 1 - speed - 2 * current, name="circuit")
    >>> found = dd.singular_limit(m, "epsilon", 3.0)
    >>> print(found)
    motor at epsilon = 0: a DAE of index 1 in the place of fast dynamics
      fast: current; slow: speed
      the fast part is exponentially stable from t = 0 to 3: margin 2 in 1/epsilon, smallest at t = 0
      eigenvalues of dg/dz there: -2
      the start lies in its basin: at rest after epsilon x 15
      so solutions tend to those of the limit as O(epsilon), the fast ones after the start
    >>> float(dd.simulate(found.limit, 3.0)["current"][0])
    0.5
    """
    book = _with_values(read_model(model, "singular_limit"), parameter, start, inputs, parameters)
    parts = fast_and_slow(book, parameter)
    fast = FastPart(parts)
    t0 = 0.0 if span is None else read_span(span)[0]
    layer = follow_layer(fast, t0, fast.system.default_start)
    end = dict(zip(parts.fast, layer.end[fast.fast].tolist()))
    limit = parts.limit(end)
    t1 = _end_of_path(limit, fast, layer) if span is None else read_span(span)[1]
    if not t1 > t0:
        raise InputError(
            "The span of dd.singular_limit must go forward in time.", f"got {span!r}", remedy="(0.0, 10.0)"
        )
    path = _path(limit, fast, layer, (t0, t1))
    states = np.column_stack([path[label] for label in fast.system.labels["x"]])
    eigenvalues = np.array([fast.eigenvalues(float(t), x) for t, x in zip(path.time, states)])
    size = float(np.nanmax(np.abs(eigenvalues), initial=0.0))
    for t, values in zip(path.time, eigenvalues):
        if not is_stable(values, size):
            raise unstable(fast, values, float(t), size)
    if not path.success:
        raise SolverError(
            "The solution of the limit ends early, so that the fast part cannot be checked to the end.",
            path.stop_reason,
            because="the equations at epsilon = 0 stop determining the fast variables there, or the motion blows up.",
            remedy="a shorter span",
        )
    worst = eigenvalues.real.max(axis=1)
    weakest = int(np.argmax(worst))
    return SingularLimit(
        limit=limit,
        parameter=parameter,
        fast=tuple(parts.names(parts.fast)),
        slow=tuple(parts.names(parts.slow)),
        margin=float(-worst[weakest]),
        weakest=float(path.time[weakest]),
        path=path,
        layer=layer.trajectory,
        eigenvalues=eigenvalues,
        _parts=parts,
        inputs=tuple(inputs or {}),
    )


def _with_values(
    model: Model,
    parameter: str,
    start: Mapping[str, object] | None,
    inputs: Mapping[str, object] | None,
    parameters: Mapping[str, object] | None,
) -> ReducedModel:
    """The model in first order with inputs put in, and with the values of this call as its own."""
    if model.written.events:
        raise ModelError(
            f"dd.singular_limit does not support events: {', '.join(list(model.written.events)[:4])}.",
            because="each event may move the fast variables out of their basin.",
            remedy="singular_limit on a copy of the model without events, for each phase between them",
        )
    book = with_inputs(written_out(model), inputs or {})
    system = book.freeze()
    if book.inputs:
        raise InputError(
            f"The input {next(iter(book.inputs))} has no value.",
            because="the path along which the fast part is checked depends on it.",
            remedy=f'inputs={{"{next(iter(book.inputs))}": 0.0}}',
        )
    x = np.nan_to_num(given_start(system, dict(start or {}))["x"], nan=0.0)
    own = dict(parameters or {})
    if parameter in system.places:
        own.setdefault(parameter, 1.0)
    values = {("p", k): value for k, value in enumerate(parameter_values(system, own))}
    entries = dict(zip(system.entries, x.tolist()))
    variables = {}
    for v in book.written.variables.values():
        if v.kind == "parameter" and v.name != parameter:
            positions = system.places[v.name].positions
            variables[v.name] = replace(v, start=tuple(float(values["p", int(k)]) for k in positions))
        elif v.kind == "state":
            written = [tuple(entries.get((v.name, k, order)) for k in range(v.size)) for order in (0, 1)]
            # An order-0 entry is missing only for a state whose derivative appears nowhere.
            first = tuple(old if new is None else new for old, new in zip(v.start, written[0]))
            variables[v.name] = replace(v, start=first, rate=written[1])
    n = rewritten(book, variables)
    n.written.equations = dict(book.written.equations)
    return to_first_order(n)


def _start_of(labels: Sequence[str], fast: FastPart, layer: Layer) -> dict[str, float]:
    """Start values of the limit by name: slow ones as given, fast ones at rest, algebraic ones as they follow."""
    values = dict(zip(fast.system.labels["x"], layer.end.tolist()))
    values.update(zip(fast.system.labels["z"], fast.at(layer.time, layer.end)[2].tolist()))
    return {name: value for name, value in values.items() if name in labels}


def _end_of_path(limit: Model, fast: FastPart, layer: Layer) -> float:
    """Some time constants of the slow motion after the start; 1 where nothing moves."""
    system = limit.freeze()
    at = _start_of([*system.labels["x"], *system.labels["z"]], fast, layer)
    try:
        rate = float(np.abs(linearise(limit, at=at).poles()).max(initial=0.0))
    except DaedalusError:  # a point at which the linearisation has no poles
        rate = 0.0
    return PATH / rate if np.isfinite(rate) and rate > 0 else 1.0


def _path(limit: Model, fast: FastPart, layer: Layer, span: tuple[float, float]) -> Trajectory:
    """The solution of the limit; its algebraic variables are followed by their derivatives and kept on 0 = g."""
    ode = reduce(limit, index=0)
    labels = ode.freeze().labels["x"]
    return simulate(ode, span, _start_of(labels, fast, layer), rtol=BESIDE_RTOL, atol=BESIDE_ATOL)
