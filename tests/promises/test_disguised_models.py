"""Random models with known solutions: everything that runs them says the same, and what the ODE behind them says."""

import pytest
from disguise_checks import (
    KINDS,
    check_solution,
    explicit_methods,
    files,
    implicit_methods,
    reductions,
    run,
    sensitivities,
    starts,
    verified,
)
from disguised_models import disguised

import daedalus as dd


def models(first, count=1):
    """Models of seeds, with and without events and inputs; of several seeds the first, the others in the wide ring."""
    cases = [(seed, options) for seed in range(first, first + count) for options in KINDS]
    return pytest.mark.parametrize(
        "model",
        [
            pytest.param(
                lambda s=s, o=o: disguised(s, **o),
                id=f"{s}{' hybrid' * o['hybrid']}{' driven' * o['driven']}",
                marks=[pytest.mark.wide] if s > first else [],
            )
            for s, o in cases
        ],
    )


@models(100, 2)
def test_explicit_methods_solve_them(model):
    explicit_methods(model())


@models(200, 2)
def test_implicit_methods_solve_them_as_written(model):
    implicit_methods(model())


@models(300, 2)
def test_reductions_keep_the_solution(model):
    reductions(model())


@models(400, 2)
def test_starts_are_starts(model):
    starts(model())


@models(500, 2)
def test_derivatives_are_those_of_the_ode(model):
    sensitivities(model())


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [(3000, KINDS[:2]), *(pytest.param(s, KINDS, marks=pytest.mark.wide) for s in range(3001, 3016))],
)
def test_derivatives_of_high_index_reach_the_end(seed, kinds):
    """Models of index 2 and 3 behind up to four disguises: all ways of taking them, and runs by dummy derivatives."""
    for options in kinds:
        model = disguised(seed, **options, disguises=1 + seed % 4)
        if model.index > 1:
            sensitivities(model)
            check_solution(model, run(model, dd.reduce(model.model, stabilise="dummy_derivatives")))


@models(600)
def test_results_verify_themselves(model):
    verified(model())


@models(700)
def test_runs_are_the_same_from_a_file(model):
    files(model())
