"""The law of the compiler: strict code has the interpreter's bits, fast code stays within roundings of it."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from random_graphs import (
    ALL_OPERATIONS,
    SPECIAL,
    Graph,
    error_bounds,
    graphs,
    interpreted,
    points,
    reads_sign_of_nan,
    same_bits,
)
from rings import examples

from daedalus._core import Function
from daedalus.compilation import compile_function
from daedalus.compilation.llvm_code import Style, modules
from daedalus.compilation.machine_code import link, object_code
from daedalus.model.system.instruction_list import OPERATION_NAMES, read_instructions

QUICK = settings(max_examples=examples(80), deadline=None)


def evaluated(core: Function, at: np.ndarray) -> np.ndarray:
    (values,) = core.evaluate_many(at)
    return values


def tell_tale_rows(graph: Graph, at: np.ndarray) -> np.ndarray:
    """Points at which the result does not hang on the sign of a NaN."""
    keep = [not reads_sign_of_nan(graph, values) for values in graph.node_values(at)]
    return at[np.array(keep)]


@QUICK
@given(graphs(), st.data())
def test_strict_code_has_the_interpreters_bits(graph, data):
    at = tell_tale_rows(graph, data.draw(points(graph.inputs)))
    assume(len(at))
    f = graph.function(outputs=4)
    compiled = compile_function(f, strict=True)
    assert compiled.tier == "llvm O2"
    assert np.all(same_bits(evaluated(compiled.core, at), interpreted(f, at)))


@QUICK
@given(graphs(), st.data())
def test_fast_code_stays_within_roundings(graph, data):
    at = tell_tale_rows(graph, data.draw(points(graph.inputs)))
    assume(len(at))
    f = graph.function(outputs=4)
    found = evaluated(compile_function(f).core, at)
    # Other tests run code that was made without effort: it has the same bits.
    assert np.all(same_bits(evaluated(compile_function(f, quick=True).core, at), found))
    expected = interpreted(f, at)
    for row, values in enumerate(graph.node_values(at)):
        bounds = error_bounds(graph, values)[-expected.shape[1] :]
        event("comparable" if np.all(np.isfinite(bounds)) else "jumps")
        with np.errstate(invalid="ignore"):
            close = np.abs(found[row] - expected[row]) <= bounds
        assert np.all(close | same_bits(found[row], expected[row]) | np.isinf(bounds))


@settings(max_examples=examples(40), deadline=None)
@given(graphs(most_steps=25), st.data(), st.integers(1, 7), st.booleans())
def test_cut_code_has_the_bits_of_whole_code(graph, data, chunk, strict):
    """Values that cross from chunk to chunk arrive, whatever the cut; without fusing, cuts change nothing."""
    at = tell_tale_rows(graph, data.draw(points(graph.inputs)))
    assume(len(at))
    f = graph.function(outputs=5)
    rows = read_instructions(f)
    style = Style(strict, fuse=False, chunk=chunk)
    code = link([object_code(text, 1) for text in modules(rows, style)], strict)
    core = Function("cut", [graph.inputs], list(rows.size_out), 0, 0, 0, f.sz_w())
    core.set_machine_code(code.address, code.owner)
    whole = link([object_code(text, 2) for text in modules(rows, Style(strict, False, 10**6))], strict)
    reference = Function("whole", [graph.inputs], list(rows.size_out), 0, 0, 0, f.sz_w())
    reference.set_machine_code(whole.address, whole.owner)
    assert np.all(same_bits(evaluated(core, at), evaluated(reference, at)))
    if strict:
        assert np.all(same_bits(evaluated(core, at), interpreted(f, at)))


@pytest.mark.parametrize("strict", [True, False])
def test_every_operation_alone_at_special_values(strict):
    """One function with all operations, at all pairs of special values and a few hundred ordinary ones."""
    x = ca.SX.sym("x", 2)
    f = ca.Function("all", [x], [ca.vertcat(*(ca.SX.binary(op, x[0], x[1]) for op in ALL_OPERATIONS))])
    ordinary = np.random.default_rng(1).normal(size=(400, 2)) * np.array([1.0, 30.0])
    at = np.vstack([np.array([(a, b) for a in SPECIAL for b in SPECIAL]), ordinary, ordinary[:, ::-1]])
    found, expected = evaluated(compile_function(f, strict=strict).core, at), interpreted(f, at)
    wrong = ~same_bits(found, expected)
    wrong[:, ALL_OPERATIONS.index(ca.OP_COPYSIGN)] &= ~np.isnan(at[:, 1])
    if not strict:
        # Either zero may be the smaller one; and the library's newer functions may round the last bit differently.
        with np.errstate(invalid="ignore"):
            wrong &= ~(np.abs(found - expected) <= 2.3e-16 * np.abs(expected))
    assert not {OPERATION_NAMES[ALL_OPERATIONS[k]] for k in np.flatnonzero(wrong.any(axis=0))}


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 1 / 3, -101.0])
def test_powers_by_square_roots_keep_zeros_and_infinities(exponent):
    x = ca.SX.sym("x")
    f = ca.Function("power", [x], [x**exponent])
    at = np.array([*SPECIAL, *np.geomspace(1e-300, 1e300, 301)])[:, None]
    found, expected = evaluated(compile_function(f).core, at), interpreted(f, at)
    # A result near the smallest numbers may vanish when the power under the fraction bar overflows.
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= 4 * 2.0**-53 * np.abs(expected) + 2.3e-308
    assert np.all(near | same_bits(found, expected))
    assert np.all((np.signbit(found) == np.signbit(expected)) | np.isnan(expected))


def test_large_random_graph_is_mostly_comparable():
    """A fixed well-behaved graph of 400 steps: the bound is finite almost everywhere, and is kept."""
    generator = np.random.default_rng(7)
    smooth = [ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_SIN, ca.OP_COS, ca.OP_TANH, ca.OP_ATAN, ca.OP_HYPOT, ca.OP_SQ]
    steps = [(int(generator.choice(smooth)), *map(int, generator.integers(0, (25, 400)))) for _ in range(400)]
    graph = Graph(3, (0.3, 1.7), tuple(steps))
    at = generator.normal(size=(5, 3))
    f = graph.function(outputs=50)
    found, expected = evaluated(compile_function(f).core, at), interpreted(f, at)
    bounds = np.array([error_bounds(graph, values)[-50:] for values in graph.node_values(at)])
    assert np.mean(np.isfinite(bounds)) > 0.9
    assert np.all((np.abs(found - expected) <= bounds) | ~np.isfinite(bounds))
    assert np.any(found != expected)
