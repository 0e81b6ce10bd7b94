"""`.four`: the harmonics of a voltage or current over the last period of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.components.spice.analyses.analysis_cards import Probe, expression
from daedalus.components.spice.analyses.curves import BOOLE, RunCurve
from daedalus.components.spice.netlist_text import Card

COUNT = 10  # the mean and nine harmonics, as SPICE prints them


def harmonics(curve: RunCurve, probe: Probe, frequency: float, card: Card) -> dict[str, Any]:
    """Amplitudes and phases (degrees, of sines) of the harmonics, and the total harmonic distortion."""
    period = 1.0 / frequency
    begin = curve.last - period
    if begin < curve.first - 1e-9 * period:
        raise card.refuse("has a period longer than the run", "harmonics are those of its last period.", ".tran 1u 10m")
    panels = curve.panels(expression(probe.text, card), max(begin, curve.first), curve.last, card)
    weights = BOOLE * (panels.x[:, -1] - panels.x[:, 0])[:, None]
    orders = np.arange(COUNT)
    angles = 2 * np.pi * frequency * (panels.x - begin)
    turned = np.exp(-1j * orders[:, None, None] * angles)
    amplitudes = np.sum(turned * (panels.y * weights), axis=(1, 2)) * frequency * np.where(orders == 0, 1.0, 2.0)
    sizes = np.abs(amplitudes)
    # The angle of a sine that begins with the run, as SPICE tells it.
    phases = np.degrees(np.angle(amplitudes * np.exp(-2j * np.pi * frequency * orders * begin))) + 90.0
    distortion = float(np.sqrt(np.sum(sizes[2:] ** 2)) / sizes[1]) if sizes[1] > 0 else float("nan")
    return {
        "frequency": orders * frequency,
        "amplitude": np.where(orders == 0, amplitudes.real, sizes),
        "phase": (phases + 180.0) % 360.0 - 180.0,
        "distortion": distortion,
    }
