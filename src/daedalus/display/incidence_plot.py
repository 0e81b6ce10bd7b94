"""Which equation contains which unknown, drawn in block-triangular order."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from daedalus.display.look import COLOURS, Axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daedalus.analysis.report import Report

# Names of rows and columns are readable up to this many.
NAMED = 40
# The side of a square and the width of a letter, in inches.
SQUARE, LETTER = 0.3, 0.085
# Marks with less area, in square points, are drawn full.
SMALLEST_OPEN = 8.0
# Longer names of equations are cut: as many letters are about as wide as the marks of a small model.
LONGEST_NAME = 48


def incidence_plot(report: Report, ax: Axes | None = None) -> Figure:
    """A figure of the incidence: one mark where an unknown occurs in an equation, filled where its derivative does.

    Rows and columns are in block-triangular order, with a frame around each block: what stands in a frame must be
    solved together, once everything above it is known.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("tank"); h = m.state("h", start=1.0); q = m.algebraic("q")
    >>> m.equation(m.der(h), -q, name="balance"); m.equation(q, 0.5 * h, name="valve")
    >>> figure = dd.analyse(m).plot()
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['balance', 'valve']
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    s, system = report.signature, report.system
    rows = np.concatenate([[], *(block.equations for block in report.blocks)]).astype(int)
    columns = np.concatenate([[], *(block.unknowns for block in report.blocks)]).astype(int)
    rows = np.concatenate([rows, np.setdiff1d(np.arange(s.count), rows)])
    columns = np.concatenate([columns, np.setdiff1d(np.arange(s.size), columns)])
    row_place, column_place = np.argsort(rows), np.argsort(columns)

    named = max(s.count, s.size) <= NAMED
    names = [[*system.labels["x"], *system.labels["z"]][j] for j in columns]
    equations = [shortened(system.equation_labels[i]) for i in rows]
    size = _size(names, equations, named)
    figure = Figure(figsize=size, layout="constrained") if ax is None else ax.figure
    axes = figure.add_subplot() if ax is None else ax
    area = float(np.clip(4e4 / max(s.count, s.size, 1) ** 2, 0.5, 120))
    # Small marks are told apart by colour, since nobody sees whether they are filled.
    plain = "none" if area > SMALLEST_OPEN else "0.65"
    for derived, colour, label in ((False, plain, "unknown"), (True, COLOURS[0], "its derivative")):
        chosen = (s.orders > 0) == derived
        axes.scatter(
            column_place[s.columns[chosen]],
            row_place[s.rows[chosen]],
            s=area,
            c=colour,
            edgecolors=COLOURS[0] if colour == "none" else colour,
            label=label,
        )
    corner_row = corner_column = 0
    for block in report.blocks:
        height, width = len(block.equations), len(block.unknowns)
        axes.add_patch(Rectangle((corner_column - 0.5, corner_row - 0.5), width, height, fill=False, edgecolor="0.4"))
        corner_row, corner_column = corner_row + height, corner_column + width
    axes.set(xlim=(-0.7, s.size - 0.3), ylim=(s.count - 0.3, -0.7))
    axes.xaxis.tick_top()
    if named:
        axes.set_xticks(range(s.size), names, rotation=90)
        axes.set_yticks(range(s.count), equations)
    else:
        axes.set(xlabel="unknowns", ylabel="equations")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.02), ncols=2, frameon=False)
    title = f"{system.name}: {report.verdict}"
    if ax is None:
        figure.suptitle("\n".join(wrap(title, int(size[0] / LETTER))), x=0.02, ha="left", fontsize="medium")
    else:
        axes.set_title(title, loc="left", fontsize="medium", wrap=True)
    return figure  # type: ignore[return-value]


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """A name without what goes beyond a length: without its last parts where it lists several, else without its middle.

    Example
    -------
    >>> shortened("balance at hot.heat, wall.heat_a, wall.heat_b", 36)
    'balance at hot.heat, wall.heat_a, …'
    >>> shortened("motion_of_a_very_long_angle", 16), shortened("motion of angle")
    ('motion_ … g_angle', 'motion of angle')
    """
    if len(name) <= most:
        return name
    end = name.rfind(", ", 0, most - 1)
    half = (most - 1) // 2
    return f"{name[:end]}, …" if end > 0 else f"{name[:half]} … {name[-half:]}"


def _size(names: list[str], equations: list[str], named: bool) -> tuple[float, float]:
    """Width and height in inches: a square for every mark, room for the names beside it, and for a legend below."""
    squares = [float(np.clip(SQUARE * count, 2.4, 9.0)) for count in (len(names), len(equations))]
    room = [LETTER * max(map(len, own), default=0) if named else 0.4 for own in (equations, names)]
    return max(squares[0] + room[0] + 0.8, 4.5), squares[1] + room[1] + 1.3
