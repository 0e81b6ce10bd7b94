"""Reading CasADi's instruction list."""

import casadi as ca
import pytest

from daedalus.compilation.instructions import (
    OPERATION_NAMES,
    UnknownOperationError,
    crossing_rows,
    needed_rows,
    read_instructions,
    refuse_free_symbols,
    use_counts,
)
from daedalus.errors import InputError


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


def test_dead_rows_are_not_needed():
    x = ca.SX.sym("x")
    rows = read_instructions(ca.Function("f", [x], [ca.exp(x) * ca.cos(x)]))
    assert all(needed_rows(rows))
    # Without its output nothing is needed; with another one only what that one reads.
    rows.operation[-1] = ca.OP_ASSIGN
    assert not any(needed_rows(rows))
    rows.operation[-1] = ca.OP_OUTPUT
    rows.first[-1] = words(rows).index("exp")
    needed = needed_rows(rows)
    assert needed[words(rows).index("exp")]
    assert not needed[words(rows).index("cos")]
    assert not needed[words(rows).index("mul")]


def test_uses_are_counted_per_reader():
    x = ca.SX.sym("x")
    y = ca.sin(x)
    rows = read_instructions(ca.Function("f", [x], [y * y + y, y]))
    uses = use_counts(rows, needed_rows(rows))
    assert uses[words(rows).index("sin")] == 3  # sq, add, output
    assert uses[words(rows).index("input")] == 1


def test_values_cross_chunks_but_inputs_and_constants_do_not():
    x = ca.SX.sym("x")
    y = ca.sin(x)
    rows = read_instructions(ca.Function("f", [x], [ca.cos(ca.exp(y)) * 3 + y * x]))
    crossing = crossing_rows(rows, needed_rows(rows), chunk=2)
    assert words(rows).index("sin") in crossing
    assert not {words(rows)[row] for row in crossing} & {"input", "const"}
    assert not crossing_rows(rows, needed_rows(rows), chunk=len(rows))


def test_functions_without_inputs_or_outputs():
    x = ca.SX.sym("x")
    assert len(read_instructions(ca.Function("f", [x], []))) == 0
    assert words(read_instructions(ca.Function("f", [], [3.0]))) == ["const", "output"]


def test_free_symbols_are_refused_by_name():
    x, mass = ca.SX.sym("x"), ca.SX.sym("mass")
    f = ca.Function("fall", [x], [x * mass], {"allow_free": True})
    with pytest.raises(InputError) as caught:
        refuse_free_symbols(f)
    assert str(caught.value) == (
        "The function fall cannot be compiled.\n"
        "  symbols that are not among its inputs: mass\n"
        "  Because a function is evaluated from its inputs alone.\n"
        "  Try: add these symbols to the inputs of casadi.Function, or substitute numbers for them."
    )


def test_what_is_not_scalar_is_named():
    x, m = ca.SX.sym("x"), ca.MX.sym("m")
    inner = ca.Function("inner", [x], [x**2], {"never_inline": True})
    with pytest.raises(UnknownOperationError, match="no machine code for the operation call"):
        read_instructions(ca.Function("f", [x], [inner(x) + 1]))
    with pytest.raises(UnknownOperationError, match="no machine code for the operation printme"):
        read_instructions(ca.Function("f", [x], [x.printme(1)]))
    with pytest.raises(UnknownOperationError, match="MXFunction f is not made of scalar operations"):
        read_instructions(ca.Function("f", [m], [m + 1]))
