"""Two joined runs equal one where frictions stick and slip: joined at the instant itself, by either way of joining."""

from __future__ import annotations

import numpy as np
import pytest
from support.friction_chains import friction_model, places_of
from support.friction_references import friction_system

import daedalus as dd

# Both runs have errors of their own; joined at another place they differ by no more.
NEAR = 2e-4


def assert_joins(seed: int, method: str, most: int = 3) -> int:
    """Joins at some of the instants of a random system; how many there were."""
    system = friction_system(seed)
    model = friction_model(system)
    whole = dd.simulate(model, system.span, method=method, time_limit=60)
    assert whole.success, (seed, method, whole.stop_reason)
    instants = sorted({event.time for event in whole.events if 0 < event.time < system.span})
    pick = np.random.default_rng(seed).permutation(len(instants))[:most]
    times = system.span * np.linspace(0.02, 1.0, 25)
    for instant in (instants[k] for k in pick):
        first = dd.simulate(model, instant, method=method, time_limit=60)
        for start in (first.end, whole.at(instant)):
            second = dd.simulate(model, (instant, system.span), start=start, method=method, time_limit=60)
            assert second.success, (seed, method, instant, second.stop_reason)
            later = times[times > instant]
            found, expected = places_of(second, system, later), places_of(whole, system, later)
            np.testing.assert_allclose(found, expected, rtol=0, atol=NEAR, err_msg=f"{seed}, {method}, {instant}")
    return len(pick)


@pytest.mark.parametrize(("seed", "method"), [(2, "auto"), (5, "radau5"), (14, "bdf")])
def test_runs_join_where_frictions_stick_and_slip(seed: int, method: str) -> None:
    assert assert_joins(seed, method, most=1) == 1


@pytest.mark.long
@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p", "dop853"])
def test_many_runs_join_where_frictions_stick_and_slip(method: str) -> None:
    assert sum(assert_joins(seed, method) for seed in range(40)) > 40
