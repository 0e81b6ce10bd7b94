"""What `dd.simulate` is asked for is checked before the model is: methods, tolerances, steps, times, starts."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def without_formula():
    """A model of index 1 that explicit methods cannot take: a misspelt name must not end in that reason."""
    m = dd.Model("diode")
    x, z, u = m.state("x", 2, start=[1.0, 0.0]), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), ca.vertcat(x[1], z - x[0]))
    m.equation(z + z**3, u)
    return m


WRONG = [
    ({"method": "radua5"}, "There is no method 'radua5'.", "'radau5'"),
    ({"method": "Radau5"}, "There is no method 'Radau5'.", "'radau5'"),
    ({"method": "RK45"}, "There is no method 'RK45'.", 'method="dopri5"'),
    ({"method": "Radau"}, "There is no method 'Radau'.", 'method="radau5"'),
    ({"method": "sdirk2"}, "The method 'sdirk2' needs a step.", 'an adaptive method such as "radau5"'),
    ({"method": "gauss7"}, "There is no method 'gauss7'.", 'method=dd.tableau("gauss7")'),
    ({"method": None}, "method= is a name or a Tableau.", 'method="tsit5"'),
    ({"method": "gauss2"}, "The method 'gauss2' needs a step.", 'an adaptive method such as "radau5"'),
    ({"rtol": "1e-6"}, "rtol must be a positive number.", "rtol=1e-6"),
    ({"rtol": None}, "rtol must be a positive number.", "rtol=1e-6"),
    ({"rtol": float("inf")}, "rtol must be a positive number.", "rtol=1e-6"),
    ({"atol": {"x": "small"}}, "atol of x does not fit.", 'atol={"x": 1e-9}'),
    ({"method": "gauss2", "step": float("inf")}, "step must be a positive number.", "a number > 0"),
    ({"method": "gauss2", "step": 1e-300}, "step is too short for the span.", "a longer step"),
    ({"save_at": "all"}, "save_at is a list of times.", "np.linspace(t0, t1, 101)"),
    ({"inputs": [0.0]}, "inputs= takes values by name.", 'inputs={"name": value}'),
]


@pytest.mark.parametrize(("options", "headline", "remedy"), WRONG, ids=[str(options) for options, *_ in WRONG])
def test_wrong_arguments_are_named_for_models_without_a_formula(options, headline, remedy):
    with pytest.raises(dd.InputError) as caught:
        dd.simulate(without_formula(), 1.0, **{"inputs": {"u": 0.0}, **options})
    first, *_, last = str(caught.value).splitlines()
    assert first == headline
    assert last.startswith("  Try: ")
    assert remedy in last


def test_a_step_too_short_is_told_when_the_way_is_known():
    m = without_formula()
    dd.simulate(m, 1e-13, inputs={"u": 0.0}, method="gauss2", step=1e-14)
    with pytest.raises(dd.InputError, match=r"1\.0e\+16 steps of 1e-14"):
        dd.simulate(m, 100.0, inputs={"u": 0.0}, method="gauss2", step=1e-14)


@pytest.mark.parametrize("method", ["auto", "tsit5", "bs3", "radau3", "radau5", "radau9", "bdf", "rodas5p"])
@pytest.mark.parametrize("atol", [0.0, {"v": 0.0, "still": 0.0}], ids=["a number", "by name"])
def test_an_absolute_tolerance_of_zero(method, atol):
    """A variable that is zero at the start, and one that is always."""
    m = dd.Model("oscillator")
    x, v, still = m.state("x", start=1.0), m.state("v", start=0.0), m.state("still", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    m.equation(m.der(still), 0)
    tr = dd.simulate(m, 1.0, method=method, atol=atol)
    assert tr.success, tr.stop_reason
    np.testing.assert_allclose([tr["x"][-1], tr["v"][-1]], [np.cos(1), -np.sin(1)], rtol=2e-5)
    assert np.all(tr["still"] == 0)


def pendulum():
    m = dd.Model("pendulum")
    q, v, force = m.state("q", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0]), m.algebraic("force")
    m.equation(m.der(q), v)
    m.equation(m.der(v), force * q - ca.vertcat(0, 9.81))
    m.equation(ca.sumsqr(q), 1, name="rod")
    return m


@pytest.mark.parametrize("method", ["auto", "radau3", "radau5", "radau9"])
def test_a_start_off_the_constraints_by_less_than_the_tolerance(method):
    """Seven digits of a point of the circle: explicit and implicit methods take them alike."""
    start = {"q": [0.7071068, -0.7071068], "v": [0.5, 0.50000001]}
    tr = dd.simulate(pendulum(), 0.5, start=start, method=method)
    assert tr.success
    q, v = tr["q"][0], tr["v"][0]
    np.testing.assert_allclose([*q, *v], [0.7071068, -0.7071068, 0.5, 0.50000001], atol=1e-7)
    if method != "auto":
        # It begins on the rod.
        assert abs(q @ q - 1) < 1e-15
        assert abs(q @ v) < 1e-15
    with pytest.raises(dd.InconsistentStartError):
        dd.simulate(pendulum(), 0.5, start=start, method=method, rtol=1e-10)


@pytest.mark.parametrize("method", ["radau3", "radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_a_run_goes_on_from_its_own_end(method, rtol):
    m = pendulum()
    first = dd.simulate(m, 2.0, method=method, rtol=rtol)
    second = dd.simulate(m, (2.0, 3.0), start=first.end, method=method, rtol=rtol)
    whole = dd.simulate(m, 3.0, method="dop853", rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(second["q"][-1], whole["q"][-1], atol=60 * rtol)
