"""Ctrl-C in the middle of a sweep: what was computed comes back, the rest says that it was not run."""

import gc
import os
import signal
import threading
import time

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.ensembles.collected import NOT_RUN, KeptCases, SummarisedCases


def decay():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    return m


def interrupt_behind(monkeypatch, kind, blocks):
    """Ctrl-C behind so many blocks of cases."""
    taken, take = [], kind.take

    def interrupted(self, block, results):
        take(self, block, results)
        taken.append(block)
        if len(taken) == blocks:
            raise KeyboardInterrupt

    monkeypatch.setattr(kind, "take", interrupted)
    return taken


@pytest.mark.parametrize(("on", "count", "workers"), [("auto", 40, 1), ("cpu", 2000, 1), ("cpu", 2000, 2)])
def test_what_was_computed_is_kept(monkeypatch, on, count, workers):
    taken = interrupt_behind(monkeypatch, KeptCases, 2)
    rates = np.linspace(0.5, 2.0, count)
    en = dd.sweep(decay(), 1.0, over={"k": rates}, on=on, workers=workers, save_at="end", rtol=1e-9)
    done = taken[-1].stop
    assert 0 < done < count
    np.testing.assert_allclose(en["x"].values[:done, 0], np.exp(-rates[:done]), rtol=1e-8)
    assert np.isnan(en["x"].values[done:]).all()
    assert en.success.values.tolist() == [True] * done + [False] * (count - done)
    assert set(en.stop_reason.values[done:].tolist()) == {NOT_RUN}


def test_statistics_are_those_of_the_cases_that_were_run(monkeypatch):
    taken = interrupt_behind(monkeypatch, SummarisedCases, 2)
    rates = np.linspace(0.5, 2.0, 2000)
    en = dd.sweep(decay(), 1.0, over={"k": rates}, on="cpu", workers=1, save_at="end", summary=("mean",), rtol=1e-9)
    done = taken[-1].stop
    assert (int(en.data["cases"]), int(en.data["not_run"])) == (done, 2000 - done)
    assert float(en["x"].values[0, 0]) == pytest.approx(np.exp(-rates[:done]).mean(), rel=1e-8)


def pendulums():
    """Runs of a minute and more in all, a few hundred milliseconds each."""
    m = dd.Model("pendulums")
    x, v, k = m.state("x", 6, start=[1.0] * 6), m.state("v", 6, start=[0.0] * 6), m.parameter("k", 1.0)
    m.equation([m.der(x), m.der(v)], [v, -1e3 * k * ca.sin(x) - 0.01 * v])
    return m


@pytest.fixture(scope="module")
def everything_is_imported():
    """Python itself loses what is raised in the callback of a module's lock, while a module is imported first."""
    dd.sweep(decay(), 0.1, over={"k": np.linspace(0.5, 2.0, 40)}, save_at="end")


@pytest.mark.usefixtures("everything_is_imported")
@pytest.mark.parametrize(("on", "workers"), [("cpu", 1), ("cpu", 2), ("auto", 2)])
@pytest.mark.parametrize("after", [0.05, pytest.param(2.0, marks=pytest.mark.wide)])
def test_an_interrupt_is_heard_while_lanes_and_threads_are_at_work(on, workers, after):
    """While a kernel is compiled, too: what cannot be ended goes on in the background."""
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, interrupt)
    rates = np.linspace(0.5, 2.0, 4000)
    gc.collect()  # Python drops an interrupt in a callback of other libraries' weak references, and tests leave many.
    timer.start()
    try:
        en = dd.sweep(pendulums(), 300.0, over={"k": rates}, on=on, workers=workers, save_at="end", rtol=1e-9)
        assert not en.success.values.all()
    except KeyboardInterrupt:  # before the first case was begun
        pass
    finally:
        timer.cancel()
    # Nothing near the minutes of the whole, on a machine with other work too.
    assert time.monotonic() - sent[0] < 45.0
