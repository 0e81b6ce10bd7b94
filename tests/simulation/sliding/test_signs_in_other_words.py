"""Signs that are not written as such: a / |a|, |a| / a, a / sqrt(a²), copysign(1, a) slide as sign(a) does."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

SIGNS = {
    "a / |a|": lambda a, f: f * a / ca.fabs(a),
    "-f (-a) / |a|": lambda a, f: -f * (-a) / ca.fabs(a),
    "a (f / |a|)": lambda a, f: a * (f / ca.fabs(a)),
    "|a| / a": lambda a, f: f * ca.fabs(a) / a,
    "a / sqrt(a²)": lambda a, f: f * a / ca.sqrt(a**2),
    "a / norm": lambda a, f: f * (a / ca.norm_2(a)),
    "copysign": lambda a, f: f * ca.copysign(1, a),
    "copysign of f": lambda a, f: ca.copysign(f, a),
}


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
@pytest.mark.parametrize("written", SIGNS)
def test_a_state_is_held_where_both_sides_lead(written, method):
    """x' = 1 - (1 + sign(x)) is 1 up to x = 0, which is reached at t = ½, and 0 from there on; e' = 1 + sign(x)."""
    m = dd.Model("held")
    x, e, f = m.state("x", start=-0.5), m.state("e", start=0.0), m.parameter("f", 1.0)
    above = 1 + SIGNS[written](x, f)
    m.equation(m.der(x), 1 - above)
    m.equation(m.der(e), above)
    tr = dd.simulate(m, 3.0, method=method, time_limit=5.0)
    assert tr.success, tr.stop_reason
    assert abs(tr["x"][-1]) < 1e-6
    assert tr["e"][-1] == pytest.approx(2.5, abs=1e-5)
    assert tr.work.steps < 200


@pytest.mark.parametrize("written", SIGNS)
@pytest.mark.parametrize("seed", range(3))
def test_dry_friction(written, seed):
    """A driven block sticks and slips as with sign(v), to the last steps."""
    draw = np.random.default_rng(seed)
    push, speed, level = draw.uniform(1.2, 3), draw.uniform(1, 4), draw.uniform(0.4, 1.1)

    def run(sign):
        m = dd.Model("block")
        x, v, f = m.state("x", start=0.0), m.state("v", start=draw_v), m.parameter("f", level)
        m.equation(m.der(x), v)
        m.equation(m.der(v), push * ca.sin(speed * m.time) - sign(v, f))
        return dd.simulate(m, 4.0, method=("auto", "radau5")[seed % 2], time_limit=5.0)

    draw_v = draw.uniform(0.05, 0.5)
    plain, other = run(lambda a, f: f * ca.sign(a)), run(SIGNS[written])
    assert plain.success
    assert other.success
    changes = [np.unique(np.round([change.time for change in run.transitions], 5)) for run in (plain, other)]
    np.testing.assert_allclose(changes[1], changes[0], atol=2e-5)
    times = np.linspace(0, 4, 50)
    for name in ("x", "v"):
        np.testing.assert_allclose(other.at(times)[name], plain.at(times)[name], atol=1e-6)
