"""The power ledger of a run: for each part what it supplies, stores and loses, and the energy balance over the run.

A part that stores energy supplies none by itself. Of every other part the power in at its ports P and the loss L give
what it supplies from outside:

    supplied = L − P

zero for a resistor, −P for a source. Powers at joined ports cancel, so that over all parts the energy supplied is that
stored more than before and lost: what is missing between the integrals of powers and the stored energies at both ends
of the run is what numerics made or destroyed. Integrals are taken along the run under error control, and their own
estimate counts too (`daedalus.simulation.energy.energy_quadrature`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.plain_numbers import plain_array
from daedalus.model.switching.schedule import SAME_INSTANT
from daedalus.simulation.energy.energy_quadrature import BUDGET, BUDGET_OF_CALLS, Integral, integral
from daedalus.simulation.energy.ledger_functions import Grouping, Readout, grouped, ledger_functions, ledger_readout
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.result.transitions import moments, transition_times

if TYPE_CHECKING:
    import xarray

KINDS = ("supplied", "stored", "lost")
Energies = Callable[[Samples], np.ndarray]


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """The result of `tr.energy_balance()`, in J: `supplied`, `stored` (its change), `lost`, `error`, and `components`.

    error: energy that the numerics destroyed (positive) or made (negative), supplied − stored − lost, and on top of it
    `quadrature`, the estimated error of the integrals. `plot()` draws where the energy came from and went.
    """

    supplied: float
    stored: float
    lost: float
    error: float
    quadrature: float
    by_part: Mapping[str, Mapping[str, float]]  # by name: supplied, stored, lost, received
    run: RecordedRun
    depth: int | None = 1

    @cached_property
    def components(self) -> xarray.Dataset:
        """The energies by part."""
        import xarray

        kinds = (*KINDS, "received")
        data = {kind: [own[kind] for own in self.by_part.values()] for kind in kinds}
        coordinates = {"component": list(self.by_part)}
        return xarray.Dataset(
            {kind: ("component", values, {"units": "J"}) for kind, values in data.items()}, coords=coordinates
        )

    @cached_property
    def power(self) -> xarray.Dataset:
        """The powers of the parts at the rows of the run."""
        return power(self.run, self.depth)

    def plot(self, kind: str = "flow", ax: Any = None) -> Any:
        """Draw the energies as a flow from sources to stores and losses, or the powers as areas over time ("areas")."""
        from daedalus.display.power_plot import plot_areas, plot_flow

        return plot_flow(self, ax) if kind == "flow" else plot_areas(self.power, ax)

    def __str__(self) -> str:
        lines = [f"supplied {self.supplied:.6g} J, stored {self.stored:.6g} J, lost {self.lost:.6g} J"]
        lines.append(f"  made or destroyed by numerics: {-self.error:.3g} J")
        for name, own in self.by_part.items():
            lines.append(f"  {name}: {', '.join(f'{kind} {own[kind]:.6g}' for kind in KINDS)}")
        return "\n".join(lines)

    __repr__ = __str__


def _grouping(trajectory: RecordedRun, depth: int | None) -> Grouping:
    functions = ledger_functions(trajectory.system)
    if functions is None:
        raise InputError(
            f"The model {trajectory.system.name!r} has no energy balance.",
            "it has no energies, no bodies, and no parts with ports or that store or lose",
            because="power is counted at forces and ports, and in what is stored and lost.",
            remedy="m.kinetic_energy(...), m.body(...) or m.add(...); m.stored(...) and m.lost(...) for equations",
        )
    return grouped(functions, depth, trajectory.system.name)


def _moving(samples: Samples, readout: Readout) -> np.ndarray:
    """The columns of the ledger that are not zero at samples of one plant, (times, columns)."""
    if readout.function is None:
        return np.zeros((len(samples._times), 0))
    return np.asarray(readout.function.core.evaluate_many(*samples._arguments())[0])


def _values(samples: Samples, kind: str, grouping: Grouping) -> np.ndarray:
    """Entries of the ledger at samples of one plant, (times, columns)."""
    readout = ledger_readout(samples._plant, kind, grouping)
    return readout.filled(_moving(samples, readout))


def power(trajectory: RecordedRun, depth: int | None = 1) -> xarray.Dataset:
    """Powers of the parts at the rows of a run."""
    import xarray

    grouping = _grouping(trajectory, depth)
    parts: Sequence[Samples] = getattr(trajectory, "_filled", [trajectory])

    def at_rows(kind: str) -> np.ndarray:
        def read(samples: Samples) -> np.ndarray:
            return _values(samples, kind, grouping)

        return np.concatenate([part._from_own_side(read(part), read) for part in parts])

    powers, rates = at_rows("powers"), at_rows("rates")
    received, lost, supplied = np.split(powers, 3, axis=1)
    found = {"supplied": supplied, "stored": rates, "lost": lost, "received": received}
    data = {kind: (("component", "time"), values.T, {"units": "W"}) for kind, values in found.items()}
    return xarray.Dataset(data, coords={"component": list(grouping.names), "time": trajectory.time})


def stored_energy(trajectory: RecordedRun) -> np.ndarray:
    """The energy of all parts at the rows of a run."""
    grouping = _grouping(trajectory, None)
    parts: Sequence[Samples] = getattr(trajectory, "_filled", [trajectory])
    return np.concatenate([_values(part, "energies", grouping).sum(axis=1) for part in parts])


def _window(trajectory: RecordedRun, from_time: object, until: object) -> tuple[float, float]:
    """The times between which energies are counted, in the direction of the run."""
    starts, ends = trajectory.dense_spans
    if not len(starts):
        return float(trajectory._times[0]), float(trajectory._times[0])
    begin, end = float(starts[0]), float(ends[-1])
    low, high = min(begin, end), max(begin, end)
    slack = 1e-12 * max(abs(low), abs(high), NOT_ZERO)
    found = []
    for given, whole in ((from_time, begin), (until, end)):
        value = whole if given is None else float(plain_array(given, "A time of energy_balance()", unit="s"))
        if not low - slack <= value <= high + slack:
            raise InputError(
                "The trajectory does not reach that time.",
                f"it covers t = {low:g} to {high:g}; asked for {value:g}",
                remedy="from_time= and until= within the run",
            )
        found.append(min(max(value, low), high))
    if (found[1] - found[0]) * (end - begin) < 0:
        raise InputError(
            "from_time is after until.",
            f"from_time={found[0]:g}, until={found[1]:g}, and the run goes from {begin:g} to {end:g}",
            remedy="the earlier moment of the run as from_time=",
        )
    return found[0], found[1]


def _integrals(piece: RecordedRun, grouping: Grouping, window: tuple[float, float]) -> Integral:
    """∫ of (received, lost, supplied) of the named parts along a piece inside a window."""
    low, high = min(window), max(window)
    begin, end = (np.clip(side, low, high) for side in piece.dense_spans)

    readout = ledger_readout(piece._plant, "powers", grouping)

    def powers(times: np.ndarray) -> np.ndarray:
        return _moving(piece._between(times, times, False, False), readout)

    found = integral(powers, begin, end, BUDGET_OF_CALLS if piece._drive.callbacks else BUDGET)
    return Integral(*(readout.filled(part) for part in found))


def energy_balance(
    trajectory: RecordedRun,
    pieces: Sequence[RecordedRun],
    depth: int | None = 1,
    from_time: object = None,
    until: object = None,
) -> EnergyBalance:
    """Energies over a run, or between two of its times, by quadrature of the dense output under error control."""
    grouping = _grouping(trajectory, depth)
    count, window = len(grouping.names), _window(trajectory, from_time, until)
    total = Integral(np.zeros(3 * count), np.zeros(3 * count))
    for piece in pieces:
        if len(piece.dense_spans[0]):
            total += _integrals(piece, grouping, window)
    received, lost, supplied = total.value.reshape(3, -1)

    def energies(samples: Samples) -> np.ndarray:
        return _values(samples, "energies", grouping)

    begin = trajectory.at(window[0])
    end = trajectory.end if until is None else trajectory.at(window[1])
    change = energies(end)[0] - energies(begin)[0]
    # What an instant takes away at once is lost there.
    lost = lost - jumped_energy(pieces, energies, window, count)
    data = {"supplied": supplied, "stored": change, "lost": lost, "received": received}
    by_part = {name: {kind: float(own[k]) for kind, own in data.items()} for k, name in enumerate(grouping.names)}
    given, kept, gone = (float(values.sum()) for values in (supplied, change, lost))
    missing, estimate = given - kept - gone, float(total.error[count:].sum())
    error = missing + float(np.copysign(estimate, missing))
    return EnergyBalance(given, kept, gone, error, estimate, by_part, trajectory, depth)


def jumped_energy(
    pieces: Sequence[RecordedRun], energies: Energies, window: tuple[float, float], parts: int
) -> np.ndarray:
    """The sum of what instants inside a window add to the stored energy of every part, (parts,).

    energies: the stored energies at samples, (times, parts).

    An instant at the beginning of the window is over there already; one at its end counts.
    """
    total = np.zeros(parts)
    forward = 1.0 if window[1] >= window[0] else -1.0
    runs = [piece for piece in pieces if len(piece.dense_spans[0])]
    for k, piece in enumerate(runs):
        starts, ends = piece.dense_spans
        inside = _instants(piece, starts[1:])
        chosen = 1 + np.flatnonzero(inside & _within(starts[1:], window, forward))
        if len(chosen):
            total += (energies(moments(piece, chosen, "right")) - energies(moments(piece, chosen - 1, "left"))).sum(
                axis=0
            )
        # Where the next piece begins everything may have changed: its equations too.
        if k + 1 < len(runs):
            first, t = runs[k + 1], ends[-1:]
            told = np.any(_instants(piece, t)) or np.any(_instants(first, t))
            if told and np.all(_within(t, window, forward)):
                after, before = moments(first, np.array([0]), "right"), moments(piece, np.array([-1]), "left")
                total += (energies(after) - energies(before))[0]
    return total


def _within(times: np.ndarray, window: tuple[float, float], forward: float) -> np.ndarray:
    found: np.ndarray = (forward * (times - window[0]) > 0) & (forward * (times - window[1]) <= 0)
    return found


def _instants(piece: RecordedRun, times: np.ndarray) -> np.ndarray:
    """Which of times are those of an event, a clock or a change of a discrete variable."""
    instants = transition_times(piece, *((float(times.min()), float(times.max())) if len(times) else (0.0, 0.0)))
    if not len(instants):
        return np.zeros(len(times), dtype=bool)
    place = np.searchsorted(instants, times)
    nearest = np.minimum(
        np.abs(instants[np.minimum(place, len(instants) - 1)] - times),
        np.abs(instants[np.maximum(place - 1, 0)] - times),
    )
    close: np.ndarray = nearest <= SAME_INSTANT * np.maximum(np.abs(times), NOT_ZERO)
    return close
