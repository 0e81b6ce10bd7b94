"""The table system × verdict: every small system of the lectures and every known system, against what must be found."""

import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.catalogue.small_dae import EXAMPLES
from daedalus.catalogue.verdict import Verdict

TABLE = [
    pytest.param("small_dae", {"example": name}, verdict, id=f"{name}-{k}")
    for name, example in EXAMPLES.items()
    for k, verdict in enumerate(example.verdicts)
]
TABLE += [
    pytest.param(
        "cstr",
        {},
        Verdict(
            "semi-explicit DAE",
            2,
            3,
            structural_index=2,
            directly_solvable=False,
            algebraic=("R1", "R2"),
            hidden=("equilibrium, differentiated once",),
        ),
        id="cstr",
    ),
    pytest.param(
        "nilpotent_3",
        {},
        Verdict(
            "semi-explicit DAE",
            3,
            0,
            structural_index=3,
            is_linear=True,
            directly_solvable=False,
            algebraic=("x[0]",),
            hidden=("x[1] + u_dot = 0", "x[0] + u_ddot = 0"),
        ),
        id="nilpotent_3",
    ),
    pytest.param(
        "transistor_amplifier",
        {},
        Verdict(
            "fully implicit DAE",
            1,
            5,
            structural_index=0,
            is_linear=False,
            directly_solvable=False,
            hidden=(
                "(y[0] - 0.1*sin(628.318530718*t))/R[0] + y[1]/R[1] + (y[1] - Ub)/R[2]",
                "(y[3] - Ub)/R[4] + alpha*beta*(exp((y[1] - y[2])/UF) - 1) + y[4]/R[5]",
                "(y[6] - Ub)/R[8] + alpha*beta*(exp((y[4] - y[5])/UF) - 1) + y[7]/R[9] = 0",
            ),
            warnings=("the pattern of the equations misleads (structural index 0): currents[1] combined",),
        ),
        id="transistor_amplifier",
    ),
    *(
        pytest.param(
            name,
            {},
            Verdict("semi-explicit DAE", 1, freedom, structural_index=1, algebraic=(algebraic,)),
            id=name,
        )
        for name, freedom, algebraic in [("robertson", 2, "y[2]"), ("chemical_akzo", 5, "y[5]")]
    ),
    *(
        pytest.param(name, {}, Verdict(kind, 0, freedom, structural_index=0, directly_solvable=True), id=name)
        for name, kind, freedom in [
            ("mass_spring", "explicit ODE", 2),
            ("cart_pendulum", "implicit ODE", 4),
            ("double_pendulum", "implicit ODE", 4),
            ("quadrotor", "explicit ODE", 13),
            ("van_der_pol", "explicit ODE", 2),
            ("hires", "explicit ODE", 8),
        ]
    ),
]


@pytest.mark.parametrize(("name", "options", "verdict"), TABLE)
def test_the_verdict_is_the_expected_one(name, options, verdict):
    known = catalogue.load(name, **options)
    inputs = {key: value for key, value in known.inputs.items() if key not in verdict.at}
    report = dd.analyse(known.model, at=verdict.at, inputs=inputs)
    found = (report.kind, report.index, report.degrees_of_freedom, report.solvable)
    assert found == (verdict.kind, verdict.index, verdict.freedom, verdict.solvable), str(report)
    assert report.is_dae == ("DAE" in verdict.kind)
    assert tuple(report.algebraic) == verdict.algebraic
    assert tuple(report.undetermined) == verdict.undetermined
    for key in ("structural_index", "is_linear", "directly_solvable"):
        if getattr(verdict, key) is not None:
            assert getattr(report, key) == getattr(verdict, key), key
    hidden = [text for text, _ in report.hidden_constraints]
    assert len(hidden) == len(verdict.hidden)
    assert all(any(part in text for text in hidden) for part in verdict.hidden), hidden
    assert all(any(part in text for text in report.warnings) for part in verdict.warnings), report.warnings
    if not verdict.warnings:
        assert report.warnings == []


def test_every_example_says_where_it_comes_from():
    assert all(catalogue.load("small_dae", example=name).source for name in EXAMPLES)
    with pytest.raises(dd.InputError, match="There is no small system 'savin_41'"):
        catalogue.load("small_dae", example="savin_41")


def test_a_system_with_an_undetermined_motion_is_not_simulated():
    known = catalogue.load("small_dae", example="savin_22")
    with pytest.raises(
        dd.ModelError, match="the motion is not determined: x1, x2, force1, force2 stand in too few equations"
    ):
        dd.simulate(known.model, 1.0)
