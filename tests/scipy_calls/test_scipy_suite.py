"""SciPy's own tests of `solve_ivp`, as they are installed, with `dd.solve_ivp` in its place.

Each test of `scipy/integrate/_ivp/tests/test_ivp.py` is a test here. Those in DIFFERENT ask for what is meant to be
different, with the reason; what else they ask for is asked for in words of our own below.
"""

import numpy as np
import pytest

import daedalus as dd

suite = pytest.importorskip(
    "scipy.integrate._ivp.tests.test_ivp", reason="SciPy is installed here without its tests", exc_type=ImportError
)
DIFFERENT = {
    "test_integration": "a matrix is factorised at each change of the step, which SciPy puts off (9 to 11 times, fewer "
    "than 10 are asked for); LSODA is our BDF, which factorises where SciPy's begins with Adams' formulas",
    "test_integration_const_jac": "31 and 21 factorisations, fewer than 15 are asked for, with fewer calls of fun",
    "test_t_eval_early_event": "t and y are arrays also where they are empty, of shapes (0,) and (n, 0)",
}
TESTS = {name: value for name, value in vars(suite).items() if name.startswith("test_") and callable(value)}
globals().update(TESTS)


@pytest.fixture
def num_parallel_threads():
    """What SciPy's own configuration gives to tests that run in one thread."""
    return 1


@pytest.fixture(autouse=True)
def _ours(monkeypatch, request):
    monkeypatch.setattr(suite, "solve_ivp", dd.solve_ivp)
    reason = DIFFERENT.get(request.node.originalname)
    if reason is not None and not request.node.originalname.startswith("test_our"):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def test_our_list_of_differences_is_about_tests_that_exist():
    assert set(DIFFERENT) <= set(TESTS)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("span", [(5, 9), (5, 1)])
def test_our_way_of_the_rational_problem(vectorized, method, span):
    function = suite.fun_rational_vectorized if vectorized else suite.fun_rational
    found = dd.solve_ivp(function, span, [1 / 3, 2 / 9], method, dense_output=True, vectorized=vectorized)
    assert (found.success, found.status, found.t[0], found.t[-1]) == (True, 0, *span)
    assert found.traced
    assert found.nfev < 50
    assert (found.nlu > 0) == (method in ("Radau", "BDF", "LSODA"))
    for times in (found.t, np.linspace(*span)):
        error = suite.compute_error(found.sol(times), suite.sol_rational(times), 1e-3, 1e-6)
        assert np.all(error < 5)
    np.testing.assert_allclose(found.sol(found.t), found.y, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
@pytest.mark.parametrize("kind", [np.array, suite.csc_matrix], ids=["dense", "sparse"])
def test_our_way_of_a_constant_jacobian(method, kind):
    jac = kind(suite.jac_linear())
    found = dd.solve_ivp(suite.fun_linear, (0, 2), [0, 2], method, jac=jac, rtol=1e-3, atol=1e-6)
    assert found.success
    assert (found.njev, found.nfev < 100, 0 < found.nlu < 35) == (0, True, True)
    np.testing.assert_allclose(found.y, suite.sol_linear(found.t), atol=1e-3 * np.abs(found.y).max())
    # Without it the Jacobian of the formula is evaluated, and counted.
    assert dd.solve_ivp(suite.fun_linear, (0, 2), [0, 2], method).njev > 0


def test_our_empty_samples_are_arrays():
    def early(t, y):
        return t - 7

    early.terminal = True
    found = dd.solve_ivp(suite.fun_rational, (5, 9), [1 / 3, 2 / 9], t_eval=np.linspace(7.01, 9, 50), events=early)
    assert (found.status, found.t.shape, found.y.shape) == (1, (0,), (2, 0))
