"""Thermal noise of resistors and dampers: every stored energy has the mean k T / 2, whatever the network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rings import examples

import daedalus as dd
from daedalus.errors import ModelError

BOLTZMANN = 1.380649e-23
electrical, translational, rotational = dd.components.electrical, dd.components.translational, dd.components.rotational
sizes = st.floats(-1.0, 1.0).map(lambda power: 10.0**power)


def spreads(model):
    """Variances of the states of a linear model, by name."""
    lin = dd.linearise(model)
    covariance = dd.covariance(lin, intensity=1.0)
    return dict(zip(lin.states, np.diag(covariance), strict=True)), covariance


def ladder(resistances, capacitances, inductances, temperature):
    """Cells of an inductor with a resistor and a capacitor to ground; its end is closed by a resistor."""
    m = dd.Model("ladder")
    ground, last = (
        m.add(electrical.Ground("ground")),
        m.add(electrical.Resistor("end", resistance=1.0, noise_temperature=temperature)),
    )
    before, returns = last.plus, [last.minus, ground.pin]
    for k, (resistance, capacitance, inductance) in enumerate(zip(resistances, capacitances, inductances, strict=True)):
        r = m.add(electrical.Resistor(f"r{k}", resistance=resistance, noise_temperature=temperature))
        c = m.add(electrical.Capacitor(f"c{k}", capacitance=capacitance))
        inductor = m.add(electrical.Inductor(f"l{k}", inductance=inductance))
        m.connect(before, inductor.plus, c.plus)
        m.connect(inductor.minus, r.plus)
        returns.append(c.minus)
        before = r.minus
    m.connect(before, *returns)
    return m


@settings(max_examples=examples(6), deadline=None)
@given(st.lists(st.tuples(sizes, sizes, sizes), min_size=1, max_size=4), st.floats(1.0, 500.0))
def test_equipartition_in_ladders(cells, temperature):
    resistances, capacitances, inductances = zip(*cells, strict=True)
    variances, covariance = spreads(ladder(resistances, capacitances, inductances, temperature))
    heat = BOLTZMANN * temperature
    for k in range(len(cells)):
        assert variances[f"c{k}.voltage"] * capacitances[k] / heat == pytest.approx(1, rel=1e-8)
        assert variances[f"l{k}.current"] * inductances[k] / heat == pytest.approx(1, rel=1e-8)
    # Different stores know nothing of each other.
    sizes_of = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(covariance / np.outer(sizes_of, sizes_of), np.eye(len(sizes_of)), atol=1e-8)


@pytest.mark.parametrize(
    ("parts", "load", "port", "kind", "damping", "inertia"),
    [(translational, "Mass", "flange", "mass", 1e-9, 1e-15), (rotational, "Inertia", "shaft", "inertia", 1e-20, 1e-27)],
)
def test_a_damper_keeps_a_mass_in_brownian_motion(parts, load, port, kind, damping, inertia):
    m = dd.Model("trap")
    body = m.add(getattr(parts, load)("body", **{kind: inertia}))
    damper = m.add(parts.Damper("damper", damping=damping, noise_temperature=300.0))
    spring, ground = m.add(parts.Spring("spring", stiffness=damping**2 / inertia)), m.add(parts.Ground("ground"))
    m.connect(*(getattr(part, name) for part, name in ((body, port), (damper, f"{port}_a"), (spring, f"{port}_a"))))
    m.connect(getattr(damper, f"{port}_b"), getattr(spring, f"{port}_b"), getattr(ground, port))
    variances, _ = spreads(m)
    (rate,) = (name for name in variances if name.endswith("_dot"))
    (position,) = (name for name in variances if name != rate)
    assert variances[rate] * inertia / (BOLTZMANN * 300) == pytest.approx(1, rel=1e-8)
    assert variances[position] * damping**2 / inertia / (BOLTZMANN * 300) == pytest.approx(1, rel=1e-8)


@pytest.mark.wide
def test_paths_of_a_noisy_resistor_have_the_spread_of_the_formula():
    m = ladder([2.0], [0.5], [1.0], 300.0)
    en = dd.sweep(m, 20.0, seeds=300, step=0.1, start={"c0.voltage": 0.0, "l0.current": 0.0})
    spread = float(en["c0.voltage"].isel(time=-1).var("seed"))
    # The variance of 300 values is known to a twelfth; four of these.
    assert spread * 0.5 / (BOLTZMANN * 300) == pytest.approx(1, rel=4 * np.sqrt(2 / 300))


def test_a_part_of_ones_own_draws_its_noise():
    inner = dd.Model("road")
    height = inner.state("height", start=0.0)
    inner.equation(inner.der(height), -height + inner.noise("unevenness", intensity=2.0))
    m = dd.Model("drive")
    m.add(inner)
    assert dd.covariance(dd.linearise(m), intensity=2.0)[0, 0] == pytest.approx(1.0)
    assert np.std(dd.simulate(m, 20.0, step=0.1, seed=0)["road.height"]) > 0.1


def test_a_part_without_temperature_makes_no_noise():
    assert ladder([1.0], [1.0], [1.0], None).freeze().noises == ()


def test_a_temperature_below_zero_is_refused():
    with pytest.raises(ModelError, match="noise temperature of r is -1"):
        electrical.Resistor("r", resistance=1.0, noise_temperature=-1.0)
