"""A moment of one form's run is the start of every other form, and a form of a form keeps the starts that were written.

Sleds on a skate, wheels that roll and circuits with capacitors on sources: their forms have other states than they do.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

Form = Callable[[dd.Model], dd.Model]
FORMS: dict[str, Form] = {
    "first order": dd.to_first_order,
    "semi-explicit": dd.to_semi_explicit,
    "ggl": lambda m: dd.reduce(m, stabilise="ggl"),
    "dummy derivatives": lambda m: dd.reduce(m, stabilise="dummy_derivatives"),
    "eliminated": dd.eliminate,
    "reduced, copied": lambda m: dd.reduce(m).copy(),
    "reduced, eliminated": lambda m: dd.eliminate(dd.reduce(m)),
    "reduced, eliminated, pickled": lambda m: pickle.loads(pickle.dumps(dd.eliminate(dd.reduce(m)))),
    "reduced, frozen, pickled": lambda m: pickle.loads(pickle.dumps(dd.reduce(m).freeze())),
    "reduced, first order": lambda m: dd.to_first_order(dd.reduce(m)),
    "reduced, semi-explicit": lambda m: dd.to_semi_explicit(dd.reduce(m)),
    "eliminated, reduced": lambda m: dd.reduce(dd.eliminate(dd.reduce(m))),
}


def sled(rng: np.random.Generator) -> dd.Model:
    """A skate keeps the velocity along the sled, and a torque turns it: ω' = T sin t / J."""
    m, heading, speed = dd.Model("sled"), rng.uniform(-1, 1), rng.uniform(0.3, 1)
    forward = [speed * np.cos(heading), speed * np.sin(heading)]
    p, a = m.coordinate("p", 2, start=[0, 0], rate=forward), m.coordinate("a", start=heading, rate=rng.uniform(-1, 1))
    m.kinetic_energy(ca.sumsqr(m.rate(p)) / 2 + rng.uniform(0.1, 0.5) * m.rate(a) ** 2 / 2)
    m.velocity_constraint("skate", ca.cos(a) * m.rate(p)[1] - ca.sin(a) * m.rate(p)[0])
    m.generalised_force(a, rng.uniform(0.1, 0.5) * ca.sin(m.time))
    return m


def wheel(rng: np.random.Generator) -> dd.Model:
    """A loaded wheel that rolls; the velocity of its centre alone is written."""
    m = dd.Model("wheel")
    x = m.coordinate("p", start=0.0, rate=rng.uniform(0.3, 1))
    a = m.coordinate("a", start=rng.uniform(-1, 1))
    m.kinetic_energy(m.rate(x) ** 2 + rng.uniform(0.1, 0.5) * m.rate(a) ** 2)
    m.potential_energy(rng.uniform(1, 3) * ca.cos(a))
    m.velocity_constraint("roll", m.rate(x) - rng.uniform(0.3, 1) * m.rate(a))
    return m


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.wide) for k in range(1, 6))])
@pytest.mark.parametrize("kind", [sled, wheel])
def test_forms_start_alike_and_go_on_alike(kind, seed, form):
    rng = np.random.default_rng(seed)
    m, moment = kind(rng), float(rng.uniform(0.1, 0.6))
    other, right = FORMS[form](m), dd.simulate(m, 0.8, rtol=1e-9)
    assert dd.initialise(other)["p_dot"] == pytest.approx(dd.initialise(m)["p_dot"], rel=1e-9)
    begun = dd.simulate(other, 0.8, rtol=1e-9)
    for run in (
        begun,
        dd.simulate(other, (moment, 0.8), start=right.at(moment), rtol=1e-9),
        dd.simulate(m, (moment, 0.8), start=begun.at(moment), rtol=1e-9),
    ):
        assert run.success, run.stop_reason
        for name in ("p", "a", "p_dot", "a_dot"):
            np.testing.assert_allclose(run[name][-1], right[name][-1], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.wide)])
def test_outputs_may_read_derivatives_of_states_that_no_equation_moves(seed):
    """A capacitor on a source: its voltage is a sine, and its current C V ω cos(ω t) is an output alone."""
    rng, C, m = np.random.default_rng(seed), dd.components.electrical, dd.Model("filter")
    size, frequency, capacitance = rng.uniform(1, 5), rng.uniform(1, 9), rng.uniform(0.01, 0.1)
    source = m.add(C.VoltageSource("source", voltage=size * ca.sin(frequency * m.time)))
    own, ground = m.add(C.Capacitor("own", capacitance=capacitance)), m.add(C.Ground("ground"))
    feed, store = m.add(C.Resistor("feed", resistance=2.0)), m.add(C.Capacitor("store", capacitance=0.1))
    m.connect(source.plus, own.plus, feed.plus)
    m.connect(feed.minus, store.plus)
    m.connect(source.minus, own.minus, store.minus, ground.pin)
    right = dd.simulate(m, 1.0)
    for start in ({}, dd.initialise(m), right.at(0.0)):
        tr = dd.simulate(dd.to_semi_explicit(m), 1.0, start=start)
        assert tr.success, tr.stop_reason
        current = capacitance * size * frequency * np.cos(frequency)
        assert float(tr["own.current"][-1]) == pytest.approx(current, rel=1e-4)
        assert float(tr["store.voltage"][-1]) == pytest.approx(float(right["store.voltage"][-1]), rel=1e-4)
    stored = float(tr.energy_balance().components["stored"].sel(component="own"))
    assert stored == pytest.approx(capacitance / 2 * (size * np.sin(frequency)) ** 2, rel=1e-4)


def test_a_form_of_a_reduced_model_holds_for_the_values_that_the_reduction_holds_for():
    m = dd.Model("massless at zero")
    x, v, k = m.state("x", start=1.0), m.state("v"), m.parameter("k", 0.0)
    f = m.algebraic("f")
    m.equation(m.der(x), v)
    m.equation(k * m.der(v), f - x)
    m.equation(f, -v)
    n = dd.eliminate(dd.reduce(m))
    with pytest.raises(dd.InputError, match="holds for k = 0 alone"):
        dd.simulate(n, 1.0, parameters={"k": 1.0})


def test_derivatives_through_clocks_where_a_run_selects_its_states():
    m = dd.Model("driven pendulum")
    q, u, k = m.coordinate("q", 2, start=[0.6, -0.8]), m.discrete("u", start=0.0), m.parameter("k", 1.2)
    m.kinetic_energy(ca.sumsqr(m.rate(q)) / 2)
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    m.generalised_force(q, ca.vertcat(u, 0))
    m.every(0.15, {"u": u / 2 - k * m.rate(q)[0]})
    n = dd.reduce(m, stabilise="dummy_derivatives")
    found, right = (dd.sensitivities(form, 0.5).d("q", "k") for form in (n, m))
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-6)
