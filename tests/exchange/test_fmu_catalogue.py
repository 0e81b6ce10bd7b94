"""Systems of the catalogue as FMUs in FMPy: equal to `dd.simulate` in both kinds and versions."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

pytestmark = pytest.mark.wide
# How far FMPy's CVode at 1e-8 may be off; co-simulation makes steps of ours.
BY_THEIR_STEPS, BY_OURS = 2e-5, 1e-6
SPANS = {"robertson": 40.0, "transistor_amplifier": 0.02}
SYSTEMS = (
    *(
        "mass_spring",
        "cart_pendulum",
        "double_pendulum",
        "pleiades",
        "slider_crank",
        "four_bar",
        "andrews",
        "van_der_pol",
    ),
    *("lotka_volterra", "hires", "robertson", "chemical_akzo", "transistor_amplifier", "oregonator", "rlc_ladder"),
    *("quarter_car", "car_axis", "motor_lift", "bridge_rectifier", "elastic_transmission", "flyball_governor"),
)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", SYSTEMS)
def test_fmpy_gets_our_results(name, version, tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    from fmpy.validation import validate_fmu

    known = catalogue.load(name)
    m, end, inputs = known.model, SPANS.get(name, min(known.span[1], 1.0)), dict(known.inputs or {})
    path = str(dd.exchange.fmu(m, tmp_path / "it.fmu", version=version, rtol=1e-8).path)
    assert validate_fmu(path) == []
    labels = list(m.freeze().labels["x"])
    tr = dd.simulate(m, end, inputs=inputs, rtol=1e-9, atol=1e-11)
    own = np.array([float(np.ravel(tr[label])[-1]) for label in labels])
    options = {"stop_time": end, "output_interval": end / 50, "relative_tolerance": 1e-8, "start_values": inputs}
    for kind, allowed in (("ModelExchange", BY_THEIR_STEPS), ("CoSimulation", BY_OURS)):
        found = fmpy.simulate_fmu(path, fmi_type=kind, output=labels, **options)
        last = np.array([found[label][-1] for label in labels])
        np.testing.assert_allclose(last, own, rtol=0, atol=allowed * np.abs(own).max(), err_msg=kind)


def bouncing():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    return m


def height(t, start=1.0, g=9.81, e=0.8):
    """The ball in closed form."""
    fall = np.sqrt(2 * start / g)
    v, t = g * fall, t - fall
    while True:
        v *= e
        if t < 2 * v / g:
            return v * t - 0.5 * g * t**2
        t -= 2 * v / g


def test_accuracy_of_co_simulation_and_drift_of_model_exchange(tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    path = str(dd.exchange.fmu(bouncing(), tmp_path / "ball.fmu", rtol=1e-8).path)
    found = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=2.0, output_interval=0.01, output=["h"])
    assert abs(found["h"][-1] - height(2.0)) < 1e-12
    m = catalogue.load("pendulum_3d").model
    path, labels = str(dd.exchange.fmu(m, tmp_path / "it.fmu", rtol=1e-8).path), list(m.freeze().labels["x"])
    own = dd.simulate(m, 2.0, inputs={"force": [0.0, 0.0, 0.0]}, rtol=1e-12, atol=1e-13)
    found = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=2.0, output_interval=0.02, output=labels)
    lengths = np.sqrt(sum(found[label] ** 2 for label in labels[:3]))
    assert max(abs(found[label][-1] - float(np.ravel(own[label])[-1])) for label in labels) < 1e-9
    assert np.abs(lengths - lengths[0]).max() < 1e-14
    options = {"stop_time": 20.0, "output_interval": 0.02, "relative_tolerance": 1e-8}
    found = fmpy.simulate_fmu(path, fmi_type="ModelExchange", output=labels, **options)
    lengths = np.sqrt(sum(found[label] ** 2 for label in labels[:3]))
    assert np.abs(lengths - lengths[0]).max() < 1e-6
    assert len(found) <= 1.05 * 1001


@pytest.mark.parametrize("name", ["andrews", "robertson", "transistor_amplifier"])
def test_radau_inside_is_within_a_hundred_tolerances(name, tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    known = catalogue.load(name)
    m, end, inputs = known.model, known.span[1], dict(known.inputs or {})
    options = {"rtol": 1e-6, "method": "radau5", "kind": "co_simulation"}
    path, labels = str(dd.exchange.fmu(m, tmp_path / "it.fmu", **options).path), list(m.freeze().labels["x"])
    found = fmpy.simulate_fmu(
        path, fmi_type="CoSimulation", stop_time=end, output_interval=end / 20, output=labels, start_values=inputs
    )
    tr = dd.simulate(m, end, inputs=inputs, rtol=1e-10, atol=1e-12)
    own = np.array([float(np.ravel(tr[label])[-1]) for label in labels])
    last = np.array([found[label][-1] for label in labels])
    assert np.abs(last - own).max() < 1e-4 * np.abs(own).max()


def test_a_terminal_event_ends_a_run_of_either_version(tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    m = dd.Model("falling")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("ground", h, direction=-1, terminal=True)
    for version in (2, 3):
        path = str(dd.exchange.fmu(m, tmp_path / "it.fmu", version=version).path)
        for kind in ("ModelExchange", "CoSimulation"):
            found = fmpy.simulate_fmu(path, fmi_type=kind, stop_time=1.0, output=["h"])
            assert found["time"][-1] < 0.47
            assert abs(found["h"][-1]) < 1e-6


def test_a_thousand_cycles_of_loading(tmp_path):
    """Two kinds of libraries loaded, made, freed and unloaded in FMPy; memory does not grow with the cycles."""
    pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    import resource

    from fmpy import extract, read_model_description
    from fmpy.fmi2 import FMU2Slave

    m = catalogue.load("mass_spring").model
    path = str(dd.exchange.fmu(m, tmp_path / "it.fmu", version=2, compiler=False).path)
    folder, about = extract(path, unzipdir=str(tmp_path / "open")), read_model_description(path)
    words = {"guid": about.guid, "unzipDirectory": folder, "modelIdentifier": about.coSimulation.modelIdentifier}
    sizes = []
    for cycle in range(1000):
        unit = FMU2Slave(instanceName="it", **words)
        unit.instantiate()
        unit.setupExperiment(startTime=0.0)
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        unit.doStep(0.0, 0.01)
        unit.terminate()
        unit.freeInstance()  # unloads the library, too
        if cycle % 100 == 99:
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    # kilobytes; the model of one FMU is a few of them
    assert sizes[-1] - sizes[4] < 1024
