"""Derivatives of tables that drive inputs: those there are inside a span, and the refusal of impulses.

An equation with offset c (signature method of Pryce) holds with its derivatives up to c. A held table in it jumps, and
with c >= 1 its derivative is an impulse; a linear table has jumps in its slope, and impulses in the derivative of that.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import InputError
from daedalus.model.names import times_text
from daedalus.model.signals import CUBIC, Signal
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.reduction.index.given_inputs import smooth_instead
from daedalus.simulation.inputs.read_inputs import Drive


def has_impulse(table: Signal, times: int, span: tuple[float, float]) -> bool:
    """Whether a derivative of a table has an impulse inside of a span.

    Example
    -------
    >>> import daedalus as dd
    >>> ramp = dd.signal([0, 1, 2], [0, 1, 1], kind="linear")
    >>> has_impulse(ramp, 1, (0, 2)), has_impulse(ramp, 2, (0, 2)), has_impulse(ramp, 2, (0, 1))
    (False, True, False)
    """
    if times <= table.order:
        return False
    low, high = min(span), max(span)
    inside = (table.times > low) & (table.times < high)
    if table.kind == "hold":
        return bool(np.any(np.diff(table.values, axis=0)[inside[1:]]))
    return bool(np.any(inside[1:-1]))


def table_rates(
    name: str, table: Signal, times: int, span: tuple[float, float], facts: Sequence[str] = ()
) -> list[object]:
    """The derivatives of a table up to an order, as tables; zero where it does not move any more."""
    if has_impulse(table, times, span):
        raise no_rates(name, table, times, facts)
    found: list[object] = []
    for _ in range(times):
        if table.order == 0:
            found.append(np.zeros(table.shape))
        else:
            table = table.derivative()
            found.append(table)
    return found


def no_rates(name: str, table: Signal, times: int, facts: Sequence[str]) -> InputError:
    """The refusal of a table whose derivative is an impulse."""
    kind = {"hold": "held table", "linear": "linear table"}.get(table.kind, f"spline of order {table.order}")
    because = {"hold": "each step of the table would become an impulse."}
    because["linear"] = (
        "at each point of the table the slope jumps: the first derivative jumps and the second is an impulse."
    )
    curved = f"its derivative of order {table.order} jumps at each point: the next one is an impulse."
    return InputError(
        f"The input {name} is a {kind}, and the model differentiates it {times_text(times)}.",
        [f"{table!r}", *facts],
        because=because.get(table.kind, curved),
        remedy=f'dd.signal(times, values, kind="spline"{"" if times <= CUBIC else f", order={times}"}), '
        f"{smooth_instead(name, times)}",
    )


def check_tables(system: System, drive: Drive, span: tuple[float, float]) -> None:
    """An InputError where the equations differentiate a table more often than its order, across its jumps in a span.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("capacitor")
    >>> v = m.state("v"); current = m.algebraic("current"); u = m.input("u")
    >>> m.equation(m.der(v), current); m.equation(v, u, name="source")
    >>> dd.simulate(m, 1.0, inputs={"u": dd.signal([0, 0.5], [0, 1])}, method="radau5")
    Traceback (most recent call last):
    daedalus.errors.InputError: The input u is a held table, and the model differentiates it once.
      signal(2 times from 0 to 0.5, hold)
      it stands in source, which is differentiated
      Because each step of the table would become an impulse.
      Try: dd.signal(times, values, kind="spline"), a smooth function of time, inputs={"u": lambda t: ...}, or a ...
    """
    for table, slots in drive.tables:
        times = once(system, _differentiations)[0][list(slots)]
        worst = int(np.argmax(times))
        if has_impulse(table, int(times[worst]), span):
            raise _refused(system, table, int(slots[worst]), int(times[worst]))


def _differentiations(system: System) -> tuple[np.ndarray, np.ndarray]:
    """How often each entry of u is differentiated: as often as the equations that contain it; and how often those are.

    Nothing is, where the structure is singular.
    """
    structure, counts = structure_of(system), np.zeros(system.sizes["u"], dtype=int)
    found = structure.signature
    if found.regular:
        rows, columns = (np.array(k, dtype=int) for k in structure.pattern("u").get_triplet())
        np.maximum.at(counts, columns, found.c[rows])
    return counts, found.c


def _refused(system: System, table: Signal, slot: int, times: int) -> InputError:
    name = system.labels["u"][slot]
    stem = name.partition("[")[0]
    rows = ca.jacobian_sparsity(system.residual, system.symbol("u")[slot]).row()
    where = [system.equation_labels[i] for i in rows if once(system, _differentiations)[1][i]]
    fact = f"it stands in {', '.join(where[:6])}, which {'is' if len(where) == 1 else 'are'} differentiated"
    return no_rates(stem, table, times, [fact])
