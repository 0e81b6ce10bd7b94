"""Every form of one model takes the same start, moves alike and has the names of the model that was written."""

import casadi as ca
import numpy as np
import pytest
from tests.support.rings import examples

import daedalus as dd

FORMS = {
    "first order": dd.to_first_order,
    "semi-explicit": dd.to_semi_explicit,
    "projection": lambda m: dd.reduce(m, stabilise="projection"),
    "baumgarte": lambda m: dd.reduce(m, stabilise="baumgarte"),
    "ggl": lambda m: dd.reduce(m, index=2, stabilise="ggl"),
    "dummy derivatives": lambda m: dd.reduce(m, stabilise="dummy_derivatives"),
    "first order, then dummy derivatives": lambda m: dd.reduce(dd.to_first_order(m), stabilise="dummy_derivatives"),
}


def chain(seed: int) -> dd.Model:
    """One or two rods with given, or partly given, velocities, and a spring now and then."""
    random, m = np.random.default_rng(seed), dd.Model("chain")
    place, speed, last, T, V = np.zeros(2), np.zeros(2), ca.DM.zeros(2), 0.0, 0.0
    for k in range(int(random.integers(1, 3))):
        length, angle, rate, mass = (
            random.uniform(0.5, 1.5),
            random.uniform(-1, 1),
            random.normal(),
            random.uniform(1, 2),
        )
        place = place + length * np.array([np.sin(angle), -np.cos(angle)])
        speed = speed + rate * length * np.array([np.cos(angle), np.sin(angle)])
        given = {"rate": speed.tolist()} if random.random() < 0.7 else {}
        q = m.coordinate(f"q{k}", 2, start=place.tolist(), **given)
        T, V = T + mass / 2 * ca.sumsqr(m.rate(q)), V + mass * 9.81 * q[1]
        m.constraint(f"rod{k}", ca.sumsqr(q - last) - length**2)
        last = q
    if seed % 2:
        s = m.coordinate("s", start=0.3)
        T, V = T + 0.5 * m.rate(s) ** 2, V + 2 * (s - last[0]) ** 2
    m.kinetic_energy(T)
    m.potential_energy(V)
    m.output("tip", 2 * last[0])
    return m


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(examples(2)))
def test_rods_start_move_and_are_read_alike(seed, form):
    m = chain(seed)
    start, other = dd.initialise(m), FORMS[form](m)
    right = dd.simulate(m, 0.3)
    for given in ({}, start, dd.initialise(other)):
        found = dd.simulate(other, 0.3, start=given)
        assert found.success
        for name in ("q0", "q0_dot", "q0_ddot", "q0_ddot[1]", "rod0", "tip"):
            np.testing.assert_allclose(found[name][-1], right[name][-1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("form", ["first order", "semi-explicit", "projection", "dummy derivatives"])
def test_derivatives_of_mixed_orders_keep_their_names(form):
    m = dd.Model("mixed")
    q = m.state("q", 3, start=[1.0, 0.5, 0.2])
    rate, bend = m.der(q), m.der(m.der(q))
    m.equation(rate[0], -q[0])
    m.equation(bend[1], -2 * q[1] + q[0])
    m.equation(m.der(bend)[2], -bend[2] - 2 * rate[2] - q[2])
    start = dd.initialise(m, {"q_dot[1]": 0.1, "q_dot[2]": 0.3, "q_ddot[2]": -0.2})
    right, other = dd.simulate(m, 1.0, start=start), FORMS[form](m)
    for given in (start, {"q_dot[1]": 0.1, "q_dot[2]": 0.3, "q_ddot[2]": -0.2}):
        found = dd.simulate(other, 1.0, start=given)
        for name in ("q", "q_dot", "q_ddot[1]", "q_ddot[2]", "q_dddot[2]"):
            np.testing.assert_allclose(found[name], right[name], rtol=1e-9, atol=1e-12)
    back = dd.simulate(m, 1.0, start=found.at(0.5))
    assert back["q_ddot[2]"][0] == pytest.approx(found.at(0.5)["q_ddot[2]"])


@pytest.mark.parametrize("size", [None, 2])
def test_third_derivatives_are_read_and_taken_as_starts(size):
    m = dd.Model("jerk")
    y = m.state("y", start=0.4) if size is None else m.state("y", size, start=[0.4, -1.0])
    bend = m.der(m.der(y))
    m.equation(m.der(bend), -bend - 2 * m.der(y) - ca.sin(y))
    given = {"y_dot": 0.3, "y_ddot": 0.7} if size is None else {"y_dot": [0.3, 0.1], "y_ddot": [0.7, -2.0]}
    right = dd.simulate(m, 1.0, start=given)
    for start in (given, dd.initialise(m, given)):
        found = dd.simulate(dd.to_first_order(m), 1.0, start=start)
        for name in ("y", "y_dot", "y_ddot", "y_dddot"):
            np.testing.assert_allclose(found[name], right[name], rtol=1e-12, atol=1e-12)


def test_the_model_that_was_written_keeps_its_own_names():
    m = dd.Model("oscillator")
    y = m.state("y", start=1.0, rate=0.5)
    m.equation(m.der(m.der(y)) + 4 * y)
    n = dd.to_first_order(m)
    assert (m.freeze().aliases, n.freeze().aliases) == ({}, {"y_ddot": "y_rate_dot"})
    assert n["y_ddot"].name() == n["y_rate_dot"].name()
