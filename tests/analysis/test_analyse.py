"""The report as a whole: agreement with the pencil, special points, sentences, the picture and the command line."""

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kronecker_blocks import finite_block, hidden, infinite_block, left_block, right_block
from rings import examples

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.structure import examination
from daedalus.analysis.structure.block_form import blocks_in_order
from daedalus.analysis.structure.jets.consistent_jet import consistent_jet, jet_start
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.numeric_index import JetJacobian, fullness
from daedalus.analysis.structure.signature import signature


def linear_model(E, A):
    m = dd.Model("linear")
    n = len(A)
    x = m.state("x", n)
    residual = ca.mtimes(ca.DM(E), m.der(x)) - ca.mtimes(ca.DM(A), x)
    m.equation(residual)
    return m


@given(
    st.lists(st.tuples(st.sampled_from(["infinite", "finite"]), st.integers(1, 3)), min_size=1, max_size=3),
    st.integers(0, 10**6),
)
@settings(max_examples=examples(25, 5), deadline=None)
def test_random_linear_systems_have_the_index_of_their_pencil(shapes, seed):
    """The blocks are hidden behind full matrices, so that the structure says nothing and has to be repaired."""
    rng = np.random.default_rng(seed)
    blocks = [infinite_block(k) if kind == "infinite" else finite_block(k, rng.uniform(-2, -0.5)) for kind, k in shapes]
    E, A = hidden(blocks, rng, spread=0.3)
    assume(len(E) <= 6)
    report, known = dd.analyse(linear_model(E, A)), dd.pencil(E, A)
    assert report.index == known.index == max([k for kind, k in shapes if kind == "infinite"], default=0)
    assert report.degrees_of_freedom == len(known.finite) == sum(k for kind, k in shapes if kind == "finite")
    assert report.solvable
    assert report.is_linear
    assert not report.undetermined


@pytest.mark.wide
@given(
    st.lists(st.tuples(st.sampled_from(["infinite", "finite"]), st.integers(1, 4)), min_size=1, max_size=4),
    st.one_of(st.none(), st.tuples(st.integers(0, 2), st.integers(0, 2))),
    st.integers(0, 10**6),
)
@settings(max_examples=examples(12), deadline=None)
def test_larger_and_singular_pencils_have_the_verdict_of_their_kronecker_form(shapes, singular, seed):
    """A block with an unknown too many and one with an equation too many make a square pencil singular."""
    rng = np.random.default_rng(seed)
    blocks = [infinite_block(k) if kind == "infinite" else finite_block(k, rng.uniform(-2, -0.5)) for kind, k in shapes]
    if singular is not None:
        blocks += [right_block(singular[0]), left_block(singular[1])]
    E, A = hidden(blocks, rng, spread=0.2)
    assume(len(E) <= 11)
    report, known = dd.analyse(linear_model(E, A)), dd.pencil(E, A)
    assert report.solvable == known.regular == (singular is None)
    assert report.is_linear
    if singular is None:
        assert report.index == known.index == max([k for kind, k in shapes if kind == "infinite"], default=0)
        assert report.degrees_of_freedom == len(known.finite) == sum(k for kind, k in shapes if kind == "finite")
    else:
        assert report.index is None
        assert report.undetermined
        assert report.redundant


@pytest.mark.parametrize("seed", range(4))
def test_singular_pencils_are_undetermined_and_have_a_repeated_equation(seed):
    rng = np.random.default_rng(seed)
    E, A = hidden([right_block(1), left_block(1), finite_block(1, -1.0)], rng, spread=0.2)
    report = dd.analyse(linear_model(E, A))
    assert not dd.pencil(E, A).regular
    assert report.index is None
    assert not report.solvable
    assert report.undetermined
    assert report.redundant


def index_from_blocks(s, blocks, own):
    """The index of a block-triangular system from those of its blocks.

    A block that needs ν differentiations to determine y' needs ν + k - 1 for y^(k), and with them derivatives of the
    unknowns of earlier blocks; the need is passed back from the last block to the first.
    """
    block_of_equation, block_of_unknown = np.empty(s.count, dtype=int), np.empty(s.size, dtype=int)
    for k, block in enumerate(blocks):
        block_of_equation[block.equations], block_of_unknown[block.unknowns] = k, k
    uses = [[] for _ in blocks]
    for row, column, order in zip(s.rows, s.columns, s.orders):
        if block_of_equation[row] != block_of_unknown[column]:
            uses[block_of_equation[row]].append((int(block_of_unknown[column]), int(order)))
    wanted, times = np.ones(len(blocks), dtype=int), np.zeros(len(blocks), dtype=int)
    for k in range(len(blocks) - 1, -1, -1):
        times[k] = own[k] + wanted[k] - 1
        for other, order in uses[k]:
            wanted[other] = max(wanted[other], times[k] + order)
    return int(times.max(initial=0))


def test_block_by_block_gives_the_index_of_the_whole():
    """x1 = x2', x2 = x3', x3 = u: three blocks of index 1 that make an index of 3."""
    for name, wanted in (("nilpotent_3", 3), ("cstr", 2), ("quadrotor", 0), ("small_dae", 2)):
        known = catalogue.load(name)
        system = known.model.freeze()
        array = DerivativeArray(system)
        s = signature(array.level(0), array.y[:2])
        start = jet_start(system, read_point(system, None, known.inputs, None))
        jet = consistent_jet(array, start, 3)
        jacobian = JetJacobian(array, jet, start.size, 3)
        blocks = blocks_in_order(s)
        assert index_from_blocks(s, blocks, [fullness(jacobian, b, "block").index for b in blocks]) == wanted


def test_rank_decisions_are_on_record():
    report = dd.analyse(catalogue.load("cstr").model, inputs={"feed": 0.5, "withdrawal": 0.5})
    assert report.tolerance == 1e-10
    assert report.gap > 1e6
    assert {rank.matrix for rank in report.ranks} >= {"dF/dx'", "[dF/dx' dF/dz]", "derivative array, order 2"}
    assert report.block_indices == [0, 2, 0]


KNOWN = [name for name in catalogue.names() if name not in ("rod_chain", "pleiades")]


@pytest.mark.parametrize("name", KNOWN)
def test_every_known_system_has_the_index_it_says(name):
    known = catalogue.load(name)
    report = dd.analyse(known.model, inputs=known.inputs)
    assert report.index == known.index, str(report)
    assert report.solvable
    assert report.moved == []


@pytest.mark.parametrize("seed", range(3))
def test_equations_mixed_by_a_matrix_of_the_unknowns_keep_their_index(seed):
    """Q(x) F = 0 with an invertible Q says the same; the pattern of Q F is full and says nothing."""
    rng = np.random.default_rng(seed)
    m = dd.Model("mixed pendulum")
    x, z = m.state("x", 4, start=[0.6, -0.8, 0.8, 0.6]), m.algebraic("z")
    rate = m.der(x)
    plain = ca.vertcat(rate[:2] - x[2:], rate[2:] + z * x[:2] + ca.vertcat(0, 9.81), ca.sumsqr(x[:2]) - 1)
    mixing = ca.DM(rng.normal(size=(5, 5)) / 4) * ca.sin(x[int(rng.integers(4))]) + ca.DM.eye(5)
    m.equation(ca.mtimes(mixing, plain))
    report = dd.analyse(m)
    assert report.structural_index != 3
    assert (report.index, report.degrees_of_freedom, report.solvable) == (3, 2, True)
    assert report.point["z"] == pytest.approx(1.0 + 9.81 * 0.8, rel=1e-5)


def crossing():
    m = dd.Model("crossing")
    q = m.coordinate("q", 2, start=[0, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(q[1])
    m.constraint("cross", q[0] ** 2 - q[1] ** 2)
    return m


def test_a_start_where_the_slopes_of_a_constraint_vanish_is_told_and_not_misread():
    report = dd.analyse(crossing())
    assert report.index is None
    assert not report.redundant
    assert any(w.startswith("at this point all slopes of cross vanish") for w in report.warnings)
    assert "singular at this point" in str(report)
    assert dd.analyse(crossing(), at={"q": [1, 1], "q_dot": [0, 0]}).index == 3


def test_a_cusp_is_a_special_point_and_no_redundant_constraint():
    """q2² = q1³ at the origin: points nearby converge to it, but its slopes are not zero elsewhere."""
    m = dd.Model("cusp")
    q = m.coordinate("q", 2, start=[0, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("cusp", q[1] ** 2 - q[0] ** 3)
    report = dd.analyse(m)
    assert report.index is None
    assert not report.redundant
    assert any(w.startswith("at this point all slopes of cusp vanish") for w in report.warnings)
    assert dd.analyse(m, at={"q": [1, 1], "q_dot": [2, 3]}).index == 3


def clutch():
    """Two wheels and a clutch with the slip k T: at k = 0 it is closed."""
    m = dd.Model("clutch")
    w, k, torque = m.state("w", 2, start=[1.0, 1.0]), m.input("k"), m.algebraic("T")
    m.equation(m.der(w), [torque, -torque])
    m.equation(k * torque, w[1] - w[0], name="clutch")
    return m


def test_constraints_at_a_special_input_are_written_out_while_it_stays():
    report = dd.analyse(clutch(), inputs={"k": 0.0})
    assert (report.index, report.degrees_of_freedom) == (2, 1)
    assert [text for text, _ in report.hidden_constraints] == ["clutch, differentiated once: 2*T = 0"]
    assert "hidden constraints are those of inputs that keep their values" in report.notes
    assert "a DAE of index 1 for k != 0, singular in T at k = 0" in report.warnings
    assert dd.analyse(clutch(), inputs={"k": 0.5}).index == 1


def test_a_parameter_that_is_zero_takes_what_it_multiplies_with_it():
    """A capacitor at a source through R: index 1, and index 2 without the resistor."""
    m = dd.Model("capacitor")
    v, i, u, R = m.state("v", start=1.0), m.algebraic("i"), m.input("u"), m.parameter("R", 0.0)
    m.equation(m.der(v), i)
    m.equation(u - R * i, v, name="mesh")
    report = dd.analyse(m, inputs={"u": 1.0})
    assert (report.index, report.degrees_of_freedom) == (2, 0)
    assert [text for text, _ in report.written_constraints] == ["mesh: u - v = 0"]
    assert [text for text, _ in report.hidden_constraints] == ["mesh, differentiated once: u_dot - i = 0"]
    assert report.warnings == [
        "the pattern of the equations misleads (structural index 1): at these values of the parameters mesh contains "
        "less than is written in it"
    ]
    assert dd.analyse(m, inputs={"u": 1.0}, parameters={"R": 2.0}).index == 1


def test_a_point_that_contradicts_hidden_constraints_is_named_and_replaced():
    report = dd.analyse(crossing(), at={"q": [1, 1], "q_dot": [1, -1]})
    assert report.index == 3
    assert report.moved
    assert any("q_dot[0]" in note and note.startswith("the given ") for note in report.notes)
    q, rate = report.point["q"], report.point["q_dot"]
    assert q[0] * rate[0] - q[1] * rate[1] == pytest.approx(0, abs=1e-8)


def test_inputs_without_a_value_are_not_taken_where_they_are_special():
    known = catalogue.load("small_dae", example="input_switched")
    report = dd.analyse(known.model)
    assert report.index == 0
    assert report.notes == ["u had no value; zero is special, so 1 is taken"]


def test_contradictions_are_named():
    m = dd.Model("two lengths")
    q = m.coordinate("q", 2, start=[1, 0], rate=[0, 0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.constraint("rod", ca.sumsqr(q) - 1)
    m.constraint("longer", ca.sumsqr(q) - 2)
    report = dd.analyse(m)
    assert report.overdetermined == ["rod", "longer"]
    assert not report.solvable
    assert "whose equations contradict each other" in str(report)


def test_invariants_are_listed():
    assert dd.analyse(catalogue.load("quadrotor").model).invariants == list(
        catalogue.load("quadrotor").model.freeze().invariants
    )


@pytest.mark.parametrize("size", [1.0, 1e-12])
def test_steps_of_any_size_are_not_linear(size):
    """A current of a picoampere that steps, and a newton of friction beside a spring of 1e10 N/m."""
    m = dd.Model("steps")
    x = m.state("x", start=size, nominal=size)
    m.equation(m.der(x), -size * ca.sign(x - 0.5 * size))
    assert not dd.analyse(m).is_linear
    stiff = dd.Model("stiff")
    x = stiff.state("x", start=0.0)
    stiff.equation(stiff.der(stiff.der(x)), -1e10 * x - ca.sign(stiff.der(x)))
    assert not dd.analyse(stiff).is_linear


def test_steps_are_not_linear():
    m = dd.Model("dry friction")
    v = m.state("v", start=1.0)
    m.equation(m.der(v), -ca.sign(v) - v)
    assert not dd.analyse(m).is_linear


def ladder(n):
    m = dd.Model("ladder")
    x, z = m.state("x", n, start=np.ones(n)), m.algebraic("z", n)
    m.equation(m.der(x), z - x)
    m.equation(z**2 + 0.1 * ca.sin(z), ca.vertcat(1, x[:-1]) + x**2)
    return m


@pytest.mark.wide
def test_a_large_system_is_judged_by_its_system_jacobian_at_a_consistent_point():
    n = 1500
    report = dd.analyse(ladder(n))
    assert (report.kind, report.index, report.degrees_of_freedom) == ("semi-explicit DAE", 1, n)
    assert report.directly_solvable
    assert report.solvable
    assert [rank.matrix for rank in report.ranks] == ["system Jacobian"]
    assert report.ranks[0].rank == 2 * n
    assert report.gap > 1e6
    assert report.block_indices == [1] * n
    z = report.point["z"]
    assert z**2 + 0.1 * np.sin(z) == pytest.approx(2.0, rel=1e-9)
    assert len(report.written_constraints) == n
    assert len(str(report).splitlines()) < 25


@pytest.mark.wide
def test_a_large_system_without_a_consistent_point_is_judged_by_its_structure():
    m = ladder(400)
    w = m.algebraic("w", start=1.0)
    m.equation(w**2 + 1, name="never")
    report = dd.analyse(m)
    assert (report.index, report.degrees_of_freedom) == (1, 400)
    assert "the verdict is that of the structure" in report.notes[0]
    assert "regular at values drawn at random" in report.notes[1]


@pytest.mark.parametrize("name", ["pendulum_3d", "delta_robot", "cstr", "four_bar", "slider_crank", "nilpotent_3"])
def test_ranks_and_the_system_jacobian_give_the_same_verdict(name, monkeypatch):
    """Two ways to index, freedom and solvability: singular values of derivative arrays, one sparse factorisation."""
    known = catalogue.load(name)
    by_ranks = dd.analyse(known.model, inputs=known.inputs)
    monkeypatch.setattr(examination, "SECOND_OPINION", 0)
    proved = dd.analyse(known.model, inputs=known.inputs)
    assert {rank.matrix for rank in proved.ranks} == {"system Jacobian"} != {rank.matrix for rank in by_ranks.ranks}
    for key in (
        *("kind", "index", "degrees_of_freedom", "is_dae", "directly_solvable", "solvable", "undetermined"),
        *("warnings", "block_indices", "differential", "algebraic"),
    ):
        assert getattr(proved, key) == getattr(by_ranks, key), key
    texts = [[text for text, _ in report.hidden_constraints] for report in (proved, by_ranks)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("rods", [4, 16])
def test_long_chains_have_the_verdict_of_short_ones(rods):
    report = dd.analyse(catalogue.load("rod_chain", rods=rods).model)
    assert (report.index, report.degrees_of_freedom, report.solvable) == (3, 2 * rods, True)
    assert len(report.hidden_constraints) == 4 * rods
    assert report.moved == []
    assert ("system Jacobian" in {rank.matrix for rank in report.ranks}) == (rods > 4)


def test_a_structural_index_that_is_too_high_is_lowered_by_ranks(monkeypatch):
    """G. Reissig, W. S. Martinson, P. I. Barton (2000): index 1, and a structural index as high as one likes."""
    m = dd.Model("circuit")
    x = m.state("x", 5)
    r = m.der(x)
    m.equation([r[1] + r[2] + x[0], r[1] + r[2] + x[1], r[3] + r[4] + x[2], r[3] + r[4] + x[3], x[4] - ca.sin(m.time)])
    for second_opinion in (examination.SECOND_OPINION, 0):
        monkeypatch.setattr(examination, "SECOND_OPINION", second_opinion)
        report = dd.analyse(m)
        assert (report.structural_index, report.index) == (3, 1)
        assert report.degrees_of_freedom == 2
        assert "the structure says index 3, the ranks at the point 1" in report.warnings


@pytest.mark.wide
def test_a_large_structure_that_misleads_is_told():
    n = 420
    m = dd.Model("sums")
    x = m.state("x", n)
    rate = m.der(x)
    sums, rates = x[::2] + x[1::2], rate[::2] + rate[1::2]
    m.equation(ca.vertcat(rates - 1, rates + sums))
    assert any("system Jacobian is singular" in w for w in dd.analyse(m).warnings)


def test_many_blocks_that_mislead_are_repaired_in_one_pass():
    """Example (14) five times."""
    n = 10
    m = dd.Model("five")
    x = m.state("x", n, start=np.tile([-8.0, 0.0], 5))
    rate = m.der(x)
    rates = rate[::2] + rate[1::2]
    m.equation(ca.vertcat(rates - 7, rates + x[::2] + ca.cos(x[1::2])))
    report = dd.analyse(m)
    assert (report.index, report.degrees_of_freedom) == (1, 5)
    assert len(report.hidden_constraints) == 5


def test_the_picture_shows_blocks_in_order():
    figure = dd.analyse(catalogue.load("nilpotent_3").model, inputs={"u": 1.0}).plot()
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["chain[2]", "chain[1]", "chain[0]"]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["x[2]", "x[1]", "x[0]"]
    assert len(axes.patches) == 3


def test_the_command_line_prints_the_verdict(tmp_path):
    file = tmp_path / "tank.py"
    file.write_text(
        "import daedalus as dd\n"
        "model = dd.Model('tank'); h = model.state('h', start=1.0); q = model.algebraic('q')\n"
        "model.equation(model.der(h), -q); model.equation(q, 0.5 * h)\n"
    )
    picture = tmp_path / "tank.png"
    command = [sys.executable, "-m", "daedalus.command_line", "analyse", str(file), "--plot", str(picture)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.startswith("tank: linear semi-explicit DAE of index 1\n  2 equations, 2 unknowns\n")
    assert picture.stat().st_size > 1000


def test_a_model_without_unknowns_is_refused():
    with pytest.raises(dd.ModelError, match="is empty"):
        dd.analyse(dd.Model("nothing"))
    with pytest.raises(dd.ModelError, match="A model is expected here"):
        dd.analyse(3)


@pytest.mark.parametrize("name", ["nand_gate", "transistor_amplifier", "slider_crank", "rod_chain", "nilpotent_3"])
def test_a_report_is_one_screen(name):
    lines = str(dd.analyse(catalogue.load(name).model)).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


def test_a_start_of_a_fast_circuit_that_fits_is_kept():
    """At rest the ring modulator obeys everything; its derivatives are some 1e5 times larger than its values."""
    report = dd.analyse(catalogue.load("ring_modulator", parasitic=0.0).model)
    assert (report.moved, report.index, report.notes) == ([], 2, [])
    assert abs(report.point["y"]).max() == 0


def test_a_report_answers_the_questions_of_an_exam():
    """Each answer is a sentence with its reason, and agrees with the fields."""
    told = dd.analyse(catalogue.load("pendulum_3d").model).answers
    assert told["well-posed"].startswith("yes: the equations determine every derivative")
    assert told["index"].startswith("3: ")
    assert told["index"].endswith("differentiate cable twice")
    assert told["start"] == (
        "4 start values may be chosen freely; a consistent start obeys 1 written constraint and 2 hidden ones"
    )
    assert told["solution"] == "dd.reduce(m) differentiates cable twice; radau5 also solves it as written"
    ode = dd.analyse(catalogue.load("van_der_pol").model).answers
    assert (ode["index"], ode["solution"]) == ("0, an ODE: dF/dx' has full rank", "by any method as written")
    m = dd.Model("open")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), z - x)
    assert dd.analyse(m).answers["well-posed"] == "no: nothing determines x, z"
    m.equation(z * x, 1)
    assert dd.analyse(m).answers["index"].startswith("1: dF/dx' is singular, and [dF/dx' dF/dz] is not")
