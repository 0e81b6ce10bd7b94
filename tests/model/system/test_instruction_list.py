"""Reading CasADi's instruction list."""

import casadi as ca
import pytest

from daedalus.model.system.instruction_list import OPERATION_NAMES, UnknownOperationError, read_instructions


def words(rows):
    return [OPERATION_NAMES[op] for op in rows.operation]


def test_operands_are_the_rows_that_made_them_though_places_are_reused():
    x = ca.SX.sym("x", 2)
    rows = read_instructions(ca.Function("f", [x], [ca.sin(x[0]) + 3, x[1] * x[0]]))
    for row, op in enumerate(rows.operation):
        if op not in (ca.OP_INPUT, ca.OP_CONST):
            assert rows.first[row] < row
    sine, product = words(rows).index("sin"), words(rows).index("mul")
    assert words(rows)[rows.first[sine]] == "input"
    assert {rows.second[rows.first[product]], rows.second[rows.second[product]]} == {0, 1}
    assert list(rows.constants) == [3.0]
    assert (rows.size_in, rows.size_out) == ((2,), (1, 1))


def test_digest_is_blind_to_names_and_sees_constants_operations_and_sizes():
    def digest(name="f", symbol="x", factor=2.5, operation=ca.sin, extra=0):
        x, y = ca.SX.sym(symbol), ca.SX.sym("y", extra + 1)
        f = ca.Function(name, [x, y], [factor * operation(x)], ["in", "other"], ["out"])
        return read_instructions(f).digest()

    assert digest() == digest(name="g", symbol="z")
    assert len({digest(), digest(factor=2.6), digest(operation=ca.cos), digest(extra=1)}) == 4


def test_digest_sees_the_last_bit_of_a_constant():
    x = ca.SX.sym("x")
    one, next_to_one = (read_instructions(ca.Function("f", [x], [x + c])).digest() for c in (3.0, 3.0 + 2.0**-51))
    assert one != next_to_one


def test_functions_without_inputs_or_outputs():
    x = ca.SX.sym("x")
    assert len(read_instructions(ca.Function("f", [x], []))) == 0
    assert words(read_instructions(ca.Function("f", [], [3.0]))) == ["const", "output"]


def test_what_is_not_scalar_is_named():
    x, m = ca.SX.sym("x"), ca.MX.sym("m")
    inner = ca.Function("inner", [x], [x**2], {"never_inline": True})
    with pytest.raises(UnknownOperationError, match="no machine code for the operation call"):
        read_instructions(ca.Function("f", [x], [inner(x) + 1]))
    with pytest.raises(UnknownOperationError, match="no machine code for the operation printme"):
        read_instructions(ca.Function("f", [x], [x.printme(1)]))
    with pytest.raises(UnknownOperationError, match="MXFunction f is not made of scalar operations"):
        read_instructions(ca.Function("f", [m], [m + 1]))
