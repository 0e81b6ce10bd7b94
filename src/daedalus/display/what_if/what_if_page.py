"""`tr.what_if`: one HTML file whose sliders move curves and motion, as far as the derivatives can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.differentiation.events.smoothness import NoSecondDerivativesError
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.sensitivities import sensitivities
from daedalus.display.curves import largest
from daedalus.display.look import unit_text
from daedalus.display.motion.animation import animate
from daedalus.display.motion.page import packed, started_viewer, whole_page
from daedalus.display.motion.recorded_scene import Columns, drawn_book, moving_shapes
from daedalus.display.motion.viewer_data import curves_data, panels_of
from daedalus.display.what_if.prediction import Prediction, inputs_of, parameter_values, start_of, system_before
from daedalus.errors import DaedalusError, InputError
from daedalus.model.names import read_names, split_index
from daedalus.model.values import unit_of
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.simulate import simulate

FRAMES = 201
# The error that counts as trusted, as a share of the range of the curves.
TRUSTED = 0.03
# A curve that is smaller than this share of its panel is judged as if it had that size: more is not to be seen.
SEEN = 0.01
# The step of differences of shapes, as a share of the range of a slider.
STEP = 0.1


def what_if(
    tr: Trajectory, names: str | Sequence[str], path: str | Path, spread: float, curves: Sequence[str] | None
) -> Path:
    """Write the page; see `Trajectory.what_if`."""
    file, wanted = Path(path), read_names(names, "names")
    if not wanted:
        raise InputError("A what-if page needs a parameter.", remedy='tr.what_if(["mass"], "page.html")')
    if not 0 < spread < 1:
        raise InputError("The spread must be between 0 and 1.", f"got {spread!r}", remedy="spread=0.2")
    values = parameter_values(tr, wanted)
    reach = np.where(values == 0, spread, spread * np.abs(values))
    times = np.linspace(float(tr.time[0]), float(tr.time[-1]), FRAMES)
    base = tr.at(times)
    options: dict[str, Any] = {"start": start_of(tr, float(times[0])), "inputs": inputs_of(tr), "rtol": 1e-8}
    system, span = system_before(tr), (times[0], times[-1])
    prediction = _prediction(base, wanted, partial(sensitivities, system, span, wrt=("parameters",), **options))
    data = _viewer_data(tr, base, curves)
    shown = [series for panel in data["panels"] for series in panel["series"]]
    _add_curve_slopes(shown, prediction)
    if data["runs"][0]["shapes"]:
        _add_shape_slopes(data, tr, times, prediction, reach)
    rerun = partial(simulate, system, span, **options)
    panels = [[series["name"] for series in panel["series"]] for panel in data["panels"]]

    def agrees(shares: np.ndarray) -> bool:
        change = shares * reach
        again = partial(rerun, parameters=dict(zip(wanted, (values + change).tolist())))
        return _error(again, prediction, change, panels, times) <= TRUSTED

    corners = trusted_corners(agrees, len(wanted)) * reach
    data["what_if"] = {
        "names": wanted, "units": [unit_text(unit_of(tr.system, name)) for name in wanted], "smallest": min(ALONE),
        "values": values.tolist(), "reach": reach.tolist(), "corners": corners.tolist(),
        "trusted": _alone(corners, values), "error": TRUSTED, "order": prediction.order,
        "call": f"dd.simulate(m, ({span[0]:g}, {span[1]:g})",
    }  # fmt: skip
    file.write_text(_page(f"{tr.system.name}: what if", data), encoding="utf-8")
    return file


def _prediction(base: Samples, names: list[str], differentiate: Callable[..., Sensitivities]) -> Prediction:
    """By first and second derivatives; by first ones alone where a model switches or jumps."""
    try:
        return Prediction(base, differentiate(order=2).at(base.time), names, order=2)
    except NoSecondDerivativesError:
        return Prediction(base, differentiate(order=1).at(base.time), names, order=1)


def _viewer_data(tr: Trajectory, base: Samples, curves: Sequence[str] | None) -> dict[str, Any]:
    """What the viewer shows of the run itself; without shapes where nothing can be drawn."""
    try:
        data = dict(animate(tr, None, 1.0, (), curves, None, len(base.time), None).data)
    except DaedalusError:
        data = curves_data(tr.system.name, [base], [tr.system.name], base.time)
    data["panels"] = panels_of([base], [tr.system.name], curves)
    return data


# -- derivatives -------------------------------------------------------------------------------------------------


def _add_curve_slopes(shown: list[dict[str, Any]], prediction: Prediction) -> None:
    for series in shown:
        stem, index = split_index(series["name"])
        name = series["name"] if index is not None else stem
        _, first, second = prediction.parts(name)
        series["first"] = [packed(slope.ravel()) for slope in first]
        series["second"] = [packed(slope.ravel()) for slope in second.values()]


def _add_shape_slopes(
    data: dict[str, Any], tr: Trajectory, times: np.ndarray, prediction: Prediction, reach: np.ndarray
) -> None:
    """Derivatives of every track, by differences of shapes along the predicted motion."""
    book, count = drawn_book(tr.system), len(reach)

    def tracks(change: np.ndarray) -> list[np.ndarray]:
        columns = Columns(tr.system, prediction.at(change), times, book)
        shapes = moving_shapes(book, tr.system, columns, still=False)
        return [np.broadcast_to(s.track, (len(times), s.track.shape[1])) for s in shapes]

    unit, h = np.eye(count), STEP * reach
    middle = tracks(np.zeros(count))
    ends = {(k, sign): tracks(sign * h[k] * unit[k]) for k in range(count) for sign in (1, -1)}
    for n, told in enumerate(data["runs"][0]["shapes"]):
        told["track"], told["width"] = packed(middle[n]), middle[n].shape[1]
        told["first"] = [packed((ends[k, 1][n] - ends[k, -1][n]) / (2 * h[k])) for k in range(count)]
    pairs = list(combinations_with_replacement(range(count), 2))
    corners = {
        (i, j): [tracks(a * h[i] * unit[i] + b * h[j] * unit[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
        for i, j in pairs
        if i != j
    }
    for n, told in enumerate(data["runs"][0]["shapes"]):
        told["second"] = []
        for i, j in pairs:
            if i == j:
                bend = (ends[i, 1][n] - 2 * middle[n] + ends[i, -1][n]) / h[i] ** 2
            else:
                a, b, c, d = (own[n] for own in corners[i, j])
                bend = (a - b - c + d) / (4 * h[i] * h[j])
            told["second"].append(packed(bend))


# -- trust -------------------------------------------------------------------------------------------------------


def _alone(corners: np.ndarray, values: np.ndarray) -> list[list[float]]:
    """How far below and above its value each parameter may go while the others stay."""
    ends = np.concatenate([np.zeros((1, len(values))), corners])
    return np.stack([values + ends.min(axis=0), values + ends.max(axis=0)], axis=1).tolist()


def _error(
    again: Callable[[], Trajectory],
    prediction: Prediction,
    change: np.ndarray,
    panels: list[list[str]],
    times: np.ndarray,
) -> float:
    """The largest difference between prediction and a re-run, as a share of the range of each curve."""
    try:
        run = again()
    except DaedalusError:
        return np.inf
    if not run.success:
        return np.inf
    worst, samples, predicted = 0.0, run.at(times), prediction.at(change)
    for labels in panels:
        bases = {label: prediction.parts(label)[0] for label in labels}
        least = max(SEEN * max(map(largest, bases.values()), default=0.0), 1e-12)
        for label, base in bases.items():
            truth = np.asarray(samples[label], dtype=float)
            # What hardly changes over time is judged by its size.
            size = max(np.ptp(truth), np.ptp(base), 0.05 * largest(base), least)
            worst = max(worst, float(np.abs(predicted[label] - truth).max()) / size)
    return worst


def _page(title: str, data: dict[str, Any]) -> str:
    style, script = ((Path(__file__).parent / f"sliders.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    style = f"""<style>html, body {{ margin: 0; height: 100%; }} body {{ display: flex; flex-direction: column; }}
#viewer {{ flex: 1; min-height: 0; }}
{style}</style>"""
    sliders = 'window.whatIf = new DaedalusSliders(document.getElementById("sliders"), viewer, data.what_if);'
    scripts = started_viewer(data, f"\n<script>{script}</script>", sliders)
    return whole_page(title, style, f'<form id="sliders"></form><main id="viewer"></main>\n{scripts}')


# -- how far sliders may go together ----------------------------------------------------------------------------

# Shares of the range of a slider at which each is tried alone, and those at which two or three are combined.
ALONE = (0.1, 0.25, 0.5, 0.75, 1.0)
COMBINED = {2: (0.25, 0.5, 1.0), 3: (0.5, 1.0)}
# More sliders are moved together, all by the same share.
TOGETHER = (0.5, 1.0)


def trusted_corners(agrees: Callable[[np.ndarray], bool], count: int) -> np.ndarray:
    """The far corners of the boxes that are trusted, (boxes, count), as shares of each slider's range with their sign.

    agrees: whether the prediction for a change, in shares, agrees with a re-run. A box reaches from no change to its
    corner. Without a box no change is trusted.

    Example
    -------
    >>> import numpy as np
    >>> trusted_corners(lambda change: float(np.sum(change)) <= 1.0, 2)
    array([[-1. , -1. ],
           [-1. ,  1. ],
           [ 0.5,  0.5],
           [ 1. , -1. ]])
    """
    good: list[np.ndarray] = []
    bad: list[np.ndarray] = []
    for point in _lattice(count):
        if any(_reaches(point, other) for other in bad) or not agrees(point):
            bad.append(point)
        else:
            good.append(point)
    largest = [p for p in good if not any(_reaches(q, p) and not np.array_equal(p, q) for q in good)]
    return np.array(sorted(map(tuple, largest))).reshape(-1, count)


def _lattice(count: int) -> list[np.ndarray]:
    """The changes that are tried, the small ones first."""
    points = {tuple(s * share * row) for row in np.eye(count) for share in ALONE for s in (-1.0, 1.0)}
    if count in COMBINED:
        sides = [s * share for share in COMBINED[count] for s in (-1.0, 1.0)]
        points |= set(product((0.0, *sides), repeat=count))
    elif count > 1:
        points |= {tuple(share * np.array(signs)) for signs in product((-1.0, 1.0), repeat=count) for share in TOGETHER}
    return sorted((np.array(p) for p in points if any(p)), key=lambda p: (float(np.abs(p).sum()), tuple(p)))


def _reaches(far: np.ndarray, near: np.ndarray) -> bool:
    """Whether a change goes as far as another one in every slider, on the same side."""
    return bool(np.all(np.abs(near) <= np.abs(far)) and np.all(near * far >= 0))
