"""Arrays that stay on a GPU, memory and launches: on a driver whose memory is that of this machine."""

import gc

import casadi as ca
import numpy as np
import pytest
from tests.ensembles.fake_gpu import FakeDevice, FakeDriver, install

import daedalus as dd
from daedalus.compilation.lanes.machine import lane_width
from daedalus.ensembles.gpu import gpu_runs
from daedalus.ensembles.gpu.dlpack import view_of

OPTIONS = {"method": "tsit5", "save_at": [0.3, 1.0]}


def pendulum():
    m = dd.Model("pendulum")
    q = m.state("q", 2, start=[1.0, 0.0])
    length = m.parameter("length", 1.0)
    m.equation(m.der(q), ca.vertcat(q[1], -9.81 / length * ca.sin(q[0]) - 0.1 * q[1]))
    m.output("height", -length * ca.cos(q[0]))
    return m


class Foreign:
    """An array of another library, which tells where it lies and no more."""

    def __init__(self, array, stream=None):
        self._array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": stream}


def test_results_stay_and_are_read_where_they_lie(monkeypatch):
    driver, m = install(monkeypatch), pendulum()
    over = {"length": np.linspace(0.5, 2.0, 7), "q[0]": [0.1, 0.2, 0.3]}
    here = dd.sweep(m, 1.0, over=over, on="cpu", **OPTIONS)
    en = dd.sweep(m, 1.0, over=over, on="gpu", keep="there", **OPTIONS)
    assert repr(en) == "Ensemble(21 cases on Fake GPU)"
    x = en.device("q")
    told = x.__cuda_array_interface__
    assert (told["version"], told["typestr"], told["shape"]) == (3, "<f8", here["q"].shape)
    np.testing.assert_array_equal(np.from_dlpack(x), here["q"].values)
    np.testing.assert_array_equal(np.asarray(x[2:5, 1, -1]), here["q"].values[2:5, 1, -1])
    np.testing.assert_array_equal(np.from_dlpack(x.compact()), here["q"].values)
    assert x.compact().is_compact
    # How the cases ended was brought here, and what was asked for above; a look at the data brings the rest.
    assert driver.calls.count("cuMemcpy2DAsync_v2") == 1
    assert driver.calls.count("cuMemcpyDtoH_v2") == 1
    assert en.data.equals(here.data)
    with pytest.raises(dd.InputError, match="No 'height' is on the GPU"):
        en.device("height")
    with pytest.raises(dd.InputError, match="not on a GPU"):
        here.device("q")


@pytest.mark.parametrize("keep", ["here", "there"])
def test_pieces_of_a_block_travel_one_after_the_other(monkeypatch, keep):
    driver, m = install(monkeypatch), pendulum()
    over = {"length": np.linspace(0.5, 2.0, 23), "q": np.random.default_rng(0).normal(size=(23, 2))}
    here = dd.sweep(m, 1.0, over=over, combine="zip", on="cpu", **OPTIONS)
    monkeypatch.setattr(gpu_runs, "PIECE", 10)
    en = dd.sweep(m, 1.0, over=over, combine="zip", on="gpu", keep=keep, **OPTIONS)
    assert en.data.equals(here.data)
    assert driver.calls.count("cuLaunchKernel") == driver.calls.count("cuStreamCreate") == 3
    # How the cases ended, and the rows of each piece.
    assert driver.calls.count("cuMemcpy2DAsync_v2") == (6 if keep == "here" else 3)


def test_memory_lives_as_long_as_its_last_reader(monkeypatch):
    driver = install(monkeypatch)
    en = dd.sweep(pendulum(), 1.0, over={"length": np.linspace(0.5, 2.0, 40)}, on="gpu", keep="there", **OPTIONS)
    held = en._there.launched.out.address
    view = np.from_dlpack(en.device("q"))
    expected = view.copy()
    del en
    gc.collect()
    assert held in driver.held
    np.testing.assert_array_equal(view, expected)
    del view
    gc.collect()
    assert held not in driver.held


def test_a_capsule_that_nobody_reads_lets_go(monkeypatch):
    driver = install(monkeypatch)
    en = dd.sweep(pendulum(), 1.0, over={"length": np.linspace(0.5, 2.0, 40)}, on="gpu", keep="there", **OPTIONS)
    held, capsule = en._there.launched.out.address, en.device("q").__dlpack__()
    del en
    gc.collect()
    assert held in driver.held
    assert view_of(capsule).shape == (40, 2, 2)
    del capsule
    gc.collect()
    assert held not in driver.held


def test_values_on_the_device_do_not_pass_this_machine(monkeypatch):
    driver, m = install(monkeypatch), pendulum()
    lengths = np.linspace(0.5, 2.0, 50)
    first = dd.sweep(m, 1.0, over={"length": lengths}, on="gpu", keep="there", **OPTIONS)
    ends = first.device("q")[:, -1]
    driver.calls.clear()
    there = dd.sweep(
        m, 1.0, over={"q": Foreign(ends, stream=1), "length": lengths}, combine="zip", on="gpu", keep="there", **OPTIONS
    )
    # The first start is looked at; the others are copied from place to place on the device.
    assert driver.calls.count("cuMemcpyDtoH_v2") == 1
    assert "cuStreamSynchronize" in driver.calls
    starts = first["q"].isel(time=-1).values
    here = dd.sweep(m, 1.0, over={"q": starts, "length": lengths}, combine="zip", on="cpu", **OPTIONS)
    assert there.data.equals(here.data)
    # On the processor they are brought here.
    again = dd.sweep(m, 1.0, over={"q": ends, "length": lengths}, combine="zip", on="cpu", **OPTIONS)
    assert again.data.equals(here.data)
    single = Foreign(ends)
    single.__cuda_array_interface__["typestr"] = "<f4"
    with pytest.raises(dd.InputError, match="not 64-bit"):
        dd.sweep(m, 1.0, over={"q": single}, combine="zip", on="gpu", **OPTIONS)


def test_a_case_that_fails_is_nan_there_too(monkeypatch):
    install(monkeypatch)
    lengths = np.array([1.0, np.nan, 2.0])
    en = dd.sweep(pendulum(), 1.0, over={"length": lengths}, on="gpu", keep="there", **OPTIONS)
    np.testing.assert_array_equal(np.isnan(np.from_dlpack(en.device("q"))).all(axis=(1, 2)), [False, True, False])
    here = dd.sweep(pendulum(), 1.0, over={"length": lengths}, on="cpu", **OPTIONS)
    assert en.data.equals(here.data)


def test_many_launches_are_one_result_and_memory_is_used_again(monkeypatch):
    driver, m = install(monkeypatch, room=20_000), pendulum()
    monkeypatch.setattr(gpu_runs, "MOST", 64)
    over = {"length": np.linspace(0.5, 2.0, 1000)}
    here = dd.sweep(m, 1.0, over=over, on="cpu", **OPTIONS)
    assert dd.sweep(m, 1.0, over=over, on="gpu", **OPTIONS).data.equals(here.data)
    launches = driver.calls.count("cuLaunchKernel")
    assert launches == -(-1000 // 64)
    # Two launches are under way at once, each with three pieces of memory.
    assert driver.calls.count("cuMemAlloc_v2") <= 12


def test_a_full_gpu_takes_fewer_cases_at_once(monkeypatch):
    driver, m = install(monkeypatch, room=2**20), pendulum()
    # Another program takes nearly all after the size of a launch was chosen.
    monkeypatch.setattr(FakeDriver, "_cuMemGetInfo_v2", lambda self, free, total: setattr(free._obj, "value", 2**20))
    driver.room = 10_000
    over = {"length": np.linspace(0.5, 2.0, 500)}
    found = dd.sweep(m, 1.0, over=over, on="gpu", **OPTIONS)
    assert found.data.equals(dd.sweep(m, 1.0, over=over, on="cpu", **OPTIONS).data)
    install(monkeypatch, room=100)
    with pytest.raises(dd.SolverError) as caught:
        dd.sweep(m, 1.0, over=over, on="gpu", **OPTIONS)
    assert str(caught.value) == (
        "The GPU is out of memory.\n  cuMemAlloc_v2: out of memory\n"
        "  Because another program holds it, or one case alone needs more.\n"
        '  Try: summary=, save_at="end", fewer cases at once, or free what other programs hold there'
    )


def test_results_that_do_not_fit_there_are_refused(monkeypatch):
    install(monkeypatch, room=5000)
    with pytest.raises(dd.SolverError) as caught:
        dd.sweep(pendulum(), 1.0, over={"length": np.linspace(0.5, 2.0, 500)}, on="gpu", keep="there", **OPTIONS)
    assert str(caught.value).splitlines()[0] == "The results do not fit into the memory of the GPU."
    assert 'keep="here"' in str(caught.value).splitlines()[-1]


def test_auto_says_why_it_takes_a_gpu_or_none(monkeypatch):
    m, lengths = pendulum(), np.linspace(0.5, 2.0, 200)
    monkeypatch.setattr("daedalus.ensembles.ways.VERY_MANY", 100)
    monkeypatch.setattr("daedalus.ensembles.ways.MANY", 100)
    monkeypatch.setattr("daedalus.ensembles.ways.why_no_gpu", lambda: "no NVIDIA driver was found")
    assert dd.sweep(m, 1.0, over={"length": lengths}, **OPTIONS).notes == (
        f"200 cases on {lane_width()} lanes of this processor, by tsit5 (no GPU: no NVIDIA driver was found)",
    )
    install(monkeypatch)
    assert dd.sweep(m, 1.0, over={"length": lengths}, **OPTIONS).notes == (
        "200 cases on Fake GPU, by tsit5 (from 100 cases on)",
    )


def test_old_gpus_are_told():
    with pytest.raises(dd.SolverError, match="Fake GPU is older than the kernels"):
        FakeDevice(FakeDriver(capability=(6, 1)))


def test_stiff_cases_are_put_back_into_their_place(monkeypatch):
    install(monkeypatch)
    m = dd.Model("relaxation")
    x, rate = m.state("x", start=2.0), m.parameter("rate", 1.0)
    m.equation(m.der(x), -rate * (x - 1.0))
    options = {"over": {"rate": np.array([1.0, 1e7, 2.0])}, "save_at": [1.0, 3.0]}
    there = dd.sweep(m, 3.0, on="gpu", keep="there", **options)
    here = dd.sweep(m, 3.0, on="cpu", **options)
    np.testing.assert_array_equal(np.from_dlpack(there.device("x")), here["x"].values)
    assert there.data.equals(here.data)
