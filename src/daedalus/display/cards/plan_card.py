"""A plan as a card: how the search ended, what it costs, and a small curve of every state and input."""

from __future__ import annotations

import numpy as np

from daedalus.display.cards.card import card, listing, paragraph, section, small_curves, table, values_text
from daedalus.model.names import counted
from daedalus.optimisation.result.plan import Plan
from daedalus.simulation.result.labelled_samples import unit_of

POINTS, MOST_ROWS = 160, 16


def plan_card(plan: Plan) -> str:
    """Status, cost and duration, states and inputs over time, and what was noted on the way."""
    system = plan.system
    names = [v.name for kind in ("state", "input") for v in system.of_kind(kind)]
    times = np.linspace(float(plan.time[0]), float(plan.time[-1]), POINTS)
    samples, rows = plan.at(times), []
    for name in names[:MOST_ROWS]:
        values = np.asarray(samples[name], dtype=float).reshape(POINTS, -1)
        ends = values_text(values[0].squeeze()), values_text(values[-1].squeeze())
        rows.append((name, unit_of(system, name), small_curves(times, values), *ends))
    more = len(names) - len(rows)
    return card(
        f"{system.name}: plan",
        paragraph(plan.status, bad=not plan.success),
        paragraph(
            f"cost {plan.objective:.6g}, duration {plan.duration:.6g}; {plan.solver}, "
            f"{counted(plan.iterations, 'iteration')}, {1e3 * plan.seconds:.3g} ms"
        ),
        table(("name", "unit", f"t = {times[0]:g} to {times[-1]:g}", "first", "last"), rows),
        paragraph(f"… and {counted(more, 'name')} more" if more > 0 else ""),
        section("notes", listing(plan.notes, 6)),
    )
