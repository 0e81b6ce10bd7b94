"""A reduced model is right for other values of its parameters too, or says for which it is not."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

WAYS = ["projection", "baumgarte", None, "dummy_derivatives"]


def disguised(values: dict[str, float]) -> dd.Model:
    """w' = -w + c sin t + b w² + a e^(-t) under equations whose derivatives cancel only once they are combined."""
    m = dd.Model("combined")
    w, s, v, f = m.state("w", start=1.0), m.state("s", start=1.0), m.state("v"), m.algebraic("f")
    a, b, c = (m.parameter(name, values[name]) for name in "abc")
    forces = c * ca.sin(m.time) + b * s**2 + a * ca.exp(-m.time)
    m.equation(m.der(w) + 0.2 * m.der(v), -w + forces + 0.2 * f)
    m.equation(m.der(s), v)
    m.equation(m.der(v), f)
    m.equation(s, w)
    return m


@pytest.mark.parametrize("stabilise", WAYS)
def test_terms_that_a_parameter_of_zero_hides_come_back(stabilise: str | None) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        own = {name: float(rng.choice([0.0, 1.0, rng.normal()])) for name in "abc"}
        other = {name: float(rng.uniform(-0.5, 0.5)) for name in "abc"}
        plain = dd.Model("plain")
        x = plain.state("x", start=1.0)
        a, b, c = (other[name] for name in "abc")
        plain.equation(plain.der(x), -x + c * ca.sin(plain.time) + b * x**2 + a * ca.exp(-plain.time))
        wanted = dd.simulate(plain, 2.0, rtol=1e-10)["x"][-1]
        n = dd.reduce(disguised(own), stabilise=stabilise)
        assert dd.simulate(n, 2.0, parameters=other, rtol=1e-9)["w"][-1] == pytest.approx(wanted, abs=1e-6)
        assert dd.simulate(disguised(own), 2.0, parameters=other, rtol=1e-9)["w"][-1] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("stabilise", WAYS)
def test_inputs_that_are_differentiated_move_in_combined_equations(stabilise: str | None) -> None:
    """The derivatives of an input are inputs: in the combined equation its rate was lost where time was."""
    m = dd.Model("driven")
    w, s, v = m.state("w", start=1.0), m.state("s", start=1.0), m.state("v")
    f, u = m.algebraic("f"), m.input("u")
    m.equation(m.der(w) + 0.2 * m.der(v), -w + u + 0.2 * f)
    m.equation(m.der(s), v)
    m.equation(m.der(v), f)
    m.equation(s, w)
    tr = dd.simulate(dd.reduce(m, stabilise=stabilise), 2.0, inputs={"u": lambda t: ca.sin(3 * t)}, rtol=1e-9)
    wanted = (13 * np.exp(-2.0) + np.sin(6.0) - 3 * np.cos(6.0)) / 10  # w' = -w + sin 3t, w(0) = 1
    assert tr["w"][-1] == pytest.approx(wanted, abs=1e-6)
    rate = np.cos(6.0) * 3 - (np.sin(6.0) - wanted)  # f = w'' = u' - w'
    assert tr["f"][-1] == pytest.approx(rate, abs=1e-5)


def coil(inductance: float) -> dd.Model:
    m = dd.Model("coil")
    i, q, L = m.state("i", start=1.0), m.state("q", start=0.0), m.parameter("L", inductance)
    m.equation(L * m.der(i), 1 - i - q)
    m.equation(m.der(q), i)
    return m


def test_a_value_that_takes_a_derivative_out_is_told_and_held() -> None:
    n = dd.reduce(coil(0.0))
    assert "the reduction holds for L = 0 alone: with other values more derivatives come in" in n.reduction.notes
    assert dd.simulate(n, 1.0, parameters={"L": 0.0})["q"][-1] == pytest.approx(1 - np.exp(-1.0), abs=1e-6)
    for call in (
        lambda: dd.simulate(n, 1.0, parameters={"L": 0.5}),
        lambda: dd.sweep(n, 1.0, over={"L": [0.0, 0.5]}),
    ):
        with pytest.raises(dd.InputError) as error:
            call()
        assert str(error.value) == (
            "The reduction of 'coil' holds for L = 0 alone.\n"
            "  another value is given for L\n"
            "  Because that value removes derivatives from the equations, and the reduced model lacks them.\n"
            "  Try: dd.reduce of the model with the other value of L, or a run of the model itself"
        )
    # The model itself runs with any value.
    wanted = dd.simulate(coil(0.5), 1.0, rtol=1e-9)["i"][-1]
    assert dd.simulate(coil(0.0), 1.0, parameters={"L": 0.5}, rtol=1e-9)["i"][-1] == pytest.approx(wanted, abs=1e-7)


def test_other_elements_of_a_vector_are_free() -> None:
    m = dd.Model("coils")
    i, q, L = m.state("i", 2, start=[1.0, 0.0]), m.state("q", start=0.0), m.parameter("L", [0.0, 1.0])
    m.equation(L[0] * m.der(i)[0], 1 - i[0] - q)
    m.equation(L[1] * m.der(i)[1], 1 - i[1])
    m.equation(m.der(q), i[0])
    n = dd.reduce(m)
    assert dd.simulate(n, 1.0, parameters={"L": [0.0, 0.5]}, rtol=1e-9)["i"][-1][1] == pytest.approx(1 - np.exp(-2.0))
    with pytest.raises(dd.InputError, match=r"holds for L\[0\] = 0 alone"):
        dd.simulate(n, 1.0, parameters={"L": [0.5, 0.5]})
