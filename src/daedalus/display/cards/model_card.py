"""A model as text and as a card: what it is made of, its equations in full, in the user's names."""

from __future__ import annotations

import html

from daedalus.display.cards.card import card, paragraph, section, table, values_text
from daedalus.display.formulas.model_equations import Equations
from daedalus.display.look import unit_text
from daedalus.model.assembly.tree_text import tree_text
from daedalus.model.expressions import elements
from daedalus.model.model import Model, jointed
from daedalus.model.names import counted
from daedalus.model.printing import expression_text
from daedalus.model.variables import Variable

KINDS = {"state": "states", "algebraic": "algebraic variables", "discrete": "discrete variables", "input": "inputs",
         "parameter": "parameters"}  # fmt: skip
# More equations than these are counted in a card; print(m) and m.to_latex() have all of them.
MOST_EQUATIONS = 40


def model_text(model: Model) -> str:
    """What `print(m)` shows: the variables by kind with their values, then every equation.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0, unit="m"); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> print(model_text(m))
    decay
      states: x [m] = 1
      parameters: k = 2
      equations:
        x_dot = -k*x
    """
    model = jointed(model)
    lines = [model.name]
    for kind, heading in KINDS.items():
        own = [v for v in model.variables.values() if v.kind == kind]
        if own:
            lines.append(f"  {heading}: {', '.join(_described(v) for v in own)}")
    equations = Equations(model).text()
    if equations:
        lines += ["  equations:", *(f"    {line}" for line in equations.splitlines())]
    lines += [f"  kept: {name}: {text} = 0" for name, text in _kept(model)]
    if model.outputs:
        units = model.written.output_units
        named = (f"{name} [{unit}]" if (unit := units.get(name)) else name for name in model.outputs)
        lines.append(f"  outputs: {', '.join(named)}")
    return "\n".join(lines)


def _kept(model: Model) -> list[tuple[str, str]]:
    """What the model keeps beside its equations, by name, as text."""
    entries = [
        (row.label, e)
        for kept in model.written.invariants.values()
        for row, e in zip(kept.rows, elements(kept.residual))
    ]
    labels = model.written.labels()
    return [(label, expression_text(entry, labels)) for label, entry in entries]


def _described(variable: Variable) -> str:
    size = "" if variable.shape == () else f"[{' × '.join(map(str, variable.shape))}]"
    unit = f" [{variable.unit}]" if variable.unit else ""
    return f"{variable.name}{size}{unit}{_start(variable)}"


def _start(variable: Variable) -> str:
    known = [value for value in variable.start if value is not None]
    if not known or len(known) < variable.size or variable.size > 6:
        return ""
    return f" = {values_text(known[0] if variable.shape == () else known)}"


def model_card(model: Model) -> str:
    """The model with its equations typeset, its variables and their values."""
    equations = Equations(model)
    rows = [
        (
            v.name,
            v.kind,
            "" if v.shape == () else " × ".join(map(str, v.shape)),
            unit_text(v.unit),
            _start(v).removeprefix(" = "),
        )
        for v in model.variables.values()
    ]
    outputs = [equations.named(name, expression) for name, expression in list(model.outputs.items())[:8]]
    return card(
        model.name,
        *_parts(model),
        paragraph(f"{counted(len(equations.lines), 'equation')}, {counted(len(rows), 'variable')}"),
        section("equations", equations.mathml(MOST_EQUATIONS) if equations.lines else ""),
        section("kept", *(paragraph(f"{name}: {text} = 0") for name, text in _kept(model)[:8])),
        section("outputs", *outputs),
        section("variables", table(("name", "kind", "size", "unit", "start or value"), rows)),
    )


def _parts(model: Model) -> list[str]:
    """What a model of parts is made of, before its equations: the diagram and the tree."""
    if not model.written.assembly.parts:
        return []
    drawn = f'<div class="dd-diagram" style="overflow-x:auto">{model.diagram()}</div>'
    tree = f"<pre style='white-space:pre-wrap'>{html.escape(tree_text(model))}</pre>"
    return [section("parts and connections", drawn), section("tree of parts", tree)]
