"""Published problems against closed forms and against each other's formulations."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def four_rates():
    """E5 as published, four rate equations with f3 = f2 - f4."""
    m = dd.Model("e5_as_published")
    y = m.state("y", 4, start=[1.76e-3, 0.0, 0.0, 0.0])
    r1, r2, r3, r4 = 7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2], 1.13e3 * y[3]
    m.equation(m.der(y), [-r1 - r2, r1 - r3, (r1 - r3) - (r2 - r4), r2 - r4])
    return m


@pytest.mark.parametrize("method", ["auto", "radau5", "radau9"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_e5_as_published_keeps_its_law_to_rounding(method, rtol):
    tr = dd.simulate(four_rates(), 1e13, method=method, rtol=rtol, atol=1.11e-24)
    y = tr["y"][-1]
    # Values of 6e-10 on the way have rounding errors of 1e-25; those of a Rosenbrock method are larger.
    assert abs(y[1] - y[2] - y[3]) < 3e-24
    # The mean is free of that error.
    assert 0.5 * (y[1] + y[2]) == pytest.approx(catalogue.load("e5").reference["y"][1], rel=2e-3)
    assert "rodas5p" not in tr.method


@pytest.mark.parametrize(("rtol", "accuracy"), [(1e-5, 1e-2), (1e-7, 1e-3), (1e-9, 1e-3)])
def test_rodas5p_keeps_the_law_of_e5_by_refined_solutions(rtol, accuracy):
    """Without them digits of 1 / (h gamma) are lost beside the fast rates, and the end is 8 to 130 times too large."""
    y = dd.simulate(four_rates(), 1e13, method="rodas5p", rtol=rtol, atol=1.11e-24)["y"][-1]
    assert 0.5 * (y[1] + y[2]) == pytest.approx(catalogue.load("e5").reference["y"][1], rel=accuracy)


def test_the_law_of_e5_is_what_the_published_values_miss():
    published = np.array([0.8867655517642120e-22, 0.8854814626268838e-22])
    wanted = catalogue.load("e5").reference["y"][1:3]
    assert published.mean() == pytest.approx(wanted[0], rel=3e-7)
    assert abs(published[0] - published[1]) > 1e-3 * wanted[0]


@pytest.mark.parametrize("index", [1, 2, 3])
def test_the_slider_crank_moves_alike_at_every_index(index):
    known = catalogue.load("flexible_slider_crank", index=index)
    tr = dd.simulate(known.model, known.span, method="radau9", rtol=1e-6, atol=1e-9)
    assert tr.success
    for key in known.reference:
        assert known.reference.error(key, tr[key][-1]) < 2e-5, key


def test_an_index_out_of_range_is_refused():
    with pytest.raises(dd.InputError, match="The option index is 1, 2 or 3"):
        catalogue.load("flexible_slider_crank", index=4)


@pytest.mark.wide
def test_a_beam_of_few_elements_is_near_one_of_many():
    """Angles at the free end converge with the square of the element's length."""
    ends = {}
    for n in (10, 20):
        known = catalogue.load("beam", elements=n)
        assert known.reference is None
        ends[n] = dd.simulate(known.model, 1.5, method="radau5", rtol=1e-6)["angle"][-1, -1]
    fine = dd.simulate(catalogue.load("beam").model, 1.5, method="radau5", rtol=1e-6)["angle"][-1, -1]
    assert abs(ends[20] - fine) < 0.4 * abs(ends[10] - fine)


def test_the_published_end_of_the_wheelset_has_six_digits():
    published = {
        "place": [0.86355386965811e-2, 0.13038281022727e-4, -0.93635784016818e-4],
        "angle": [-0.13642299804033e-1, 0.15292895005422e-2],
        "velocity": [-0.76985374142666e-1, -0.25151106429207e-3, 0.20541188079539e-2],
        "angle_rate": [-0.23904837703692, -0.13633468454173e-1],
        "spin": -0.24421377661131,
        "turn": [0.37839614386969e-3, -0.33666751972196e-3],
        "offset": [0.14173214964613, -0.15949425684022],
    }
    reference = catalogue.load("wheelset").reference
    errors = {key: reference.error(key, value) for key, value in published.items()}
    assert errors.pop("velocity") < 2e-6
    assert max(errors.values()) < 4e-7


def test_the_published_start_of_the_wheelset_follows_from_five_digits_of_its_state():
    start = dd.initialise(catalogue.load("wheelset").model)
    # Where the cones touch the rails depends on positions alone: all published digits.
    assert start["turn"] == pytest.approx([7.5634406395172940e-06, -7.4122380357667139e-06], rel=1e-13)
    assert start["offset"] == pytest.approx([0.1490635714733819, -0.1521364296121248], rel=1e-15)
    # Forces are published with five digits, accelerations as they follow from those.
    assert start["force"] == pytest.approx([-83.593, -74.144], abs=2e-3)
    accelerations = np.concatenate([start.der("velocity"), start.der("angle_rate"), [start.der("spin")]])
    published = [-1.975258894, -1.0898297e-03, 7.88550836e-02, -5.533362822, -0.348702149, -2.132968724]
    assert accelerations == pytest.approx(published, abs=2e-3)


@pytest.mark.wide
@pytest.mark.parametrize("rtol", [1e-8, 1e-10, 1e-11, 1e-12])
def test_the_wheelset_has_an_error_of_the_tolerance_behind_hundreds_of_switches(rtol):
    """Two switches within rounding of each other must not be joined by a step, which forces would not survive."""
    known = catalogue.load("wheelset")
    tr = dd.simulate(known.model, known.span, method="radau9", rtol=rtol, atol=1e-3 * rtol)
    errors = {key: known.reference.error(key, tr[key][-1]) for key in known.reference}
    assert max(errors.values()) < 300 * rtol + 1e-10, errors
