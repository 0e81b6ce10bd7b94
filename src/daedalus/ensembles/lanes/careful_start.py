"""A look at the slopes where a case begins: formulas that divide by its parameters have to give what careful ones give.

Where a parameter is zero, or so small that dividing by it costs digits, the case is left to the scalar core, which
solves the equations by orthogonal factors. Parameters stay, so that once a case is enough.
"""

from __future__ import annotations

import functools

from daedalus.compilation.lanes.words import Word
from daedalus.ensembles.lanes.kernel_frame import KernelFrame
from daedalus.ensembles.lanes.lane_model import CarefulSlopes
from daedalus.reduction.forms.tearing import LARGEST_GROWTH

# Slopes may differ by this share of the tolerance, and by the growth of rounding errors that tearing allows.
SHARE_OF_TOLERANCE, ROUNDING = 1e-2, LARGEST_GROWTH * 2.0**-52


def leave_other_slopes(frame: KernelFrame, careful: CarefulSlopes, mask: Word) -> None:
    """Lanes of a mask whose two slopes differ are left to the core."""
    w, t, x = frame.w, frame.t.now, frame.now()
    found = frame.slope(t, x, rare=True)
    (right,) = frame.formulas("model.careful", t, x, rare=True)
    allowed = w.larger(w.mul(frame.settings["rtol"], w.num(SHARE_OF_TOLERANCE)), w.num(ROUNDING))
    # In nominal values: the largest slope, or as much as one along the first interval.
    lengths = [w.abs(w.mul(slope, w.num(1.0 / nominal))) for slope, nominal in zip(right, careful.nominal)]
    along = w.div(w.num(1.0), w.abs(w.sub(frame.end.now, t)))
    size = w.mul(allowed, functools.reduce(w.larger, lengths, along))
    for a, b, nominal in zip(found, right, careful.nominal):
        alike = w.compare("ole", w.abs(w.sub(a, b)), w.mul(size, w.num(nominal)))
        frame.leave_where(w.both(mask, w.unless(alike)))
