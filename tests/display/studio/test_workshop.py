"""The studio's work within its bounds: what nobody looks at, what takes too much memory, what falls while loading."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from daedalus.display.studio import workshop
from daedalus.display.studio.job import RunValues, State, error_parts
from daedalus.model_source import load_source


def until(condition, patience=300.0):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def fallen():
    os._exit(3)


@pytest.fixture(scope="module")
def shop():
    """One worker for tests that leave it able to work."""
    made = workshop.Workshop(partial(load_source, "catalogue:mass_spring"), workshop.Limits())
    until(lambda: made.form is not None)
    yield made
    made.close()


def test_a_run_that_nobody_looks_at_is_stopped(shop, monkeypatch):
    monkeypatch.setattr(workshop, "FORGOTTEN", 1.0)
    job = shop.run(RunValues(end="1e9"))
    until(lambda: job.state not in (State.WAITING, State.RUNNING))
    assert (job.state, job.error["what"]) == (State.STOPPED, "Stopped because no page shows it any more.")


def test_a_worker_that_falls_while_loading_is_told():
    shop = workshop.Workshop(fallen, workshop.Limits())
    try:
        first = shop.run(RunValues())
        until(lambda: shop.unusable is not None)
        second = shop.run(RunValues())
        assert second.state == State.FAILED
        assert second.error["what"] == "The model could not be loaded."
        until(lambda: first.state == State.FAILED)
    finally:
        shop.close()


def test_a_worker_that_still_loads_hears_no_stop(shop):
    lost = shop._process
    lost.kill()
    until(lambda: shop._process is not lost)  # the one in its place begins to load
    job = shop.run(RunValues(end="1e9"))
    until(lambda: job.state is State.RUNNING)
    shop.stop(job.number)
    until(lambda: job.state is not State.RUNNING)
    assert (job.state, job.error["what"]) == (State.STOPPED, "Stopped by you.")


@pytest.mark.wide
def test_drawing_what_a_stopped_run_has_may_take_longer_than_hearing(monkeypatch):
    monkeypatch.setattr(workshop, "GRACE", 0.5)
    shop = workshop.Workshop(partial(load_source, "catalogue:mass_spring"), workshop.Limits())
    try:
        until(lambda: shop.form is not None)
        job = shop.run(RunValues(end="1e9"))
        until(lambda: job.share > 0)
        hear = shop._hear

        def slowly(kind, *told):
            hear(kind, *told)
            if kind == "computed":
                os.kill(shop._process.pid, signal.SIGSTOP)
                resumed = threading.Timer(1.5, os.kill, (shop._process.pid, signal.SIGCONT))
                resumed.start()

        monkeypatch.setattr(shop, "_hear", slowly)
        shop.stop(job.number)
        until(lambda: job.state is not State.RUNNING)
        assert job.state is State.STOPPED
        assert job.told["stop_reason"].startswith("interrupted by the user")
    finally:
        shop.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")
def test_memory_is_bounded_and_told():
    code = (
        "from daedalus.display.studio.worker import limit_memory; import numpy\n"
        "limit_memory(3 << 30)\n"
        "try: numpy.ones(1 << 30)\n"
        "except MemoryError as error: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout == "refused\n", done.stderr
    assert error_parts(MemoryError())["what"] == "The run needs more memory than the studio may use."
