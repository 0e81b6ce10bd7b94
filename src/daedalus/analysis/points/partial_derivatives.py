"""The partial derivatives of a system's equations and outputs at a point, sparse, compiled once and kept with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled, compile_function
from daedalus.model.expressions import concatenate, plain_shape
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import element_label
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS, LETTERS

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

# Values of t, xdot, x, z, u, p, each a flat vector.
Vectors = Mapping[str, np.ndarray]


class PartialDerivatives:
    """F(t, x', x, z, u, p), the outputs y(t, x', x, z, u, p), and ∂/∂x', ∂/∂x, ∂/∂z, ∂/∂u, ∂/∂p of both.

    Example
    -------
    >>> import daedalus as dd
    >>> from daedalus.analysis.points.partial_derivatives import partial_derivatives
    >>> m = dd.Model("logistic")
    >>> x = m.state("x", start=0.5); r = m.parameter("r", 2.0)
    >>> m.equation(m.der(x), r * x * (1 - x))
    >>> d = partial_derivatives(m.freeze())
    >>> at = {"t": [0.0], "xdot": [0.0], "x": [0.25], "z": [], "u": [], "p": [2.0]}
    >>> value, slopes = d.equations(at)
    >>> float(value[0]), float(slopes["x"][0, 0])
    (-0.375, -1.0)
    """

    def __init__(self, system: System) -> None:
        self._arguments = system.symbols()
        self._system = system
        self._outputs = concatenate(ca.vec(value) for value in system.outputs.values())
        self.output_labels = output_labels(system)

    @cached_property
    def code(self) -> tuple[Compiled, list[ca.Sparsity]]:
        """F and its nonzero slopes as machine code, with the patterns of the slopes."""
        structure = structure_of(self._system)
        return self._compiled("equations", self._system.residual, [structure.slopes(letter) for letter in LETTERS])

    @cached_property
    def _readout(self) -> tuple[Compiled, list[ca.Sparsity]]:
        slopes = [ca.jacobian(self._outputs, symbol) for symbol in self._arguments[1:]]
        return self._compiled("readout", self._outputs, slopes)

    def _compiled(self, name: str, expression: ca.SX, slopes: list[ca.SX]) -> tuple[Compiled, list[ca.Sparsity]]:
        function = ca.Function(name, self._arguments, [ca.densify(expression), *slopes])
        return compile_function(function), [slope.sparsity() for slope in slopes]

    def equations(self, at: Vectors) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """F at a point, and its derivatives by letter as full matrices."""
        return _evaluated(*self.code, at)

    def sparse_equations(self, at: Vectors) -> tuple[np.ndarray, dict[str, csc_matrix]]:
        """F at a point, and its derivatives by letter as sparse matrices."""
        from scipy.sparse import csc_matrix

        function, patterns = self.code
        value, *nonzeros = function(*(at[letter] for letter in ARGUMENTS))
        slopes = {}
        for letter, pattern, entries in zip(LETTERS, patterns, nonzeros):
            slopes[letter] = csc_matrix((entries, pattern.row(), pattern.colind()), shape=pattern.shape)
        return value, slopes

    def equations_many(self, vectors: Sequence[np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """F at k points and its derivatives by letter, (k, rows, columns); vectors: those of `ARGUMENTS`, (k, size)."""
        function, patterns = self.code
        value, *nonzeros = function.core.evaluate_many(*vectors)
        return value, dict(zip(LETTERS, map(full_matrix, patterns, nonzeros)))

    def outputs_many(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        """The outputs at k points, (k, outputs)."""
        found: np.ndarray = self._readout[0].core.evaluate_many(*vectors)[0]
        return found

    def outputs(self, at: Vectors) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The outputs below each other at a point, and their derivatives by letter as full matrices."""
        return _evaluated(*self._readout, at)


def _evaluated(
    function: Compiled, patterns: list[ca.Sparsity], at: Vectors
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    value, *nonzeros = function(*(at[letter] for letter in ARGUMENTS))
    return value, dict(zip(LETTERS, map(full_matrix, patterns, nonzeros)))


def full_matrix(pattern: ca.Sparsity, entries: np.ndarray) -> np.ndarray:
    """Nonzeros, (size,) or (k, size), as full matrices."""
    matrix = np.zeros((*entries.shape[:-1], *pattern.shape))
    rows, columns = pattern.get_triplet()
    matrix[..., rows, columns] = entries
    return matrix


def partial_derivatives(system: System) -> PartialDerivatives:
    """The derivatives of a system, made once and kept with it."""
    return once(system, PartialDerivatives)


def output_labels(system: System) -> tuple[str, ...]:
    """The name of every element of every output, matrices by columns."""
    labels = []
    for name, expression in system.outputs.items():
        labels += [element_label(name, plain_shape(expression), k) for k in range(expression.numel())]
    return tuple(labels)
