"""Differences on a grid: Laplacians, gradients, transport and convolutions of fields that stay arrays.

A field has one value per cell, at the cell's centre: `m.state("u", 100)` in one dimension, `m.state("u", (64, 48))` in
two, `m.state("u", (24, 24, 16))` in three. The first axis of the array is the first axis of space. Values beyond the
edge follow from the boundary condition:

    "periodic"            the field goes on at the other end
    "neumann"             no flow through the edge: the value beyond it equals the one before it
    ("neumann", slope)    the outward derivative at the edge
    ("dirichlet", value)  the value on the face of the edge cells, so that the mean across the face is that value

Every function takes CasADi symbols and NumPy arrays. Give one condition for all edges, a list with one per axis, or, in
that list, a pair (low end, high end). Spacings `h` are one number, or one per axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.errors import InputError
from daedalus.model.expressions import array_of

_KINDS = ("periodic", "neumann", "dirichlet")
_EXAMPLE = 'dd.laplacian(u, 0.1, boundary="periodic"), or ("dirichlet", 0.0), or ["periodic", ("neumann", 0.0)]'


def laplacian(u: Any, h: Any, boundary: Any = "periodic") -> Any:
    """The sum of second differences of a field along its axes, of second order in h.

        (u[i - 1] - 2 u[i] + u[i + 1]) / h²   along every axis

    Parameters
    ----------
    u: the field, one to three axes; symbols or numbers.
    h: distance of cell centres, one number or one per axis.
    boundary: "periodic", "neumann" (no flow), ("neumann", outward slope) or ("dirichlet", value on the faces); a list
        has one per axis,
        and a pair in it one per end. Values may be symbols or, for more axes, one per edge cell.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> m = dd.Model("heat")
    >>> u = m.state("u", (16, 8), start=np.ones((16, 8)))
    >>> m.equation(m.der(u), dd.laplacian(u, 1 / 16, boundary=("dirichlet", 0.0)))
    >>> tr = dd.simulate(m, 0.1)
    >>> tr["u"].shape[1:], bool(tr["u"][-1].max() < 0.1)
    ((16, 8), True)
    """
    field = _field(u, "laplacian")
    total = 0
    for axis, spacing, ends in _along_axes(field, h, boundary):
        before, after = _shifted(field, axis, spacing, ends)
        total = total + (before - 2 * field + after) / spacing**2
    return _like(total, u)


def gradient_of(u: Any, h: Any, boundary: Any = None) -> Any:
    """Central differences of a field along each axis: one array for one axis, a tuple for more.

        (u[i + 1] - u[i - 1]) / (2 h)

    Parameters
    ----------
    u, h: as in `dd.laplacian`.
    boundary: as in `dd.laplacian`; without one the edges have one-sided differences of second order, exact for
        parabolas.

    Example
    -------
    >>> import daedalus as dd, numpy as np
    >>> x = np.linspace(0.0, 1.0, 11)
    >>> bool(np.allclose(dd.gradient_of(x**2, 0.1), 2 * x))
    True
    """
    field = _field(u, "gradient_of")
    slopes = []
    for axis, spacing, ends in _along_axes(field, h, "neumann" if boundary is None else boundary):
        if boundary is None:
            slopes.append(_like(_one_sided(field, axis, spacing), u))
        else:
            before, after = _shifted(field, axis, spacing, ends)
            slopes.append(_like((after - before) / (2 * spacing), u))
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def upwind(u: Any, velocity: Any, h: Any, boundary: Any = "periodic") -> Any:
    """velocity · grad u with the difference taken against the flow, of first order in h.

        v (u[i] - u[i - 1]) / h where v > 0, v (u[i + 1] - u[i]) / h where v < 0

    Transport is then free of oscillations and somewhat smeared. The formula has a corner where a velocity changes its
    sign, which needs no event: it is continuous.

    Parameters
    ----------
    u, h, boundary: as in `dd.laplacian`.
    velocity: of each cell, a number or an array like u; for more axes a sequence with one of these per axis. It may
        depend on u.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("Burgers")
    >>> u = m.state("u", 4, start=[1.0, 2.0, 1.0, 0.0])
    >>> m.equation(m.der(u), -dd.upwind(u, u, h=0.25))
    >>> bool(abs(dd.simulate(m, 0.05)["u"][-1].sum() - 4.0) < 0.5)
    True
    """
    field = _field(u, "upwind")
    axes = list(_along_axes(field, h, boundary))
    total = 0
    for (axis, spacing, ends), speed in zip(axes, _velocities(velocity, field, len(axes))):
        before, after = _shifted(field, axis, spacing, ends)
        # (1 + sign v) / 2 of the backward difference, the rest of the forward one. v times a sign bends and does not
        # jump: no cell needs a switch, which `sign` or `copysign` would be. The root of v² is |v| to the last bit.
        square = speed**2 + NOT_ZERO
        size = (
            square.sqrt() if isinstance(square, Cells) else ca.sqrt(square) if _is_symbolic(square) else np.sqrt(square)
        )
        backward = 0.5 * (1 + speed / size)
        total = total + speed * (backward * (field - before) + (1 - backward) * (after - field)) / spacing
    return _like(total, u)


def convolve(u: Any, kernel: Any, boundary: Any = "periodic") -> Any:
    """The field weighted with a kernel around every cell; the result has the shape of the field.

        (k * u)[i] = sum over j of k[j] u[i + c - j],  c the middle of the kernel

    Parameters
    ----------
    u: the field, one to three axes.
    kernel: numbers with as many axes as the field and an odd length along each, no longer than the field.
    boundary: "periodic", or the value beyond the edges (0.0 as in SciPy's mode "same").

    Example
    -------
    >>> import daedalus as dd
    >>> dd.convolve([0.0, 4.0, 0.0, 0.0], [0.25, 0.5, 0.25]).tolist()
    [1.0, 2.0, 1.0, 0.0]
    """
    field = _field(u, "convolve")
    weights = np.asarray(kernel, dtype=float)
    weights = weights.reshape((field.shape[0] > 1 and (-1, 1)) or (1, -1)) if weights.ndim == 1 else weights
    fits = weights.ndim == len(field.shape) and all(k % 2 == 1 and k <= n for k, n in zip(weights.shape, field.shape))
    if not fits or not np.isfinite(weights).all():
        raise InputError(
            "The kernel of a convolution does not fit the field.",
            f"the field has shape {field.shape}, the kernel {np.shape(kernel)}",
            because="it has finite numbers, an odd length along each axis, and is no longer than the field.",
            remedy="dd.convolve(u, [0.25, 0.5, 0.25])",
        )
    if boundary != "periodic" and (isinstance(boundary, str) or not np.isscalar(boundary)):
        raise _unknown_boundary(boundary, 'dd.convolve(u, kernel, "periodic") or dd.convolve(u, kernel, 0.0)')
    total = 0 * field
    middle = [k // 2 for k in weights.shape]
    for place, weight in np.ndenumerate(weights):
        if weight != 0:
            moved = field
            for axis, k in enumerate(place):
                moved = _rolled(moved, axis, k - middle[axis], boundary)
            total = total + weight * moved
    return _like(total, u)


def matrix_product(matrix: Any, u: Any) -> Any:
    """A matrix times a field or a column of symbols; only the nonzeros of a sparse matrix enter the formulas.

        (A u)[i] = sum over the nonzeros j of row i of A[i, j] u[j]

    For a SciPy matrix, `A @ u` is the same.

    Parameters
    ----------
    matrix: a SciPy sparse matrix or array, a NumPy array, or a CasADi matrix of numbers, of shape (m, n).
    u: n numbers or symbols; a field with two axes of n rows is multiplied column by column.

    Example
    -------
    >>> import daedalus as dd, scipy.sparse as sp
    >>> A = sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(5, 5))
    >>> m = dd.Model("rod"); u = m.state("u", 5, start=1.0)
    >>> m.equation(m.der(u), dd.matrix_product(A, u))
    >>> m.equations["equation_1"][1]
    'u_dot[1] - (u[0] - 2*u[1] + u[2]) = 0'
    """
    field = _field(u, "matrix_product", least=1, most=2)
    numbers: Any = matrix
    if hasattr(matrix, "tocsc"):
        columns = matrix.tocsc()
        columns.sort_indices()
        rows, width = columns.shape
        pattern = ca.Sparsity(rows, width, columns.indptr.tolist(), columns.indices.tolist())
        numbers = ca.DM(pattern, columns.data.astype(float))
    elif not isinstance(matrix, ca.DM):
        full = np.asarray(matrix, dtype=float)
        numbers = ca.DM(full) if full.ndim == 2 else ca.DM(0, 0)
    turned = field.T if field.shape[0] == 1 and numbers.shape[1] == field.shape[1] else field
    if numbers.shape[1] != turned.shape[0]:
        raise InputError(
            "The matrix does not fit the field.",
            f"the matrix has shape {np.shape(matrix)}, the field {field.shape}",
            because="a product needs as many columns as the field has rows.",
            remedy="dd.matrix_product(A, u) with A of shape (m, n) and u of n entries",
        )
    if not _is_symbolic(u):
        product = numbers.full() @ np.asarray(turned, dtype=float) if not hasattr(matrix, "tocsc") else matrix @ turned
        return np.asarray(product).reshape(-1) if np.ndim(u) == 1 else np.asarray(product)
    return ca.densify(ca.mtimes(numbers, turned))


class Cells:
    """The cells of a field with three axes: a column in the order of its first axis, and its shape.

    Differences take as few operations on it as on matrices.

    Example
    -------
    >>> import casadi as ca, numpy as np
    >>> cells = Cells.of(np.arange(8.0).reshape(2, 2, 2))
    >>> (cells[:, :, 1:] - 2 * cells[:, :, :1]).array().tolist()
    [[[SX(1)], [SX(-1)]], [[SX(-3)], [SX(-5)]]]
    """

    # NumPy leaves operations with its numbers to this class.
    __array_ufunc__ = None

    def __init__(self, flat: ca.SX, shape: tuple[int, ...]) -> None:
        self.flat, self.shape = flat, shape

    @staticmethod
    def of(array: Any) -> Cells:
        """The cells of an array of symbols or numbers."""
        values = np.asarray(array).ravel(order="F").tolist()
        return Cells(ca.SX(ca.vertcat(*values)), np.shape(array))

    @staticmethod
    def joined(axis: int, parts: Sequence[Cells]) -> Cells:
        """Several ones behind each other along an axis."""
        first = np.cumsum([0, *(part.flat.numel() for part in parts)])
        places = [part.places() + begin for part, begin in zip(parts, first)]
        order = np.concatenate(places, axis=axis)
        return Cells(ca.vertcat(*(part.flat for part in parts))[order.ravel(order="F").tolist()], order.shape)

    def places(self) -> np.ndarray:
        """The place of every cell in the column."""
        return np.arange(self.flat.numel()).reshape(self.shape, order="F")

    def array(self) -> np.ndarray:
        """The array of symbols."""
        return array_of(self.flat, self.shape)

    def __getitem__(self, key: Any) -> Cells:
        part = self.places()[key]
        return Cells(self.flat[part.ravel(order="F").tolist()], part.shape)

    def _with(self, operation: Callable[[Any, Any], Any], other: Any) -> Cells:
        return Cells(operation(self.flat, other.flat if isinstance(other, Cells) else other), self.shape)

    def __add__(self, other: Any) -> Cells:
        return self._with(lambda a, b: a + b, other)

    def __sub__(self, other: Any) -> Cells:
        return self._with(lambda a, b: a - b, other)

    def __rsub__(self, other: Any) -> Cells:
        return self._with(lambda a, b: b - a, other)

    def __mul__(self, other: Any) -> Cells:
        return self._with(lambda a, b: a * b, other)

    def __truediv__(self, other: Any) -> Cells:
        return self._with(lambda a, b: a / b, other)

    def __pow__(self, other: Any) -> Cells:
        return self._with(lambda a, b: a**b, other)

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Cells:
        """The roots."""
        return Cells(ca.sqrt(self.flat), self.shape)


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, (ca.SX, ca.MX, ca.DM, Cells))


def _field(u: Any, verb: str, least: int = 2, most: int = 3) -> Any:
    """A matrix of one or two axes, or cells of three; `least`: how many cells it needs."""
    if _is_symbolic(u):
        field = u
    else:
        field = np.atleast_1d(np.asarray(u))
        if field.dtype == object and field.ndim == 3:
            field = Cells.of(field)
        elif field.dtype == object:
            field = ca.SX(ca.blockcat(np.atleast_2d(field.T).T.tolist()))
        elif field.ndim == 1:
            field = field[:, None]
        field = field.astype(float) if isinstance(field, np.ndarray) else field
    if not 2 <= len(field.shape) <= most or max(field.shape) < least:
        raise InputError(
            f"dd.{verb} needs a field of one {'to three' if most > 2 else 'or two'} axes with two cells at least.",
            f"the shape is {tuple(np.shape(u) if not _is_symbolic(u) else u.shape)}",
            because="differences are taken between neighbouring cells.",
            remedy=f'dd.{verb}(m.state("u", (64, 64)), ...)',
        )
    return field


def _like(result: Any, u: Any) -> Any:
    """A flat array where one was given, an array of symbols where one of three axes was."""
    if isinstance(result, Cells):
        return result.array()
    return result[:, 0] if isinstance(result, np.ndarray) and np.ndim(u) == 1 else result


def _axes(field: Any) -> list[int]:
    return [axis for axis, size in enumerate(field.shape) if size > 1]


def _along_axes(field: Any, h: Any, boundary: Any) -> list[tuple[int, Any, tuple[Any, Any]]]:
    """Of every axis its number, its spacing and the conditions at its two ends."""
    axes = _axes(field)
    spacings = [h] * len(axes) if _is_symbolic(h) or np.ndim(h) == 0 else list(h)
    for spacing in spacings:
        if len(spacings) != len(axes) or (not _is_symbolic(spacing) and not 0 < float(spacing) < np.inf):
            raise InputError(
                "The spacing h of a field is one positive number, or one per axis.",
                f"got {h!r} for {len(axes)} axes",
                because="it is the distance of cell centres.",
                remedy="h=1 / 64, or h=(0.1, 0.2)",
            )
    conditions = boundary if isinstance(boundary, list) else [boundary] * len(axes)
    if len(conditions) != len(axes):
        raise _unknown_boundary(boundary, _EXAMPLE)
    return [(axis, spacing, _ends(one)) for axis, spacing, one in zip(axes, spacings, conditions)]


def _ends(condition: Any) -> tuple[Any, Any]:
    """The conditions at the low and the high end, each as (kind, value)."""
    if isinstance(condition, tuple) and len(condition) == 2 and _is_condition(condition[1]):
        low, high = (_condition(end) for end in condition)
        if (low[0] == "periodic") != (high[0] == "periodic"):
            raise _unknown_boundary(condition, _EXAMPLE)
        return low, high
    one = _condition(condition)
    return one, one


def _is_condition(given: Any) -> bool:
    return isinstance(given, str) or (isinstance(given, tuple) and bool(given) and isinstance(given[0], str))


def _condition(given: Any) -> tuple[str, Any]:
    if given in ("periodic", "neumann") and isinstance(given, str):
        return given, 0.0
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and given[0] in _KINDS[1:]:
        return given[0], given[1]
    raise _unknown_boundary(given, _EXAMPLE)


def _unknown_boundary(given: Any, remedy: str) -> InputError:
    return InputError(
        "The boundary condition of a field is not known.",
        f"got {given!r}"[:200],
        because='conditions are "periodic", "neumann", ("neumann", slope) and ("dirichlet", value), for all edges or '
        "in a list with one per axis; a pair in it has one per end.",
        remedy=remedy,
    )


def _shifted(field: Any, axis: int, spacing: Any, ends: tuple[Any, Any]) -> tuple[Any, Any]:
    """The neighbours before and after every cell."""
    n = field.shape[axis]
    first, last = _slice(field, axis, 0, 1), _slice(field, axis, n - 1, n)
    (low, at_low), (high, at_high) = ends
    below = last if low == "periodic" else _beyond(first, low, at_low, spacing)
    above = first if high == "periodic" else _beyond(last, high, at_high, spacing)
    return _joined(axis, below, _slice(field, axis, 0, n - 1)), _joined(axis, _slice(field, axis, 1, n), above)


def _beyond(edge: Any, kind: str, value: Any, spacing: Any) -> Any:
    """The value in the cell beyond an edge."""
    if not _is_symbolic(value):
        value = np.asarray(value, dtype=float)
        value = float(value) if value.ndim == 0 else value.reshape(edge.shape)
        if isinstance(edge, Cells) and isinstance(value, np.ndarray):
            value = Cells.of(value)
        value = ca.DM(value) if isinstance(value, np.ndarray) and _is_symbolic(edge) else value
    elif not isinstance(edge, Cells) and value.shape != edge.shape and value.numel() == edge.shape[0] * edge.shape[1]:
        value = ca.reshape(value, *edge.shape)
    return 2 * value - edge if kind == "dirichlet" else edge + spacing * value


def _one_sided(field: Any, axis: int, spacing: Any) -> Any:
    n = field.shape[axis]

    def cell(k: int) -> Any:
        return _slice(field, axis, k, k + 1)

    if n == 2:
        slope = (cell(1) - cell(0)) / spacing
        return _joined(axis, slope, slope)
    inner = (_slice(field, axis, 2, n) - _slice(field, axis, 0, n - 2)) / (2 * spacing)
    low = (-3 * cell(0) + 4 * cell(1) - cell(2)) / (2 * spacing)
    high = (3 * cell(n - 1) - 4 * cell(n - 2) + cell(n - 3)) / (2 * spacing)
    return _joined(axis, low, inner, high)


def _velocities(velocity: Any, field: Any, axes: int) -> Sequence[Any]:
    if axes == 1:
        parts = [velocity[0] if isinstance(velocity, (list, tuple)) and len(velocity) == 1 else velocity]
    else:
        parts = list(velocity) if isinstance(velocity, (list, tuple, np.ndarray)) and len(velocity) == axes else []
    parts = [Cells.of(part) if np.ndim(part) == 3 and isinstance(field, Cells) else part for part in parts]
    speeds = [part if _is_symbolic(part) else np.asarray(part, dtype=float) for part in parts]
    speeds = [s[:, None] if isinstance(s, np.ndarray) and s.ndim == 1 else s for s in speeds]
    if not speeds or any(s.shape not in ((), (1, 1), field.shape) for s in speeds):
        raise InputError(
            "The velocity of dd.upwind does not fit the field.",
            f"the field has shape {field.shape} and {axes} ax{'es' if axes > 1 else 'is'}",
            because="a velocity is a number or an array like the field, and there is one for every axis.",
            remedy="dd.upwind(u, (vx, vy), h)" if axes > 1 else "dd.upwind(u, v, h)",
        )
    return [
        ca.DM(s) if isinstance(s, np.ndarray) and s.ndim and _is_symbolic(field) else float(s) if s.shape == () else s
        for s in speeds
    ]


def _rolled(field: Any, axis: int, by: int, boundary: Any) -> Any:
    """The field moved along an axis; what comes in is the other end, or a number."""
    n = field.shape[axis]
    if by == 0:
        return field
    by = by % n if boundary == "periodic" else by
    if boundary == "periodic":
        return _joined(axis, _slice(field, axis, n - by, n), _slice(field, axis, 0, n - by))
    outside = 0 * _slice(field, axis, 0, abs(by)) + float(boundary)
    kept = _slice(field, axis, 0, n - by) if by > 0 else _slice(field, axis, -by, n)
    return _joined(axis, outside, kept) if by > 0 else _joined(axis, kept, outside)


def _slice(field: Any, axis: int, begin: int, end: int) -> Any:
    if len(field.shape) > 2:
        return field[(slice(None),) * axis + (slice(begin, end),)]
    return field[begin:end, :] if axis == 0 else field[:, begin:end]


def _joined(axis: int, *parts: Any) -> Any:
    if any(isinstance(part, Cells) for part in parts):
        return Cells.joined(axis, parts)
    if any(_is_symbolic(part) for part in parts):
        return ca.vertcat(*parts) if axis == 0 else ca.horzcat(*parts)
    return np.concatenate(parts, axis=axis)
