import numpy as np
import pytest
from kronecker_blocks import well_conditioned

from daedalus.analysis.linear.lti import LTI


@pytest.mark.parametrize(
    ("poles", "stable", "words"),
    [
        ([-1.0, -0.5], True, "stable: every pole is left of the imaginary axis, the closest at -0.5 (margin 0.5)"),
        ([-1.0, 0.5], False, "unstable: the pole 0.5 is right of the imaginary axis (margin -0.5)"),
        (
            [-1.0, 0.0],
            False,
            "not asymptotically stable: the pole 0 is on the imaginary axis up to rounding (margin 0)",
        ),
    ],
)
def test_diagonal_systems(poles, stable, words):
    verdict = LTI(np.diag(poles)).stability()
    assert (verdict.stable, bool(verdict), str(verdict)) == (stable, stable, words)
    assert verdict.margin == -max(poles)


def test_a_conservative_oscillator_is_not_asymptotically_stable():
    assert not LTI([[0, 1], [-7.3, 0]]).is_stable
    assert LTI([[0, 1], [-7.3, -1e-6]]).is_stable


@pytest.mark.parametrize("seed", range(20))
def test_a_hidden_chain_of_integrators_is_not_called_stable(seed):
    """Rounding moves a double pole at zero by about 1e-8 to either side; the verdict must not follow it."""
    T = well_conditioned(np.random.default_rng(seed), 3)
    A = T @ np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -1.0]]) @ np.linalg.inv(T)
    verdict = LTI(A).stability()
    assert not verdict.stable
    assert verdict.uncertainty > abs(verdict.margin)


@pytest.mark.parametrize("seed", range(20))
def test_a_hidden_stable_system_is_called_stable(seed):
    rng = np.random.default_rng(seed)
    T = well_conditioned(rng, 4)
    A = T @ np.diag([-1e-6, -1.0, -2.0, -30.0]) @ np.linalg.inv(T)
    assert LTI(A).stability().margin == pytest.approx(1e-6, rel=1e-6)
    assert LTI(A).is_stable


def test_the_response_follows_the_verdict():
    rng = np.random.default_rng(5)
    for _ in range(20):
        A = rng.normal(size=(3, 3)) - 0.8 * np.eye(3)
        verdict = LTI(A).stability()
        end = 60.0 / abs(verdict.margin)
        final = LTI(A).respond([0.0, end], start=rng.normal(size=3)).states[-1]
        assert (np.abs(final).max() < 1e-6) == verdict.stable
