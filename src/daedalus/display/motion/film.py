"""A film of a scene as GIF or MP4, drawn with matplotlib: for slides and pages that show no HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.display.motion.scene import MovingShape, Scene
from daedalus.errors import InputError

FRAMES_PER_SECOND = 25
MOST_FRAMES = 500
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_FACES = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]


def save_film(scenes: Sequence[Scene], data: dict[str, Any], file: Path) -> None:
    """Draw the frames one by one; MP4 needs ffmpeg on the path."""
    import matplotlib.pyplot as plt
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if file.suffix.lower() == ".mp4" and not FFMpegWriter.isAvailable():
        raise InputError(
            "A film as MP4 needs ffmpeg.",
            "no program `ffmpeg` was found on the path",
            because="Daedalus brings no video codec.",
            remedy=f"tr.animate({file.with_suffix('.gif').name!r}), or install ffmpeg",
        )
    times, speed = scenes[0].times, data["speed"]
    seconds = abs(times[-1] - times[0]) / speed
    count = int(np.clip(seconds * FRAMES_PER_SECOND, 2, MOST_FRAMES))
    figure = plt.figure(figsize=(6.4, 4.8))
    axes = figure.add_axes((0, 0, 1, 0.94), projection="3d")
    maker = FFMpegWriter if file.suffix.lower() == ".mp4" else PillowWriter
    writer = maker(fps=max(1, round(count / max(seconds, 1e-9)) if count == MOST_FRAMES else FRAMES_PER_SECOND))
    try:
        with writer.saving(figure, str(file), dpi=90):
            for position in np.linspace(0, len(times) - 1, count):
                draw_frame(axes, scenes, data, float(position))
                figure.suptitle(f"{data['title']}   t = {np.interp(position, np.arange(len(times)), times):.2f}")
                writer.grab_frame()
    finally:
        plt.close(figure)


def draw_frame(axes: Any, scenes: Sequence[Scene], data: dict[str, Any], position: float) -> None:
    """The scenes at a position among their frames, drawn into 3D axes."""
    axes.clear()
    axes.set_axis_off()
    turn = _upright(np.array(data["up"]))
    for k, (scene, run) in enumerate(zip(scenes, data["runs"])):
        for shape, told in zip(scene.shapes, run["shapes"]):
            if shape.group not in data["hidden"]:
                colour = run["colour"] if k else shape.settings.get("colour") or told["paint"] or run["colour"]
                _draw(axes, shape, position, turn, colour, data, opacity=0.4 if k else 1.0)
    centre = turn @ np.array(data["centre"])
    reach = 0.72 * data["radius"]
    axes.set(**{f"{letter}lim": (c - reach, c + reach) for letter, c in zip("xyz", centre)})
    axes.set_box_aspect((1, 1, 1))
    axes.view_init(elev=0 if data["flat"] else 20, azim=-90 if data["flat"] else -60)


def _upright(up: np.ndarray) -> np.ndarray:
    """The rotation that takes `up` to z, as matplotlib draws it; y goes to z by a quarter turn about x."""
    if up[1] > 0.9:
        return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    return np.eye(3) if up[2] >= 0 else np.diag([1.0, -1.0, -1.0])


def _row(shape: MovingShape, position: float) -> np.ndarray:
    if len(shape.track) == 1:
        return shape.track[0]
    left = min(int(position), len(shape.track) - 2)
    share = position - left
    return (1 - share) * shape.track[left] + share * shape.track[left + 1]  # type: ignore[no-any-return]


def _draw(
    axes: Any, shape: MovingShape, position: float, turn: np.ndarray, colour: str, data: dict[str, Any], opacity: float
) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    row = _row(shape, position)
    look = {"color": colour, "alpha": opacity}
    if shape.kind in ("rod", "spring", "line"):
        axes.plot(*(turn @ row.reshape(-1, 3).T), linewidth=2.4, **look)
    elif shape.kind == "trace":
        axes.plot(*(turn @ shape.track[: int(position) + 1].T), linewidth=1.0, color=colour, alpha=0.6 * opacity)
    elif shape.kind in ("arrow", "force"):
        reach = shape.sizes.get("scale", [data["reach"][shape.kind]])[0]
        axes.quiver(*(turn @ row[:3]), *(turn @ row[3:] * reach), color="#d55e00", alpha=opacity)
    elif shape.kind in ("box", "mesh"):
        points, faces = _solid(shape)
        placed = (turn @ (_matrix(row) @ points.T + row[:3, None])).T
        axes.add_collection3d(
            Poly3DCollection([placed[list(f)] for f in faces], facecolor=colour, edgecolor="0.3", linewidth=0.4,
                             alpha=0.85 * opacity)
        )  # fmt: skip
    elif shape.kind in ("point", "sphere", "joint", "cylinder"):
        size = {"joint": 12}.get(shape.kind, 60)
        axes.scatter(*(turn @ row[:3]), s=size, depthshade=False, **look)


def _solid(shape: MovingShape) -> tuple[np.ndarray, Any]:
    if shape.mesh is not None:
        return shape.mesh[0] * shape.sizes.get("scale", [1.0])[0], shape.mesh[1]
    return _CORNERS * np.array([*shape.sizes["size"], shape.sizes["size"][-1]][:3]), _FACES


def _matrix(row: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(row[[4, 5, 6, 3]]).as_matrix() if len(row) == 7 else np.eye(3)  # type: ignore[no-any-return]
