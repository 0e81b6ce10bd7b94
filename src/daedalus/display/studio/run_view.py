"""What the studio's viewer shows of runs: motion and curves, or curves alone where nothing can be drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.display.motion.animation import frame_times
from daedalus.display.motion.page import json_text
from daedalus.display.motion.recorded_scene import recorded_scene
from daedalus.display.motion.scene import Scene
from daedalus.display.motion.viewer_data import curves_data, event_times, viewer_data, within
from daedalus.errors import DaedalusError
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.some_rows import rows_near, rows_of
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.onlooker import Onlooker

# An explicit run is made once more for values between its steps. One that took more seconds than this is shown at its
# steps where it was stopped, or where there are twice as many as frames.
LONG, ENOUGH = 1.0, 2
# Of a run that goes on: the most rows and the fewest, and the longest text that is worth sending for a short while.
MOST_ROWS, FEWEST_ROWS, LONGEST_TEXT = 800, 40, 1 << 20
# Rows that are looked at for each that is sent: curves tell the least and the most of them.
BETWEEN = 12


def runs_view(runs: Sequence[Trajectory], labels: Sequence[str]) -> dict[str, Any]:
    """Runs that are over, over each other."""
    times = frame_times(runs)
    if len(runs) == 1 and _is_shown_at_steps(runs[0], len(times)):
        samples = [rows_near(runs[0], times)]
        times = samples[0].time
    else:
        samples = [run.at(within(run, times)) for run in runs]
    return {**_view(samples, labels, times, whole=runs), "events": event_times(runs[0])}


def _is_shown_at_steps(run: Trajectory, frames: int) -> bool:
    seconds = sum(piece.work.seconds for piece in run.pieces if not piece.run_data.plant.is_implicit)
    return seconds > LONG and (run.status is Ending.INTERRUPTED or len(run.time) > ENOUGH * frames)


def _view(
    samples: Sequence[Samples],
    labels: Sequence[str],
    times: np.ndarray,
    moves: bool = True,
    whole: Sequence[Samples] = (),
) -> dict[str, Any]:
    title = samples[0].system.name
    try:
        scenes = [recorded_scene(sample, label) for sample, label in zip(samples, labels)] if moves else []
    except DaedalusError:
        scenes = []
    if not scenes:
        return curves_data(title, samples, labels, times, whole)
    scenes = [Scene(s.label, times, s.shapes, s.up, s.flat) for s in scenes]
    return viewer_data(title, scenes, samples, None, 1.0, whole)


class LiveView(Onlooker):
    """Sends what a run has computed so far to whoever looks; what is too much is thinned, what fails is left out.

    reached: gets the share of the span. send: gets the viewer's data as JSON.
    """

    def __init__(
        self,
        span: tuple[float, float],
        label: str,
        reached: Callable[[float], object],
        send: Callable[[str], object],
    ) -> None:
        super().__init__(BETWEEN * MOST_ROWS)
        self._rows = MOST_ROWS
        self._span, self._label, self._reached, self._send = span, label, reached, send
        self._moves, self._fails = True, False

    def __call__(self, t: float) -> None:
        """The run has reached t."""
        self._reached(self._share(t))

    def show(self, samples: Samples) -> None:
        """Send these rows, or see to it that the next ones are fewer."""
        if self._fails or len(samples.time) < 2:
            return
        try:
            text = json_text(self._data(samples))
        except Exception:  # a picture of half a run must never end it
            self._fails = True
            return
        if len(text) <= LONGEST_TEXT:
            self._send(text)
        elif self._rows > FEWEST_ROWS:
            self._rows = max(FEWEST_ROWS, self._rows * LONGEST_TEXT // (2 * len(text)))
            self.most = BETWEEN * self._rows
        else:
            self._fails, self._moves = not self._moves, False

    def _data(self, samples: Samples) -> dict[str, Any]:
        """The rows as the viewer takes them; its axis ends where the span does, or at the last half of it not begun."""
        count = len(samples.time)
        chosen = np.unique(np.append(np.arange(0, count, max(1, -(-count // (self._rows - 1)))), count - 1))
        some = samples if len(chosen) == count else rows_of(samples, chosen)
        data = _view([some], [self._label], some.time, self._moves, [samples])
        begin, end = self._span
        halvings = math.floor(-math.log2(max(self._share(float(samples.time[-1])), NOT_ZERO)))
        return {**data, "until": begin + (end - begin) * 0.5**halvings}

    def _share(self, t: float) -> float:
        begin, end = self._span
        return min(1.0, max(0.0, (t - begin) / (end - begin)))
