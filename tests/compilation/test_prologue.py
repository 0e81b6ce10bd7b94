"""What follows from inputs that seldom change is computed when they change, and no bit of a result tells."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import graphs, points, same_bits
from rings import examples

from daedalus._core import Function
from daedalus.compilation import compile_function, prologue
from daedalus.compilation.llvm_code import Style, modules
from daedalus.compilation.machine_code import link, object_code
from daedalus.model.system.instruction_list import read_instructions


def core_of(f, style, memory):
    """The code of a function of (x, p) in a style, with so many numbers of working memory."""
    rows = read_instructions(f)
    code = link([object_code(text, 1) for text in modules(rows, style)], style.strict)
    core = Function("f", list(rows.size_in), list(rows.size_out), 0, 0, 0, memory)
    core.set_machine_code(code.address, code.owner)
    return core


@settings(max_examples=examples(60), deadline=None)
@given(graphs(most_steps=25), st.data(), st.sampled_from([2, 5, 10**6]), st.booleans(), st.booleans())
def test_kept_values_have_the_bits_of_computed_ones(graph, data, chunk, strict, fuse):
    """Whatever the cut, and whether an input stays, changes, or comes back."""
    f = graph.function(outputs=5)
    count = data.draw(st.integers(0, graph.inputs))
    x, p = ca.SX.sym("x", count), ca.SX.sym("p", graph.inputs - count)
    split = ca.Function("split", [x, p], [f(ca.vertcat(x, p))])
    at = data.draw(points(graph.inputs))
    order = np.array(data.draw(st.lists(st.integers(0, len(at) - 1), min_size=1, max_size=12)))
    arguments = np.ascontiguousarray(at[order][:, :count]), np.ascontiguousarray(at[np.sort(order)][:, count:])
    size = split.sz_w() + 2 * split.n_instructions() + graph.inputs + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prologue, "_WORTH", 0)
        early = core_of(split, Style(strict, fuse, chunk, (1,), split.sz_w()), size)
    (found,), (expected,) = (
        core.evaluate_many(*arguments) for core in (early, core_of(split, Style(strict, fuse, chunk), size))
    )
    assert np.all(same_bits(found, expected))


def card(x, p):
    """A sum that needs x once, with a long law of p."""
    scale = ca.exp(ca.log(p[0]) * p[1]) / ca.sqrt(1 + p[2] ** 2)
    for k in range(3, p.numel()):
        scale = scale + ca.log1p(ca.exp(p[k]))
    return scale * x**2 + p[0]


def test_only_what_saves_much_is_kept():
    x, p = ca.SX.sym("x"), ca.SX.sym("p", 40)
    rows = read_instructions(ca.Function("f", [x, p], [card(x, p)]))
    found = prologue.prologue(rows, (1,))
    assert len(found.rows) > 100
    assert found.inputs == ((1, 0, 40),)
    assert prologue.prologue(rows, (0,)) == prologue.NO_PROLOGUE
    cheap = read_instructions(ca.Function("f", [x, p], [x * (p[0] + p[39])]))
    assert prologue.prologue(cheap, (1,)) == prologue.NO_PROLOGUE


@pytest.mark.parametrize("times", [1, 60])
def test_compiled_functions_follow_changed_inputs(times):
    """One call after another with one caller's memory; of a short function and of a long one in the background."""
    x, p = ca.SX.sym("x", times), ca.SX.sym("p", 40)
    f = ca.Function("f", [x, p], [ca.vertcat(*(card(x[k], p + k) for k in range(times)))])
    plain, early = compile_function(f, wait=True), compile_function(f, wait=True, seldom=(1,))
    assert early.seldom == (1,)
    generator = np.random.default_rng(3)
    xs = generator.normal(size=(7, times))
    ps = np.repeat(generator.uniform(0.5, 2.0, size=(3, 40)), [3, 1, 3], axis=0)
    ps[5, 20] = np.nan
    assert np.all(same_bits(early.core.evaluate_many(xs, ps)[0], plain.core.evaluate_many(xs, ps)[0]))
    zero = np.zeros((2, 40))
    assert np.all(same_bits(early.core.evaluate_many(xs[:2], zero)[0], plain.core.evaluate_many(xs[:2], zero)[0]))


def test_the_interpreter_leaves_kept_values_alone():
    """A long function starts on the interpreter, in the same memory, and changes over amid a run."""
    x, p = ca.SX.sym("x", 80), ca.SX.sym("p", 40)
    f = ca.Function("f", [x, p], [ca.vertcat(*(card(x[k], p + 0.001 * k) for k in range(80)))])
    compiled = compile_function(f, seldom=(1,))
    at = np.linspace(0, 1, 80), np.linspace(0.5, 2, 40)
    before = compiled(*at)
    assert np.array_equal(compiled.wait()(*at), before)
    assert compiled.core.kind == "machine code"
