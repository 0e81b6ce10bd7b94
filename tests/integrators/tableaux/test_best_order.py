"""The cost argument of document 002: evaluations per unit of time against the order."""

import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedalus.errors import InputError
from daedalus.integrators.tableaux.best_order import FEWEST_STAGES, best_order
from daedalus.integrators.tableaux.named_tableaux import tableau


@pytest.mark.document("002", "cost of explicit methods and the best order for a tolerance", "`dd.best_order`")
@given(st.floats(1e-14, 0.9), st.floats(1e-2, 1e3))
def test_costs_are_the_formula_of_the_document(tolerance, constant):
    # n/T = s (Tol/c)^(-1/o)
    result = best_order(tolerance, constant)
    for cost in result.costs:
        assert cost.evaluations == pytest.approx(cost.stages * (tolerance / constant) ** (-1 / cost.order), rel=1e-12)
        # The step meets the tolerance: c Δt^o = Tol.
        assert constant * cost.step**cost.order == pytest.approx(tolerance, rel=1e-9)
    assert min(result.costs, key=lambda cost: cost.evaluations).order == result.order


@given(st.floats(2.7e-5, 0.087))
def test_between_3_and_6_for_usual_tolerances(ratio):
    assert 3 <= best_order(ratio).order <= 6
    assert best_order(ratio * 50, constant=50).order == best_order(ratio).order


def test_where_the_document_s_rule_ends():
    # 2 r^(-1/2) = 3 r^(-1/3) at r = (2/3)^6, and 7 r^(-1/6) = 9 r^(-1/7) at r = (7/9)^42.
    upper, lower = (2 / 3) ** 6, (7 / 9) ** 42
    assert (round(upper, 4), round(lower, 7)) == (0.0878, 2.61e-05)
    assert [best_order(upper * (1 + e)).order for e in (1e-9, -1e-9)] == [2, 3]
    assert [best_order(lower * (1 + e)).order for e in (1e-9, -1e-9)] == [6, 7]
    # The document says 3 to 6 without a tolerance; for 1e-6 and c = 1 it would be wrong.
    assert best_order(1e-6).order == 8


def test_stages_are_butchers_barriers():
    assert FEWEST_STAGES == {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 7, 7: 9, 8: 11}
    # Methods that reach them, or have one stage more (first same as last does not count).
    for name, used in (("euler", 1), ("midpoint", 2), ("kutta3", 3), ("rk4", 4), ("dopri5", 6), ("dop853", 12)):
        T = tableau(name)
        assert T.stages - T.reuses_last_stage == used
        assert used >= FEWEST_STAGES[T.order]


def test_the_result_is_frozen_and_prints_columns():
    result = best_order(1e-4, constant=2.0)
    with pytest.raises(FrozenInstanceError):
        result.order = 3
    assert range(10)[result] == result.order
    lines = str(result).splitlines()
    assert lines[0] == f"order {result.order} is cheapest for tolerance 0.0001 and error 2 Δt^order"
    assert len(lines) == 10
    assert [line.endswith("<-") for line in lines].count(True) == 1


@pytest.mark.parametrize("bad", [0, -1e-3, math.nan, math.inf, "small", None])
def test_tolerances_that_cannot_be(bad):
    with pytest.raises(InputError) as caught:
        best_order(bad)
    assert str(caught.value).splitlines() == [
        "The tolerance cannot be used.",
        f"  tolerance = {bad!r}",
        "  Because the step is (tolerance/constant)^(1/order), so both are positive numbers.",
        "  Try: dd.best_order(1e-4, constant=1.0).",
    ]
    with pytest.raises(InputError, match="The constant cannot be used"):
        best_order(1e-3, constant=bad)
