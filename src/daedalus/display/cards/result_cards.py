"""Reports, starts, runs, plans, sensitivities and sweeps as cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daedalus.analysis.report import Report
from daedalus.analysis.stated_constraint import StatedConstraint
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.display.cards.card import card, listing, paragraph, section, small_curves, table, values_text
from daedalus.display.curves import NOISE, largest, settled
from daedalus.display.formulas.model_equations import WIDEST, broken
from daedalus.display.formulas.normal_form import Ordered
from daedalus.display.formulas.styles import MathML
from daedalus.display.formulas.writing import FormulaWriter
from daedalus.display.look import ending_text
from daedalus.ensembles.ensemble import Ensemble
from daedalus.initialisation.start import Start
from daedalus.model.expressions import elements, symbol_key
from daedalus.model.names import counted, seconds_text
from daedalus.model.system.system import System
from daedalus.model.values import unit_of
from daedalus.simulation.result.labelled_samples import recorded_names
from daedalus.simulation.result.trajectory import Trajectory

if TYPE_CHECKING:
    from daedalus.optimisation.result.plan import Plan

# Points of a small curve, and the most curves of a card.
POINTS, MOST_ROWS = 160, 16
# Hidden constraints of a card.
MOST_CONSTRAINTS = 6


def report_card(report: Report) -> str:
    """The verdict, the counts and the hidden constraints, typeset."""
    bad = bool(report.overdetermined or report.undetermined or report.index is None)
    hidden = [own for own in report.constraints if own.hidden]
    rows = [
        ("kind", report.kind),
        ("index", "singular" if report.index is None else str(report.index)),
        ("structural index", str(report.structural_index)),
        ("start values to choose", str(report.degrees_of_freedom)),
        ("differential", ", ".join(report.differential[:12]) or "none"),
        ("algebraic", ", ".join(report.algebraic[:12]) or "none"),
    ]
    return card(
        report.system.name,
        paragraph(report.verdict, bad),
        table(("", ""), rows),
        section(
            "hidden constraints",
            *(_constraint(report, own) for own in hidden[:MOST_CONSTRAINTS]),
            _further(len(hidden) - MOST_CONSTRAINTS, "constraint"),
        ),
        section("cannot all hold", listing(report.overdetermined)),
        section("determined by nothing", listing(report.undetermined)),
        section("warnings", listing(report.warnings)),
    )


def _constraint(report: Report, own: StatedConstraint) -> str:
    """A hidden constraint under its name."""
    return paragraph(own.source) + formula_html(report.system, own.expression, own.source)


def start_card(start: Start) -> str:
    """Consistent values with where each came from."""
    rows = [
        (name, values_text(start[name]), ", ".join(dict.fromkeys(np.ravel(start.origin[name]).tolist())))
        for name in start.origin
    ]
    left = max((abs(value) for value in start.residual.values()), default=0.0)
    words = paragraph(f"equations and hidden constraints hold {f'within {left:.1e}' if left else 'exactly'}")
    return card(f"{start.system.name}: start", words, table(("name", "value", "origin"), rows, most=40))


def trajectory_card(tr: Trajectory) -> str:
    """How a run went, with a small curve of every quantity."""
    work = tr.work
    drift = tr.drift() if tr.saved is None else {}
    worst = max(drift.values(), default=0.0)
    kept_within = f"; constraints kept {f'within {worst:.1e}' if worst else 'exactly'}" if drift else ""
    # A run that stopped before the first time of save_at has steps and an end, but no samples.
    kept = tr.time if len(tr.time) else np.array([*tr.dense_spans[0][:1], tr.end.time])
    times = np.linspace(float(kept[0]), float(kept[-1]), POINTS)
    samples = tr.at(times) if len(tr.dense_spans[0]) else tr
    names = recorded_names(tr)[:MOST_ROWS] if tr.saved is None or len(tr.time) else []
    columns = {name: np.asarray(samples[name], dtype=float).reshape(len(samples.time), -1) for name in names}
    # What is rounding beside the largest of its unit is zero, in curves and at the end.
    sizes: dict[str, float] = {}
    for name in names:
        unit = unit_of(tr.system, name)
        sizes[unit] = max(sizes.get(unit, 0.0), largest(columns[name]))
    rows = []
    for name in names:
        unit = unit_of(tr.system, name)
        size = max(sizes[unit] if unit else 0.0, largest(columns[name]))
        last = np.asarray(tr[name][-1] if len(tr.time) else tr.end[name], dtype=float)
        last = np.where(np.abs(last) <= NOISE * size, 0.0, last)
        curves = small_curves(np.asarray(samples.time), settled(columns[name], size))
        rows.append((name, unit, curves, values_text(last)))
    events = [f"{event.name} at t = {event.time:.6g} s" for event in tr.events[:8]]
    return card(
        tr.system.name,
        paragraph(ending_text(tr), bad=not tr.success),
        paragraph(f"{tr.method}, {counted(work.steps, 'step')}, {seconds_text(work.seconds)}{kept_within}"),
        table(("name", "unit", f"t = {times[0]:g} to {times[-1]:g} s", "at the end"), rows),
        _further(len(recorded_names(tr)) - len(rows)),
        section("events", listing(events, 8)),
        section("notes", listing(tr.notes, 6)),
    )


def plan_card(plan: Plan) -> str:
    """How the search for a plan ended, what it costs, small curves of states and inputs, and what was noted."""
    system = plan.system
    names = [v.name for kind in ("state", "input") for v in system.of_kind(kind)]
    times = np.linspace(float(plan.time[0]), float(plan.time[-1]), POINTS)
    samples, rows = plan.at(times), []
    for name in names[:MOST_ROWS]:
        values = np.asarray(samples[name], dtype=float).reshape(POINTS, -1)
        ends = values_text(values[0].squeeze()), values_text(values[-1].squeeze())
        rows.append((name, unit_of(system, name), small_curves(times, values), *ends))
    return card(
        f"{system.name}: plan",
        paragraph(plan.status, bad=not plan.success),
        paragraph(
            f"cost {plan.objective:.6g}, duration {plan.duration:.6g}; {plan.solver}, "
            f"{counted(plan.iterations, 'iteration')}, {seconds_text(plan.seconds)}"
        ),
        table(("name", "unit", f"t = {times[0]:g} to {times[-1]:g}", "first", "last"), rows),
        _further(len(names) - len(rows)),
        section("notes", listing(plan.notes, 6)),
    )


def _further(count: int, what: str = "name") -> str:
    """How many names a table leaves out."""
    return paragraph(f"… and {counted(count, f'more {what}')}" if count > 0 else "")


def sensitivities_card(sens: Sensitivities) -> str:
    """The derivatives of the end state by what has the most influence."""
    columns = list(sens.labels)[:8]
    names = [v.name for v in sens.system.of_kind("state")][:12]
    rows = [(n, *(values_text(np.asarray(sens.d(n, by)).squeeze(), 4) for by in columns)) for n in names]
    order = "first and second" if sens.order == 2 else "first"
    return card(
        f"{sens.system.name}: how it changes",
        paragraph(f"derivatives at the end; {len(sens.labels)} directions, {order} order"),
        table(("∂ of / by", *columns), rows),
    )


def ensemble_card(en: Ensemble) -> str:
    """How the cases of a sweep ended, with all curves of every scalar."""
    rows = []
    for name in [str(n) for n in en.data.data_vars if en.data[n].dims[-1:] == ("time",)][:MOST_ROWS]:
        values = en.data[name].values
        if values.dtype.kind != "f":
            continue
        cases = values.reshape(-1, values.shape[-1])
        times = np.asarray(en.data["time"].values, dtype=float)
        thin = slice(None, None, max(1, len(times) // POINTS))
        picture = small_curves(
            times[thin], cases[np.linspace(0, len(cases) - 1, min(8, len(cases))).astype(int)].T[thin]
        )
        rows.append((name, picture, values_text(np.nanmin(cases)), values_text(np.nanmax(cases))))
    failed = [f"{', '.join(f'{k} = {v:g}' for k, v in values.items())}: {why}" for values, why in en.failed[:6]]
    return card(
        str(en.data.attrs.get("title", "")) or "Sweep",
        paragraph(repr(en)),
        table(("name", "some cases", "least", "most"), rows),
        section("failed", listing(failed, 6)),
    )


# Expressions of a system typeset for pages, and the names of its symbols.


# Rows of a vector that a page shows.
MOST_ROWS = 6


def labels_of(system: System) -> dict[int, str]:
    """The user's names of all symbols of a system, by the key of the symbol."""
    return {
        symbol_key(symbol): label
        for letter in ("xdot", "x", "z", "u", "p")
        for symbol, label in zip(elements(system.symbol(letter)), system.labels[letter])
    }


def formula_html(system: System, expression: ca.SX, label: str = "") -> str:
    """An expression = 0 typeset for a page, a paragraph a row, broken between its terms."""
    ordered = Ordered(labels_of(system))
    writer = FormulaWriter(ordered, MathML())
    rows = [
        [*writer.pieces(ordered.value(row), WIDEST), "<mo>=</mo>", "<mn>0</mn>"]
        for row in elements(expression)[:MOST_ROWS]
    ]
    return "".join(broken(row, label) for row in rows)
