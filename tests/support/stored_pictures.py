"""Pictures compared with stored ones, coarsely: letters may be drawn a little otherwise, but nothing may move or go.

`RENEW_PICTURES=1 pytest -m "" tests/display/test_stored_pictures.py` stores what is drawn now; look at it before you
commit it.
"""

import os
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

STORED = Path(__file__).parent.parent / "display" / "stored"
DOTS_PER_INCH = 60
COLOURS = 64
# Sides of the squares that are averaged, in pixels, and by how much the mean of one of them may differ.
SQUARE, TOLERANCE = 6, 0.15
# The share of squares that may differ by more: those at the edges of letters.
MOST_OUTSIDE = 0.004


def drawn(figure):
    """The picture of a figure as (rows, columns, 3) shares of light."""
    figure.set_dpi(DOTS_PER_INCH)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3] / 255.0


def share_that_differs(one, two):
    """The share of squares whose means differ; 1 for pictures of different sizes."""
    if max(abs(a - b) for a, b in zip(one.shape, two.shape)) > 2:
        return 1.0
    a, b = _squares(one), _squares(two)
    rows, columns = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
    far = np.abs(a[:rows, :columns] - b[:rows, :columns]).max(axis=2) > TOLERANCE
    return float(far.mean())


def check_stored(name, figure):
    """A figure looks like the stored picture of this name, which is written if `RENEW_PICTURES` is set."""
    file = STORED / f"{name}.png"
    picture = drawn(figure)
    if os.environ.get("RENEW_PICTURES"):
        file.parent.mkdir(exist_ok=True)
        # Few colours suffice, and make small files.
        Image.fromarray(np.round(255 * picture).astype(np.uint8)).quantize(COLOURS).save(file, optimize=True)
    with Image.open(file) as stored:
        share = share_that_differs(picture, np.asarray(stored.convert("RGB")) / 255.0)
    assert share <= MOST_OUTSIDE, f"{share:.1%} of {file.name} differ; RENEW_PICTURES=1 stores what is drawn now"


def _squares(picture):
    rows, columns = (size // SQUARE for size in picture.shape[:2])
    cut = picture[: rows * SQUARE, : columns * SQUARE]
    return cut.reshape(rows, SQUARE, columns, SQUARE, 3).mean(axis=(1, 3))
