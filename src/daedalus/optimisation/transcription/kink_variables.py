"""The variables of a program in the place of kinks, as large as these usually are."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.optimisation.program.draft import Binding, bound_arguments
from daedalus.optimisation.transcription.along_rows import AlongRows
from daedalus.optimisation.transcription.problem_draft import ProblemDraft
from daedalus.optimisation.transcription.program_layout import values_of
from daedalus.optimisation.transcription.smooth_parts import SmoothParts, smooth_parts


def without_kinks(
    made: ProblemDraft, parts: Sequence[ca.SX], signs: Sequence[float], shares: np.ndarray,
    bindings: Sequence[Binding], divided: int = 0,
) -> tuple[SmoothParts, np.ndarray, np.ndarray]:  # fmt: skip
    """Expressions at some shares, with the variables in the place of their kinks and the rows of what bounds them.

    divided: in so many first parts, lengths are bounded by a quotient.
    """
    draft, description = made.draft, made.description
    smooth = smooth_parts(description, made.stage.share, shares, parts, signs, divided=divided)
    sizes, lower = np.ones(smooth.bounds.numel()), np.array(smooth.lower)
    if (lower > 0).any():
        arguments, sources = bound_arguments(smooth.kinks, bindings, len(shares))
        usual = values_of(sources, np.concatenate(draft.scale), np.concatenate(draft.parameters))
        found = np.abs(AlongRows([arguments], [smooth.kinks])(usual)[0]).max(axis=0)
        sizes = np.where(np.isfinite(found) & (found > 0) & (lower > 0), found, 1.0)
    bounds = draft.add_variables((len(shares), len(sizes)), lower=lower * sizes, scale=sizes)
    return smooth, bounds, draft.add_rows((len(shares), smooth.sides.numel()), lower=-np.inf)
