"""Circuits read from netlists agree with ngspice: side by side where it is installed, and with stored numbers."""

import numpy as np
import pytest
from tests.components.spice_circuits import CIRCUITS, POINTS, by_ngspice, with_run
from tests.components.spice_numbers import STORED

import daedalus as dd


@pytest.mark.parametrize("name", list(CIRCUITS))
def test_five_circuits_agree_with_ngspice(name, tmp_path):
    _, node, end, _ = CIRCUITS[name]
    m = dd.components.from_spice(with_run(name))
    times = np.linspace(0.0, end, POINTS)
    ours = dd.simulate(m, end, rtol=1e-8, atol=1e-11, save_at=times)[f"v_{node}"]
    stored = np.array(STORED[name])
    theirs = by_ngspice(name, tmp_path)
    for reference in (stored, theirs) if theirs is not None else (stored,):
        assert np.abs(ours - reference).max() < 1e-4 * np.abs(reference).max()


def test_the_start_is_the_operating_point():
    m = dd.components.from_spice(
        "divider\nV1 in 0 10\nR1 in out 1k\nR2 out 0 3k\nC1 out 0 1u\nL1 out b 1m\nR3 b 0 6k\n"
    )
    tr = dd.simulate(m, 1e-3)
    np.testing.assert_allclose(tr["v_out"], 10 * 2 / 3, rtol=1e-9)
    assert tr["l1.current"][0] == pytest.approx(10 * 2 / 3 / 6e3)


def test_uic_starts_from_what_is_given():
    text = "discharge\nR1 out 0 1k\nC1 out 0 1u IC=2\nC2 far 0 1u\nR2 far 0 1k\n.ic V(far)=3\n.tran 1u 1m uic\n"
    tr = dd.simulate(dd.components.from_spice(text), 1e-3)
    assert tr["v_out"][-1] == pytest.approx(2 * np.exp(-1), rel=1e-5)
    assert tr["v_far"][-1] == pytest.approx(3 * np.exp(-1), rel=1e-5)


def test_a_node_with_ic_is_held_while_the_operating_point_is_sought():
    text = "held\nV1 in 0 10\nR1 in a 1k\nC1 a 0 1u\nR2 a b 1k\nC2 b 0 1u\nR3 b 0 2k\n.ic V(a)=1\n.tran 1u 10m\n"
    tr = dd.simulate(dd.components.from_spice(text), 0.1)
    assert tr["v_a"][0] == pytest.approx(1.0, rel=1e-12)
    assert tr["v_b"][0] == pytest.approx(2 / 3, rel=1e-9)
    # Nothing holds it afterwards.
    assert (tr["v_a"][-1], tr["v_b"][-1]) == (pytest.approx(7.5, rel=1e-5), pytest.approx(5.0, rel=1e-5))


def test_sources_and_controlled_sources():
    text = """sources
V1 a 0 PWL(0 0 1 2 2 2)
I1 0 b EXP(0 1 0.5 0.1 1.5 0.2)
R1 b 0 2
E1 e 0 a 0 3
R2 e 0 1
G1 0 g a 0 0.5
R3 g 0 4
F1 0 f V1 2
R4 f 0 1
R5 a 0 1
H1 h 0 V1 5
R6 h 0 1
C1 a 0 1n
"""
    tr = dd.simulate(dd.components.from_spice(text), 2.0, save_at=[0.5, 1.0, 1.5])
    np.testing.assert_allclose(tr["v_a"], [1.0, 2.0, 2.0], rtol=1e-6)
    np.testing.assert_allclose(tr["v_e"], 3 * tr["v_a"], rtol=1e-9)
    np.testing.assert_allclose(tr["v_g"], 2 * tr["v_a"], rtol=1e-9)
    np.testing.assert_allclose(tr["v_f"], 2 * tr["v1.current"], rtol=1e-9)
    np.testing.assert_allclose(tr["v_h"], 5 * tr["v1.current"], rtol=1e-9)
    np.testing.assert_allclose(tr["v_b"][1:], [2 * (1 - np.exp(-5)), 2 * (1 - np.exp(-10))], rtol=1e-5)


def test_numbers_formulas_and_names():
    m = dd.components.from_spice("N\n.param big=2meg half={big/2}\nR1 1 0 {half*2}\nR2 1 0 4.7kOhm\nC1 1 0 10uF\n")
    assert m.variables["r1.resistance"].start == (2e6,)
    assert m.variables["r2.resistance"].start == (4700.0,)
    assert "v_n1" in m.outputs


def test_includes_stay_inside_their_folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part.cir").write_text("R1 out 0 1k\n", encoding="utf-8")
    (tmp_path / "secret.cir").write_text("R9 out 0 1k\n", encoding="utf-8")
    m = dd.components.from_spice("t\n.include part.cir\nC1 out 0 1u\n", folder=tmp_path / "in")
    assert "r1.resistance" in m.variables
    with pytest.raises(dd.ModelError, match="includes a file that is not there"):
        dd.components.from_spice("t\n.include ../secret.cir\n", folder=tmp_path / "in")
    (tmp_path / "in" / "round.cir").write_text(".include round.cir\n", encoding="utf-8")
    with pytest.raises(dd.ModelError, match="includes files that include each other"):
        dd.components.from_spice("t\n.include round.cir\n", folder=tmp_path / "in")
    (tmp_path / "in" / "link.cir").symlink_to(tmp_path / "secret.cir")
    with pytest.raises(dd.ModelError, match="includes a file that is not there"):
        dd.components.from_spice("t\n.include link.cir\n", folder=tmp_path / "in")
    with pytest.raises(dd.ModelError, match="no folder is given"):
        dd.components.from_spice("t\n.include part.cir\n")


@pytest.mark.parametrize(
    ("card", "text"),
    [
        ("Z1 a 0 5", "Line 3 of the netlist has an element that is not read.\n  Z1 a 0 5"),
        (".wavelet v(a)", "Line 3 of the netlist has a card that is not read.\n  .wavelet v(a)"),
        ("R2 a 0 five", "Line 3 of the netlist has 'five' where a number is expected.\n  R2 a 0 five"),
        ("D1 a 0 none", "Line 3 of the netlist uses the model 'none'.\n  D1 a 0 none"),
        ("X1 a 0 none", "Line 3 of the netlist uses the subcircuit 'none'.\n  X1 a 0 none"),
        ("R2 a 0", "Line 3 of the netlist has an element that is not complete.\n  R2 a 0"),
        ("R2 a 0 1k tc9=1", "Line 3 of the netlist says 'tc9=1' of 'r2'.\n  R2 a 0 1k tc9=1"),
        ("G1 a 0 b", "Line 3 of the netlist has an element that is not complete."),
        (".model d1 VDMOS(vto=1)", "Line 3 of the netlist has a model of kind VDMOS."),
        ("R2 a 0 1k 2k", "Line 3 of the netlist says '2k' of 'r2'.\n  R2 a 0 1k 2k"),
        ("K1 L1 L2 0.5", "Line 3 of the netlist couples coils that are not there.\n  K1 L1 L2 0.5"),
        (".tran", "Line 3 of the netlist has a card that is not complete.\n  .tran"),
        (".tran 1 1m", "Line 3 of the netlist has impossible times.\n  .tran 1 1m"),
        (".subckt s a b\nR3 a b 1", "Line 3 of the netlist begins a .subckt that does not end.\n  .subckt s a b"),
        (".subckt s a b\n.subckt t a b\n.ends", "Line 3 of the netlist begins a .subckt that does not end."),
        ("I1 0 a PWL(0 0 1m 1 0.9m 2)", "Line 3 of the netlist has a PWL whose times go back."),
        ("I1 0 a PWL(0 0 1m)", "Line 3 of the netlist has 3 numbers in PWL."),
        ("I1 0 a SIN(0 1 1k 0 0 0 0)", "Line 3 of the netlist has 7 numbers in SIN."),
        ("I1 0 a 1 2", "Line 3 of the netlist says '2' of 'i1'."),
        (".ic v(none)=1", "Line 3 of the netlist gives V(none) a start."),
        (
            ".param a={b}",
            "Line 3 of the netlist has a formula that cannot be read: b.\n  .param a={b}\n  Because formulas",
        ),
        (
            ".param a={1/0}",
            "Line 3 of the netlist has a formula that cannot be read: 1/0.\n  .param a={1/0}\n  Because it",
        ),
        (".param a={9**9**9**9}", "Line 3 of the netlist has a formula that cannot be read: 9**9**9**9."),
        (".param a={open('x')}", "Line 3 of the netlist has a formula that cannot be read: open('x')."),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(card, text):
    with pytest.raises(dd.ModelError) as caught:
        dd.components.from_spice(f"title\nR1 a 0 1k\n{card}\n")
    assert str(caught.value).startswith(text)


def test_numbers_that_sources_leave_out_are_those_of_tran():
    """SPICE's defaults: one turn of SIN until the end, constants and a delay of one step of EXP."""
    text = "t\nV1 a 0 SIN(0 1)\nR1 a 0 1\nV2 b 0 EXP(0 1)\nR2 b 0 1\n.tran 1u 4m\n.end\n"
    tr = dd.simulate(dd.components.from_spice(text), 4e-3, save_at=[0.0, 1.5e-6, 1e-3, 3e-3])
    assert tr["v_a"][2:] == pytest.approx([1.0, -1.0])
    assert tr["v_b"][1] == pytest.approx(1 - np.exp(-0.5))


def test_subcircuits_have_parameters_with_defaults():
    """A default that names another parameter follows what the element gives this; by ngspice 39 the same voltages."""
    text = "two\n.param base=1k\n.subckt half a b params: r={base} s={r}\nR1 a b {r}\nR2 b 0 {s}\n.ends\n"
    text += "V1 in 0 6\nC1 in 0 1n\nX1 in one half\nX2 in two half r=2k\nX3 in three half s=2k\n"
    tr = dd.simulate(dd.components.from_spice(text), 1e-6)
    assert [float(tr[name][-1]) for name in ("v_one", "v_two", "v_three")] == pytest.approx([3.0, 3.0, 4.0])


def test_a_circuit_without_states_runs():
    text = "inverter\nVDD d 0 5\nVG g 0 PWL(0 0 10u 5)\nRD d x 10k\nM1 x g 0 0 mn W=10u L=1u\n"
    tr = dd.simulate(dd.components.from_spice(text + ".model mn NMOS(VTO=0.7 KP=100u)\n"), 1e-5)
    assert tr["v_x"][0] == pytest.approx(5.0)
    assert tr["v_x"][-1] < 0.2


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("title\nR1 a\n.end", "Line 2 of the netlist has an element that is not complete."),
        ("", "from_spice takes the text of a netlist."),
        (3, "from_spice takes the text of a netlist."),
    ],
)
def test_what_is_no_netlist_is_refused(text, start):
    with pytest.raises(dd.ModelError) as caught:
        dd.components.from_spice(text)
    assert str(caught.value).startswith(start)


def test_sources_of_ac_keep_their_value_and_what_is_not_computed_is_told():
    text = "t\nV1 a 0 DC 2 AC 1 90 \nR1 a 0 1\nV2 b 0 AC 1 SIN(1 2 50)\nR2 b 0 1\n.meas tran x MAX v(a)\n"
    with pytest.warns(UserWarning, match=r"Line 6 of the netlist: \.meas is not computed"):
        m = dd.components.from_spice(text)
    tr = dd.simulate(m, 0.005, save_at=[0.0, 0.005])
    assert (tr["v_a"][0], tr["v_b"][1]) == (pytest.approx(2.0), pytest.approx(3.0))


def test_formulas_functions_and_switches():
    text = """mixed
.param gain=3
.func twice(x) {2*x}
V1 a 0 SIN(0 1 50)
B1 b 0 V={v(a) > 0 ? twice(v(a)) : gain}
R1 b 0 1
E1 e 0 VALUE={limit(v(a), -0.5, 0.5)}
R2 e 0 1
E2 f 0 TABLE {v(a)} = (-1, 0) (0, 0) (1, 4)
R3 f 0 1
T1 a 0 g 0 z0=50 td=1m
R4 g 0 50
"""
    tr = dd.simulate(dd.components.from_spice(text), 0.02, save_at=[0.003, 0.005, 0.015])
    wave = np.sin(2 * np.pi * 50 * tr.time)
    np.testing.assert_allclose(tr["v_b"], [2 * wave[0], 2 * wave[1], 3.0], rtol=1e-6)
    np.testing.assert_allclose(tr["v_e"], [0.5, 0.5, -0.5], rtol=1e-6)
    np.testing.assert_allclose(tr["v_f"], [4 * wave[0], 4 * wave[1], 0.0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(tr["v_g"], np.sin(2 * np.pi * 50 * (tr.time - 1e-3)), rtol=1e-5)
