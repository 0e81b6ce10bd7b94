"""Systems, fits, controllers, problems, prepared runs and linear systems as cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.display.cards.card import card, listing, paragraph, section, table, values_text
from daedalus.display.look import unit_text
from daedalus.model.names import counted
from daedalus.model.system.system import System

if TYPE_CHECKING:
    from daedalus.estimation.fit_result import Fit

# Rows and columns of a matrix that are shown.
MOST_ENTRIES = 8


def system_card(system: System) -> str:
    """The variables of a frozen model, with units."""
    rows = [
        (v.name, v.kind, "" if v.shape == () else " × ".join(map(str, v.shape)), unit_text(v.unit))
        for v in system.variables
    ]
    sizes = ", ".join(
        counted(system.sizes[letter], word)
        for letter, word in (("x", "state"), ("z", "algebraic variable"), ("u", "input"), ("p", "parameter"))
    )
    return card(
        system.name, paragraph(sizes), section("variables", table(("name", "kind", "size", "unit"), rows, most=40))
    )


def fit_card(fit: Fit) -> str:
    """Fitted values with their uncertainty and 95 % interval, and what the data do not determine."""
    interval = fit.confidence(0.95)
    rows = [
        (name, values_text(fit[name]), f"± {fit.std[name]:.2g}", f"{interval[name][0]:.6g} to {interval[name][1]:.6g}")
        for name in fit.labels
    ]
    doubts = [f"{name}: {doubt}" for name, tests in fit.residual_tests.items() for doubt in tests.doubts]
    words = f"χ² = {fit.chi_squared:.4g} with {counted(fit.degrees_of_freedom, 'degree')} of freedom"
    return card(
        f"{fit.model.name}: fit",
        paragraph(words if fit.success else f"{words} ({fit.message})", bad=not fit.success),
        table(("name", "value", "standard deviation", "95 % interval"), rows),
        section("not determined by the data", listing([str(d) for d in fit.unidentifiable], 6)),
        section("residuals that do not look like noise", listing(doubts, 6)),
    )


def words_card(title: str, text: str, labels: dict[str, tuple[str, ...]] | None = None) -> str:
    """A sentence, and the names of arguments and results where there are such."""
    rows = [(name, str(len(own)), ", ".join(own[:12]) + (", …" if len(own) > 12 else "")) for name, own in
            (labels or {}).items() if own]  # fmt: skip
    return card(title, paragraph(text), table(("vector", "size", "entries"), rows))


def linear_card(linear: Any) -> str:
    """The matrices of a linear system with names, and its poles."""
    names = {"E": "states", "A": "states", "B": "inputs", "C": "states", "D": "inputs"}
    pieces = []
    for letter, columns in names.items():
        matrix = getattr(linear, letter, None)
        if matrix is None or np.size(matrix) == 0:
            continue
        sides = getattr(linear, "outputs" if letter in "CD" else "states"), getattr(linear, columns)
        pieces.append(section(letter, _matrix(np.asarray(matrix), *sides)))
    poles = np.asarray(linear.poles())
    told = ", ".join(f"{p.real:.4g}" + (f" {p.imag:+.4g} i" if p.imag else "") for p in poles[:12])
    more = f" … and {len(poles) - 12} more" if len(poles) > 12 else ""
    return card(repr(linear), section("poles [1/s]", paragraph(told + more)), *pieces)


def _matrix(matrix: np.ndarray, rows: Any, columns: Any) -> str:
    """A matrix with the names of its rows and columns, its upper left corner where it is large."""
    shown = matrix[:MOST_ENTRIES, :MOST_ENTRIES]
    size = float(np.abs(matrix).max(initial=0.0))
    cells = [
        [str(name), *(f"{0.0 if abs(value) < 1e-15 * size else value:.4g}" for value in row)]
        for name, row in zip(list(rows)[:MOST_ENTRIES], shown)
    ]
    cut = paragraph(f"{matrix.shape[0]} × {matrix.shape[1]} in all") if shown.shape != matrix.shape else ""
    return table(("", *(str(name) for name in list(columns)[:MOST_ENTRIES])), cells) + cut
