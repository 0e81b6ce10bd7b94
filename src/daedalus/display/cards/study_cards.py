"""Importances, gradients, orbits, branches, Newton's iterates and methods as cards."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.display.cards.card import card, listing, paragraph, section, small_curves, table, values_text
from daedalus.display.look import unit_text
from daedalus.model.names import counted
from daedalus.model.values import unit_of

if TYPE_CHECKING:
    from daedalus.differentiation.gradient import Gradient
    from daedalus.ensembles.importance import Importance
    from daedalus.studies.branches.equilibrium_branch import Branch
    from daedalus.studies.newton import NewtonHistory
    from daedalus.studies.orbits.orbit_branch import OrbitBranch
    from daedalus.studies.orbits.periodic_orbit import PeriodicOrbit

# Points of a small curve.
POINTS = 120


def importance_card(importance: Importance) -> str:
    """Sobol' indices at the last time, with their spread by bootstrap."""
    names = [str(name) for name in importance.first["name"].values]
    pieces = []
    for output in map(str, importance.first.data_vars):
        rows = []
        for name in names:
            cells = []
            for index, data in (("first", importance.first), ("total", importance.total)):
                value, spread = (
                    float(np.ravel(part)[-1])
                    for part in (data[output].sel(name=name), importance.spread[output].sel(name=name, index=index))
                )
                cells.append(f"{value:.3f} ± {spread:.2g}")
            rows.append((name, *cells))
        pieces.append(section(output, table(("name", "first order", "total"), rows)))
    left = f", {importance.left_out} left out" if importance.left_out else ""
    notes = section("notes", listing(importance.notes, 6))
    return card("importance", paragraph(f"{importance.cases} base cases{left}"), *pieces, notes)


def gradient_card(gradient: Gradient) -> str:
    """The value of the objective, and its derivative by every name."""
    system = gradient.system
    rows = [(name, values_text(gradient[name]), unit_text(unit_of(system, name))) for name in gradient]
    told = f"value {gradient.value:.8g}; {gradient.method}, {counted(gradient.steps, 'step')}"
    return card(f"{system.name}: gradient", paragraph(told), table(("by", "derivative", "unit of the name"), rows))


def orbit_card(orbit: PeriodicOrbit) -> str:
    """Period, stability and multipliers, with a small curve of every state over one period."""
    tr = orbit.trajectory
    times = np.linspace(float(tr.time[0]), float(tr.time[-1]), POINTS)
    samples, rows = tr.at(times), []
    for variable in tr.system.of_kind("state"):
        values = np.asarray(samples[variable.name], dtype=float).reshape(POINTS, -1)
        ends = f"{values.min():.5g} to {values.max():.5g}"
        rows.append((variable.name, unit_text(variable.unit), small_curves(times, values), ends))
    multipliers = ", ".join(_complex(value) for value in orbit.multipliers[:8])
    return card(
        f"{tr.system.name}: periodic orbit",
        paragraph(f"period {orbit.period:.8g} s, {orbit.kind}"),
        table(("name", "unit", "one period", "range"), rows),
        section("Floquet multipliers", paragraph(multipliers)),
        section("notes", listing(orbit.notes, 6)),
    )


def branch_card(branch: Branch | OrbitBranch) -> str:
    """Where a branch goes, its special points, and a small curve of every state over the points."""
    values = branch[branch.parameter]
    places = np.arange(len(values), dtype=float)
    rows = []
    for name in [name for name in branch if name != branch.parameter][:12]:
        column = np.asarray(branch[name], dtype=float).reshape(len(values), -1)
        curve = small_curves(places, column) if len(values) > 1 else ""
        rows.append((name, curve, values_text(column[0].squeeze()), values_text(column[-1].squeeze())))
    stable = int(branch.stable.sum())
    told = f"{branch.parameter} from {values[0]:.6g} to {values[-1]:.6g}; {stable} of {len(values)} points stable"
    return card(
        f"{branch.system.name}: branch over {branch.parameter}",
        paragraph(told),
        section("special points", listing([point.sentence for point in branch.points], 12)),
        table(("name", "along the branch", "first", "last"), rows),
        paragraph(branch.ended),
        section("notes", listing(branch.notes, 6)),
    )


def newton_card(history: NewtonHistory) -> str:
    """Residuals, step fractions and rates of Newton's method."""
    rows = []
    for k, residual in enumerate(history.residuals):
        taken = f"{history.damping[k - 1]:.3g}" if k else ""
        rate = f"{history.rates[k]:.2f}" if np.isfinite(history.rates[k]) else ""
        rows.append((str(k), f"{residual:.3g}", taken, rate, values_text(history.iterates[k])))
    headings = ("iteration", "residual", "fraction of the step", "rate", "x")
    return card("Newton's method", paragraph(history.sentence, bad=not history.converged), table(headings, rows))


def method_card(method: Any) -> str:
    """A tableau or a multistep formula: its coefficients, and what is known of its order and stability."""
    first, *rest = repr(method).split("\n")
    coefficients = f'<pre class="dd-scroll">{html.escape(chr(10).join(rest))}</pre>'
    return card(first, paragraph(getattr(method, "verdict", "")), coefficients)


def _complex(value: complex) -> str:
    return f"{value.real:.5g}" + (f" {value.imag:+.5g} i" if abs(value.imag) > 1e-12 else "")
