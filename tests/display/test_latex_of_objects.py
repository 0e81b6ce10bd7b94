"""LaTeX of everything that has formulas: exact, whole, and compiled where a TeX engine is installed."""

import re
import shutil
import subprocess

import casadi as ca
import pytest
from tests.support import lecture_models as lectures

import daedalus as dd
from daedalus import catalogue
from daedalus.display.formulas.fitted_rows import PAGE
from daedalus.display.formulas.latex_width import latex_width
from daedalus.display.formulas.styles import Latex

# Widths in points that pdfTeX 3.14 sets these at: 10 pt, displaystyle, amsmath.
MEASURED = {
    r"x + y": 23.199,
    r"l_{1} \, \mathrm{loop}_{1} \, \cos\left(\phi_{0}\right)": 68.845,
    r"\frac{a + b}{c} + \sqrt{x}": 50.470,
    r"\begin{bmatrix} 0 & 0 & 1 \\ 12.5 & 0 & x_{0} \end{bmatrix}": 63.535,
    r"\frac{\mathrm{d}}{\mathrm{d}t} \mathrm{angle} = - \omega_{0}^{2} \, \sin^{2}\left(\mathrm{angle}\right)": 118.844,
}


def problem():
    m = dd.Model("cart")
    x, v = m.state("x", start=0.0), m.state("v", start=0.0)
    u = m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, duration=dd.unknown(1.0, 0.1, 5.0), intervals=10)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    ocp.minimise(running=u**2, final=x**2)
    ocp.bound(u, -10, 10)
    ocp.subject_to(v <= 2, name="speed")
    return ocp


def wide():
    """A linear system with more columns than amsmath's matrices take."""
    m = dd.Model("chain")
    x = m.state("x", 12, start=0.0)
    m.equation(m.der(x), -x)
    return dd.linearise(m)


def texts():
    """Everything with a `to_latex`, by name."""
    pendulum, circuit = lectures.pendulum_3d(), lectures.series_rlc()
    lin = dd.linearise(lectures.cart_pendulum())
    found = {
        "model": pendulum, "parts": circuit, "system": pendulum.freeze(), "report": dd.analyse(pendulum),
        "reduction": dd.reduce(pendulum).reduction, "start": dd.initialise(pendulum), "tableau": dd.radau_iia(3),
        "explicit": dd.tableau("rk4"), "multistep": dd.adams_moulton(3), "descriptor": lin,
        "lti": lin.to_state_space(), "stability": dd.gauss_legendre(3).stability_function,
        "condition": dd.tableau("rk4").order_conditions(4)[2], "problem": problem(), "wide": wide(),
    }  # fmt: skip
    return {name: thing.to_latex() for name, thing in found.items()}


@pytest.fixture(scope="module")
def written():
    return texts()


def balanced(text):
    depth = 0
    for letter in re.sub(r"\\[{}]", "", text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    return depth == 0


def test_braces_and_environments_close(written):
    for name, text in written.items():
        assert balanced(text), name
        assert sorted(re.findall(r"\\begin\{(\w+\*?)\}", text)) == sorted(re.findall(r"\\end\{(\w+\*?)\}", text)), name
        assert text.count("\\left") == text.count("\\right"), name


def test_tableaux_of_roots_have_no_decimals(written):
    assert not re.search(r"\d\.\d", written["tableau"])
    assert "\\frac{37}{225} - \\frac{169 \\sqrt{6}}{1800}" in written["tableau"]


@pytest.mark.parametrize("name", ["dop853", "fehlberg", "rk4", "radau5"])
def test_tableaux_and_stability_functions_fit_a_page(name):
    t = dd.tableau(name)
    for text in (t.to_latex(), t.stability_function.to_latex()):
        pieces = re.findall(r"\\begin\{array\}.*?\\end\{array\}", text, re.S) or text.split("\\\\")
        assert all(latex_width(piece) <= PAGE for piece in pieces)
        assert balanced(text)
    whole = t.to_latex()
    assert whole.count("\\hline") == len(re.findall(r"\\begin\{array\}", whole))
    assert ("columns 1 to" in whole) == (name == "dop853")


def test_connections_of_parts_are_in_the_model(written):
    rows = written["parts"].split("\\\\\n")
    assert sum("voltage" in row and "&=" in row for row in rows) >= 5
    assert any(row.rstrip().endswith("&= 0") for row in rows)


def test_wide_matrices_are_arrays(written):
    assert "\\begin{array}{cccccccccccc}" in written["wide"]


def test_matrices_that_would_leave_the_page_are_set_small():
    """Numbers of five digits in twelve columns; width measured by pdfTeX 3.14 at 10 pt: 397 pt for the small one."""
    entries = [[f"-{k + 1}.2345" for k in range(12)] for _ in range(3)]
    text = Latex().matrix(entries)
    assert text.startswith("\\left[\\begin{smallmatrix}")
    assert latex_width(text) <= PAGE
    assert Latex().matrix([row[:4] for row in entries]).startswith("\\begin{bmatrix}")


def test_systems_wider_than_a_page_are_written_in_letters_with_their_matrices_below():
    m = dd.Model("chain")
    x, u = m.state("x", 40, start=0.0), m.input("u")
    m.equation(m.der(x), -x + u)
    text = dd.linearise(m).to_latex()
    assert "E \\dot{x} &= A x + B u" in text
    assert "A &= \\left[\\text{40} \\times \\text{40 matrix with 40 nonzero entries}\\right]" in text
    assert max(latex_width(row) for row in text.split("\\\\\n")) <= PAGE
    assert "x_{0}," in text
    assert "x_{39}" in text


def crowd():
    """Equations whose sums are wider than any page."""
    m = dd.Model("crowd")
    x = m.state("x", 5, start=0.0)
    every = sum((k + 1) * ca.sin(x[k] - x[j]) for k in range(5) for j in range(5) if j != k)
    m.equation(m.der(x), -x * every)
    m.equation(m.algebraic("z"), (x[0] + ca.cos(every)) / (1 + every**2))
    return m


@pytest.fixture(scope="module")
def derived_crowd():
    return dd.derive(crowd())


@pytest.mark.parametrize("of", ["model", "system", "derivation", "markdown"])
def test_no_row_is_wider_than_a_page(of, derived_crowd):
    m = crowd()
    text = {
        "model": m.to_latex, "system": m.freeze().to_latex, "derivation": derived_crowd.to_latex,
        "markdown": derived_crowd.to_markdown,
    }[of]()  # fmt: skip
    rows = re.split(r"\\\\\s|\n", text)
    widths = [latex_width(row) for row in rows if "=" in row or "quad" in row]
    assert len(widths) > 10
    assert max(widths) <= 1.15 * PAGE


def test_widths_of_formulas_are_near_those_that_tex_sets():
    for text, width in MEASURED.items():
        assert latex_width(text) == pytest.approx(width, rel=0.2)


def test_stability_functions_are_rational_functions_of_z(written):
    above = "1 + \\frac{1}{2} z + \\frac{1}{10} z^{2} + \\frac{1}{120} z^{3}"
    assert above in written["stability"]


def test_the_problem_is_written_as_in_a_paper(written):
    text = written["problem"]
    assert "\\min_{u, T}" in text
    assert "\\text{s.t.}" in text
    assert "-10 \\leq u \\leq 10" in text


def test_a_cart_pendulum_has_one_line_for_each_coordinate():
    text = lectures.cart_pendulum().to_latex()
    assert "\\dot{x}" not in text.replace("\\ddot{x}", "")
    assert text.count("&=") == 2


@pytest.mark.parametrize("part", ["lagrange", "reduce", "first_order", "linearise", "start"])
def test_derivations_are_written_in_all_styles(part):
    d = dd.derive(lectures.pendulum_3d(), part)
    latex, page, markdown = d.to_latex(), d.to_html(), d.to_markdown()
    assert balanced(latex)
    assert latex.count("\\begin{align*}") == latex.count("\\end{align*}") > 0
    assert page.count("<math") == page.count("</math>") > 0
    assert markdown.count("$$") % 2 == 0
    assert str(d).startswith("3D pendulum")


def test_a_derivation_compiles(tmp_path):
    engine = next((name for name in ("tectonic", "pdflatex", "xelatex", "lualatex") if shutil.which(name)), None)
    if engine is None:
        pytest.skip("no TeX engine is installed")
    texts_ = "\n".join(f"\\[{text}\\]" for text in texts().values())
    whole = dd.derive(lectures.pendulum_3d()).to_latex(document=True)
    (tmp_path / "d.tex").write_text(whole.replace("\\end{document}", texts_ + "\\end{document}"), encoding="utf-8")
    options = [] if engine == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([engine, *options, "d.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:]


def test_roots_are_not_taken_out_of_squares():
    m = dd.Model("distance")
    x, y = m.state("x", start=1.0), m.state("y", start=1.0)
    m.equation([m.der(x), m.der(y)], [ca.sqrt(x**2 * y**2), -y])
    assert "\\sqrt" in m.to_latex()


def rows_of(latex):
    """The equations of an aligned block, without what aligns and breaks them; matrices are left to a TeX engine."""
    body = re.sub(r"\\(begin|end)\{aligned\}", "", latex).replace("\\\\\n&\\quad ", "")
    return [row.replace("&", " ").strip() for row in body.split("\\\\\n")]


def test_every_row_is_set_by_a_typesetter_that_knows_no_tex(written):
    """matplotlib's own parser of formulas refuses what is not well formed."""
    from matplotlib.mathtext import MathTextParser

    parser, count = MathTextParser("path"), 0
    for latex in written.values():
        if re.search(r"\\begin\{(?!aligned)", latex):
            continue
        for row in rows_of(latex):
            parser.parse(f"${row}$" if row else "")
            count += 1
    assert count > 20


def test_no_row_says_that_something_is_itself():
    for model in (catalogue.load("cart_pendulum").model, catalogue.load("pendulum_3d").model):
        for row in rows_of(model.freeze().to_latex()):
            left, right = (re.sub(r"\s", "", side) for side in row.split("="))
            assert left != right


def block_width(latex):
    """The width of an aligned block: its widest left and its widest right column."""
    rows = re.sub(r"\\(begin|end)\{aligned\}", "", latex).split("\\\\\n")
    sides = [row.split("&", 1) if "&" in row else [row, ""] for row in rows]
    return sum(max(latex_width(text) for text in column) for column in zip(*sides))


def rooted():
    """A long root, a function of a long sum and a square of a long product: none has a term to be broken between."""
    m = dd.Model("rooted")
    x = m.state("displacement", 9, start=[1.0] * 9)
    total = ca.sum1(x[:8] * x[1:] ** 2) ** 2 + 1
    m.equation(m.der(x)[:8], -x[:8])
    m.equation(m.der(x)[8], ca.cos(total * ca.exp(total)) ** 2 / ca.sqrt(total) + ca.sqrt(total * ca.sin(total)))
    return m


WIDE = {
    "roots and functions": lambda: rooted().to_latex(),
    "a report with short and long constraints": lambda: dd.analyse(catalogue.load("pendulum_3d").model).to_latex(),
    "a report on a mechanism": lambda: dd.analyse(catalogue.load("slider_crank").model).to_latex(),
    "a problem with four inputs": lambda: catalogue.load("quadrotor").problem.to_latex(),
    "a problem of a mechanism": lambda: catalogue.load("delta_robot").problem.to_latex(),
}


@pytest.mark.parametrize("name", WIDE)
def test_blocks_keep_to_the_page(name):
    assert block_width(WIDE[name]()) <= PAGE + 5


def test_inputs_of_a_problem_have_one_name_where_all_entries_are_chosen():
    assert "\\min_{\\mathrm{thrust}} \\quad" in catalogue.load("quadrotor").problem.to_latex()


def test_long_lists_of_names_are_set_loosely():
    """Names have no hyphens: a list of them would stick out of the line."""
    latex = dd.derive(lectures.pendulum_3d(), "linearise").to_latex()
    assert latex.count("\\begin{sloppypar}") == latex.count("\\end{sloppypar}") > 0


def test_nested_cases_are_written_in_rows_where_they_are_wider_than_the_page():
    m = dd.Model("steps")
    x, t = m.state("position", start=1.0), m.time
    gate = ca.if_else(ca.fmod(t, 40) < 20, x**2 + ca.sin(x), ca.if_else(ca.fmod(t, 40) < 30, ca.cos(x), ca.exp(-x)))
    m.equation(
        m.der(x), ca.if_else(gate < 2 * x + ca.cos(x), gate**2 + ca.sin(gate) * x, -gate * ca.if_else(x > gate, 1, x))
    )
    latex = m.to_latex()
    assert block_width(latex) <= PAGE + 5
    assert latex.count("\\bigl[") == latex.count("\\bigr]") > 0
    assert "\\text{ if }" in latex
    assert "\\text{, otherwise }" in latex
    short = dd.Model("short")
    y = short.state("y", start=1.0)
    short.equation(short.der(y), ca.if_else(y > 1, -y, 0))
    assert "\\begin{cases}" in short.to_latex()
