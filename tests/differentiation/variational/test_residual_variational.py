"""Sensitivities of models whose x' and z have no formulas: nonlinear algebraic equations, large linear ones."""

import numpy as np
import pytest
from differentiable_models import (
    TANK_LEVEL,
    central_differences,
    damped_pendulum,
    diode_circuit,
    leaking_tank,
    leaking_tank_as_ode,
)

import daedalus as dd
from daedalus import catalogue
from daedalus.reduction.forms import explicit_form
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.plant.solvable import solvable
from daedalus.simulation.result.records_of_methods import ImplicitChosen

POINT = np.array([0.5, 0.1, 1.0, 2.0, 0.7, 0.3])
VARIED = ("v", "charge", "u", "resistance", "capacity", "leak")


def circuit_end(model, values):
    run = dd.simulate(
        model, 2.0, start={"v": values[0], "charge": values[1]}, inputs={"u": values[2]},
        parameters=dict(zip(VARIED[3:], values[3:])), method="radau9", rtol=1e-12, atol=1e-14,
    )  # fmt: skip
    return np.array([run[name][-1] for name in ("v", "charge", "i", "power", "v_dot")])


def test_a_circuit_with_a_diode_agrees_with_differences_of_runs():
    m = diode_circuit()
    sens = dd.sensitivities(m, 2.0, order=2, inputs={"u": 1.0}, rtol=1e-9, atol=1e-12)
    assert sens.records[0] == ImplicitChosen("radau9", "equation_3, equation_4 are nonlinear in i, drop")
    expected = central_differences(lambda p: circuit_end(m, p), POINT, 1e-5)
    slopes = lambda p: central_differences(lambda q: circuit_end(m, q), p, 1e-3)  # noqa: E731
    second = central_differences(slopes, POINT, 1e-3)
    for row, name in enumerate(("v", "charge", "i", "power", "v_dot")):
        found = np.array([float(sens.d(name, by)) for by in VARIED])
        np.testing.assert_allclose(found, expected[row], atol=1e-7)
        twice = np.array([[float(sens.d(name, by, other)) for other in VARIED] for by in VARIED])
        np.testing.assert_allclose(twice, second[row], atol=2e-4)
    np.testing.assert_allclose(sens.states["i"][-1], circuit_end(m, POINT)[2], rtol=1e-9)


@pytest.mark.parametrize("method", ["radau5", "radau9", "gauss3", "bdf", "rodas5p"])
def test_the_algebraic_form_equals_the_ordinary_differential_equation(method):
    options = {"step": 0.02} if method == "gauss3" else {"rtol": 1e-9, "atol": 1e-12}
    dae = dd.sensitivities(leaking_tank(), 1.5, order=2, method=method, **options)
    ode = dd.sensitivities(leaking_tank_as_ode(), 1.5, order=2, rtol=1e-12, atol=1e-14)
    allowed = 1e-6 if method == "bdf" else 1e-8
    # A start x moves z by 1 / (1 + 3z²), and its second derivative is -6z / (1 + 3z²)³.
    slope, bend = 1 / (1 + 3 * TANK_LEVEL**2), -6 * TANK_LEVEL / (1 + 3 * TANK_LEVEL**2) ** 3
    for name in ("z", "y"):
        np.testing.assert_allclose(dae.d(name, "k"), ode.d(name, "k"), atol=allowed)
        np.testing.assert_allclose(dae.d(name, "x"), ode.d(name, "z") * slope, atol=allowed)
        np.testing.assert_allclose(dae.d(name, "k", "k"), ode.d(name, "k", "k"), atol=10 * allowed)
        twice = ode.d(name, "z", "z") * slope**2 + ode.d(name, "z") * bend
        np.testing.assert_allclose(dae.d(name, "x", "x"), twice, atol=10 * allowed)


@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_events_move_with_algebraic_variables_that_have_no_formulas(by):
    m = leaking_tank(drain=True)

    def end(p):
        run = dd.simulate(
            m, 1.5, start={"x": p[0], "y": p[1]}, parameters={"k": p[2], "level": p[3]}, method="radau9",
            rtol=1e-12, atol=1e-14,
        )  # fmt: skip
        return np.array([run["x"][-1], run["y"][-1], run["z"][-1]])

    sens = dd.sensitivities(m, 1.5, rtol=1e-9, atol=1e-11, by=by)
    expected = central_differences(end, np.array([1.0, 0.0, 1.5, 0.3]), 1e-5)
    assert len(sens.events) == 2
    np.testing.assert_allclose(np.hstack([sens.M, sens.by_parameters]), expected[:2], atol=1e-7)
    np.testing.assert_allclose(np.hstack([sens.d("z", "start"), sens.d("z", "parameters")]), expected[2], atol=1e-7)
    assert sens.states.events[0].after["x"] > sens.states.events[0].before["x"]
    with pytest.raises(dd.SolverError, match="Second derivatives through an event"):
        dd.sensitivities(m, 1.5, order=2)


def test_a_constrained_motion_with_a_nonlinear_force_equals_its_angle():
    """Index 3 and an equation without formula: by position, reduced, against the angle."""
    by_position = dd.sensitivities(damped_pendulum(True), 1.0, rtol=1e-9, atol=1e-11)
    by_angle = dd.sensitivities(damped_pendulum(False), 1.0, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(by_position.value[:2], by_angle.states["q"][-1], atol=1e-8)
    for name in ("c", "length"):
        np.testing.assert_allclose(by_position.d("q", name), by_angle.d("q", name), atol=1e-7)
    np.testing.assert_allclose(by_position.value[:2] @ by_position.M[:2], 0.0, atol=1e-12)


def test_inputs_on_a_grid_add_up_to_a_constant_input():
    m = diode_circuit()
    options = {"inputs": {"u": 1.0}, "rtol": 1e-8, "atol": 1e-11, "wrt": "inputs"}
    whole = dd.sensitivities(m, 2.0, **options)
    parts = dd.sensitivities(m, 2.0, grid=4, **options)
    assert parts.N.shape == (2, 4, 1)
    np.testing.assert_allclose(parts.N.sum(axis=1), whole.N, atol=1e-7)


@pytest.mark.wide
def test_large_linear_models_equal_their_formulas(monkeypatch):
    """A chain small enough for formulas, once with them and once by solves."""
    options = {"wrt": ("rod0.velocity[0]", "gravity"), "rtol": 1e-8, "atol": 1e-11}
    known = catalogue.load("rod_chain", rods=2)
    by_formulas = dd.sensitivities(known.model, (0.0, 0.2), start=known.start, **options)
    monkeypatch.setattr(explicit_form, "SYMBOLIC_SOLVE", 3)
    monkeypatch.setattr(explicit_form, "MOST_TORN", 0)
    large = catalogue.load("rod_chain", rods=2)
    assert isinstance(plant_of(solvable(large.model)), LinearPlant)
    by_solves = dd.sensitivities(large.model, (0.0, 0.2), start=large.start, **options)
    scale = np.abs(by_formulas._slopes).max()
    np.testing.assert_allclose(by_solves._slopes, by_formulas._slopes, atol=1e-6 * scale)


def test_an_explicit_method_is_refused_in_words():
    with pytest.raises(dd.InputError) as refused:
        dd.sensitivities(leaking_tank(), 1.0, method="tsit5")
    assert str(refused.value) == (
        "Sensitivities of 'leaking tank' need an implicit method.\n"
        "  equation_3 is nonlinear in z\n"
        "  the run was asked for with tsit5\n"
        "  Because the variational equations are solved together with the model, which has no formulas for x' and z.\n"
        '  Try: method="auto", or method="radau5"'
    )
