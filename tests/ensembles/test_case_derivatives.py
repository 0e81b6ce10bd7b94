"""Derivatives of every case in the same kernels: equal to dd.sensitivities, which gives those that no lane has."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.compilation.lanes.machine import lane_width
from daedalus.differentiation.case import given_states
from daedalus.differentiation.directions import read_directions
from daedalus.differentiation.variational.tangent_start import StartMoves
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.plant.solvable import solvable


def pendulum():
    m = dd.Model("pendulum")
    q = m.state("q", 2, start=[1.0, 0.0])
    length, u = m.parameter("length", 1.0), m.input("u")
    m.equation(m.der(q), ca.vertcat(q[1], -9.81 / length * ca.sin(q[0]) - 0.1 * q[1] + u))
    return m


def pendulum_on_a_rod():
    """Index 3; the height of its start follows from the length."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.6, None], rate=[0.0, 0.0])
    length, mass = m.parameter("length", 1.0), m.parameter("mass", 1.0)
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * mass * q[1])
    m.constraint("rod", ca.sumsqr(q) - length**2)
    return m


def ball():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    bounce = m.parameter("bounce", 0.8)
    m.equation([m.der(h), m.der(v)], [v, -9.81])
    m.event("floor", h, direction=-1, reset={"v": -bounce * v})
    return m


def is_close(found, expected, rtol=1e-5, atol=1e-7):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=atol)


@pytest.mark.parametrize("options", [{"method": "tsit5", "rtol": 1e-9}, {"method": "rk4", "step": 0.005}])
def test_derivatives_equal_sensitivities_case_by_case(options):
    m, lengths = pendulum(), np.linspace(0.5, 2.0, 5)
    given = {"inputs": {"u": 0.2}, **options}
    wrt = ["length", "q", "u"]
    en = dd.sweep(m, 1.5, over={"length": lengths}, save_at=[0.7, 1.5], wrt=wrt, on="cpu", **given)
    assert en.notes == (f"5 cases on {lane_width()} lanes of this processor, by {options['method']}",)
    assert en.d("q", "length").dims == ("length", "time", "q_index")
    assert en.d("q", "q").dims == ("length", "time", "q_index", "q_by")
    for k in (0, 4):
        sens = dd.sensitivities(m, 1.5, parameters={"length": lengths[k]}, **given)
        is_close(en.d("q", "length").values[k, -1], np.ravel(sens.d("q", "length")))
        is_close(en.d("q", "u").values[k, -1], np.ravel(sens.d("q", "u")))
        is_close(en.d("q", "q").values[k, -1], sens.M)
        # The Fisher information of the parameters in measurements at both times.
        fisher = (en.d("q", "length").values[k] ** 2).sum()
        is_close(fisher, sens.fisher("q", times=[0.7, 1.5]).sel(p="length", p_2="length"))


def test_the_gradient_of_a_mean_comes_with_it():
    m, options = pendulum(), {"inputs": {"u": 0.2}, "save_at": [0.7, 1.5], "method": "tsit5", "rtol": 1e-9}
    drawn = dd.sample({"q[0]": dd.normal(1.0, 0.2)}, 200, kind="sobol")
    found = dd.sweep(m, 1.5, over=drawn, summary=("mean", "max"), wrt=["length", "u"], **options)
    each = dd.sweep(m, 1.5, over=drawn, wrt=["length", "u"], **options)
    for by in ("length", "u"):
        assert found.d("q", by).dims == ("summary", "time", "q_index")
        expected = each.d("q", by).mean("case")
        np.testing.assert_allclose(found.d("q", by).sel(summary="mean").values, expected.values, rtol=1e-12)
    # The mean itself, at values a little apart.
    step = 1e-5
    above, below = (
        dd.sweep(m, 1.5, over=drawn, summary=("mean",), parameters={"length": 1.0 + h}, **options)["q"].values[0]
        for h in (step, -step)
    )
    gradient = found.d("q", "length").sel(summary="mean").values
    np.testing.assert_allclose(gradient, (above - below) / (2 * step), rtol=1e-5, atol=1e-6)


def test_constrained_models_have_those_of_differences_and_stay_tangent():
    m, lengths, step = pendulum_on_a_rod(), np.array([1.0, 1.2, 1.5]), 1e-5
    options = {"save_at": np.linspace(0.0, 2.0, 5), "on": "cpu", "rtol": 1e-10, "atol": 1e-12, "method": "tsit5"}
    en = dd.sweep(m, 2.0, over={"length": lengths}, wrt=["length", "mass"], **options)
    assert en.notes == (f"3 cases on {lane_width()} lanes of this processor, by tsit5",)
    above, below = (dd.sweep(m, 2.0, over={"length": lengths + h}, **options) for h in (step, -step))
    for name in ("q", "q_dot", "rod"):
        differences = (above[name].values - below[name].values) / (2 * step)
        is_close(en.d(name, "length").values, differences, rtol=1e-6, atol=1e-6)
    # q q = length²: its derivatives hold as well as the constraint itself.
    q, S = en["q"].values, en.d("q", "length").values
    assert np.abs((q * S).sum(axis=-1) - lengths[:, None]).max() < 1e-14
    # A mass moves nothing, but it pulls at the rod.
    assert np.abs(en.d("q", "mass").values).max() < 1e-10
    is_close(en.d("rod", "mass").values, en["rod"].values, rtol=1e-8)


@pytest.mark.parametrize(("name", "span", "wrt", "kept"), [
    ("pendulum_3d", 2.0, ["length", "position[1]"], ["position", "position_dot", "cable"]),
    ("delta_robot", 0.3, ["long_arm"], ["position", "angle"]),
])  # fmt: skip
def test_constrained_mechanisms_have_those_of_sensitivities(name, span, wrt, kept):
    known, masses = catalogue.load(name), np.array([0.9, 1.0, 1.1])
    given = {"start": known.start, "inputs": known.inputs, "method": "tsit5", "rtol": 1e-8}
    en = dd.sweep(known.model, span, over={"mass": masses}, outputs=kept, save_at="end", wrt=wrt, on="cpu", **given)
    assert en.notes == (f"3 cases on {lane_width()} lanes of this processor, by tsit5",)
    for k in (0, 2):
        sens = dd.sensitivities(known.model, span, wrt=wrt, parameters={"mass": masses[k]}, **given)
        for of in kept:
            for by in wrt:
                is_close(en.d(of, by).values[k, 0], sens.d(of, by), rtol=1e-5, atol=1e-5)


def test_cases_left_to_the_scalar_core_have_its_derivatives():
    m, dampings, times = dd.Model("van der Pol"), [1.0, 500.0], [0.5, 2.0]
    x, v, damping = m.state("x", start=2.0), m.state("v", start=0.0), m.parameter("damping", 1.0)
    m.equation([m.der(x), m.der(v)], [v, damping * (1 - x**2) * v - x])
    en = dd.sweep(m, 2.0, over={"damping": dampings}, on="cpu", save_at=times, wrt="damping")
    told = f"2 cases on {lane_width()} lanes of this processor, by dop853; 1 of them left to the scalar core"
    assert en.notes == (told,)
    sens = [dd.sensitivities(m, 2.0, parameters={"damping": value}, wrt="damping").at(times) for value in dampings]
    np.testing.assert_array_equal(en.d("x", "damping").values[1], sens[1].d("x", "damping"))
    is_close(en.d("x", "damping").values[0], sens[0].d("x", "damping"), rtol=1e-3)


def test_models_without_lanes_have_derivatives_one_by_one():
    over, fall = {"bounce": [0.5, 0.8]}, np.sqrt(2 / 9.81)
    en = dd.sweep(ball(), 0.8, over=over, save_at=[0.2, 0.8], wrt=["bounce", "h"], rtol=1e-9)
    # From a higher start it meets the floor later, and faster.
    after, later, faster = 0.8 - fall, 1 / (9.81 * fall), 1 / fall
    for k, bounce in enumerate(over["bounce"]):
        is_close(en.d("h", "bounce").values[k], [0.0, 9.81 * fall * after])
        higher = bounce * (faster * after - 9.81 * fall * later) + 9.81 * after * later
        is_close(en.d("h", "h").values[k], [1.0, higher])
    assert en.notes == ("2 cases one by one: fewer than a kernel for many is worth",)
    stiff = dd.sweep(pendulum(), 1.0, over={"length": [1.0]}, inputs={"u": 0.0}, wrt=["length"], method="radau5")
    sens = dd.sensitivities(pendulum(), 1.0, inputs={"u": 0.0}, wrt=["length"], method="radau5")
    is_close(stiff.d("q", "length").values[0, -1], sens.d("q", "length"))


def test_a_failed_case_has_none_and_says_why():
    m = dd.Model("explosion")
    x, rate = m.state("x", start=1.0), m.parameter("rate", 1.0)
    m.equation(m.der(x), rate * x**2)
    for on in ("auto", "cpu"):
        en = dd.sweep(m, 1.0, over={"rate": [0.5, 2.0]}, save_at=[0.25, 1.0], wrt=["rate"], on=on, rtol=1e-9)
        is_close(en.d("x", "rate").values[0], [0.25 / (1 - 0.125) ** 2, 1.0 / (1 - 0.5) ** 2])
        assert np.isnan(en.d("x", "rate").values[1]).all()
        assert en.success.values.tolist() == [True, False]
    summed = dd.sweep(m, 1.0, over={"rate": [0.5, 2.0]}, save_at="end", wrt=["rate"], summary=("mean",), rtol=1e-9)
    is_close(summed.d("x", "rate").values, [[4.0]])
    assert [values for values, _ in summed.failed] == [{"rate": 2.0}]


def test_what_has_no_derivative_is_told():
    with pytest.raises(dd.InputError, match="no variable 'q by length'"):
        dd.sweep(pendulum(), 1.0, over={"length": [1.0]}, inputs={"u": 0.0}).d("q", "length")
    with pytest.raises(dd.InputError, match="There is no derivative by rod"):
        dd.sweep(pendulum_on_a_rod(), 1.0, over={"length": [1.0]}, wrt=["rod"])


@pytest.mark.parametrize(
    "model", [pendulum_on_a_rod(), catalogue.load("delta_robot").model], ids=["rod", "delta robot"]
)
def test_starts_of_many_cases_move_as_each_alone(model):
    system = solvable(model)
    moves = StartMoves(model, system, plant_of(system).form, given_states(system, None))
    directions = read_directions(system, ("start", "parameters"), 0)
    generator = np.random.default_rng(1)
    x, p = (np.nan_to_num(system.start[letter], nan=-0.8) for letter in ("x", "p"))
    x, p = (row * (1 + 0.05 * generator.normal(size=(4, len(row)))) for row in (x + 0.1, p))
    u = np.ones((4, system.sizes["u"]))
    found = moves.many(0.5, x, u, p, directions)
    for k in range(4):
        np.testing.assert_allclose(found[k], moves.at((0.5, x[k], u[k], p[k]), directions).S, rtol=1e-9, atol=1e-12)
