"""What a netlist asks for beside a run, against ngspice's stored numbers: .op, .dc, .ac, .tf, .noise and .meas."""

import json
import math
import re

import numpy as np
import pytest
from tests.components.analyses_by_ngspice import FOLDER, NUMBERS, netlist
from tests.components.by_ngspice import watched
from typer.testing import CliRunner

import daedalus as dd
from daedalus.command_line import app
from daedalus.components.semiconductors.device_cards import SpiceWarning

KNOWN = json.loads(NUMBERS.read_text(encoding="utf-8"))["circuits"]
# ngspice measures at its own time points: places within a step of 20 ns, values within what a step changes.
MEASURED = {"step_response": 2e-3}


def test_every_netlist_of_analyses_has_numbers():
    assert {file.stem for file in FOLDER.glob("*.cir")} == set(KNOWN)
    assert len(KNOWN) >= 10


EVERYDAY = {"common_emitter", "twin_t", "line_ac", "resistor_sweep", "step_response", "blocking_1n4148", "zener_bzx84"}
EVERYDAY |= {"parallel_mosfets", "subcircuit_formulas"}
ALL = [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.wide) for name in sorted(KNOWN)]


@pytest.mark.parametrize("name", ALL)
def test_analyses_are_those_of_ngspice(name):
    text, stored = netlist(name), KNOWN[name]
    node = f"v_{watched(text)}"
    found = dd.components.run_spice(text, rtol=1e-8)
    largest = max((abs(v) for v in stored.get("op", {}).values()), default=1.0)
    for own, value in stored.get("op", {}).items():
        if f"v_{own}" in found.shown:
            assert found.op[f"v_{own}"] == pytest.approx(value, abs=2e-6 * largest), own
    if "dc" in stored:
        theirs = np.array(stored["dc"])
        np.testing.assert_allclose(found.dc[node].values.ravel(), theirs, atol=5e-6 * np.abs(theirs).max())
    if "ac" in stored:
        theirs = np.array(stored["ac"]["real"]) + 1j * np.array(stored["ac"]["imag"])
        np.testing.assert_allclose(found.ac["frequency"], stored["ac"]["frequency"], rtol=1e-9)
        assert np.abs(found.ac[node].values - theirs).max() < 2e-5 * np.abs(theirs).max()
    if "tf" in stored:
        told = stored["tf"]
        ours = [found.tf["transfer_function"], found.tf["input_resistance"], found.tf["output_resistance"]]
        theirs = [told["transfer_function"], next(v for k, v in told.items() if k.endswith("input_impedance")),
                  next(v for k, v in told.items() if k.startswith("output_impedance"))]  # fmt: skip
        theirs = [math.inf if value == 1e20 else value for value in theirs]
        np.testing.assert_allclose(ours, theirs, rtol=2e-4)
    if "noise" in stored:
        np.testing.assert_allclose(found.noise["onoise"], stored["noise"]["onoise"], rtol=2e-4)
        np.testing.assert_allclose(found.noise["inoise"], stored["noise"]["inoise"], rtol=2e-4)
        assert found.noise.attrs["onoise_total"] == pytest.approx(stored["noise"]["onoise_total"], rel=0.02)
        np.testing.assert_allclose(found.noise["shares"].sum("element") ** 0.5, found.noise["onoise"], rtol=1e-12)
    for own, value in stored.get("measured", {}).items():
        assert found.measured[own] == pytest.approx(value, rel=MEASURED.get(name, 1e-4)), own


def test_the_command_line_makes_all_analyses(tmp_path):
    file = tmp_path / "divider.cir"
    cards = [".op", ".ac lin 2 1k 2k", ".dc v1 0 2 1", ".tf v(c) v1", ".noise v(c) v1 dec 1 1 1k", ".tran 1u 10u"]
    cards += [".meas tran top MAX v(c)", ".meas ac gain MAX vm(c)"]
    file.write_text("\n".join(["divider", "V1 a 0 DC 2 AC 1", "R1 a c 1k", "R2 c 0 3k", "C1 c 0 1p", *cards]))
    told = CliRunner().invoke(app, ["simulate", str(file), "--json", "--plot", str(tmp_path / "a.png")])
    assert told.exit_code == 0, told.output
    found = json.loads(told.output)
    assert {"op", "ac", "tf", "noise", "tran", "measured", "files"} <= set(found)
    assert found["measured"]["top"] == pytest.approx(found["op"]["v_c"], rel=1e-6)
    said = CliRunner().invoke(app, ["simulate", str(file)]).output
    assert "transfer_function = 0.75\n" in said
    assert re.search(r"gain = 0\.75\n", said + "\n") or "gain = 0.7499999" in said


def test_a_netlist_without_a_run_is_not_run(tmp_path):
    file = tmp_path / "notch.cir"
    file.write_text(netlist("twin_t"))
    found = json.loads(
        CliRunner().invoke(app, ["simulate", str(file), "--json", "--plot", str(tmp_path / "b.png")]).output
    )
    assert "tran" not in found
    assert len(found["ac"]["v_out"]) == 41
    assert CliRunner().invoke(app, ["simulate", str(file), "--out", str(tmp_path / "b.nc")]).exit_code == 0
    assert (tmp_path / "b.png").exists()
    assert (tmp_path / "b.nc").exists()


def test_every_card_of_a_kind_is_computed():
    cards = [".dc v1 0 4 2", ".dc r2 1k 3k 2k", ".ac lin 1 1 1", ".ac lin 2 1k 2k", ".tf v(b) v1", ".tf v(a) v1"]
    text = "\n".join(["divider", "V1 a 0 DC 2 AC 1", "R1 a b 1k", "R2 b 0 1k", *cards])
    found = dd.components.run_spice(text)
    first, second = (own["v_b"].values for own in found.every["dc"])
    assert first == pytest.approx([0.0, 1.0, 2.0])
    assert second == pytest.approx([1.0, 1.5])
    assert [own.sizes["frequency"] for own in found.every["ac"]] == [1, 2]
    assert [own["transfer_function"] for own in found.every["tf"]] == pytest.approx([0.5, 1.0])
    assert found.every["noise"] == []
    assert (found.dc, found.tf) == (found.every["dc"][-1], found.every["tf"][-1])
    assert re.findall(r"^(dc \d|ac \d|transfer function \d)", str(found), re.MULTILINE) == [
        "transfer function 1", "transfer function 2", "dc 1", "dc 2", "ac 1", "ac 2",
    ]  # fmt: skip
    plain = found.plain()
    assert plain["every"]["dc"][0]["v_b"] == pytest.approx([0.0, 1.0, 2.0])
    assert plain["dc"] == plain["every"]["dc"][-1]


def test_a_measure_belongs_to_the_card_of_its_analysis_before_it():
    cards = [
        ".meas dc first MAX v(b)", ".dc v1 0 4 2", ".meas dc low MAX v(b)", ".ac lin 1 1 1", ".meas ac gain AVG vm(b)",
        ".dc v1 0 8 2", ".meas dc high MAX v(b)", ".meas dc twice PARAM='2*high'", ".ac lin 2 1k 2k", ".tran 1u 1m",
        ".meas tran end FIND v(b) AT=1m",
    ]  # fmt: skip
    found = dd.components.run_spice("\n".join(["divider", "V1 a 0 DC 2 AC 1", "R1 a b 1k", "R2 b 0 1k", *cards]))
    expected = {"first": 2.0, "low": 2.0, "gain": 0.5, "high": 4.0, "twice": 8.0, "end": 1.0}
    assert found.measured == pytest.approx(expected)
    first, second = found.every["measured"]
    assert first == pytest.approx(expected | {"high": 2.0, "twice": 4.0})
    assert second == pytest.approx({"first": 4.0, "low": 4.0, "gain": 0.5, "high": 4.0, "twice": 8.0})
    assert found.plain()["every"]["measured"] == [first, second]


def test_a_second_run_is_told():
    text = "t\nV1 a 0 1\nR1 a 0 1k\n.tran 1u 1m\n.tran 1u 2m\n"
    with pytest.warns(SpiceWarning, match=r"Line 5 of the netlist: a second \.tran; the run is that of"):
        found = dd.components.run_spice(text)
    assert found.tran.stop_reason == "reached t = 0.002"
    with pytest.raises(dd.ModelError, match=r"Line 5 of the netlist has a second \.tran"):
        dd.components.run_spice(text, strict=True)


@pytest.mark.parametrize(
    ("card", "what"),
    [
        (".dc v9 0 1 0.1", "sweeps 'v9'"),
        (".dc v1 0 1 -0.1", "has a sweep that does not end"),
        (".dc v1 0 1 0", "has a sweep that does not end"),
        (".dc v1 0 1", "has a .dc that cannot be read"),
        (".ac dec 10 0 1k", "has impossible frequencies"),
        (".ac dec 10 1k", "has frequencies that cannot be read"),
        (".ac dec 10 1 1k", "has an .ac without a source"),
        (".tf v(b) v9", "asks for the source 'v9'"),
        (".tf v(nowhere) v1", "asks for v(nowhere)"),
        (".noise v(b) v1 dec 10", "has a .noise that cannot be read"),
        (".four 1k v(b)", "has a .four without a run"),
        (".meas tran x MAX v(b)", "measures an analysis that is not asked for"),
        (".meas tran x", "has a .meas that cannot be read"),
        (".op\n.meas dc x PARAM='y+1'", "has a formula with 'y'"),
        (".dc v1 0 1 0.5\n.meas dc x LARGEST v(b)", "has a .meas that cannot be read"),
        (".dc v1 0 1 0.5\n.meas dc x MAX v(zz)", "asks for v(zz)"),
        (".dc v1 0 1 0.5\n.meas dc x MAX foo(v(b))", "has a formula with 'foo'"),
    ],
)
def test_analyses_that_cannot_be_made_are_refused_with_their_line(card, what):
    text = f"title\nV1 a 0 1\nR1 a b 1k\nR2 b 0 1k\n{card}\n"
    with pytest.raises(dd.ModelError) as caught:
        dd.components.run_spice(text)
    assert re.match(r"Line \d+ of the netlist ", str(caught.value))
    assert what in str(caught.value)


def test_a_source_has_its_own_value_at_rest_and_another_over_time():
    text = "t\nV1 a 0 DC 3 SIN(1 1 50)\nV2 c 0 SIN(2 1 50)\nR1 a 0 1k\nR2 c 0 1k\n.op\n.tran 1m 5m\n"
    found = dd.components.run_spice(text)
    assert (found.op["v_a"], found.op["v_c"]) == (pytest.approx(3.0), pytest.approx(2.0))
    assert found.tran["v_a"][-1] == pytest.approx(2.0)


def test_measures_of_a_sine_are_those_of_the_textbook():
    """A resistor has no steps of its own: points follow .tran."""
    text = """sine
V1 a 0 SIN(1 2 50)
R1 a 0 1k
.tran 0.1m 40m
.four 50 v(a) i(r1)
.meas tran mean AVG v(a)
.meas tran eff RMS v(a)
.meas tran top MAX v(a)
.meas tran top_at MAX_AT v(a) FROM=10m
.meas tran slope DERIV v(a) AT=20m
.meas tran never WHEN v(a)=4
.meas tran period TRIG v(a) VAL=1.5 RISE=1 TARG v(a) VAL=1.5 RISE=2
.meas tran charge INTEG i(r1) FROM=0 TO=20m
.meas tran twice PARAM='2*mean'
"""
    found = dd.components.run_spice(text)
    assert found.measured["mean"] == pytest.approx(1.0, rel=1e-6)
    assert found.measured["eff"] == pytest.approx(3**0.5, rel=1e-6)
    assert found.measured["top"] == pytest.approx(3.0, rel=1e-9)
    assert found.measured["top_at"] == pytest.approx(0.025, rel=1e-4)
    assert found.measured["slope"] == pytest.approx(200 * np.pi, rel=1e-3)
    assert math.isnan(found.measured["never"])
    assert found.measured["period"] == pytest.approx(0.02, rel=1e-6)
    assert found.measured["charge"] == pytest.approx(2e-5, rel=1e-6)
    assert found.measured["twice"] == pytest.approx(2.0, rel=1e-6)
    np.testing.assert_allclose(found.four["v(a)"]["amplitude"][:3], [1.0, 2.0, 0.0], atol=1e-6)
    assert found.four["v(a)"]["phase"][1] == pytest.approx(0.0, abs=1e-4)
    assert found.four["i(r1)"]["distortion"] < 1e-6


def test_the_thermal_noise_of_a_resistor_and_a_capacitor_is_k_t_over_c():
    text = "kT/C\nV1 in 0 DC 0\nR1 in out 1k\nC1 out 0 1p\n.temp 27\n.noise v(out) v1 dec 20 1 1e13\n"
    found = dd.components.run_spice(text)
    assert found.noise.attrs["onoise_total"] == pytest.approx((1.380649e-23 * 300.15 / 1e-12) ** 0.5, rel=1e-3)


def test_sources_and_lines_inside_subcircuits_answer_small_signals():
    """A matched line turns the phase by ωτ and halves the amplitude; the source lies in a subcircuit."""
    text = """deep
.subckt feed out
V1 in 0 AC 2
R1 in out 50
.ends
.subckt wire a b
T1 a 0 b 0 z0=50 td=1n
.ends
X1 a feed
X2 a b wire
R2 b 0 50
.ac lin 3 100meg 300meg
"""
    found = dd.components.run_spice(text)
    frequency = found.ac["frequency"].values
    np.testing.assert_allclose(found.ac["v_b"].values, np.exp(-2j * np.pi * frequency * 1e-9), atol=1e-9)


def test_measures_of_nested_sweeps_look_at_every_curve():
    """v(b) = a · r / (1k + r): the largest lies on the last curve, the first crossing on the first that has one."""
    text = """nested
V1 a 0 1
R1 a b 1k
R2 b 0 {r}
V2 c 0 1
B1 d 0 V={v(b)*v(c)}
.param r=3k
.dc V1 0 4 1 V2 1 3 1
.meas dc top MAX v(d)
.meas dc low MIN v(d) FROM=1
.meas dc span PP v(d)
.meas dc mean AVG v(d)
.meas dc first WHEN v(d)=4.5
.meas dc never WHEN v(d)=20
"""
    found = dd.components.run_spice(text).measured
    assert found["top"] == pytest.approx(9.0)
    assert found["low"] == pytest.approx(0.75)
    assert found["span"] == pytest.approx(9.0)
    assert found["mean"] == pytest.approx(0.75 * 2 * 2)
    assert found["first"] == pytest.approx(3.0)
    assert math.isnan(found["never"])
