"""Equal parts of a function, as the devices of a circuit, are found whatever goes in, and computed side by side."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

from daedalus import components, simulate
from daedalus._core import Function
from daedalus.compilation import compile, compile_function, part_code
from daedalus.compilation.equal_parts import equal_parts
from daedalus.compilation.lanes.machine import lane_object, lane_width
from daedalus.compilation.llvm_code import Style
from daedalus.compilation.machine_code import link, object_code
from daedalus.compilation.prologue import prologue
from daedalus.model.system.instruction_list import read_instructions

pytestmark = pytest.mark.skipif(lane_width() == 0, reason="no fused multiply-add here")

STEPS = [
    lambda a, b: ca.exp(-(a**2)) / (1 + b**2), lambda a, b: ca.log1p(ca.exp(a - b)), lambda a, b: a * b,
    lambda a, b: ca.sqrt(1 + a**2) - b, lambda a, b: ca.tanh(a) + b, lambda a, b: ca.if_else(a < b, a, 2 * b),
    lambda a, b: ca.log(2 + a**2) / ca.exp(b), lambda a, b: ca.fmax(a, -b) * 0.5,
]  # fmt: skip
POINTS = 3


@st.composite
def networks(draw):
    """Devices of one law between nodes and cards; some feed others; f(x, p) with the sums at the nodes."""
    nodes, count = draw(st.integers(2, 9)), draw(st.integers(4, 19))
    x, p = ca.SX.sym("x", nodes), ca.SX.sym("p", 3 * count)
    law = [(draw(st.sampled_from(STEPS)), draw(st.integers(0, 99)), draw(st.integers(0, 99))) for _ in range(14)]
    ground = ca.SX(0)

    def node():
        return draw(st.sampled_from([ground, *(x[k] for k in range(nodes))]))

    sums = [ca.SX(0)] * nodes
    for _ in range(draw(st.integers(1, 2))):
        fed = [total / 8 for total in sums]
        for device in range(count):
            card = [ca.exp(p[3 * device]) + 1, p[3 * device + 1] * p[0], p[3 * device + 2]]
            known = [ca.tanh((node() - node() + fed[device % nodes]) / card[0]), *card]
            for step, a, b in law:
                known.append(step(known[-1 - a % 2], known[b % len(known)]) / card[0])
            sums[device % nodes] += known[-1]
            sums[(device + 1) % nodes] -= known[-1] + known[-2]
    return ca.Function("f", [x, p], [ca.vertcat(*sums)])


def parted(f, lanes):
    """The code of a function (x, p) with equal parts; None where there are none."""
    rows = read_instructions(f)
    written = part_code.part_code(rows, Style(False, True, 3000, (1,), f.sz_w()), lanes)
    if written is None:
        return None
    objects = [object_code(text, 1) for text in (*written.straight, *written.early)]
    code = link([*objects, lane_object(written.lanes)], False)
    core = Function("f", list(rows.size_in), list(rows.size_out), 2, 1, 0, written.work)
    core.set_machine_code(code.address, code.owner)
    return core


@settings(max_examples=examples(6), deadline=None)
@given(networks(), st.sampled_from([2, 4, 8]), st.sampled_from([9, 2000]), st.integers(0, 999))
def test_parts_side_by_side_have_the_values_of_straight_code(f, lanes, cut, seed):
    generator = np.random.default_rng(seed)
    xs = generator.normal(size=(2 * POINTS, f.size1_in(0)))
    ps = np.repeat(generator.normal(size=(2, f.size1_in(1))), POINTS, axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_code, "_CHUNK", cut)
        core = parted(f, lanes)
    if core is None:  # too little of a law, or none that repeats
        return
    expected = compile_function(f, strict=True).core.evaluate_many(xs, ps)[0]
    (found,) = core.evaluate_many(xs, ps)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def ring(count=9):
    """A ring of inverters."""
    lines = ["ring", "VDD vdd 0 5", ".ic V(n0)=0"]
    for k in range(count):
        at, to = f"n{k}", f"n{(k + 1) % count}"
        lines += [f"MP{k} {to} {at} vdd vdd pm W=20u L=2u", f"MN{k} {to} {at} 0 0 nm W=10u L=2u", f"C{k} {to} 0 50f"]
    lines += [".model nm NMOS(VTO=0.8 KP=60u GAMMA=0.4 LAMBDA=0.02 CGSO=3e-10)"]
    lines += [".model pm PMOS(VTO=-0.8 KP=25u GAMMA=0.4 LAMBDA=0.03 CGSO=3e-10)", ".tran 0.1n 10n"]
    return "\n".join(lines)


@pytest.mark.wide
def test_transistors_of_a_netlist_are_computed_side_by_side(monkeypatch):
    made = []
    inside = compile.as_parts
    monkeypatch.setattr(compile, "as_parts", lambda *given: made.append(inside(*given)) or made[-1])
    times = np.linspace(0, 2e-9, 11)
    side_by_side = simulate(components.from_spice(ring()), 2e-9, rtol=1e-7, save_at=times)
    assert sum(outcome is not None for outcome in made) >= 2  # equations and their derivatives
    monkeypatch.setattr(compile, "as_parts", lambda *given: None)
    compile._without_parts.clear()
    one_by_one = simulate(components.from_spice(ring() + "\n* again"), 2e-9, rtol=1e-7, save_at=times)
    np.testing.assert_allclose(side_by_side["v_n3"], one_by_one["v_n3"], atol=5e-5)
    compile._without_parts.clear()


def test_every_equal_transistor_is_in_a_part():
    """Parts that differ by their nodes alone are equal: drains at the supply, at ground, or at both."""
    m = components.from_spice(ring())
    compiled = []
    original = compile.Compiled.__init__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            compile.Compiled, "__init__", lambda self, *a, **k: compiled.append(self) or original(self, *a, **k)
        )
        simulate(m, 1e-12)
    (rows, *_) = (read_instructions(c.function) for c in compiled if c.name == "F" and c.seldom)
    found = equal_parts(rows, prologue(rows, (5,)).rows)
    assert sum(len(group.members) for group in found.groups) >= 18


def test_strict_code_and_functions_of_single_calls_stay_as_they_are():
    x, p = ca.SX.sym("x", 40), ca.SX.sym("p")
    y = x
    for _ in range(10):
        y = ca.exp(-(y**2)) / p + y
    f = ca.Function("f", [x, p], [ca.sum1(y)])
    assert compile_function(f, seldom=(1,)).tier in ("llvm parts", "disk cache")
    assert compile_function(f, seldom=(1,))._outcome.parted
    assert not compile_function(f, strict=True, seldom=(1,))._outcome.parted
    assert not compile_function(f)._outcome.parted
    at = np.linspace(-1, 1, 40)
    (found,), (expected,) = compile_function(f, seldom=(1,))(at, 2.0), compile_function(f, strict=True)(at, 2.0)
    assert found == pytest.approx(expected, rel=1e-13)


def test_parts_that_wait_for_each_other_are_left_to_straight_code():
    """A chain of laws, each of the one before, has no two that could be computed at once."""
    x, p = ca.SX.sym("x"), ca.SX.sym("p", 60)
    y = x
    for k in range(60):
        z = ca.exp(-((y - p[k]) ** 2))
        for _ in range(5):
            z = ca.tanh(z * y) + ca.sqrt(1 + z**2)
        y = z - y
    rows = read_instructions(ca.Function("f", [x, p], [y]))
    assert equal_parts(rows, set()) is None


def test_pieces_that_cannot_repeat_are_not_put_in_order(monkeypatch):
    """A chain hangs together: no four pieces have one length, which is seen without looking at operations."""
    monkeypatch.setattr("daedalus.compilation.equal_parts._common_order", lambda *_: pytest.fail("was ordered"))
    x = ca.SX.sym("x", 300)
    y = x[0]
    for k in range(1, 300):
        y = ca.sin(y * x[k]) * x[k]
    assert equal_parts(read_instructions(ca.Function("chain", [x], [y])), set()) is None
