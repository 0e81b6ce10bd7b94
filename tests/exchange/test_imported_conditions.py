"""Events of an imported FMU whose indicators jump: those of conditions that hold together are 1 or -1."""

from pathlib import Path

import numpy as np
import pytest

import daedalus as dd


def two_point(low: float, high: float, speed: float) -> dd.Model:
    """A state that goes up and down between two levels, by conditions on it and on a discrete variable together."""
    m = dd.Model("two_point")
    x, on = m.state("x", start=0.5 * (low + high)), m.discrete("on", start=0)
    m.equation(m.der(x), speed * (1 - 2 * on))
    m.when(dd.all_of(x > high, on < 0.5), {"on": 1})
    m.when(dd.all_of(x < low, on > 0.5), {"on": 0})
    m.output("y", x)
    return m


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.wide) for k in range(1, 6))])
def test_conditions_that_hold_together_are_seen_each_time(seed: int, tmp_path: Path) -> None:
    """The first one left the indicator at rest for good: the FMU went on as if there were no other."""
    rng = np.random.default_rng(seed)
    m = two_point(rng.uniform(-1, 0), rng.uniform(0.5, 2), rng.uniform(0.5, 3))
    written = dd.simulate(m, 4.5)
    dd.exchange.fmu(m, tmp_path / "two_point.fmu", kind="both", version=int(rng.choice([2, 3])))
    imported = dd.exchange.load_fmu(tmp_path / "two_point.fmu", kind="model_exchange")
    assert len(written.events) >= 2
    for method in ("auto", "radau5", "bdf") if seed else ("auto",):
        tr = dd.simulate(imported, 4.5, method=method)
        assert [e.time for e in tr.events] == pytest.approx([e.time for e in written.events], abs=1e-8)
        assert tr["y"][-1] == pytest.approx(written["y"][-1], abs=1e-7)
