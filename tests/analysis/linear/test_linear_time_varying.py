import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.linear.linearise import linearise

TIGHT = {"rtol": 1e-11, "atol": 1e-13}


def pendulum(reduced: bool) -> dd.Model:
    """A point mass on a rod in Cartesian coordinates: index 3, or 1 with the constraint differentiated twice."""
    m = dd.Model("pendulum")
    q, v = m.state("q", 2, start=[0.6, -0.8]), m.state("v", 2, start=[0.0, 0.0])
    pull = m.algebraic("pull")
    m.equation(m.der(q), v)
    m.equation(m.der(v), ca.vertcat(0, -9.81) - pull * q)
    m.equation(ca.sumsqr(v) + q.T @ m.der(v) if reduced else q.T @ q - 1.0)
    return m


def index_one() -> dd.Model:
    m = dd.Model("index one")
    x = m.state("x", 2, start=[1.0, 0.3])
    z = m.algebraic("z")
    u = m.input("u")
    m.equation(m.der(x), [z, -x[0] + u * x[1]])
    m.equation(2 * z, x[1] - 0.5 * x[0] * x[1] + u**2)
    m.output("rate", m.der(x[0]) * x[1])
    return m


def changes(model, names, direction, nominal, times, sizes, inputs=None):
    """For every size, what is left of the change of each name when the linear prediction is taken away."""
    tr = dd.simulate(model, times[-1], start=nominal, inputs=inputs, **TIGHT)
    ltv = linearise(model, along=tr)
    left = []
    for size in sizes:
        start = {name: np.asarray(nominal[name]) + size * np.asarray(d) for name, d in direction["start"].items()}
        drive = {name: _added(inputs[name], size * d) for name, d in direction.get("inputs", {}).items()}
        other = dd.simulate(model, times[-1], start={**nominal, **start}, inputs={**(inputs or {}), **drive}, **TIGHT)
        predicted = ltv.respond(
            times,
            start={name: size * np.asarray(d) for name, d in direction["start"].items()},
            inputs={name: size * d for name, d in direction.get("inputs", {}).items()},
        )
        left.append([np.abs(other.at(times)[name] - tr.at(times)[name] - predicted[name]).max() for name in names])
    return np.array(left)


def _added(signal, change):
    if callable(signal) and not hasattr(signal, "times"):
        return lambda t: signal(t) + change
    if hasattr(signal, "times"):
        return dd.signal(signal.times, signal.values[:, 0] + change, signal.kind)
    return signal + change


@pytest.mark.parametrize(
    "drive",
    [
        0.5,
        lambda t: np.sin(3 * t),
        dd.signal([0.0, 0.71, 1.3], [0.5, -2.0, 1.0]),
        dd.signal([0.0, 2.0], [0, 1], "linear"),
    ],
)
def test_small_changes_are_met_to_second_order(drive):
    known = catalogue.load("cart_pendulum")
    left = changes(
        known.model,
        ["position", "angle", "angle_dot", "energy"],
        {"start": {"angle": 1.0, "position_dot": -0.5}, "inputs": {"force": 0.7}},
        {"angle": 0.5, "position_dot": 0.0},
        np.linspace(0.0, 2.0, 11),
        [4e-3, 2e-3, 1e-3],
        {"force": drive},
    )
    ratios = left[:-1] / left[1:]
    assert np.all(np.abs(ratios - 4) < 0.15), ratios


def test_algebraic_variables_and_outputs_to_second_order():
    left = changes(
        index_one(),
        ["x", "z", "rate"],
        {"start": {"x": [1.0, 0.5]}, "inputs": {"u": -0.3}},
        {"x": [1.0, 0.3]},
        np.linspace(0.0, 3.0, 7),
        [4e-3, 2e-3, 1e-3],
        {"u": 0.4},
    )
    ratios = left[:-1] / left[1:]
    assert np.all(np.abs(ratios - 4) < 0.15), ratios


def test_linear_system_gives_the_matrix_exponential():
    A = np.array([[0.0, 1.0, 0.0], [-4.0, -0.3, 1.0], [0.0, 0.0, -50.0]])
    m = dd.Model("linear")
    x = m.state("x", 3, start=[1.0, 0.0, 2.0])
    u = m.input("u")
    m.equation(m.der(x), ca.DM(A) @ x + ca.vertcat(0, 0, 1) * u)
    ltv = linearise(m, along=dd.simulate(m, 2.0, inputs={"u": 1.0}, rtol=1e-8))
    start = np.array([0.3, -1.0, 2.0])
    got = ltv.respond([0.0, 0.5, 2.0], start={"x": start}, rtol=1e-11)["x"]
    np.testing.assert_allclose(got, [expm(A * t) @ start for t in (0.0, 0.5, 2.0)], atol=1e-10)
    # A step of the input, by a table that jumps between the times asked for.
    big = np.zeros((4, 4))
    big[:3, :3], big[2, 3] = A, 1.0
    got = ltv.respond([0.0, 2.0], inputs={"u": dd.signal([0.0, 0.777], [0.0, 3.0])}, rtol=1e-11)
    np.testing.assert_allclose(got["x"][-1], (expm(big * 1.223) @ [0, 0, 0, 3.0])[:3], atol=1e-10)
    assert got["u"].tolist() == [0.0, 3.0]


def test_back_in_time_undoes_forth():
    known = catalogue.load("van_der_pol")
    ltv = linearise(known.model, along=dd.simulate(known.model, 3.0, **TIGHT))
    forth = ltv.respond([0.0, 3.0], start={"x": 1.0, "x_dot": -2.0}, rtol=1e-10)
    back = ltv.respond([3.0, 0.0], start={"x": forth["x"][-1], "x_dot": forth["x_dot"][-1]}, rtol=1e-10)
    np.testing.assert_allclose([back["x"][-1], back["x_dot"][-1]], [1.0, -2.0], rtol=1e-7)


def test_index_three_gives_what_index_one_gives():
    low, high = pendulum(True), pendulum(False)
    tr = dd.simulate(low, 1.5, **TIGHT)
    # A change along the constraint: turn q a little, with v at rest.
    start = {"q": [0.8, 0.6]}
    times = np.linspace(0.0, 1.5, 6)
    one = linearise(low, along=tr).respond(times, start=start)
    three = linearise(high, along=tr).respond(times, start=start)
    np.testing.assert_allclose(three["q"], one["q"], atol=1e-7)
    np.testing.assert_allclose(three["v"], one["v"], atol=1e-5)
    np.testing.assert_allclose(three["pull"][1:], one["pull"][1:], atol=2e-2)
    assert one.notes == ()
    assert three.notes[0].startswith("index above 1:")


def test_matrices_on_dense_output():
    m = dd.Model("product")
    x, y = m.state("x", start=1.0), m.state("y", start=2.0)
    u = m.input("u")
    m.equation(m.der(x), x * y * u)
    m.equation(m.der(y), -y + m.time * x)
    m.output("sum", x * u)
    tr = dd.simulate(m, 1.0, inputs={"u": lambda t: np.cos(t)})
    ltv = linearise(m, along=tr)
    at = tr.at(0.37)
    u_now = np.cos(0.37)
    np.testing.assert_allclose(ltv.A(0.37), [[at["y"] * u_now, at["x"] * u_now], [0.37, -1]], rtol=1e-12)
    np.testing.assert_allclose(ltv.B(0.37), [[at["x"] * at["y"]], [0]], rtol=1e-12)
    np.testing.assert_allclose(ltv.C(0.37), [[u_now, 0]], rtol=1e-12)
    np.testing.assert_allclose(ltv.D(0.37), [[at["x"]]], rtol=1e-12)
    np.testing.assert_array_equal(ltv.E(0.37), np.eye(2))
    stack = ltv.A([0.1, 0.37])
    assert stack.shape == (2, 2, 2)
    np.testing.assert_array_equal(stack[1], ltv.A(0.37))
    lin = ltv.at(0.37)
    assert lin.warnings == ()
    assert lin.point["t"] == 0.37
    assert np.abs(lin.residual).max() < 1e-12
    assert (ltv.states, ltv.inputs, ltv.outputs, ltv.span) == (("x", "y"), ("u",), ("sum",), (0.0, 1.0))
    assert repr(ltv) == "LinearTimeVarying('product': 2 states, 1 input, 1 output, t = 0 to 1)"


def test_loops_closed_by_the_run_are_open_in_the_model():
    m = dd.Model("plant")
    x = m.state("x", start=1.0)
    u = m.input("u")
    m.equation(m.der(x), x + u)
    tr = dd.simulate(m, 1.0, inputs={"u": -3 * x}, **TIGHT)
    opened, closed = linearise(m, along=tr), linearise(tr.system, along=tr)
    assert (opened.A(0.5)[0, 0], closed.A(0.5)[0, 0]) == (1.0, -2.0)
    assert opened.respond([0.0, 1.0], start={"x": 1.0})["x"][-1] == pytest.approx(np.e)
    assert closed.respond([0.0, 1.0], start={"x": 1.0})["x"][-1] == pytest.approx(np.exp(-2.0))


# -- refusals --------------------------------------------------------------------------------------------------


def refused(call) -> str:
    with pytest.raises(dd.DaedalusError) as error:
        call()
    return str(error.value)


def test_refusals_name_the_culprit():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    push = m.input("push")
    m.equation(m.der(h), v)
    m.equation(m.der(v), push - 9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    tr = dd.simulate(m, 1.0, inputs={"push": 0.0})
    ltv = linearise(m, along=tr)
    text = refused(lambda: ltv.respond([0.0, 1.0], start={"h": 0.1}))
    assert text.startswith("The run jumps between these times.\n  event bounce at t = 0.451")
    assert "Try: times between two events" in text
    assert ltv.respond([0.5, 0.9], start={"v": 1.0})["h"][-1] == pytest.approx(0.4)
    assert refused(lambda: ltv.respond([0.0, 2.0])).startswith(
        "The run does not reach these times.\n  it covers t = 0 to 1"
    )
    assert refused(lambda: ltv.respond([0.0, 0.2, 0.1])).startswith("The times are not in order.")
    assert refused(lambda: ltv.respond([0.0, 0.1], start={"push": 1.0})).startswith("push is an input, not a state.")
    assert refused(lambda: ltv.respond([0.0, 0.1], inputs={"h": 1.0})).startswith("h is a state, not an input.")
    other = catalogue.load("cart_pendulum").model
    text = refused(lambda: linearise(other, along=tr).at(0.0))
    assert text.startswith("The run has no values of position, angle, position_dot, angle_dot.")
    assert "Try: dd.linearise(tr.system, along=tr)" in text


def test_singular_steps_are_told():
    m = dd.Model("loose")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    m.equation(m.der(x), y)
    m.equation(m.der(y), -x)
    tr = dd.simulate(m, 1.0)
    twice = dd.Model("twice")
    a, b = twice.state("x", start=0.0), twice.state("y", start=0.0)
    twice.equation(twice.der(a) + twice.der(b), -a - b)
    twice.equation(2 * twice.der(a) + 2 * twice.der(b), -2 * a - 2 * b)
    text = refused(lambda: linearise(twice, along=tr).respond([0.0, 1.0], start={"x": 1.0}))
    assert text.startswith("The linear system along the run of 'twice' does not determine its solution.")


def test_starts_in_the_order_of_the_states():
    """A list of all that `states` names, or of the differential ones, says the same as values by name."""
    m = dd.catalogue.load("pendulum_3d").model
    ltv = dd.linearise(m, along=dd.simulate(m, 0.5, inputs={"force": [0.0, 0.0, 0.0]}))
    assert len(ltv.states) == 7
    # Across the cable's plane, so that the change keeps its length.
    named = ltv.respond([0.0, 0.5], start={"position": [0.0, 1e-3, 0.0]})
    for listed in ([0.0, 1e-3, 0.0, 0.0, 0.0, 0.0], [0.0, 1e-3, 0.0, 0.0, 0.0, 0.0, 0.0]):
        assert ltv.respond([0.0, 0.5], start=listed).states == pytest.approx(named.states, abs=1e-15)
    with pytest.raises(dd.InputError, match=r"6 finite numbers, one for each of position\[0\], position\[1\]"):
        ltv.respond([0.0, 0.5], start=[1e-3, 0.0])
