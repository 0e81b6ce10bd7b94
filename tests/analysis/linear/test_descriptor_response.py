"""Descriptor systems answer: every index, derivatives of inputs, named impulses, consistent starts."""

import numpy as np
import pytest

import daedalus as dd

TIMES = np.linspace(0.0, 2.0, 9)


def nilpotent(index):
    """E x' = x - e u with E a shift: x = u, u', u'' from below."""
    E, A, B = np.eye(index, k=1), np.eye(index), np.zeros((index, 1))
    B[-1] = -1.0
    return E, A, B


@pytest.mark.document("003", "E nilpotent: x contains derivatives of the input", "`lin.respond`")
def test_the_index_asks_for_derivatives_of_the_input():
    """Document 003's nilpotent E: x = (u'', u', u)."""
    system = dd.DescriptorSystem(*nilpotent(3))
    assert system.index == 3
    spline = dd.signal(TIMES, TIMES**3, kind="spline")
    for path in (lambda t: t**3, spline):
        r = system.respond(TIMES, path)
        assert r.states == pytest.approx(np.stack([6 * TIMES, 3 * TIMES**2, TIMES**3], axis=1), abs=1e-7)
        assert r.impulses == ()


@pytest.mark.parametrize("index", [1, 2, 3, 4])
def test_it_is_what_simulate_finds(index):
    """A stable part beside a nilpotent one, in mixed coordinates, against the reduced model run as it is."""
    random = np.random.default_rng(index)
    E0, A0, B0 = nilpotent(index)
    n = 2 + index
    E, A, B = np.zeros((n, n)), np.zeros((n, n)), np.ones((n, 1))
    E[:2, :2], A[:2, :2] = np.eye(2), [[-1.0, 2.0], [0.0, -3.0]]
    E[2:, 2:], A[2:, 2:], B[2:] = E0, A0, B0
    P, Q = random.normal(size=(n, n)) + 3 * np.eye(n), random.normal(size=(n, n)) + 3 * np.eye(n)
    system = dd.DescriptorSystem(P @ E @ Q, P @ A @ Q, P @ B)
    assert system.index == index
    m = dd.Model.from_matrices(P @ E @ Q, P @ A @ Q, P @ B)
    tr = dd.simulate(m, 2.0, inputs={"u": lambda t: np.sin(t)}, rtol=1e-10, atol=1e-12, save_at=TIMES)
    r = system.respond(TIMES, lambda t: np.sin(t), start=tr["x"][0])
    assert r.states == pytest.approx(tr["x"], abs=2e-6)
    assert not any("jumps" in note for note in r.notes)


def test_impulses_are_named_where_inputs_jump():
    """x_1 = u' of a step of height 3 at t = 0.5 is an impulse of area 3, x_0 = u'' its derivative."""
    system = dd.DescriptorSystem(*nilpotent(3), states=["second", "first", "path"])
    step = dd.signal([0.0, 0.5], [0.0, 3.0])
    r = system.respond(TIMES, step)
    assert [(i.state, i.order, i.time, round(i.size, 9)) for i in r.impulses] == [
        ("first", 0, 0.5, 3.0),
        ("second", 1, 0.5, 3.0),
    ]
    assert r.notes == (
        "first has an impulse of area 3 at t = 0.5",
        "second has the derivative of an impulse, size 3, at t = 0.5",
    )
    bend = dd.signal([0.0, 0.5, 2.0], [0.0, 1.0, 1.0], kind="linear")
    assert system.respond(TIMES, bend).notes == ("second has an impulse of area -2 at t = 0.5",)
    assert system.respond(TIMES, bend)["first"].tolist() == [2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_an_inconsistent_start_jumps_onto_the_equations():
    """Index 2, u = 0: N f' = f from f = (1, 2) is f = -N f(0-) δ, an impulse of area -2."""
    system = dd.DescriptorSystem([[0, 1], [0, 0]], np.eye(2), states=["a", "b"])
    r = system.respond([0.0, 1.0], start=[1.0, 2.0])
    assert r.states.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert r.notes == (
        "a has an impulse of area -2 at t = 0",
        "the start does not obey the equations: x jumps onto them at t = 0",
    )


def test_starts_by_name():
    system = dd.DescriptorSystem([[1, 0], [0, 0]], [[-1, 0], [1, -1]], [0, 1], states=["x", "z"])
    r = system.respond([0.0, 1.0], 0.5, start={"x": 2.0})
    assert r["z"] == pytest.approx([2.5, 2 * np.exp(-1) + 0.5])
    r = system.respond([0.0, 1.0], 0.5, start={"z": 2.5})
    assert r["x"][0] == pytest.approx(2.0)
    with pytest.raises(dd.InputError) as caught:
        system.respond([0.0, 1.0], 0.5, start={"x": 2.0, "z": 9.0})
    assert "the start leaves 1 value free, and the inputs decide on the others." in str(caught.value)
    with pytest.raises(dd.SingularModelError, match="The pencil s E - A is singular"):
        dd.DescriptorSystem([[1, 0], [0, 0]], [[1, 0], [0, 0]]).respond([0.0, 1.0])


def test_an_ode_is_a_descriptor_system_too():
    A, B = [[0, 1], [-2, -3]], [0, 1]
    E = [[2.0, 0.0], [1.0, 1.0]]
    whole = dd.DescriptorSystem(E, np.array(E) @ A, np.array(E) @ B)
    assert whole.respond(TIMES, np.sin, start=[1.0, 0.0]).states == pytest.approx(
        dd.LTI(A, B).respond(TIMES, np.sin, start=[1.0, 0.0]).states, abs=1e-9
    )


def test_linearisations_answer_and_are_reduced():
    m = dd.Model("pendulum")
    q, force = m.state("q", start=0.0, rate=0.0), m.input("force")
    z = m.algebraic("z")
    m.equation(m.der(m.der(q)), -9.0 * z + force)
    m.equation(z + z**3, q)
    lin = dd.linearise(m)
    small = 1e-5
    r = lin.respond(TIMES, {"force": small})
    tr = dd.simulate(m, 2.0, inputs={"force": small}, save_at=TIMES, rtol=1e-10, atol=1e-14)
    assert r["z"] == pytest.approx(tr["z"], abs=1e-10)
    assert lin.reduced().states == ("q", "q_dot")
    assert pytest.approx(np.array([[0.0, 1.0], [-9.0, 0.0]])) == lin.reduced().A
    sampled = lin.discretise(0.01)
    assert pytest.approx(lin.reduced().discretise(0.01).A) == sampled.A
    assert (
        pytest.approx(np.array([[np.cos(0.03), np.sin(0.03) / 3], [-3 * np.sin(0.03), np.cos(0.03)]]), abs=1e-12)
        == sampled.A
    )
