"""Numbers as people read them: seconds with a fitting unit, ratios, verdicts."""

from benchmarks.figure import Row


def seconds(value: float | None) -> str:
    """Three digits and a unit, or a dash."""
    if value is None:
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= 0.9995 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def quantity(row: Row, value: float | None) -> str:
    """A number of a row in its unit."""
    if row.unit == "s" or value is None:
        return seconds(value)
    return f"{value:.1e}"


def ratio(row: Row) -> str:
    """The measured ratio of a row, or a dash."""
    return "–" if row.ratio is None else f"{row.ratio:.3g}×"


def target(row: Row) -> str:
    """What the ratio should be."""
    if row.target is None:
        return "–"
    return f"{'≥' if row.sense == 'at least' else '≤'} {row.target:g}×"


def verdict(row: Row) -> str:
    """Whether the target is reached."""
    if row.target is None:
        return "–"
    return {True: "yes", False: "no", None: "not measured"}[row.reached]
