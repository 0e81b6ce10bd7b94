"""What is said of a model before it is reduced: notes on its start, repairs, and refusals by name."""

import casadi as ca
import numpy as np
import pytest
from reduced_models import chain, pendulum, residual_along, text_of

import daedalus as dd
from daedalus.model.system.equation_row import Source
from daedalus.reduction.findings import RedundantConstraints, SingularAtStart
from daedalus.reduction.reduce import reduced_with

SHARP = {"rtol": 1e-11, "atol": 1e-13}


def test_a_start_off_the_constraint_is_said():
    n = dd.reduce(pendulum(start=[0.9, 0.0]))
    (finding,) = n.reduction.findings
    assert (finding.constraint, finding.off) == ("rod", pytest.approx(0.19))
    assert str(finding) == "the start values are off rod by 0.19: dd.initialise(m) finds values that fit"


def test_a_start_at_which_the_constraint_has_no_slope_is_said():
    m = dd.Model("cross")
    q = m.coordinate("q", 2, start=[0.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("axes", q[0] * q[1])
    (finding,) = dd.reduce(m).reduction.findings
    assert isinstance(finding, SingularAtStart)
    assert "axes" in finding.equations
    assert str(finding) == (
        "at the start motion of q[0], motion of q[1], axes cannot be solved for axes, q_ddot[1], q_ddot[0]: "
        "their matrix is singular there"
    )


def test_a_plan_needs_expressions_for_inputs_that_are_differentiated():
    assert text_of(lambda: reduced_with(chain(), {}), dd.ModelError) == (
        "The input u would have to be differentiated twice.\n"
        "  it stands in chain[2], which is differentiated\n"
        "  Because a signal from outside may jump, and its derivative would be an impulse.\n"
        '  Try: dd.reduce(m, inputs={"u": expression of m.time}), or make u a state with an equation for its derivative'
    )


def test_a_singular_structure_is_refused():
    m = dd.Model("twice")
    x, y = m.state("x"), m.state("y")
    m.equation(x, 1, name="one")
    m.equation(ca.sin(x), 1, name="two")
    text = text_of(lambda: dd.reduce(m), dd.SingularModelError)
    assert text.startswith("The model cannot be reduced: its structure is singular.\n  y stand in too few equations\n")
    assert "one, two are too many equations" in text
    assert "Try: dd.analyse(m)" in text
    assert y.is_symbolic()


def test_redundant_constraints_are_named():
    m = dd.Model("doubled")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("one", q[0] + q[1] - 1)
    m.constraint("two", 2 * q[0] + 2 * q[1] - 2)
    finding = dd.reduce(m).reduction.findings[0]
    assert isinstance(finding, RedundantConstraints)
    (row,) = finding.dependent
    assert row.source.equation in ("one", "two")
    assert str(finding) == (f"redundant constraints: {row.label} follows from the others (1 of 2 are independent)")


@pytest.mark.document("004", "(14) structurally regular, with a hidden constraint", "`dd.reduce`")
def test_a_misleading_pattern_is_repaired():
    """Example (14) of document 004: the difference of the equations is x1 + cos x2 + 7 = 0."""
    m = dd.Model("example 14")
    x1, x2 = m.state("x1", start=-7 - np.cos(2.0)), m.state("x2", start=2.0)
    m.equation(m.der(x1) + m.der(x2) - 7, name="sum")
    m.equation(m.der(x1) + m.der(x2) + x1 + ca.cos(x2), name="other")
    n = dd.reduce(m)
    (combined,) = n.reduction.findings
    assert {combined.row.source, *combined.row.combined} == {Source("sum"), Source("other")}
    assert list(n.constraints) == [combined.row.label]
    assert str(combined) == f"{combined.row.label}, which contains fewer derivatives"
    tr = dd.simulate(n, 0.2, **SHARP)
    assert np.abs(tr["x1"] + np.cos(tr["x2"]) + 7).max() < 1e-10
    assert max(residual_along(m, tr).values()) < 1e-9
    assert np.abs(tr["x1"] + tr["x2"] - (7 * tr.time + tr["x1"][0] + tr["x2"][0])).max() < 1e-9


@pytest.mark.parametrize(
    ("arguments", "headline"),
    [
        ({"stabilise": "magic"}, "stabilise='magic' is not valid."),
        ({"index": 2}, "index=2 is not supported."),
        ({"index": True}, "index=True is not supported."),
        ({"alpha": 3.0}, "alpha=3.0 cannot be used."),
        ({"alpha": -1.0, "stabilise": "baumgarte"}, "alpha=-1.0 cannot be used."),
        ({"inputs": {"w": 1.0}}, "The model 'pendulum' has no input 'w'."),
    ],
)
def test_arguments_that_mean_nothing(arguments, headline):
    text = text_of(lambda: dd.reduce(pendulum(), **arguments), dd.InputError)
    assert text.splitlines()[0] == headline
    assert "  Because " in text
    assert "  Try: " in text


def test_only_a_model_or_its_snapshot_is_reduced():
    assert dd.reduce(pendulum().freeze()).equations == dd.reduce(pendulum()).equations
    text = text_of(lambda: dd.reduce("pendulum"), dd.ModelError)
    assert text.startswith("A model is expected here.\n  got str\n")
