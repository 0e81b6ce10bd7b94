"""Tables in equations that hold with their derivatives: refused where an impulse would be lost, else followed."""

import numpy as np
import pytest

import daedalus as dd

RAMP = dd.signal([0.0, 0.5, 1.0], [0.0, 1.0, 1.0], kind="linear")


def capacitor():
    """A voltage source across a capacitor, index 2: the current is the slope of the voltage."""
    m = dd.Model("capacitor")
    v, current, u = m.state("v"), m.algebraic("current"), m.input("u")
    m.equation(m.der(v), current)
    m.equation(v, u, name="source")
    return m


def follower():
    """A mass on a given path, index 3."""
    m = dd.Model("follower")
    x, v, force, u = m.state("x"), m.state("v"), m.algebraic("force"), m.input("u")
    m.equation([m.der(x) - v, m.der(v) - force])
    m.equation(x, u, name="path")
    return m


@pytest.mark.parametrize("method", ["auto", "radau5", "radau9", "bdf"])
def test_a_step_of_the_source_is_an_impulse_of_the_current(method):
    # Radau went on from the old voltage and left a current of 6 where there is none.
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(capacitor(), 1.0, inputs={"u": dd.signal([0, 0.5], [0, 1])}, method=method)
    assert str(caught.value).startswith(
        "The input u is a held table, and the model differentiates it once.\n"
        "  signal(2 times from 0 to 0.5, hold)\n"
        "  it stands in source, which is differentiated\n"
        "  Because each step of the table would become an impulse.\n"
    )


def test_prepared_runs_and_sweeps_refuse_it_too():
    held = {"u": dd.signal([0, 0.5], [0, 1])}
    with pytest.raises(dd.InputError, match="The input u is a held table"):
        dd.prepare(capacitor(), 1.0, inputs=held, method="radau5")
    with pytest.raises(dd.InputError, match="The input u is a held table"):
        dd.sweep(capacitor(), 1.0, over={"v": [0.0]}, inputs=held, method="radau5")


@pytest.mark.parametrize("method", ["radau5", "bdf"])
def test_the_slope_of_a_linear_table_is_followed_by_implicit_methods(method):
    tr = dd.simulate(capacitor(), 1.0, inputs={"u": RAMP}, method=method, max_step=0.1)
    assert tr.success
    assert tr["v"] == pytest.approx(np.interp(tr.time, RAMP.times, np.ravel(RAMP.values)), abs=1e-6)
    assert tr["current"][tr.time < 0.5] == pytest.approx(2, abs=1e-4)
    assert tr["current"][tr.time > 0.5] == pytest.approx(0, abs=1e-4)


def test_a_bend_of_the_path_is_an_impulse_of_the_force():
    for method in ("auto", "radau5"):
        with pytest.raises(dd.InputError, match="The input u is a linear table, and the model differentiates it"):
            dd.simulate(follower(), 1.0, inputs={"u": RAMP}, method=method)


@pytest.mark.parametrize(
    "table", [dd.signal([0.0], [2.0]), dd.signal([0.0, 0.5], [2.0, 2.0]), dd.signal([0.0, 1.0], [2.0, 3.0])]
)
def test_tables_without_a_jump_in_the_span_are_fine(table):
    tr = dd.simulate(capacitor(), 1.0, inputs={"u": table}, method="radau5")
    assert tr.success
    assert tr["v"][:-1] == pytest.approx(2.0)
    assert tr["current"][:-1] == pytest.approx(0.0, abs=1e-9)


def test_tables_that_are_not_differentiated_may_jump():
    m = dd.Model("pulled pendulum")
    p, v, z, u = m.state("p", 2, start=[0.0, -1.0]), m.state("v", 2, start=[0.0, 0.0]), m.algebraic("z"), m.input("u")
    m.equation(m.der(p), v)
    m.equation(m.der(v), [u - z * p[0], -9.81 - z * p[1]])
    m.equation(p[0] ** 2 + p[1] ** 2, 1)
    push = {"u": dd.signal([0.0, 0.5], [0.0, 1.0])}
    radau = dd.simulate(m, 1.0, inputs=push, method="radau5", rtol=1e-8)
    assert radau["p"][-1] == pytest.approx(dd.simulate(m, 1.0, inputs=push, rtol=1e-10)["p"][-1], abs=1e-7)
