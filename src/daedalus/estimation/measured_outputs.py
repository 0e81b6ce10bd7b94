"""What an estimator measures, at a state: the outputs below each other, and their derivative by the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import casadi as ca
import numpy as np

from daedalus.compilation import compile_function
from daedalus.differentiation.case import Case
from daedalus.differentiation.variational.chain_rule import expression_of
from daedalus.differentiation.variational.implicit_slopes import ImplicitSlopes
from daedalus.model.expressions import column


class Outputs(Protocol):
    """Outputs of a case at any state and inputs."""

    needs_inputs: bool

    def __call__(self, t: float, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values, and their derivative by x."""


def measured_outputs(case: Case, names: Sequence[str]) -> Outputs:
    """The outputs of a case by formulas where x' and z have some, else by a solve at each state."""
    whole = ca.vertcat(*(column(expression_of(case.system, name)[0]) for name in names))
    return _ByFormulas(case, whole) if case.has_formulas else _BySolve(case, whole)


class _ByFormulas:
    """One compiled function of (t, x, u, p)."""

    def __init__(self, case: Case, outputs: ca.SX) -> None:
        system = case.system
        values = case.form.applied(system, outputs)
        # By rows, as the core reads matrices.
        slopes = ca.vec(ca.densify(ca.jacobian(values, system.symbol("x"))).T)
        arguments = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
        self._function = compile_function(ca.Function("measured", arguments, [values, slopes])).core
        self._p = case.p
        self.needs_inputs = bool(ca.depends_on(values, system.symbol("u")))

    def __call__(self, t: float, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = self._function(np.array([t]), x, u, self._p)
        return values, slopes.reshape(len(values), len(x))


class _BySolve:
    """x' and z are solved for at the state, and the outputs follow by the implicit function theorem."""

    def __init__(self, case: Case, outputs: ca.SX) -> None:
        self._case, self._slopes = case, ImplicitSlopes(case.system, outputs)
        self.needs_inputs = bool(case.system.sizes["u"])

    def __call__(self, t: float, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        held = self._case.drive._replace(constants=np.asarray(u, dtype=float), tables=(), callbacks=())
        row = replace(self._case, drive=held).row_at(t, x)
        values, by_given, _ = self._slopes.at(t, row, u, self._case.p)
        return values, by_given[:, 1 : len(x) + 1]
