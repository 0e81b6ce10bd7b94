"""Sensitivities with implicit methods: the same derivatives as explicit ones, and those of stiff systems."""

import numpy as np
import pytest
from differentiable_models import ball, linear, pendulum_by_position

import daedalus as dd
from daedalus import catalogue


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "radau5", "rtol": 1e-8}, 1e-8),
        ({"method": "radau9", "rtol": 1e-9}, 1e-9),
        ({"method": "rodas5p", "rtol": 1e-8}, 1e-8),
        ({"method": "bdf", "rtol": 1e-8}, 1e-6),
        ({"method": "gauss3", "step": 0.1}, 1e-9),
        ({"method": "implicit_euler", "step": 1e-4}, 1e-3),
    ],
    ids=lambda value: value["method"] if isinstance(value, dict) else "",
)
def test_every_family_gives_the_same_derivatives(options, error):
    inputs = {"u": [0.3, -0.2]}
    exact = dd.sensitivities(linear(), 1.5, order=2, inputs=inputs, grid=3, rtol=1e-11, atol=1e-13)
    found = dd.sensitivities(linear(), 1.5, order=2, inputs=inputs, grid=3, **options)
    assert found.states.method == options["method"]
    for letter in "MNOPQ":
        np.testing.assert_allclose(getattr(found, letter), getattr(exact, letter), atol=error)
    np.testing.assert_allclose(found.at(0.7).M, exact.at(0.7).M, atol=100 * error)


def test_through_constraints_and_events():
    for model, span in ((pendulum_by_position(), 2.0), (ball(), 1.5)):
        explicit = dd.sensitivities(model, span, rtol=1e-10, atol=1e-12)
        implicit = dd.sensitivities(model, span, method="radau9", rtol=1e-9, atol=1e-11)
        scale = np.abs(explicit._slopes).max()
        np.testing.assert_allclose(implicit._slopes, explicit._slopes, atol=1e-7 * scale)
        assert len(implicit.events) == len(explicit.events)
    with pytest.raises(dd.SolverError, match="Second derivatives through an event"):
        dd.sensitivities(ball(), 1.5, order=2, method="radau5")


@pytest.mark.parametrize("name", ["robertson", "chemical_akzo", "hires"])
def test_stiff_systems_agree_with_differences_of_runs(name):
    known = catalogue.load(name)
    span = (0.0, 1e-3 * known.span[1]) if name == "robertson" else (0.0, 0.2 * known.span[1])
    options = {"start": known.start, "inputs": known.inputs, "method": "radau5"}
    sens = dd.sensitivities(known.model, span, wrt="parameters", rtol=1e-8, atol=1e-12, **options)
    assert sens.states.work.factorisations > 0
    assert sens.states.work.steps < 1000
    label, k = sens.labels[0], 0
    stem = label.split("[")[0]
    place = sens.system.place(stem)

    def end(factor):
        p = sens._case.p.copy()
        p[k] *= factor
        values = p[place.positions].reshape(place.shape, order="F") if place.shape else float(p[place.positions[0]])
        model = dd.simulate(known.model, span, parameters={stem: values}, rtol=1e-11, atol=1e-15, **options)
        return np.array([model.at(span[1])[name] for name in sens.system.labels["x"]])

    step = 1e-3
    by_k = (end(1 + step) - end(1 - step)) / (2 * step * sens._case.p[k])
    if not sens.system.invariants:
        np.testing.assert_allclose(sens.by_parameters[:, k], by_k, atol=1e-4 * np.abs(by_k).max())
    else:
        # The start of these runs stays where it was; that of the sensitivities moves with the parameter.
        start = dd.sensitivities(known.model, span, wrt="start", rtol=1e-8, atol=1e-12, **options)
        carried = start.M @ sens.at(0.0).by_parameters[:, k]
        np.testing.assert_allclose(
            sens.by_parameters[:, k], by_k + carried, atol=1e-4 * np.abs(sens.by_parameters[:, k]).max()
        )
