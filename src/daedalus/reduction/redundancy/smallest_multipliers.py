"""The smallest multipliers with the forces of the independent ones, as formulas.

With each row divided by its length and Ĝ_D = C Ĝ_I the forces Ĝ_Iᵀ μ are those of all rows for λ̂ = [I; C] y with
(I + CᵀC) y = μ, and no other multipliers with these forces are smaller (J. García de Jalón, M. D. Gutiérrez-López,
Multibody System Dynamics 30, 2013). C = (Ĝ_I Ĝ_Iᵀ)⁻¹ Ĝ_I Ĝ_Dᵀ, transposed; both solves are sparse LDLᵀ.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from daedalus.model.expressions import concatenate
from daedalus.reduction.redundancy.redundant_rows import DependentRows, IndependentRows


class GroupForms:
    """The shares and lengths of one group of rows that depend on each other, as expressions."""

    def __init__(self, jacobian: ca.SX, group: DependentRows) -> None:
        self.group = group
        rows = (*group.independent, *group.dependent)
        self.lengths = {k: ca.sqrt(ca.sumsqr(jacobian[k, :])) for k in rows}
        first, second = (
            ca.vertcat(*(jacobian[k, :] / self.lengths[k] for k in part))
            for part in (group.independent, group.dependent)
        )
        self._pivots, self.shares = _solved(ca.mtimes(first, first.T), ca.mtimes(first, second.T))
        self.shares = self.shares.T

    def smallest(self, alone: Mapping[int, ca.SX]) -> dict[int, ca.SX]:
        """The smallest multipliers by row, for multipliers of the independent rows alone."""
        own, others = self.group.independent, self.group.dependent
        forces = concatenate(self.lengths[k] * alone[k] for k in own)
        _, inner = _solved(ca.SX.eye(len(own)) + ca.mtimes(self.shares.T, self.shares), forces)
        outer = ca.mtimes(self.shares, inner)
        values = {k: inner[j] / self.lengths[k] for j, k in enumerate(own)}
        values.update({k: outer[j] / self.lengths[k] for j, k in enumerate(others)})
        return {k: ca.densify(value) for k, value in values.items()}

    @property
    def mean_share(self) -> ca.SX:
        """The mean square of the shares: at most about one where the rows are well chosen."""
        return ca.sumsqr(self.shares) / self.shares.numel()

    @property
    def flatness(self) -> ca.SX:
        """The mean of one over the pivots of Ĝ_I Ĝ_Iᵀ: without bound where the chosen rows become dependent."""
        return ca.sum1(1 / ca.densify(self._pivots)) / self._pivots.numel()


def group_forms(jacobian: ca.SX, choice: IndependentRows) -> list[GroupForms]:
    """The forms of every group of a choice with independent rows in it."""
    return [GroupForms(jacobian, group) for group in choice.groups if group.independent]


def smallest_multipliers(
    forms: list[GroupForms], choice: IndependentRows, alone: Mapping[int, ca.SX]
) -> dict[int, ca.SX]:
    """The smallest multipliers by row; rows outside of the groups keep theirs, rows of zeros have none."""
    values = {k: ca.SX(0) for group in choice.groups if not group.independent for k in group.dependent}
    for form in forms:
        values.update(form.smallest(alone))
    return values | {k: symbol for k, symbol in alone.items() if k not in values}


def _solved(matrix: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The pivots and the solution of a symmetric positive definite system, in order of least fill."""
    pivots, factor, order = ca.ldl(ca.sparsify(matrix))
    return pivots, ca.ldl_solve(ca.densify(right), pivots, factor, order)
