"""Every method that fits, on every known system: the end is reached, what is conserved stays, work follows the order.

A new system (one file and one line in the catalogue) and a new method (one row in `dd.methods()`) are tested here
without new code.
"""

from functools import lru_cache

import numpy as np
import pytest
from tests.support.term_sizes import term_sizes

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.plant.constant_mass import varying_mass

TOLERANCES = [1e-6, 1e-9]
# Local errors of about rtol add up over some hundred steps and are amplified on the way: measured up to 350 times rtol
# at the end and 55 times for what is conserved (close encounters of the Pleiades).
END, CONSERVED, BETWEEN = 1000.0, 100.0, 200.0
# BDF takes five to ten times as many steps and its errors have one sign more often: measured up to 4400 times rtol at
# the end (Pleiades) and 500 times for what is conserved.
END_OF, CONSERVED_OF = {"bdf": 10000.0}, {"bdf": 2000.0}
# Oscillations without damping of up to 6400 rad/s: measured up to 1200 times rtol, in the rates at rtol = 1e-9. So much
# passes the tolerance inside, 0.03 rtol^(2/3) for radau5, and the step is not at fault: where the tolerance inside is
# 1e-9, 15 500 steps end 62 times that from the reference; SciPy's Radau takes 14 200 with its rtol there, and ends 70
# times that from it.
END_FOR = {"beam": 2000.0}
# Balances of forces are compared with these forces, by such bounds; elsewhere all equations count as they are. They are
# some 4000 N in the mechanism and 15 000 to 650 000 in the beam, where Newton's method of bdf leaves 3 to 180 rtol in
# runs that differ by rounding, which is at most 1e-3 rtol beside the terms.
BESIDE_TERMS = {"flexible_slider_crank": CONSERVED, "beam": 0.01}
# Equations that are steep in their unknown are divided by this slope: 1/√λ − 1.74 + 2 log10(…) of a water tube falls by
# ½ λ^(-3/2) + λ^(-1)/ln 10 = 84 at its smallest resistance λ = 0.0365, and the resistance is what has to be right.
STEEP = {"water_tube": 84.0}

# Systems whose runs are long: these methods stand for the others.
LONG = {
    "ring_modulator": ("radau9",),
    "fekete": ("radau9", "bdf"),
    "medical_akzo": ("radau5", "radau9", "bdf", "rodas5p"),
    "wheelset": ("radau5", "radau9", "bdf"),
}
# Methods that keep the promises, of those that run; the others do not yet. Charge pump: bdf stops at 1e-9, where
# rounding of the time moves voltages at a kink by more than atol. Two bit adder: at 1e-9 radau9 meets currents that are
# not finite in some runs and not in others, which differ by rounding; bdf takes minutes. Bridge rectifier: the balances
# at blocked diodes are currents of 1e-9 A, of which Newton of bdf leaves more than 100 rtol beside ten volts. Bricard:
# dopri5 ends 4 rtol off in angles of 3e-4 rad, of which that is 3700 times as much.
# Windows: at 1e-9 bs3 does not come within its tolerances of the reference through the dead centres.
KEPT_BY = {
    "four_bar_windows": ("auto", "tsit5", "dopri5", "dop853", "cash_karp", "radau3", "radau5", "radau9"),
    "bricard": ("auto", "tsit5", "dop853", "radau3", "radau5", "radau9"),
    "charge_pump": ("radau5", "radau9"),
    "two_bit_adder": ("radau5",),
    "bridge_rectifier": ("radau5", "radau9", "rodas5p"),
}


# Pairs that go on with the solution whose error is estimated, of order 2 and 4: tests of tableaux run them.
# Errors of one sign add up over ten times the steps of the others (fehlberg: 3500 times rtol on van_der_pol).
COARSE = ("trbdf2", "fehlberg")


def fits(method, known):
    """Whether a method with error control solves systems like this one."""
    if method in COARSE or method not in {**LONG, **KEPT_BY}.get(known.name, (method,)) or known.reference is None:
        return False
    if method == "auto":
        return True
    row = METHODS[method]
    order = (row.ode, row.index_1, row.index_2, row.index_3)[known.index]
    if not row.adaptive or order == "-" or row.family == "lobatto":
        return False
    if row.explicit and (known.stiff or not has_explicit_form(known.name)):
        return False
    return not (row.family == "rosenbrock" and varying_mass(known.model.freeze()))


@lru_cache
def has_explicit_form(name):
    """Whether derivatives and algebraic variables are expressions of the states, if need be after reduction."""
    known = loaded(name)
    try:
        dd.prepare(known.model, known.span, inputs=known.inputs, method="dop853")
    except (dd.SolverError, dd.ModelError):
        return False
    return True


# Tens of seconds each: the same at a looser tolerance stands for them, and `make soak` runs them.
TENS_OF_SECONDS = {("two_bit_adder", "radau5"), ("beam", "radau3"), ("beam", "radau9"), ("fekete", "radau9")}
# Order 4 takes six times the steps at 1e-9: half a minute over all systems, run by `make soak` too.
MANY_STEPS = ("sdirk4",)


def kept_for_soak(name, method, rtol):
    """How a run is marked."""
    long = (name, method) in TENS_OF_SECONDS or method in MANY_STEPS
    return [pytest.mark.long] if rtol < 1e-6 and long else []


METHODS = {method.name: method for method in dd.methods()}
RUNS = [
    pytest.param(name, method, rtol, marks=kept_for_soak(name, method, rtol), id=f"{name}-{method}-{rtol:g}")
    for name in catalogue.names()
    for method in ["auto", *(row.name for row in METHODS.values() if row.adaptive and row.name not in COARSE)]
    for rtol in TOLERANCES
]


# The runs of a system follow each other: it is analysed and reduced once.
loaded = lru_cache(maxsize=1)(catalogue.load)


@lru_cache(maxsize=4)
def run(name, method, rtol):
    """A known system and its trajectory; absolute tolerances a thousand times smaller, for small components."""
    known = loaded(name)
    if not fits(method, known):
        pytest.skip(f"{method} does not solve {name}")
    trajectory = dd.simulate(
        known.model, known.span, start=known.start, inputs=known.inputs, method=method, rtol=rtol, atol=1e-3 * rtol
    )
    assert trajectory.success, trajectory.stop_reason
    return known, trajectory


def largest_change(values):
    """The largest deviation from the first value, relative to it where it is not zero to rounding."""
    size = np.max(np.abs(values[0]))
    return np.max(np.abs(values - values[0])) / (size if size > 1e-12 else 1.0)


@pytest.mark.parametrize(("name", "method", "rtol"), RUNS)
def test_the_reference_is_reached_and_what_is_conserved_stays(name, method, rtol):
    known, trajectory = run(name, method, rtol)
    assert trajectory.time[0] == known.span[0]
    assert trajectory.time[-1] == known.span[1]
    errors = {key: known.reference.error(key, trajectory[key][-1]) for key in known.reference}
    bound = max(END_OF.get(method, END), END_FOR.get(name, END))
    assert max(errors.values()) <= bound * rtol + 10.0**-known.reference.digits, errors
    # At the steps and between them.
    between = 0.5 * (trajectory.time[1:] + trajectory.time[:-1])
    dense = trajectory.at(np.concatenate([trajectory.time[:1], between]))
    bound = CONSERVED_OF.get(method, CONSERVED)
    for key in known.conserved:
        assert largest_change(trajectory[key]) <= bound * rtol, key
        assert largest_change(dense[key]) <= max(BETWEEN, 2 * bound) * rtol, key
    # What the model itself promises to keep, its constraints and invariants.
    sizes = term_sizes(trajectory) if name in BESIDE_TERMS else {}
    beside = {key: violation / sizes.get(key, 1.0) for key, violation in trajectory.drift().items()}
    most = BESIDE_TERMS.get(name, CONSERVED) * STEEP.get(name, 1.0)
    assert all(violation <= most * rtol for violation in beside.values()), beside


@pytest.mark.wide
@pytest.mark.parametrize("name", catalogue.names())
def test_higher_order_needs_fewer_steps_at_a_tight_tolerance(name):
    explicit = [m for m in METHODS.values() if m.explicit and fits(m.name, catalogue.load(name))]
    if len(explicit) > 1:
        low, high = min(explicit, key=lambda m: m.order), max(explicit, key=lambda m: m.order)
        few, many = (run(name, m.name, 1e-9)[1].work.steps for m in (high, low))
        # A solution at rest needs only the steps in which the step grows.
        assert many < 20 or few < 0.5 * many


def test_every_system_is_run_by_some_method():
    """No system may slip out of these tests unseen."""
    implicit = [name for name, method in METHODS.items() if not method.explicit]
    unseen = [name for name in catalogue.names() if not any(fits(m, catalogue.load(name)) for m in implicit)]
    assert not unseen
