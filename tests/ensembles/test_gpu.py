"""Kernels for GPUs: their text everywhere, their runs where there is one, equal to lanes bit for bit."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
import daedalus.ensembles.sweep as sweep_file
from daedalus.compilation.lanes.ptx import ptx_of
from daedalus.ensembles.cases import read_cases
from daedalus.ensembles.gpu import cuda_driver
from daedalus.ensembles.gpu.gpu_runs import gpu_text
from daedalus.ensembles.lanes.lane_runs import lane_runs
from daedalus.ensembles.sweep_plan import SweepPlan
from daedalus.ensembles.ways import OnGpu, OnLanes

needs_gpu = pytest.mark.skipif(bool(cuda_driver.why_no_gpu()), reason="there is no GPU")


def pendulum():
    m = dd.Model("pendulum")
    angle, speed = m.state("angle", start=1.0), m.state("speed", start=0.0)
    length = m.parameter("length", 1.0)
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), -9.81 / length * ca.sin(angle) - 0.1 * speed**3)
    return m


def lanes_of(method, **options):
    plan = SweepPlan(pendulum().freeze(), (0.0, 1.0), (None, None, None), [0.5, 1.0], {"method": method, **options})
    return lane_runs(plan.opened(read_cases(plan.system, {"length": [1.0, 2.0]}, "product")).runs)


@pytest.mark.parametrize(("method", "options"), [("tsit5", {}), ("rk4", {"step": 0.1}), ("rodas5p", {})])
def test_kernels_become_ptx_that_rounds_as_processors_do(method, options):
    text = ptx_of(gpu_text(lanes_of(method, **options))).decode()
    lines = [line.split()[0] for line in text.splitlines() if line.startswith("\t")]
    assert ".version 6.0" in text.splitlines()
    assert any(line.startswith(".visible .entry") for line in text.splitlines())
    # Sums and products are rounded one by one, and fused only where the kernel says so.
    arithmetic = {word for word in lines if word.split(".")[0] in ("add", "sub", "mul", "fma", "div") and "f64" in word}
    assert arithmetic <= {"add.rn.f64", "sub.rn.f64", "mul.rn.f64", "fma.rn.f64", "div.rn.f64"}
    assert "fma.rn.f64" in arithmetic


def test_a_machine_without_a_gpu_says_so(monkeypatch):
    monkeypatch.setattr(sweep_file, "why_no_gpu", lambda: "no NVIDIA driver was found")
    with pytest.raises(dd.InputError) as caught:
        dd.sweep(pendulum(), 1.0, over={"length": [1.0]}, on="gpu")
    assert str(caught.value).splitlines()[0] == "There is no GPU to run on: no NVIDIA driver was found."


def test_a_full_gpu_takes_fewer_cases_at_once():
    plan = SweepPlan(pendulum().freeze(), (0.0, 1.0), (None, None, None), [0.5, 1.0], {"method": "tsit5"})
    opened = plan.opened(read_cases(plan.system, {"length": np.linspace(0.5, 2.0, 23)}, "product"))
    lanes = lane_runs(opened.runs)

    class Small:
        """As a GPU with room for five cases."""

        block, sizes = 23, []

        def run(self, block):
            if len(block) > 5:
                raise cuda_driver.OutOfDeviceMemoryError("The GPU is out of memory.")
            self.sizes.append(len(block))
            return lanes.run(block)

    gpu = Small()
    found = OnGpu(gpu, opened.runs, opened.reader).run(range(23))
    whole = OnLanes(lanes, opened.runs, opened.reader).run(range(23))
    assert sum(gpu.sizes) == 23
    assert max(gpu.sizes) <= 5
    assert all(np.array_equal(a, b) for a, b in zip(found.rows, whole.rows))


@needs_gpu
@pytest.mark.parametrize("options", [{"method": "tsit5"}, {"method": "dop853"}, {"method": "rk4", "step": 0.01}, {}])
def test_a_gpu_gives_the_bits_of_lanes(options):
    over = {"length": np.linspace(0.5, 2.0, 5000), "angle": np.linspace(-3.0, 3.0, 5000)}
    there, here = (
        dd.sweep(pendulum(), 3.0, over=over, combine="zip", save_at=[0.0, 1.1, 3.0], on=on, **options)
        for on in ("gpu", "cpu")
    )
    assert there.data.equals(here.data)
