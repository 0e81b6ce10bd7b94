"""Fields and networks of the catalogue at other sizes: counts, laws that hold at any size, and refusals."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def test_a_grid_of_five_hundred_buses_comes_to_rest():
    """All generators turn alike in the end, and the loads have their power from the start on."""
    known = catalogue.load("power_grid", buses=500)
    tr = dd.simulate(known.model, 60.0, method="bdf", rtol=1e-6, atol=1e-9, save_at=[0.0, 60.0])
    assert tr.success
    assert tr["load_angle"].shape == (2, 333)
    assert np.ptp(tr["speed_dot"][0]) > 0.1
    assert np.ptp(tr["speed"][-1]) < 1e-3
    assert max(np.abs(left).max() for left in dd.initialise(known.model).residual.values()) < 1e-9


@pytest.mark.parametrize("cells", [2, 7, 300])
def test_rods_of_any_length_have_their_closed_form(cells):
    known = catalogue.load("heat_rod", cells=cells)
    tr = dd.simulate(known.model, known.span, method="radau5", rtol=1e-8, atol=1e-11, save_at=[known.span[1]])
    assert known.reference.error("u", tr["u"][-1]) < 1e-6


def test_waves_leave_a_matched_line():
    """What the source sends arrives after the delay of the line, with its losses, and nothing comes back."""
    known = catalogue.load("transmission_line", sections=200)
    tr = dd.simulate(known.model, 3.0, rtol=1e-6, atol=1e-9, save_at=[2.4, 3.0])
    for t, end in zip(tr.time, tr["v"][:, -1]):
        assert end == pytest.approx(0.5 * np.exp(-0.05) * np.sin(5 * (t - 1.0)), abs=0.02)


@pytest.mark.parametrize(
    ("name", "option"),
    [("heat_rod", "cells"), ("burgers", "cells"), ("brusselator_2d", "side"), ("power_grid", "buses"),
     ("transmission_line", "sections")],
)  # fmt: skip
@pytest.mark.parametrize("value", [0, -3, 2.5, "many", True, None])
def test_what_is_no_number_of_cells_is_refused(name, option, value):
    with pytest.raises(dd.InputError, match=f"The option {option} is not a number of {option}"):
        catalogue.load(name, **{option: value})
