"""The table of figures in benchmarks/README.md, written by a run of the benchmarks: one line per figure, with date.

A line says how many times faster than its peers Daedalus was (the least and the most over the comparisons of a figure),
the share of the time allowed that was used where a figure has a limit, and how many targets were reached. Lines of
figures that a run did not measure stay as they are.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.figure import Row

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- figures: end -->"
HEADING = (
    "| figure | beside | times faster | of the time allowed | targets reached | measured |",
    "|---|---|---|---|---|---|",
)
MOST_PEERS = 3


def update(path: Path, figures: Mapping[str, Sequence[Row]], machine: Mapping[str, object]) -> None:
    """Write the lines of the figures that were measured between the two marks of a file."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    inside, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path.name} has not the two marks {BEGIN} and {END}")
    lines = {title_of(line): line for line in inside.splitlines() if line.startswith("| ") and line != HEADING[0]}
    lines |= {title: line(title, rows, machine) for title, rows in figures.items() if any(r.ratio for r in rows)}
    table = "\n".join([*HEADING, *(lines[title] for title in sorted(lines))])
    path.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")


def title_of(line: str) -> str:
    """The figure that a line of the table is about."""
    return line.split("|")[1].strip()


def line(title: str, rows: Sequence[Row], machine: Mapping[str, object]) -> str:
    """One figure as a line of the table."""
    races = [row for row in rows if row.sense == "at least" and row.ratio is not None]
    limits = [row for row in rows if row.sense == "at most" and row.ratio is not None and row.unit == "s"]
    peers = list(dict.fromkeys(row.peer_name for row in races))
    beside = ", ".join(peers[:MOST_PEERS]) + (", …" if len(peers) > MOST_PEERS else "") or "a limit of time"
    judged = [row.reached for row in rows if row.target is not None]
    load = machine.get("load")
    busy = f", load {load:.0f}" if isinstance(load, float) and load >= 1 else ""
    measured = f"{str(machine['date'])[:10]}, {machine['processor']}, {machine['cores']} cores{busy}"
    cells = (
        title,
        beside,
        between([row.ratio or 0.0 for row in races], "×"),
        between([100 * (row.ratio or 0.0) / (row.target or 1.0) for row in limits], " %"),
        f"{sum(found is True for found in judged)} of {len(judged)}",
        measured,
    )
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def between(values: Sequence[float], unit: str) -> str:
    """The least and the most of some numbers, or a dash."""
    if not values:
        return "–"
    low, high = f"{min(values):.2g}", f"{max(values):.2g}"
    low, high = (str(int(float(text))) if float(text) >= 100 else text for text in (low, high))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"
