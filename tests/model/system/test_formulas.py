"""Expressions as plain data: every bit there and back, and nothing read that does not hold together."""

import copy
import json
import math

import casadi as ca
import numpy as np
import pytest

from daedalus import catalogue
from daedalus.compilation.operations import COPIES, operations
from daedalus.errors import InputError
from daedalus.model.system.formulas import OPERATIONS, expressions_of, formulas_of
from daedalus.model.system.system import System


def again(inputs, expressions):
    """The expressions behind a text of JSON, as a function."""
    record = json.loads(json.dumps(formulas_of(inputs, expressions), allow_nan=False))
    symbols = [ca.SX.sym("s", *symbol.shape) for symbol in inputs]
    return ca.Function("again", symbols, expressions_of(record, symbols))


def sample():
    """A record with operations of one and two operands, constants and two outputs."""
    x = ca.SX.sym("x", 2)
    return formulas_of([x], [ca.sin(x[0]) * 0.1 + x[1], ca.horzcat(x[0], 3.5)])


def test_the_closed_list_is_what_can_be_compiled():
    assert {number for number, _ in OPERATIONS.values()} == {*operations(strict=False), *COPIES}


@pytest.mark.parametrize("word", OPERATIONS)
def test_every_operation_comes_back(word):
    number, operands = OPERATIONS[word]
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    expression = ca.SX.unary(number, x) if operands == 1 else ca.SX.binary(number, x, y)
    before, after = ca.Function("f", [x, y], [expression]), again([x, y], [expression])
    for a in (-1.5, -0.3, 0.0, 0.4, 2.0, math.inf, math.nan):
        for b in (-0.7, 0.0, 1.3, math.nan):
            np.testing.assert_array_equal(after(a, b).full(), before(a, b).full())


@pytest.mark.parametrize(
    "constant", [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 2.0**-1022, 1 / 3]
)
def test_constants_come_back_to_the_last_bit(constant):
    x = ca.SX.sym("x")
    f, g = ca.Function("f", [x], [x + constant]), again([x], [x + constant])
    assert f(0.25).full().tobytes() == g(0.25).full().tobytes()
    record = formulas_of([x], [x * 0.1])
    record["constants"] = [constant.hex()]
    (read,) = expressions_of(record, [x])
    np.testing.assert_array_equal(ca.Function("f", [x], [read])(2.0).full(), [[2.0 * constant]])


def test_shared_parts_stay_shared():
    x = ca.SX.sym("x")
    y = x
    for _ in range(200):
        y = ca.sin(y) * y
    record = formulas_of([x], [y])
    assert len(record["operation"]) == 400
    z = ca.SX.sym("z")
    assert ca.Function("f", [z], expressions_of(record, [z])).n_instructions() == 402


def test_shapes_come_back_empty_ones_and_matrices():
    x = ca.SX.sym("x", 2, 3)
    given = [ca.SX(0, 4), 2 * x, x.T @ x, ca.SX(2, 2), ca.SX.eye(2)]
    for before, after in zip(given, expressions_of(formulas_of([x], given), [x])):
        assert after.shape == before.shape
        assert after.is_dense() or not after.numel()
        assert ca.is_equal(ca.simplify(after - ca.densify(before)), ca.SX.zeros(*before.shape), 3)


def test_what_is_more_than_arithmetic_is_refused_by_name():
    x = ca.SX.sym("x")
    inner = ca.Function("inner", [x], [x**2], {"never_inline": True})
    with pytest.raises(InputError) as caught:
        formulas_of([x], [inner(x) + 1])
    assert str(caught.value) == (
        "A formula cannot be saved.\n"
        "  it contains call\n"
        "  Because files and pickles contain arithmetic only; a function inside a formula could run any code.\n"
        "  Try: write it with the operations of casadi.SX, without calls of other functions"
    )
    with pytest.raises(InputError, match="it contains printme"):
        formulas_of([x], [x.printme(1)])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "formulas.version: 1 expected, found 2"),
        ({"version": "1"}, "formulas.version: a whole number of 1 to 2147483647 expected, found '1'"),
        ({"code": "import os"}, "formulas: entries that this version knows expected, found 'code'"),
        ({"inputs": [3]}, "formulas.inputs: the sizes [2] expected, found a list of 1"),
        ({"inputs": []}, "formulas.inputs: a list of 1 expected, found a list of 0"),
        ({"inputs": [10**30]}, "formulas.inputs: whole numbers expected"),
        ({"constants": ["0.1.1"]}, "formulas.constants: numbers in hexadecimal digits expected"),
        ({"constants": ["0x1p99999"]}, "formulas.constants: numbers in hexadecimal digits expected"),
        ({"constants": [0.5]}, "formulas.constants[0]: a text expected, found 0.5"),
        ({"words": ["add", "mul", "call"]}, "formulas.words: operations of arithmetic expected, found 'call'"),
        ({"words": ["add", "add", "sin"]}, "formulas.words: distinct names expected, found 'add'"),
        ({"words": ["add", "mul"]}, "formulas.operation[0]: a whole number of 0 to 1 expected, found 2"),
        ({"operation": [2, 1]}, "formulas.first: a list of 2 expected, found a list of 3"),
        ({"operation": [2, 1, -1]}, "formulas.operation[2]: a whole number of 0 to 2 expected, found -1"),
        ({"operation": [2, 1, 0.5]}, "formulas.operation: whole numbers expected"),
        ({"operation": [[2, 1, 0]]}, "formulas.operation: whole numbers expected"),
        ({"operation": "010"}, "formulas.operation: a list expected, found '010'"),
        ({"first": [99, 3, 5]}, "formulas.first[0]: a whole number of 0 to 6 expected, found 99"),
        ({"first": [0, 5, 5]}, "formulas.operation[1]: mul of 2 earlier values expected"),
        ({"first": [6, 4, 5]}, "formulas.operation[0]: sin of 1 earlier values expected"),
        ({"second": [0, 2, 1]}, "formulas.operation[0]: sin of 1 earlier values expected"),
        ({"second": [-1, -1, 1]}, "formulas.operation[1]: mul of 2 earlier values expected"),
        ({"second": [-2, 2, 1]}, "formulas.second[0]: a whole number of -1 to 6 expected, found -2"),
        ({"outputs": [{"shape": [2**30, 2**30], "values": [0]}]}, "a list of 1152921504606846976 expected"),
        ({"outputs": [{"shape": [1, 1], "values": [7]}]}, "a whole number of 0 to 6 expected, found 7"),
        ({"outputs": [{"shape": [1], "values": [0]}]}, "formulas.outputs[0].shape: a list of 2 expected"),
        ({"outputs": [[1, 1]]}, "formulas.outputs[0]: named entries expected"),
        ({"outputs": None}, "formulas.outputs: a list expected, found None"),
    ],
)
def test_records_that_do_not_hold_together_are_told(change, told):
    record = copy.deepcopy(sample())
    assert (record["words"], record["operation"]) == (["add", "mul", "sin"], [2, 1, 0])
    record.update(change)
    with pytest.raises(InputError, match="The saved data is inconsistent") as caught:
        expressions_of(record, [ca.SX.sym("x", 2)])
    assert told in str(caught.value)


@pytest.mark.parametrize("name", sample())
def test_missing_entries_are_told(name):
    record = sample()
    del record[name]
    with pytest.raises(InputError, match=rf"formulas\.{name}: an entry expected, found None"):
        expressions_of(record, [ca.SX.sym("x", 2)])


@pytest.mark.parametrize("name", ["andrews", "car_axis", "transistor_amplifier", "quadrotor"])
def test_hashes_outlive_the_way_there_and_back(name):
    system = catalogue.load(name).model.freeze()
    assert System.from_record(json.loads(json.dumps(system.to_record()))).digest == system.digest
