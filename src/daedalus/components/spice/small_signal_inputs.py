"""Inputs that a circuit has for analyses around its rest: currents of noise, and waves on lines.

Resistors are noisy by their temperature, junctions by the charge of the electron, channels by their temperature:

    resistor   S_i = 4 k T / R          junction   S_i = 2 q |I|          channel   S_i = 8/3 k T g_m

and junctions and channels flicker, S_i = K_f |I|^A_f / f, where cards say so (over W L C_ox² in a MOS transistor).

Each is a current beside its element, an input of the model that is written for `.noise`. Resistances inside a device
are written as resistors in front of it there, but for a base resistance that changes with the current, which is left
without noise. (P. Antognetti, G. Massobrio, Semiconductor Device Modeling with SPICE, 1988.)

A wave that leaves a lossless line is the one that entered it, e^(−iωτ) a; at rest it is a itself. The model has
a + u there, so that u = (e^(−iωτ) − 1) a gives the line at any frequency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from daedalus.components import electrical
from daedalus.components.semiconductors.temperature import BOLTZMANN, CHARGE, KELVIN


@dataclass(frozen=True)
class NoiseSource:
    """One source of noise: its element, its input, and what its density follows from."""

    element: str
    input: str
    kind: str  # "thermal", "shot", "channel" or "flicker"
    value: float = 0.0  # a resistance; K_f of flicker
    exponent: float = 1.0  # A_f of flicker
    current: str = ""  # the name of a current of the model
    across: tuple[str, str] = ("", "")  # names of the voltages at both ends of a channel
    gain: str = ""  # the parameter that the current of a channel is proportional to

    def density(self, point: Mapping[str, Any], parameters: Mapping[str, float], celsius: float) -> float:
        """The spectral density of the current at an operating point, in A²/Hz."""
        heat = BOLTZMANN * (celsius + KELVIN)
        if self.kind == "thermal":
            return 4 * heat / abs(self.value)
        current = abs(float(point[self.current]))
        if self.kind == "shot":
            return 2 * CHARGE * current
        if self.kind == "flicker":  # at 1 Hz
            return self.value * current**self.exponent
        span = abs(float(point[self.across[0]]) - float(point[self.across[1]]))
        path = self.gain.rpartition(".")[0]
        # i = k (c - s/2) s (1 + λ v) with s = min(v, c), the gate c above its threshold: g_m = k s (1 + λ v).
        size = parameters[self.gain] * (2.0 if self.gain.endswith(".transconductance") else 1.0)
        size *= 1 + parameters.get(f"{path}.modulation", 0.0) * span
        if current == 0.0:
            return 0.0
        open_channel = current / (size * span) + span / 2 if span > 0 else 0.0
        slope = size * span if open_channel >= span else (2 * size * current) ** 0.5
        return 8 / 3 * heat * slope


@dataclass(frozen=True)
class DelayedWave:
    """A wave on a line: the input beside it, the variable that it is at rest, and its delay."""

    input: str
    entering: str
    delay: float


class SmallSignalInputs:
    """Such inputs of one block; none unless it is written for them."""

    def __init__(self, circuit: Any) -> None:
        self.circuit, self.found, self.waves = circuit, list[NoiseSource](), list[DelayedWave]()

    def wave(self, name: str, entering: Any, delay: float) -> Any:
        """The wave that leaves a line, in place of a delayed one."""
        m, word = self.circuit.m, f"{name}_entering"
        m.equation(m.algebraic(word, unit="V"), entering, name=word)
        self.waves.append(DelayedWave(name, word, delay))
        return m[word] + m.input(name)

    def _beside(self, name: str, plus: str, minus: str) -> str:
        """A current from plus to minus that is an input; its name."""
        word = f"{name}_noise_{sum(s.element == name for s in self.found) + 1}"
        part = electrical.CurrentSource(f"{word}_source", current=self.circuit.m.input(word))
        self.circuit.add(part, f"{word}_source", {"plus": plus, "minus": minus})
        return word

    def thermal(self, name: str, resistance: float, plus: str, minus: str) -> None:
        """A resistor."""
        if self.circuit.purpose.noisy:
            self.found.append(NoiseSource(name, self._beside(name, plus, minus), "thermal", resistance))

    def shot(self, name: str, current: str, plus: str, minus: str) -> None:
        """A current over a junction."""
        if self.circuit.purpose.noisy:
            word = self._beside(name, plus, minus)
            self.found.append(NoiseSource(name, word, "shot", current=f"{name}.{current}"))

    def flicker(
        self, name: str, current: str, ends: tuple[str, str], model: Mapping[str, float], area: float = 1.0
    ) -> None:
        """Noise that falls with frequency, by kf and af of a card."""
        if self.circuit.purpose.noisy and model.get("kf"):
            word, size = self._beside(name, *ends), model["kf"] / area
            self.found.append(
                NoiseSource(name, word, "flicker", size, model.get("af", 1.0), current=f"{name}.{current}")
            )

    def channel(self, name: str, drain: str, source: str, gain: str) -> None:
        """The channel of a field effect transistor."""
        if self.circuit.purpose.noisy:
            ends = (f"{name}.drain.voltage", f"{name}.source.voltage")
            own = NoiseSource(name, self._beside(name, drain, source), "channel", gain=f"{name}.{gain}", across=ends)
            self.found.append(replace(own, current=f"{name}.drain.current"))

    def outside(
        self, name: str, words: dict[str, Any], ends: dict[str, str], drops: Mapping[str, str]
    ) -> dict[str, str]:
        """The ends of a device with its resistances in front of it; drops: the word of that at each end."""
        if not self.circuit.purpose.noisy:
            return ends
        found = dict(ends)
        for end, word in drops.items():
            resistance = words.pop(word, None)
            if resistance is None:
                continue
            inner, own = f"{name}#{end}", f"{name}_{end}_resistor"
            self.circuit.add(electrical.Resistor(own, resistance=resistance), own, {"plus": ends[end], "minus": inner})
            self.thermal(own, resistance, ends[end], inner)
            found[end] = inner
        return found

    def inside(self, name: str, inner: SmallSignalInputs | None) -> None:
        """Those of a subcircuit."""
        for wave in inner.waves if inner is not None else ():
            self.waves.append(DelayedWave(f"{name}_{wave.input}", f"{name}.{wave.entering}", wave.delay))
        for own in inner.found if inner is not None else ():
            across = (f"{name}.{own.across[0]}", f"{name}.{own.across[1]}")
            self.found.append(
                replace(
                    own, element=f"{name}.{own.element}", input=f"{name}_{own.input}", current=f"{name}.{own.current}",
                    across=across, gain=f"{name}.{own.gain}",
                )
            )  # fmt: skip
