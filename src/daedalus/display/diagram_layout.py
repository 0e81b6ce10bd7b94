"""Where the parts of a diagram stand and how the lines between them run: columns of parts, channels between columns.

Parts stand in columns by their distance from a source. Every set of joined ports has a vertical place of its own in the
channel behind its first column; where it reaches further than the next column it runs along a track below all parts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

WIDTH, LINE, GAP, CHANNEL, TRACK = 132.0, 17.0, 34.0, 30.0, 12.0
HEAD = 36.0
Point = tuple[float, float]


@dataclass
class Box:
    """A part: its name, what it is, its colour, and the ports on its left and right side."""

    name: str
    title: str
    colour: str
    column: int = 0
    x: float = 0.0
    y: float = 0.0
    left: list[str] = field(default_factory=list)
    right: list[str] = field(default_factory=list)

    @property
    def height(self) -> float:
        """As tall as its ports need."""
        return HEAD + LINE * max(len(self.left), len(self.right), 1) + 6

    def place(self, port: str) -> Point:
        """Where a port sits on the edge of the box."""
        side = self.left if port in self.left else self.right
        y = self.y + HEAD + LINE * (side.index(port) + 0.5)
        return (self.x if side is self.left else self.x + WIDTH), y


@dataclass
class Net:
    """Joined ports: (part, port) each, in one colour; `directed` for signals, whose first end is the source."""

    ends: list[tuple[str, str]]
    colour: str
    directed: bool = False
    lines: list[list[Point]] = field(default_factory=list)
    dots: list[Point] = field(default_factory=list)
    verticals: int = 0  # how many of the lines, the last ones, run upright


def laid_out(boxes: dict[str, Box], nets: list[Net], first: str | None) -> tuple[float, float]:
    """Place all boxes and lines; returns the width and height of the drawing."""
    columns = _columns(boxes, nets, first)
    _sides(boxes, nets)
    # How many lines run in the channel behind each column.
    gaps = Counter(k for net in nets for k in _columns_of(boxes, net))
    x = 20.0
    for k, column in enumerate(columns):
        for name in column:
            boxes[name].x = x
        x += WIDTH + CHANNEL + TRACK * max(gaps[k], 1)
    _heights(boxes, columns)
    bottom = max((box.y + box.height for box in boxes.values()), default=0.0) + GAP
    tracks = _route(boxes, nets)
    return x + 10, bottom + TRACK * tracks + 20


def _columns(boxes: dict[str, Box], nets: list[Net], first: str | None) -> list[list[str]]:
    """Parts by their distance from the first one, each column ordered by where its neighbours stand."""
    near: dict[str, set[str]] = {name: set() for name in boxes}
    for net in nets:
        names = {part for part, _ in net.ends}
        if len(names) <= 6:
            for name in names:
                near[name] |= names - {name}
    distance: dict[str, int] = {}
    for start in (first, *boxes):
        front, steps = {name for name in boxes if name == start and name not in distance}, 0
        while front:
            distance |= dict.fromkeys(front, steps)
            front, steps = {other for name in front for other in near[name]} - distance.keys(), steps + 1
    columns: list[list[str]] = [[] for _ in range(max(distance.values(), default=0) + 1)]
    for name in boxes:
        columns[distance[name]].append(name)
        boxes[name].column = distance[name]
    for k in range(1, len(columns)):
        rank = {name: float(i) for i, name in enumerate(columns[k - 1])}
        own = {name: _mean([rank[o] for o in near[name] if o in rank], i) for i, name in enumerate(columns[k])}
        columns[k].sort(key=lambda name, own=own: own[name])  # type: ignore[misc]
    return columns


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _sides(boxes: dict[str, Box], nets: list[Net]) -> None:
    """Ports of the first column of a net sit on the right of their part, all others on the left."""
    for net in nets:
        low = min(boxes[part].column for part, _ in net.ends)
        for part, port in net.ends:
            box = boxes[part]
            side = box.right if box.column == low else box.left
            if port not in (*box.left, *box.right):
                side.append(port)


def _columns_of(boxes: dict[str, Box], net: Net) -> list[int]:
    """The channels that a net has a vertical line in: behind its first column, and before every further one."""
    reached = {boxes[part].column for part, _ in net.ends}
    low = min(reached)
    return sorted({low, *(column - 1 for column in reached if column > low)})


def _heights(boxes: dict[str, Box], columns: list[list[str]]) -> None:
    totals = [sum(boxes[name].height + GAP for name in column) for column in columns]
    tallest = max(totals, default=0.0)
    for k, (column, total) in enumerate(zip(columns, totals)):
        # Ports of neighbouring columns are not at one height, so that their lines do not lie on each other.
        y = 30.0 + (tallest - total) / 2 + 5.0 * (k % 3)
        for name in column:
            boxes[name].y = y
            y += boxes[name].height + GAP


def _route(boxes: dict[str, Box], nets: list[Net]) -> int:
    """The lines of every net; returns how many tracks run below the parts."""
    used = Counter[int]()
    bottom = max((box.y + box.height for box in boxes.values()), default=0.0) + GAP * 0.6
    edge = {box.column: box.x + WIDTH for box in boxes.values()}
    tracks = 0
    for net in nets:
        reached = _columns_of(boxes, net)
        at = {}
        for k in reached:
            at[k] = edge[k] + CHANNEL / 2 + 6 + TRACK * used[k]
            used[k] += 1
        track = None
        if len(reached) > 1:
            track = bottom + TRACK * tracks
            tracks += 1
            net.lines.append([(at[reached[0]], track), (at[reached[-1]], track)])
        low = min(boxes[part].column for part, _ in net.ends)
        heights: dict[int, list[float]] = {k: [] for k in reached}
        for part, port in net.ends:
            column = boxes[part].column
            k = low if column == low else column - 1
            x, y = boxes[part].place(port)
            net.lines.append([(x, y), (at[k], y)])
            heights[k].append(y)
        net.verticals = len(heights)
        for k, ys in heights.items():
            ends = [*ys, *([track] if track is not None else [])]
            net.lines.append([(at[k], min(ends)), (at[k], max(ends))])
            net.dots += [(at[k], y) for y in sorted(ends)[1:-1]]
            if track is not None and k not in (reached[0], reached[-1]):
                net.dots.append((at[k], track))
    return tracks
