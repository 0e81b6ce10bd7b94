"""The power ledger of a run: for each part what it supplies, stores and loses, and the energy balance over the run.

A part that stores energy supplies none by itself. Of every other part the power in at its ports P and the loss L give
what it supplies from outside:

    supplied = L − P

zero for a resistor, −P for a source. Powers at joined ports cancel, so that over all parts the energy supplied is that
stored more than before and lost: what is missing between the integrals of powers and the stored energies at both ends
of the run is what numerics made or destroyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.simulation.result.ledger_functions import LedgerFunctions, ledger_functions
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.samples import Samples

if TYPE_CHECKING:
    import xarray

KINDS = ("supplied", "stored", "lost")
# Gauss points in a step and their weights: exact for polynomials of degree 7.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """Energies over a run in J: `supplied`, `stored` (its change), `lost`, `error`; `components` has them by part.

    error = supplied − stored − lost: energy that the numerics destroyed (positive) or made (negative). `plot()` draws
    where the energy came from and went.
    """

    supplied: float
    stored: float
    lost: float
    error: float
    components: xarray.Dataset
    power: xarray.Dataset

    def plot(self, kind: str = "flow", ax: Any = None) -> Any:
        """Draw the energies as a flow from sources to stores and losses, or the powers as areas over time ("areas")."""
        from daedalus.display.power_plot import plot_areas, plot_flow

        return plot_flow(self, ax) if kind == "flow" else plot_areas(self.power, ax)

    def __str__(self) -> str:
        lines = [f"supplied {self.supplied:.6g} J, stored {self.stored:.6g} J, lost {self.lost:.6g} J"]
        lines.append(f"  made or destroyed by numerics: {-self.error:.3g} J")
        for name in self.components["component"].values:
            own = [f"{kind} {float(self.components[kind].sel(component=name)):.6g}" for kind in KINDS]
            lines.append(f"  {name}: {', '.join(own)}")
        return "\n".join(lines)


def _evaluated(functions: LedgerFunctions, samples: Samples) -> np.ndarray:
    """(5, parts, times): power in, stored energy, lost power, rate of the stored energy, supplied power."""
    times = np.atleast_1d(samples.time)
    columns = np.array([np.broadcast_to(samples[name], times.shape) for name in functions.names])
    if not len(functions.names):
        columns = np.empty((0, len(times)))
    values = (
        functions.values(ca.DM(columns)) if len(columns) else ca.repmat(functions.values(ca.DM(0, 1)), 1, len(times))
    )
    found: np.ndarray = values.full().reshape(4, len(functions.parts), len(times))
    supplied = np.where(functions.stores[:, None], 0.0, found[2] - found[0])
    return np.concatenate([found, supplied[None]])


def _of(trajectory: RecordedRun) -> LedgerFunctions:
    functions = ledger_functions(trajectory.system)
    if functions is None:
        raise InputError(
            f"The model {trajectory.system.name!r} keeps no ledger.",
            "it has no parts with ports, and none that store or lose",
            because="power is counted at ports, and in what parts store and lose.",
            remedy="m.add(...) parts of dd.components, or part.stored(...) and part.lost(...)",
        )
    return functions


def _grouped(functions: LedgerFunctions, depth: int | None, own: str) -> tuple[list[str], np.ndarray]:
    """The parts down to a depth, and which one each entry of the ledger counts for."""
    levels = [".".join(path.split(".")[:depth]) if depth else path for path in functions.parts]
    levels = [level or own for level in levels]
    names = list(dict.fromkeys(levels))
    place = {name: k for k, name in enumerate(names)}
    return names, np.array([place[level] for level in levels])


def _summed(values: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    out = np.zeros((values.shape[0], count, *values.shape[2:]))
    for k, entry in enumerate(group):
        out[:, entry] += values[:, k]
    return out


def power(trajectory: RecordedRun, depth: int | None = 1) -> xarray.Dataset:
    """Powers of the parts at the rows of a run."""
    import xarray

    functions = _of(trajectory)
    names, group = _grouped(functions, depth, trajectory.system.name)
    received, energy, lost, rate, supplied = _summed(_evaluated(functions, trajectory), group, len(names))
    if not functions.rated:
        rate = _differences(trajectory.time, energy)
    found = {"supplied": supplied, "stored": rate, "lost": lost, "received": received}
    data = {kind: (("component", "time"), values, {"units": "W"}) for kind, values in found.items()}
    return xarray.Dataset(data, coords={"component": names, "time": trajectory.time})


def _differences(times: np.ndarray, energy: np.ndarray) -> np.ndarray:
    """Rates by differences, where a stored energy contains more than states."""
    if len(times) < 2:
        return np.zeros_like(energy)
    moved = np.maximum(np.gradient(times), np.finfo(float).tiny)
    rates: np.ndarray = np.gradient(energy, axis=1) / moved
    return rates


def energy_balance(trajectory: RecordedRun, pieces: Sequence[RecordedRun], depth: int | None = 1) -> EnergyBalance:
    """Energies over a run, by Gauss quadrature of the dense output in every step."""
    import xarray

    functions = _of(trajectory)
    names, group = _grouped(functions, depth, trajectory.system.name)
    received, lost, supplied = (np.zeros(len(names)) for _ in range(3))
    for piece in pieces:
        starts, ends = piece.dense_spans
        if len(starts):
            own, half = ledger_functions(piece.system), (ends - starts) / 2
            assert own is not None
            inner = ((starts + ends)[:, None] / 2 + half[:, None] * _POINTS).ravel()
            weights = (half[:, None] * _WEIGHTS).ravel()
            sums = _summed(_evaluated(own, piece.at(inner)), group, len(names)) @ weights
            received, lost, supplied = received + sums[0], lost + sums[2], supplied + sums[4]

    def energy(samples: Samples) -> np.ndarray:
        own = ledger_functions(samples._plant.system)
        assert own is not None
        return np.asarray(_summed(_evaluated(own, samples), group, len(names))[1, :, 0])

    begins = pieces[0].dense_spans[0]
    change = energy(trajectory.end) - energy(trajectory.at(begins[:1]) if len(begins) else trajectory.end)
    for event in trajectory.events:
        # What an event takes away at once is lost there.
        lost = lost - (energy(event.after) - energy(event.before))
    data = {"supplied": supplied, "stored": change, "lost": lost, "received": received}
    components = xarray.Dataset(
        {kind: ("component", values, {"units": "J"}) for kind, values in data.items()}, coords={"component": names}
    )
    given, kept, gone = (float(values.sum()) for values in (supplied, change, lost))
    return EnergyBalance(given, kept, gone, given - kept - gone, components, power(trajectory, depth))
