"""FMUs of models with dummy derivatives: independent states, exchanged by state events where others are better."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError

fmpy = pytest.importorskip("fmpy", reason="the extra fmi is not installed")


validate_fmu = pytest.importorskip("fmpy.validation", reason="the extra fmi is not installed").validate_fmu


def turning(speed=8.0):
    """A pendulum that goes round and round, so that neither coordinate can be chosen all along."""
    m = dd.Model("turning")
    q = m.coordinate("q", 2, start=[0.6, -0.8], rate=[0.8 * speed, 0.6 * speed], unit="m")
    length = m.parameter("L", 1.0, unit="m")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - length**2)
    m.output("energy", 0.5 * ca.sumsqr(m.rate(q)) + 9.81 * q[1])
    return m


def chain():
    """Two rods, whose exchanges are not at the same time."""
    m = dd.Model("chain")
    q = m.coordinate("q", 4, start=[1, 0, 2, 0], rate=[0, 0, 0, 0], nominal=2.0)
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * (q[1] + q[3]))
    m.constraint("first", q[0] ** 2 + q[1] ** 2 - 1)
    m.constraint("second", (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1)
    return m


def apart():
    """Two pendulums, each with a choice of its own, beside a state that no constraint has."""
    m = dd.Model("apart")
    for k, speed in (("a", 8.0), ("b", 7.0)):
        q = m.coordinate("q" + k, 2, start=[0.6, -0.8], rate=[0.8 * speed, 0.6 * speed])
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint("rod" + k, ca.sumsqr(q) - 1)
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    return m


def exported(m, path, **options):
    return dd.exchange.fmu(dd.reduce(m, stabilise="dummy_derivatives"), path, **options)


@pytest.mark.parametrize(("made", "states"), [(turning, 2), (chain, 4), (apart, 5)])
@pytest.mark.parametrize(("kind", "version"), [
    ("ModelExchange", 3), pytest.param("ModelExchange", 2, marks=pytest.mark.wide),
    ("CoSimulation", 2), pytest.param("CoSimulation", 3, marks=pytest.mark.wide),
])  # fmt: skip
def test_chosen_states_change_along_the_motion(made, states, kind, version, tmp_path):
    m, end = made(), 1.5
    written = exported(m, tmp_path / "m.fmu", version=version, rtol=1e-8)
    assert validate_fmu(str(written.path)) == []
    read = fmpy.read_model_description(str(written.path))
    unknowns = [entry.variable.derivative.name for entry in read.derivatives]
    assert len(unknowns) == states < dd.reduce(m).freeze().sizes["x"]
    modes = [v.name for v in read.modelVariables if v.variability == "discrete"]
    assert modes
    assert all(name.startswith("selection") for name in modes)
    times = np.linspace(0, end, 16)
    reduced = dd.reduce(m)
    right = dd.simulate(reduced, end, rtol=1e-10, atol=1e-12, save_at=times)
    names = {label.replace("_dot", "_rate"): label for label in reduced.freeze().labels["x"]}
    found = fmpy.simulate_fmu(
        str(written.path), stop_time=end, output_interval=0.1, relative_tolerance=1e-8, fmi_type=kind,
        output=[*names, *modes],
    )  # fmt: skip
    rows = [int(np.flatnonzero(np.abs(found["time"] - t) < 1e-9)[-1]) for t in times]
    for name, label in names.items():
        np.testing.assert_allclose(found[name][rows], right[label], atol=3e-5, err_msg=name)
    # No choice is good all along, and constraints hold to rounding.
    assert any(np.ptp(found[name]) == 1 for name in modes)
    if made is turning:
        np.testing.assert_allclose(found["q[0]"] ** 2 + found["q[1]"] ** 2, 1, atol=1e-14)


def test_exchanges_are_the_dominant_choices_of_the_model(tmp_path):
    """T after every exchange has no entry above the bound, by the guards at 200 random points."""
    from daedalus.exchange.fmu.export_fmu import _flowing_system

    system, _, unknowns, notes = _flowing_system(dd.reduce(chain(), stabilise="dummy_derivatives"))
    assert unknowns.count
    assert any("4 of 8 states" in note for note in notes)
    arguments = system.symbols(("t", "x", "z", "u", "p"))
    function = ca.Function("f", arguments, [system.guards, system.assigned, system.resets])
    rng, improved = np.random.default_rng(7), 0
    for _ in range(200):
        a, b, speeds = *rng.uniform(0, 2 * np.pi, 2), rng.normal(size=4)
        q = np.array([np.cos(a), np.sin(a), np.cos(a) + np.cos(b), np.sin(a) + np.sin(b)])
        z = np.concatenate([q, speeds, np.zeros(2)])
        p = np.array(system.start["p"])
        guard, after, states = (v.full().ravel() for v in function(0.0, np.zeros(4), z, [], p))
        S = after.reshape(4, -1).T
        assert np.array_equal(S.sum(axis=1), np.ones(2))
        assert np.all(S.sum(axis=0) <= 1)
        np.testing.assert_allclose(states, [*(S @ q / 2), *(S @ speeds / 2)])
        again = float(function(0.0, np.zeros(4), z, [], after)[0])
        assert again > 0
        improved += guard[0] < 0
    assert improved > 20


def test_starts_that_importers_set(tmp_path):
    """Another length, and a start at which another state is better: the event at the start exchanges it."""
    path = exported(turning(0.0), tmp_path / "m.fmu", kind="model_exchange").path
    given = {"L": 2.0, "selected[0]": 1.98, "selected_rate[0]": 0.1}
    found = fmpy.simulate_fmu(
        str(path), stop_time=0.5, start_values=given, output=["q[0]", "q[1]", "q_rate[0]", "selected[0]", "energy"],
        relative_tolerance=1e-9,
    )  # fmt: skip
    np.testing.assert_allclose(found["q[0]"] ** 2 + found["q[1]"] ** 2, 4.0, rtol=1e-13)
    np.testing.assert_allclose([found["q[0]"][0], found["q_rate[0]"][0]], [1.98, 0.1], rtol=1e-12)
    assert found["selected[0]"][-1] == pytest.approx(found["q[1]"][-1], rel=1e-12)
    np.testing.assert_allclose(found["energy"], found["energy"][0], rtol=1e-6)


def test_resets_give_chosen_states(tmp_path):
    """A pendulum that bounces off a wall: velocities behind the reset obey the rod, as in `dd.simulate`."""
    m = turning(0.0)
    q = m["q"]
    v = m.rate(q)
    m.event("wall", q[0] + 0.05, direction=-1, reset={"q_dot": -0.5 * v})
    path = exported(m, tmp_path / "m.fmu", kind="model_exchange", rtol=1e-8).path
    times = np.linspace(0, 2.0, 21)
    right = dd.simulate(m, 2.0, rtol=1e-10, atol=1e-12, save_at=times)
    found = fmpy.simulate_fmu(str(path), stop_time=2.0, output_interval=0.1, relative_tolerance=1e-9, output=["q[0]"])
    rows = [int(np.flatnonzero(np.abs(found["time"] - t) < 1e-9)[-1]) for t in times]
    assert len(right.events) >= 2
    np.testing.assert_allclose(found["q[0]"][rows], right["q[0]"], atol=1e-5)


def test_importers_of_ours_read_them(tmp_path):
    path = exported(turning(), tmp_path / "m.fmu", outputs=["q"]).path
    plant = dd.exchange.load_fmu(path, kind="model_exchange", trusted=True)
    own = dd.simulate(plant, 1.0, rtol=1e-9, atol=1e-11)
    right = dd.simulate(turning(), 1.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose([own["q_0"][-1], own["q_1"][-1]], right["q"][-1], atol=1e-5)


def test_notes_and_refusals():
    wheelset = dd.catalogue.load("wheelset").model
    with pytest.raises(InputError, match=r"cannot be an FMU with a choice of states(.|\n)*have no formulas"):
        exported(wheelset, "never.fmu")


def test_what_no_state_satisfies_is_told(tmp_path):
    """A chosen coordinate longer than the rod: the importer's log says that nothing satisfies the equations."""
    path, log = exported(turning(0.0), tmp_path / "m.fmu", kind="model_exchange", outputs=["q"]).path, []
    with pytest.raises(Exception, match="fmi3"):
        fmpy.simulate_fmu(
            str(path), stop_time=0.1, start_values={"selected[0]": 1.5}, logger=lambda *a: log.append(str(a[-1]))
        )
    assert any("no values at the start" in text or "Nothing satisfies" in text for text in log), log
