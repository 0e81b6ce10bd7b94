"""Starts at which the equations do not determine their unknowns: told, refused by name, or passed rightly."""

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.simulation.result.records_on_the_way import NotDetermined


def shares(factor_of, felt=True):
    """z0 + z1 = 3 and f (z0 - z1) = f, so that z = (2, 1) where f is not zero; y' = z0."""
    m = dd.Model("shares")
    x, y, z = m.state("x", start=0.0), m.state("y", start=0.0), m.algebraic("z", 2)
    m.equation(m.der(x), 1.0)
    m.equation(m.der(y), z[0] if felt else 2.0)
    factor = factor_of(m.time, x)
    m.equation(z[0] + z[1], 3.0, name="sum")
    m.equation(factor * (z[0] - z[1]), factor, name="difference")
    return m


@pytest.mark.parametrize("felt", [True, False])
def test_a_coupled_block_that_states_make_singular_is_refused_by_name(felt):
    m = shares(lambda t, x: x, felt)
    with pytest.raises(dd.SingularModelError, match=r"sum, difference cannot be solved for z\[0\], z\[1\]"):
        dd.simulate(m, 1.0)
    tr = dd.simulate(m, 1.0, start={"x": 0.5})
    assert tr["z"] == pytest.approx(np.tile([2.0, 1.0], (len(tr.time), 1)))


def test_a_coupled_block_that_time_makes_singular_is_passed_and_told():
    tr = dd.simulate(shares(lambda t, x: t), 1.0)
    assert tr.success
    assert tr.end["y"] == pytest.approx(2.0, abs=1e-6)
    (told,) = records_of(tr, NotDetermined)
    assert (told.equations, told.unknowns, told.begin) == (("sum", "difference"), ("z[0]", "z[1]"), 0.0)


def test_an_unknown_that_time_takes_out_of_its_equation_is_passed_and_told():
    m = dd.Model("ramp")
    y, z = m.state("y", start=0.0), m.algebraic("z")
    m.equation(m.time * z, m.time * (2 + m.time), name="ramp")
    m.equation(m.der(y), z)
    tr = dd.simulate(m, 1.0)
    assert tr.success
    assert tr.end["y"] == pytest.approx(2.5, abs=1e-6)
    assert records_of(tr, NotDetermined)[0].unknowns == ("z",)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf", "rodas5p"])
def test_a_start_from_which_many_solutions_go_is_told(method):
    """t x' = x + t² has x = t² + c t for every c."""
    m = dd.Model("fan")
    x = m.state("x", start=0.0)
    m.equation(m.time * m.der(x), x + m.time**2, name="fan")
    (told,) = records_of(dd.simulate(m, 1.0, method=method), NotDetermined)
    assert (told.unknowns, told.begin) == (("x_dot",), 0.0)


@pytest.mark.parametrize("save_at", [None, [0.0, 2.5]])
def test_a_pole_of_algebraic_variables_on_the_way_of_an_explicit_run_is_told(save_at):
    """x (z0 - z1) = 1 has no solution at x = 0, which x' does not feel; whatever times are asked for."""
    m = dd.Model("pole")
    x, z = m.state("x", start=-1.0), m.algebraic("z", 2)
    m.equation(m.der(x), 1.0)
    m.equation(z[0] + z[1], 3.0)
    m.equation(x * (z[0] - z[1]), 1.0)
    (told,) = records_of(dd.simulate(m, 2.5, save_at=save_at), NotDetermined)
    assert (told.begin, told.end) == pytest.approx((1.0, 1.0), abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "tsit5"])
def test_a_divisor_that_passes_zero_is_told_with_its_time(method):
    """(1 - t) z = 1 - t² has z = 1 + t."""
    m = dd.Model("ramp")
    x, z = m.state("x", start=0.0), m.algebraic("z")
    m.equation(m.der(x), 1.0)
    m.equation((1 - m.time) * z, 1 - m.time**2, name="ramp")
    told = [each for each in dd.simulate(m, 1.95, method=method).records if "1 - t" in str(each)]
    assert str(told[0]).startswith("1 - t, the factor of z in ramp, passes through zero near t = 1:")


def test_a_divisor_within_the_rounding_of_a_long_sum_is_zero_at_the_start():
    """Ten thousand steps of 1e-4 add up to 1 - 9e-14: x - 1 is nothing but rounding there."""
    m = dd.Model("valve")
    x = m.state("x", start=float(np.add.accumulate(np.full(10_000, 1e-4))[-1]))
    m.equation((x - 1) * m.der(x), -1.0, name="valve")
    with pytest.raises(dd.SingularModelError, match="valve cannot be solved for x_dot at the start"):
        dd.simulate(m, 0.1, method="tsit5")


def test_a_block_that_stays_regular_is_not_told():
    m = dd.Model("bridge")
    x, z = m.state("x", start=0.0), m.algebraic("z", 2)
    m.equation(m.der(x), z[0])
    m.equation(z[0] + ca.cos(x) * z[1], 1.0)
    m.equation(z[1] - ca.cos(x) * z[0], 2.0)
    assert not records_of(dd.simulate(m, 5.0), NotDetermined)
