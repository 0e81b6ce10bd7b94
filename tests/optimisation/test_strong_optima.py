"""Plans whose inputs enter in bends: none ends where a far value of the input lowers the Hamiltonian."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.optima import begun, ode
from tests.support.rings import examples

import daedalus as dd


def humps(coefficients: list[float], method: str = "collocation") -> tuple[dd.Plan, float]:
    """x' = x/2 + f(u) with a polynomial f: whatever x is, the largest x(1) has the largest f(u) throughout."""

    def f(u):
        return sum(c * u**k for k, c in enumerate(coefficients, start=1))

    m, (x,), _ = ode("x", "u", lambda x, u: [0.5 * x + f(u)], [0.0])
    ocp = begun(m, 1.0, 10)
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=-x)
    best = float(np.max(f(np.linspace(-1.0, 1.0, 4001))))
    return ocp.solve(method=method), 2.0 * (np.exp(0.5) - 1.0) * best


@settings(max_examples=examples(6), deadline=None)
@given(st.lists(st.floats(-3.0, 3.0).map(lambda v: round(v, 2)), min_size=3, max_size=4))
def test_the_highest_of_some_humps(coefficients):
    plan, best = humps(coefficients)
    assert plan.success, plan
    assert -plan.objective == pytest.approx(best, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize("method", ["collocation", "shooting"])
def test_the_other_hump_is_found_by_both_methods(method):
    plan, best = humps([-0.2, 2.0, 0.5, -1.5], method)
    assert plan.success, plan
    assert -plan.objective == pytest.approx(best, rel=1e-4)


# Rates of a bifunctional catalyst by its composition u: k_i = Σ c_ij u^j (R. Luus, J. Dittrich, F. J. Keil, Canadian
# Journal of Chemical Engineering 70 (1992)): more than 300 local optima, of which the best is 10.0942e-3.
CATALYST = [
    (0.002918487, -0.008045787, 0.006749947, -0.001416647), (9.509977, -35.00994, 42.83329, -17.33333),
    (26.82093, -95.56079, 113.0398, -44.29997), (208.7241, -719.8052, 827.7466, -316.6655),
    (1.350005, -6.850027, 12.16671, -6.666689), (0.01921995, -0.07945320, 0.1105666, -0.05033333),
    (0.1323596, -0.4696255, 0.5539323, -0.2166664), (7.339981, -25.27328, 29.93329, -11.99999),
    (-0.3950534, 1.679353, -1.777829, 0.4974987), (-0.00002504665, 0.01005854, -0.01986696, 0.009833470),
]  # fmt: skip


def test_a_bifunctional_catalyst():
    def rates(a, b, c, d, e, f, g, u):
        k = [sum(own * u**j for j, own in enumerate(row)) for row in CATALYST]
        left = k[3] + k[4] + k[7] + k[8]
        return [
            -k[0] * a, k[0] * a - (k[1] + k[2]) * b + k[3] * e, k[1] * b, -k[5] * d + k[4] * e,
            k[2] * b + k[5] * d - left * e + k[6] * f + k[9] * g, k[7] * e - k[6] * f, k[8] * e - k[9] * g,
        ]  # fmt: skip

    m, (*_, benzene), _ = ode("a b c d e f g", "u", rates, [1.0] + [0.0] * 6)
    ocp = begun(m, 2000.0, 10)
    ocp.bound("u", 0.6, 0.9)
    ocp.minimise(final=-benzene)
    plan = ocp.solve()
    assert plan.success, plan
    assert -plan.objective == pytest.approx(10.0942e-3, rel=2e-4)
    assert any("Hamiltonian of the first plan" in note for note in plan.notes)
    assert ocp.solve(starts=1).success
