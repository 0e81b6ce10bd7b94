"""The DAE problems: references from independent ways, one motion behind every index, and forms that peers take."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks import problems
from benchmarks.collocation_reference import collocation_reference, grid, radau_points, weights
from benchmarks.numba_rhs import flat
from benchmarks.problem import trace
from benchmarks.reference import reference
from benchmarks.semi_explicit import echelon, left_null, semi_explicit, start_rates

from daedalus import catalogue

DAES = [name for name in problems.names() if problems.load(name).mass is not None]
MECHANISMS = [name for name in DAES if "_index_" in name]


def rhs(problem, x, t=0.0):
    return np.array(trace(problem, np, t, x, problem.inputs, problem.parameters), dtype=float)


def test_collocation_integrates_polynomials_exactly():
    c = radau_points(4)
    assert float(c[-1]) == 1.0
    for power in range(4):
        assert weights(c) @ c**power == pytest.approx(
            np.asarray(c ** (power + 1) / (power + 1), dtype=float), rel=1e-15
        )


def test_chemical_akzo_and_robertson_come_out_of_collocation_as_published():
    akzo = problems.load("chemical_akzo")
    assert akzo.error(collocation_reference(akzo, grid(akzo.end, 60, 1e-2))) < 1e-11
    # Published at t = 1e11: Test Set for IVP Solvers, ROBER.
    published = (0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050)
    robertson = problems.load("robertson")
    assert robertson.error(collocation_reference(robertson, grid(robertson.end, 50, 1e-5))) < 1e-9
    longer = replace(robertson, end=1e11, reference=published)
    assert longer.error(collocation_reference(longer, grid(longer.end, 50, 1e-5))) < 1e-9


@pytest.mark.parametrize("name", ["chemical_akzo", "transistor_amplifier"])
def test_published_end_values_are_those_of_the_catalogue(name):
    known, problem = catalogue.load(name), problems.load(name)
    assert known.span == (0.0, problem.end)
    assert problem.error(np.ravel(known.reference["y"])) < 1e-13


def test_the_pendulum_ends_where_its_angle_does():
    problem = problems.load("pendulum_index_3")
    angle = reference(replace(problem.as_ode(), reference=(0.0, 0.0)), 1e-12)
    assert replace(problem, judged=()).error(problem.ode.read(np, angle)) < 1e-9


@pytest.mark.parametrize("name", MECHANISMS)
def test_start_and_end_obey_the_constraints_of_every_index(name):
    problem = problems.load(name)
    rows = [i for i, row in enumerate(problem.mass) if not any(row)]
    for x, t in ((problem.start, 0.0), (problem.reference, problem.end)):
        found = np.abs(rhs(problem, x, t)[rows])
        assert np.all(found < 1e-13 * np.maximum(1.0, np.abs(x).max() ** (problem.index == 1)))


def test_the_mechanisms_are_those_of_the_catalogue():
    for name, key, tolerance in (("andrews_index_3", "angle", 1e-9), ("car_axis_index_3", "position", 1e-11)):
        found = np.ravel(catalogue.load(name.partition("_index")[0]).reference[key])
        assert found == pytest.approx(problems.load(name).reference[: len(found)], rel=tolerance)


@pytest.mark.parametrize("name", DAES)
def test_flat_python_computes_the_same(name):
    problem = problems.load(name)
    out, x = np.zeros(problem.size), np.array(problem.reference)
    flat(problem)(0.1, x, problem.inputs, problem.parameters, out)
    assert out == pytest.approx(rhs(problem, x, 0.1), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", DAES)
def test_the_semi_explicit_form_has_the_same_rates(name):
    problem = problems.load(name)
    form = semi_explicit(problem)
    assert form.back @ np.array(form.problem.start) == pytest.approx(np.array(problem.start), abs=1e-14)
    rates = start_rates(problem)
    mass, f = np.array(problem.mass), rhs(problem, problem.start)
    assert mass @ rates == pytest.approx(f, rel=1e-9, abs=1e-9 * np.abs(f).max())
    inside = start_rates(form.problem)
    assert inside[: form.differential] == pytest.approx(
        rhs(form.problem, form.problem.start)[: form.differential], rel=1e-9, abs=1e-9 * np.abs(f).max()
    )
    if problem.index == 1:
        assert form.back @ inside == pytest.approx(rates, rel=1e-8, abs=1e-8 * np.abs(rates).max())


def test_echelon_form_and_left_null_space():
    matrix = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    rows, pivots = echelon(matrix)
    assert rows.tolist() == [[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]
    assert pivots == [0, 2]
    assert left_null(matrix).tolist() == [[1.0, 1.0, 0.0]]
