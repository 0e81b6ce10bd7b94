"""`dd.frequency_sweep(m, "u", frequencies)`: the response of a nonlinear model to a sine, frequency by frequency.

Each point is a periodic motion, found from the one before it (see `dd.periodic`): on the way to the next frequency,
steps are halved until the motion changes little. Where even short steps do not lead on, the branch has a fold, which
is located by arclength: there the motion jumps, as it does on a test bench, to the one that a run settles on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.errors import InputError, SolverError
from daedalus.model.model import Model, as_system
from daedalus.model.names import did_you_mean, listed
from daedalus.model.plain_numbers import plain_number
from daedalus.model.reopened import as_model
from daedalus.model.system.closed_loop import closed_loop
from daedalus.model.system.system import System
from daedalus.model.time_limit import limits_time
from daedalus.model.values import check_mapping, unit_of
from daedalus.simulation.noise.without_noise import refuse_noise
from daedalus.simulation.run.request import check_options
from daedalus.simulation.simulate import simulate
from daedalus.studies.orbits.first_orbit import branch_of_orbit, is_smooth
from daedalus.studies.orbits.periodic_orbit import PeriodicOrbit
from daedalus.studies.periodic import periodic

if TYPE_CHECKING:
    import xarray

FREQUENCY = "frequency_of_the_sweep"
# Samples of a period, from which harmonics are taken; those of a step and of the input fit in many times.
SAMPLES = 512
# A step is taken when the motion changes by at most this share of its size; one that is shorter than this share of the
# frequency and still too long leads over a fold.
LARGEST_CHANGE, SHORTEST = 0.2, 1e-5
# A fold is looked for by arclength when steps are shorter than this share of the frequency, with so many points.
LOOKED_FOR, MOST_POINTS, MOST_WHOLE = 0.02, 150, 2000
# Periods that a run is given to settle behind a jump, at most.
FIRST_PERIODS, MOST_PERIODS, STEADY = 50, 3200, 1e-3


@limits_time
def frequency_sweep(
    model: Model | System,
    input: str,
    frequencies: Sequence[float] | np.ndarray,
    amplitude: float = 1.0,
    bias: float = 0.0,
    harmonics: int = 5,
    outputs: str | Sequence[str] | None = None,
    both_ways: bool = False,
    whole: bool = False,
    start: Any = None,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    **simulate_options: Any,
) -> xarray.Dataset:
    """Compute the periodic response of a nonlinear model to `bias + amplitude * sin(2 pi f t)` over frequencies.

    The sweep goes through the frequencies in the order given, from one response to the next, as on a test bench: on a
    resonance curve with folds, sweeps up and down differ.

    Parameters
    ----------
    input: the name of the input that is driven. frequencies: in Hz, rising or falling.
    harmonics: how many harmonics of each variable are kept. outputs: names, by default the outputs that the model
        declares itself, without those of its parts, or all states if it declares none.
    both_ways: go up and down; the result gets a dimension "sweep" with "up" and "down".
    whole: follow the whole resonance curve from the first frequency to the last by arclength, through its folds; the
        result has a dimension "point" with the frequency as a coordinate, and unstable parts too.
    start: where the first run begins. inputs: values of the other inputs. parameters, simulate_options: as for
        `dd.periodic`.

    Returns a Dataset: `amplitude` and `phase` over frequency, harmonic and variable, and `stable` over frequency. The
    amplitude of harmonic 0 is the mean. The phase is in radians, relative to the sine of the input: harmonic k is
    amplitude · sin(2 pi k f t + phase). `attrs["folds"]` lists the frequencies at which the response jumped.

    Raises a SolverError if no periodic response is found at the first frequency.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("low pass"); x = m.state("x", start=0.0); u = m.input("u"); m.equation(m.der(x), -x + u)
    >>> found = dd.frequency_sweep(m, "u", [0.05, 0.1591549430918953])
    >>> found["amplitude"].sel(harmonic=1, variable="x").values.round(6).tolist()
    [0.954028, 0.707107]
    >>> found["phase"].sel(harmonic=1, variable="x").values.round(6).tolist()
    [-0.304396, -0.785398]
    """
    check_options(simulate_options, "dd.frequency_sweep", ("progress", "cancel"))
    inputs, parameters = check_mapping(inputs, "inputs"), check_mapping(parameters, "parameters")
    values = _frequencies(frequencies)
    system = as_system(model)
    _check_input(system, input, inputs)
    refuse_noise(system, "dd.frequency_sweep", {**(inputs or {}), input: 0.0})
    if not isinstance(harmonics, (int, np.integer)) or isinstance(harmonics, bool) or not 1 <= harmonics < SAMPLES // 4:
        raise InputError(f"harmonics={harmonics!r} is not a number of harmonics.", remedy="harmonics=5")
    names = _outputs(system, outputs)
    amplitude, bias = _size(amplitude, "amplitude"), _size(bias, "bias")
    book = as_model(model).copy()
    frequency = book.parameter(FREQUENCY, float(values[0]))
    drive = bias + amplitude * ca.sin(2 * ca.pi * frequency * book.time)
    driven = closed_loop(as_system(book), {input: drive})
    search = _Sweep(driven, dict(inputs or {}), dict(parameters or {}), simulate_options)
    if whole:
        return _resonance_curve(search, system, values, start, names, int(harmonics))
    orders = (
        [("up", np.argsort(values)), ("down", np.argsort(-values))] if both_ways else [("", np.arange(len(values)))]
    )
    found = [_in_order(search, values, order, start, names, int(harmonics)) for _, order in orders]
    return _dataset(system, values, names, int(harmonics), found, [way for way, _ in orders] if both_ways else None)


def _frequencies(given: Any) -> np.ndarray:
    try:
        values = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)) or np.any(values <= 0):
        raise InputError(
            "The frequencies are not positive numbers.",
            f"got {given!r}"[:80],
            remedy="np.linspace(0.1, 2.0, 40), in Hz",
        )
    return values


def _size(given: Any, name: str) -> float:
    value = plain_number(given, name, "")
    if not np.isfinite(value):
        raise InputError(f"{name}={given!r} is not a number.", remedy=f"{name}=1.0")
    return value


def _check_input(system: System, name: str, inputs: Mapping[str, object] | None) -> None:
    known = [v.name for v in system.of_kind("input") if v.size == 1]
    if name not in known:
        raise InputError(
            f"{system.name!r} has no scalar input {name!r} to drive.",
            f"its inputs are {listed(known) or 'none'}",
            remedy=did_you_mean(name, known) or "an input of the model",
        )
    if name in (inputs or {}):
        raise InputError(f"{name} is driven by the sweep.", "inputs= gives a value for it, too", remedy="bias= instead")


def _outputs(system: System, given: str | Sequence[str] | None) -> list[str]:
    if isinstance(given, str):
        return [given]
    # Friction and other parts bring outputs of their own, whose names have a dot.
    scalars = [name for name, value in system.outputs.items() if value.numel() == 1 and "." not in name]
    return list(given) if given is not None else scalars or list(system.labels["x"])


class _Sweep:
    """Periodic motions of one model at any frequency."""

    def __init__(
        self, book: System, inputs: dict[str, Any], parameters: dict[str, Any], options: dict[str, Any]
    ) -> None:
        self.book, self.inputs, self.parameters, self.options = book, inputs, parameters, options

    def orbit(self, frequency: float, start: Any) -> PeriodicOrbit | None:
        """The periodic motion near a start; None where none is found."""
        values = {**self.parameters, FREQUENCY: frequency}
        try:
            return periodic(self.book, start, 1 / frequency, inputs=self.inputs, parameters=values, **self.options)
        except SolverError:
            return None

    def settled(self, frequency: float, start: Any) -> PeriodicOrbit | None:
        """The periodic motion that a run settles on."""
        periods, state = FIRST_PERIODS, start
        values = {**self.parameters, FREQUENCY: frequency}
        total = 0
        while total < MOST_PERIODS:
            span = periods / frequency
            run = simulate(
                self.book, span, state, self.inputs, values, save_at=[span - 1 / frequency, span], progress=False,
                **{**self.options, "rtol": 1e-7},
            )  # fmt: skip
            if not run.success:
                return None
            total, state = total + periods, run.end
            labels = run.system.labels["x"]
            ends = np.array([np.asarray(run[label], dtype=float) for label in labels])
            if np.max(np.abs(ends[:, 1] - ends[:, 0]) / (np.abs(ends).max(axis=1) + 1e-12), initial=0.0) < STEADY:
                found = self.orbit(frequency, _at_zero(run.end))
                if found is not None:
                    return found
            periods *= 2
        return self.orbit(frequency, _at_zero(state))

    def samples(self, orbit: PeriodicOrbit, names: Sequence[str]) -> np.ndarray:
        """(samples, names) over one period."""
        times = orbit.time[0] + orbit.period * np.arange(SAMPLES) / SAMPLES
        seen = orbit.at(times)
        return np.array([np.asarray(seen[name], dtype=float).reshape(SAMPLES) for name in names]).T

    def change(self, one: PeriodicOrbit, other: PeriodicOrbit) -> float:
        """How far two motions are apart, in sizes of the larger one, phase by phase."""
        labels = [name for name in one.trajectory.system.labels["x"] if name in other.trajectory.system.labels["x"]]
        first, second = self.samples(one, labels), self.samples(other, labels)
        sizes = np.maximum(np.ptp(first, axis=0), np.ptp(second, axis=0))
        sizes = np.maximum(sizes, 1e-9 * np.abs(first).max(axis=0, initial=0.0))
        return float(np.max(np.abs(first - second) / np.maximum(sizes, NOT_ZERO), initial=0.0))

    def _fold(self, orbit: PeriodicOrbit, now: float, end: float) -> tuple[float | None, float]:
        """The frequency of the next fold on the way, by arclength, and how far the way was looked at.

        No frequency where there is no fold, or where motions switch.
        """
        if not is_smooth(self.book):
            return None, end
        try:
            ahead = branch_of_orbit(orbit, FREQUENCY, (now, end), MOST_POINTS, periodic)
        except (InputError, SolverError):
            return None, now
        fold = next((point.parameter for point in ahead.points if point.kind == "fold of cycles"), None)
        return fold, float(ahead[FREQUENCY][-1])

    def onward(self, begin: float, orbit: PeriodicOrbit, end: float) -> tuple[PeriodicOrbit | None, list[float]]:
        """From the motion at one frequency to that at another, and the folds on the way."""
        now, step, folds = begin, end - begin, list[float]()
        # Up to where there is known to be no fold.
        clear = begin
        while now != end:
            target = end if abs(end - now) <= abs(step) else now + step
            found = self.orbit(target, orbit.start)
            if found is not None and self.change(orbit, found) <= LARGEST_CHANGE:
                now, orbit, step = target, found, 2 * step
                continue
            step = (target - now) / 2
            fold = None
            if abs(step) < LOOKED_FOR * abs(now) and (target - clear) * np.sign(end - begin) > 0:
                fold, clear = self._fold(orbit, now, end)
            if fold is not None or abs(step) < SHORTEST * abs(now):
                folds.append(now if fold is None else fold)
                short = 100 * SHORTEST * abs(now) * np.sign(end - now)
                beyond = folds[-1] + short if abs(end - folds[-1]) > abs(short) else end
                jumped = self.settled(beyond, orbit.start)
                if jumped is None:
                    return None, folds
                now, orbit, step, clear = beyond, jumped, end - beyond, beyond
        return orbit, folds


def _at_zero(end: Any) -> dict[str, Any]:
    """The values of a state by name, without its time: whole periods have passed."""
    return {name: end[name] for name in end.run_data.plant.system.labels["x"]}


def _in_order(
    search: _Sweep, values: np.ndarray, order: np.ndarray, start: Any, names: list[str], harmonics: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[float]]:
    """Amplitudes and phases (frequencies, harmonics + 1, names), whether each is stable, and the folds."""
    shape = (len(values), harmonics + 1, len(names))
    amplitude, phase, stable = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(values), dtype=bool)
    folds: list[float] = []
    orbit, before = None, 0.0
    for k in order.tolist():
        frequency = float(values[k])
        if orbit is None:
            orbit = search.settled(frequency, start)
        else:
            orbit, jumps = search.onward(before, orbit, frequency)
            folds += jumps
        if orbit is None:
            raise _no_response(search, frequency)
        before = frequency
        turns = frequency * float(orbit.time[0])
        amplitude[k], phase[k] = _harmonics(search.samples(orbit, names), harmonics, turns)
        stable[k] = orbit.stable
    return amplitude, phase, stable, folds


def _resonance_curve(
    search: _Sweep, system: System, values: np.ndarray, start: Any, names: list[str], harmonics: int
) -> xarray.Dataset:
    """The whole curve between the first and the last frequency."""
    import xarray

    if len(values) < 2 or values[0] == values[-1]:
        raise InputError(
            "A whole resonance curve needs two frequencies.",
            f"{len(values)} given, from {values[0]:g} to {values[-1]:g} Hz",
            because="it is followed from the first to the last.",
            remedy="[0.1, 2.0], in Hz",
        )
    if not is_smooth(search.book):
        raise InputError(
            f"The whole resonance curve of {system.name!r} cannot be followed.",
            "it has events or conditions",
            because="the curve is followed by collocation, whose polynomials do not jump.",
            remedy="whole=False, with both_ways=True for what lies between jumps",
        )
    first = search.settled(float(values[0]), start)
    if first is None:
        raise _no_response(search, float(values[0]))
    branch = branch_of_orbit(first, FREQUENCY, (float(values[0]), float(values[-1])), MOST_WHOLE, periodic)
    found = [_harmonics(branch.samples(k, names, SAMPLES), harmonics) for k in range(len(branch.period))]
    dims = ["point", "harmonic", "variable"]
    folds = [point.parameter for point in branch.points if point.kind == "fold of cycles"]
    return xarray.Dataset(
        {
            "amplitude": (dims, np.array([sizes for sizes, _ in found])),
            "phase": (dims, np.array([angles for _, angles in found]), {"units": "rad"}),
            "stable": ("point", branch.stable),
        },
        coords={
            "frequency": ("point", branch[FREQUENCY], {"units": "Hz"}),
            "harmonic": np.arange(harmonics + 1),
            "variable": names,
            "unit": ("variable", [unit_of(system, name) for name in names]),
        },
        attrs={"title": system.name, "folds": folds, "ended": branch.ended.replace(FREQUENCY, "the frequency")},
    )


def _harmonics(samples: np.ndarray, harmonics: int, turns: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes and phases (harmonics + 1, names) of samples of one period that begins after so many turns."""
    shares = np.fft.rfft(samples, axis=0)[: harmonics + 1] / len(samples)
    orders = np.arange(harmonics + 1)[:, None]
    # Harmonic h begins with e^{i 2π h f t0}; a sine has the angle −π/2.
    turned = shares * np.exp(-2j * np.pi * orders * turns)
    sizes = np.concatenate([shares[:1].real, 2 * np.abs(shares[1:])])
    return sizes, np.angle(turned * np.where(orders > 0, 1j, 1.0))


def _no_response(search: _Sweep, frequency: float) -> SolverError:
    return SolverError(
        f"No periodic response of {search.book.name!r} was found at {frequency:g} Hz.",
        f"after {MOST_PERIODS} periods the motion does not repeat itself with the period of the input",
        because="it may be chaotic, or repeat itself after several periods only.",
        remedy="another amplitude=, other frequencies, or start= near a periodic motion",
    )


def _dataset(
    system: System,
    values: np.ndarray,
    names: list[str],
    harmonics: int,
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray, list[float]]],
    ways: list[str] | None,
) -> xarray.Dataset:
    import xarray

    amplitude, phase, stable = (np.stack([part[k] for part in found]) for k in range(3))
    if ways is None:
        amplitude, phase, stable = amplitude[0], phase[0], stable[0]
    first = [] if ways is None else ["sweep"]
    dims = [*first, "frequency", "harmonic", "variable"]
    folds = sorted({fold for part in found for fold in part[3]})
    return xarray.Dataset(
        {
            "amplitude": (dims, amplitude),
            "phase": (dims, phase, {"units": "rad"}),
            "stable": ([*first, "frequency"], stable),
        },
        coords={
            **({} if ways is None else {"sweep": ways}),
            "frequency": ("frequency", values, {"units": "Hz"}),
            "harmonic": np.arange(harmonics + 1),
            "variable": names,
            "unit": ("variable", [unit_of(system, name) for name in names]),
        },
        attrs={"title": system.name, "folds": folds},
    )
