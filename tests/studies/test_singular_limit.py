"""Limits of models with a fast part: known limits, Tikhonov's conditions, and what is refused with which words."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def motor(start=0.0):
    """x' = z, ε z' = 1 - x - 2 z: in the limit x = 1 - exp(-t/2)."""
    m = dd.Model("motor")
    eps = m.parameter("epsilon", 0.01)
    x, z = m.state("x", start=0.0), m.state("z", start=start)
    m.equation(m.der(x), z, name="torque")
    m.equation(eps * m.der(z), 1 - x - 2 * z, name="circuit")
    return m


def fast_pair(damping):
    """A slow x and a fast oscillator around x, with eigenvalues -d/2 ± i √(1 - d²/4)."""
    m = dd.Model("pair")
    eps = m.parameter("epsilon")
    x, z = m.state("x", start=1.0), m.state("z", 2, start=[0.0, 0.0])
    m.equation(m.der(x), -z[0])
    m.equation(eps * m.der(z), [z[1], x - z[0] - damping * z[1]])
    return m


def cubic(x0, z0, speed=-1.0):
    """ε z' = x + z - z³/3: three roots between the folds at z = ±1, the outer ones stable."""
    m = dd.Model("cubic")
    eps = m.parameter("epsilon")
    x, z = m.state("x", start=x0), m.state("z", start=z0)
    m.equation(m.der(x), speed + 0 * x)
    m.equation(eps * m.der(z), x + z - z**3 / 3)
    return m


def test_the_limit_of_a_motor_is_known():
    found = dd.singular_limit(motor(), "epsilon", 3.0)
    assert found.stable
    assert (found.fast, found.slow) == (("z",), ("x",))
    assert found.margin == pytest.approx(2.0)
    assert found.path["x"][-1] == pytest.approx(1 - np.exp(-1.5), rel=1e-7)
    tr = dd.simulate(found.limit, 3.0, rtol=1e-9)
    assert tr["z"][-1] == pytest.approx(0.5 * np.exp(-1.5), rel=1e-7)
    assert dd.analyse(found.limit).index == 1
    assert found.limit.variables["z"].kind == "algebraic"


def test_the_layer_is_the_fast_motion_in_stretched_time():
    found = dd.singular_limit(motor(start=3.0), "epsilon", 1.0)
    tau = np.linspace(0, 4, 9)
    assert found.layer.at(tau)["z"] == pytest.approx(0.5 + 2.5 * np.exp(-2 * tau), rel=1e-6)
    assert np.all(found.layer["x"] == 0.0)


@pytest.mark.document(
    "002",
    "Tikhonov: ε z' = g(x, z) against its limit, with the conditions checked",
    "`dd.singular_limit`",
)
def test_the_distance_falls_with_epsilon_and_has_the_known_factor():
    """By hand: x_ε - x0 = ε (…) + O(ε²); halving ε halves the distance of slow and fast variables alike."""
    found = dd.singular_limit(motor(start=3.0), "epsilon", 3.0).compare([4e-3, 2e-3, 1e-3])
    for distance in (found.slow, found.fast):
        assert distance[:-1] / distance[1:] == pytest.approx([2.0, 2.0], rel=0.02)
    assert found.order == pytest.approx(1.0, abs=0.02)
    # Exact: the slow eigenvalue is the root of ε s² + 2 s + 1 = 0 near -1/2.
    eps = 1e-3
    slow, fast = np.roots([eps, 2, 1])[np.argsort(-np.roots([eps, 2, 1]))]
    c = np.linalg.solve([[1, 1], [slow, fast]], [-1.0, 3.0])
    t = found.runs[-1].time
    exact = 1 + c[0] * np.exp(slow * t) + c[1] * np.exp(fast * t)
    assert found.slow[-1] == pytest.approx(np.abs(exact - 1 + np.exp(-t / 2)).max(), rel=1e-4)
    assert "falls as epsilon^" in str(found)
    # A fast part that grows has no limit: the condition is looked at, and the reason told.
    m = dd.Model("growing")
    x, z, eps = m.state("x", start=1.0), m.state("z", start=0.5), m.parameter("epsilon", 1e-2)
    m.equation(m.der(x), -x + z)
    m.equation(eps * m.der(z), z - x)
    with pytest.raises(dd.DaedalusError, match=r"stable|grow"):
        dd.singular_limit(m, "epsilon", 1.0)


def test_fast_variables_without_the_layer_do_not_converge_at_the_start():
    found = dd.singular_limit(motor(start=3.0), "epsilon", 1.0)
    for run in found.compare([2e-3, 1e-3]).runs:
        assert abs(run["z"][0] - found.path["z"][0]) == pytest.approx(2.5)


def test_the_harmonic_fast_part_is_refused_with_the_reason():
    with pytest.raises(dd.ModelError) as caught:
        dd.singular_limit(fast_pair(0.0), "epsilon", 1.0)
    assert str(caught.value) == (
        "Tikhonov's theorem does not apply: the fast part z[0], z[1] is harmonic.\n"
        "  eigenvalues of dg/dz at t = 0: 0 ± 1i\n"
        "  Because all real parts must be negative along the whole path. Here it swings for ever, the faster the "
        "smaller epsilon is, and its solutions have no limit.\n"
        "  Try: damping in the fast part, or simulate the model with its epsilon"
    )


def test_a_damped_pair_is_accepted_with_its_margin():
    found = dd.singular_limit(fast_pair(0.2), "epsilon", 1.0)
    assert found.margin == pytest.approx(0.1)
    assert "-0.1 ± 0.995i" in str(found)


def test_a_small_mass_without_damping_is_refused():
    m = dd.Model("mass")
    eps = m.parameter("epsilon")
    x, z = m.state("x", start=1.0), m.state("z", start=0.0, rate=0.0)
    m.equation(m.der(x), -z)
    m.equation(eps * m.der(m.der(z)), x - z)
    with pytest.raises(dd.ModelError, match=r"at epsilon = 0 the equations do not determine z_rate"):
        dd.singular_limit(m, "epsilon")


def test_a_small_mass_with_damping_loses_one_order():
    m = dd.Model("mass")
    eps = m.parameter("epsilon")
    x = m.state("x", start=1.0, rate=3.0)
    m.equation(eps * m.der(m.der(x)) + 2 * m.der(x) + x)
    found = dd.singular_limit(m, "epsilon", 2.0)
    assert found.fast == ("x_rate",)
    assert found.path["x"][-1] == pytest.approx(np.exp(-1.0), rel=1e-7)


def test_a_fold_on_the_path_is_named_with_its_time():
    """x falls from 0 and reaches the fold x = -2/3 of the upper branch at t = 2/3."""
    assert dd.singular_limit(cubic(0.0, 2.0), "epsilon", 0.5).margin == pytest.approx(0.9165, abs=1e-3)
    with pytest.raises(dd.ModelError, match=r"the fast part z loses its stability(.|\n)*at t = 0.666") as caught:
        dd.singular_limit(cubic(0.0, 2.0), "epsilon", 2.0)
    assert "a span that ends before t = 0.6667" in str(caught.value)


@pytest.mark.parametrize(("z0", "rest"), [(0.1, np.sqrt(3)), (-0.1, -np.sqrt(3)), (3.0, np.sqrt(3))])
def test_the_layer_chooses_the_branch(z0, rest):
    found = dd.singular_limit(cubic(0.0, z0, speed=0.0), "epsilon", 1.0)
    assert found.path["z"][-1] == pytest.approx(rest, rel=1e-8)
    assert found.margin == pytest.approx(2.0)


def test_a_start_outside_of_the_basin_is_refused():
    m = dd.Model("escape")
    eps = m.parameter("epsilon")
    x, z = m.state("x", start=0.0), m.state("z", start=2.0)
    m.equation(m.der(x), z - x)
    m.equation(eps * m.der(z), z**2 - z + x)
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.singular_limit(m, "epsilon", 0.5)
    text = str(caught.value)
    assert "The start is outside the basin of attraction of the fast part." in text
    assert "a stable rest at z = 0" in text
    assert "runs away: step size fell below" in text
    # Inside of the basin, z < 1, the same model has a limit.
    assert dd.singular_limit(m, "epsilon", 0.5, start={"z": 0.5}).path["z"][0] == pytest.approx(0.0, abs=1e-9)


def test_an_unstable_fast_part_is_refused():
    m = motor()
    eps = m["epsilon"]
    y = m.state("y", start=0.1)
    m.equation(eps * m.der(y), y)
    with pytest.raises(dd.ModelError, match=r"the fast part z, y is unstable"):
        dd.singular_limit(m, "epsilon")


def test_elements_inputs_algebraic_variables_and_parameters():
    """y' = a, a = u - y1, ε y1' = y - k (1 + t) y1, with a vector of which one element is fast."""
    m = dd.Model("mixed")
    eps, k = m.parameter("epsilon"), m.parameter("k", 1.0)
    y, a, u = m.state("y", 2, start=[1.0, 0.0]), m.algebraic("a"), m.input("u")
    m.equation([m.der(y)[0] - a, eps * m.der(y)[1] - y[0] + k * y[1] * (1 + m.time), a + y[1] - u])
    found = dd.singular_limit(m, "epsilon", 1.0, inputs={"u": lambda t: 0.0 * t}, parameters={"k": 2.0})
    assert found.fast == ("y[1]",)
    # y' = -y / (2 (1 + t)), so y = (1 + t)^(-1/2).
    assert found.path["y"][-1, 0] == pytest.approx(2**-0.5, rel=1e-7)
    assert found.margin == pytest.approx(2.0)
    assert found.weakest == 0.0
    with pytest.raises(dd.InputError, match="The input u has no value"):
        dd.singular_limit(m, "epsilon")


def test_without_a_span_the_path_has_ten_slow_time_constants():
    assert dd.singular_limit(motor(), "epsilon").path.time[-1] == pytest.approx(20.0)


def test_what_is_not_of_the_form_is_refused():
    cases = [
        (lambda m, e, x: m.equation(m.der(x), -e * x), "epsilon = 0 does not turn a derivative off"),
        (lambda m, e, x: m.equation(m.der(x), -x / e), r"(?s)no value at epsilon = 0.*Try: multiply by epsilon"),
        (lambda m, e, x: m.equation(e**2 * m.der(x), -x), "in another power than the first"),
        (lambda m, e, x: m.equation(ca.sqrt(e) * m.der(x), -x), "in another power than the first"),
        (lambda m, e, x: m.equation(e * m.der(x) ** 3, -x), "enters nonlinearly"),
    ]
    for write, text in cases:
        m = dd.Model("m")
        write(m, m.parameter("epsilon"), m.state("x", start=1.0))
        with pytest.raises(dd.ModelError, match=text):
            dd.singular_limit(m, "epsilon")
    with pytest.raises(dd.InputError, match=r"'epsilom' is not a small parameter(.|\n)*Try: 'epsilon'"):
        dd.singular_limit(motor(), "epsilom")
    with pytest.raises(dd.InputError, match="decreasing positive values"):
        dd.singular_limit(motor(), "epsilon", 1.0).compare([0.01, 0.02])
    m = motor()
    m.event("stop", m["x"] - 0.5, terminal=True)
    with pytest.raises(dd.ModelError, match="does not support events"):
        dd.singular_limit(m, "epsilon")


def test_a_rest_without_exponential_stability_is_told_as_that():
    m = dd.Model("cubic")
    x, z, epsilon = m.state("x", start=1.0), m.state("z", start=0.5), m.parameter("epsilon", 0.01)
    m.equation(m.der(x), -x)
    m.equation(epsilon * m.der(z), -(z**3))
    with pytest.raises(dd.ModelError) as caught:
        dd.singular_limit(m, "epsilon", 2.0)
    assert str(caught.value).startswith(
        "Tikhonov's theorem does not apply: the fast part z is not exponentially stable.\n"
        "  dg/dz is singular at the rest z = 0 at t = 0\n"
    )


def test_a_rest_that_is_much_slower_than_the_start_is_no_multiple_root():
    m = dd.Model("strong")
    x, z, epsilon = m.state("x", start=1.0), m.state("z", start=2.0), m.parameter("epsilon", 0.01)
    m.equation(m.der(x), -x)
    m.equation(epsilon * m.der(z), x - z - 1e4 * (z - x) ** 3)
    assert dd.singular_limit(m, "epsilon", 1.0).margin == pytest.approx(1.0, rel=1e-6)
