"""`m.diagram("machine.svg")`: the parts of a model and what joins them, as a drawing that can be printed."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import casadi as ca

from daedalus.display.diagram_layout import WIDTH, Box, Net, laid_out
from daedalus.errors import ModelError
from daedalus.model.assembly.domains import DOMAINS
from daedalus.model.assembly.joined_ports import joined_sets
from daedalus.model.doors.inner_parts import PartDoor
from daedalus.model.expressions import symbol_key

SIGNAL = "#666666"
PLAIN = "#444444"


def diagram(model: PartDoor, path: str | Path | None = None) -> str:
    """The diagram of a model as SVG text, also written to a file."""
    boxes, nets = _described(model)
    if not boxes:
        raise ModelError(
            f"The model {model.name!r} has no parts to draw.",
            because="a diagram shows parts and what joins them.",
            remedy="m.add(...), m.connect(...)",
        )
    width, height = laid_out(boxes, nets, _first(model, boxes))
    text = _svg(model.name, boxes, nets, width, height)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


# -- what is drawn -----------------------------------------------------------------------------------------------------


def _described(model: PartDoor) -> tuple[dict[str, Box], list[Net]]:
    """A box for every part of the model itself, and for its own ports; a net for every node and signal."""
    written = model.written.assembly
    top = [path for path in written.parts if "." not in path]
    boxes = {path: Box(path, written.parts[path].title, _colour(model, path)) for path in top}
    nets = []
    for sides in joined_sets(written):
        ends = []
        for side in sides:
            part, _, port = side.port.partition(".")
            if part not in boxes and not port:
                boxes[part] = Box(
                    part, f"port, {written.ports[part].domain}", DOMAINS[written.ports[part].domain].colour
                )
                port = part
            if (part, port) not in ends and not (side.inside and "." in side.port):
                ends.append((part, port))
        # What is joined inside of one part is its own affair; two ports of its own may be joined outside.
        inside = all("." in port for _, port in ends)
        if len({part for part, _ in ends}) > 1 or (len(ends) > 1 and not inside):
            nets.append(Net(ends, DOMAINS[written.ports[sides[0].port].domain].colour))
    nets += _signals(model, boxes)
    return boxes, [net for net in nets if len(net.ends) > 1]


def _signals(model: PartDoor, boxes: dict[str, Box]) -> list[Net]:
    """Signals: from the part whose variable they are, or from a box of their own, to inputs; one net a source."""
    nets: dict[tuple[str, str], Net] = {}
    keywords = {name: model.written.outputs[name] for name in sorted(model.written.assembly.driven)}
    for name, source in {**model.written.assembly.sources, **keywords}.items():
        part, _, port = name.partition(".")
        if part not in boxes:
            continue
        if all(symbol_key(s) == symbol_key(model.written.time) for s in ca.symvar(source)):
            continue  # a formula of time is shown by nothing
        start = _source(model, source, boxes)
        if start[0] == part:
            continue
        net = nets.setdefault(start, Net([start], SIGNAL, directed=True))
        net.ends.append((part, port))
    return list(nets.values())


def _source(model: PartDoor, source: ca.SX, boxes: dict[str, Box]) -> tuple[str, str]:
    for part in boxes:
        name = f"{part}.output"
        known = model.written.outputs.get(name, model.written.symbols.get(name))
        if known is not None and ca.is_equal(known, source, 10):
            return part, "output"
    names = [model.written.known[symbol_key(s)][0] for s in ca.symvar(source) if symbol_key(s) in model.written.known]
    owner = next((name.partition(".") for name in names if name.partition(".")[0] in boxes), None)
    if owner is not None:
        return owner[0], owner[2]
    own = [name for name in dict.fromkeys(names) if name != "t"]
    label = ", ".join(own[:2]) + (", …" if len(own) > 2 else "") or "signal"
    kind = (
        f"{model.written.variables[label].kind} of the model"
        if label in model.written.variables
        else "formula of the model"
    )
    boxes.setdefault(label, Box(label, kind, SIGNAL))
    return label, ""


def _colour(model: PartDoor, path: str) -> str:
    """The colour of the domain of a part; parts between domains and of signals are grey."""
    domains = {port.domain for name, port in model.written.assembly.ports.items() if name.rpartition(".")[0] == path}
    return DOMAINS[domains.pop()].colour if len(domains) == 1 else PLAIN if domains else SIGNAL


def _first(model: PartDoor, boxes: dict[str, Box]) -> str | None:
    """Where the diagram begins: a source with more than one port, or any source, or the first part."""
    written = model.written.assembly
    counts = {path: sum(name.rpartition(".")[0] == path for name in written.ports) for path in boxes}
    ideal = [path for path in boxes if path in written.parts and written.parts[path].ideal]
    return next((path for path in ideal if counts[path] > 1), ideal[0] if ideal else None)


# -- drawing -----------------------------------------------------------------------------------------------------------


def _svg(name: str, boxes: dict[str, Box], nets: list[Net], width: float, height: float) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">',
        f"<title>{escape(name)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        f'<text x="20" y="18" font-size="13" fill="#222222">{escape(name)}</text>',
    ]
    for net in nets:
        lines += _net(net)
    for box in boxes.values():
        lines += _box(box)
    used = {net.colour for net in nets}
    x = 20.0
    for domain in DOMAINS.values():
        if domain.colour in used:
            lines.append(f'<rect x="{x:.0f}" y="{height - 16:.0f}" width="10" height="4" fill="{domain.colour}"/>')
            lines.append(f'<text x="{x + 14:.0f}" y="{height - 11:.0f}" font-size="9">{domain.name}</text>')
            x += 84
    return "\n".join([*lines, "</svg>", ""])


def _net(net: Net) -> list[str]:
    dash = ' stroke-dasharray="5 3"' if net.directed else ""
    pen = f'stroke="{net.colour}" stroke-width="1.4"{dash}'
    found = [
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {pen}/>' for (x1, y1), (x2, y2) in net.lines
    ]
    if net.directed:
        # Arrows where a line ends at an input, the first end being the source.
        for (x, y), (other, _) in net.lines[-len(net.ends) - net.verticals : -net.verticals][1:]:
            way = 7 if other > x else -7
            points = f"{x:.1f},{y:.1f} {x + way:.1f},{y - 3.5:.1f} {x + way:.1f},{y + 3.5:.1f}"
            found.append(f'<polygon points="{points}" fill="{net.colour}"/>')
    found += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{net.colour}"/>' for x, y in net.dots]
    return found


def _box(box: Box) -> list[str]:
    found = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{WIDTH:.0f}" height="{box.height:.1f}" rx="4" fill="white" '
        f'stroke="{box.colour}" stroke-width="1.6"/>',
        f'<text x="{box.x + WIDTH / 2:.1f}" y="{box.y + 14:.1f}" font-size="11" font-weight="bold" '
        f'text-anchor="middle">{escape(_cut(box.name))}</text>',
        f'<text x="{box.x + WIDTH / 2:.1f}" y="{box.y + 26:.1f}" font-size="8.5" fill="{box.colour}" '
        f'text-anchor="middle">{escape(_cut(box.title, 28))}</text>',
    ]
    for port in (*box.left, *box.right):
        x, y = box.place(port)
        inner, anchor = (x + 6, "start") if port in box.left else (x - 6, "end")
        found.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{box.colour}"/>')
        found.append(
            f'<text x="{inner:.1f}" y="{y + 3:.1f}" font-size="8.5" text-anchor="{anchor}">{escape(port)}</text>'
        )
    return found


def _cut(text: str, most: int = 20) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
