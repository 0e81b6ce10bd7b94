"""An SX function as plain data and back: names, sparsity patterns and the formulas between its nonzeros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from daedalus.model.expressions import nonzeros
from daedalus.model.system.formulas import formulas_of_function, read_expressions
from daedalus.model.system.plain_record import PlainRecord


def function_record(f: ca.Function) -> dict[str, Any]:
    """A function as plain data; an InputError where it is more than arithmetic.

    Example
    -------
    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> again = function_of(function_record(ca.Function("f", [x], [2 * x], ["x"], ["y"])))
    >>> again, again(3.0)
    (Function(f:(x[2])->(y[2]) SXFunction), DM([6, 6]))
    """
    return {
        "name": f.name(),
        "inputs": [_port(f.name_in(k), f.sparsity_in(k)) for k in range(f.n_in())],
        "outputs": [_port(f.name_out(k), f.sparsity_out(k)) for k in range(f.n_out())],
        "formulas": formulas_of_function(f, [(f.nnz_out(k), 1) for k in range(f.n_out())]),
    }


def function_of(record: Mapping[str, Any]) -> ca.Function:
    """The inverse of `function_record`; a record that does not hold together raises an InputError."""
    own = PlainRecord(record, "function").only(("name", "inputs", "outputs", "formulas"))
    ports = own.parts("inputs")
    inputs = [ca.SX.sym(port.text("name"), _sparsity(port)) for port in ports]
    columns = read_expressions(own.part("formulas"), [nonzeros(symbol) for symbol in inputs])
    ends = own.parts("outputs", len(columns))
    outputs = []
    for end, column in zip(ends, columns):
        sparsity = _sparsity(end)
        if sparsity.nnz() != column.numel():
            raise end.misfit("row", f"{column.numel()} nonzeros", sparsity.nnz())
        outputs.append(ca.SX(sparsity, column))
    names_in, names_out = ([port.text("name") for port in group] for group in (ports, ends))
    try:
        return ca.Function(own.text("name"), inputs, outputs, names_in, names_out)
    except RuntimeError as error:
        raise own.misfit("name", "names that a function can have", [*names_in, *names_out]) from error


def _port(name: str, sparsity: ca.Sparsity) -> dict[str, Any]:
    return {"name": name, "shape": list(sparsity.shape), "colind": list(sparsity.colind()), "row": list(sparsity.row())}


def _sparsity(port: PlainRecord) -> ca.Sparsity:
    rows, columns = port.only(("name", "shape", "colind", "row")).integers("shape", 2).tolist()
    colind, row = port.integers("colind", columns + 1).tolist(), port.integers("row", below=max(rows, 1)).tolist()
    try:
        return ca.Sparsity(rows, columns, colind, row)
    except RuntimeError as error:
        raise port.misfit("row", "a sparsity pattern", row) from error
