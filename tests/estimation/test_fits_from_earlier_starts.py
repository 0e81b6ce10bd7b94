"""Data that begin later than the run whose start values the model has."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError


def consecutive() -> dd.Model:
    """A -> B -> C from pure A."""
    m = dd.Model("consecutive")
    a, b = m.state("a", start=1.0), m.state("b", start=0.0)
    k1, k2 = m.parameter("k1", 0.6), m.parameter("k2", 0.6)
    m.equation([m.der(a), m.der(b)], [-k1 * a, k1 * a - k2 * b])
    return m


def samples(first: float, deviation: float, last: float = 4.0) -> dict[str, np.ndarray]:
    """k1 = 1 and k2 = 0.5, by the closed form."""
    times = np.linspace(first, last, 40)
    noise = deviation * np.random.default_rng(1).normal(size=(2, len(times)))
    a, b = np.exp(-times), 2 * (np.exp(-0.5 * times) - np.exp(-times))
    return {"time": times, "a": a + noise[0], "b": b + noise[1]}


@pytest.mark.parametrize("deviation", [0.0, 0.01])
@pytest.mark.parametrize("noise", [None, 0.01])
def test_data_that_begin_later_are_told_by_name(deviation, noise):
    fit = dd.fit(consecutive(), samples(0.2, deviation), free=["k1", "k2"], noise=noise)
    (note,) = (note for note in fit.notes if "begin=" in note)
    assert note.startswith("the run starts at 0.2 s, the first time of the data, and from 0 s χ² falls from ")
    assert note.endswith(": if the start values of the model are those of 0 s, use dd.fit(..., begin=0.0)")
    better = dd.fit(consecutive(), samples(0.2, deviation), free=["k1", "k2"], noise=noise, begin=0.0)
    assert better["k1"] == pytest.approx(1.0, abs=1e-6 + 4 * deviation)
    assert better["k2"] == pytest.approx(0.5, abs=1e-6 + 4 * deviation)
    assert not any("begin=" in note for note in better.notes)


def test_every_experiment_starts_there():
    data = [samples(0.2, 0.01), samples(0.5, 0.01, last=3.0)]
    (note,) = (note for note in dd.fit(consecutive(), data, free="k1").notes if "begin=" in note)
    assert note.startswith("the run starts at the first time of each experiment, ")
    assert dd.fit(consecutive(), data, free=["k1", "k2"], begin=0.0)["k1"] == pytest.approx(1.0, abs=0.05)


def test_nothing_is_said_where_the_first_sample_is_the_start():
    """Times that count from elsewhere, or start values that are free or fit: zero has no meaning there."""
    clock = samples(0.0, 0.01)
    for shift in (0.0, 1.5, 1e6):
        moved = clock | {"time": clock["time"] + shift}
        assert not any("begin=" in note for note in dd.fit(consecutive(), moved, free=["k1", "k2"]).notes)
    free = dd.fit(consecutive(), samples(0.2, 0.01), free=["k1", "k2", "a", "b"])
    assert not any("begin=" in note for note in free.notes)
    assert free["k1"] == pytest.approx(1.0, abs=0.05)


def test_a_run_that_starts_behind_its_data_is_refused():
    with pytest.raises(InputError) as raised:
        dd.fit(consecutive(), samples(0.2, 0.0), free="k1", begin=0.3)
    text = str(raised.value)
    assert "The data begin before the run." in text
    assert "begin=0.3, and the first time is 0.2" in text
