"""Wrong values for keywords of ready parts: every keyword of every part refuses what it cannot mean, in four parts."""

import numpy as np
import pytest
from tests.components.test_library import KINDS, MORE, VALUES
from unit_registry import UNITS

import daedalus as dd
from daedalus.model.assembly.component import REQUIRED


def needed(kind):
    """Keywords that make a part of this kind."""
    found = {word: VALUES.get(word, 0.5) for word, own in kind.keywords.items() if own.default is REQUIRED}
    return found | MORE.get(kind.__name__, {})


def foreign():
    return dd.Model("other").parameter("p", 1.0)


NO_NUMBERS = ["yes", 1j, object(), {}, float("nan"), float("inf"), UNITS.Quantity(1.0, "candela")]
WRONG = {
    "": [*NO_NUMBERS, True, [1.0, 2.0], np.eye(2), foreign()],
    "a switch": ["yes", 1, 0.0, [True], {}, object(), np.eye(2), foreign()],
    "a word": ["other", 1, True, ["npn"], {}, np.eye(2), foreign()],
    "a text": ["other", 1, True, ["+"], {}, "", np.eye(2), foreign()],
    "a unit": [1, 1.0, True, ["K"], {}, np.eye(2), foreign()],
    "a number": [*NO_NUMBERS, True, [1.0], np.eye(2), foreign()],
    "numbers": [*NO_NUMBERS, True, [1.0, float("nan")], [[1.0], [1.0, 2.0]], ["1"], np.ones((2, 2, 2)), foreign()],
}
OUTSIDE = {
    "any": [],
    "positive": [0.0, -1.0],
    "not negative": [-1.0],
    "not zero": [0.0],
    "a share": [0.0, -0.5, 1.1],
    "between 0 and 1": [-0.1, 1.1],
    "between -1 and 1, and not zero,": [0.0, 1.1, -1.1],
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title())
def test_every_keyword_refuses_what_it_cannot_mean(kind):
    for word, keyword in kind.keywords.items():
        for value in [*WRONG[keyword.option], *OUTSIDE[keyword.needs]]:
            m = dd.Model("m")
            with pytest.raises(dd.DaedalusError) as caught:
                m.add(kind("part", **{**needed(kind), word: value}))
            text = str(caught.value)
            assert "\n  Because " in text, text
            assert "\n  Try: " in text, text
            assert "part" in text, text
            assert not m.variables, f"{word}={value!r} left something behind"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title())
def test_none_is_what_is_not_given(kind):
    given = needed(kind)
    open_words = [word for word, own in kind.keywords.items() if own.default is not REQUIRED and word not in given]
    assert repr(kind("part", **given, **dict.fromkeys(open_words))) == repr(kind("part", **given))


def test_quantities_are_converted_to_the_unit_of_the_keyword():
    m = dd.Model("m")
    m.add(dd.components.electrical.Resistor("r", resistance=UNITS.Quantity(2.0, "kiloohm")))
    assert m.variables["r.resistance"].start == (2000.0,)


def heat_as_a_word():
    return dd.components.electrical.Resistor("r", resistance=1.0, heat="yes")


def a_word_that_means_nothing():
    return dd.components.electrical.Transistor("q", polarity="nnp")


def matrices_that_do_not_fit():
    return dd.components.signals.StateSpace("s", A=[[0.0, 1.0]], B=[1.0], C=[1.0])


def tracking_without_bounds():
    return dd.components.signals.PID("pid", proportional=1.0, tracking=0.5)


TEXTS = [
    (
        heat_as_a_word,
        "The heat of r is 'yes'.\n"
        "  electrical.Resistor('r', heat='yes')\n"
        "  Because it is True or False in every such part.\n"
        "  Try: heat=True",
    ),
    (
        a_word_that_means_nothing,
        "The polarity of q is 'nnp'.\n"
        "  electrical.Transistor('q', polarity='nnp')\n"
        "  Because it is one of npn, pnp in every such part.\n"
        "  Try: polarity='npn'",
    ),
    (
        matrices_that_do_not_fit,
        "The matrices of s do not fit each other.\n"
        "  A is 1 × 2, B is 1 × 1, C is 1 × 1, D is 1 × 1\n"
        "  Because A is square, B has a row and C a column for each state, D a row for each output.\n"
        "  Try: A=[[0.0, 1.0], [-1.0, 0.0]], B=[0.0, 1.0], C=[1.0, 0.0]",
    ),
    (
        tracking_without_bounds,
        "The PID controller pid has tracking, and no bounds.\n"
        "  tracking=0.5, lower=None, upper=None\n"
        "  Because tracking reduces the integral while the output is at a bound.\n"
        "  Try: lower=-1.0, upper=1.0, or no tracking=",
    ),
]


@pytest.mark.parametrize(("wrong", "text"), TEXTS, ids=[wrong.__name__ for wrong, _ in TEXTS])
def test_text(wrong, text):
    with pytest.raises(dd.ModelError) as caught:
        wrong()
    assert str(caught.value) == text
