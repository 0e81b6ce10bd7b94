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
# What the methods for mechanics by momenta take and keep.
# What is good to know about single methods.
REMARKS = {
    "bdf": [
        "",
        "The error test includes the error that algebraic variables inherit from the states. Orders 3 to 5 are not "
        "stable near the imaginary axis. If undamped oscillations limit the step, the method stays at order 2 as long "
        "as that is faster. Tolerances below the rounding errors of the equations are raised to that level.",
    ],
    "rodas4": [
        "",
        "If a conserved sum becomes tiny later (E5 written as four rates), this method loses digits of it in the sums "
        "over its stages. rodas5p and radau5 keep them.",
    ],
    "trbdf2": [
        "",
        "It continues with the solution whose error it estimates. Each step is held to less than the tolerance, so "
        "that the errors of all steps together are in proportion to it: at rtol 1e-6 to a thirtieth, by three times "
        "as many steps.",
    ],
}
MOMENTA = [
    "",
    "Use it for mechanics written with energies, forces and constraints or with planar bodies, with any mass matrix "
    "M(q). The constraints on positions and velocities hold to rounding at every step, without projection. If all "
    "forces come from energies, the step is symplectic: energy errors stay bounded over any number of steps, and "
    "quadratic quantities that a symmetry conserves are kept to rounding. The method is symmetric: a run "
    "backwards returns to its start. With dampers or other forces it keeps its order but is not symplectic.",
]

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
        "Left: the stability region |R(z)| ≤ 1 with z = hλ, where a step does not grow. Right: the order star "
        "|R(z)| > |exp z|; the number of its fingers at 0 is one more than the order."
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
    """Ascending powers of z, as one writes them."""
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
    if method is not None:
        orders = [
            ("ODEs", method.ode),
            ("index 1", method.index_1),
            ("index 2", method.index_2),
            ("index 3", method.index_3),
        ]
        solves = ", ".join(f"{kind}: {order}" for kind, order in orders if order != "-")
        steps = "chooses its step size; pass `step=` for a fixed step" if method.adaptive else "needs a fixed step"
        if method.family == "bdf":
            steps = "chooses its order and step size; it has no fixed-step mode"
        call = f'dd.simulate(m, 1.0, method="{name}"{"" if method.adaptive else ", step=0.01"})'
        text = f"Order by kind of system: {solves}. The method {steps}."
        more = MOMENTA if method.family == "lobatto" else REMARKS.get(name, [])
        return [text, *more, "", "```python", call, "```"]
    made = f'dd.tableau("{name}", alpha="{FAMILIES[name][0]}")' if name in FAMILIES else f'dd.tableau("{name}")'
    return ["```python", f"dd.simulate(m, 1.0, method={made}, step=0.01)", "```"]


# -- the index -------------------------------------------------------------------------------------------------


def index() -> str:
    """The page that lists all methods."""
    lines = [
        "# Methods",
        "",
        "All integration methods, with links to their pages. Orders, stage orders and stability are computed from the "
        "coefficients. [How to choose a method](../choosing_a_method.md) helps you to pick one.",
        "",
        "## Methods of `dd.simulate`",
        "",
        "`dd.methods()` and `daedalus methods` print this list. A dash means that the method cannot solve that kind of "
        "system. "
        '"reduced" means that the index is reduced first, and z is the order of the algebraic variables.',
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
        "Use them by name. The families with a parameter run as "
        "`dd.simulate(..., method=dd.tableau(name, alpha=...), step=h)`. `gauss`, `radau`, `lobatto_iiia` and "
        "`lobatto_iiic` exist for any number of stages.",
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
