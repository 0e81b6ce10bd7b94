"""What translators ask of an instruction list: which rows are needed, how often they are read, which cross pieces."""

from __future__ import annotations

from array import array

import casadi as ca

from daedalus.errors import InputError
from daedalus.model.system.instruction_list import Instructions


def refuse_free_symbols(f: ca.Function) -> None:
    """Refuse a function that needs symbols it does not take as arguments: nothing could evaluate it."""
    if f.has_free():
        names = ", ".join(str(symbol) for symbol in (f.free_sx() if f.is_a("SXFunction") else f.free_mx()))
        raise InputError(
            f"The function {f.name()} cannot be compiled.",
            f"symbols that are not among its inputs: {names}",
            because="a function is evaluated from its inputs alone.",
            remedy="add these symbols to the inputs of casadi.Function, or substitute numbers for them.",
        )


def needed_rows(rows: Instructions) -> bytearray:
    """1 for every row that some output depends on, 0 for dead code."""
    needed = bytearray(len(rows))
    operation, first, second = rows.operation, rows.first, rows.second
    for row in range(len(rows) - 1, -1, -1):
        op = operation[row]
        if op == ca.OP_OUTPUT:
            needed[row] = needed[first[row]] = 1
        elif needed[row] and op != ca.OP_INPUT and op != ca.OP_CONST:
            needed[first[row]] = 1
            if second[row] >= 0:
                needed[second[row]] = 1
    return needed


def operands(rows: Instructions, row: int) -> tuple[int, ...]:
    """The rows that a row reads, in their order."""
    op, first, second = rows.operation[row], rows.first[row], rows.second[row]
    if op in (ca.OP_INPUT, ca.OP_CONST):
        return ()
    return (first,) if op == ca.OP_OUTPUT or second < 0 else (first, second)


def use_counts(rows: Instructions, needed: bytearray) -> array[int]:
    """How many needed rows read each value."""
    uses = array("q", bytes(8 * len(rows)))
    operation, first, second = rows.operation, rows.first, rows.second
    for row in range(len(rows)):
        op = operation[row]
        if not needed[row] or op == ca.OP_INPUT or op == ca.OP_CONST:
            continue
        uses[first[row]] += 1
        if op != ca.OP_OUTPUT and second[row] >= 0:
            uses[second[row]] += 1
    return uses


def crossing_rows(rows: Instructions, needed: bytearray, chunk: int) -> set[int]:
    """Rows whose value is computed in one chunk of `chunk` rows and read in a later one.

    Constants and inputs are left out: it is cheaper to take them again from where they came from.
    """
    crossing: set[int] = set()
    operation, first, second = rows.operation, rows.first, rows.second
    for row in range(len(rows)):
        op = operation[row]
        if not needed[row] or op == ca.OP_INPUT or op == ca.OP_CONST:
            continue
        here = row // chunk
        for source in (first[row],) if op == ca.OP_OUTPUT else (first[row], second[row]):
            if source >= 0 and source // chunk != here and operation[source] not in (ca.OP_INPUT, ca.OP_CONST):
                crossing.add(source)
    return crossing
