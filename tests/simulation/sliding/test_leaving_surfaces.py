"""Runs that leave one of the surfaces they slide along, against smooth laws that come ever closer to the jump."""

import pytest
from tests.support.relays import relays

import daedalus as dd


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    """Each function is called some thousand times at most: compiling would take longer."""
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


@pytest.mark.parametrize("seed", [4, 5, 17, 18, 35])
def test_the_surface_that_ends_is_the_one_that_is_left(seed: int) -> None:
    run = dd.simulate(relays(seed), 2.0, rtol=1e-9, time_limit=20.0)
    assert run.success, run.stop_reason
    smooth = dd.simulate(relays(seed, 1e-5), 2.0, method="radau5", rtol=1e-8)
    assert run.end["x"].tolist() == pytest.approx(smooth.end["x"].tolist(), abs=1e-3)
