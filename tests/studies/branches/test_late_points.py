"""Points of large models that are found some steps later, because eigenvalues are not looked at everywhere."""

import casadi as ca
import pytest

import daedalus as dd


def test_hopf_points_beside_folds_and_the_end_of_a_branch():
    """A tubular reactor on 25 cells: Hopf, fold, fold, Hopf, whether eigenvalues are seen at every point or not."""
    m, cells = dd.Model("tubular reactor"), 25
    y, T = m.state("y", cells, start=1.0), m.state("T", cells, start=1.0)
    rate = m.parameter("rate", 0.05)

    def outflow(c):
        inside = 0.5 * (c[:-1] + c[1:]) - (c[1:] - c[:-1]) * cells / 5.0
        flux = ca.vertcat(1.0, inside, c[-1])
        return (flux[1:] - flux[:-1]) * cells

    reaction = rate * y * ca.exp(25 - 25 / T)
    m.equation(m.der(y), -outflow(y) - reaction)
    m.equation(m.der(T), -outflow(T) - 3.0 * (T - 1) + 0.5 * reaction)
    found = dd.branch(m, "rate", (0.05, 0.4))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("daedalus.studies.branches.walk.FEW_STATES", 1000)
        whole = dd.branch(m, "rate", (0.05, 0.4))
    assert [point.kind for point in found.points] == ["hopf", "fold", "fold", "hopf"]
    assert [point.kind for point in whole.points] == ["hopf", "fold", "fold", "hopf"]
    for one, other in zip(found.points, whole.points):
        assert one.parameter == pytest.approx(other.parameter, abs=1e-9)
    assert sum(known is not None for known in found.eigenvalues.known) < 0.8 * len(found["rate"])
