"""The sheets of a run as plain rows, for the terminal and for Markdown alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import numbers
from benchmarks.figure import Row
from benchmarks.precision import Curve

ERRORS = (1e-3, 1e-5, 1e-8, 1e-10)


@dataclass(frozen=True)
class Sheet:
    """A title, a heading and rows of text; the last column holds remarks of any length."""

    title: str
    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def figures_sheet(rows: Sequence[Row]) -> Sheet:
    """The figures to reach."""
    heading = ("figure", "peer", "ours", "peer's", "ratio", "target", "reached", "note")
    cells = [
        (
            row.figure,
            row.peer_name,
            numbers.quantity(row, row.ours),
            numbers.quantity(row, row.peer),
            numbers.ratio(row),
            numbers.target(row),
            numbers.verdict(row),
            row.note,
        )
        for row in rows
    ]
    return Sheet("Figures", heading, tuple(cells))


def curves_sheet(title: str, curves: Sequence[Curve]) -> Sheet:
    """CPU time at equal achieved error of all tools on one problem, the fastest at 1e-5 first, failures last."""
    heading = ("tool", "method", *(f"at {error:.0e}" for error in ERRORS), "compile", "import", "note")
    ordered = sorted(curves, key=lambda curve: curve.time_at(1e-5).seconds or float("inf"))
    return Sheet(title, heading, tuple(curve_row(curve) for curve in ordered))


def curve_row(curve: Curve) -> tuple[str, ...]:
    """One line of the sheet of curves."""
    times = (numbers.seconds(curve.time_at(error).seconds) for error in ERRORS)
    compiled, imported = numbers.seconds(curve.compile_seconds), numbers.seconds(curve.import_seconds)
    return (curve.tool, curve.method, *times, compiled, imported, remark(curve))


def remark(curve: Curve) -> str:
    """What a reader must know: why there is no curve, or which tolerances failed."""
    reason = curve.reason()
    if reason is not None:
        return reason
    failed = [point for point in curve.points if point.failure]
    if not failed:
        return curve.failure or ""
    return f"rtol {', '.join(f'{point.rtol:.0e}' for point in failed)}: {failed[0].failure}"
