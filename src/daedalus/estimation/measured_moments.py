"""The moments an estimator remembers: what was foreseen, what was measured, and the filter that goes through them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from daedalus import _core
from daedalus.errors import InputError
from daedalus.estimation.propagation import Propagation


class MeasuredMoment(NamedTuple):
    """One moment: what was foreseen there, what was measured, and the inputs that hold from then on."""

    time: float
    foreseen: np.ndarray
    covariance: np.ndarray
    measured: np.ndarray
    inputs: np.ndarray | None


def corrected(
    model: Propagation, moment: MeasuredMoment, before: np.ndarray | None, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The state and its covariance with the measurements of a moment taken in; missing ones say nothing."""
    t, x = moment.time, moment.foreseen
    values, slopes = model.measured(t, x, before)
    found = _core.take_in(x, moment.covariance, slopes, noise, moment.measured - values)
    if not found:
        raise InputError(
            f"The measurements at t = {t:.6g} cannot be weighed.",
            "neither the state nor the measurements have any noise in some direction",
            remedy="measurement_noise= above zero, or a larger start_covariance=",
        )
    return model.kept(t, found[0], before), found[1]


def gone_through(
    model: Propagation,
    moments: Sequence[MeasuredMoment],
    before: np.ndarray | None,
    density: np.ndarray,
    noise: np.ndarray,
) -> tuple[list[MeasuredMoment], np.ndarray, np.ndarray]:
    """The moments with what is foreseen from the first one on, and the state and covariance after the last."""
    found = [moments[0]]
    x, P = corrected(model, moments[0], before, noise)
    for last, moment in pairwise(moments):
        x, P = model.over(last.time, moment.time - last.time, x, P, last.inputs, density)[:2]
        found.append(moment._replace(foreseen=x, covariance=P))
        x, P = corrected(model, found[-1], last.inputs, noise)
    return found, x, P
