"""Cards of results of studies and of methods: what a notebook shows of them."""

import xml.etree.ElementTree as ElementTree

import pytest

import daedalus as dd
from daedalus.display.cards.card import STYLE


def oscillator():
    m = dd.Model("van der Pol")
    x, y = m.state("x", start=2.0, unit="m"), m.state("y", start=0.0)
    mu = m.parameter("mu", 1.0)
    m.equation([m.der(x), m.der(y)], [y, mu * (1 - x**2) * y - x])
    return m, x


def fold():
    m = dd.Model("saddle <and> node")
    x, a = m.state("x", start=-1.0), m.parameter("a", -1.0)
    m.equation(m.der(x), -a - x**2)
    return dd.branch(m, "a", (-1.0, 0.5), start={"x": 1.0})


def importances():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    return dd.importance(m, 1.0, {"k": dd.uniform(1, 2), "x": dd.uniform(1, 2)}, 16)


def gradient():
    m, x = oscillator()
    return dd.gradient(m, 1.0, final=x**2)


CASES = {
    "importance": (importances, ["first order", "total", "k"]),
    "gradient": (gradient, ["value", "mu", "unit of the name"]),
    "orbit": (lambda: dd.periodic(oscillator()[0]), ["period 6.663", "stable", "Floquet multipliers", "<svg"]),
    "branch": (fold, ["Fold at a = 0", "&lt;and&gt;", "special points"]),
    "newton": (lambda: dd.newton(lambda x: x**2 - 2, 1.0), ["residual", "rate", "1.41421"]),
    "tableau": (lambda: dd.tableau("rk4"), ["4 stages, order 4", "1/6", "stable"]),
    "implicit": (lambda: dd.radau_iia(2), ["A-stable", "5/12"]),
    "multistep": (lambda: dd.bdf(2), ["order 2", "zero-stable"]),
}


@pytest.mark.parametrize("name", CASES)
def test_cards_hold_together_and_say_what_matters(name):
    make, words = CASES[name]
    text = make()._repr_html_()
    assert all(word in text for word in words), text.removeprefix(STYLE)
    ElementTree.fromstring(text.removeprefix(STYLE).replace("<p class=bad>", "<p>"))
