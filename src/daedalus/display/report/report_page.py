"""`dd.report`: equations, verdict, start, motion, curves, energy and drift, sensitivities and plan in one HTML file."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.analysis.analyse import analyse
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.display.cards.card import STYLE, paragraph
from daedalus.display.cards.model_card import model_card
from daedalus.display.cards.result_cards import report_card, start_card, trajectory_card
from daedalus.display.formulas.math_font import math_style
from daedalus.display.motion.animation import Animation, animate
from daedalus.display.motion.page import started_viewer, whole_page
from daedalus.errors import DaedalusError, InputError
from daedalus.initialisation.initialise import initialise
from daedalus.model.model import Model
from daedalus.simulation.simulate import simulate

# Derivatives by more parameters than these are left out: nobody reads them in a report.
MOST_PARAMETERS = 12


def report(
    model: Model,
    path: str | Path,
    span: float | tuple[float, float] = 10.0,
    *,
    start: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    plan: Any = None,
    title: str | None = None,
    **options: Any,
) -> Path:
    """Write a report of a model and its run as one HTML file, which opens offline and prints well; returns its path.

    Parameters
    ----------
    span, start, inputs, parameters, options: as in `dd.simulate`.
    plan: a result of `OptimalControl.solve`, shown as well.
    title: the heading; by default the model's name.

    Sections that are not possible (the animation of a model without geometry, derivatives of a run that stopped early)
    are omitted, and the report says why.

    Example
    -------
    >>> import daedalus as dd, tempfile, os
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> file = dd.report(m, os.path.join(tempfile.mkdtemp(), "report.html"), span=2.0)
    >>> file.name
    'report.html'
    """
    file = Path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"dd.report writes HTML files, not {file.name!r}.", remedy='dd.report(m, "report.html"), printed to PDF'
        )
    if not file.parent.exists():
        raise InputError("The folder does not exist.", str(file.parent), remedy="make it first")
    given: dict[str, Any] = {"inputs": inputs, "parameters": parameters}
    tr = simulate(model, span, start=start, **given, **options)
    film = _film(tr)
    heading = title or model.name
    sections = [
        ("Equations", lambda: model_card(model)),
        ("Analysis", lambda: report_card(analyse(model, at={**_start_values(start), **(parameters or {})} or None,
                                                inputs=inputs))),
        ("Start", lambda: start_card(initialise(model, start, **given))),
        ("Motion", lambda: _motion(film)),
        ("Run", lambda: trajectory_card(tr) + _picture(tr.plot())),
        ("Energy and constraints", lambda: _kept(tr)),
        ("Sensitivities", lambda: _changes(model, span, start, given, tr)),
    ]  # fmt: skip
    if plan is not None:
        sections.append(("Plan", lambda: _plan(plan)))
    body = "".join(_section(name, make) for name, make in sections)
    scripts = started_viewer(film.data) if isinstance(film, Animation) else ""
    shown = f"<h1>{html.escape(heading)}</h1>{body}{scripts}"
    file.write_text(whole_page(heading, math_style() + STYLE + _LOOK, shown), encoding="utf-8")
    return file


def _start_values(start: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if start is None else {str(name): start[name] for name in start}


def _section(name: str, make: Callable[[], str]) -> str:
    """A section, or why there is none."""
    try:
        inside = make()
    except DaedalusError as error:
        inside = f'<pre class="why">{html.escape(str(error))}</pre>'
    return f"<section><h2>{html.escape(name)}</h2>{inside.replace(STYLE, '')}</section>" if inside else ""


def _film(tr: Any) -> Animation | DaedalusError:
    try:
        return animate(tr, None, 1.0, (), [], None, None, None)
    except DaedalusError as error:
        return error


def _motion(film: Animation | DaedalusError) -> str:
    if isinstance(film, DaedalusError):
        return paragraph(f"{film.what.rstrip('.')}: {film.facts[0]}." if film.facts else film.what)
    from matplotlib.figure import Figure

    from daedalus.display.motion.drawn_scene import scene_picture

    # What paper shows: three moments side by side.
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    for k, share in enumerate((0.0, 0.5, 1.0)):
        panel = figure.add_subplot(1, 3, k + 1)
        times = film.scenes[0].times
        panel.imshow(np.asarray(scene_picture(film.scenes, film.data, share * (len(times) - 1), (480, 360))))
        panel.set_axis_off()
        panel.set_title(f"t = {times[round(share * (len(times) - 1))]:.3g} s", fontsize="small")
    return f'<div id="viewer"></div><div class="on-paper">{_picture(figure)}</div>'


def _picture(figure: Any) -> str:
    """A matplotlib figure inside the page."""
    import matplotlib.pyplot as plt

    stream = io.BytesIO()
    figure.savefig(stream, format="svg")
    plt.close(figure)
    return f'<img alt="" src="data:image/svg+xml;base64,{base64.b64encode(stream.getvalue()).decode("ascii")}">'


def _kept(tr: Any) -> str:
    """What is conserved or kept: energy where there is such an output, the drift of every constraint."""
    rows = []
    for name in [n for n in tr.run_data.plant.output_slices if "energy" in n.lower()][:4]:
        values = np.asarray(tr[name], dtype=float)
        if values.ndim == 1 and len(values):
            rows.append((name, f"{values[0]:.6g} to {values[-1]:.6g}, range {np.ptp(values):.2g}"))
    rows += [(f"drift of {name}", f"{value:.1e}") for name, value in list(tr.drift().items())[:20]]
    cells = "".join(f"<tr><td>{html.escape(a)}</td><td>{html.escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table>" if rows else ""


def _changes(model: Model, span: Any, start: Any, given: dict[str, Any], tr: Any) -> str:
    if not model.parameters:
        return ""
    count = sum(v.size for v in model.parameters.values())
    if not tr.success or count > MOST_PARAMETERS:
        why = "the run stopped early" if not tr.success else f"{count} parameters are more than a page shows"
        return paragraph(f"Left out: {why}.")
    sens = sensitivities(model, span, start=start, wrt=("parameters",), **given)
    return _picture(sens.plot())


def _plan(plan: Any) -> str:
    words = paragraph(f"objective {float(plan.objective):.6g}, duration {float(plan.duration):.6g}")
    return words + _picture(plan.plot())


_LOOK = """<style>
body { max-width: 980px; margin: 0 auto; padding: 24px; font: 15px/1.5 system-ui, sans-serif; background: var(--paper);
  color: var(--ink); }
h1 { font-size: 26px; } h2 { margin-top: 34px; border-bottom: 1px solid var(--line); font-size: 19px; }
section > .dd-card > h4 { display: none; } .dd-card { max-width: 100%; }
img { max-width: 100%; background: #fff; border-radius: 6px; }
#viewer { height: 460px; border: 1px solid var(--line); } #viewer .dd-title { display: none; }
.why { white-space: pre-wrap; color: var(--soft); } .on-paper { display: none; }
/* Pictures are drawn on white; in dark pages they are turned over, with their colours kept. */
@media screen and (prefers-color-scheme: dark) { img, .dd-diagram svg { filter: invert(0.9) hue-rotate(180deg); } }
@media print {
  body { max-width: none; padding: 0; font-size: 11px; } .dd-formula { font-size: 11px; overflow: visible; }
  .dd-card, .dd-scroll { max-width: none; overflow: visible; } .dd-card td { overflow-wrap: anywhere; }
  #viewer { display: none; } .on-paper { display: block; } section { break-inside: auto; } h2 { break-after: avoid; }
  img, table, .dd-formula { break-inside: avoid; }
}
</style>"""
