"""A run on the terminal and on disk: sheets, JSON, Markdown and plots."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import problems
from benchmarks.plot import plot
from benchmarks.precision import Curve
from benchmarks.session import Session
from benchmarks.sheets import Sheet, curves_sheet, figures_sheet

if TYPE_CHECKING:
    from rich.console import Console

INTRODUCTION = """Times are the best CPU time of one call over several repetitions, each tool in a process of its own
on one core. "at 1e-05" is the time at that achieved error at the end of the span, read off the work–precision curve by
log-log interpolation; a dash means that no two runs enclose that error. "compile" is what the first call costs beyond a
later one.
"""


def sheets(session: Session) -> list[Sheet]:
    """The figures, then one sheet a problem."""
    found = [figures_sheet(session.rows)] if session.rows else []
    return found + [curves_sheet(problems.load(name).title, curves) for name, curves in by_problem(session).items()]


def by_problem(session: Session) -> dict[str, list[Curve]]:
    """The measured curves, grouped."""
    grouped: dict[str, list[Curve]] = {}
    for curve in session.curves.values():
        grouped.setdefault(curve.problem, []).append(curve)
    return grouped


def show(session: Session, console: "Console") -> None:
    """The sheets on the terminal."""
    from rich.table import Table as Shown

    for sheet in sheets(session):
        shown = Shown(title=sheet.title, title_justify="left")
        for name in sheet.heading[:-1]:
            shown.add_column(name)
        for row in sheet.rows:
            shown.add_row(*(coloured(cell) for cell in row[:-1]))
        console.print(shown)
        # Remarks stand below, once each: they would squeeze the columns.
        for text in dict.fromkeys(f"{row[0]}, {row[1]}: {row[-1]}" for row in sheet.rows if row[-1]):
            console.print(f"  {text}", markup=False, highlight=False)


def coloured(cell: str) -> str:
    """Verdicts in colour."""
    return {"yes": "[green]yes[/]", "no": "[red]no[/]", "not measured": "[yellow]not measured[/]"}.get(
        cell, cell.replace("[", r"\[")
    )


def results(session: Session, machine: Mapping[str, object]) -> dict[str, Any]:
    """Everything of a run, ready for JSON."""
    figures = [{**asdict(row), "ratio": row.ratio, "reached": row.reached} for row in session.rows]
    curves = [{**asdict(curve), "compile_seconds": curve.compile_seconds} for curve in session.curves.values()]
    return {"machine": dict(machine), "settings": asdict(session.settings), "figures": figures, "curves": curves}


def markdown(session: Session, machine: Mapping[str, object]) -> str:
    """The run as a page of Markdown."""
    lines = ["# Benchmark results", "", INTRODUCTION]
    for name, value in machine.items():
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, Mapping) else value
        lines.append(f"- {name.replace('_', ' ')}: {text or '–'}")
    for sheet in sheets(session):
        lines += ["", f"## {sheet.title}", "", line(sheet.heading), line(["---"] * len(sheet.heading))]
        lines += [line(row) for row in sheet.rows]
    for name in by_problem(session):
        lines += ["", f"![{problems.load(name).title}]({name}.png)"]
    return "\n".join(lines) + "\n"


def line(cells: "tuple[str, ...] | list[str]") -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def save(session: Session, machine: Mapping[str, object], folder: Path) -> None:
    """results.json, results.md and one plot a problem."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results(session, machine), indent=1), encoding="utf-8")
    (folder / "results.md").write_text(markdown(session, machine), encoding="utf-8")
    for name, curves in by_problem(session).items():
        plot(problems.load(name).title, curves, folder / f"{name}.png")
