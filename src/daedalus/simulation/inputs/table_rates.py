"""Derivatives of tables that drive inputs: those there are inside a span, and the refusal of impulses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.errors import InputError
from daedalus.model.names import times_text
from daedalus.model.signals import CUBIC, Signal
from daedalus.reduction.index.given_inputs import smooth_instead


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
