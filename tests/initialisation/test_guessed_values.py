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
