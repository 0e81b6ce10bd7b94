"""Pictures of a scene without a browser: the camera, colours, light and grid of the viewer, drawn by Pillow.

Faces, discs and lines are projected, shaded and painted from the farthest to the nearest, at twice the size of the
picture. The camera looks as the viewer's does: 35 degrees high, so far away that all corners of the scene are seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from daedalus.display.motion.scene import MovingShape, Scene

BACKGROUND, GRID = "#f7f8fa", "#56606a"
VIEW_ANGLE = math.radians(35.0)
# Pixels: the least radius of a body, the least width of a rod or a line.
LEAST_BODY, LEAST_LINE = 4.5, 2.0
# Arrows end at this many units of the scene, as in the viewer.
LONGEST_ARROW = 0.9
TWICE = 2


class Painted(NamedTuple):
    """Something to paint: how far away, which points on the screen, a colour with opacity, and a width of lines."""

    depth: float
    points: np.ndarray
    colour: tuple[int, int, int, int]
    width: float = 0.0  # 0: a filled polygon; negative: a ball of that radius


class Camera:
    """Where the scene is looked at from, and where its points are on the screen."""

    def __init__(self, data: dict[str, Any], size: tuple[int, int], target: np.ndarray | None = None) -> None:
        self.size = size
        self.up = np.array(data["up"], dtype=float)
        across = np.array([1.0, 0.0, 0.0]) if abs(self.up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
        right = across - self.up * (across @ self.up)
        self.sideways = right / np.linalg.norm(right)
        self.towards = np.cross(self.sideways, self.up)
        azimuth, height = (0.0, 0.0) if data["flat"] else (0.65, 0.42)
        self.back = (
            math.cos(height) * (math.cos(azimuth) * self.towards + math.sin(azimuth) * self.sideways)
            + math.sin(height) * self.up
        )
        self.right = np.cross(self.up, self.back)
        self.right /= np.linalg.norm(self.right)
        self.above = np.cross(self.back, self.right)
        centre = np.array(data["centre"])
        self.target = centre if target is None else target
        self.away = 7.0 * data["unit"] if target is not None else self._fitting(data, centre)
        self.sun = 3.0 * self.up + self.towards + 0.7 * self.sideways
        self.sun /= np.linalg.norm(self.sun)

    def _fitting(self, data: dict[str, Any], centre: np.ndarray) -> float:
        """How far away all corners of the scene are in the picture."""
        half, aspect = math.tan(VIEW_ANGLE / 2), self.size[0] / self.size[1]
        away = [0.2 * data["radius"]]
        for k in range(8):
            corner = np.array([(data["high"] if (k >> i) & 1 else data["low"])[i] for i in range(3)]) - centre
            depth = corner @ self.back
            away += [abs(corner @ self.right) / (half * aspect) + depth, abs(corner @ self.above) / half + depth]
        return 1.18 * max(away)

    def depth(self, points: np.ndarray) -> np.ndarray:
        """How far in front of the camera points are, m."""
        return self.away - (points - self.target) @ self.back

    def project(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) on the screen, (n, 2) in pixels from its upper left corner."""
        scale = self.scale(self.depth(points))
        from_target = points - self.target
        x = self.size[0] / 2 + scale * (from_target @ self.right)
        y = self.size[1] / 2 - scale * (from_target @ self.above)
        return np.stack([x, y], axis=1)

    def scale(self, depth: Any) -> Any:
        """Pixels a metre has at a depth."""
        return self.size[1] / (2 * math.tan(VIEW_ANGLE / 2)) / np.maximum(depth, 1e-3 * self.away)

    def light(self, normals: np.ndarray) -> np.ndarray:
        """How bright faces are, by their normals."""
        return 0.52 + 0.2 * (normals @ self.up) + 0.42 * np.maximum(normals @ self.sun, 0.0)


def scene_picture(scenes: Sequence[Scene], data: dict[str, Any], position: float, size: tuple[int, int]) -> Any:
    """The scenes at a position among their frames, as a Pillow image of a size in pixels."""
    from PIL import Image, ImageDraw

    large = (TWICE * size[0], TWICE * size[1])
    camera = Camera(data, large, _followed(scenes[0], data, position))
    image = Image.new("RGB", large, BACKGROUND)
    pen = ImageDraw.Draw(image, "RGBA")
    for grid_line in _grid(camera, data):
        pen.line([tuple(p) for p in grid_line], fill=(*_rgb(GRID), 72), width=TWICE)
    painted: list[Painted] = []
    for k, (scene, run) in enumerate(zip(scenes, data["runs"])):
        for shape, told in zip(scene.shapes, run["shapes"]):
            if shape.group in data["hidden"]:
                continue
            colour = (
                run["colour"] if len(scenes) > 1 else shape.settings.get("colour") or told["paint"] or run["colour"]
            )
            opacity = float(shape.settings.get("opacity", 1.0)) * (0.45 if k else 1.0)
            painted += _painted(camera, shape, position, _rgb(colour), opacity, data)
    painted.sort(key=lambda one: -one.depth)
    for one in painted:
        _paint(pen, one, camera)
    return image.reduce(TWICE)


def _paint(pen: Any, one: Painted, camera: Camera) -> None:
    if not np.all(np.isfinite(one.points)):
        return
    if one.width < 0:
        _ball(pen, one, camera)
    elif one.width:
        pen.line([tuple(p) for p in one.points], fill=one.colour, width=max(1, round(one.width)), joint="curve")
    else:
        pen.polygon([tuple(p) for p in one.points], fill=one.colour)


def _ball(pen: Any, one: Painted, camera: Camera) -> None:
    """A ball as discs that become brighter towards the light."""
    (x, y), radius = one.points[0], -one.width
    towards = np.array([camera.sun @ camera.right, -(camera.sun @ camera.above)])
    for share, bright in ((1.0, 0.62), (0.9, 0.74), (0.75, 0.85), (0.57, 0.95), (0.38, 1.06), (0.2, 1.15)):
        middle = np.array([x, y]) + (1 - share) * 0.55 * radius * towards
        box = (*(middle - share * radius), *(middle + share * radius))
        pen.ellipse(box, fill=(*_shaded(one.colour[:3], bright), one.colour[3]))


def _followed(scene: Scene, data: dict[str, Any], position: float) -> np.ndarray | None:
    for shape in scene.shapes:
        if data.get("follow") and shape.name == data["follow"]:
            return _row(shape, position)[:3]
    return None


def _row(shape: MovingShape, position: float) -> np.ndarray:
    if len(shape.track) == 1:
        return shape.track[0]
    left = min(int(position), len(shape.track) - 2)
    share = position - left
    return (1 - share) * shape.track[left] + share * shape.track[left + 1]


def _grid(camera: Camera, data: dict[str, Any]) -> list[np.ndarray]:
    """The lines of the ground, or of the plane behind a flat scene, as the viewer draws them."""
    raw = 2.4 * (3 * data["unit"] if data["follow"] else data["radius"]) / 10
    decade = 10.0 ** math.floor(math.log10(raw))
    step = next(f * decade for f in (1, 2, 5, 10) if f * decade >= 0.999 * raw)
    normal = camera.towards if data["flat"] else camera.up
    if data["flat"]:
        level = -0.02 * data["unit"]
    elif data["follow"]:
        level = math.floor((camera.target @ camera.up - 2.2 * data["unit"]) / step) * step
    else:
        level = data["floor"]
    centre = np.round(camera.target / step) * step
    centre = centre + normal * (level - centre @ normal)
    one = camera.sideways
    two = np.cross(normal, one)
    lines = []
    for k in range(-10, 11):
        for along, across in ((one, two), (two, one)):
            ends = np.array([centre + step * (k * across - 10 * along), centre + step * (k * across + 10 * along)])
            clipped = _in_front(camera, ends)
            if clipped is not None:
                lines.append(camera.project(clipped))
    return lines


def _in_front(camera: Camera, ends: np.ndarray) -> np.ndarray | None:
    """The part of a segment that lies before the camera."""
    near, depth = 0.08 * camera.away, camera.depth(ends)
    if np.all(depth < near):
        return None
    for k in (0, 1):
        if depth[k] < near:
            ends = ends.copy()
            ends[k] += (ends[1 - k] - ends[k]) * (near - depth[k]) / (depth[1 - k] - depth[k])
    return ends


# -- shapes ------------------------------------------------------------------------------------------------------------


def _painted(
    camera: Camera,
    shape: MovingShape,
    position: float,
    colour: tuple[int, int, int],
    opacity: float,
    data: dict[str, Any],
) -> list[Painted]:
    row, unit, sizes = _row(shape, position), data["unit"], shape.sizes
    if not np.all(np.isfinite(row)):
        return []
    alpha = round(255 * opacity)
    if shape.kind in ("sphere", "point", "joint"):
        radius = sizes["radius"][0] if "radius" in sizes else {"joint": 0.022}.get(shape.kind, 0.045) * unit
        least = LEAST_BODY / 2 if shape.kind == "joint" else LEAST_BODY
        return [_ball_at(camera, row[:3], radius, least, (*colour, alpha))]
    if shape.kind in ("line", "trace"):
        points = row.reshape(-1, 3) if shape.kind == "line" else _path(shape, position, row)
        return _lines(camera, points, LEAST_LINE, (*colour, round(0.6 * alpha) if shape.kind == "trace" else alpha))
    if shape.kind == "spring":
        return _spring(camera, row, shape, unit, (*colour, alpha))
    if shape.kind in ("arrow", "force"):
        return _arrow(camera, row, shape, data, alpha)
    if shape.kind == "frame":
        return _frame(camera, row, sizes, unit, alpha)
    vertices, faces = _solid(camera, shape, row, unit)
    return _faces(camera, vertices, faces, colour, round(0.2 * alpha) if shape.kind == "plane" else alpha,
                  edges=shape.kind == "box", both=shape.kind in ("mesh", "plane"))  # fmt: skip


def _ball_at(
    camera: Camera, place: np.ndarray, radius: float, least: float, colour: tuple[int, int, int, int]
) -> Painted:
    depth = float(camera.depth(place[None])[0])
    pixels = max(float(radius * camera.scale(depth)), TWICE * least)
    return Painted(depth, camera.project(place[None]), colour, -pixels)


def _path(shape: MovingShape, position: float, row: np.ndarray) -> np.ndarray:
    """The trace so far, at most as finely as one sees."""
    track = shape.track[: int(position) + 1]
    return np.vstack([track[:: max(1, len(track) // 400)], row])


def _lines(camera: Camera, points: np.ndarray, width: float, colour: tuple[int, int, int, int]) -> list[Painted]:
    depth = camera.depth(points)
    shown = np.isfinite(depth) & (depth > 0.08 * camera.away)
    if not shown.all() or len(points) < 2:
        points, depth = points[shown], depth[shown]
    if len(points) < 2:
        return []
    if colour[3] < 255:  # one stroke: pieces would be darker where they meet
        return [Painted(float(depth.max()), camera.project(points), colour, TWICE * width)]
    on_screen = camera.project(points)
    return [Painted(float(depth[k : k + 2].mean()), on_screen[k : k + 2], colour, TWICE * width)
            for k in range(len(points) - 1)]  # fmt: skip


def _spring(
    camera: Camera, row: np.ndarray, shape: MovingShape, unit: float, colour: tuple[int, int, int, int]
) -> list[Painted]:
    radius = shape.sizes["radius"][0] if "radius" in shape.sizes else 0.04 * unit
    coils = shape.settings.get("coils", 8)
    begin, along = row[:3], row[3:6] - row[:3]
    length = float(np.linalg.norm(along))
    if not length:
        return []
    one, two = _across(along / length)
    share = np.linspace(0.0, 1.0, 12 * coils + 1)
    turn = 2 * math.pi * coils * np.clip((share - 0.08) / 0.84, 0, 1)
    around = np.where((share > 0.06) & (share < 0.94), radius, 0.0)[:, None]
    points = begin + share[:, None] * along + around * (np.cos(turn)[:, None] * one + np.sin(turn)[:, None] * two)
    width = max(LEAST_LINE, float(0.32 * radius * camera.scale(camera.depth(points).mean())) / TWICE)
    bright = camera.light(np.cos(turn)[:, None] * one + np.sin(turn)[:, None] * two) + 0.15
    return [one_line._replace(colour=(*_shaded(colour[:3], bright[k]), colour[3]))
            for k, one_line in enumerate(_lines(camera, points, width, colour))]  # fmt: skip


def _arrow(camera: Camera, row: np.ndarray, shape: MovingShape, data: dict[str, Any], alpha: int) -> list[Painted]:
    unit = data["unit"]
    along = row[3:6] * (shape.sizes["scale"][0] if "scale" in shape.sizes else data["reach"][shape.kind])
    length = float(np.linalg.norm(along))
    if length <= 1e-3 * unit:
        return []
    if "scale" not in shape.sizes and length > LONGEST_ARROW * unit:
        along, length = along * (LONGEST_ARROW * unit / length), LONGEST_ARROW * unit
    size = min(1.0, length / (0.15 * unit))
    neck = row[:3] + along * (1 - 0.1 * unit * size / length)
    colour = _rgb(shape.settings.get("colour", "#d55e00"))
    shaft = _prism(row[:3], neck, max(0.016 * unit, _thin(camera, row[:3])))
    head = _prism(neck, row[:3] + along, max(0.038 * unit * size, 2 * _thin(camera, row[:3])), 0.0)
    return [p for vertices, faces in (shaft, head) for p in _faces(camera, vertices, faces, colour, alpha)]


def _frame(camera: Camera, row: np.ndarray, sizes: dict[str, list[float]], unit: float, alpha: int) -> list[Painted]:
    length = sizes["length"][0] if "length" in sizes else 0.16 * unit
    turn, found = _matrix(row), []
    for k, colour in enumerate(("#d43d2a", "#2f9e44", "#1c6dd0")):
        vertices, faces = _prism(row[:3], row[:3] + length * turn[:, k], max(0.03 * length, _thin(camera, row[:3])))
        found += _faces(camera, vertices, faces, _rgb(colour), alpha)
    return found


def _solid(camera: Camera, shape: MovingShape, row: np.ndarray, unit: float) -> tuple[np.ndarray, Any]:
    """Vertices and faces of a shape where it is."""
    sizes, kind = shape.sizes, shape.kind
    faces: Any = BOX_FACES
    if kind == "rod":
        radius = sizes["radius"][0] if "radius" in sizes else 0.012 * unit
        return _prism(row[:3], row[3:6], max(radius, _thin(camera, (row[:3] + row[3:6]) / 2)))
    turn = _matrix(row)
    if kind in ("cylinder", "hinge"):
        radius, length = (sizes["radius"][0], sizes["length"][0]) if kind == "cylinder" else (0.02 * unit, 0.09 * unit)
        axis = turn[:, 2] * length / 2
        return _prism(row[:3] - axis, row[:3] + axis, radius, sides=24, start=turn[:, 0])
    if kind == "plane":
        side = sizes.get("size", [2.4 * unit])
        half = np.array([side[0], side[1] if len(side) > 1 else side[0]]) / 2
        local = np.array(
            [[-half[0], -half[1], 0], [half[0], -half[1], 0], [half[0], half[1], 0], [-half[0], half[1], 0]]
        )
        return local @ turn.T + row[:3], [(0, 1, 2, 3)]
    if kind == "ellipsoid":
        local, faces = BALL[0] * np.array([sizes["size"][min(k, len(sizes["size"]) - 1)] for k in range(3)]), BALL[1]
    elif shape.mesh is not None:
        local, faces = shape.mesh[0] * sizes.get("scale", [1.0])[0], shape.mesh[1]
    else:
        size = sizes.get("size", [0.1 * unit])
        local = CORNERS * np.array([size[k] if k < len(size) else size[min(1, len(size) - 1)] for k in range(3)])
    pixels = float(np.linalg.norm(np.ptp(local, axis=0)) * camera.scale(camera.depth(row[None, :3])[0])) / 2
    return local * max(1.0, TWICE * LEAST_BODY / max(pixels, 1e-9)) @ turn.T + row[:3], faces


CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
# Seen from outside, counted against the clock.
BOX_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def _round_solid(around: int = 24, along: int = 12) -> tuple[np.ndarray, Any]:
    """A ball of diameter one: rings of points from pole to pole, and the faces between them."""
    height, turn = np.linspace(-np.pi / 2, np.pi / 2, along + 1), np.linspace(0, 2 * np.pi, around, endpoint=False)
    rings = [0.5 * np.array([np.cos(h) * np.cos(a), np.cos(h) * np.sin(a), np.sin(h)]) for h in height for a in turn]
    faces = [
        (k * around + i, k * around + (i + 1) % around, (k + 1) * around + (i + 1) % around, (k + 1) * around + i)
        for k in range(along)
        for i in range(around)
    ]
    return np.array(rings), faces


BALL = _round_solid()


def _thin(camera: Camera, place: np.ndarray) -> float:
    """The least radius of a rod at a place, m."""
    return float(0.75 * TWICE / camera.scale(camera.depth(place[None])[0]))


def _across(along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two directions across a direction."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(along[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    one = np.cross(along, helper)
    one /= np.linalg.norm(one)
    return one, np.cross(along, one)


def _prism(
    begin: np.ndarray,
    end: np.ndarray,
    radius: float,
    top: float | None = None,
    sides: int = 12,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """A prism about an axis, with another radius at its top: a cylinder, or a cone."""
    along = end - begin
    length = np.linalg.norm(along)
    along = along / length if length else np.array([0.0, 0.0, 1.0])
    one, two = _across(along) if start is None else (start, np.cross(along, start))
    angle = 2 * math.pi * np.arange(sides) / sides
    ring = np.cos(angle)[:, None] * one + np.sin(angle)[:, None] * two
    vertices = np.vstack([begin + radius * ring, end + (radius if top is None else top) * ring])
    around = [(k, (k + 1) % sides, sides + (k + 1) % sides, sides + k) for k in range(sides)]
    return vertices, [*around, tuple(range(sides - 1, -1, -1)), tuple(range(sides, 2 * sides))]


def _faces(
    camera: Camera,
    vertices: np.ndarray,
    faces: Any,
    colour: tuple[int, int, int],
    alpha: int,
    edges: bool = False,
    both: bool = False,
) -> list[Painted]:
    """Faces that are seen, shaded by the light on them."""
    depth, on_screen = camera.depth(vertices), camera.project(vertices)
    if depth.min() < 0.02 * camera.away:
        return []
    eye, found = camera.target + camera.away * camera.back, []
    first, second, last = (vertices[[face[k] for face in faces]] for k in (0, 1, -1))
    normals = np.cross(second - first, last - first)
    sizes = np.linalg.norm(normals, axis=1)
    normals /= np.where(sizes > 0, sizes, 1.0)[:, None]
    facing = np.einsum("ij,ij->i", normals, eye - first)
    bright = camera.light(normals * np.where(facing > 0, 1.0, -1.0)[:, None])
    for k in np.flatnonzero((sizes > 0) & ((facing > 0) | both)):
        corners = list(faces[k])
        far, points = float(depth[corners].mean()), on_screen[corners]
        found.append(Painted(far, points, (*_shaded(colour, float(bright[k])), alpha)))
        if edges:
            found.append(Painted(far, np.vstack([points, points[:1]]), (34, 34, 34, alpha // 3), TWICE))
    return found


def _matrix(row: np.ndarray) -> np.ndarray:
    """The rotation of a row with a quaternion, scalar first."""
    if len(row) != 7:
        return np.eye(3)
    w, x, y, z = row[3:7] / (np.linalg.norm(row[3:7]) or 1.0)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


@cache
def _rgb(colour: str) -> tuple[int, int, int]:
    from PIL import ImageColor

    return ImageColor.getrgb(colour)[:3]


def _shaded(colour: tuple[int, ...], bright: float) -> tuple[int, int, int]:
    """A colour as bright as the light on it; what is brighter than all of it turns to white."""
    more = max(0.0, bright - 1.0)
    red, green, blue = (round(min(255.0, c * min(bright, 1.0) + more * (255 - c))) for c in colour[:3])
    return red, green, blue
