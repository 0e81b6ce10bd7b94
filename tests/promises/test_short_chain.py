"""The chain of rods, short enough to be solved as formulas: energy and hinges are kept over the run."""

import numpy as np
import pytest

import daedalus as dd


@pytest.mark.parametrize("rods", [1, 2, 4])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_energy_and_hinges_of_a_short_chain(rods, rtol):
    known = dd.catalogue.load("rod_chain", rods=rods)
    tr = dd.simulate(known.model, known.span, start=known.start, rtol=rtol, atol=1e-3 * rtol)
    assert tr.success, tr.stop_reason
    energy = tr["energy"]
    scale = max(float(np.abs(energy).max()), 1.0)
    assert np.abs(energy - energy[0]).max() < 100 * rtol * scale
    assert max(tr.drift().values()) < 1e-13


def test_the_length_of_a_quaternion_is_listed_and_kept():
    m = dd.Model("tumbling box")
    box = m.body(
        "box", mass=2.0, inertia=dd.inertia.box(2.0, 0.3, 0.2, 0.1), position=[0, 0, 0], velocity=[1, 0, 2],
        rotation=np.eye(3), angular_velocity=[3.0, 0.1, 0.2],
    )  # fmt: skip
    m.output("spin", box.rotation @ (box.inertia @ box.angular_velocity))
    assert any("box.quaternion length" in str(entry) for entry in dd.analyse(m).invariants)
    tr = dd.simulate(m, 20.0, rtol=1e-9)
    assert tr.drift()["box.quaternion length"] < 5e-16
    # Free motion: angular momentum in the world and the straight path of the centre.
    assert np.abs(tr["spin"] - tr["spin"][0]).max() < 1e-7
    np.testing.assert_allclose(tr["box.position"][-1], [20.0, 0.0, 40.0], atol=1e-9)
