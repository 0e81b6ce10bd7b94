"""Netlists that mean harm or are damaged end in words, soon; names that look alike stay apart."""

from contextlib import suppress

import numpy as np
import pytest
from tests.support.soon import within

import daedalus as dd

WELL = """mixed circuit
.param r=1k c={1/r^2}
.subckt filter in out params: k=2
R1 in out {r*k}
C1 out 0 1u ic=0.5
.ends
V1 a 0 PULSE(0 1 0 1n 1n 1 2)
V2 b 0 SIN(0 1 50)
X1 a m filter k=3
X2 m n filter
L1 n 1 1m
L2 1 0 2m
K1 L1 L2 0.5
D1 n 0 dio
.model dio D(is=1e-14 n=1.5)
E1 e 0 n 0 2
G1 0 e m 0 1m
R9 e 0 1k
F1 0 f V1 2
R8 f 0 1k
.ic V(m)=0.2
.options gmin=1e-12
.tran 1u 1m uic
.end
"""


def four_parts(caught) -> None:
    """Headline with file and line, facts, reason and remedy."""
    error = caught.value
    assert error.what.startswith("Line ")
    assert error.facts
    assert error.because
    assert error.remedy


def doubling(depth: int, times: int = 2) -> str:
    blocks = [".subckt s0 a b", "R1 a b 1k", ".ends"]
    for k in range(1, depth):
        blocks += [f".subckt s{k} a b", *(f"X{i} a b s{k - 1}" for i in range(times)), ".ends"]
    return "\n".join(["bomb", *blocks, f"X0 in 0 s{depth - 1}", "V1 in 0 1", ".end"])


@pytest.mark.parametrize(("depth", "times"), [(30, 2), (14, 3), (6, 10), (60, 2), (2000, 1), (45, 1)])
def test_subcircuits_that_multiply_are_refused_at_once(depth, times):
    with within(5.0), pytest.raises(dd.ModelError, match=r"makes the circuit too (large|deep)") as caught:
        dd.components.from_spice(doubling(depth, times))
    four_parts(caught)


def test_subcircuits_inside_each_other_are_read():
    m = dd.components.from_spice(doubling(10, 1))
    assert dd.simulate(m, 1e-3)["v_in"][-1] == pytest.approx(1.0)


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c", "d"]])
def test_subcircuits_that_contain_themselves_are_refused(names):
    text = ["loop"]
    for one, other in zip(names, [*names[1:], names[0]]):
        text += [f".subckt {one} p q", f"X1 p q {other}", ".ends"]
    with pytest.raises(dd.ModelError, match="uses the subcircuit") as caught:
        dd.components.from_spice("\n".join([*text, "X1 1 0 a", ".end"]))
    four_parts(caught)


@pytest.mark.parametrize("times", [2, 20])
def test_files_that_include_each_other_are_refused_at_once(tmp_path, times):
    for k in range(9):
        lines = [f".include f{k + 1}.cir\n" * times if k < 8 else "R{0} a b 1k\n" * 3]
        (tmp_path / f"f{k}.cir").write_text("* file\n" + "".join(lines))
    with within(10.0), pytest.raises(dd.ModelError) as caught:
        dd.components.from_spice("bomb\n.include f0.cir\n.end", folder=tmp_path)
    four_parts(caught)
    assert "cir" in caught.value.what
    (tmp_path / "self.cir").write_text("R1 a 0 1\n.include self.cir\n")
    with pytest.raises(dd.ModelError, match=r"Line 2 of self\.cir includes files that include each other"):
        dd.components.from_spice("bomb\n.include self.cir\n.end", folder=tmp_path)


@pytest.mark.parametrize("name", ["\x00", "a" * 5000, "..", "../x.cir", "/etc/passwd", "~", "."])
def test_included_names_that_no_file_has(tmp_path, name):
    with pytest.raises(dd.ModelError, match="includes a file that is not there") as caught:
        dd.components.from_spice(f"t\n.include {name}\n.end", folder=tmp_path)
    four_parts(caught)


def test_a_text_without_end_is_refused():
    with within(20.0), pytest.raises(dd.ModelError, match=r"is too much|too long"):
        dd.components.from_spice("t\n" + "R1 a b 1\n" * 100_000)


@pytest.mark.parametrize(
    "formula", ["(" * 5000 + "1" + ")" * 5000, "-" * 5000 + "1", "9**9**9**9", "1/0", "2**" * 300 + "2"]
)
def test_formulas_that_have_no_value(formula):
    with within(5.0), pytest.raises(dd.ModelError, match="formula"):
        dd.components.from_spice(f"t\nR1 a 0 {{{formula}}}\nV1 a 0 1\n.end")


@pytest.mark.parametrize("word", ["{1+", "{2*", "'1+2", "{", "'", "{1+2", "{(1)"])
def test_formulas_that_do_not_end(word):
    """The last sign of such a word was taken for its closing brace, so that {1+ was 1."""
    for line in (f"R1 a 0 {word}", f"R1 a 0 1k tc1={word}", f".param r={word}"):
        with pytest.raises(dd.ModelError, match=r"Line 2 of the netlist") as caught:
            dd.components.from_spice(f"t\n{line}\nR2 a 0 1k\nV1 a 0 1\n.end")
        four_parts(caught)


@pytest.mark.parametrize("end", [".ends", ".ends s", ".eom"])
def test_an_end_without_a_subcircuit(end):
    with pytest.raises(dd.ModelError, match=r"Line 3 of the netlist ends a \.subckt that did not begin") as caught:
        dd.components.from_spice(f"t\nR1 a 0 1k\n{end}\nV1 a 0 1\n.end")
    four_parts(caught)


@pytest.mark.parametrize(
    "pair", [("1", "n1"), ("a-b", "a_b"), ("2+", "n2_"), ("x.y", "x_y"), ("0", "n0"), ("n1_2", "1")]
)
def test_nodes_that_look_alike_stay_apart(pair):
    one, other = pair
    text = f"alike\nV1 in 0 6\nR1 in {one} 1k\nR2 {one} {other} 1k\nR3 {other} 0 1k\nR4 n1 0 1meg\n.end"
    m = dd.components.from_spice(text)
    tr = dd.simulate(m, 1e-3)
    values = sorted(round(float(tr[name][-1]), 2) for name in m.freeze().outputs if name != "v_in")
    drops = 2 if one == "0" else 3  # a divider of what is left between the source and the ground
    assert len(set(values)) >= (2 if one == "0" else 3), values
    assert 6.0 - 6.0 / drops == pytest.approx(max(values), abs=0.1) or one == "0"


def test_elements_and_ports_may_have_the_names_of_nodes():
    text = "names\n.subckt s r1 c1\nR1 r1 c1 1k\nC1 c1 0 1u\n.ends\n"
    text += "V_out out 0 2\nX1 out b s\nR-1 b 0 1k\nR_1 b 0 1k\n.end"
    m = dd.components.from_spice(text)
    tr = dd.simulate(m, 0.1)
    assert float(tr["v_b"][-1]) == pytest.approx(2 / 3, rel=1e-4)
    with pytest.raises(dd.ModelError, match="Line 3 of the netlist has a second 'r1'"):
        dd.components.from_spice("t\nR1 a 0 1\nR1 a 0 2\n.end")
    with pytest.raises(dd.ModelError, match="names a node twice"):
        dd.components.from_spice("t\n.subckt s a a\nR1 a 0 1\n.ends\nX1 b c s\n.end")


def test_grounds_are_one():
    m = dd.components.from_spice("t\nV1 a gnd 2\nR1 a b 1k\nR2 b 0 1k\nC1 b GND 1u\n.end")
    assert float(dd.simulate(m, 0.1)["v_b"][-1]) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_netlists_end_in_words(seed):
    """Characters, words and lines lost, doubled, exchanged or wrong: a model, or an error that says what is wrong."""
    random = np.random.default_rng(seed)
    lines = WELL.splitlines()
    for _ in range(random.integers(1, 4)):
        k, kind = int(random.integers(1, len(lines))), random.integers(0, 6)
        words = lines[k].split() or ["x"]
        w = int(random.integers(0, len(words)))
        if kind == 0:
            lines.pop(k)
        elif kind == 1:
            words.pop(w)
        elif kind == 2:
            words[w] = str(
                random.choice(["", "{", "}", "=", "(", "é", "\x00", "1e999", "-1", "nan", "'", "x1", ".", "+"])
            )
        elif kind == 3:
            other = lines[int(random.integers(0, len(lines)))].split() or ["y"]
            words[w] = str(random.choice(other))
        elif kind == 4:
            lines.insert(k, lines[int(random.integers(0, len(lines)))])
        else:
            text = list(lines[k] or "z")
            text[int(random.integers(0, len(text)))] = chr(int(random.integers(1, 300)))
            words = ["".join(text)]
        if kind in (1, 2, 3, 5):
            lines[min(k, len(lines) - 1)] = " ".join(words)
    with within(20.0), suppress(dd.DaedalusError):
        dd.components.from_spice("\n".join(lines))


def test_long_formulas_are_cut_in_errors():
    inside = "(" * 5000 + "nothing" + ")" * 5000
    with pytest.raises(dd.ModelError, match="has a formula that cannot be read") as refused:
        dd.components.from_spice(f"deep\nr1 1 0 {{{inside}}}\nv1 1 0 1\n.end")
    assert len(str(refused.value)) < 1000
