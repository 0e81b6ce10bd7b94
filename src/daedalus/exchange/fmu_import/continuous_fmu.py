"""Model exchange: states, rates, outputs and events of an FMU, written into a model.

All that an FMU watches is one event: whichever indicator leaves its domain first, or the next time event.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import casadi as ca
import numpy as np

from daedalus.exchange.fmu_import.declarations import (
    FmuPart,
    declared_input,
    declared_parameter,
    flat,
    give_time,
    groups,
    shape_of,
    shaped,
    slices,
    start_of,
    unflat,
    unit_of,
)
from daedalus.exchange.fmu_import.fmu_functions import FmuFunctions, FmuNode
from daedalus.exchange.fmu_import.fmu_states import FmuStates
from daedalus.exchange.fmu_import.quantities_of_fmu import FmuDescription, FmuQuantity

# A clock that ticks at the start of a run and never again.
NEVER_AGAIN = 1e15


class ContinuousFmu:
    """Model exchange: states, rates, outputs and events of an FMU, written into a model."""

    def __init__(
        self, part: FmuPart, description: FmuDescription, states: FmuStates, names: dict[str, str],
        further: list[FmuQuantity],
    ) -> None:  # fmt: skip
        self.part, self.description, self.states, self.names = part, description, states, names
        q, own = description.quantities, groups(description)
        self.own_states = [q[name] for name in description.states]
        self.inputs = [*own["inputs"], *own["discrete_inputs"]]
        self.parameters = own["parameters"]
        ours = set(description.states)
        listed = [q[name] for name in description.outputs if q[name].is_number and not q[name].is_clocked]
        self.outputs = [v for v in dict.fromkeys([*listed, *further]) if v.name not in ours]
        self.settable = np.concatenate([[v in own["settable"]] * v.size for v in self.own_states] or [[]]).astype(bool)

    def write(self) -> None:
        """Write everything."""
        functions = self._functions()
        begun = self._begun(functions)
        m = self.part
        x = []
        for v, a, b in slices(self.own_states):
            start, unit = shaped(v, begun[a:b]), unit_of(m, v)
            x.append((v, m.state(self.names[v.name], *shape_of(v), start=start, unit=unit, nominal=v.nominal)))
        u = [declared_input(m, v, self.names) for v in self.inputs]
        p = [declared_parameter(m, v, self.names) for v in self.parameters]
        hybrid = self.description.has_discrete_parts or math.isfinite(functions.states.found(self.token)[-3])
        token = m.discrete("fmu_state", start=0.0) if hybrid or self._start_depends() else ca.SX(0)
        arguments = [m.time, flat(s for _, s in x), flat(u), flat(p), token]
        if x:
            rates = self._node(functions, "rates", sum(v.size for v, _ in x), self.description.rates)(*arguments)
            for (_, symbol), (v, a, b) in zip(x, slices(self.own_states)):
                m.equation(m.der(symbol), unflat(rates[a:b], v))
        for v in self.outputs:
            node = self._node(functions, f"one:{v.name}", v.size, (v.name,))
            m.output(self.names[v.name], unflat(node(*arguments), v))
        if not x:
            give_time(m)
        if hybrid or self._start_depends():
            self._write_events(functions, [s for _, s in x], arguments, hybrid)

    def _functions(self) -> FmuFunctions:
        sizes = {"t": 1, "token": 1, "x": len(self.settable)}
        sizes |= {"u": sum(v.size for v in self.inputs), "p": sum(v.size for v in self.parameters)}
        p = np.array([value for v in self.parameters for value in start_of(v)])
        u = [value for v in self.inputs for value in start_of(v)]
        nominal = [v.nominal for v in self.own_states for _ in range(v.size)]
        nominal += [v.nominal for v in self.inputs for _ in range(v.size)]
        settable = groups(self.description)["settable"]
        blocks = {"p": [v.size for v in self.parameters], "settable": [v.size for v in settable]}
        tolerance = self.description.tolerance or 0.0
        return FmuFunctions(
            self.states, self.states.new_serial(), sizes, p, self.settable, nominal, u, tolerance, blocks
        )

    def _begun(self, functions: FmuFunctions) -> np.ndarray:
        """The states after the FMU's own start, which also shows that it can be run at all."""
        self.token = functions.start(0.0, None, functions.u, functions.p.tolist())
        functions.first = np.array(functions.states.found(self.token)[: len(self.settable)])
        return functions.first

    def _start_depends(self) -> bool:
        """Whether parameters can move the start: states that the FMU computes there."""
        return bool(self.parameters) and any(v.initial != "exact" for v in self.own_states)

    def _node(self, functions: FmuFunctions, what: str, size: int, unknown: tuple[str, ...]) -> Any:
        """A node of the rates, or of one output, with the structure that the FMU declares."""
        return in_expressions(FmuNode(functions, what, size, self._pattern(functions, size, unknown)))

    def _pattern(self, functions: FmuFunctions, size: int, unknown: tuple[str, ...]) -> dict[str, ca.Sparsity]:
        known = {"x": self.own_states, "u": self.inputs}
        sizes, q = functions.sizes, self.description.quantities
        filled = {letter: np.ones((size, sizes[letter])) for letter in ("x", "u")}
        row = 0
        for name in unknown:
            rows = slice(row, row + (q[name].size if name in q else size))
            row = rows.stop
            needs = self.description.depends.get(name)
            if needs is None:
                continue
            for letter, quantities in known.items():
                for v, a, b in slices(quantities):
                    if v.name not in needs:
                        filled[letter][rows, a:b] = 0.0
        dense = {
            "t": ca.Sparsity.dense(size, 1),
            "p": ca.Sparsity.dense(size, sizes["p"]),
            "token": ca.Sparsity(size, 1),
        }
        return dense | {letter: ca.DM(values).sparsity() if values.all() else ca.sparsify(ca.DM(values)).sparsity()
                        for letter, values in filled.items()}  # fmt: skip

    def _write_events(self, functions: FmuFunctions, x: list[ca.SX], arguments: list[Any], hybrid: bool) -> None:
        """The start as the first tick of a clock, and one event for whatever the FMU watches."""
        m, count = self.part, len(self.settable)
        after = self._node(functions, "after", count + 2, ())(*arguments)
        stop = m.discrete("fmu_stop", start=0.0)
        targets: dict[str, Any] = {self.names[v.name]: unflat(after[a:b], v) for v, a, b in slices(self.own_states)}
        targets |= {"fmu_state": after[count], "fmu_stop": after[count + 1]}
        m.every(NEVER_AGAIN, targets, name="fmu_start")
        if hybrid:
            guard = self._node(functions, "guard", 1, ())(*arguments)
            m.event("fmu_event", guard, direction=-1, reset=targets)
        m.event("fmu_end", stop - 0.5, direction=1, terminal=True)


# -- functions live as long as an expression calls them --------------------------------------------------------
# An expression counts the CasADi functions that it calls, but of a function in Python it has only the address. So it
# calls a function of CasADi's own around it, and what that one calls goes as soon as no expression has it any more.

_lock = threading.Lock()
_in_use: list[tuple[ca.WeakRef, ca.Callback]] = []


def in_expressions(node: ca.Callback) -> ca.Function:
    """The function to call in expressions in place of a node, which stays as long as one of them does."""
    given = [ca.MX.sym(node.name_in(k), node.sparsity_in(k)) for k in range(node.n_in())]
    around = ca.Function(node.name(), given, [node(*given)], node.name_in(), node.name_out(), {"never_inline": True})
    with _lock:
        _in_use[:] = [entry for entry in _in_use if entry[0].alive()]
        _in_use.append((ca.WeakRef(around), node))
    return around
