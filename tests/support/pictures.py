"""What can be measured in a figure: every text that it shows, and which of them lie over each other."""

from itertools import combinations

from matplotlib.text import Text


def overlapping_texts(figure, by=2.0):
    """Pairs of texts of a figure whose boxes overlap by more than some pixels both ways."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = []
    for text in _drawn(figure):
        box = text.get_window_extent(renderer)
        if box.width and box.height:
            boxes.append((text.get_text(), box))
    return [
        (one, two)
        for (one, a), (two, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > by and min(a.y1, b.y1) - max(a.y0, b.y0) > by
    ]


def outside_texts(figure, by=2.0):
    """Texts that are cut at the edge of their figure."""
    figure.canvas.draw()
    renderer, whole = figure.canvas.get_renderer(), figure.bbox
    found = []
    for text in _drawn(figure):
        box = text.get_window_extent(renderer)
        if box.x0 < whole.x0 - by or box.x1 > whole.x1 + by or box.y0 < whole.y0 - by or box.y1 > whole.y1 + by:
            found.append(text.get_text())
    return found


def _drawn(figure):
    """The texts that are seen: those of ticks outside the limits are kept by matplotlib but never drawn."""
    unseen = set()
    for axes in figure.axes:
        for axis in (a for a in (axes.xaxis, axes.yaxis, getattr(axes, "zaxis", None)) if a is not None):
            ticks = set(map(id, axis._update_ticks())) if axes.axison else set()
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if id(tick) not in ticks:
                    unseen |= {id(tick.label1), id(tick.label2)}
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and id(t) not in unseen]
