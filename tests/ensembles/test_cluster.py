"""Sweeps on a Dask cluster of processes: equal to those of one process, a killed worker included."""

import os
import signal
from contextlib import suppress

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

distributed = pytest.importorskip("distributed")


def pendulum():
    m = dd.Model("pendulum")
    angle, speed = m.state("angle", start=1.0), m.state("speed", start=0.0)
    length, u = m.parameter("length", 1.0), m.input("u")
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), -9.81 / length * ca.sin(angle) + u)
    m.output("height", -length * ca.cos(angle))
    return m


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_results_equal_those_of_one_process(client):
    m = pendulum()
    over = {"length": np.linspace(0.5, 2.0, 300), "angle": np.linspace(-1.0, 1.0, 300)}
    over["angle"][[0, 64, 299]] = np.nan  # the first of a block among them
    options = {"over": over, "combine": "zip", "inputs": {"u": -0.1 * m["speed"]}, "save_at": [0.5, 1.0]}
    there, here = dd.sweep(m, 1.0, on=client, **options), dd.sweep(m, 1.0, **options)
    assert there.notes == ("300 cases on 2 workers of a Dask cluster, one by one",)
    assert there.data.equals(here.data)
    assert here.success.values.sum() == 297
    bands = {**options, "summary": ("mean", 0.05, 0.95, "max")}
    assert dd.sweep(m, 1.0, on=client, **bands).data.equals(dd.sweep(m, 1.0, **bands).data)


@pytest.mark.wide
def test_derivatives_come_from_a_cluster_too(client):
    m = pendulum()
    options = {"over": {"length": np.linspace(0.5, 2.0, 200)}, "inputs": {"u": 0.1}, "save_at": [0.5, 1.0]}
    wanted = {**options, "wrt": ["length", "angle"], "method": "tsit5"}
    there, here = dd.sweep(m, 1.0, on=client, **wanted), dd.sweep(m, 1.0, **wanted)
    assert there.d("angle", "length").shape == (200, 2)
    assert there.data.equals(here.data)
    bands = {**wanted, "summary": ("mean", "std")}
    assert dd.sweep(m, 1.0, on=client, **bands).data.equals(dd.sweep(m, 1.0, **bands).data)


@pytest.mark.wide
def test_a_killed_worker_loses_nothing(client, tmp_path):
    m, here, flag = pendulum(), os.getpid(), tmp_path / "not yet"
    flag.touch()

    def deadly(t, path=str(flag)):
        # The first worker that is asked goes down.
        if os.getpid() != here:
            with suppress(FileNotFoundError):  # another worker may have been first
                os.remove(path)
                os.kill(os.getpid(), signal.SIGKILL)
        return float(np.interp(t, [0.0, 1.0], [0.0, 0.5]))

    options = {"over": {"length": np.linspace(0.5, 2.0, 130)}, "method": "rk4", "step": 0.25, "save_at": "end"}
    there = dd.sweep(m, 1.0, on=client, inputs={"u": deadly}, **options)
    assert not flag.exists()
    assert bool(there.success.all())
    assert there.data.equals(dd.sweep(m, 1.0, inputs={"u": deadly}, **options).data)
    # It is told that blocks were run again.
    assert there.notes != ("130 cases on 2 workers of a Dask cluster, one by one",)


@pytest.mark.wide
def test_results_stay_on_the_cluster_until_somebody_asks(client, tmp_path):
    m, here, log, flag = pendulum(), os.getpid(), tmp_path / "runs", tmp_path / "not yet"

    def watched(t, log=str(log), path=str(flag)):
        # It is written down that cases are run; the first worker that is asked after the flag was set goes down.
        if os.getpid() != here:
            with open(log, "a") as file:
                file.write(".")
            with suppress(FileNotFoundError):  # another worker may have been first
                os.remove(path)
                os.kill(os.getpid(), signal.SIGKILL)
        return float(np.interp(t, [0.0, 1.0], [0.0, 0.1]))

    options = {"over": {"length": np.linspace(0.5, 2.0, 130), "angle": [0.1, np.nan]}, "inputs": {"u": watched}}
    fixed = {"method": "rk4", "step": 0.5, "save_at": [0.5, 1.0]}
    lazy = dd.sweep(m, 1.0, on=client, keep="there", **options, **fixed)
    assert repr(lazy) == "Ensemble(130 length × 2 angle_start: run on a cluster when somebody asks)"
    assert lazy["angle"].chunks is not None
    assert not log.exists()
    flag.touch()
    found = lazy.data.compute()
    assert not flag.exists()
    whole = dd.sweep(m, 1.0, **options, **fixed).data
    assert found.drop_vars("stop_reason").equals(whole.drop_vars("stop_reason"))
    reasons = found["stop_reason"].values
    assert set(reasons[:, 0]) == {"reached t = 1"}
    assert all("angle" in reason for reason in reasons[:, 1])
    np.testing.assert_array_equal(lazy["speed"].isel(angle_start=0).mean("length").compute().values.shape, (2,))


@pytest.mark.wide
def test_what_is_no_place_is_told():
    with pytest.raises(dd.InputError) as caught:
        dd.sweep(pendulum(), 1.0, over={"length": [1.0]}, inputs={"u": 0.0}, on="moon")
    assert (
        str(caught.value) == 'on=\'moon\' is not valid.\n  Try: on="auto" or on="cpu" or on="gpu", or a client of Dask'
    )
