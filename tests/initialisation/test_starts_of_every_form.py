"""A consistent start, or a moment of a run, of any form of a model begins the same motion in every other form."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.initialisation.start_in_form import derivatives_as_states

FORMS = {
    "as written": lambda m: m,
    "projection": lambda m: dd.reduce(m),
    "baumgarte": lambda m: dd.reduce(m, stabilise="baumgarte"),
    "ggl": lambda m: dd.reduce(m, index=2, stabilise="ggl"),
    "dummy derivatives": lambda m: dd.reduce(m, stabilise="dummy_derivatives"),
    "first order": dd.to_first_order,
    "semi-explicit": dd.to_semi_explicit,
    "eliminated": lambda m: dd.eliminate(dd.reduce(m)),
}


# Their own runs are in the wide ring; each is begun by the starts of the others.
OTHERS = [name for name in FORMS if name not in ("as written", "ggl", "eliminated")]


@cache
def made(seed: int, form: str) -> dd.Model:
    return mechanism(seed) if form == "as written" else FORMS[form](made(seed, "as written"))


def mechanism(seed: int) -> dd.Model:
    """Three coordinates, a constraint on positions and, for odd seeds, one on rates that asks for motion."""
    rng = np.random.default_rng(seed)
    m = dd.Model("mechanism")
    q = m.coordinate("q", 3, start=[0.1, None, None])
    v, mass = m.rate(q), rng.normal(size=(3, 3))
    mass = mass @ mass.T + np.eye(3)
    m.kinetic_energy(0.5 * ca.mtimes([v.T, mass, v]))
    m.potential_energy(0.5 * ca.sumsqr(q))
    m.constraint("plane", ca.dot(rng.normal(size=3), q) - 0.3 + 0.1 * q[0] * q[1])
    if seed % 2:
        m.velocity_constraint("wheel", ca.dot(rng.normal(size=3), v) - 0.2)
    return m


@pytest.mark.parametrize(
    "origin", ["as written", "ggl", "eliminated", *(pytest.param(n, marks=pytest.mark.wide) for n in OTHERS)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_start_of_one_form_begins_every_other(seed: int, origin: str) -> None:
    m = made(seed, "as written")
    rates = {} if seed % 2 else {"q_dot[1]": 0.4}
    first = dd.initialise(m, rates)
    expected = dd.simulate(m, 0.5, start=first)
    begun = dd.initialise(made(seed, origin), first)
    moment = dd.simulate(made(seed, origin), 0.5, start=first).at(0.2)
    np.testing.assert_allclose(begun["q_dot"], first["q_dot"], atol=1e-9)
    for name in FORMS:
        tr = dd.simulate(made(seed, name), 0.5, start=begun)
        np.testing.assert_allclose(tr["q_dot"][0], first["q_dot"], atol=1e-9, err_msg=name)
        np.testing.assert_allclose(tr["q"][-1], expected["q"][-1], atol=1e-5, err_msg=name)
        rest = dd.simulate(made(seed, name), (0.2, 0.5), start=moment)
        np.testing.assert_allclose(rest["q"][-1], expected["q"][-1], atol=1e-5, err_msg=name)


def test_where_rates_stand_is_found_once_for_all_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The starts of a chain are asked state by state, and its equations are long."""
    m = dd.Model("rows")
    q = m.state("q", 30, start=0.0, rate=0.0)
    m.equation(m.der(m.der(q)), -q)
    n = dd.to_first_order(m).freeze()
    looked, sparsity = [], ca.jacobian_sparsity
    monkeypatch.setattr(ca, "jacobian_sparsity", lambda *of: looked.append(of) or sparsity(*of))
    assert len(derivatives_as_states(n)) == 30
    assert len(looked) <= 1
