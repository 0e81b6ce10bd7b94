"""Four independent ways to one derivative, on the known systems, by explicit and implicit methods.

The variational equations with error control, the derivative of the discrete map, its adjoint, and differences of the
same map with steps and projections held. A new system is tested here without new code.
"""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.differentiation.events.smoothness import corners

RTOL = 1e-8
# The first part of each span: long enough to move, short enough for chaos to stay away.
SHARE = 0.2
# Stiff systems take an implicit method; large ones a short part and two directions. The steps of the ring modulator
# must be those of its fast oscillations, which nothing but a change of the start sets in motion: of that of parts the
# steps have slopes 1.6e-3 off the flow's as they are, 2.5e-4 in steps of 2e-8 and 1.2e-5 of 1e-8. Transistors of the
# adder rest on corners of their laws at the start; the nodes of a load's bulk do not reach them. What moves the
# instants at which a converter switches is amplified by its snubber to more than steps for the states can resolve.
# A rod that cools in its slowest mode needs shorter steps for the others, which a change of the start sets in motion.
OWN = {
    "robertson": {"method": "radau5", "share": 1e-8},
    "chemical_akzo": {"method": "radau5"},
    "hires": {"method": "radau9"},
    "transistor_amplifier": {"method": "radau5", "share": 0.05},
    "oregonator": {"method": "radau9", "share": 0.02},
    "rod_chain": {"load": {"rods": 8}, "wrt": ("rod0.velocity[0]", "gravity")},
    "pollution": {"method": "radau5"},
    "ring_modulator": {"method": "dop853", "share": 0.002},
    "medical_akzo": {"method": "radau9", "share": 5e-5, "wrt": ("k", "y[0]")},
    "nand_gate": {"method": "radau5", "share": 0.1},
    "fekete": {"share": 2e-4, "wrt": ("p[0,0]", "q[1,19]")},
    "beam": {"method": "radau9", "share": 1e-3, "max_step": 1e-4, "wrt": ("angle[0]", "rate[5]")},
    "e5": {"method": "radau5", "share": 1e-12},
    "water_tube": {"method": "radau5", "share": 1e-3},
    "flexible_slider_crank": {"share": 0.02},
    "charge_pump": {"share": 0.04},
    "emep": {"method": "radau5", "share": 1e-3, "wrt": ("NO", "O3")},
    "wheelset": {"method": "radau5", "share": 2e-4},
    "ring_modulator_of_parts": {"method": "radau5", "share": 0.1, "max_step": 5e-9},
    "buck_converter": {"share": 0.05, "wrt": ("start", "source.voltage", "choke.inductance", "load.resistance")},
    "two_bit_adder": {"method": "radau5", "share": 1e-4, "wrt": ("charge[2]", "charge[3]")},
    "heat_rod": {"max_step": 1e-4},
}
# Systems that explicit methods run, by implicit ones as well: an ODE, index 1, 2 and 3 after reduction, fixed steps.
ALSO_IMPLICIT = {
    "van_der_pol": {"method": "gauss3", "step": 0.05},
    "small_dae": {"method": "implicit_euler", "step": 0.01},
    "cstr": {"method": "radau5"},
    "pendulum_3d": {"method": "radau9"},
    "car_axis": {"method": "trapezoidal", "step": 0.01},
    "double_pendulum": {"method": "radau5"},
}


def four_ways(name, load=None, share=SHARE, **options):
    """The sensitivities of the first part of a known run, and what the other ways say."""
    known = catalogue.load(name, **(load or {}))
    t0, t1 = known.span
    plain = {"start": known.start, "inputs": known.inputs, "rtol": RTOL, "atol": 1e-3 * RTOL}
    sens = dd.sensitivities(known.model, (t0, t0 + share * (t1 - t0)), **plain, **options)
    report = sens.verify()
    assert report.passed, report
    assert report["differences"].error < 1e-7
    slope = report["differences"].slope
    assert slope is None or abs(slope - 2) < 0.15
    # Rates of 1e13 beside 1e-3 make rounding errors of the stages larger.
    assert report["the adjoint"].error < (1e-11 if known.stiff else 1e-12)
    # Sensitivities have errors of their own, in proportion to what they amplify; measured up to 30 tolerances.
    assert report["the steps differentiated"].error < 100 * RTOL * (1 + norm(sens))
    return sens


@pytest.mark.parametrize("name", catalogue.names())
def test_variational_discrete_adjoint_and_differences_agree(name, monkeypatch):
    # Each function is called some hundred times only: compiling the large mechanisms would take longer than that.
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")
    assert four_ways(name, **OWN.get(name, {})).states.success


@pytest.mark.parametrize("name", ALSO_IMPLICIT)
def test_they_agree_for_implicit_methods_too(name, monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")
    sens = four_ways(name, **ALSO_IMPLICIT[name])
    assert sens.states.method == ALSO_IMPLICIT[name]["method"]


@pytest.mark.wide
@pytest.mark.parametrize("name", catalogue.names())
def test_second_derivatives_are_refused_where_there_are_corners(name):
    known = catalogue.load(name)
    if not corners(known.model.freeze().residual):
        pytest.skip("equations without corners have second derivatives")
    with pytest.raises(dd.SolverError, match=r"The model has no second derivatives\.\n  .*(if_else|fmax).* in "):
        dd.sensitivities(known.model, known.span, order=2, start=known.start, inputs=known.inputs)


def norm(sens):
    """‖S‖ in the sizes of what is varied and of the states."""
    sizes = sens._directions.sizes(sens.system, sens._case.p)
    return np.abs(sens._slopes[0] * sizes / sens.system.nominal["x"][:, None]).max()
