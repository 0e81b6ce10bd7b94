"""Looks at runs that go on: what is seen is what the run has at those times, whatever happens in it."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.run import onlooker
from daedalus.simulation.run.onlooker import Onlooker


class Watching(Onlooker):
    """Keeps what it sees, and ends the run after some looks."""

    def __init__(self, looks, most=64):
        super().__init__(most)
        self.seen, self.looks, self.reached = [], looks, []

    def __call__(self, t):
        self.reached.append(t)

    def show(self, samples):
        self.seen.append(samples)
        if len(self.seen) == self.looks:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def at_every_chance(monkeypatch):
    monkeypatch.setattr(onlooker, "SHARE", 1e9)


def oscillator():
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    m.output("energy", x**2 + v**2)
    return m, {}


def written_as_dae():
    m = dd.Model("resistor")
    q, i = m.state("x", start=1.0), m.algebraic("v")
    m.equation(m.der(q), -i + np.cos(m.time))
    m.equation(2.0 * i, q)
    m.output("energy", q * i)
    return m, {"method": "radau5"}


def with_a_clock_and_bounces():
    m = dd.Model("ball")
    h, v = m.state("x", start=1.0), m.state("v", start=0.0)
    count = m.discrete("count", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("floor", h, direction=-1, reset={"v": -v})
    m.every(0.1, {"count": count + 1})
    m.output("energy", 9.81 * h + v**2 / 2 + 0 * count)
    return m, {}


def with_a_delay():
    m = dd.Model("delayed")
    x = m.state("x", start=1.0)
    late = m.delay(x, 1.0)
    m.equation(m.der(x), -1.5 * late)
    m.output("v", late)
    m.output("energy", x + late)
    return m, {}


def that_turns_stiff():
    m = dd.Model("van der Pol")
    x, v = m.state("x", start=2.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), 1000.0 * (1 - x**2) * v - x)
    m.output("energy", x**2)
    return m, {"rtol": 1e-4}


@pytest.mark.parametrize(
    ("made", "end"),
    [
        (oscillator, 1e9),
        (oscillator, -1e9),
        (written_as_dae, 1e9),
        (with_a_clock_and_bounces, 1e5),  # all ticks of a run are computed before it starts
        (with_a_delay, 1e9),
        (that_turns_stiff, 1e9),
    ],
)
def test_what_is_seen_is_what_the_run_has(made, end):
    model, options = made()
    watching = Watching(looks=3)
    tr = dd.simulate(model, end, **options, progress=watching)
    assert tr.status == "interrupted"
    assert len(watching.seen) == 3
    names = [name for name in ("x", "v", "count") if name in tr]
    whole = {tuple(row) for row in np.column_stack([tr.time, *(tr[name] for name in names)])}
    ends = []
    for samples in watching.seen:
        rows = np.column_stack([samples.time, *(samples[name] for name in names)])
        assert 2 <= len(rows) <= watching.most
        assert np.all(np.diff(samples.time) * np.sign(end) >= 0)
        assert samples.time[0] == 0.0
        assert {tuple(row) for row in rows} <= whole
        np.testing.assert_allclose(samples["energy"], tr.at(samples.time)["energy"], rtol=1e-3, atol=1e-3)
        ends.append(abs(samples.time[-1]))
    assert ends == sorted(ends)
    assert ends[0] < ends[-1]
    # The same rows as without anybody who looks.
    alone = dd.simulate(model, end, **options, max_steps=tr.work.steps)
    np.testing.assert_array_equal(alone.time, tr.time)
    np.testing.assert_array_equal(alone["x"], tr["x"])


def test_a_stretch_that_is_taken_back_is_no_longer_seen():
    model, _ = oscillator()
    watching = Watching(looks=10**9)
    whole = dd.simulate(model, 10.0)
    watching.ended(whole)
    watching.of_piece(whole._plant, whole._drive, whole._parameters, 4.0, 10.0)
    (earlier,) = watching._some_earlier()
    assert 0 < earlier.time[-1] < 4.0
    watching.of_piece(whole._plant, whole._drive, whole._parameters, 0.0, 10.0)
    assert watching._some_earlier() == []


def test_a_look_is_over_when_it_is_over():
    model, _ = oscillator()
    kept = []

    class Hoarding(Watching):
        def of_piece(self, *piece):
            look = super().of_piece(*piece)
            return lambda so_far: (kept.append(so_far), look(so_far))

    dd.simulate(model, 1e9, progress=Hoarding(looks=1))
    with pytest.raises(ValueError, match="the look at this run is over"):
        kept[0].rows(10)
    with pytest.raises(ValueError, match="the look at this run is over"):
        _ = kept[0].signals


def test_looks_take_a_share_of_the_run(monkeypatch):
    monkeypatch.setattr(onlooker, "SHARE", 1e-9)
    model, _ = oscillator()
    watching = Watching(looks=2)
    tr = dd.simulate(model, 1e9, progress=watching, time_limit=0.5)
    assert tr.status == "time_limit"
    assert len(watching.seen) == 1
    assert len(watching.reached) > 1


def test_a_short_run_is_not_looked_at():
    model, _ = oscillator()
    watching = Watching(looks=1)
    assert dd.simulate(model, 1.0, progress=watching).success
    assert (watching.seen, watching.reached) == ([], [1.0])


def test_an_error_of_whoever_looks_is_told():
    class Failing(Watching):
        def show(self, samples):
            raise RuntimeError("no paper")

    model, _ = oscillator()
    with pytest.raises(RuntimeError, match="no paper"):
        dd.simulate(model, 1e9, progress=Failing(looks=1))
