"""The three pictures of the README, drawn from the table of figures: how many times faster than which peers."""

from pathlib import Path

from benchmarks.readme_table import BEGIN, END, HEADING, README

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
# Which lines of the table share a picture, with the heading of the picture.
GROUPS = {
    "speed_simulation": ("Simulation", ("quadrotor", "stiff DAEs", "pendulum and Andrews", "calls of the model")),
    "speed_many_runs": ("Many runs and sampled control", ("sweeps", "sampled controllers", "quadrotor flight with")),
    "speed_optimisation": ("Optimal control and fitting", ("plans with", "controllers that plan", "fits and")),
}


def bars(text: str) -> dict[str, tuple[str, float, float]]:
    """(peers, least, most) of every figure of the table that compares with others, by its title.

    >>> bars(f"{BEGIN}\\n| fits | SciPy | 2 to 30× | – | 1 of 1 | today |\\n{END}")
    {'fits': ('SciPy', 2.0, 30.0)}
    """
    found = {}
    for line in text.partition(BEGIN)[2].partition(END)[0].splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 6 and line not in HEADING and cells[2].endswith("×"):
            low, _, high = cells[2].removesuffix("×").partition(" to ")
            found[cells[0]] = (cells[1], float(low), float(high or low))
    return found


def draw(readme: Path = README, folder: Path = PICTURES) -> list[Path]:
    """Draw the pictures of a table into a folder; the paths that were written."""
    from matplotlib.figure import Figure

    table, written = bars(readme.read_text(encoding="utf-8")), []
    for name, (heading, beginnings) in GROUPS.items():
        # The longest beginning wins: `quadrotor flight with` is not `quadrotor`.
        every = [b for _, own in GROUPS.values() for b in own]
        rows = [
            (title, *values)
            for title, values in table.items()
            if max((b for b in every if title.startswith(b)), key=len, default="") in beginnings
        ]
        if not rows:
            continue
        figure = Figure(figsize=(8, 1.3 + 0.62 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        for k, (title, peers, low, high) in enumerate(rows):
            axes.plot([low, high], [k, k], color="#0072b2", linewidth=7, solid_capstyle="round")
            axes.annotate(f"{title} (beside {peers})", (0.0, k + 0.22), xycoords=("axes fraction", "data"), fontsize=8)
        axes.axvline(1.0, color="0.4", linewidth=1.0)
        axes.set(xscale="log", ylim=(-0.5, len(rows) - 0.2), yticks=[], xlabel="times faster, CPU time (log scale)")
        axes.set_title(heading)
        axes.grid(alpha=0.3, axis="x")
        for side in ("left", "right", "top"):
            axes.spines[side].set_visible(False)
        written.append(folder / f"{name}.png")
        figure.savefig(written[-1], dpi=110)
    return written


if __name__ == "__main__":
    print(*draw(), sep="\n")
