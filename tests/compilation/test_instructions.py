"""What translators ask of an instruction list."""

import casadi as ca
import pytest

from daedalus.compilation.instructions import crossing_rows, needed_rows, refuse_free_symbols, use_counts
from daedalus.errors import InputError
from daedalus.model.system.instruction_list import OPERATION_NAMES, read_instructions


def words(rows):
    return [OPERATION_NAMES[op] for op in rows.operation]


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
