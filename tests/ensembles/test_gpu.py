"""Kernels for GPUs as text, which can be read everywhere; what a machine without a GPU says."""

import casadi as ca
import pytest

import daedalus as dd
import daedalus.ensembles.sweep as sweep_file
from daedalus.compilation.lanes.ptx import ptx_of
from daedalus.ensembles.cases import read_cases
from daedalus.ensembles.gpu.gpu_runs import gpu_text
from daedalus.ensembles.lanes.lane_runs import lane_runs
from daedalus.ensembles.sweep_plan import SweepPlan


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
