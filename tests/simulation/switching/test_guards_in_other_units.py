"""Whether a guard is where its event left it does not depend on its unit, in `dd.simulate` and in `dd.prepare`."""

import numpy as np
import pytest

import daedalus as dd


def counter(scale, jump):
    """x falls, is lifted by `jump` where it passes 0.5, and the event is counted."""
    m = dd.Model("counter")
    x, count = m.state("x", start=1.0), m.state("count", start=0.0)
    m.equation(m.der(x), -1.0 - 0.1 * x)
    m.equation(m.der(count), 0.0)
    m.event("half", scale * (x - 0.5), direction=-1, reset={"x": x + jump, "count": count + 1})
    return m


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("jump", [0.0, 0.01])
def test_a_run_cut_at_an_event_is_the_whole_run(scale, jump):
    m = counter(scale, jump)
    whole = dd.simulate(m, 0.6, rtol=1e-8)
    assert len(whole.events) == (1 if jump == 0 else len(dd.simulate(counter(1.0, jump), 0.6, rtol=1e-8).events))
    first = whole.events[0].time
    for rest in (
        dd.simulate(m, (first, 0.6), start=whole.at(first), rtol=1e-8),
        dd.prepare(m, (first, 0.6), start=whole.at(first), rtol=1e-8).trajectory(),
    ):
        assert rest["count"][-1] == whole["count"][-1]
        assert len(rest.events) == len(whole.events) - 1
        assert np.isclose(rest["x"][-1], whole["x"][-1], atol=1e-7)
