"""`dd.guess` in the values of a start: accepted by `dd.initialise` and `dd.simulate` alike."""

import numpy as np
import pytest

import daedalus as dd


def circle():
    m = dd.Model("circle")
    x, y = m.state("x"), m.state("y")
    m.equation(m.der(x), -y)
    m.equation(x**2 + y**2, 1)
    return m


def test_a_guess_moves_and_what_is_given_stays():
    values = {"x": 0.6, "y": dd.guess(-0.7)}
    start = dd.initialise(circle(), values)
    assert start["x"] == 0.6
    assert start["y"] == pytest.approx(-0.8)
    assert start.origin["y"] == "computed"
    tr = dd.simulate(circle(), 0.5, start=values)
    assert tr.success
    assert (tr["x"][0], tr["y"][0]) == (start["x"], start["y"])


def test_guesses_of_vectors_and_other_branches():
    m = dd.Model("circle")
    p = m.state("p", 2)
    m.equation(m.der(p)[0], -p[1])
    m.equation(p[0] ** 2 + p[1] ** 2, 1)
    tr = dd.simulate(m, 0.1, start={"p": dd.guess([0.0, 3.0])})
    np.testing.assert_allclose(tr["p"][0], [0.0, 1.0], atol=1e-9)
    tr = dd.simulate(m, 0.1, start={"p": dd.guess([0.0, -3.0])})
    np.testing.assert_allclose(tr["p"][0], [0.0, -1.0], atol=1e-9)


def test_a_guess_of_words_is_refused_by_name():
    with pytest.raises(dd.InputError, match="start value of x"):
        dd.simulate(circle(), 0.1, start={"x": dd.guess("left"), "y": 0.0})


def test_residuals_of_rounding_are_printed_as_zero():
    m = dd.Model("tenths")
    x, y = m.state("x", start=0.1), m.state("y")
    m.equation(m.der(x), -x)
    m.equation(y + 0.2, x + 0.6)
    start = dd.initialise(m)
    assert "e-1" not in str(start)
    assert "largest residual 0 in" in str(start)


def hanging_rod(position):
    m = dd.Model("rod")
    m.gravity([0, -9.81])
    body = m.body(
        "rod", 1.0, 1 / 12, "planar", position=position, rotation=0.0, velocity=[0.0, 0.0], angular_velocity=0.0
    )
    m.joint("hinge", "revolute", dd.ground, body, at_b=[-0.5, 0.0])
    return m


def test_runs_of_every_kind_take_guesses():
    m, off = hanging_rod([0.5, 0.0]), {"rod.position": dd.guess([0.4, 0.1])}
    assert dd.simulate(m, 0.1, start=off)["rod.position"][0] == pytest.approx([0.5, 0.0])
    run = dd.prepare(m, 0.1, start=off, save_at=[0.0, 0.1])
    assert run()[0, :2] == pytest.approx([0.5, 0.0])
    exact = dd.sensitivities(m, 0.1, start={"rod.position": [0.5, 0.0]})
    assert pytest.approx(exact.M) == dd.sensitivities(m, 0.1, start=off).M


def test_sweeps_say_where_a_guess_belongs():
    m = dd.Model("tank")
    h, q, k = m.state("h", start=1.0), m.algebraic("q", start=0.3), m.parameter("k", 0.2)
    m.equation(m.der(h), -q)
    m.equation(q**2, k * h)
    for name, kind in (("h", "state"), ("q", "algebraic")):
        with pytest.raises(dd.InputError, match=f"cannot guess {name}") as told:
            dd.sweep(m, over={"k": [0.1, 0.2]}, span=1.0, start={name: dd.guess(0.7)})
        assert f'm.{kind}("{name}", start=dd.guess(...))' in str(told.value)
    with pytest.raises(dd.InputError, match="start values of runs only") as told:
        dd.simulate(m, 1.0, parameters={"k": dd.guess(0.7)})
    assert str(told.value).endswith("Try: 0.7")
