"""What cards of a netlist mean, each by a value that a textbook gives."""

import math

import numpy as np
import pytest

import daedalus as dd

DIVIDER = "V1 a 0 4\nRB b 0 1k\n"


@pytest.mark.parametrize(
    ("cards", "expected"),
    [
        ("R1 a b 2k m=2", 2.0),
        ("R1 a b 1k tc=0.01,1e-3\n.temp 37", 4 / 2.2),
        ("R1 a b 1k tc1=0.01 tc2=1e-3\n.temp 37", 4 / 2.2),
        ("R1 a b rm 1k\n.model rm R(tc1=0.02)\n.temp 77", 4 / 3),
        ("R1 a b 1k rm\n.model rm R(tc1=0.02)\n.temp 77", 4 / 3),
        ("R1 a b rs L=30u W=10u\n.model rs R(rsh=1k)", 1.0),
        ("R1 a b R='1k*(1+v(b))'", math.sqrt(5) - 1),
        ("R1 a b 1k // a comment", 2.0),
        ("E1 b 0 vol='v(a)/2'\nR1 a b 1", 2.0),
        ("G1 0 b cur='v(a)*1m'\nR1 a 0 1", 4.0),
        ("R1 a b '1k*(1+v(b))'", math.sqrt(5) - 1),
        ("R1 a b {1==1 ? 1k : 2k}", 2.0),
        ("R1 a b 0k5", 8 / 3),
        ("R1 a b 1k scale=3", 1.0),
        ("R1 a b 1k tce=5\n.temp 37", 4 / (1 + 1.01**50)),
        ("R1 a b r={900+temper*10}\n.temp 10", 2.0),
        ("R1 a b rt\n.model rt r r='2k+100*temper'\n.temp 10", 1.0),
        ("R1 a b rr\n.param rr=1k/half half=0.5", 4 / 3),
        ("R1 a b 1k ac=5k noisy=0", 2.0),
        (".param fast=2\n.if (fast == 1)\nR1 a b 1\n.elseif (fast==2)\nR1 a b 3k\n.else\nR1 a b 1k\n.endif", 1.0),
        (".func pick(x,p,n) {x<p?p:n}\nR1 a b {pick(1,1k,3k)}", 2.0),
        ("R1 a c 1k\nR2 c b 0.001\nB1 d 0 V  =  v(a)!=3 ? 1 : 0\nE1 f 0 value={~(v(d)<2)|0}\nRF f 0 1", 2.0),
        (
            "R1 a 0 1\nXs a s sub\nB1 b 0 v=v(xs.m)+i(xs.vm)*1k\n.subckt sub p q\nVm p m 0\nR1 m q 1k\nRq q 0 1k\n"
            "Rm m 0 4k\n.ends",
            7.0,
        ),
        ("R1 a b 1k\nC1 b 0 q='1u*v(b)**2'\nC2 b 0 c='1u*(1+v(b))'\nB2 b 0 i=1m*ddt(v(b)) tc1=0 m=1", 2.0),
        ("R1 a b 1k\n.opt abstol=1p\n.csparam x=3", 2.0),
        (".subckt sw in out c\nS1 in out c 0 sm\n.ends\nX1 a b a sw\n.model sm sw(vt=1 ron=1k roff=1g)", 2.0),
        (".subckt o x y\n.subckt i p q\nR1 p q 3k\n.ends i\nX1 x y i\n.ends o\nX1 a b o", 1.0),
    ],
)
def test_values_at_rest(cards, expected):
    found = dd.components.run_spice(f"title\n{DIVIDER}{cards}\n.op\n")
    assert found.op["v_b"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "source", ["dc=4 ac=1", "DC = 4", "sine(4 1 1k)", "4 distof1 1 0", "SIN 4 1 1k 0 0 DISTOF1 0 DISTOF2 0"]
)
def test_words_of_a_source(source):
    found = dd.components.run_spice(f"title\nV1 a 0 {source}\nR1 a b 1k\nR2 b 0 1k\n.op\n")
    assert found.op["v_b"] == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("card", [".pz 1 0 2 0 vol pz", ".sens v(b)", ".pss 1k 1m 1 64", ".disto dec 1 1 10"])
def test_analyses_of_other_programs_are_told(card):
    with pytest.warns(UserWarning, match="is not computed"):
        dd.components.from_spice(f"title\n{DIVIDER}R1 a b 1k\n{card}\n")


def test_charges_by_formulas_carry_what_their_formulas_say():
    """A current source into q = C₀ v²: v = √(i t / C₀). Into C = C₀ v the charge is C₀ v² / 2."""
    text = """charges
I1 0 a 1m
C1 a 0 q='1u*v(a)**2'
I2 0 b 1m
C2 b 0 c='1u*v(b)'
.ic v(a)=1 v(b)=1
.tran 1u 3m uic
"""
    tr = dd.simulate(dd.components.from_spice(text), 3e-3, rtol=1e-8)
    assert tr.success
    assert tr["v_a"][-1] == pytest.approx(math.sqrt(1 + 3.0), rel=1e-6)
    assert tr["v_b"][-1] == pytest.approx(math.sqrt(1 + 2 * 3.0), rel=1e-6)


def test_formulas_of_models_follow_a_sweep_of_the_temperature():
    text = "t\nV1 a 0 1\nR1 a b rm\nR2 b 0 1k\n.model rm r r='1k+10*temper'\n.dc temp 0 100 50\n"
    found = dd.components.run_spice(text).dc["v_b"].values
    assert found == pytest.approx([1 / 2, 1 / 2.5, 1 / 3], rel=1e-6)


def test_capacitors_by_models_and_side_by_side():
    """τ = R C in both; the side walls of the model have their own density."""
    text = """charging
V1 a 0 1
R1 a b 1k
C1 b 0 cm L=100u W=50u
.model cm C(cj=1e-3 cjsw=1e-9)
R2 a c 1k
C2 c 0 1p m=5.3
.ic v(b)=0 v(c)=0
.tran 1p 1n
"""
    m = dd.components.from_spice(text)
    tr = dd.simulate(m, 1e-9, rtol=1e-8)
    for node, size in (("b", 1e-3 * 5e-9 + 2 * 1e-9 * 150e-6), ("c", 5.3e-12)):
        assert tr[f"v_{node}"][-1] == pytest.approx(1 - math.exp(-1e-9 / (1e3 * size)), rel=1e-6)


def test_a_switch_by_its_levels_goes_on_and_off_at_them():
    text = """levels
V1 a 0 PWL(0 0 1 4 2 0)
V2 s 0 1
S1 s b a 0 sm
RB b 0 1k
.model sm VSWITCH(von=3 voff=1 ron=1k roff=1e9)
.tran 1m 2
"""
    tr = dd.simulate(dd.components.from_spice(text), 2.0, save_at=[0.7, 0.8, 1.2, 1.7, 1.8])
    np.testing.assert_allclose(tr["v_b"], [0.0, 0.5, 0.5, 0.5, 0.0], atol=1e-5)


def test_waves_that_repeat_and_modulate():
    text = "waves\nV1 a 0 PWL(0 0 1m 2 2m 0) r=0 td=1m\nV2 b 0 AM(2 1 100 1k)\nR1 a 0 1\nR2 b 0 1\n.tran 1u 8m\n"
    times = np.array([0.5e-3, 1.5e-3, 2.5e-3, 4.25e-3, 7.5e-3])
    tr = dd.simulate(dd.components.from_spice(text), 8e-3, save_at=times)
    np.testing.assert_allclose(tr["v_a"], [0.0, 1.0, 1.0, 1.5, 1.0], atol=1e-9)
    expected = 2 * (1 + np.sin(200 * np.pi * times)) * np.sin(2000 * np.pi * times)
    np.testing.assert_allclose(tr["v_b"], expected, atol=1e-9)


FORWARD = """forward converter
V1 in 0 48
Lp in sw 1m
Lr 0 r 1m
Ls s 0 250u
K1 Lp Lr 1
K2 Lp Ls 1
K3 Lr Ls 1
S1 sw 0 g 0 smod
VG g 0 PULSE(0 5 0 50n 50n 4u 10u)
DR r in dm
D1 s x dm
D2 0 x dm
L1 x out 100u
C1 out 0 100u
R1 out 0 2
.model dm D(IS=1e-12 N=1.1 RS=10m)
.model smod SW(VT=2.5 VH=0.5 RON=50m ROFF=1meg)
.tran 0.1u 30u
"""


def test_coils_without_leakage_transform_ideally():
    """k = 1: voltages as the roots of inductances; the magnetising current is that of the first coil."""
    text = "ideal\nV1 p 0 SIN(0 1 1k)\nL1 p 0 1m\nL2 s 0 4m\nK1 L1 L2 1\nR2 s 0 100\n.tran 1u 1m\n"
    tr = dd.simulate(dd.components.from_spice(text), 1e-3, rtol=1e-8)
    np.testing.assert_allclose(tr["v_s"], 2 * np.array(tr["v_p"]), atol=1e-9)


def test_a_winding_that_takes_the_flux_back_needs_no_leakage():
    """A forward converter whose coils share one flux: where the switch opens, its current jumps to the third coil."""
    tr = dd.simulate(dd.components.from_spice(FORWARD), 3e-5, rtol=1e-6)
    assert tr.success
    # The flux that 4.05 us of 48 V leave goes back in as long, with nothing but the drop of a diode lost.
    assert tr.at(6e-6)["v_sw"] == pytest.approx(2 * 48, rel=0.02)
    assert tr.at(9.5e-6)["v_sw"] == pytest.approx(48, rel=0.02)
    opposite = FORWARD.replace("Lr 0 r 1m", "Lr r 0 1m").replace("K1 Lp Lr 1", "K1 Lp Lr -1")
    turned = dd.simulate(dd.components.from_spice(opposite.replace("K3 Lr Ls 1", "K3 Lr Ls -1")), 3e-5, rtol=1e-6)
    assert turned["v_out"][-1] == pytest.approx(tr["v_out"][-1], rel=1e-5)


def test_transformers_of_a_shared_flux_take_no_name_of_an_element():
    coils = "".join(f"L{k} {k} 0 1m\nR{k} {k} 0 1k\n" for k in range(1, 6)) + "V1 in 0 1\nR0 in 1 1\n"
    m = dd.components.from_spice(f"two cores\n{coils}K1 L1 L2 L3 1\nK1_2 L4 L5 0.5\n.end\n")
    assert dd.analyse(m).solvable


def test_a_node_without_capacitors_is_held_until_the_run_begins():
    """.ic at b holds it at 1 V while the charge of c is found; the run then charges c through both resistors."""
    text = "held\nV1 a 0 5\nR1 a b 1k\nR2 b c 1k\nC1 c 0 1u\n.ic v(b)=1\n.tran 1u 1m\n"
    tr = dd.simulate(dd.components.from_spice(text), 1e-3, rtol=1e-8)
    assert tr["v_c"][0] == pytest.approx(1.0, rel=1e-9)
    assert tr["v_c"][-1] == pytest.approx(5 - 4 * math.exp(-0.5), rel=1e-6)


# Drain voltages by ngspice 39 (reltol 1e-6, tnom 27) of M1 x g 0 0 W=20u L=2u behind 1 kohm at 5 V, gate at 3 V.
PROCESS = {
    "vto=0.8 kp=50u gamma=0.4 phi=0.65": ("", ".temp 100", 4.03913709),
    "vto=0.8 kp=50u rsh=50": ("NRD=2 NRS=1", "", 3.85230022),
    "tox=50n uo=500 nsub=1e16 ld=0.1u tpg=1 nss=1e10": ("", "", 3.7649392),
}


@pytest.mark.parametrize("card", PROCESS)
def test_mos_transistors_by_process_and_temperature(card):
    sizes, setting, expected = PROCESS[card]
    text = (
        f"m\nVd d 0 5\nVg g 0 3\nRd d x 1k\nM1 x g 0 0 nm W=20u L=2u {sizes}\n.model nm NMOS({card})\n{setting}\n.op\n"
    )
    assert dd.components.run_spice(text).op["v_x"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("source", [1.0, 10.0, 49.0])
def test_a_line_that_is_open_at_its_end_starts_at_rest(source):
    """Its waves come back nearly whole: what they were is found from a few starts."""
    text = f"""line
V1 in 0 PWL(0 5 3n 5 3.1n 6)
R1 in a {source}
T1 a 0 b 0 z0=50 td=1n
RL b 0 1meg
C1 b 0 1p
.tran 0.1n 4n
"""
    m = dd.components.from_spice(text)
    tr = dd.simulate(m, 4e-9, method="radau5", save_at=[0.0, 1e-9, 2.9e-9, 4e-9])
    assert tr.success
    assert tr["v_b"][:3] == pytest.approx([5 * 1e6 / (1e6 + source)] * 3, rel=1e-7)
    assert tr["v_a"][3] == pytest.approx(5 + 50 / (50 + source), rel=1e-4)


@pytest.mark.parametrize("method", ["auto", "radau5", "bdf"])
def test_charge_between_capacitors_is_kept_over_many_periods(method):
    """A node that hangs on charges alone: C (v_in − v_a) is the charge of the junction, after 100 periods too."""
    text = """pumped charge
V1 in 0 SIN(5 5 1meg 0 0 -90)
C1 in a 10p
D1 0 a dj
.model dj D(is=1e-30 cjo=20p vj=0.7 m=0.5)
.options gmin=1e-25
.tran 1n 100u
"""
    times = np.linspace(0.0, 1e-4, 4001)[-40:]
    tr = dd.simulate(dd.components.from_spice(text), 1e-4, method=method, rtol=1e-6, save_at=times)
    assert tr.success
    assert tr["v_a"].min() > -1e-6, "the junction blocks: its charge is that of the depletion layer"
    layer = 20e-12 * 0.7 * 2 * (np.sqrt(1 + tr["v_a"] / 0.7) - 1)
    moved = 10e-12 * (tr["v_in"] - tr["v_a"])
    assert np.abs(moved - layer).max() < 2e-5 * layer.max()


@pytest.mark.parametrize(("words", "is_told"), [("tf=1n vaf=50", True), ("tf=1n", False), ("vaf=50 cje=1p", False),
                                                ("tf=1n vaf=50 cjc=1f", False), ("tf=1n vaf=50 tr=1n", False),
                                                ("tf=1n xtf=2 vtf=3", True), ("tf=1n xtf=2", False)])  # fmt: skip
def test_charge_that_no_state_carries_is_told(words, is_told, recwarn):
    text = f"t\nV1 c 0 5\nI1 0 b 1u\nQ1 c b 0 qm\n.model qm npn({words})\n"
    dd.components.from_spice(text)
    dd.components.electrical.Transistor("q", from_card=f".model qm npn({words})")
    told = [str(warning.message) for warning in recwarn if "is left out" in str(warning.message)]
    assert bool(told) == is_told


@pytest.mark.parametrize(
    ("cards", "told"),
    [
        (".subckt s p\nR1 p 0 1k\n.ends\n.subckt s p\nR1 p 0 2k\n.ends", "a second .subckt 's' is left out"),
        (".subckt s p\nR1 p 0 1k\n.ends\n.subckt s p\nR1 p 0 1k\n.ends", ""),
        (".subckt s p\nR1 p 0 rm\n.ends\n.model rm R(r=1k)\n.model rm R(r=2k)", "a second .model 'rm' is left out"),
    ],
)
def test_the_first_of_two_definitions_counts_and_the_second_is_told(cards, told, recwarn):
    """As in ngspice, which says "redefinition of .subckt s, ignored"; an equal one may be included twice."""
    text = f"twice\nI1 0 a 1m\nX1 a s\n{cards}\n"
    m = dd.components.from_spice(text)
    assert float(dd.equilibrium(m)["v_a"]) == pytest.approx(1.0)
    assert any(told in str(warning.message) for warning in recwarn) if told else not recwarn.list
    if told:
        with pytest.raises(dd.ModelError, match=told.split(" is ")[0].removeprefix("a ")):
            dd.components.from_spice(text, strict=True)


def current_of(part, gate=3.0, drain=5.0):
    m = dd.Model("alone")
    own, ground = m.add(part), m.add(dd.components.electrical.Ground("ground"))
    gates, drains = (
        m.add(dd.components.electrical.VoltageSource(name, voltage=voltage))
        for name, voltage in (("gate", gate), ("drain", drain))
    )
    m.connect(gates.plus, own.gate)
    m.connect(drains.plus, own.drain)
    m.connect(gates.minus, drains.minus, own.source, ground.pin)
    return -float(dd.equilibrium(m)["drain.current"])


@pytest.mark.parametrize(
    "card",
    [
        "nmos(vto=0.8 kp=50u rsh=500 w=20u l=2u)",
        "nmos(tox=50n uo=500 nsub=1e16 ld=0.1u tpg=1 nss=1e10 w=20u l=2u)",
        "nmos(tox=50n uo=500 nsub=1e16 tpg=0 rd=0 rs=0 lambda=0)",
        "nmos(vto=1 kp=50u gamma=0.5 rs=2k is=1e-14 cbd=1p w=20u l=2u)",
    ],
)
def test_a_part_from_a_mos_card_is_that_of_a_netlist(card):
    """Also where the bulk is joined to the source outside of its resistance."""
    text = f"t\nVG g 0 3\nVD d 0 5\nM1 d g 0 0 nm\n.model nm {card}\n"
    expected = -float(dd.equilibrium(dd.components.from_spice(text))["vd.current"])
    part = dd.components.electrical.Mosfet("m1", from_card=f".model nm {card}", bulk="source", conductance=0.0)
    assert expected > 1e-5
    assert current_of(part) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "card", ["npn(is=1f bf=100 isc=0 ikr=0 ptf=0 cjs=0 rb=0)", "npn(is=1f bf=100)"], ids=["zeros", "without"]
)
def test_zeros_of_cards_mean_nothing(card, recwarn):
    part = dd.components.electrical.Transistor("q1", from_card=f".model q {card}")
    assert part.values["collector_leakage"] is None
    assert part.values["base_resistance"] is None
    assert not recwarn.list


@pytest.mark.parametrize("voltage", [1.0, 12.0, 100.0])
def test_exponentials_of_behavioural_sources_have_operating_points(voltage):
    """Two formulas like junctions in series; nothing overflows on the way."""
    law = "1e-14*(exp(v({})/0.02585)-1)"
    text = f"t\nV1 in 0 {voltage}\nR1 in a 1k\nB1 a b I={law.format('a,b')}\nB2 b 0 I={law.format('b')}\nR2 b 0 10k\n"
    point = dd.equilibrium(dd.components.from_spice(text))
    a, b = float(point["v_a"]), float(point["v_b"])
    first, second = (1e-14 * np.expm1(across / 0.02585) for across in (a - b, b))
    assert (voltage - a) / 1e3 == pytest.approx(first, rel=1e-6)
    assert first == pytest.approx(second + b / 1e4, rel=1e-6)


def test_straight_lines_of_a_source_go_on_outside():
    """As pwl() of ngspice 39; a TABLE stays constant."""
    text = "t\nV1 a 0 3\nB1 b 0 V={pwl(v(a),-1,0,1,1,2,3)}\nE1 c 0 TABLE {v(a)} = (-1,0) (1,1) (2,3)\n"
    text += "R1 b 0 1k\nR2 c 0 1k\n"
    point = dd.equilibrium(dd.components.from_spice(text))
    assert (point["v_b"], point["v_c"]) == (pytest.approx(5.0), pytest.approx(3.0))
    low = dd.equilibrium(dd.components.from_spice(text.replace("V1 a 0 3", "V1 a 0 -3")))
    assert (low["v_b"], low["v_c"]) == (pytest.approx(-1.0), pytest.approx(0.0))


def test_ends_that_a_subcircuit_does_not_use_carry_nothing():
    """An end of its own, and a global node."""
    text = """t
.global vcc
VCC vcc 0 5
.subckt half in nc out
R1 in out 1k
R2 out 0 1k
.ends
X1 vcc x o half
R3 x 0 1k
"""
    point = dd.equilibrium(dd.components.from_spice(text))
    assert (point["v_o"], point["v_x"]) == (pytest.approx(2.5), pytest.approx(0.0))
