"""Chains of many bodies with hinges in space: understood and run, whatever their length."""

from math import isqrt

import numpy as np
import pytest

import daedalus as dd
from daedalus import _core
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.signature import signature

LINKS = 32


def spatial_chain(links):
    """Bodies in a row, held out horizontally at rest; the axes of the hinges alternate."""
    m = dd.Model("spatial_chain")
    m.gravity([0.0, 0.0, -9.81])
    partner, at = dd.ground, [0.0, 0.0, 0.0]
    for k in range(links):
        body = m.body(
            f"link{k}", 1.0, [0.02, 0.1, 0.1], position=[k + 0.5, 0.0, 0.0], velocity=[0.0, 0.0, 0.0],
            rotation=[1.0, 0.0, 0.0, 0.0], angular_velocity=[0.0, 0.0, 0.0],
        )  # fmt: skip
        axis = [0.0, 1.0, 0.0] if k % 2 == 0 else [0.0, 0.0, 1.0]
        m.joint(f"hinge{k}", "revolute", partner, body, at_a=at, at_b=[-0.5, 0.0, 0.0], axis_a=axis)
        partner, at = body, [0.5, 0.0, 0.0]
    return m


@pytest.fixture(scope="module")
def chain():
    return spatial_chain(LINKS)


def test_equations_are_paired_in_few_phases(chain):
    array = DerivativeArray(chain.freeze())
    s = signature(array.level(0), array.y[:2])
    assert s.index == 3
    # An angle and its rate a hinge, and the length of a quaternion a body.
    assert s.degrees_of_freedom == 3 * LINKS
    most = _core.maximum_matching(s.count, s.size, s.rows, s.columns)
    assert most.phases <= 2 * isqrt(s.size) + 2
    assert most.visits <= (2 * most.phases + 1) * len(s.rows)
    highest = _core.cheapest_matching(s.count, s.size, s.rows, s.columns, -s.orders)
    # Searches stay near their row: all of them together look at every entry a few times.
    assert highest.visits <= 10 * len(s.rows)
    assert highest.row_prices.sum() + highest.column_prices.sum() == -s.degrees_of_freedom


@pytest.mark.wide
def test_a_chain_is_understood(chain):
    report = dd.analyse(chain)
    assert (report.index, report.structural_index) == (3, 3)
    assert report.degrees_of_freedom == 3 * LINKS
    assert len(report.written_constraints) == 5 * LINKS
    # Velocities and accelerations obey every hinge too.
    assert len(report.hidden_constraints) == 2 * 5 * LINKS
    assert report.redundant == []


@pytest.mark.wide
def test_a_chain_falls(chain):
    tr = dd.simulate(chain, 0.1, rtol=1e-8, atol=1e-8, progress=False)
    assert tr.success
    places = np.array([np.asarray(tr[f"link{k}.position"])[-1] for k in range(LINKS)])
    # It falls in its plane: hinges about the vertical stay straight, and the far end falls freely.
    assert np.abs(places[:, 1]).max() < 1e-9
    assert places[-1, 2] == pytest.approx(-9.81 * 0.1**2 / 2, rel=1e-3)
    assert np.abs(np.diff(places, axis=0)).max() < 1 + 1e-9
