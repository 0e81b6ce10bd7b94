"""Formulas and waves of netlists mean what they mean to ngspice-39, whose values stand here."""

import re
import warnings

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.components.spice.netlist_text import SpiceWarning, cards_of, plain_number
from daedalus.components.spice.waveforms import source_words, wave_of

OF_PARAMETERS = {
    "(-2)**3": 8, "(-2)^2": 4, "2**3**2": 64, "2**-1": 0.5, "-2**2": -4, "pow(-2,3)": -8, "pwr(-2,3)": 8,
    "(-8)**(1/3)": 2, "nint(2.5)": 2, "nint(3.5)": 4, "sqr(3)": 9, "7%3": 1, "7\\3": 2, "2==2": 1,
    "ternary_fcn(0,2,3)": 3, "1<2?5:6": 5, "10/4*2": 5, "agauss(5,1,3)": None, "sgn(-3)": -1, "int(-2.7)": -2,
}  # fmt: skip
# Of v(x) = -2.
OF_VOLTAGES = {
    "V(x)**3": 8, "V(x)^2": 4, "pow(V(x),3)": 8, "pwr(V(x),3)": -8, "V(x)**3**2": 64, "-V(x)**2": -4, "{3*2}*v(x)": -12,
    "ne0(V(x))": 1, "gt0(V(x))": 0, "lt0(V(x))": 1, "ge0(V(x))": 0, "le0(V(x))": 1, "v(x)<>-2": 0,
    "V(x)>0 ? 1 : 2": 2, "nint(V(x)/4)": 0,
}  # fmt: skip


def steady_values(parameters, voltages):
    """The values of formulas, by one circuit."""
    lines = ["formulas", "V0 x 0 -2", "R0 x 0 1k"]
    for k, text in enumerate(parameters):
        lines += [f".param p{k}={{{text}}}", f"VP{k} p{k} 0 {{p{k}}}", f"RP{k} p{k} 0 1k"]
    for k, text in enumerate(voltages):
        lines += [f"B{k} b{k} 0 V={text}", f"RB{k} b{k} 0 1k"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpiceWarning)
        at = dd.equilibrium(dd.components.from_spice("\n".join([*lines, ".op", ".end"])))
    return [
        [float(at[f"v_{letter}{k}"]) for k in range(len(texts))] for letter, texts in zip("pb", (parameters, voltages))
    ]


def test_powers_and_functions_are_those_of_ngspice():
    """** takes the size of its base and binds from the left; pow and pwr change roles with voltages."""
    own = {**OF_PARAMETERS, "agauss(5,1,3)": 5}
    parameters, voltages = steady_values(own, OF_VOLTAGES)
    np.testing.assert_allclose(parameters, list(own.values()), rtol=1e-12)
    np.testing.assert_allclose(voltages, list(OF_VOLTAGES.values()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (".param r={agauss(1k,10,3)}\nB1 a 0 V=1", "agauss() is its nominal value, nothing is drawn"),
        ("B1 a 0 V=(V(x)-1)**3", "x**3 is |x|**3, as in ngspice"),
    ],
)
def test_a_formula_that_may_surprise_is_told(line, told):
    """Draws and odd powers of what may be negative."""
    with pytest.warns(SpiceWarning, match=re.escape(told)):
        dd.components.from_spice(f"t\nV0 x 0 1\nR0 x 0 1\nR1 a 0 1\n{line}\n.end")


def wave(text, times, step=1e-6, stop=1e-4):
    """What a source gives at some times."""
    (card,) = cards_of(f"V1 a 0 {text}")
    t = ca.SX.sym("t")
    found = wave_of(card, source_words(card).over_time, lambda word: float(plain_number(word)), t, step, stop)
    return np.array([float(ca.Function("wave", [t], [found])(time)) for time in times])


def exponential(t, begin, rise, end, fall):
    up = np.where(t > begin, 1 - np.exp(-np.maximum(t - begin, 0) / rise), 0)
    return up - np.where(t > end, 1 - np.exp(-np.maximum(t - end, 0) / fall), 0)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("EXP(0 1)", (1e-6, 1e-6, 2e-6, 1e-6)),
        ("EXP(0 1 0 5u)", (1e-6, 5e-6, 2e-6, 1e-6)),
        ("EXP(0 1 10u 5u)", (10e-6, 5e-6, 11e-6, 1e-6)),
        ("EXP(0 1 10u 0 50u 0)", (10e-6, 1e-6, 50e-6, 1e-6)),
    ],
)
def test_times_of_exp_that_are_left_out_or_zero_are_steps(text, times):
    """Checked against ngspice to 1e-11 at its own time points."""
    t = np.linspace(0.5e-6, 99.5e-6, 100)
    np.testing.assert_allclose(wave(text, t), exponential(t, *times), rtol=1e-12, atol=1e-15)


def test_waves_with_more_numbers():
    """Two values at one time are a jump, pulses may be counted, a frequency of zero is one turn, phases turn SFFM."""
    at = np.array([5e-6, 9.99e-6, 10.01e-6, 30e-6, 60e-6])
    np.testing.assert_allclose(wave("PWL(0 0 10u 1 10u 2 50u 0)", at), [0.5, 0.999, 1.9995, 1, 0], rtol=1e-12)
    np.testing.assert_allclose(wave("PWL(0 0 0 1 20u 1)", [0.0, 1e-6]), [1, 1])
    late = np.array([15e-6, 30e-6, 45e-6, 75e-6])
    np.testing.assert_allclose(wave("PULSE(0 1 10u 1u 1u 10u 30u 2)", late), [1, 0, 1, 0])
    np.testing.assert_allclose(wave("PULSE(0 1 10u 1u 1u 10u 30u)", late), [1, 0, 1, 1])
    np.testing.assert_allclose(wave("SIN(1 2 0)", [25e-6, 75e-6]), [3, -1])
    moved = 1 + np.sin(2 * np.pi * 20e3 * 3e-6 + np.pi / 2 + 5 * np.sin(2 * np.pi * 5e3 * 3e-6 + np.pi / 4))
    np.testing.assert_allclose(wave("SFFM(1 1 20k 5 5k 90 45)", [3e-6]), [moved], rtol=1e-12)
    np.testing.assert_allclose(wave("PULSE(0 5 10u 10n 10n 10u 40u) DC 2", [15e-6]), [5])


def test_waves_that_are_not_modelled_are_named():
    """By the word of the netlist."""
    with pytest.raises(dd.ModelError, match="says 'trnoise' of 'v1'"):
        dd.components.from_spice("t\nV1 a 0 TRNOISE(1 1u 0 0)\nR1 a 0 1\n.end")
    with pytest.raises(dd.ModelError, match="has a PWL whose times go back"):
        wave("PWL(10u 0 5u 1)", [0.0])
