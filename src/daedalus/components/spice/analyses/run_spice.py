"""`dd.components.run_spice(text)`: what a netlist asks for, computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.analysis.points.equilibrium import Equilibrium
from daedalus.components.spice.analyses import analysis_cards as cards
from daedalus.components.spice.analyses.analysis_cards import Probe, expression
from daedalus.components.spice.analyses.curves import BOOLE, Curve, RunCurve, TableCurve
from daedalus.components.spice.analyses.measures import Measure, measured, measured_over, read_measure
from daedalus.components.spice.analyses.named_values import shown_names
from daedalus.components.spice.analyses.rest import direct_current, operating_point
from daedalus.components.spice.analyses.small_signal import ac, noise, transfer_function
from daedalus.components.spice.from_spice import circuit_for, model_over_time, netlist_of
from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.netlist_text import Card
from daedalus.components.spice.purpose import AT_REST
from daedalus.errors import InputError
from daedalus.simulation.simulate import simulate

COUNT = 10  # the mean and nine harmonics, as SPICE prints them


@dataclass
class SpiceResults:
    """The result of `dd.components.run_spice`: an analysis that the netlist does not ask for is None.

    Attributes
    ----------
    op: the operating point, values by name. dc, ac, noise: xarray Datasets over the swept values or the frequency in
        Hz; voltages are `v_node`, currents `v1.current`, amplitudes complex. tf: `transfer_function`,
        `input_resistance` and `output_resistance`. tran: the Trajectory. four: amplitudes and phases of harmonics by
        probe. measured: results of .meas by name, NaN where what is asked for does not happen. every: by the names dc,
        ac, tf and noise the results of all cards of that kind, in their order; `dc` and the like are those of the last.
        `every["measured"]` has for the first, second, … cards the results of every .meas that looks at their kind.
    """

    title: str
    op: Equilibrium | None = None
    dc: Any = None
    ac: Any = None
    tf: dict[str, float] | None = None
    noise: Any = None
    tran: Any = None
    four: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    every: dict[str, list[Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.title}:"]
        if self.op is not None:
            lines.append(f"operating point, by {self.op.found_by}")
            lines += [f"  {name} = {float(self.op[name]):.9g}" for name in self.shown]
        for title, values in _numbered("transfer function", self.every.get("tf", [])):
            lines += [title, *(f"  {name} = {value:.9g}" for name, value in values.items())]
        for word in ("dc", "ac", "noise"):
            for title, found in _numbered(word, self.every.get(word, [])):
                sizes = " × ".join(f"{size} {name}" for name, size in found.sizes.items() if name != "element")
                lines.append(f"{title}: {len(found.data_vars)} results over {sizes}")
                lines += [f"  {name} = {value:.9g}" for name, value in found.attrs.items()]
        if self.tran is not None:
            lines.append(f"tran: {self.tran.stop_reason}, {self.tran.method}, {self.tran.work.steps} steps")
            lines += [f"  note: {note}" for note in self.tran.notes[:6]]
        for name, own in self.four.items():
            lines.append(f"harmonics of {name}: distortion {100 * own['distortion']:.6g} %")
        if self.measured:
            lines += ["measured", *(f"  {name} = {value:.9g}" for name, value in self.measured.items())]
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Write the run to a NetCDF file that `dd.load` reads, or without one the sweep as NetCDF.

        Complex amplitudes are written as `name_real` and `name_imag`.
        """
        if self.tran is not None:
            self.tran.save(path)
            return
        data = next((own for own in (self.ac, self.dc, self.noise) if own is not None), None)
        if data is None:
            raise InputError("There is nothing to save.", "no .tran, .ac, .dc or .noise", remedy=".tran 1u 1m")
        for name in [name for name in data.data_vars if np.iscomplexobj(data[name])]:
            data = data.assign({f"{name}_real": data[name].real, f"{name}_imag": data[name].imag}).drop_vars(name)
        data.to_netcdf(path, engine="h5netcdf")

    def plot(self, names: Sequence[str] | None = None) -> Any:
        """Draw the run, or magnitude and phase over frequency, or the sweep; without names all voltages."""
        from daedalus.display.netlist_plot import plot_results

        return plot_results(self, names)

    def plain(self) -> dict[str, Any]:
        """Everything as numbers, lists and dictionaries; complex numbers as pairs of real and imaginary part."""
        found: dict[str, Any] = {"title": self.title}
        if self.op is not None:
            found["op"] = {name: float(self.op[name]) for name in self.shown}
        for word, results in self.every.items():
            plain = [dict(own) if isinstance(own, dict) else _columns(own) for own in results]
            if plain and word != "measured":
                found[word] = plain[-1]
            if len(plain) > 1:
                found.setdefault("every", {})[word] = plain
        if self.tran is not None:
            ends = {name: float(self.tran[name][-1]) for name in self.shown}
            found["tran"] = {"success": self.tran.success, "stop_reason": self.tran.stop_reason, "end": ends}
        if self.four:
            found["four"] = {name: {key: _listed(v) for key, v in own.items()} for name, own in self.four.items()}
        if self.measured:
            found["measured"] = dict(self.measured)
        return found


def _numbered(word: str, results: list[Any]) -> list[tuple[str, Any]]:
    """Results with their titles: numbers tell several of one kind apart."""
    return [(word if len(results) == 1 else f"{word} {k}", own) for k, own in enumerate(results, 1)]


def _columns(data: Any) -> dict[str, Any]:
    return {str(name): _listed(values) for name, values in data.variables.items()} | dict(data.attrs)


def _listed(values: Any) -> Any:
    array = np.asarray(values)
    if np.iscomplexobj(array):
        return np.stack([array.real, array.imag], axis=-1).tolist()
    return array.tolist()


def run_spice(
    text: str, include: str | Path | None = None, strict: bool = False, **simulate_options: Any
) -> SpiceResults:
    """What a netlist asks for: .op, .dc, .ac, .tf, .noise, .tran, .four and .meas.

    Parameters
    ----------
    text, include, strict: as in `from_spice`.
    simulate_options: `rtol`, `method` and others for .tran; the start is the operating point unless it says uic.

    Sources have their DC value in all but .tran, or that of time zero where they have none. `.dc` sweeps voltages,
    currents, resistors and `temp`, each point found from the one before. Small signals are exact at every frequency:
    lossless lines too. Noise is that of resistors (4 k T / R), junctions (2 q I) and channels (8/3 k T g_m). .meas
    looks at the dense output of a run, and at straight lines between the points of .dc and .ac; `vp(out)` is in rad.

    Raises a ModelError with file and line for cards that cannot be read.

    Example
    -------
    >>> import daedalus as dd
    >>> results = dd.components.run_spice('''low pass
    ... V1 in 0 DC 2 AC 1 PULSE(0 1 0 1n 1n 1 2)
    ... R1 in out 1k
    ... C1 out 0 1u
    ... .op
    ... .ac lin 1 159.15494309189535 159.15494309189535
    ... .tran 1u 5m
    ... .meas tran rise TRIG v(out) VAL=0.1 RISE=1 TARG v(out) VAL=0.9 RISE=1
    ... .end''')
    >>> round(results.op["v_out"], 9), abs(results.ac["v_out"].values).round(6).tolist()
    (2.0, [0.707107])
    >>> round(results.measured["rise"] * 1e3, 4)
    2.1972
    """
    netlist, run = netlist_of(text, include, strict), None
    if netlist.transient.is_asked:
        run = simulate(model_over_time(netlist), netlist.transient.stop, **simulate_options)
    return run_netlist(netlist, run)


def run_netlist(netlist: Netlist, run: Any) -> SpiceResults:
    """All analyses of a netlist beside its run over time, measures last."""
    if not netlist.words:
        circuit_for(netlist, AT_REST)  # which gives nodes and elements their names
    found = SpiceResults(netlist.title, tran=run, shown=tuple(shown_names(netlist)))
    asked = {
        word: [c for c in netlist.analyses if c.words[0] == word] for word in (".op", ".dc", ".ac", ".tf", ".noise")
    }
    if asked[".op"]:
        found.op = operating_point(netlist)
    found.every = {
        "tf": [transfer_function(netlist, cards.transfer(card)) for card in asked[".tf"]],
        "dc": [direct_current(netlist, cards.sweep(card, netlist)) for card in asked[".dc"]],
        "ac": [ac(netlist, cards.frequencies(card, list(card.words[1:]), netlist), card) for card in asked[".ac"]],
        "noise": [noise(netlist, cards.noise(card, netlist)) for card in asked[".noise"]],
    }
    for word, results in found.every.items():
        if results:
            setattr(found, word, results[-1])
    _measure(netlist, found)
    return found


def _measure(netlist: Netlist, found: SpiceResults) -> None:
    """.four and .meas, each knowing the results before it."""
    before: dict[str, int] = {}  # cards of each analysis so far
    every = found.every["measured"] = list[dict[str, float]]()
    for card in netlist.analyses:
        before[card.words[0][1:]] = before.get(card.words[0][1:], 0) + 1
        if card.words[0] == ".four":
            wanted = cards.fourier(card, netlist)
            if found.tran is None:
                raise card.refuse(
                    "has a .four without a run", "harmonics are those of the end of .tran.", ".tran 1u 1m"
                )
            curve = RunCurve(found.tran, netlist, {})
            for probe in wanted.outputs:
                found.four[probe.text] = harmonics(curve, probe, wanted.frequency, card)
        if card.words[0] in (".meas", ".measure"):
            own = read_measure(card)
            results = [found.tran] if own.analysis == "tran" else found.every.get(own.analysis, [])
            values = []
            for k, result in enumerate(results or [None]):
                if k == len(every):
                    every.append({})
                values.append(_measured_in(own, result, netlist, found.measured | every[k]))
                every[k][own.name] = values[k]
            # Its own card is the last one before it; where all stand behind it, the first.
            found.measured[own.name] = values[max(before.get(own.analysis, 0), 1) - 1 if len(values) > 1 else 0]


def _measured_in(own: Measure, result: Any, netlist: Netlist, known: dict[str, Any]) -> float:
    """What a .meas finds in one result of its analysis."""
    curves = _curves(own.analysis, result, netlist, known)
    if len(curves) > 1:
        return measured_over(own, curves, netlist, known)
    return measured(own, curves[0] if curves else None, netlist, known)


def _curves(analysis: str, result: Any, netlist: Netlist, known: dict[str, Any]) -> list[Curve]:
    """What a .meas looks at; none without its analysis, several where sweeps are nested."""
    if result is None:
        return []
    if analysis == "tran":
        return [RunCurve(result, netlist, known)]
    axis = "frequency" if analysis != "dc" else str(list(result.dims)[-1])
    count = result.sizes[str(next(iter(result.dims)))] if analysis == "dc" and len(result.dims) > 1 else 1
    return [TableCurve(result, axis, netlist, known, row) for row in range(count)]


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
