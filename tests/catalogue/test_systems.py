"""The references and equations of the systems, against other coordinates, other derivations and closed forms."""

import casadi as ca
import numpy as np
import pytest
from extrapolation import extrapolate
from other_forms import FORMS, hires

import daedalus as dd
from daedalus import catalogue
from daedalus.reduction.forms.explicit_form import explicit_form

# Extrapolation is explicit: HIRES is too stiff for it to be quick. Its equations are compared instead.
QUICK = [name for name in FORMS if name != "hires"]
# What a long double of 19 digits reaches. Those of 34 digits, on ARM, need no more: the references are doubles.
STEP_ERROR = max(1e-16, 1000 * float(np.finfo(np.longdouble).eps))


@pytest.mark.wide
@pytest.mark.parametrize("name", QUICK)
def test_another_form_by_another_method_reaches_the_reference(name):
    known, form = catalogue.load(name), FORMS[name](np.longdouble)
    values = form.names(extrapolate(form.rhs, form.start, known.span, STEP_ERROR))
    assert set(values) == set(known.reference)
    for key, value in values.items():
        value, wanted = np.asarray(value, dtype=float), np.asarray(known.reference[key])
        if key == "angle":  # known up to whole turns in Cartesian coordinates
            value = value + 2 * np.pi * np.round((wanted - value) / (2 * np.pi))
        if key == "quaternion":  # a rotation knows its quaternion up to the sign
            value = value * np.sign(value @ wanted)
        assert known.reference.error(key, value) < 1e4 * STEP_ERROR


def right_hand_side(name):
    system = catalogue.load(name).model.freeze()
    letters = [system.symbol(letter) for letter in ("t", "x", "u", "p")]
    return system, ca.Function("rhs", letters, [explicit_form(system).xdot])


def test_hires_is_its_list_of_reactions():
    system, rhs = right_hand_side("hires")
    random = np.random.default_rng(3)
    for _ in range(10):
        y = random.uniform(0, 1, 8)
        assert rhs(0, y, [], system.start["p"]).full().ravel() == pytest.approx(hires(float).rhs(y), rel=1e-13)


def test_mass_spring_follows_its_closed_form():
    reference = catalogue.load("mass_spring").reference
    assert reference.error("position", 0.1 * np.cos(40.0)) < 1e-15
    assert reference.error("position_dot", -0.4 * np.sin(40.0)) < 1e-15


def test_the_stiff_van_der_pol_reaches_the_published_values():
    known = catalogue.load("van_der_pol", mu=1000.0)
    tr = dd.simulate(known.model, known.span, method="tsit5", rtol=1e-9, atol=1e-15, save_at=known.span)
    for key in known.reference:
        assert known.reference.error(key, tr[key][-1]) < 1e-8


def test_the_cart_pendulum_has_the_energy_of_its_two_masses():
    """The slides mix two angles: -sin θ in the kinetic energy, cos θ in the potential one; no bob moves like that."""
    known = catalogue.load("cart_pendulum")
    m, p = known.model, known.parameters
    position, angle = m["position"], m["angle"]
    velocity, rate = m.der(position), m.der(angle)
    bob = m.der(m["bob"])
    mass, length = p["bob_mass"], p["length"]
    weight = mass * p["gravity"] * m["bob"][1]
    by_masses = 0.5 * p["cart_mass"] * velocity**2 + 0.5 * mass * ca.sumsqr(bob) + weight
    straight = 0.5 * (p["cart_mass"] + mass) * velocity**2 + 0.5 * mass * (length * rate) ** 2
    printed = straight - length * mass * rate * velocity * ca.sin(angle) + weight
    symbols = [position, angle, velocity, rate, *(m[key] for key in p)]
    energies = ca.Function("energies", symbols, [m["energy"], by_masses, printed])
    written, wanted, slides = energies(0.3, 0.8, -1.2, 2.1, *p.values())
    # `bob` is written with symbols of the parameters, which have the same values here.
    assert float(written) == pytest.approx(float(wanted), rel=1e-14)
    assert abs(float(slides) - float(wanted)) > 0.1


def test_the_double_pendulum_has_the_energy_of_its_two_masses():
    known = catalogue.load("double_pendulum")
    m, p = known.model, known.parameters
    energy = sum(
        mass * (0.5 * ca.sumsqr(m.der(m[point])) + p["gravity"] * m[point][1])
        for mass, point in zip(p["mass"], ("elbow", "tip"))
    )
    symbols = [m["angle"], m["angle_dot"], *(m[key] for key in p)]
    written, wanted = ca.Function("energies", symbols, [m["energy"], energy])([0.4, -1.1], [2.0, 0.7], *p.values())
    assert float(written) == pytest.approx(float(wanted), rel=1e-14)


def test_the_quadrotor_hovers():
    known = catalogue.load("quadrotor")
    hover = known.parameters["mass"] * known.parameters["gravity"] / 4
    tr = dd.simulate(known.model, 5.0, start={"angular_velocity": [0, 0, 0]}, inputs={"thrust": [hover] * 4})
    assert np.abs(tr["position"]).max() < 1e-9
    assert tr["quaternion"][-1].tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rotor", "turn"),
    [(0, [0, -1, 1]), (1, [1, 0, -1]), (2, [0, 1, 1]), (3, [-1, 0, -1])],
)
def test_each_rotor_of_the_quadrotor_tilts_it_its_own_way(rotor, turn):
    system, rhs = right_hand_side("quadrotor")
    x = np.zeros(13)
    x[6] = 1.0
    thrust = np.zeros(4)
    thrust[rotor] = 1.0
    assert np.sign(rhs(0, x, thrust, system.start["p"]).full().ravel()[10:]).tolist() == turn
