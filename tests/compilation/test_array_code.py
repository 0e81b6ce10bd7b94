"""Long functions as loops: CasADi's bits over all operations and kinds of places, short text, and what is left to
straight code."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus import _core
from daedalus.compilation import background, compile_function, translate
from daedalus.compilation.array_code import array_code
from daedalus.compilation.llvm_code import Style
from daedalus.model.system.instruction_list import read_instructions

STYLE = Style(strict=True, fuse=False, chunk=2000)
CELLS = 400
UNARY = [
    ca.sin, ca.cos, ca.tan, ca.exp, ca.sqrt, ca.fabs, ca.sign, ca.floor, ca.ceil, ca.tanh, ca.erf, ca.log1p, ca.log,
    ca.asin, ca.atan, ca.sinh, ca.cosh, ca.acosh, ca.expm1, lambda a: -a, lambda a: a * a, lambda a: 1 / a, lambda a: a
    + a, ca.logic_not,
]  # fmt: skip
BINARY = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, ca.fmin, ca.fmax, ca.atan2,
        ca.hypot,
    lambda a, b: ca.if_else(a > b, a, b), lambda a, b: a**b, ca.fmod, ca.copysign,
    lambda a, b: ca.logic_or(a < b, a <= b),
    lambda a, b: ca.logic_and(a, b), lambda a, b: a != b, ca.remainder,
]  # fmt: skip
PLACES = {
    "as they are": np.arange(CELLS),
    "moved": np.roll(np.arange(CELLS), 3),
    "backwards": np.arange(CELLS)[::-1],
    "grid": np.arange(CELLS).reshape(20, 20).T.ravel(),
    "scattered": np.random.default_rng(0).permutation(CELLS),
    "one": np.zeros(CELLS, int),
    "every second": np.minimum(2 * np.arange(CELLS), CELLS - 1),
}


@st.composite
def fields(draw):
    """A formula of some operations on fields that are moved against each other; parts are used more than once."""
    x, p = ca.SX.sym("x", CELLS), ca.SX.sym("p", 3)
    numbers = ca.DM(np.round(np.random.default_rng(draw(st.integers(0, 99))).normal(size=CELLS), 1))
    values = [x, ca.repmat(p[0], CELLS, 1), p[1] * x, numbers]
    for _ in range(draw(st.integers(8, 12))):
        a, b = (values[draw(st.integers(0, len(values) - 1))] for _ in range(2))
        b = ca.SX(b)[PLACES[draw(st.sampled_from(sorted(PLACES)))].tolist()]
        if draw(st.booleans()):
            values.append(draw(st.sampled_from(UNARY))(a) + b)
        else:
            values.append(draw(st.sampled_from(BINARY))(a, b))
    band = ca.SX(ca.Sparsity.banded(CELLS, 1))
    band[0, :2] = values[-1][:2].T
    return ca.Function("field", [x, p], [sum(values[-3:], values[-4]), values[-1][::2], band])


@settings(max_examples=examples(12, 3), deadline=None)
@given(f=fields(), seed=st.integers(0, 100))
def test_loops_give_the_interpreters_bits(f, seed):
    generator = np.random.default_rng(seed)
    code = array_code(read_instructions(f), STYLE)
    if code is None or f.n_instructions() <= 3000:
        return
    compiled = compile_function(f)
    assert compiled.tier in ("llvm scalar loops", "llvm loops", "disk cache")
    for _ in range(2):
        for scale in (1.0, 1e3):
            arguments = [scale * generator.normal(size=CELLS), generator.normal(size=3)]
            for mine, other in zip(compiled(*arguments), f.call(arguments), strict=True):
                np.testing.assert_array_equal(mine, np.array(other.nonzeros()).ravel())
        compiled.wait()
    assert compiled.tier in ("llvm loops", "disk cache")


def diffusion(side):
    u = ca.SX.sym("u", side, side)
    around = sum(np.roll(u, by, axis) for by in (1, -1) for axis in (0, 1))
    return ca.Function("f", [u], [around - 4 * u + ca.sin(u) * u**2])


def test_the_text_does_not_grow_with_the_field():
    """Twelve times the cells: the same loops, tables for the rows of the grid."""
    small, large = (array_code(read_instructions(diffusion(side)), STYLE) for side in (30, 104))
    assert small is not None
    assert large is not None
    assert small.text.count("!llvm.loop !") == large.text.count("!llvm.loop !") <= 40
    assert len(large.text) < 4 * len(small.text)


def test_jacobians_are_loops_too():
    side = 40
    f = diffusion(side)
    u = ca.SX.sym("u", side, side)
    jacobian = ca.Function("J", [u], [ca.jacobian(ca.vec(f(u)), ca.vec(u))])
    compiled = compile_function(jacobian).wait()
    assert compiled.tier in ("llvm loops", "disk cache")
    value = np.random.default_rng(0).normal(size=(side, side))
    np.testing.assert_array_equal(compiled(value)[0], np.array(jacobian(value).nonzeros()))


def test_parts_that_are_used_again_are_kept_in_memory_of_their_own():
    """Many more values are kept than CasADi's own working memory has room for."""
    x = ca.SX.sym("x", 3000)
    shared = ca.sin(x)
    f = ca.Function("f", [x], [shared + np.roll(shared, 1, 0), shared * x])
    code = array_code(read_instructions(f), STYLE)
    assert code is not None
    assert code.work == 3000
    value = np.linspace(0, 3, 3000)
    for mine, other in zip(compile_function(f)(value), f.call([value]), strict=True):
        np.testing.assert_array_equal(mine, other.full().ravel())


def test_a_loop_reads_values_that_different_formulas_have_kept():
    """Forces on a chain read coordinates of one neighbour from inputs, and what was computed in several ways."""
    x = ca.SX.sym("x", 900)
    kept = ca.vertcat(ca.sin(x[:300]), ca.exp(x[300:600]), x[600:] * x[:300])
    f = ca.Function("f", [x], [kept + np.roll(kept, 1, 0), kept * ca.cos(kept)])
    code = array_code(read_instructions(f), STYLE)
    assert code is not None
    assert code.text.count("!llvm.loop !") <= 8
    value = np.linspace(-1, 1, 900)
    for mine, other in zip(compile_function(f, wait=True)(value), f.call([value]), strict=True):
        np.testing.assert_array_equal(mine, other.full().ravel())


def test_loops_that_do_little_wait_for_no_vectors(monkeypatch, tmp_path):
    """The first calls go through plain loops, with the same bits as the vector code that follows."""
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    monkeypatch.setattr("daedalus.compilation.background.submit", lambda job, improves: None)
    x = ca.SX.sym("x", 700)
    f = ca.Function("first_calls", [x], [ca.sin(x) * np.roll(ca.cos(x), 1, 0) + x**2 / (1.25 + x * x)])
    value = np.linspace(-2, 2, 700)
    compiled = compile_function(f)
    assert compiled.tier == "llvm scalar loops"
    first = compiled(value)[0]
    again = compile_function(ca.Function("again", [x], [f(x)]))
    assert again.tier == "llvm scalar loops"
    assert compiled.wait().tier == again.tier == "llvm loops"
    np.testing.assert_array_equal(compiled(value)[0], first)
    np.testing.assert_array_equal(first, f(value).full().ravel())


@pytest.mark.parametrize("finished", [False, True])
def test_stored_loops_need_no_search_for_equal_formulas(monkeypatch, tmp_path, forget, finished):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    x = ca.SX.sym("x", 4000)
    f = ca.Function("f", [x], [ca.sin(x) * x + x[::-1]])
    values = np.linspace(-2, 2, 4000)
    forget()
    first = compile_function(f, strict=True)
    expected = first(values)[0]
    if finished:
        background.finish()
    forget()
    monkeypatch.setattr(translate, "array_code", lambda *rows: pytest.fail("searched again"))
    again = compile_function(ca.Function("f", [x], [ca.sin(x) * x + x[::-1]]), strict=True)
    assert again.tier == "disk cache"
    np.testing.assert_array_equal(again(values)[0], expected)


@pytest.mark.wide
def test_deep_recursions_beside_each_other_are_loops():
    """200 columns with 300 steps below each other: as many levels, each one loop."""
    x, k = ca.SX.sym("x", 200), ca.SX.sym("k", 200)
    y = x
    for _ in range(300):
        y = ca.sin(y) * k + y
    f = ca.Function("f", [x, k], [y])
    code = array_code(read_instructions(f), STYLE)
    assert code is not None
    assert code.text.count("!llvm.loop !") <= 301
    value = [np.linspace(-1, 1, 200), np.linspace(0, 0.1, 200)]
    np.testing.assert_array_equal(compile_function(f)(*value)[0], f(*value).full().ravel())


def rows_that_read_earlier_ones(generator, count=200):
    first, second = (generator.integers(-1, np.maximum(np.arange(count), 1)) for _ in range(2))
    reads = (first >= 0) & (np.arange(count) > 3)
    return first.astype(np.int32), second.astype(np.int32), reads


@pytest.mark.parametrize("seed", range(3))
def test_passes_over_rows(seed):
    """Depths, dependence and need as their definitions say, row by row."""
    generator = np.random.default_rng(seed)
    first, second, reads = rows_that_read_earlier_ones(generator)
    marked = generator.random(len(first)) < 0.05
    below = [[k for k in (a, b) if k >= 0] if r else [] for a, b, r in zip(first, second, reads)]
    depth, dependent, needed = [], [], marked.copy()
    for k, own in enumerate(below):
        depth.append(1 + max(depth[j] for j in own) if own else 0)
        dependent.append(any(dependent[j] for j in own) if own else bool(marked[k]))
    for k in reversed(range(len(first))):
        needed[below[k]] |= needed[k]
    columns = (first, second, reads.view(np.uint8))
    assert _core.row_depths(*columns).tolist() == depth
    assert _core.dependent_rows(*columns, marked.view(np.uint8)).astype(bool).tolist() == dependent
    assert _core.needed_rows(*columns, marked.view(np.uint8)).astype(bool).tolist() == needed.tolist()
    with pytest.raises(ValueError, match="earlier rows"):
        _core.row_depths(np.full(3, 2, np.int32), np.full(3, -1, np.int32), np.ones(3, np.uint8))


@pytest.mark.parametrize("way", ["deep", "irregular"])
def test_what_does_not_repeat_is_left_to_straight_code(way):
    generator = np.random.default_rng(0)
    x = ca.SX.sym("x", 100)
    values = list(ca.vertsplit(x))
    for _ in range(6000):
        a, b = (len(values) - 1, 0) if way == "deep" else generator.integers(0, len(values), 2)
        choose = 1 if way == "deep" else generator.integers(3)
        values.append([values[a] + values[b], values[a] * 0.5 + values[b], ca.sin(values[a])][choose])
    f = ca.Function("f", [x], [ca.vertcat(*values[-50:])])
    assert array_code(read_instructions(f), STYLE) is None
    value = generator.normal(size=100)
    np.testing.assert_array_equal(compile_function(f)(value)[0], f(value).full().ravel())


def test_null_pointers_are_zeros_and_unwanted_results():
    """As CasADi's own code: arguments may be left out, and results."""
    f = diffusion(60)
    compiled = compile_function(f)
    assert compiled.core.kind == "machine code"
    np.testing.assert_array_equal(compiled(np.zeros((60, 60)))[0], np.zeros(3600))
