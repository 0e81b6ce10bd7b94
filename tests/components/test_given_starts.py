"""Where runs with uic begin: charges between the voltages of .ic and zero, as in SPICE, and IC= before them."""

import numpy as np
import pytest

import daedalus as dd


def begun(text):
    m = dd.components.from_spice(f"t\n{text}\n.tran 1n 1u uic\n")
    return dd.simulate(m, 1e-9, save_at=[0.0, 1e-9])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Floating capacitors begin at what .ic says of their nodes, zero at those that it does not name.
        ("C1 a 0 1n\nC2 a b 1n\nC3 b 0 1n\nR1 a 0 1k\n.ic v(a)=3", {"a": 3.0, "b": 0.0}),
        # A node is not held: the capacitor to a source has 0 - 3 V, so its other end is at 5 + 3 V.
        ("V1 s 0 5\nR0 s a 1k\nC2 s a 1n\n.ic v(a)=3", {"a": 8.0}),
        # The same through a divider: 5 V - 3 V over 3 kΩ.
        ("V1 s 0 5\nR0 s a 1k\nC2 a b 1n\nR2 b 0 2k\n.ic v(a)=3", {"a": 13 / 3, "b": 4 / 3}),
        # IC= comes first.
        ("V1 s 0 5\nR0 s a 1k\nC2 a b 1n ic=1\nC3 b 0 1n\nR2 b 0 2k\n.ic v(a)=3", {"a": 1.0, "b": 0.0}),
        ("V1 s 0 5\nR0 s a 1k\nD1 0 a dm\n.model dm d(cjo=1p)\n.ic v(a)=3", {"a": 3.0}),
        ("V1 s 0 5\nR0 s c 1k\nR1 s b 9k\nQ1 c b 0 qm ic=0.3,4\n.model qm npn(cje=1p cjc=1p)", {"c": 4.0, "b": 0.3}),
        ("V1 s 0 -5\nR0 s c 1k\nR1 s b 9k\nQ1 c b 0 qm\n.model qm pnp(cje=1p cjc=1p)\n.ic v(b)=-0.3 v(c)=-2",
         {"c": -2.0, "b": -0.3}),
        ("V1 s 0 5\nR0 s d 1k\nR1 g 0 9k\nM1 d g 0 0 mm\n.model mm nmos(cgso=1u cgdo=1u)\n.ic v(d)=3 v(g)=2",
         {"d": 3.0, "g": 2.0}),
        ("V1 s 0 5\nR0 s d 1k\nR1 g 0 9k\nJ1 d g 0 jm\n.model jm njf(cgs=1p cgd=1p)\n.ic v(d)=3 v(g)=-2",
         {"d": 3.0, "g": -2.0}),
        # Inside of a subcircuit nodes are at zero, and its ports where they are joined.
        (".subckt s p\nR1 p c 1k\nC1 p c 1n\nC2 c 0 1n\n.ends\nX1 a s\nC0 a 0 1n\n.ic v(a)=2", {"a": 2.0}),
    ],
)  # fmt: skip
def test_charges_begin_between_the_voltages_of_their_nodes(text, expected):
    tr = begun(text)
    assert tr.success, tr.stop_reason
    for node, value in expected.items():
        assert tr[f"v_{node}"][0] == pytest.approx(value, abs=1e-9), node


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # C1 (5 - v) = C2 v.
        ("V1 s 0 5\nC1 s a 1n\nC2 a 0 9n\nR2 a 0 2k", {"a": 0.5}),
        # The same with 1 V at the start: 1n (v - 5) - 1n (1 - 0) + 9n (v - 1) = 0.
        ("V1 s 0 5\nC1 a s 1n\nC2 a 0 9n\nR2 a 0 2k\n.ic v(a)=1", {"a": 1.5}),
        # Behind an amplifier, and inside of a subcircuit: 2 v_a / 3 + 2/3 5 V.
        ("V1 s 0 5\nC1 s a 1n\nC2 a 0 9n\nE1 e 0 a 0 2\n.subckt two p q r\nC3 p q 1n\nC4 q r 2n\n.ends\nX1 e b s two\n"
         "R4 b 0 1k", {"a": 0.5, "b": 11 / 3}),
        # A junction of 9 nF at 1 V forward of nothing; by ngspice 39.
        ("V1 s 0 5\nC1 s a 1n\nD1 0 a dm\nR2 a 0 20k\n.model dm d(cjo=9n)\n.ic v(a)=1", {"a": 1.727668}),
    ],
)  # fmt: skip
def test_charges_that_sources_do_not_leave_share_what_they_hold(text, expected):
    """SPICE gets there in its first step; the smallest change of voltages put 2.5 V on the first divider."""
    tr = begun(text)
    assert tr.success, tr.stop_reason
    for node, value in expected.items():
        assert tr[f"v_{node}"][0] == pytest.approx(value, rel=2e-6), node


def test_no_junction_begins_beyond_what_it_conducts():
    """The collector junction of a pnp transistor, whose base has no .ic, would begin with 3 V forward."""
    text = "V1 s 0 5\nR0 c 0 1k\nR1 b 0 9k\nQ1 c b s qm\n.model qm pnp(cje=1p cjc=1p tf=1n tr=10n)\n.ic v(c)=3"
    tr = begun(text)
    assert tr.success, tr.stop_reason
    assert 0.6 < tr["v_c"][0] - tr["v_b"][0] < 1.0


def test_areas_stand_apart_from_starts():
    """`ic=0.3,4` is one word: its second number is no area."""
    text = "V1 s 0 5\nR0 s c 1k\nR1 s b 100k\nQ1 c b 0 qm{}\n.model qm npn(cje=1p cjc=1p)"
    first, second, third = (
        np.array(dd.simulate(dd.components.from_spice(f"t\n{text.format(own)}\n.tran 1n 1m uic\n"), 1e-3)["v_b"])[-1]
        for own in ("", " ic=0.3,4", " 5")
    )
    assert first == pytest.approx(second, rel=1e-6)
    assert abs(third - first) > 0.03


@pytest.mark.parametrize(
    ("coupling", "currents"),
    [
        # Each coil has its own; with one flux alone, all is in the first: 10 mA + 2 · 2 mA, which feeds both.
        ("0.5", (10e-3, 2e-3)),
        ("1", (14e-3 * 2e3 / (2e3 + 4 * 1e3), None)),
    ],
)
def test_coupled_coils_begin_with_their_currents(coupling, currents):
    tr = begun(f"L1 a 0 1m ic=10m\nL2 b 0 4m ic=2m\nK1 L1 L2 {coupling}\nR1 a 0 1k\nR2 b 0 2k")
    assert tr.success, tr.stop_reason
    assert tr["v_a"][0] == pytest.approx(-1e3 * currents[0], rel=1e-9)
    expected = 2 * tr["v_a"][0] if currents[1] is None else -2e3 * currents[1]
    assert tr["v_b"][0] == pytest.approx(expected, rel=1e-9)
