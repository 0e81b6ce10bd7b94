"""Derivatives of inputs, m.der(u): filled from expressions, functions and tables in every verb, or refused."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

TIMES = np.linspace(0.0, 1.0, 11)


def high_pass():
    """v' = u' - v; with u = t² it is v = 2 (t - 1 + exp(-t))."""
    m = dd.Model("high pass")
    v, u = m.state("v", start=0.0), m.input("u")
    m.equation(m.der(v), m.der(u) - v)
    return m


def follower():
    """x'' = force with x = u + u'/2: the constraint differentiates u three times."""
    m = dd.Model("follower")
    x, force, u = m.state("x"), m.algebraic("force"), m.input("u")
    m.equation(m.der(m.der(x)), force, name="motion")
    m.equation(x, u + 0.5 * m.der(u), name="path")
    return m


AT_THE_END = 2 * np.exp(-1.0)
SQUARES = {
    "expression": lambda m: m.time**2,
    "function": lambda m: lambda t: t**2,
    "spline": lambda m: dd.signal(TIMES, TIMES**2, kind="spline"),
    "spline of order 5": lambda m: dd.signal(TIMES, TIMES**2, kind="spline", order=5),
}


@pytest.mark.parametrize("method", ["auto", "radau5", "rodas5p"])
@pytest.mark.parametrize("given", SQUARES)
def test_the_derivative_of_an_input_is_filled(given, method):
    m = high_pass()
    tr = dd.simulate(m, 1.0, inputs={"u": SQUARES[given](m)}, method=method, rtol=1e-9, atol=1e-11)
    assert tr["v"][-1] == pytest.approx(AT_THE_END, abs=1e-8)
    assert tr.at(0.5)["u_dot"] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.document(
    "002",
    "equations with derivatives of inputs, φ(y⁽ᵐ⁾, …, u⁽ᵐ⁻¹⁾, …, u) = 0",
    '`m.der(u)`, `dd.signal(kind="spline")`',
)
def test_any_order_and_the_chain_rule():
    m = dd.Model("orders")
    x, u = m.state("x", start=0.0), m.input("u", 2)
    product = u[0] * u[1]
    m.equation(m.der(x), m.der(m.der(m.der(product))))
    assert list(m.inputs) == ["u", "u_dot", "u_ddot", "u_dddot"]
    tr = dd.simulate(m, 1.0, inputs={"u": lambda t: [t**2, t**3]}, rtol=1e-10, atol=1e-12)
    assert tr["x"][-1] == pytest.approx(20.0, abs=1e-8)  # (t⁵)'' at t = 1
    assert m.inputs["u_dot"].shape == (2,)


def test_units_and_numbers():
    m = dd.Model("units")
    x, u = m.state("x", start=1.0), m.input("u", unit="m", lower=0.0, upper=1.0)
    m.equation(m.der(x), m.der(u) - x)
    assert m.inputs["u_dot"].unit == "m/s"
    assert m.inputs["u_dot"].upper == (np.inf,)
    assert dd.simulate(m, 1.0, inputs={"u": 0.3})["x"][-1] == pytest.approx(np.exp(-1), abs=1e-6)
    by_hand = dd.simulate(m, 1.0, inputs={"u": 0.3, "u_dot": 1.0})
    assert by_hand["x"][-1] == pytest.approx(1.0, abs=1e-9)


def test_feedback_is_differentiated_along_the_motion():
    """v' = -2 v' - v."""
    m = high_pass()
    tr = dd.simulate(m, 1.0, start={"v": 1.0}, inputs={"u": -2 * m["v"]}, rtol=1e-9)
    assert tr["v"][-1] == pytest.approx(np.exp(-1 / 3), abs=1e-8)
    n = dd.Model("second")
    w, u = n.state("w", start=1.0), n.input("u")
    n.equation(n.der(w), n.der(n.der(u)) - w)
    with pytest.raises(dd.InputError, match="no derivative of order 2 in the symbols of the model"):
        dd.simulate(n, 1.0, inputs={"u": -2 * w})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (dd.signal([0.0, 0.5], [0.0, 1.0]), "The input u is a held table, and the model differentiates it once."),
        (lambda t: abs(t - 0.5), "The input u jumps or has a kink, and the model differentiates it once."),
        (lambda t: [0.0, 1.0][int(t)], "The function for input u cannot be differentiated"),
    ],
)
def test_what_jumps_is_refused(value, words):
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(high_pass(), 1.0, inputs={"u": value})
    assert str(caught.value).startswith(words)


def test_a_linear_table_gives_held_slopes():
    ramp = dd.signal([0.0, 0.5, 1.0], [0.0, 1.0, 1.0], kind="linear")
    tr = dd.simulate(high_pass(), 1.0, inputs={"u": ramp}, rtol=1e-9, atol=1e-11)
    assert tr["v"][-1] == pytest.approx(2 * (1 - np.exp(-0.5)) * np.exp(-0.5), abs=1e-9)
    constant = dd.signal([0.0, 0.5], [3.0, 3.0])
    assert dd.simulate(high_pass(), 1.0, inputs={"u": constant})["v"][-1] == 0.0


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_constraints_differentiate_what_is_differentiated_already(method):
    m, times = follower(), np.linspace(0.0, 1.0, 41)
    end = np.sin(1.0) + 0.5 * np.cos(1.0)
    for value in (ca.sin(m.time), dd.signal(times, np.sin(times), kind="spline", order=7)):
        tr = dd.simulate(m, 1.0, inputs={"u": value}, method=method, rtol=1e-8)
        assert tr["x"][-1] == pytest.approx(end, abs=1e-9)
        assert tr["force"][-1] == pytest.approx(-end, abs=2e-5)
    with pytest.raises(dd.InputError, match=r"is a spline of order \d, and the model differentiates it"):
        dd.simulate(m, 1.0, inputs={"u": dd.signal(times, np.sin(times), kind="spline", order=2)}, method=method)


def test_reduce_leaves_the_derivatives_open():
    n = dd.reduce(follower())
    assert list(n.inputs) == ["u", "u_dot", "u_ddot", "u_dddot"]
    tr = dd.simulate(n, 1.0, inputs={"u": ca.sin(n.time)})
    assert tr["force"][-1] == pytest.approx(-np.sin(1.0) - 0.5 * np.cos(1.0), abs=1e-9)


def test_analysis_and_start_know_that_one_is_the_derivative_of_the_other():
    m = follower()
    report = dd.analyse(m)
    assert report.index == 3
    assert [text for text, _ in report.hidden_constraints][-1].endswith("force - (u_ddot + 0.5*u_dddot) = 0")
    for value in (ca.sin(m.time), np.sin, lambda t: ca.sin(t), dd.signal(TIMES, np.sin(TIMES), kind="spline", order=7)):
        assert dd.initialise(m, inputs={"u": value})["force"] == pytest.approx(-0.5, abs=1e-4)


def test_prepare_sweep_and_sensitivities():
    m = high_pass()
    run = dd.prepare(m, 1.0, inputs={"u": m.time**2}, save_at=[1.0], rtol=1e-9, atol=1e-11)
    assert run()[-1, 0] == pytest.approx(AT_THE_END, abs=1e-8)
    en = dd.sweep(m, 1.0, over={"v": [0.0, 1.0]}, inputs={"u": m.time**2}, save_at="end")
    assert en["v"].values.ravel() == pytest.approx([AT_THE_END, AT_THE_END + np.exp(-1)], abs=1e-5)
    sens = dd.sensitivities(m, 1.0, inputs={"u": m.time**2})
    assert sens.N.shape == (1, 1)
    assert sens.N[0, 0] == 0.0
    assert sens.M[0, 0] == pytest.approx(np.exp(-1), abs=1e-6)


def test_linearise_keeps_the_input_alone():
    m = high_pass()
    m.output("y", m["v"] + m.der(m.der(m["u"])))
    lin = dd.linearise(m)
    assert lin.inputs == ("u",)
    assert lin.transfer(2j)[0, 0] == pytest.approx(2j / (2j + 1) + (2j) ** 2)
    assert lin.poles() == pytest.approx([-1.0])
    assert "u, followed, u_dot, u_ddot added: derivatives of inputs follow from the inputs" in lin.notes


@pytest.mark.parametrize(
    ("verb", "what"),
    [
        (lambda m: dd.flow(m, step=0.1), "A flow"),
        (lambda m: dd.OptimalControl(m, 1.0), "A flow"),
        (lambda m: dd.sensitivities(m, 1.0, inputs={"u": 0.0}, grid=3), "A grid of intervals"),
        (lambda m: dd.linearise(m, along=dd.simulate(m, 1.0, inputs={"u": 0.0})), "A linearisation along a run"),
    ],
)
def test_verbs_that_choose_inputs_step_by_step_refuse(verb, what):
    with pytest.raises(dd.InputError) as caught:
        verb(high_pass())
    assert str(caught.value) == (
        f"{what} takes no derivatives of inputs.\n"
        "  the model contains u_dot\n"
        "  Because u may jump from one interval to the next, and its derivative would be an impulse.\n"
        "  Try: a state u with m.equation(m.der(u), rate), and rate as the input"
    )


@pytest.mark.parametrize("joined", ["connect", "inputs"])
def test_a_signal_to_a_part_is_differentiated_too(joined):
    m = dd.Model("outer")
    a = m.state("a", start=1.0)
    m.equation(m.der(a), -a)
    part = m.include("part", high_pass(), inputs={"u": a} if joined == "inputs" else None)
    if joined == "connect":
        m.connect(a, part.u)
    assert dd.simulate(m, 1.0, rtol=1e-9)["part.v"][-1] == pytest.approx(-np.exp(-1.0), abs=1e-8)  # v = -t exp(-t)


def test_der_of_an_input_that_is_joined_already():
    m, part = dd.Model("outer"), dd.Model("part")
    x, u = part.state("x", start=0.0), part.input("u")
    part.equation(part.der(x), u)
    inner = m.include("inner", part)
    m.connect(m.time**2, inner.u)
    m.output("slope", m.der(inner.u))
    assert dd.simulate(m, 1.0)["slope"][-1] == pytest.approx(2.0)


def test_copies_files_and_pickles_keep_it(tmp_path):
    m = high_pass()
    for twin in (m.copy(), pickle.loads(pickle.dumps(m))):
        tr = dd.simulate(twin, 1.0, inputs={"u": dd.signal(TIMES, np.sin(TIMES), kind="spline")})
        tr.save(tmp_path / "run.nc")
        back = dd.load(tmp_path / "run.nc")
        assert back.at(0.3)["u_dot"] == tr.at(0.3)["u_dot"] == pytest.approx(np.cos(0.3), abs=1e-3)
