"""What netlists of other programs say is read, told or refused by its word, never dropped in silence."""

import re
import warnings

import numpy as np
import pytest

import daedalus as dd
from daedalus.components.spice.netlist_text import SpiceWarning


def read(lines):
    """A model and the warnings of its netlist."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        m = dd.components.from_spice(f"t\n{lines}\n.end\n")
    return m, [str(warning.message) for warning in told if issubclass(warning.category, SpiceWarning)]


@pytest.mark.parametrize(
    ("lines", "told", "value"),
    [
        ("V1 a 0 {r}\nR1 a 0 1k\n.param r=3\n.step param r 1 5 1", "Line 5 of the netlist: .step is not computed", 3.0),
        ("V1 a 0 1\nR1 a 0 1k\n.mc 100 tran v(a)", "Line 4 of the netlist: .mc is not computed", 1.0),
        ("V1 a 0 1\nR1 a 0 1k\n.control\nrun\nprint v(a) > x\n.endc", "Line 4 of the netlist: .control begins", 1.0),
        ("V1 a 0 1\nR1 a 0 1k\n.temp -40 25 85", "the first of 3 temperatures is used", 1.0),
        ("V1 a 0 1\nR1 a 0 1k\n.options scale=1e-6 reltol=1e-4", "the option scale changes the circuit", 1.0),
        ("V1 a 0 {z}\nR1 a 0 1k\n.params x=1 z='x*2'\n.protect\n.unprotect", None, 2.0),
        ("V1 x 0 1\nR2 x 0 1\nG1 0 a x 0 table=(0,0,2,4m)\nR1 a 0 1k", None, 2.0),
    ],
)
def test_cards_of_other_programs_are_read_or_told(lines, told, value):
    """The circuit is read all the same."""
    m, warned = read(lines)
    assert (told is None and not warned) or any(told in one for one in warned)
    assert float(dd.equilibrium(m)["v_a"]) == pytest.approx(value)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("V1 x 0 1\nE1 a 0 LAPLACE {V(x)} = {1/(1+s)}\nR1 a 0 1k", "Line 3 of the netlist has a law by LAPLACE."),
        ("V1 x 0 1\nE1 a 0 x 0 Laplace=1/(1+s)\nR1 a 0 1k", "Line 3 of the netlist has a law by LAPLACE."),
        ("V1 x 0 1\nE1 a 0 FREQ {V(x)} = (1,0,0)\nR1 a 0 1k", "Line 3 of the netlist has a law by FREQ."),
        ("V1 a 0 1\nD1 a 0 d\n.model d D(Ron=.1 Vfwd=.7)", "Line 4 of the netlist has a diode of straight lines."),
        ("V1 a 0 1\nD1 a 0 d\n.model d ako:e D(n=2)", "Line 4 of the netlist continues the model 'e'."),
        ("V1 a 0 1\nR1 a 0 1\n.control\nrun", "Line 4 of the netlist begins commands that do not end."),
    ],
)
def test_what_is_not_modelled_is_refused_by_its_word(lines, text):
    """An ideal diode was read as an exponential one, and FREQ as a source without a node."""
    with pytest.raises(dd.ModelError, match=re.escape(text)):
        read(lines)


def test_a_model_continues_another():
    """ako: has what it does not say from the other card, in a subcircuit too."""
    head = "V1 a 0 1\nR1 a b 1k\nX1 b 0 s\n.model dy D(is=1e-12 n=1.2 rs=3)\n"
    whole, _ = read(head + ".subckt s p q\nD1 p q dx\n.model dx D(is=1e-12 n=1.5 rs=3)\n.ends")
    short, _ = read(head + ".subckt s p q\nD1 p q dx\n.model dx ako:dy D(n=1.5)\n.ends")
    assert float(dd.equilibrium(short)["v_b"]) == pytest.approx(float(dd.equilibrium(whole)["v_b"]), rel=1e-12)


def test_a_circuit_without_unknowns_is_read_at_its_steps():
    """A pulse on a resistor has outputs alone: reading one of a run ended in an error of NumPy."""
    m, _ = read("V1 a 0 PULSE(0 1 0 1u 1u 10u 20u)\nR1 a 0 1")
    tr = dd.simulate(m, 1e-4)
    np.testing.assert_allclose(np.asarray(tr["v_a"]), [float(tr.at(t)["v_a"]) for t in tr.time], atol=1e-9)
