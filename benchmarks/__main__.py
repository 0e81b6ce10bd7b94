"""The command `python -m benchmarks`: measure, compare, and write the results down."""

import argparse
import sys
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks import figures, machine, numbers, peers, readme_plots, readme_table, report
from benchmarks.cases import Case, all_cases, chosen_cases, matches
from benchmarks.figure import Figure
from benchmarks.session import QUICK, Session, Settings

if TYPE_CHECKING:
    from rich.console import Console

RESULTS = Path(__file__).parent / "results"
# Above this load average the machine has other work, and times are doubtful.
BUSY = 0.7
# Columns of the output where it does not go to a terminal.
PAPER = 140


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Daedalus beside its peers.")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CASE",
        help="a problem, problem/tool, problem/tool:method, a figure, or a pattern with *; may be repeated",
    )
    parser.add_argument("--quick", action="store_true", help="fewer tolerances and repetitions, for a first look")
    parser.add_argument("--list", action="store_true", help="list problems, tools and figures, and measure nothing")
    parser.add_argument("--renew-peers", action="store_true", help="try again to install every peer")
    return parser.parse_args(words)


def chosen_figures(patterns: list[str]) -> list[Figure]:
    """The figures that are meant; without patterns all of them."""
    return [figures.load(name) for name in figures.names() if not patterns or matches(name, patterns)]


def plan(patterns: list[str]) -> tuple[list[Case], list[Figure]]:
    """What to measure: the cases that figures need first, then the others that are meant."""
    wanted = chosen_figures(patterns)
    needed = {name for figure in wanted for name in figure.needs}
    meant = chosen_cases(patterns)
    found = [case for case in all_cases() if case in meant or case.name in needed]
    return sorted(found, key=lambda case: case.name not in needed), wanted


def measure(session: Session, cases: list[Case], wanted: list[Figure], console: "Console") -> bool:
    """Measure everything in turn; False when the user broke off."""
    try:
        for k, case in enumerate(cases, start=1):
            console.print(f"[{k}/{len(cases)}] {case.name} ", end="", markup=False, highlight=False)
            begin = perf_counter()
            curve = session.measure(case)
            said = curve.reason() or f"{numbers.seconds(curve.time_at(1e-5).seconds)} at error 1e-5"
            console.print(f"{said}  ({perf_counter() - begin:.1f} s)", markup=False, highlight=False)
        for figure in wanted:
            console.print(f"figure: {figure.title}", highlight=False)
            for row in figure.evaluate(session):
                session.rows.append(row)
                session.by_figure.setdefault(figure.title, []).append(row)
    except KeyboardInterrupt:
        console.print("\nbroken off; what was measured is kept")
        return False
    return True


def main(words: list[str] | None = None) -> int:
    """Exit code 0, 2 when nothing is meant by the patterns, 130 after Ctrl-C."""
    from rich.console import Console

    options = arguments(words)
    console = Console()
    if not console.is_terminal:
        console = Console(width=PAPER)
    cases, wanted = plan(options.only)
    if not cases and not wanted:
        console.print(f"nothing is called {', '.join(options.only)}; see --list")
        return 2
    if options.list:
        for name in [*(case.name for case in cases), *(f"{figure.name} (figure)" for figure in wanted)]:
            console.print(name, markup=False, highlight=False)
        return 0
    begin = perf_counter()
    environment = peers.prepare(console.print, renew=options.renew_peers)
    requirements = (peers.FOLDER / "requirements.txt").read_text(encoding="utf-8")
    description = machine.describe(environment, requirements)
    if isinstance(description["load"], float) and description["load"] > BUSY:
        console.print(f"the machine is busy (load {description['load']:.1f}): take the times with care", style="yellow")
    session = Session(environment, QUICK if options.quick else Settings())
    complete = measure(session, cases, wanted, console)
    report.show(session, console)
    folder = RESULTS / f"{datetime.now():%Y-%m-%d_%H-%M-%S}"
    report.save(session, description, folder)
    if not options.quick:
        readme_table.update(readme_table.README, session.by_figure, description)
        readme_plots.draw()
    console.print(f"{perf_counter() - begin:.0f} s; written to {folder}", highlight=False)
    return 0 if complete else 130


if __name__ == "__main__":
    sys.exit(main())
