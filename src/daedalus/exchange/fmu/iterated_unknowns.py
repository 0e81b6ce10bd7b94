"""x' and z of a model whose equations have no formula for them: unknowns that the runtime solves by Newton's method.

They stand behind the parameters in every function of the FMU, which then has formulas again; dd_residual holds the
equations that determine them. Their derivatives follow by the implicit function theorem.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.exchange.c_code.casadi_c import CFunction, c_function
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm

# The factor of their matrix is dense: the cube of more unknowns is not waited for.
MOST_UNKNOWNS = 400


@dataclass(frozen=True, eq=False)
class IteratedUnknowns:
    """The symbols of x' and z, none where there are formulas; and the equations in them."""

    symbols: ca.SX
    residual: ca.SX

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.symbols.numel())

    def parameters(self, system: System) -> ca.SX:
        """The parameters of a system, and the unknowns behind them."""
        return ca.vertcat(system.symbol("p"), self.symbols)

    def functions(self, own: list[tuple[str, ca.SX]]) -> list[CFunction]:
        """The equations with their slopes, and their derivatives along and back; own: t, x, u, p by letter."""
        if not self.count:
            return []
        F, (at, seeds) = self.residual, _directions(own)
        by_w = ca.densify(ca.jacobian(F, self.symbols))
        weights = ca.SX.sym("wF", self.count)
        back = ca.densify(ca.jtimes(F, at, weights, True))
        ends = np.cumsum([0, *(symbols.numel() for _, symbols in own[1:])]).tolist()
        bars = [(f"{letter}_bar", back[a:b]) for (letter, _), a, b in zip(own[1:], ends, ends[1:])]
        along = ca.densify(ca.jtimes(F, at, ca.vertcat(*(s for _, s in seeds))))
        return [
            c_function("dd_residual", own, [("F", F), ("by_w", by_w)], "the equations of x' and z, and their slopes"),
            c_function("dd_residual_forward", [*own, *seeds], [("F", along)], "how they change along a direction"),
            c_function("dd_residual_adjoint", [*own, ("wF", weights)], bars, "how a weighted sum of them changes"),
        ]


def _directions(own: list[tuple[str, ca.SX]]) -> tuple[ca.SX, list[tuple[str, ca.SX]]]:
    seeds = [(f"s{letter}", ca.SX.sym(f"s{letter}", symbols.numel())) for letter, symbols in own[1:]]
    return ca.vertcat(*(symbols for _, symbols in own[1:])), seeds


NONE = IteratedUnknowns(ca.SX(0, 1), ca.SX(0, 1))


def iterated_unknowns(system: System) -> tuple[ExplicitForm, IteratedUnknowns]:
    """x' and z as unknowns of their own, with the equations for them.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("m"); x = m.state("x", start=1.0); z = m.algebraic("z")
    >>> m.equation(m.der(x), -z); m.equation(z + z**3, x)
    >>> form, unknowns = iterated_unknowns(m.freeze())
    >>> form.z, unknowns.residual
    (SX(w_1), SX([(w_0+w_1), ((w_1+(w_1*sq(w_1)))-x)]))
    """
    n, nz = system.sizes["x"], system.sizes["z"]
    if system.residual.numel() != n + nz or n + nz > MOST_UNKNOWNS:
        raise InputError(
            f"The model {system.name!r} cannot be an FMU yet.",
            f"{system.residual.numel()} equations for {n + nz} derivatives and algebraic variables are solved together",
            because=f"the library inside solves at most {MOST_UNKNOWNS}, as many as there are equations.",
            remedy="dd.exchange.c, which writes the residual; or a smaller model",
        )
    w = ca.SX.sym("w", n + nz)
    old = ca.vertcat(system.symbol("xdot"), system.symbol("z"))
    return ExplicitForm(w[:n, 0], w[n:, 0]), IteratedUnknowns(w, ca.densify(ca.substitute(system.residual, old, w)))
