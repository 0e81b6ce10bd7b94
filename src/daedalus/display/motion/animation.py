"""A run to be looked at: `tr.animate(...)` as a page, inside a notebook, or as a film."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.display.comparison_plot import run_names
from daedalus.display.motion.film import save_film
from daedalus.display.motion.page import page
from daedalus.display.motion.recorded_scene import recorded_scene
from daedalus.display.motion.scene import Scene
from daedalus.display.motion.viewer_data import event_times, viewer_data, within
from daedalus.errors import InputError
from daedalus.simulation.result.trajectory import Trajectory

FRAMES_PER_SECOND = 60
FEWEST_FRAMES, MOST_FRAMES = 301, 1201
FILMS = (".gif", ".mp4")


class Animation:
    """The result of `tr.animate(...)`: an animation of one or several runs. A notebook shows it.

    Example
    -------
    >>> from daedalus import catalogue
    >>> import daedalus as dd
    >>> k = catalogue.load("pendulum_3d")
    >>> film = dd.simulate(k.model, k.span, inputs=k.inputs).animate()
    >>> film
    Animation('pendulum_3d': 4 shapes, 301 frames)
    >>> film.html()[:15]
    '<!DOCTYPE html>'
    """

    def __init__(self, title: str, scenes: Sequence[Scene], data: dict[str, Any]) -> None:
        self.title, self.scenes, self.data = title, tuple(scenes), data

    def html(self) -> str:
        """The whole page as text; it needs no network."""
        return page(self.title, self.data)

    def save(self, path: str | Path) -> None:
        """Write a page (.html) or a video (.gif, .mp4)."""
        file = Path(path)
        if file.suffix.lower() not in (".html", ".htm", *FILMS):
            raise InputError(
                f"The animation cannot be written to {file.name!r}.",
                f"extensions: .html, {', '.join(FILMS)}",
                because="the extension chooses the format.",
                remedy='tr.animate("run.html")',
            )
        if not file.parent.exists():
            raise InputError("The folder does not exist.", str(file.parent), remedy="make it first")
        if file.suffix.lower() in FILMS:
            save_film(self.scenes, self.data, file)
        else:
            file.write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        frame = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{frame}" style="width:100%;height:560px;border:1px solid #d9dee3"></iframe>'

    def __repr__(self) -> str:
        return f"Animation({self.title!r}: {len(self.scenes[0].shapes)} shapes, {len(self.scenes[0].times)} frames)"


def animate(
    tr: Trajectory,
    path: str | Path | None,
    speed: float,
    compare: Trajectory | Sequence[Trajectory],
    curves: str | Sequence[str] | None,
    labels: Sequence[str] | None,
    frames: int | None,
    title: str | None,
) -> Animation:
    """The animation of a run and of those it is compared with; see `Trajectory.animate`."""
    if not np.isfinite(speed) or speed <= 0:
        raise InputError(
            "The speed of an animation must be a positive number.", f"got {speed!r}", remedy="speed=0.5 for slow motion"
        )
    others = [compare] if isinstance(compare, Trajectory) else list(compare)
    runs = [tr, *others]
    for run in runs:
        if not isinstance(run, Trajectory):
            raise InputError(
                "Only runs can be compared in an animation.",
                f"got {type(run).__name__}",
                because="an animation is drawn from trajectories.",
                remedy='tr.animate("run.html", compare=[other])',
            )
    names = _labels(runs, labels)
    times = frame_times(runs, speed, frames)
    samples = [run.at(within(run, times)) for run in runs]
    scenes = [recorded_scene(sample, label) for sample, label in zip(samples, names)]
    scenes = [Scene(s.label, times, s.shapes, s.up, s.flat) for s in scenes]
    wanted = [curves] if isinstance(curves, str) else curves
    heading = title or tr.system.name
    data = viewer_data(heading, scenes, samples, wanted, speed, runs)
    film = Animation(heading, scenes, {**data, "events": event_times(tr)})
    if path is not None:
        film.save(path)
    return film


def _labels(runs: Sequence[Trajectory], labels: Sequence[str] | None) -> list[str]:
    if labels is None:
        return run_names(runs)
    if len(labels) != len(runs):
        raise InputError(
            "Every run needs one label.", f"{len(runs)} runs, {len(labels)} labels", remedy='labels=["first", "second"]'
        )
    return [str(label) for label in labels]


def frame_times(runs: Sequence[Trajectory], speed: float = 1.0, frames: int | None = None) -> np.ndarray:
    """Equally spaced times over the longest run: sixty a second as it is shown, within bounds."""
    begin, end = min(float(run.time[0]) for run in runs), max(float(run.time[-1]) for run in runs)
    count = frames or int(np.clip(FRAMES_PER_SECOND * abs(end - begin) / speed + 1, FEWEST_FRAMES, MOST_FRAMES))
    if count < 2:
        raise InputError("An animation needs at least two frames.", f"got frames={frames}", remedy="frames=200")
    return np.linspace(begin, end, count)
