"""The compiled function as an object: called, printed, pickled."""

import copy
import pickle

import casadi as ca
import numpy as np
import pytest
from example_functions import fresh_number

from daedalus.compilation import compile_function, counts


def example() -> ca.Function:
    x, m = ca.SX.sym("x"), ca.SX.sym("m", 2, 3)
    return ca.Function("example", [x, m], [x * m[:, 0], fresh_number() * ca.trace(m[:, :2])])


def test_called_with_matrices_by_columns():
    compiled = compile_function(example())
    m = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    column, trace = compiled(2.0, m)
    assert np.array_equal(column, [2.0, 8.0])
    assert trace[0] == float(compiled.function(2.0, m)[1])


def test_wrong_sizes_are_refused():
    compiled = compile_function(example())
    with pytest.raises(ValueError, match="argument 1 has 5 numbers, expected 6"):
        compiled(2.0, np.zeros(5))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        compiled(2.0)


def test_prints_its_name_and_tier():
    assert repr(compile_function(example())) == "<example: llvm O2>"
    assert repr(compile_function(example(), strict=True)) == "<example: llvm O2, strict>"


def test_pickles_as_its_symbols():
    compiled = compile_function(example(), strict=True)
    data = pickle.dumps(compiled)
    assert compiled.core.address.to_bytes(8, "little") not in data
    before = counts()
    again = pickle.loads(data)
    assert counts().compiled == before.compiled
    assert (again.strict, again.core.name) == (True, "example")
    at = 2.0, np.arange(6.0)
    assert all(np.array_equal(a, b) for a, b in zip(again(*at), compiled(*at)))
    assert copy.deepcopy(compiled)(*at)[1] == compiled(*at)[1]
