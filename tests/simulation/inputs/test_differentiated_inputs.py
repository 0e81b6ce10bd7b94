"""Inputs in constraints: derivatives come from expressions and functions of time; tables and jumps are refused."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.compilation import counts
from daedalus.model.system.closed_loop import opened
from daedalus.reduction.reduction_record import Reduction


def follower(times=1):
    """x = u as a constraint on a mass: z is the first or second derivative of u."""
    m = dd.Model("follower")
    x, z, u = m.state("x", start=None, rate=None), m.algebraic("z"), m.input("u")
    m.equation(m.der(x) if times == 1 else m.der(m.der(x)), z, name="balance")
    m.equation(x, u, name="path")
    return m


def hanging():
    """A pendulum of length 1 whose pivot is moved sideways by an input: index 3."""
    m = dd.Model("hanging")
    q = m.coordinate("q", 2, start=[0.0, -1.0], rate=[0.0, 0.0])
    pivot = m.input("pivot")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ((q[0] - pivot) ** 2 + q[1] ** 2 - 1) / 2)
    return m


@pytest.mark.parametrize("given", ["expression", "function"])
def test_the_nilpotent_chain_hands_out_the_derivatives_of_its_input(given):
    m = catalogue.load("nilpotent_3").model
    signal = {"expression": ca.sin(3 * m.time), "function": lambda t: np.sin(3 * t)}[given]
    start = dd.initialise(m, free=["x"], inputs={"u": signal})
    tr = dd.simulate(m, 2.0, start=start, inputs={"u": signal}, rtol=1e-9)
    t = tr.time
    wanted = np.column_stack([9 * np.sin(3 * t), -3 * np.cos(3 * t), -np.sin(3 * t)])
    assert np.abs(tr["x"] - wanted).max() < 1e-12
    assert np.abs(tr["u"] - np.sin(3 * t)).max() < 1e-15
    assert opened(tr.system).part(Reduction).inputs == {"u": 3}
    assert "the reduction differentiates the input u 3 times" in tr.notes


def test_a_moved_pivot_is_that_of_the_pendulum_in_its_angle():
    tr = dd.simulate(hanging(), 2.0, inputs={"pivot": lambda t: 0.3 * (1 - np.cos(4 * t))}, rtol=1e-10)
    m = dd.Model("angle")
    a = m.state("a", start=0.0, rate=0.0)
    m.equation(m.der(m.der(a)), -9.81 * ca.sin(a) - 0.3 * 16 * ca.cos(4 * m.time) * ca.cos(a))
    angle = dd.simulate(m, 2.0, rtol=1e-12)["a"][-1]
    moved = 0.3 * (1 - np.cos(8.0))
    assert tr["q"][-1] == pytest.approx([moved + np.sin(angle), -np.cos(angle)], abs=1e-8)
    assert max(tr.drift().values()) < 1e-14


def test_numbers_are_constant_and_other_inputs_stay_what_they_are():
    m = hanging()
    wind = m.input("wind")
    m.generalised_force(m["q"], ca.vertcat(wind, 0))
    table = dd.signal([0.0, 1.0], [0.0, 2.0])
    tr = dd.simulate(m, 2.0, inputs={"pivot": 0.0, "wind": table}, rtol=1e-9)
    assert tr["wind"][-1] == 2.0
    assert np.abs(tr["pivot"]).max() == 0.0
    assert abs(tr["q"][-1, 0]) > 0.01


def test_the_same_function_again_compiles_nothing():
    m = hanging()

    def run(amplitude):
        return dd.simulate(m, 0.5, inputs={"pivot": lambda t: amplitude * np.sin(t) ** 2})["q"][-1, 0]

    first = run(0.1)
    before = counts()
    assert run(0.1) == first
    assert counts() == before
    assert run(0.2) != first


def test_prepare_and_sweep_take_them_too():
    m = hanging()
    m.parameter("unused", 1.0)
    inputs = {"pivot": lambda t: 0.1 * np.sin(t) ** 2}
    end = dd.simulate(m, 0.5, inputs=inputs)["q"][-1]
    assert dd.prepare(m, 0.5, inputs=inputs)()[-1, :2] == pytest.approx(end, abs=1e-12)
    en = dd.sweep(m, 0.5, over={"unused": [1.0, 2.0]}, inputs=inputs)
    assert en["q"].values[1, -1] == pytest.approx(end, abs=1e-9)


def test_how_often_is_reported_by_reduce():
    m = follower(2)
    n = dd.reduce(m, inputs={"u": ca.sin(m.time)})
    assert n.reduction.inputs == {"u": 2}
    assert "  input u differentiated twice" in str(n.reduction)
    assert dd.reduce(hanging(), inputs={"pivot": 0.0}).reduction.inputs == {"pivot": 2}
    assert dd.reduce(follower(2), inputs={"u": 1.0}, stabilise="ggl").reduction.inputs == {"u": 2}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            dd.signal([0.0, 0.5], [0.0, 1.0]),
            "The input u is a held table, and the model differentiates it once.\n"
            "  signal(2 times from 0 to 0.5, hold)\n"
            "  it stands in path, which is differentiated\n"
            "  Because each step of the table would become an impulse.\n"
            '  Try: dd.signal(times, values, kind="spline"), a smooth function of time, inputs={"u": lambda t: ...}, '
            "or a filter, m.equation(T * m.der(y) + y, u) with the state y in the place of u",
        ),
        (lambda t: 1.0 if t > 0.5 else 0.0, "The input u jumps or has a kink, and the model differentiates it once."),
        (lambda t: abs(t - 0.5), "The input u jumps or has a kink"),
        (
            lambda t: [1, 2, 3][int(t)],
            "The function for input u cannot be differentiated, and the model needs that once",
        ),
    ],
)
def test_what_has_no_derivative_is_refused_with_the_remedy(value, text):
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(follower(), 1.0, inputs={"u": value})
    assert str(caught.value).startswith(text)


def test_a_linear_table_has_one_derivative_and_a_spline_as_many_as_its_order():
    bend = dd.signal([0.0, 0.5, 1.0], [0.0, 1.0, 1.5], kind="linear")
    tr = dd.simulate(follower(), 1.0, inputs={"u": bend}, save_at=[0.25, 0.75])
    assert tr["x"] == pytest.approx([0.5, 1.25], abs=1e-12)
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(follower(2), 1.0, inputs={"u": bend})
    assert str(caught.value).startswith(
        "The input u is a linear table, and the model differentiates it twice.\n"
        "  signal(3 times from 0 to 1, linear)\n"
        "  it stands in path, which is differentiated\n"
        "  Because at each point of the table the slope jumps: the first derivative jumps and the second is an "
        "impulse.\n"
    )
    times = np.linspace(0.0, 1.0, 21)
    wave = dd.signal(times, np.sin(3 * times), kind="spline", order=5)
    tr = dd.simulate(follower(2), 1.0, inputs={"u": wave}, save_at=[0.4])
    assert tr["x"][-1] == pytest.approx(np.sin(1.2), abs=1e-9)


def test_an_input_without_a_value_and_one_misspelt():
    with pytest.raises(dd.InputError, match="The input u is differentiated twice and has no value") as caught:
        dd.simulate(follower(2), 1.0)
    assert "or 2 filters T * m.der(y) + y = u one behind the other" in str(caught.value)
    with pytest.raises(dd.InputError, match=r"has no input 'v'(.|\n)*Try: 'u'"):
        dd.simulate(follower(2), 1.0, inputs={"v": 1.0})


def test_the_remedy_works_a_filter_in_front():
    """As many filters as differentiations: a held table then drives the constraint without impulses."""
    m = dd.Model("filtered")
    x, z, u, y = m.state("x", start=0.0), m.algebraic("z"), m.input("u"), m.state("y", start=0.0)
    m.equation(m.der(x), z, name="balance")
    m.equation(x, y, name="path")
    m.equation(0.1 * m.der(y) + y, u, name="filter")
    tr = dd.simulate(m, 2.0, inputs={"u": dd.signal([0.0, 1.0], [0.0, 1.0])}, rtol=1e-9)
    assert tr["x"][-1] == pytest.approx(1 - np.exp(-10.0), rel=1e-7)
