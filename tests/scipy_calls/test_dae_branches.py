"""Dead centres and impasses of functions given to `dd.solve_dae`."""

import numpy as np
import pytest
from tests.support.slider_cranks import MASSES, angle_at

import daedalus as dd
from daedalus.simulation.result.ending import Obstacle

START = [0.3, -0.3, 2 * np.cos(0.3), 3.0, -3.0, -6.0 * np.sin(0.3), 0.0, 0.0]


def crank(index):
    """Crank and rod of equal length with their closure held by position or by velocity."""

    def residual(t, y, yp):
        a, b, s, va, vb, vs, up, along = y
        first = np.sin(a) + np.sin(b) if index == 3 else np.cos(a) * va + np.cos(b) * vb
        second = s - np.cos(a) - np.cos(b) if index == 3 else vs + np.sin(a) * va + np.sin(b) * vb
        return [
            yp[0] - va, yp[1] - vb, yp[2] - vs,
            MASSES[0] * yp[3] + np.cos(a) * up + np.sin(a) * along,
            MASSES[1] * yp[4] + np.cos(b) * up + np.sin(b) * along,
            MASSES[2] * yp[5] + along,
            first, second,
        ]  # fmt: skip

    return residual


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-9])
@pytest.mark.parametrize(
    ("index", "method"),
    [(2, "Radau"), (2, "BDF"), (2, "radau3"), (2, "radau9"), (3, "Radau"), (3, "radau3"), (3, "radau9")],
)
def test_no_result_is_on_another_branch_without_a_word(index, method, rtol):
    result = dd.solve_dae(crank(index), (0, 5), START, method=method, rtol=rtol, atol=1e-2 * rtol, repair=True)
    assert result.traced
    if result.success:
        assert result.y[0, -1] == pytest.approx(angle_at(5.0), rel=300 * rtol)
        assert "dead centres) and stays on its branch: t = 0.55" in result.reason
        return
    assert result.status == -1
    assert np.cos(result.y[0, -1]) == pytest.approx(0.0, abs=0.02)
    assert result.stop.equations == ("F[6]",)
    head = (
        f"The run comes near a singular configuration (a dead centre) at t = {result.t[-1]:.6g}: F[6] hardly acts on "
        "the motion there, and the motion may go on in more than one way"
    )
    assert result.message == f"{'; '.join([head, *result.stop.facts])}."


@pytest.mark.wide
def test_slopes_of_a_run_that_is_led_over_a_dead_centre():
    """The piece beside it is explicit and has no slopes among its rows: the result ended in a ValueError of NumPy."""
    asked = {"method": "radau9", "rtol": 1e-9, "atol": 1e-11, "repair": True, "dense_output": True}
    result = dd.solve_dae(crank(3), (0, 5), START, **asked)
    if not result.success:
        return
    for t in (0.3, 0.5536, 0.57, 2.0):
        turn = (angle_at(t + 1e-4) - angle_at(t - 1e-4)) / 2e-4
        assert (result.sol(t)[0], result.sol(t)[3]) == (
            pytest.approx(angle_at(t), rel=1e-6), pytest.approx(turn, rel=1e-5),
        )  # fmt: skip


def test_what_was_asked_for_ends_at_the_place_too():
    quarter = lambda t, y: y[0] - 1.0  # noqa: E731
    late = lambda t, y: t - 4.9  # noqa: E731
    times = np.linspace(0, 5, 51)
    asked = {"t_eval": times, "dense_output": True, "events": [quarter, late], "repair": True}
    # Which runs leave their branch is a matter of rounding errors, and many do.
    tried = [(method, rtol) for method in ("BDF", "radau9", "radau3", "Radau") for rtol in (1e-8, 1e-6, 1e-9)]
    results = (
        dd.solve_dae(crank(2), (0, 5), START, method=method, rtol=rtol, atol=1e-2 * rtol, **asked)
        for method, rtol in tried
    )
    result = next(result for result in results if result.stop.obstacle is Obstacle.LEFT_BRANCH)
    assert result.t.tolist() == times[: len(result.t)].tolist()
    assert result.y.shape == result.yp.shape == (8, len(result.t))
    assert result.t[-1] <= result.sol.t_max < 5
    assert [len(found) for found in result.t_events] == [1, 0]


def test_an_impasse():
    result = dd.solve_dae(lambda t, y, yp: [yp[0] + 1, y[1] ** 2 - y[0]], (0, 3), [1.0, 1.0])
    assert result.status == -1
    assert (result.stop.obstacle, result.stop.equations, result.stop.variables) == ("impasse", ("F[1]",), ("y[1]",))
    head = (
        "The algebraic equations become singular at t = 1 (an impasse): F[1] no longer determines y[1] there, and the "
        "solution may not go on"
    )
    assert result.message == f"{'; '.join([head, *result.stop.facts])}."
