"""A film of a scene as GIF or MP4 that looks like the page: its title, clock, scene and curves with a moving cursor."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.display.film_file import save_frames
from daedalus.display.motion.drawn_scene import scene_picture
from daedalus.display.motion.scene import Scene

FRAMES_PER_SECOND = 25
MOST_FRAMES = 300
# Pixels: the film, its title, its scene, and its curves, of which so many panels are drawn.
WIDTH, TITLE, SCENE, CURVES, MOST_PANELS = 640, 36, 364, 180, 2
INK, SOFT, RULE, GRID = "#1d242b", "#5b6670", "#d9dee3", "#e3e7eb"


def save_film(scenes: Sequence[Scene], data: dict[str, Any], file: Path) -> None:
    """Draw the frames one by one into a GIF or an MP4."""
    times = scenes[0].times
    seconds = abs(times[-1] - times[0]) / data["speed"]
    count = int(np.clip(seconds * FRAMES_PER_SECOND, 2, MOST_FRAMES))
    rate = count / seconds if count == MOST_FRAMES else FRAMES_PER_SECOND
    save_frames(film_frames(scenes, data, np.linspace(0, len(times) - 1, count)), rate, file)


def film_frames(scenes: Sequence[Scene], data: dict[str, Any], positions: np.ndarray) -> Iterator[Any]:
    """Pictures of whole frames at positions among the times of the scenes."""
    from PIL import Image, ImageDraw

    times = scenes[0].times
    strip, cursors = _curves(data, times)
    height = TITLE + SCENE + (CURVES if strip is not None else 0)
    digits = int(np.clip(3 - np.ceil(np.log10(max(abs(times[-1] - times[0]), 1e-9))), 0, 8))
    for position in positions:
        now = float(np.interp(position, np.arange(len(times)), times))
        frame = Image.new("RGB", (WIDTH, height), "white")
        frame.paste(scene_picture(scenes, data, float(position), (WIDTH, SCENE)), (0, TITLE))
        pen = ImageDraw.Draw(frame)
        pen.text((14, TITLE / 2), data["title"], fill=INK, font=_font(15, bold=True), anchor="lm")
        pen.text((WIDTH - 14, TITLE / 2), f"t = {now:.{digits}f} s", fill=INK, font=_font(13), anchor="rm")
        pen.line((0, TITLE, WIDTH, TITLE), fill=RULE)
        _legend(pen, data)
        if strip is not None:
            frame.paste(strip, (0, TITLE + SCENE))
            for left, right, top, bottom in cursors:
                x = left + (right - left) * (now - times[0]) / (times[-1] - times[0])
                pen.line((x, TITLE + SCENE + top, x, TITLE + SCENE + bottom), fill=INK)
        yield frame


def _legend(pen: Any, data: dict[str, Any]) -> None:
    """Which colour is which run, and how long an arrow of a force is."""
    x, y = 12.0, TITLE + SCENE - 14
    runs = data["runs"] if len(data["runs"]) > 1 else []
    for run in runs:
        pen.line((x, y, x + 14, y), fill=run["colour"], width=3)
        pen.text((x + 20, y), run["label"], fill=INK, font=_font(12), anchor="lm")
        x += 34 + pen.textlength(run["label"], font=_font(12))
    shown = [s for run in data["runs"] for s in run["shapes"] if s["kind"] == "force" and "scale" not in s["sizes"]]
    if shown and "forces" not in data["hidden"]:
        scale = f"force arrows: {1 / data['reach']['force']:.4g} N per metre"
        pen.text((x, y), scale, fill=INK, font=_font(12), anchor="lm")


def _curves(data: dict[str, Any], times: np.ndarray) -> tuple[Any, list[tuple[float, float, float, float]]]:
    """The curves below the scene, drawn once, and where each panel's cursor goes: left, right, top, bottom."""
    from PIL import Image, ImageDraw

    panels = data["panels"][:MOST_PANELS]
    if not panels:
        return None, []
    twice = 2
    image = Image.new("RGB", (twice * WIDTH, twice * CURVES), "white")
    pen, places = ImageDraw.Draw(image), []
    pen.line((0, 0, twice * WIDTH, 0), fill=RULE, width=twice)
    wide = WIDTH / len(panels)
    for k, panel in enumerate(panels):
        place = (k * wide + 62, (k + 1) * wide - 16, 26.0, CURVES - 58.0)
        _panel(pen, panel, times, place, twice)
        places.append(place)
    return image.reduce(twice), places


def _panel(
    pen: Any, panel: dict[str, Any], times: np.ndarray, place: tuple[float, float, float, float], twice: int
) -> None:
    left, right, top, bottom = (twice * edge for edge in place)
    curves = [(one, np.frombuffer(base64.b64decode(one["values"]), "<f4").astype(float)) for one in panel["series"]]
    finite = np.concatenate([values[np.isfinite(values)] for _, values in curves])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    size = max(abs(low), abs(high))
    room = 0.06 * (high - low) if high - low > 1e-5 * size else 0.05 * size or 1.0
    low, high = low - room, high + room
    names, unit = panel["names"], panel["label"][len(panel["names"]) :]
    heading = _fitting(pen, names, unit, right - left + 44 * twice, _font(12 * twice, bold=True))
    pen.text((left - 44 * twice, 13 * twice), heading, fill=SOFT, font=_font(12 * twice, bold=True), anchor="lm")
    _keys(pen, panel, (left, right, bottom + 43 * twice), twice)
    for tick in _ticks(low, high, 4):
        y = bottom + (top - bottom) * (tick - low) / (high - low)
        pen.line((left, y, right, y), fill=GRID, width=twice)
        pen.text((left - 5 * twice, y), f"{tick + 0.0:.4g}", fill=SOFT, font=_font(11 * twice), anchor="rm")
    begin, end = float(min(times[0], times[-1])), float(max(times[0], times[-1]))
    for tick in _ticks(begin, end, 3):
        x = left + (right - left) * (tick - times[0]) / (times[-1] - times[0])
        pen.text((x, bottom + 10 * twice), f"{tick + 0.0:.4g}", fill=SOFT, font=_font(11 * twice), anchor="mm")
    pen.text(((left + right) / 2, bottom + 26 * twice), "time [s]", fill=SOFT, font=_font(11 * twice), anchor="mm")
    across = left + (right - left) * np.linspace(0, 1, len(times))
    for one, values in curves:
        shown = np.isfinite(values)
        along = bottom + (top - bottom) * (values - low) / (high - low)
        points = np.column_stack([across[shown], along[shown]])
        if one.get("step"):
            points = np.column_stack([np.repeat(points[:, 0], 2)[1:], np.repeat(points[:, 1], 2)[:-1]])
        if len(points) > 1:
            pen.line(
                [(float(x), float(y)) for x, y in points], fill=one["colour"], width=round(1.6 * twice), joint="curve"
            )


def _keys(pen: Any, panel: dict[str, Any], place: tuple[float, float, float], twice: int) -> None:
    """Which colour is which curve, as many of them as there is room for."""
    x, right, y = place
    font = _font(10 * twice)
    for k, one in enumerate(panel["series"]):
        rest = len(panel["series"]) - k
        more = f"+ {rest} more" if rest > 1 else ""
        wide = 20 * twice + pen.textlength(one["label"], font=font)
        if x + wide + (8 * twice + pen.textlength(more, font=font) if more else 0) > right:
            pen.text((x, y), f"+ {rest} more", fill=SOFT, font=font, anchor="lm")
            return
        pen.line((x, y, x + 12 * twice, y), fill=one["colour"], width=3 * twice)
        pen.text((x + 16 * twice, y), one["label"], fill=SOFT, font=font, anchor="lm")
        x += wide + 8 * twice


def _fitting(pen: Any, text: str, end: str, most: float, font: Any) -> str:
    """A text with its end, shortened before that end where it is too long."""
    if pen.textlength(text + end, font=font) <= most:
        return text + end
    while len(text) > 3 and pen.textlength(f"{text}…{end}", font=font) > most:
        text = text[:-1].rstrip(", ")
    return f"{text}…{end}"


def _ticks(low: float, high: float, count: int) -> list[float]:
    raw = (high - low) / count
    decade = 10.0 ** np.floor(np.log10(raw))
    step = next(f * decade for f in (1, 2, 5, 10) if f * decade >= 0.999 * raw)
    return [float(v) * step for v in np.arange(np.ceil(low / step), np.floor(high / step + 1e-9) + 1) + 0.0]


@cache
def _font(size: int, bold: bool = False) -> Any:
    """The typeface that matplotlib brings."""
    from matplotlib import get_data_path
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(get_data_path(), "fonts", "ttf", name)), size)
