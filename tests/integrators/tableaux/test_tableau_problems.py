"""problems() in words; the two tableaux that document 002 prints wrongly come first."""

import pytest

from daedalus.integrators.tableaux.named_tableaux import tableau, tableau_names
from daedalus.integrators.tableaux.tableau import Tableau

WRONG_SUM = "even a constant derivative is integrated wrongly, and no step size helps"


def test_the_printed_midpoint_of_document_002():
    T = Tableau([[0, 0], ["1/2", 0]], [0, "1/2"], [0, "1/2"])
    assert not T.is_consistent
    assert T.order == 0
    assert T.problems() == [
        f"the weights b sum to 1/2, not 1: {WRONG_SUM}; with b[1] = 1 instead of 1/2 the method has order 2"
    ]


def test_the_printed_ralston_of_document_002():
    T = Tableau([[0, 0], ["2/3", 0]], ["1/4", "1/3"], [0, "2/3"])
    assert not T.is_consistent
    assert T.order == 0
    assert T.problems() == [
        f"the weights b sum to 7/12, not 1: {WRONG_SUM}; with b[1] = 3/4 instead of 1/3 the method has order 2"
    ]
    # The same typed as floats.
    floats = Tableau([[0, 0], [2 / 3, 0]], [1 / 4, 1 / 3], [0, 2 / 3])
    mended = "with b[1] = 0.75 instead of 0.333333 the method has order 2"
    assert floats.problems() == [f"the weights b sum to 0.583333, not 1: {WRONG_SUM}; {mended}"]


def test_a_wrong_sum_that_no_single_weight_mends():
    assert Tableau([[0]], [2], [0]).problems() == [f"the weights b sum to 2, not 1: {WRONG_SUM}"]


def test_wrong_nodes():
    A = [[0, 0, 0], ["1/2", 0, 0], [-1, 2, 0]]
    assert Tableau(A, ["1/6", "2/3", "1/6"], [0, "1/3", 1]).problems() == [
        "node c[1] is 1/3, but row 1 of A sums to 1/2: "
        "on systems that depend on t the stage is evaluated at the wrong time"
    ]


def test_second_weights():
    A, b, c = [[0, 0], [1, 0]], [0.5, 0.5], [0, 1]
    assert Tableau(A, b, c, [0.5, 0.25]).problems() == [
        "the weights b_hat sum to 3/4, not 1: the error estimate does not become small with the step; "
        "with b_hat[1] = 1/2 instead of 1/4 the method has order 2"
    ]
    assert Tableau(A, b, c, b).problems() == [
        "b_hat equals b: the error estimate is always zero, and no step is ever refused"
    ]


def test_idle_stages():
    T = Tableau([[0, 0, 0], ["1/2", 0, 0], [1, 0, 0]], [0, 1, 0])
    assert T.problems() == ["stage 2 is computed but never used: no weight and no used stage takes it"]
    # Used by b_hat only is used.
    assert Tableau([[0, 0, 0], ["1/2", 0, 0], [1, 0, 0]], [0, 1, 0], None, ["1/2", 0, "1/2"]).problems() == []


def test_dropped_digits():
    T = Tableau([[0, 0], [0.6667, 0]], [0.25, 0.75], [0, 0.6667])
    assert T.order == 1
    assert T.problems() == [
        "order 2 is missed by 2.5e-05 only (b·c should be 1/2): the coefficients look like they were typed with too "
        "few digits; give them as fractions or with 16 digits"
    ]


@pytest.mark.parametrize("name", [name for name in tableau_names() if name not in ("rk2", "rk3")])
def test_sound_tableaux_have_none(name):
    assert tableau(name).problems() == []
    copy = tableau(name)
    assert Tableau(copy.A, copy.b, copy.c, copy.b_hat).problems() == []
