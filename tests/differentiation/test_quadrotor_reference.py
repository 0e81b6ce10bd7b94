"""The quadrotor of document 001: M, N, O, P, Q after ten seconds of flight against stored numbers.

The stored numbers are those of the tensor equations S' = f_v V, W' = f_x W + f''[V, V], written out with NumPy on
CasADi's derivatives of f and integrated by SciPy's DOP853 with rtol = 3e-14: nothing of this package but the model. Two
other ways agree with them to 14 digits: the variational equations with error control by an explicit method, and the
derivative of the steps of a Gauss method of order 12.
"""

from pathlib import Path

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

STORED = np.load(Path(__file__).parents[1] / "support" / "quadrotor_sensitivities.npz")
SHAPES = {"value": (13,), "M": (13, 13), "N": (13, 4), "O": (13, 13, 13), "P": (13, 13, 4), "Q": (13, 4, 4)}
WRT = ("start", "inputs")


def test_the_stored_numbers_by_name():
    """Norms and entries that say which derivative they are."""
    norms = {"M": 1645.02849920432, "N": 61370.2145942258, "O": 6456.52664985135, "P": 273787.086871966}
    for letter, norm in norms.items():
        np.testing.assert_allclose(np.linalg.norm(STORED[letter]), norm, rtol=1e-13)
    assert {letter: STORED[letter].shape for letter in SHAPES} == SHAPES
    # A start velocity moves the position by ten seconds of it; nothing else depends on it.
    np.testing.assert_allclose(STORED["M"][:3, 3:6], 10 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(STORED["O"], STORED["O"].transpose(0, 2, 1), atol=1e-9)


@pytest.mark.document(
    "001",
    "x' = f of 13 states with a unit quaternion, M = dx/dx0, N = dx/du, O, P, Q along it",
    "`dd.sensitivities`",
)
@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 1e-13, "atol": 1e-14},
        {"method": "gauss6", "step": 0.2, "by": "discrete"},
    ],
    ids=["variational", "discrete"],
)
def test_two_ways_agree_with_the_stored_numbers_to_ten_digits(options):
    known = catalogue.load("quadrotor")
    sens = dd.sensitivities(known.model, known.span, order=2, wrt=WRT, inputs=known.inputs, **options)
    for letter, shape in SHAPES.items():
        found = getattr(sens, letter)
        assert found.shape == shape
        np.testing.assert_allclose(found, STORED[letter], rtol=0, atol=1e-10 * np.abs(STORED[letter]).max())


@pytest.mark.document(
    "001",
    "the DAE with the row of the quaternion has the same sensitivities along the sphere",
    '`catalogue.load("quadrotor", form="dae")`',
)
def test_the_dae_with_the_quaternion_row_equals_it_along_the_sphere():
    known = catalogue.load("quadrotor", form="dae")
    options = {"inputs": known.inputs, "wrt": WRT, "rtol": 1e-12, "atol": 1e-14}
    sens = dd.sensitivities(known.model, known.span, order=2, **options)
    M, N, O, Q = (STORED[letter] for letter in "MNOQ")
    P = sens.projector
    np.testing.assert_allclose(sens.value, STORED["value"], rtol=0, atol=1e-10 * np.abs(STORED["value"]).max())
    np.testing.assert_allclose(sens.M, M @ P, rtol=0, atol=1e-9 * np.abs(M).max())
    np.testing.assert_allclose(sens.N, N, rtol=0, atol=1e-9 * np.abs(N).max())
    np.testing.assert_allclose(sens.Q, Q, rtol=0, atol=1e-9 * np.abs(Q).max())
    along = np.einsum("ijk,jl,km->ilm", STORED["P"], P, np.eye(4))
    np.testing.assert_allclose(sens.P, along, rtol=0, atol=1e-9 * np.abs(along).max())
    # A start goes along the tangent and is put back onto the sphere: its own second derivative is -q δ_jk there.
    q, block = known.model.freeze().default_start[6:10], slice(6, 10)
    back = np.zeros((13, 13, 13))
    back[block, block, block] = -np.einsum("i,jk->ijk", q, P[block, block])
    second = np.einsum("ijk,jl,km->ilm", O, P, P) + np.einsum("ij,jkl->ikl", M, back)
    np.testing.assert_allclose(sens.O, second, rtol=0, atol=1e-9 * np.abs(second).max())
