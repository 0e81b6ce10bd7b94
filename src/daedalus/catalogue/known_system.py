"""A model with everything needed to run it and to judge the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daedalus.catalogue.reference import Reference
from daedalus.model.lazy_values import cached_property
from daedalus.model.model import Model
from daedalus.model.names import counted, derivative_name
from daedalus.model.variables import Variable

if TYPE_CHECKING:
    from daedalus.optimisation.optimal_control import OptimalControl

Value = float | np.ndarray
Problem: TypeAlias = "OptimalControl"
Control: TypeAlias = "Callable[[Model], Problem]"
# Into how many intervals known problems of optimal control are cut.
INTERVALS = 60


@dataclass(frozen=True, eq=False)
class KnownSystem:
    """A known system; `catalogue.load(name)` gives it.

    Parameters
    ----------
    model: the equations, with units, parameters and the start values written in; its name is that in the catalogue.
    span: (t0, t1).
    inputs: a value for every input, constant over the span.
    index: the differential index; 0 for an ODE, None where the equations do not determine the motion.
    reference: the values at the end of the span, or None where none is known.
    source: where the equations and numbers come from.
    start: given start values by name; those written in the model unless others are given.
    conserved: outputs that stay constant along every solution with these inputs.
    stiff: whether it is too stiff for explicit methods.
    control: describes the problem of optimal control that is known for it; `k.problem` is that problem.
    optimum: the least cost of the problem.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus import catalogue
    >>> k = catalogue.load("mass_spring")
    >>> k.span, k.start, k.conserved
    ((0.0, 10.0), {'position': 0.1, 'position_dot': 0.0}, ('energy',))
    >>> tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs, rtol=1e-9)
    >>> k.reference.error("position", tr["position"][-1]) < 1e-7
    True
    """

    model: Model
    span: tuple[float, float]
    source: str
    inputs: dict[str, Value] = field(default_factory=dict)
    index: int | None = 0
    reference: Reference | None = None
    start: dict[str, Value] = field(default_factory=dict)
    conserved: tuple[str, ...] = ()
    stiff: bool = False
    control: Control | None = None
    optimum: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", _own(self.start or written_start(self.model)))
        object.__setattr__(self, "inputs", _own(self.inputs))

    @property
    def name(self) -> str:
        """The name in the catalogue."""
        return self.model.name

    @property
    def parameters(self) -> dict[str, Value]:
        """The values of the parameters by name."""
        return {name: _shaped(v, v.start) for name, v in self.model.parameters.items()}

    @cached_property
    def problem(self) -> OptimalControl | None:
        """The problem of optimal control that is known for the system, or None.

        Example
        -------
        >>> from daedalus import catalogue
        >>> k = catalogue.load("double_integrator")
        >>> round(k.problem.solve().objective - k.optimum, 6)
        0.0
        """
        return None if self.control is None else self.control(self.model)

    def copy(self) -> KnownSystem:
        """The same system with a Model of its own."""
        return replace(self, model=self.model.copy())

    def __repr__(self) -> str:
        count = sum(np.size(value) for value in self.start.values())
        answer = "no reference" if self.reference is None else f"{self.reference.digits} digits known"
        t0, t1 = self.span
        return (
            f"KnownSystem({self.name!r}: {counted(count, 'state')}, index {self.index}, t = {t0:g} to {t1:g}, {answer})"
        )


def known_problem(
    duration: float | tuple[float, float, float], **settings: Any
) -> Callable[[Callable[[Problem, Model], None]], Control]:
    """Lets what describes a problem of a model in words of `OptimalControl` be the function that `control=` takes.

    duration: a guess with its bounds where it is free. settings: others that the problem has.
    """

    def made(describe: Callable[[Problem, Model], None]) -> Control:
        @wraps(describe)
        def control(m: Model) -> Problem:
            from daedalus.optimisation.description.unknown import unknown
            from daedalus.optimisation.optimal_control import OptimalControl

            length: Any = unknown(*duration) if isinstance(duration, tuple) else duration
            ocp = OptimalControl(m, duration=length, intervals=INTERVALS, **settings)
            describe(ocp, m)
            return ocp

        return control

    return made


def written_start(model: Model) -> dict[str, Value]:
    """The start values written in a model, by name; a second-order state has one for its rate, too."""
    values = {}
    for v in model.variables.values():
        if v.kind == "state":
            for order, entries in ((0, v.start), (1, v.rate)):
                if entries and None not in entries:
                    values[derivative_name(v.name, order)] = _shaped(v, entries)
    return values


def _shaped(variable: Variable, entries: tuple[float | None, ...]) -> Value:
    """The column-major entries of a variable as a float or an array of its shape."""
    if variable.shape == ():
        return float(entries[0])  # type: ignore[arg-type]
    return np.array(entries, dtype=float).reshape(variable.shape, order="F")


def _own(values: Mapping[str, object]) -> dict[str, Value]:
    """Copies, so that nothing a caller does to them reaches another system."""
    return {name: np.array(value, dtype=float) if np.ndim(value) else float(value) for name, value in values.items()}  # type: ignore[arg-type]
