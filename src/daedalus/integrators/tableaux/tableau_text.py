"""A tableau as one draws it on paper: nodes to the left, A to the right, the weights below the line."""

from __future__ import annotations

from typing import Any

from daedalus.integrators.tableaux.coefficients import write_coefficient


def butcher_array(entries: dict[str, Any], explicit: bool) -> list[str]:
    """The lines c | A over b (and b_hat); an explicit A is drawn as the triangle it is.

    Example
    -------
    >>> from daedalus.integrators.tableaux.tableau_text import butcher_array
    >>> entries = {"A": ((0.0, 0.0), (0.5, 0.0)), "b": (0.0, 1.0), "c": (0.0, 0.5), "b_hat": None}
    >>> for line in butcher_array(entries, explicit=True):
    ...     print(line)
      0 |
    0.5 | 0.5
    ----+------
        |   0 1
    """
    nodes = [write_coefficient(value) for value in entries["c"]]
    body = [[write_coefficient(value) for value in row] for row in entries["A"]]
    if explicit:
        body = [[text if j < i else "" for j, text in enumerate(row)] for i, row in enumerate(body)]
    feet = [[write_coefficient(value) for value in entries[part]] for part in ("b", "b_hat") if entries[part]]
    left = max(map(len, nodes))
    widths = [max(len(row[j]) for row in body + feet) for j in range(len(nodes))]

    def line(head: str, row: list[str]) -> str:
        cells = " ".join(text.rjust(width) for text, width in zip(row, widths))
        return f"{head.rjust(left)} | {cells}".rstrip()

    rule = "-" * (left + 1) + "+" + "-" * (sum(widths) + len(widths))
    return [*map(line, nodes, body), rule, *(line("", foot) for foot in feet)]
