"""Write docs/methods: a page for every method with its tableau, order and stability, a picture each, and the index.

Run it after a change of the methods: python docs/make_method_pages.py (text and pictures), or with --text for the text
alone. The pages are committed; a test writes the text again and compares.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from io import BytesIO
from math import isinf
from pathlib import Path

from daedalus.integrators.methods import METHODS, Method
from daedalus.integrators.tableaux.coefficients import write_coefficient
from daedalus.integrators.tableaux.explicit_tableaux import EXPLICIT
from daedalus.integrators.tableaux.named_tableaux import ALIASES, tableau, tableau_names
from daedalus.integrators.tableaux.tableau import Tableau

FOLDER = Path(__file__).parent / "methods"
DOTS_PER_INCH, COLOURS = 60, 48

# The member of each family that its page shows, and what all members share.
FAMILIES = {
    "rk2": (
        "2/3",
        "Every explicit method of two stages and order 2: c = (0, α), b = (1 - 1/(2α), 1/(2α)), any α but 0. "
        "α = 1/2 is `midpoint`, 2/3 `ralston`, 1 `heun`. All have the same stability function.",
    ),
    "rk3": (
        "1/2",
        "Explicit methods of three stages and order 3 with c = (0, α, 1), any α but 0, 2/3 and 1. "
        "α = 1/2 is `kutta3`. All have the same stability function.",
    ),
}
# When to use a method; those without a line share that of their kind.
USES = {
    "euler": "Use it to teach and to compare. For accurate results, use a method of higher order.",
    "rk4": "Use it for a fixed step in an optimiser or a controller. To meet a tolerance, use `dopri5` or `dop853`.",
    "ssprk3": "Use it for transport equations with steep fronts: if one Euler step does not increase the total "
    "variation, neither does a step of this method.",
    "bs3": "Use it for loose tolerances (1e-2 to 1e-3) on non-stiff systems.",
    "dopri5": "Use it for non-stiff systems at moderate tolerances. SciPy's RK45 is the same method.",
    "tsit5": "Use it for non-stiff systems at moderate tolerances, or where clocks and tables keep the steps short.",
    "dop853": 'Use it for smooth non-stiff systems; `method="auto"` starts with it.',
    "implicit_euler": "Use it for a robust fixed step on stiff systems and DAEs. It damps all fast motions.",
    "trapezoidal": "Use it for undamped oscillations with a fixed step. It does not damp fast modes of stiff systems.",
    "radau3": "Use it for stiff systems and DAEs at loose tolerances.",
    "radau5": "Use it for stiff systems and DAEs up to index 3. It is a safe choice where others fail.",
    "radau9": "Use it for stiff systems and DAEs at tolerances below 1e-6.",
    "rodas4": "Use it for stiff systems of index 0 and 1 at tolerances above 1e-5.\n\n"
    "If a conserved sum becomes tiny later in the run (as in the problem E5 written as four rates), this method loses "
    "digits of it. `rodas5p` and `radau5` keep them.",
    "rodas5p": "Use it for stiff systems of index 0 and 1 with fewer than 500 unknowns at tolerances above 1e-6. It "
    "solves one linear system per stage and needs no Newton iteration.",
    "bdf": "Use it for large stiff systems at moderate tolerances: it needs few evaluations per step.\n\n"
    "The error test includes the error that algebraic variables inherit from the states. Orders 3 to 5 are not stable "
    "near the imaginary axis. If undamped oscillations limit the step, the method stays at order 2 as long as that is "
    "faster. Tolerances below the rounding errors of the equations are raised to that level.",
    "trbdf2": "Use it for stiff systems at loose tolerances; it damps fast modes.\n\n"
    "The step size follows the error of the solution that the run continues with. Each step meets a tighter tolerance "
    "than the one you set, so that the errors of all steps add up to about your tolerance. At rtol = 1e-6 it is thirty "
    "times tighter, which takes three times as many steps.",
}
KINDS = {
    "explicit, fixed": "Use it to compare methods, or with a fixed step on a non-stiff system.",
    "explicit, adaptive": "Use it for non-stiff systems at moderate tolerances; `tsit5` and `dopri5` are more common.",
    "gauss": "Use it for conservative systems over long times: it is symplectic, so energy errors stay bounded.",
    "lobatto_iiia": "Use it where the solution has to be exact at both ends of a step, as in boundary value problems.",
    "lobatto_iiic": "Use it for stiff systems with a fixed step; `radau5` also controls its step size.",
    "sdirk": "Use it for stiff systems whose Jacobian is expensive to factor: all stages share one matrix.",
    "lobatto": "Use it for mechanics written with energies, forces and constraints, or with planar bodies, with any "
    "mass matrix M(q).\n\n"
    "The constraints on positions and velocities hold to rounding at every step, without projection. If all forces "
    "come from energies, the method is symplectic: energy errors stay bounded over any number of steps, and quadratic "
    "quantities that a symmetry conserves are kept to rounding. With dampers or other forces it keeps its order but "
    "is not symplectic. The method is symmetric: a run backwards returns to its start.",
}

# Where the methods that are not in the list of explicit ones come from, by name or by the beginning of it.
SOURCES = {
    "implicit_euler": "Euler's method with the slope at the end of the step",
    "trapezoidal": "the trapezoidal rule; Crank & Nicolson 1947 in time",
    "sdirk2": "Alexander 1977, two stages",
    "sdirk3": "Alexander 1977, three stages",
    "trbdf2": "Bank et al. 1985; the second weights by Hosea & Shampine 1996",
    "gauss": "Gauss–Legendre collocation; Kuntzmann 1961, Butcher 1964",
    "radau": "Radau IIA collocation; Ehle 1969",
    "lobatto_iiia": "Lobatto IIIA collocation; Ehle 1969",
    "lobatto_iiic": "Lobatto IIIC; Chipman 1971",
}
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def names() -> list[str]:
    """Every name with a page: the methods that run, then the tableaux beside them."""
    return list(dict.fromkeys([*METHODS, *tableau_names()]))


def tableau_of(name: str) -> Tableau | None:
    """The tableau that a page shows; None for methods that have none."""
    if name in FAMILIES:
        return tableau(name, alpha=FAMILIES[name][0])
    return tableau(name) if name in tableau_names() else None


def source_of(name: str) -> str:
    """What the method is, and who published it."""
    if name in METHODS:
        return METHODS[name].title
    if name in EXPLICIT:
        return EXPLICIT[name].source
    return next((text for key, text in SOURCES.items() if name.startswith(key)), "a family of methods")


# -- one page --------------------------------------------------------------------------------------------------


def page(name: str) -> str:
    """The page of one method."""
    T, method = tableau_of(name), METHODS.get(name)
    lines = [f"# {name}", "", f"{_sentence(source_of(name))} ([all methods](index.md))"]
    also = [alias for alias, meant in ALIASES.items() if meant == name]
    if also:
        lines += ["", "Also called " + ", ".join(f"`{alias}`" for alias in also) + "."]
    if name in FAMILIES:
        lines += ["", FAMILIES[name][1] + f" Shown is α = {FAMILIES[name][0]}."]
    if method is not None:
        lines += ["", _when(method)]
    if T is not None:
        lines += ["", "```text", *map(str.rstrip, repr(T).splitlines()), "```", ""]
        lines += _facts(T)
        lines += ["", f"![Stability region and order star of {name}]({name}.png)", "", _caption()]
    lines += ["", *_use(name, T, method), ""]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _caption() -> str:
    return (
        "Left: the stability region |R(z)| ≤ 1 with z = hλ, in which numerical solutions of x' = λx do not grow. "
        "Right: the order star |R(z)| > |exp z|; the number of its fingers at 0 is the order plus one."
    )


def _facts(T: Tableau) -> list[str]:
    kind = "explicit" if T.is_explicit else "diagonally implicit" if T.is_diagonally_implicit else "implicit"
    rows = [
        ("kind", f"{kind}, {T.stages} stage{'s' * (T.stages > 1)}"),
        ("order", str(T.order)),
        ("order of the embedded solution", "-" if T.embedded_order is None else str(T.embedded_order)),
        ("stage order", str(T.stage_order)),
        ("stability function R(z)", _ratio(T)),
        ("A-stable", _yes(T.is_a_stable)),
        ("L-stable", _yes(T.is_l_stable)),
        ("stable on the real axis", _interval(T.real_stability_interval, "[-{}, 0]", "the whole negative axis")),
        ("stable on the imaginary axis", _interval(T.imaginary_stability_interval, "±{}i", "all of it")),
        ("stiffly accurate", _yes(T.is_stiffly_accurate)),
        ("symplectic", _yes(T.is_symplectic)),
        ("last stage is the first of the next step (FSAL)", _yes(T.reuses_last_stage)),
    ]
    return ["| | |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _interval(size: float, form: str, whole: str) -> str:
    if isinf(size):
        return whole
    return form.format(f"{size:.4g}") if size else "at 0 only"


def _ratio(T: Tableau) -> str:
    numerator, denominator = (_polynomial(p) for p in T.stability_coefficients)
    return numerator if denominator == "1" else f"({numerator}) / ({denominator})"


def _polynomial(coefficients: tuple[object, ...]) -> str:
    """Ascending powers of z as text."""
    text = ""
    for power, value in enumerate(coefficients):
        if abs(float(value)) < 1e-14:  # type: ignore[arg-type]
            continue
        letters = "" if power == 0 else "z" if power == 1 else "z" + str(power).translate(SUPERSCRIPTS)
        factor = _factor(abs(value), bool(letters))  # type: ignore[arg-type]
        sign = "-" if float(value) < 0 else "+"  # type: ignore[arg-type]
        term = f"{factor} {letters}".strip()
        text += f" {sign} {term}" if text else (f"-{term}" if sign == "-" else term)
    return text


def _factor(value: Fraction | float, before_letter: bool) -> str:
    # Floating tableaux have rounding errors in the last digits; six are shown.
    text = write_coefficient(value)
    if before_letter and text == "1":
        return ""
    return f"({text})" if " " in text else text


def _use(name: str, T: Tableau | None, method: Method | None) -> list[str]:
    if method is None:
        made = f'dd.tableau("{name}", alpha="{FAMILIES[name][0]}")' if name in FAMILIES else f'dd.tableau("{name}")'
        return ["```python", f"dd.simulate(m, 1.0, method={made}, step=0.01)", "```"]
    kinds = [
        ("ODE", method.ode),
        ("DAE of index 1", method.index_1),
        ("DAE of index 2", method.index_2),
        ("DAE of index 3", method.index_3),
    ]
    steps = "It chooses its step size; pass `step=` for a fixed step." if method.adaptive else "It needs a fixed step."
    if method.family == "bdf":
        steps = "It chooses its order and step size and has no fixed-step mode."
    call = f'dd.simulate(m, 1.0, method="{name}"{"" if method.adaptive else ", step=0.01"})'
    return [
        f"{steps} Its order depends on the kind of system:",
        "",
        "| system | order |",
        "|---|---|",
        *(f"| {kind} | {_orders(order)} |" for kind, order in kinds),
        "",
        *("```python", call, "```"),
    ]


def _when(method: Method) -> str:
    """When to use a method: its own words, else those of its kind."""
    kind = "explicit, " + ("adaptive" if method.adaptive else "fixed") if method.explicit else method.family
    named = next((key for key in KINDS if method.name.startswith(key)), kind)
    return USES.get(method.name) or KINDS[kind if kind == "lobatto" else named]


def _orders(short: str) -> str:
    """The orders of a method on one kind of system, in words instead of the letters of the list."""
    if short == "-":
        return "not supported"
    for ending, words in (
        (" z explicit", "{}; algebraic variables are computed at every stage"),
        (" reduced", "{}, after index reduction"),
        (" mechanics", "{}, for mechanics only"),
    ):
        if short.endswith(ending):
            return words.format(short.removesuffix(ending))
    if short.startswith("q "):
        q, v, z = short.split()[1::2]
        return f"positions {q}, velocities {v}, multipliers {z}"
    states, _, algebraic = short.partition(" z ")
    if not algebraic or states == algebraic:
        return states
    return f"states {states}, algebraic variables {algebraic}"


# -- the index -------------------------------------------------------------------------------------------------


def index() -> str:
    """The page that lists all methods."""
    lines = [
        "# Methods",
        "",
        "This page lists all integration methods. Each name links to a page with the coefficients, the orders and the "
        "stability region. [How to choose a method](../choosing_a_method.md) helps you to pick one.",
        "",
        "## Methods of `dd.simulate`",
        "",
        "`dd.methods()` and `daedalus methods` print this list. The columns ODE to index 3 contain the order on that "
        "kind of system: q stands for positions, v for velocities, z for algebraic variables and multipliers. "
        '"z explicit" means that algebraic variables are computed at every stage, and "reduced" that the index is '
        "reduced first. A dash means that the method cannot solve that kind of system.",
        "",
        "| name | order | explicit | adaptive | ODE | index 1 | index 2 | index 3 | what it is |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for m in METHODS.values():
        cells = (_link(m.name), m.order, _yes(m.explicit), _yes(m.adaptive), m.ode, m.index_1, m.index_2, m.index_3)
        lines.append(f"| {' | '.join(map(str, cells))} | {m.title} |")
    lines += [
        "",
        "## Tableaux of `dd.tableau`",
        "",
        "Pass a name, or a tableau: `dd.simulate(m, 1.0, method=dd.gauss_legendre(8), step=0.01)`. Gauss, Radau and "
        "Lobatto tableaux exist for any number of stages. The orders and the stability in this table are computed "
        "from the coefficients.",
        "",
        "| name | stages | order | stage order | kind | A-stable | L-stable | real interval | source |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names():
        T = tableau_of(name)
        if T is not None:
            kind = "explicit" if T.is_explicit else "diagonally implicit" if T.is_diagonally_implicit else "implicit"
            order = f"{T.order}" if T.embedded_order is None else f"{T.order}({T.embedded_order})"
            real = "∞" if isinf(T.real_stability_interval) else f"{T.real_stability_interval:.4g}"
            cells = (_link(name), T.stages, order, T.stage_order, kind, _yes(T.is_a_stable), _yes(T.is_l_stable), real)
            lines.append(f"| {' | '.join(map(str, cells))} | {source_of(name)} |")
    return "\n".join([*lines, ""])


def _link(name: str) -> str:
    return f"[{name}]({name}.md)"


def pages() -> dict[str, str]:
    """The text of every page by file name."""
    return {"index.md": index(), **{f"{name}.md": page(name) for name in names()}}


# -- pictures --------------------------------------------------------------------------------------------------


def draw(name: str, path: Path) -> None:
    """The region and the order star of a method, side by side."""
    import matplotlib.pyplot as plt
    from PIL import Image

    T = tableau_of(name)
    if T is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.5), layout="constrained")
    T.plot_stability(ax=left)
    T.plot_stability(ax=right, order_star=True)
    left.set_title("stability region", fontsize="medium")
    right.set_title("order star", fontsize="medium")
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DOTS_PER_INCH)
    plt.close(figure)
    # A palette makes the files a third as large.
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def write(pictures: bool = True) -> None:
    """Write all pages, and the pictures too."""
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
    for name in names() if pictures else ():
        draw(name, FOLDER / f"{name}.png")


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    write(pictures="--text" not in sys.argv[1:])
