"""Work–precision curves of one problem as a picture."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.precision import Curve

MARKERS = "osv^<>DPX*hp"


def plot(title: str, curves: Sequence[Curve], path: Path) -> None:
    """CPU time over achieved error, accurate runs on the right; ours in strong lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.add_subplot()
    shown = [curve for curve in curves if curve.reason() is None]
    for k, curve in enumerate(shown):
        runs = [p for p in curve.points if p.error is not None and p.seconds is not None]
        ours = curve.tool == "daedalus"
        axes.loglog(
            [max(p.error or 0.0, 1e-17) for p in runs],
            [p.seconds for p in runs],
            marker=MARKERS[k % len(MARKERS)],
            linewidth=2.5 if ours else 1.0,
            markersize=5,
            color=f"C{k % 10}",
            linestyle="-" if ours or k < 10 else "--",
            label=f"{curve.tool} {curve.method}",
            zorder=3 if ours else 2,
        )
    axes.invert_xaxis()
    axes.set_xlabel("achieved error at the end of the span (scaled maximum)")
    axes.set_ylabel("CPU time of one call [s]")
    axes.set_title(title)
    axes.grid(True, which="major", alpha=0.4)
    if shown:
        figure.legend(loc="outside right upper", fontsize="small")
    figure.savefig(path, dpi=150)
