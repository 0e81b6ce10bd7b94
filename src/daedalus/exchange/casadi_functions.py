"""dd.exchange.casadi: the functions of any model as plain CasADi functions, for code that is written with CasADi."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from daedalus.model.expressions import concatenate
from daedalus.model.model import Model, as_system
from daedalus.model.names import counted
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.forms.explicit_form import find_explicit_form
from daedalus.reduction.forms.no_form import NoForm


@dataclass(frozen=True)
class CasadiFunctions:
    """What `dd.exchange.casadi` returns: CasADi functions of a model, and the names of the entries of their vectors.

    residual: F(t, xdot, x, z, u, p), zero along solutions.
    outputs: y(t, xdot, x, z, u, p), the outputs below each other.
    guards, resets: of (t, xdot, x, z, u, p): what passes zero at each event, and the states after it, one row an event.
    rates: (t, x, u, p) -> (xdot, z); None where x' and z have no formulas, as at index 2 and 3.
    labels: the names of the entries of xdot, x, z, u, p and y, and of the rows of F.
    """

    residual: ca.Function
    outputs: ca.Function
    guards: ca.Function
    resets: ca.Function
    rates: ca.Function | None
    labels: dict[str, tuple[str, ...]]

    def __repr__(self) -> str:
        rows = counted(len(self.labels["F"]), "equation")
        rates = "rates" if self.rates is not None else "no rates"
        return f"CasadiFunctions({rows}, {len(self.labels['x'])} x, {len(self.labels['z'])} z, {rates})"


def casadi_functions(model: Model | System) -> CasadiFunctions:
    """The functions of a model as CasADi functions: residual, outputs, guards, resets and, where there are, rates.

    They take symbols (SX and MX) and numbers, and can be differentiated, mapped, and put into other CasADi code.
    `labels` has the order of all vectors. For a model of index 2 or 3, `dd.exchange.casadi(dd.reduce(m))` has rates.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("spring")
    >>> x, v, k = m.state("x", start=1.0), m.state("v", start=0.0), m.parameter("k", 4.0)
    >>> m.equation(m.der(x), v); m.equation(m.der(v), -k * x); m.output("energy", 0.5 * v**2 + 0.5 * k * x**2)
    >>> f = dd.exchange.casadi(m)
    >>> f.labels["x"], f.labels["y"]
    (('x', 'v'), ('energy',))
    >>> f.rates(0, [1, 0], [], 4)[0]
    DM([0, -4])
    >>> symbol = ca.MX.sym("x", 2)
    >>> ca.jacobian(f.rates(0, symbol, [], 4)[0], symbol).shape
    (2, 2)
    """
    system = as_system(model)
    symbols = {letter: system.symbol(letter) for letter in ARGUMENTS}
    whole = [symbols[letter] for letter in ARGUMENTS]
    y = concatenate(system.outputs.values()) if system.output_names else ca.SX(0, 1)
    form = find_explicit_form(system)
    rates = None
    if not isinstance(form, NoForm):
        own = ["t", "x", "u", "p"]
        rates = ca.Function("rates", [symbols[k] for k in own], [form.xdot, form.z], own, ["xdot", "z"])
    outputs = tuple(
        name if value.is_scalar() else f"{name}[{k}]"
        for name, value in system.outputs.items()
        for k in range(value.numel())
    )
    names = list(ARGUMENTS)
    return CasadiFunctions(
        residual=ca.Function("residual", whole, [system.residual], names, ["F"]),
        outputs=ca.Function("outputs", whole, [ca.densify(y)], names, ["y"]),
        guards=ca.Function("guards", whole, [system.guards], names, ["g"]),
        resets=ca.Function("resets", whole, [system.resets], names, ["x_next"]),
        rates=rates,
        labels={**{k: system.labels[k] for k in ARGUMENTS[1:]}, "y": outputs, "F": system.equation_labels},
    )
