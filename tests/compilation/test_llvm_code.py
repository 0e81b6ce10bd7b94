"""The generated text, and what the machine makes of it: null pointers, copies, fusing, merging, cutting."""

import ctypes
from array import array

import casadi as ca
import numpy as np
import pytest

from daedalus.compilation.llvm_code import Style, modules
from daedalus.compilation.machine_code import link, object_code
from daedalus.model.system.instruction_list import Instructions, UnknownOperationError, read_instructions

WHOLE = Style(strict=False, fuse=True, chunk=10**6)
CUT = Style(strict=False, fuse=True, chunk=3)


def code_of(rows: Instructions, style: Style):
    return link([object_code(text, 2) for text in modules(rows, style)], style.strict)


def call(code, arguments, results, work: int = 100) -> int:
    """Call machine code as C does; None is a null pointer."""
    signature = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int)
    pointers = [
        (ctypes.c_void_p * max(1, len(side)))(*[None if a is None else a.ctypes.data for a in side])
        for side in (arguments, results)
    ]
    w = np.full(work, np.nan)
    return signature(code.address)(*pointers, None, w.ctypes.data, 0)


@pytest.mark.parametrize("style", [WHOLE, CUT])
def test_null_arguments_are_zeros_and_null_results_are_not_written(style):
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 2)
    f = ca.Function("f", [x, y], [ca.cos(x) + y[0], ca.vertcat(x[0], x[1] * y[1], y[0] - 2)])
    code = code_of(read_instructions(f), style)
    xs, ys = np.array([0.1, 0.2, 0.3]), np.array([4.0, 5.0])
    for given_x, given_y in ((xs, ys), (None, ys), (xs, None), (None, None)):
        expected = f(0 if given_x is None else given_x, 0 if given_y is None else given_y)
        first, second = np.full(3, np.nan), np.full(3, np.nan)
        assert call(code, [given_x, given_y], [first, second]) == 0
        assert np.allclose(first, np.array(expected[0]).ravel(), rtol=1e-15)
        assert np.allclose(second, np.array(expected[1]).ravel(), rtol=1e-15)
        alone = np.full(3, np.nan)
        assert call(code, [given_x, given_y], [None, alone]) == 0
        assert np.array_equal(alone, second)
        assert call(code, [given_x, given_y], [None, None]) == 0


@pytest.mark.parametrize("style", [WHOLE, CUT])
def test_functions_without_inputs_or_outputs(style):
    x = ca.SX.sym("x")
    assert call(code_of(read_instructions(ca.Function("f", [x], [])), style), [np.zeros(1)], []) == 0
    result = np.zeros(6)
    f = ca.Function("f", [], [ca.DM([3.0, 0.0, -1.0, 2.5, 7.0, np.inf])])
    assert call(code_of(read_instructions(f), style), [], [result]) == 0
    assert np.array_equal(result, [3.0, 0.0, -1.0, 2.5, 7.0, np.inf])


def test_sparse_outputs_are_their_nonzeros():
    x = ca.SX.sym("x", 4)
    f = ca.Function("f", [x], [ca.jacobian(x**3 / 3 + x[0], x)])
    assert f.nnz_out(0) == 7
    result = np.zeros(7)
    call(code_of(read_instructions(f), WHOLE), [np.arange(1.0, 5.0)], [result])
    assert np.allclose(result, f(np.arange(1.0, 5.0)).nonzeros(), rtol=1e-15)


@pytest.mark.parametrize("style", [WHOLE, CUT])
def test_zeros_of_dense_outputs_are_written_and_nothing_beyond_them(style):
    x = ca.SX.sym("x", 5)
    matrix = ca.densify(ca.jacobian(ca.vertcat(x[0] * x[1], 3 * x[3], 0, x[4] ** 2), x))
    f = ca.Function("f", [x], [matrix, ca.DM([0.0, 0.0, 1.0, 0.0]), ca.SX([-0.0])])
    room = [np.full(size + 2, np.nan) for size in (20, 4, 1)]
    code = code_of(read_instructions(f), style)
    assert call(code, [np.arange(1.0, 6.0)], [array[1:] for array in room]) == 0
    for found, expected in zip(room, f(np.arange(1.0, 6.0))):
        assert np.array_equal(found[1:-1], np.array(expected).ravel(order="F"))
        assert np.isnan(found[[0, -1]]).all()
    assert call(code, [np.arange(1.0, 6.0)], [None, None, None]) == 0


def test_copies_are_the_value_they_copy():
    """SX drops its assignments, so the rows are written by hand: w1 = x; w0 = sin(x); y = lift(w1, w0) + w0."""
    rows = Instructions(
        array("q", [ca.OP_INPUT, ca.OP_ASSIGN, ca.OP_SIN, ca.OP_LIFT, ca.OP_ADD, ca.OP_OUTPUT]),
        array("q", [0, 0, 0, 1, 3, 4]),
        array("q", [0, -1, -1, 2, 2, 0]),
        array("q", [0, 1, 0, 1, 0, 0]),
        array("d"),
        (1,),
        (1,),
    )
    for chunk in (1, 2, 3, 100):
        result = np.zeros(1)
        call(code_of(rows, Style(True, False, chunk)), [np.array([0.7])], [result])
        assert result[0] == 0.7 + np.sin(0.7)


def test_products_are_fused_into_sums_once_rounded():
    """(1 + e)(1 - e) - 1 is -e² with one rounding and 0 with two."""
    x = ca.SX.sym("x", 3)
    e = 2.0**-30
    for expression, fused in ((x[0] * x[1] - x[2], -(e**2)), (x[2] - x[0] * x[1], e**2)):
        rows = read_instructions(ca.Function("f", [x], [expression]))
        for style, expected in (
            (WHOLE, fused),
            (Style(False, False, 10**6), 0.0),
            (Style(True, True, 10**6), 0.0),
        ):
            result = np.zeros(1)
            call(code_of(rows, style), [np.array([1 + e, 1 - e, 1.0])], [result])
            assert result[0] == expected


def test_a_product_that_others_read_is_not_fused():
    x = ca.SX.sym("x", 3)
    product = x[0] * x[1]
    (text,) = modules(read_instructions(ca.Function("f", [x], [product + x[2], product])), WHOLE)
    assert "llvm.fma" not in text


def test_what_is_written_twice_is_computed_once():
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [ca.sin(x) + 1, ca.sin(x) * 2, ca.sin(x)])
    assert [f.instruction_id(k) for k in range(f.n_instructions())].count(ca.OP_SIN) == 3
    (text,) = modules(read_instructions(f), WHOLE)
    assert text.count("call double @llvm.sin.f64") == 1


def test_a_value_that_is_used_from_several_chunks_is_stored_once_and_survives():
    x = ca.SX.sym("x")
    y = ca.exp(x)
    z = y
    for k in range(12):
        z = ca.cos(z + k)
    f = ca.Function("f", [x], [z * y, y])
    rows = read_instructions(f)
    for chunk in range(1, 12):
        result, other = np.zeros(1), np.zeros(1)
        call(code_of(rows, Style(True, False, chunk)), [np.array([0.3])], [result, other])
        assert (result[0], other[0]) == tuple(float(value) for value in f(0.3))


def test_unknown_operations_are_named_before_anything_is_written():
    rows = read_instructions(ca.Function("f", [x := ca.SX.sym("x")], [ca.sin(x)]))
    rows.operation[1] = ca.OP_BSPLINE
    with pytest.raises(UnknownOperationError, match="no machine code for the operation bspline"):
        modules(rows, WHOLE)


def test_strict_text_hides_the_library_from_llvm():
    x = ca.SX.sym("x")
    (text,) = modules(read_instructions(ca.Function("f", [x], [ca.sin(x) ** 1.5])), Style(True, True, 10**6))
    assert "@daedalus.sin(" in text
    assert "@daedalus.pow(" in text
    assert "llvm.sin" not in text
    assert "fma" not in text
