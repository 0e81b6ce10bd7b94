"""Kepler's problem together with x' = x cos t: start values and the exact solution."""

from __future__ import annotations

import numpy as np


def orbit_start(eccentricity: float = 0.3) -> np.ndarray:
    return np.array([1 - eccentricity, 0, 0, np.sqrt((1 + eccentricity) / (1 - eccentricity)), 1])


def orbit_exact(times: np.ndarray, eccentricity: float = 0.3) -> np.ndarray:
    """Position and velocity on the ellipse by Kepler's equation t = E - e sin E, and exp(sin t)."""
    times = np.asarray(times, dtype=float)
    anomaly = times.copy()
    for _ in range(50):
        anomaly -= (anomaly - eccentricity * np.sin(anomaly) - times) / (1 - eccentricity * np.cos(anomaly))
    rate = 1 / (1 - eccentricity * np.cos(anomaly))
    width = np.sqrt(1 - eccentricity**2)
    return np.stack(
        [
            np.cos(anomaly) - eccentricity,
            width * np.sin(anomaly),
            -np.sin(anomaly) * rate,
            width * np.cos(anomaly) * rate,
            np.exp(np.sin(times)),
        ],
        axis=-1,
    )
