"""Questions of an exam on ten systems: stable, controllable, passive; each answer is a sentence with its reason."""

import casadi as ca
import numpy as np
import pytest
from tests.support import lecture_models as lectures
from tests.support import neighbour_models as neighbours
from tests.support import part_neighbours as parts

import daedalus as dd
from daedalus import catalogue
from daedalus.studies.storage_bound import has_lower_bound

AXIS, LEFT, RIGHT = "not asymptotically stable: the pole ", "stable: every pole is left", "unstable: the pole "


def known(name):
    return lambda: catalogue.load(name).model


def neighbour(build):
    return lambda: build()[0]


# A model, a point, and how the answers begin.
QUESTIONS = {
    # The pole upright: passive all the same, since T + V has a bound.
    "cart_pendulum": (known("cart_pendulum"), {"angle": 0.0, "force": 0.0}, RIGHT, True, "Passive from force to"),
    "pendulum_3d": (known("pendulum_3d"), {}, AXIS, True, "Passive from force to position_dot with"),
    "delta_robot": (known("delta_robot"), {}, RIGHT, True, "Passive from torque to angle_dot with"),
    "double_pendulum": (known("double_pendulum"), {"angle": [0.0, 0.0]}, AXIS, False, "Passive without inputs with"),
    "furuta": (neighbour(neighbours.furuta_pendulum), {}, RIGHT, True, "Passive from tau to alpha_dot with"),
    "two_masses": (neighbour(neighbours.two_masses), {}, AXIS, True, "Passive from F to x_1_dot with"),
    "planar_quadrotor": (neighbour(neighbours.planar_quadrotor), {}, AXIS, False, "Cyclo-passive from f_1, f_2 to"),
    "two_tanks": (neighbour(parts.two_tanks), {}, LEFT, True, "Passive from q to pump.pressure with"),
    "elastic_drive": (neighbour(parts.elastic_drive), {}, AXIS, True, "Passive from u to motor.current with"),
    "series_rlc": (lectures.series_rlc, {}, LEFT, True, "Passive from u to "),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_question_has_a_sentence_with_its_reason(name):
    build, point, stable, controllable, passive = QUESTIONS[name]
    m = build()
    told = dd.analyse(m).answers
    assert {"well-posed", "index", "start", "solution"} <= set(told)
    found = dd.passivity(m)
    assert str(found).startswith(passive)
    assert found.passive == (True if passive.startswith("Passive") else None)
    lin = dd.linearise(m, at=point)
    answers = lin.answers
    assert answers["stability"].startswith(stable), answers
    assert answers["controllability"].startswith("controllable: rank" if controllable else "not controllable: "), (
        answers
    )
    assert f"stability: {stable}" in str(lin)


@pytest.mark.parametrize("name", ["cart_pendulum", "pendulum_3d", "delta_robot", "two_tanks", "elastic_drive"])
def test_controllability_agrees_with_what_held_inputs_reach(name):
    """The Gramian of the sampled motion has the rank that is told, in units in which states are of one size."""
    build, point, _, _, _ = QUESTIONS[name]
    lin = dd.linearise(build(), at=point)
    space = lin.reduced() if lin.is_proper else lin._moving
    rate = np.abs(space.poles()).max()
    sampled = space.discretise(0.5 / max(rate, 1e-3))
    reached, power = [], sampled.B
    for _ in range(len(space.A)):
        reached.append(power)
        power = sampled.A @ power
    whole = np.hstack(reached)
    whole /= np.abs(whole).max(axis=1, keepdims=True)
    assert np.linalg.matrix_rank(whole, tol=1e-7) == lin.controllability().rank


def test_rounding_of_a_dae_of_index_2_is_no_motion():
    """A tank with reactions in balance: rounding of 1e-33, made large by balancing, hid two of three states."""
    lin = dd.linearise(catalogue.load("cstr").model, at={"feed": 0.0, "withdrawal": 0.0})
    assert (lin.index, lin.controllability().rank) == (2, 3)
    assert lin.reduced().A[0].tolist() == [0.0, 0.0, 0.0]  # V' = feed − withdrawal


def falling(friction):
    m = dd.Model("falling mass")
    z = m.coordinate("z", start=0.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(z) ** 2)
    m.potential_energy(9.81 * z)
    m.dissipation(0.5 * friction * m.rate(z) ** 2)
    m.generalised_force(z, m.input("u"))
    return m


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_energy_without_a_bound_is_no_storage(friction):
    """A falling mass that is braked gives energy without end; the answer says so and does not say passive."""
    found = dd.passivity(falling(friction), "u", "z_dot")
    assert (found.passive, found.bounded, found.lossless) == (None, False, friction == 0.0)
    assert str(found).startswith("Cyclo-passive from u to z_dot with the storage function T + V: its rate is ")
    assert str(found).endswith("T + V has no lower bound, so an unlimited amount of energy could be taken out.")
    tr = dd.simulate(falling(friction), 200.0, start={"z": 0.0, "z_dot": 0.0}, inputs={"u": 4.0})
    assert -4.0 * float(tr.end["z"]) > 1e4  # what the brake took


def test_gravity_towards_a_point_is_no_storage():
    """−k/r in polar coordinates was called bounded: the search stepped over its pole."""
    m = dd.Model("planet")
    r, phi, k = m.coordinate("r", start=1.0, rate=0.1), m.coordinate("phi", start=0.0, rate=1.0), m.parameter("k", 1.0)
    m.kinetic_energy((m.rate(r) ** 2 + r**2 * m.rate(phi) ** 2) / 2)
    m.potential_energy(-k / r)
    assert str(dd.passivity(m)).endswith(
        "T + V has no lower bound, so an unlimited amount of energy could be taken out."
    )


def test_energy_of_equations_can_be_told():
    m = dd.Model("pendulum by equations")
    a, w, u = m.state("a", start=0.1), m.state("w", start=0.0), m.input("u")
    m.equation([m.der(a), m.der(w)], [w, u - ca.sin(a)])
    with pytest.raises(dd.InputError, match="no stored energy") as told:
        dd.passivity(m)
    assert "Try: m.stored(...)" in str(told.value)
    m.stored(0.5 * w**2 - ca.cos(a))
    assert str(dd.passivity(m)).startswith("Passive from u to w with the stored energy as its storage function")


def test_pairs_of_vectors_are_named_whole():
    assert "its rate is force · position_dot at" in str(dd.passivity(catalogue.load("pendulum_3d").model))


X = ca.SX.sym("x", 3)
R = ca.norm_2(X)
BOUNDS = {
    "cosine": (1 - ca.cos(X[0]) + X[1] ** 2, None, True),
    "weight": (9.81 * X[2], None, False),
    "logarithm": (-ca.log(ca.fabs(X[0]) + 1), None, False),
    "Kepler": (-1 / R, None, False),
    "Kepler in polar coordinates": (X[1] ** 2 + X[0] ** 2 * X[2] ** 2 - 3 / X[0], None, False),
    "line charge": (X[1] ** 2 + ca.log(X[0] ** 2 + X[2] ** 2), None, False),
    "cusp": (-ca.sqrt(ca.fabs(X[0])) * ca.exp(-(X[0] ** 2)) + X[1] ** 2, None, True),
    "level tail": (-1 / (1 + X[0] ** 2), None, True),
    "far minimum": (0.5 * (X[0] - 5000) ** 2, None, True),
    "two wells": (X[0] ** 4 - 1e6 * X[0] ** 2, None, True),
    "weight on a sphere": (9.81 * X[2], ca.sumsqr(X) - 1, True),
    "weight on a plane": (9.81 * X[2], X[0] + X[1], False),
    "Lennard-Jones": (R**-12 - R**-6, None, True),
    "saddle": (X[1] ** 2 - X[0] ** 2, None, False),
    "beyond a hill": (X[0] ** 2 - 1e-3 * X[0] ** 4, None, False),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_lower_bounds_of_energies(name):
    energy, kept, bounded = BOUNDS[name]
    assert has_lower_bound(energy, X, kept) is bounded
