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
