"""Co-simulation: an FMU that makes its own steps, as a sampled part of a model.

At a tick the FMU steps from the last tick to this one with the inputs of the last one, and gives its outputs, which the
model holds until the next tick.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daedalus.exchange.fmu_import.declarations import (
    FmuPart,
    declared_input,
    declared_parameter,
    give_time,
    groups,
    shape_of,
    shaped,
    slices,
    start_of,
    unit_of,
)
from daedalus.exchange.fmu_import.fmu_states import FmuStates, marked
from daedalus.exchange.fmu_import.quantities_of_fmu import FmuDescription, FmuQuantity


class SampledFmu:
    """The clock of an FMU for co-simulation and what it reads and writes."""

    def __init__(
        self, part: FmuPart, description: FmuDescription, states: FmuStates, names: dict[str, str],
        further: list[FmuQuantity], step: float,
    ) -> None:  # fmt: skip
        self.part, self.description, self.states, self.names, self.step = part, description, states, names, step
        q, own = description.quantities, groups(description)
        self.inputs = [*own["inputs"], *own["discrete_inputs"]]
        self.parameters, self.settable = own["parameters"], own["settable"]
        self.outputs = [q[name] for name in description.outputs if q[name].is_number and not q[name].is_clocked]
        there = {v.name for v in [*self.inputs, *self.parameters, *self.outputs]}
        self.further = [v for v in dict.fromkeys(further) if v.name not in there]
        self.tolerance, self.serial = description.tolerance or 0.0, states.new_serial()

    def write(self) -> None:
        """Write variables and the clock."""
        m = self.part
        for v in self.inputs:
            declared_input(m, v, self.names)
        for v in self.parameters:
            declared_parameter(m, v, self.names)
        starts = [f"{self.names[v.name]}_start" for v in self.settable]
        for v, name in zip(self.settable, starts):
            m.parameter(name, shaped(v, start_of(v)), unit=unit_of(m, v))
        u = [value for v in self.inputs for value in start_of(v)]
        first = self._outputs(self._begun(0.0, u, self._defaults()), u)
        for v, a, b in slices([*self.outputs, *self.further]):
            m.discrete(self.names[v.name], *shape_of(v), start=shaped(v, first[a:b]), unit=unit_of(m, v))
        m.discrete("fmu_stop", start=0.0)
        give_time(m)
        reads = [self.names[v.name] for v in [*self.inputs, *self.parameters]] + starts
        writes = [self.names[v.name] for v in [*self.outputs, *self.further]] + ["fmu_stop"]
        m.every(self.step, call=self.sample, reads=reads, writes=writes, memory=None, name="fmu_step")
        m.event("fmu_end", m["fmu_stop"] - 0.5, direction=1, terminal=True)

    def _defaults(self) -> list[float]:
        return [value for v in [*self.parameters, *self.settable] for value in start_of(v)]

    def _begun(self, t: float, u: list[float], given: list[float]) -> int:
        own = marked(given, self._defaults(), [v.size for v in [*self.parameters, *self.settable]])
        return self.states.started([*own, *u, t, self.tolerance], [len(own), len(u)], self.serial)

    def _outputs(self, token: int, u: list[float]) -> list[float]:
        found = self.states.asked(token, "read", [len(u)], u)
        for v in self.further:
            found += self.states.asked(token, "one", [], [], f"one:{v.name}")
        return found

    def sample(self, t: float, values: tuple[Any, ...], memory: Any) -> tuple[tuple[Any, ...], Any]:
        """The outputs at a tick, and what the next one has to know: token, time, inputs."""
        flat = [number for value in values for number in np.asarray(value, dtype=float).reshape(-1).tolist()]
        count = sum(v.size for v in self.inputs)
        u, given = flat[:count], flat[count:]
        stop = 0.0
        if memory is None:
            token = self._begun(t, u, given)
        else:
            token, last, before = memory
            if t > last:
                token = self.states.reached(token, "step", [len(before)], [*before, last, t - last], keep=False)
                stop = self.states.found(token)[1]
        found = self._outputs(token, u)
        parts = [shaped(v, found[a:b]) for v, a, b in slices([*self.outputs, *self.further])]
        return (*parts, stop), (token, t, u)
