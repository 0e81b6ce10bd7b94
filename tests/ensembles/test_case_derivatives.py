"""Derivatives of every case in the same kernels: equal to dd.sensitivities, and told where there are none."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def pendulum():
    m = dd.Model("pendulum")
    q = m.state("q", 2, start=[1.0, 0.0])
    length, u = m.parameter("length", 1.0), m.input("u")
    m.equation(m.der(q), ca.vertcat(q[1], -9.81 / length * ca.sin(q[0]) - 0.1 * q[1] + u))
    return m


@pytest.mark.parametrize("options", [{"method": "tsit5", "rtol": 1e-9}, {"method": "rk4", "step": 0.005}])
def test_derivatives_equal_sensitivities_case_by_case(options):
    m, lengths = pendulum(), np.linspace(0.5, 2.0, 5)
    given = {"inputs": {"u": 0.2}, **options}
    en = dd.sweep(m, 1.5, over={"length": lengths}, save_at=[0.7, 1.5], wrt=["length", "q", "u"], **given)
    assert en.d("q", "length").dims == ("length", "time", "q_index")
    for k in (0, 4):
        sens = dd.sensitivities(m, 1.5, parameters={"length": lengths[k]}, **given)
        np.testing.assert_allclose(en.d("q", "length").values[k, -1], np.ravel(sens.d("q", "length")), rtol=1e-5)
        np.testing.assert_allclose(en.d("q", "u").values[k, -1], np.ravel(sens.d("q", "u")), rtol=1e-5)
        for j in range(2):
            np.testing.assert_allclose(en.d("q", f"q[{j}]").values[k, -1], sens.M[:, j], rtol=1e-5)


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


def test_where_there_are_none_is_told():
    m = pendulum()
    with pytest.raises(dd.InputError) as caught:
        dd.sweep(m, 1.0, over={"length": [1.0]}, inputs={"u": 0.0}, wrt=["length"], method="radau5")
    assert str(caught.value).splitlines()[:2] == [
        "Derivatives of many cases come from kernels on lanes.",
        "  radau5 solves equations in every step",
    ]
    with pytest.raises(dd.InputError, match="no variable 'q by length'"):
        dd.sweep(m, 1.0, over={"length": [1.0]}, inputs={"u": 0.0}).d("q", "length")
