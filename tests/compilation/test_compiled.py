"""The compiled function as an object: called, printed, pickled."""

import copy
import pickle

import casadi as ca
import numpy as np
import pytest
from example_functions import fresh_number

from daedalus.compilation import compile_function, counts
from daedalus.errors import InputError
from daedalus.model.system.function_record import function_of, function_record


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


def test_sparse_functions_come_back_with_their_patterns_and_names():
    x = ca.SX.sym("x", ca.Sparsity.upper(3))
    f = ca.Function("f", [x, ca.SX.sym("none", 0)], [2 * x, ca.diag(ca.sum1(x))], ["matrix", "none"], ["twice", "sums"])
    again = pickle.loads(pickle.dumps(compile_function(f))).function
    assert again.name_in() == f.name_in()
    assert again.name_out() == f.name_out()
    for k in range(2):
        assert again.sparsity_in(k) == f.sparsity_in(k)
        assert again.sparsity_out(k) == f.sparsity_out(k)
    at = np.triu(np.arange(9.0).reshape(3, 3))
    for before, after in zip(f(at, []), again(at, [])):
        np.testing.assert_array_equal(after.full(), before.full())


def test_functions_that_are_more_than_arithmetic_are_not_pickled():
    m = ca.MX.sym("m")
    with pytest.raises(InputError, match=r"A formula cannot be saved.\n  it is a MXFunction"):
        pickle.dumps(compile_function(ca.Function("f", [m], [m + 1])))


def damaged(change):
    x = ca.SX.sym("x", 2)
    record = function_record(ca.Function("f", [x], [2 * x], ["x"], ["y"]))
    change(record)
    return record


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r.pop("formulas"), "function.formulas: an entry expected"),
        (lambda r: r.update(name="no name"), "function.name: names that a function can have expected"),
        (lambda r: r["inputs"][0].update(shape=[1, 1]), "inputs.0..row.1.: a whole number of 0 to 0 expected, found 1"),
        (lambda r: r["inputs"][0].update(colind=[0, 9]), "a sparsity pattern expected"),
        (lambda r: r["outputs"][0].update(row=[0], colind=[0, 1]), "outputs.0..row: 2 nonzeros expected, found 1"),
        (lambda r: r["outputs"].clear(), "function.outputs: a list of 1 expected, found a list of 0"),
    ],
)
def test_records_of_functions_that_do_not_hold_together_are_told(change, told):
    with pytest.raises(InputError, match=told):
        function_of(damaged(change))
