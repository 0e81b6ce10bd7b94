"""Sweeps on a real GPU: bits of the processor, arrays that others read where they lie, memory that runs out."""

import ctypes
import gc

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.ensembles.gpu import gpu_runs
from daedalus.ensembles.gpu.cuda_driver import device, why_no_gpu

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(why_no_gpu()), reason=f"there is no GPU: {why_no_gpu()}")]


def pendulum():
    m = dd.Model("pendulum")
    angle, speed = m.state("angle", start=1.0), m.state("speed", start=0.0)
    length = m.parameter("length", 1.0)
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), -9.81 / length * ca.sin(angle) - 0.1 * speed**3)
    m.output("height", -length * ca.cos(angle))
    return m


def both(model, span, over, **options):
    """A sweep on the GPU and on lanes of the processor; that the first was there is seen by what stays there."""
    there = dd.sweep(model, span, over=over, on="gpu", keep="there", **options)
    here = dd.sweep(model, span, over=over, on="cpu", **options)
    assert there.device(next(iter(model.freeze().of_kind("state"))).name).size
    return there, here


@pytest.mark.parametrize(
    "options",
    [{"method": "tsit5"}, {"method": "dop853"}, {"method": "rk4", "step": 0.01}, {}, {"strict": True}],
)
def test_a_gpu_gives_the_bits_of_lanes(options):
    over = {"length": np.linspace(0.5, 2.0, 5000), "angle": np.linspace(-3.0, 3.0, 5000)}
    there, here = both(pendulum(), 3.0, over, combine="zip", save_at=[0.0, 1.1, 3.0], **options)
    assert there.data.equals(here.data)
    assert dd.sweep(
        pendulum(), 3.0, over=over, combine="zip", save_at=[0.0, 1.1, 3.0], on="gpu", **options
    ).data.equals(here.data)


def test_noise_has_the_bits_of_lanes():
    m = dd.Model("noisy well")
    x, v, w, s = (
        m.state("x", start=0.1),
        m.state("v", start=0.0),
        m.noise("w", 0.5),
        m.sampled_noise("s", 0.1, every=0.07),
    )
    m.equation([m.der(x), m.der(v)], [v + 0.1 * x * m.noise("b", 0.3), x - x**3 - 0.2 * v + w + s])
    there, here = both(m, (-0.5, 2.0), {"seed": np.arange(3000)}, step=0.01, save_at="end")
    assert there.data.equals(here.data)


def test_constrained_pendulums_have_the_bits_of_lanes():
    k = catalogue.load("pendulum_3d")
    over = {"mass": np.linspace(0.9, 1.1, 2000)}
    there, here = both(k.model, 2.0, over, start=k.start, inputs=k.inputs, save_at=[1.0, 2.0])
    assert there.data.equals(here.data)


@pytest.mark.parametrize(("name", "parameter", "value"), [("robertson", "rate[0]", 0.04), ("chemical_akzo", "K", 34.4)])
def test_stiff_systems_have_the_bits_of_lanes(name, parameter, value):
    k = catalogue.load(name)
    options = {"start": k.start, "inputs": k.inputs, "method": "rodas5p", "rtol": 1e-6, "save_at": "end"}
    over = {parameter: value * np.linspace(0.9, 1.1, 500)}
    there, here = both(k.model, 100.0, over, **options)
    assert there.data.equals(here.data)


def test_derivatives_have_the_bits_of_lanes():
    over = {"length": np.linspace(0.5, 2.0, 1000)}
    there, here = both(pendulum(), 1.0, over, save_at="end", wrt=["length", "angle"], method="tsit5")
    np.testing.assert_array_equal(np.asarray(there.device("angle by length")), here.d("angle", "length").values)
    assert there.data.equals(here.data)


def test_results_go_into_the_next_sweep_without_a_trip():
    m, lengths = pendulum(), np.linspace(0.5, 2.0, 3000)
    options = {"method": "tsit5", "save_at": "end"}
    first = dd.sweep(m, 1.0, over={"length": lengths}, on="gpu", keep="there", **options)
    ends = {name: first.device(name)[:, -1] for name in ("angle", "speed")}
    second = dd.sweep(m, 1.0, over={**ends, "length": lengths}, combine="zip", on="gpu", keep="there", **options)
    here = dd.sweep(m, 1.0, over={"length": lengths}, on="cpu", **options)
    starts = {name: here[name].values[:, -1] for name in ("angle", "speed")}
    again = dd.sweep(m, 1.0, over={**starts, "length": lengths}, combine="zip", on="cpu", **options)
    assert second.data.equals(again.data)


def test_a_reader_of_the_interface_finds_the_numbers():
    """By the driver alone: what `__cuda_array_interface__` and DLPack tell is copied here by another call."""
    en = dd.sweep(pendulum(), 1.0, over={"length": np.linspace(0.5, 2.0, 100)}, on="gpu", keep="there", save_at="end")
    a = en.device("angle").compact()
    told, found = a.__cuda_array_interface__, np.empty(100)
    cuda = ctypes.CDLL("libcuda.so.1")
    where = ctypes.c_void_p(found.ctypes.data)
    assert cuda.cuMemcpyDtoH_v2(where, ctypes.c_uint64(told["data"][0]), ctypes.c_size_t(800)) == 0
    np.testing.assert_array_equal(found, en["angle"].values[:, -1])
    assert a.__dlpack_device__() == (2, 0)


def test_cupy_reads_it():
    cupy = pytest.importorskip("cupy")
    en = dd.sweep(pendulum(), 1.0, over={"length": np.linspace(0.5, 2.0, 100)}, on="gpu", keep="there")
    a = en.device("angle")
    for read in (cupy.asarray(a), cupy.from_dlpack(a)):
        assert read.data.ptr == a.__cuda_array_interface__["data"][0]
        np.testing.assert_array_equal(cupy.asnumpy(read), en["angle"].values)


def test_torch_reads_it_and_is_read():
    torch = pytest.importorskip("torch")
    m, lengths = pendulum(), np.linspace(0.5, 2.0, 100)
    en = dd.sweep(m, 1.0, over={"length": lengths}, on="gpu", keep="there")
    a = en.device("angle")
    read = torch.from_dlpack(a)
    assert read.data_ptr() == a.__cuda_array_interface__["data"][0]
    np.testing.assert_array_equal(read.cpu().numpy(), en["angle"].values)
    given = dd.sweep(m, 1.0, over={"length": torch.tensor(lengths, device="cuda")}, on="gpu")
    assert given.data.equals(en.data)


def test_jax_reads_it():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    en = dd.sweep(pendulum(), 1.0, over={"length": np.linspace(0.5, 2.0, 100)}, on="gpu", keep="there")
    read = jax.dlpack.from_dlpack(en.device("angle").compact())
    np.testing.assert_array_equal(np.asarray(read), en["angle"].values)


def test_memory_is_given_back():
    gpu = device()
    before = gpu.free_bytes()
    for _ in range(3):
        en = dd.sweep(pendulum(), 1.0, over={"length": np.linspace(0.5, 2.0, 200_000)}, on="gpu", keep="there")
        assert gpu.free_bytes() < before
        del en
        gc.collect()
    assert gpu.free_bytes() >= before - 2**28


def test_a_full_gpu_takes_fewer_cases_at_once(monkeypatch):
    gpu, m = device(), pendulum()
    over = {"length": np.linspace(0.5, 2.0, 300_000)}
    options = {"method": "rk4", "step": 0.1, "save_at": np.linspace(0.0, 1.0, 101)}
    here = dd.sweep(m, 1.0, over=over, on="cpu", **options)
    monkeypatch.setattr(gpu_runs, "OF_FREE_MEMORY", 100.0)  # a launch that is larger than what is left
    full = gpu.allocate_for_others(gpu.free_bytes() - 2**28)
    there = dd.sweep(m, 1.0, over=over, on="gpu", **options)
    assert there.data.equals(here.data)
    with pytest.raises(dd.SolverError, match="do not fit into the memory of the GPU"):
        dd.sweep(m, 1.0, over=over, on="gpu", keep="there", **options)
    del full


def test_many_launches_are_one_result(monkeypatch):
    monkeypatch.setattr(gpu_runs, "MOST", 1000)
    over = {"length": np.linspace(0.5, 2.0, 10_500), "angle": np.append(np.linspace(-3.0, 3.0, 10_499), np.nan)}
    options = {"combine": "zip", "method": "tsit5", "save_at": [0.5, 1.0]}
    there = dd.sweep(pendulum(), 1.0, over=over, on="gpu", **options)
    assert there.data.equals(dd.sweep(pendulum(), 1.0, over=over, on="cpu", **options).data)
    summary = {**options, "summary": ("mean", "std", 0.05)}
    bands = dd.sweep(pendulum(), 1.0, over=over, on="gpu", **summary)
    assert bands.data.equals(dd.sweep(pendulum(), 1.0, over=over, on="cpu", **summary).data)
