"""`A @ u` for SciPy's sparse matrices and symbols: computed with the nonzeros of A alone.

SciPy asks for `u` as an array. Where it gets one without dimensions, it takes `u` for no array and hands the product
over to `u.__rmatmul__` ("Not interpretable as an array", `_matmul_dispatch` of scipy.sparse). CasADi's symbols refuse
to become an array, rightly so: a symbol is no number. Here that one question gets the answer that SciPy understands,
and `__rmatmul__` computes the product. Whoever else asks is refused as before.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError

_ROOM = "scipy.sparse."


def let_sparse_products_through() -> None:
    """Sparse matrices of SciPy may stand on the left of symbols.

    Example
    -------
    >>> import daedalus, casadi, scipy.sparse
    >>> A = scipy.sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(3, 3))
    >>> u = casadi.SX.sym("u", 3)
    >>> casadi.Function("f", [u], [A @ u])([1.0, 2.0, 4.0])
    DM([0, 1, -6])
    """
    for kind in (ca.SX, ca.MX):
        for name, made in (("__array__", _answering), ("__rmatmul__", _product)):
            setattr(kind, name, made(getattr(kind, name)))


def _answering(own: Any) -> Any:
    if getattr(own, "answers_scipy", False):
        return own

    def __array__(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return own(self, *arguments, **options)
        except TypeError:
            asking = sys._getframe(1)
            if not _is_sparse_product(asking):
                raise
            if asking.f_back is not None and asking.f_back.f_code.co_name == "__mul__":
                raise InputError(
                    "A sparse matrix times symbols is written with @.",
                    f"got A * u with u of shape {self.shape}",
                    because="`*` of a SciPy matrix is a product of matrices, that of symbols one of their elements.",
                    remedy="A @ u",
                ) from None
            boxed = np.empty((), dtype=object)
            boxed[()] = self
            return boxed

    __array__.answers_scipy = True  # type: ignore[attr-defined]
    return __array__


def _is_sparse_product(asking: FrameType) -> bool:
    name = asking.f_globals.get("__name__", "")
    return name.startswith(_ROOM) and asking.f_code.co_name == "_matmul_dispatch"


def _product(own: Any) -> Any:
    if getattr(own, "answers_scipy", False):
        return own

    def __rmatmul__(self: Any, left: Any) -> Any:
        if not type(left).__module__.startswith(_ROOM):
            return own(self, left)
        from daedalus.model.fields import matrix_product

        return matrix_product(left, self)

    __rmatmul__.answers_scipy = True  # type: ignore[attr-defined]
    return __rmatmul__
