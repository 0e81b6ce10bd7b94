"""Linear multistep methods as objects: exact coefficients, order, error constant, root condition and stability."""

import pickle
from fractions import Fraction as F

import numpy as np
import pytest

import daedalus as dd

# Hairer, Nørsett, Wanner I, III.1: the coefficients of the families.
BDF = {1: ("1", "1"), 2: ("4/3 -1/3", "2/3"), 3: ("18/11 -9/11 2/11", "6/11"),
       4: ("48/25 -36/25 16/25 -3/25", "12/25"), 5: ("300/137 -300/137 200/137 -75/137 12/137", "60/137"),
       6: ("360/147 -450/147 400/147 -225/147 72/147 -10/147", "60/147")}  # fmt: skip
BASHFORTH = {1: "1", 2: "3/2 -1/2", 3: "23/12 -16/12 5/12", 4: "55/24 -59/24 37/24 -9/24",
             5: "1901/720 -2774/720 2616/720 -1274/720 251/720"}  # fmt: skip
MOULTON = {
    1: "1/2 1/2",
    2: "5/12 8/12 -1/12",
    3: "9/24 19/24 -5/24 1/24",
    4: "251/720 646/720 -264/720 106/720 -19/720",
}


def fractions(text):
    return tuple(F(part) for part in text.split())


@pytest.mark.document("003", "BDF of m steps, x_{k+1} = −Σ a_j x_{k+1−j} + Δt b F", "`dd.bdf`")
@pytest.mark.parametrize("m", BDF)
def test_backward_differentiation(m):
    """Document 003: x_{k+1} = -Σ a_j x_{k+1-j} + Δt b F(x_{k+1}); coefficients by interpolation, no Butcher tableau."""
    method, (past, slope) = dd.bdf(m), BDF[m]
    assert tuple(-a for a in method.a) == fractions(past)
    assert method.b == (F(slope), *[0] * m)
    assert (method.order, method.steps, method.is_explicit) == (m, m, False)
    assert method.error_constant == F(-1, m + 1)
    assert not isinstance(method, dd.Tableau)


@pytest.mark.parametrize("m", BASHFORTH)
def test_adams_bashforth(m):
    method = dd.adams_bashforth(m)
    assert method.b == (0, *fractions(BASHFORTH[m]))
    assert (method.order, method.is_explicit, method.is_zero_stable) == (m, True, True)
    assert method.error_constant == [F(1, 2), F(5, 12), F(3, 8), F(251, 720), F(95, 288)][m - 1]


@pytest.mark.parametrize("m", MOULTON)
def test_adams_moulton(m):
    method = dd.adams_moulton(m)
    assert method.b == fractions(MOULTON[m])
    assert (method.order, method.is_explicit) == (m + 1, False)
    assert method.error_constant == [F(-1, 12), F(-1, 24), F(-19, 720), F(-3, 160)][m - 1]


def test_the_root_condition():
    assert [dd.bdf(m).is_zero_stable for m in range(1, 10)] == [True] * 6 + [False] * 3
    # Order 3 with two explicit steps, and useless: ρ = ζ² + 4 ζ - 5 has the root -5.
    tempting = dd.Multistep([4, -5], [0, 4, 2])
    assert (tempting.order, tempting.is_zero_stable) == (3, False)
    # Two-step methods of order 4: Milne and Simpson, on the rim and simple.
    milne = dd.Multistep([0, -1], ["1/3", "4/3", "1/3"], name="Milne-Simpson")
    assert (milne.order, milne.is_zero_stable, milne.stability_angle) == (4, True, 0.0)
    double = dd.Multistep([-2, 1], [0, 1, -1])
    assert double.is_zero_stable is False
    assert dd.Multistep([-1], [0, 2]).order == 0


def test_stability():
    z = np.array([-0.3 + 0.4j, 2.5, -100.0])
    assert dd.bdf(1).stability(z) == pytest.approx(np.abs(1 / (1 - z)))
    assert dd.adams_moulton(1).stability(z) == pytest.approx(np.abs((1 + z / 2) / (1 - z / 2)))
    assert dd.adams_bashforth(1).stability(z) == pytest.approx(np.abs(1 + z))
    assert dd.bdf(2).stability(-1e12) < 1e-5
    # The real intervals of Adams and Bashforth are (-2, 0), (-1, 0), (-6/11, 0), (-3/10, 0).
    for m, end in ((1, 2.0), (2, 1.0), (3, 6 / 11), (4, 0.3)):
        assert dd.adams_bashforth(m).stability(-0.999 * end) < 1 < dd.adams_bashforth(m).stability(-1.001 * end)
    angles = [dd.bdf(m).stability_angle for m in range(1, 8)]
    assert angles == pytest.approx([90.0, 90.0, 86.03, 73.35, 51.84, 17.84, 0.0], abs=0.01)
    assert dd.bdf(2).is_a_stable
    assert not dd.bdf(3).is_a_stable


def test_the_picture(tmp_path):
    import matplotlib.pyplot as plt

    titles = [method.plot_stability().get_title() for method in (dd.bdf(2), dd.bdf(7), dd.adams_bashforth(2))]
    plt.close("all")
    assert titles == ["bdf2: order 2, A-stable", "bdf7: order 7, not zero-stable", "adams_bashforth2: order 2"]
    with pytest.raises(dd.InputError, match="The window of the plot cannot be used"):
        dd.bdf(2).plot_stability(window=(1, 0, 0, 1))


def test_objects():
    method = dd.bdf(3)
    assert pickle.loads(pickle.dumps(method)) == method
    assert hash(method) == hash(dd.Multistep(method.a, method.b))
    assert method != dd.bdf(2)
    with pytest.raises(AttributeError, match="does not change"):
        method.a = ()
    assert repr(dd.bdf(1)).splitlines()[0] == "bdf1: 1 step, order 1, implicit, zero-stable, error constant -1/2"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: dd.bdf(0), "0 is not a valid number of steps."),
        (lambda: dd.adams_moulton(2.5), "2.5 is not a valid number of steps."),
        (
            lambda: dd.Multistep([-1], [0]),
            "The coefficients of a multistep method do not fit.\n  1 coefficient a, 1 coefficient b",
        ),
        (lambda: dd.Multistep(["sqrt(2)"], [0, 1]), "A coefficient a of a multistep method is not a fraction."),
    ],
)
def test_what_is_refused(call, text):
    with pytest.raises(dd.InputError) as caught:
        call()
    assert str(caught.value).startswith(text)
