"""Passivity without naming outputs: forces on coordinates work on velocities that the model knows."""

import pytest
from tests.support import neighbour_models as neighbours
from tests.support import part_neighbours as parts

import daedalus as dd


@pytest.mark.wide
def test_velocities_that_forces_work_on_are_found():
    found = dd.passivity(neighbours.segway()[0])
    assert found.passive
    assert found.lossless
    assert str(found).startswith("Passive from tau to (x_dot/r - theta_dot) with the storage function T + V")
    assert dd.passivity(neighbours.slider_crank()[0]).passive  # a torque on a crank, with constraints


def test_losses_are_told():
    found = dd.passivity(parts.solenoid()[0])
    assert found.passive
    assert not found.lossless


def test_inputs_without_a_partner_are_told_with_names_of_the_model():
    with pytest.raises(dd.InputError) as told:
        dd.passivity(parts.loudspeaker()[0])
    assert "1 input (u), 0 outputs" in str(told.value)
    assert "Try: dd.passivity(m, 'u', 'x_dot')" in str(told.value)
    assert not dd.passivity(parts.loudspeaker()[0], "u", "x_dot").passive  # the remedy is an answer


def test_poles_at_zero_are_printed_as_zero():
    text = str(dd.linearise(neighbours.segway()[0], at={"tau": 0.0}))
    assert "e-1" not in next(line for line in text.splitlines() if "poles" in line)
