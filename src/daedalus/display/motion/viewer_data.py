"""What a viewer is handed: scenes and curves of one or several runs as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.display.curves import CurvePanel, chosen_panels, named_panels
from daedalus.display.look import COLOURS, labelled
from daedalus.display.motion.page import packed
from daedalus.display.motion.scene import MovingShape, Scene
from daedalus.simulation.result.labelled_samples import element_columns
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.trajectory import Trajectory

# More panels than these are not drawn unasked, nor more of a kind of extra shape.
MOST_PANELS, MOST_EXTRAS = 4, 4
# Events that are marked.
MOST_EVENTS = 200
# The longest arrow, as a share of the scene's radius.
LONGEST_ARROW = 0.6
# What travels this many times its own size is followed.
FAR = 10.0
# Shapes that have a colour of their own, one after the other; the rest are of the run's first colour or grey.
COLOURED = ("box", "sphere", "ellipsoid", "cylinder", "mesh", "point")
GREY = "#8a949e"
DASHES: tuple[list[int], ...] = ([], [6, 3], [2, 3], [8, 3, 2, 3])
# Share of a curve's range that is not seen: what happens between two times and is less needs no envelope.
UNSEEN = 0.02


def viewer_data(
    title: str,
    scenes: Sequence[Scene],
    samples: Sequence[Samples],
    curves: Sequence[str] | None,
    speed: float,
    whole: Sequence[Samples] = (),
) -> dict[str, Any]:
    """The scenes and the curves below them, over common times; `events` are for whoever knows them.

    whole: all that was computed of each run, for what curves do between the times.
    """
    low, high = (np.array(c) for c in zip(*(scene.box() for scene in scenes)))
    low, high = low.min(axis=0), high.max(axis=0)
    radius = max(float(np.linalg.norm(high - low)) / 2, 1e-6)
    first = scenes[0]
    follow, unit = _closer(first, radius)
    up = np.array(first.up)
    corners = np.stack([low, high])
    return {
        "title": title,
        "times": packed(first.times),
        "speed": speed,
        "up": list(first.up),
        "flat": first.flat,
        "centre": ((low + high) / 2).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "radius": radius,
        "unit": unit,
        "follow": follow,
        "floor": float(min(np.where(up > 0, corners[0], corners[1]) @ up, 0.0 if low @ up >= 0 else np.inf)),
        "reach": {kind: _reach(scenes, kind, unit) for kind in ("force", "arrow")},
        "hidden": _hidden(first),
        "runs": [_run(scene, COLOURS[k % len(COLOURS)]) for k, scene in enumerate(scenes)],
        "panels": panels_of(samples, [s.label for s in scenes], curves, whole),
        "events": [],
    }


def curves_data(
    title: str,
    samples: Sequence[Samples],
    labels: Sequence[str],
    times: np.ndarray,
    whole: Sequence[Samples] = (),
) -> dict[str, Any]:
    """The curves alone, of what cannot be drawn in space."""
    return {
        "title": title, "times": packed(times), "speed": 1.0, "hidden": [], "events": [],
        "runs": [{"label": label, "colour": COLOURS[k % len(COLOURS)], "shapes": []} for k, label in enumerate(labels)],
        "panels": panels_of(samples, labels, None, whole),
    }  # fmt: skip


def event_times(run: Trajectory) -> list[float]:
    """When events happened, as many of them as are marked."""
    return [float(t) for _, t, *_ in run.outcome.events[:MOST_EVENTS]]


def _closer(scene: Scene, radius: float) -> tuple[str, float]:
    """Which shape to follow and how large things are, where they travel far beyond their own size; else nothing."""
    solid = [s for s in scene.shapes if s.kind in COLOURED]
    middle = [s.track[min(len(s.track) - 1, len(scene.times) // 2)] for s in scene.shapes
              if s.kind in (*COLOURED, "rod", "spring")]  # fmt: skip
    if not solid:
        return "", radius
    places = np.concatenate([row[:6].reshape(-1, 3) if len(row) == 6 else row[None, :3] for row in middle])
    sizes = [max(size) for s in solid for role, size in s.sizes.items() if role in ("size", "radius", "length")]
    own = max(float(np.linalg.norm(np.ptp(places, axis=0))) / 2, max(sizes, default=0.0))
    return (solid[0].name, own) if 0 < FAR * own < radius else ("", radius)


def within(run: Trajectory, times: np.ndarray) -> np.ndarray:
    """Times of the run itself: one that ends early stays where it ended."""
    return np.clip(times, min(run.time[0], run.time[-1]), max(run.time[0], run.time[-1]))


def _hidden(scene: Scene) -> list[str]:
    """What is not shown at first: frames, and many traces or forces."""
    count = {group: sum(s.group == group and "automatic" in s.settings for s in scene.shapes)
             for group in ("traces", "forces")}  # fmt: skip
    return ["frames", *(group for group, n in count.items() if n > MOST_EXTRAS)]


def _reach(scenes: Sequence[Scene], kind: str, radius: float) -> float:
    """Metres per unit of the arrows of a kind: the usual longest one reaches a share of the radius."""
    found = [np.linalg.norm(s.track[:, 3:], axis=1) for scene in scenes for s in scene.shapes if s.kind == kind]
    longest = float(np.quantile(np.concatenate(found), 0.98)) if found else 0.0
    return 1.0 / _round_up(longest / (LONGEST_ARROW * radius)) if longest > 0 else 1.0


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10 … that is not below a positive value: a scale that one can tell."""
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in (1.0, 2.0, 5.0, 10.0) if step * decade >= value * (1 - 1e-12))


def _run(scene: Scene, colour: str) -> dict[str, Any]:
    painted: dict[str, str] = {}
    shapes = []
    for shape in scene.shapes:
        if (shape.kind in COLOURED or shape.settings.get("solid")) and shape.name not in painted:
            painted[shape.name] = COLOURS[len(painted) % len(COLOURS)]
        shapes.append(_shape(shape, painted))
    return {"label": scene.label, "colour": colour, "shapes": shapes}


def _shape(shape: MovingShape, painted: dict[str, str]) -> dict[str, Any]:
    paint = painted.get(shape.name)
    if shape.kind in ("joint", "hinge", "plane") or (shape.kind == "rod" and paint is None):
        paint = GREY
    told: dict[str, Any] = {
        "name": shape.name,
        "kind": shape.kind,
        "group": shape.group,
        "paint": paint,
        "sizes": shape.sizes,
        "settings": {name: value for name, value in shape.settings.items() if name not in ("automatic", "solid")},
        "width": shape.track.shape[1],
        "track": packed(shape.track),
    }
    if shape.mesh is not None:
        told["vertices"], told["triangles"] = packed(shape.mesh[0]), packed(shape.mesh[1])
    return told


def panels_of(
    samples: Sequence[Samples],
    labels: Sequence[str],
    curves: Sequence[str] | None,
    whole: Sequence[Samples] = (),
) -> list[dict[str, Any]]:
    """Curves by unit: of one run colours tell the curves apart; of several they tell the runs, dashes the curves."""
    first = samples[0]
    panels = chosen_panels(first, (), MOST_PANELS)[0] if curves is None else named_panels(first, list(curves))
    return [_panel(panel, samples, labels, whole or samples) for panel in panels]


def _panel(
    panel: CurvePanel, samples: Sequence[Samples], labels: Sequence[str], whole: Sequence[Samples]
) -> dict[str, Any]:
    series: list[dict[str, Any]] = []
    several = len(samples) > 1
    # What keeps its value between instants is drawn as steps.
    held = {v.name for v in samples[0].system.of_kind("discrete")}
    for k, (sample, label) in enumerate(zip(samples, labels)):
        for j, curve in enumerate(panel.curves):
            if k and curve.name not in sample:
                continue
            column = element_columns(curve.name, np.asarray(sample[curve.name]))[curve.label] if k else curve.values
            bounds = _bounds(sample, whole[k], curve.name, curve.label, column)
            if not k and curve.flat is not None and not bounds:
                column = np.full(len(column), curve.flat)
            text = curve.label if k or bounds else curve.legend
            series.append({
                "name": curve.label,
                "label": f"{curve.label}, {label}" if several else text,
                "values": packed(np.where(np.isfinite(column), column, np.nan)),
                "colour": COLOURS[(k if several else j) % len(COLOURS)],
                "dash": DASHES[j % len(DASHES)] if several else [],
                **({"step": True} if curve.name in held else {}),
                **bounds,
            })  # fmt: skip
    # The legend names the curves; the heading says what they share.
    names = panel.names if len(panel.names) <= 3 else [*panel.names[:2], "…"]
    joined = ", ".join(names)
    return {"label": labelled(joined, panel.unit), "names": joined, "series": series}


def _bounds(sample: Samples, whole: Samples, name: str, label: str, column: np.ndarray) -> dict[str, str]:
    """Least and most of a curve from one time to the next, where the times alone would show another curve."""
    if len(whole.time) <= len(sample.time) or len(sample.time) < 2:
        return {}
    every = element_columns(name, np.asarray(whole[name]))[label]
    found = envelope(np.asarray(sample.time), column, np.asarray(whole.time), every)
    return {} if found is None else {"least": packed(found[0]), "most": packed(found[1])}


def envelope(
    times: np.ndarray, values: np.ndarray, all_times: np.ndarray, all_values: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Least and most of a curve between neighbouring times; None where lines from value to value show nearly as much.

    Example
    -------
    >>> all_times = np.linspace(0.0, 1.0, 1001)
    >>> times = all_times[::100]
    >>> fast, slow = np.cos(200 * np.pi * all_times), np.cos(2 * np.pi * all_times)
    >>> least, most = envelope(times, fast[::100], all_times, fast)
    >>> least.min().round(2).item(), most.max().round(2).item()
    (-1.0, 1.0)
    >>> envelope(all_times[::10], slow[::10], all_times, slow) is None
    True
    """
    sign = -1.0 if times[-1] < times[0] else 1.0
    edges = np.minimum(np.searchsorted(sign * all_times, sign * times[:-1]), len(all_times) - 1)
    finite_low = np.where(np.isfinite(all_values), all_values, np.inf)
    finite_high = np.where(np.isfinite(all_values), all_values, -np.inf)
    # An interval without a computed value has its ends.
    ends = np.diff(np.append(edges, len(all_times))) > 0
    low = np.where(ends, np.minimum.reduceat(finite_low, edges), np.inf)
    high = np.where(ends, np.maximum.reduceat(finite_high, edges), -np.inf)
    low = np.minimum(low, np.minimum(values[:-1], values[1:]))
    high = np.maximum(high, np.maximum(values[:-1], values[1:]))
    shown = np.abs(np.diff(values))
    size = np.nanmax(high) - np.nanmin(low) if np.isfinite(high).any() else 0.0
    more = np.where(np.isfinite(high - low), high - low, 0.0) - np.where(np.isfinite(shown), shown, 0.0)
    if not np.isfinite(size) or np.max(more, initial=0.0) <= UNSEEN * size:
        return None
    return low, high
