"""Draw a field of a run, an array with one to three axes: at one time, or as a film."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.display.film_file import save_frames
from daedalus.display.look import Axes, labelled, look, panel_of
from daedalus.errors import InputError
from daedalus.model.values import unit_of
from daedalus.simulation.result.trajectory import Trajectory

# Frames of a film, and how long it takes in seconds, unless asked for otherwise.
FRAMES, SECONDS = 60, 6.0
PIXELS_PER_INCH = 100


def plot_field(tr: Trajectory, name: str, t: float | None, ax: Axes | None) -> Any:
    """An array at one time: a curve over its cells for one axis, an image for two (first axis to the right).

    Of three axes it is the image in the middle of the third.
    """
    when = float(tr.time[-1] if t is None else t)
    values, where = _shown(np.asarray(tr.at(when)[name], dtype=float), name)
    unit = unit_of(tr.system, name)
    with look():
        figure, panel = panel_of(ax, (6.4, 4.8))
        shown = _draw(panel, values, name, unit, None)
        if values.ndim == 2:
            figure.colorbar(shown, ax=panel, label=labelled(name, unit))
        panel.set_title(f"{tr.system.name}: {name}{where} at t = {when:g} s")
    return figure


def animate_field(tr: Trajectory, name: str, path: str | Path | None, frames: int | None) -> Any:
    """The field over the time of the run, as a page that opens offline (.html), a film (.gif, .mp4) or an object."""
    from matplotlib.animation import FuncAnimation

    if path is not None and Path(path).suffix.lower() not in (".html", ".gif", ".mp4"):
        raise InputError(
            f"A film of a field cannot be written as {Path(path).suffix or Path(path).name!r}.",
            because="the extension of the path chooses the format.",
            remedy='tr.animate_field("u", "u.html"), or .gif, .mp4',
        )
    times = np.linspace(tr.time[0], tr.time[-1], FRAMES if frames is None else _count(frames))
    if tr.saved is not None:  # it has rows alone
        own = np.asarray(tr.time)
        times = own[np.unique(np.abs(own[:, None] - times).argmin(axis=0))]
    rows = np.asarray(tr.at(times)[name], dtype=float)
    _, where = _shown(rows[0], name)
    values = np.stack([_shown(row, name)[0] for row in rows])
    unit = unit_of(tr.system, name)
    finite = values[np.isfinite(values)]
    limits = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    with look():
        figure, panel = panel_of(None, (6.4, 4.8))
        shown = _draw(panel, values[0], name, unit, limits)
        if values[0].ndim == 2:
            figure.colorbar(shown, ax=panel, label=labelled(name, unit))

        def show(k: int) -> list[Any]:
            if values[k].ndim == 2:
                shown.set_data(values[k].T)
            else:
                shown.set_ydata(values[k])
            panel.set_title(f"{tr.system.name}: {name}{where} at t = {times[k]:.4g} s")
            return [shown]

        # The layout is computed once, for the first picture, and kept.
        show(0)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        film = FuncAnimation(figure, show, frames=len(times), interval=1000 * SECONDS / len(times), blit=False)
        # An animation that is never shown would warn when it is forgotten.
        film._draw_was_started = True  # type: ignore[attr-defined]
        if path is not None:
            _save(film, (_picture(figure, show, k) for k in range(len(times))), Path(path), len(times))
        import matplotlib.pyplot as plt

        plt.close(figure)
    return film


def _picture(figure: Any, show: Callable[[int], Any], k: int) -> Any:
    """Frame k as an image of a size that every video codec accepts."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    show(k)
    figure.set_dpi(PIXELS_PER_INCH)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _save(film: Any, pictures: Iterator[Any], path: Path, frames: int) -> None:
    rate = max(1, round(frames / SECONDS))
    if path.suffix.lower() == ".html":
        path.write_text(film.to_jshtml(fps=rate), encoding="utf-8")
    else:
        save_frames(pictures, rate, path)


def _draw(panel: Any, values: np.ndarray, name: str, unit: str, limits: tuple[float, float] | None) -> Any:
    if values.ndim == 2:
        low, high = limits or (None, None)
        panel.grid(False)
        panel.set(xlabel="first axis [cells]", ylabel="second axis [cells]")
        return panel.imshow(values.T, origin="lower", vmin=low, vmax=high, aspect="equal", cmap="viridis")
    (line,) = panel.plot(np.arange(len(values)), values, label=name)
    if limits:
        margin = 0.05 * max(limits[1] - limits[0], 1e-12)
        panel.set_ylim(limits[0] - margin, limits[1] + margin)
    panel.set(xlabel="cell", ylabel=labelled(name, unit))
    return line


def _count(frames: int) -> int:
    if isinstance(frames, bool) or int(frames) != frames or frames < 2:
        raise InputError("frames is a whole number of 2 or more.", f"got {frames!r}", remedy="frames=60")
    return int(frames)


def _shown(values: np.ndarray, name: str) -> tuple[np.ndarray, str]:
    """What a picture shows of a field: all, or the middle of the third axis, and which that is."""
    if values.ndim not in (1, 2, 3) or values.size < 2:
        raise InputError(
            f"{name} is not a field.",
            f"its shape is {values.shape}",
            because="a field has one to three axes with several cells.",
            remedy=f"tr.plot([{name!r}])",
        )
    if values.ndim < 3:
        return values, ""
    middle = values.shape[2] // 2
    return values[:, :, middle], f"[:, :, {middle}]"
