"""The command line: `daedalus demo`, `analyse`, `simulate`, `animate`, `report`, `studio`, `catalogue` and others."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from daedalus.errors import DaedalusError, InputError
from daedalus.model.names import counted, seconds_text
from daedalus.model_source import ModelSource, load_source, source_labels

app = typer.Typer(
    help="Daedalus: model, analyse, simulate and optimise dynamic systems.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Exit codes: 0 done, 1 the run ended early, 2 the call or the file cannot be used.
STOPPED_EARLY, BAD_INPUT = 1, 2


def _method_names(begun: str) -> list[str]:
    from daedalus.integrators.methods import methods as known_methods

    return [name for name in ("auto", *(m.name for m in known_methods())) if name.startswith(begun)]


File = Annotated[
    str,
    typer.Argument(
        help="A Python file with a model (and, optionally, `inputs`, `start`, `parameters`, `span`), a netlist, or "
        "catalogue:NAME (see `daedalus catalogue`).",
        autocompletion=source_labels,
    ),
]
Name = Annotated[str | None, typer.Option("--model", help="Name of the model variable, if FILE defines several.")]
Inputs = Annotated[
    list[str], typer.Option("--input", help="Set a constant input: torque=0, or force=1,0,0 for a vector.")
]
Parameters = Annotated[list[str], typer.Option("--parameter", help="Set a parameter: L=0.8.")]
Starts = Annotated[list[str], typer.Option("--start", help="Set a start value: angle=0.1.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Until = Annotated[float | None, typer.Option("--until", help="End of the run, in seconds of the model's time.")]
Method = Annotated[str, typer.Option("--method", help="A name from `daedalus methods`.", autocompletion=_method_names)]
Rtol = Annotated[float, typer.Option("--rtol", help="Relative tolerance.")]


def _tell_version(wanted: bool) -> None:
    if wanted:
        from daedalus import __version__

        typer.echo(f"daedalus {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _source(file: str, name: str | None, inputs: list[str], parameters: list[str], start: list[str]) -> ModelSource:
    """The model of a call with its values; notes go to stderr, so that they never mix with JSON."""
    source = load_source(file, name).with_values(inputs, parameters, start)
    for note in source.notes:
        typer.echo(f"note: {note}", err=True)
    return source


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the pictures and the data.")] = Path("demo"),
) -> None:
    """Run five examples (a quadrotor, pendulums, a DAE, a sweep, a plan) and save pictures and data."""
    from daedalus.demo import run_demo

    run_demo(folder)


@app.command()
def methods(as_json: AsJson = False) -> None:
    """List the integration methods."""
    from rich.console import Console
    from rich.table import Table

    from daedalus.integrators.methods import methods as known_methods

    headings = ("name", "order", "explicit", "adaptive", "ode", "index_1", "index_2", "index_3", "title")
    if as_json:
        _print_json([{heading: getattr(m, heading) for heading in headings} for m in known_methods()])
        return
    listing = Table(title="Integration methods", title_justify="left")
    for heading in ("name", "order", "explicit", "adaptive", "ODE", "index 1", "index 2", "index 3", "what it is"):
        listing.add_column(heading, no_wrap=heading != "what it is")
    for m in known_methods():
        flags = ("yes" if flag else "no" for flag in (m.explicit, m.adaptive))
        listing.add_row(m.name, str(m.order), *flags, m.ode, m.index_1, m.index_2, m.index_3, m.title)
    Console(width=None if sys.stdout.isatty() else 140).print(listing)


@app.command()
def analyse(
    file: File,
    plot: Annotated[Path | None, typer.Option("--plot", help="Save a plot of the incidence matrix.")] = None,
    name: Name = None,
    inputs: Inputs = [],  # noqa: B006
    parameters: Parameters = [],  # noqa: B006
    start: Starts = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Analyse the system in FILE: kind, index, hidden constraints, over- and under-determined parts."""
    from daedalus.analysis.analyse import analyse as examine

    source = _source(file, name, inputs, parameters, start)
    at = {**{str(n): source.start[n] for n in source.start}, **source.parameters}
    report = examine(source.model, at=at or None, inputs=source.inputs or None)
    if plot is not None:
        _save_picture(report.plot(), plot)
    if as_json:
        words = ("kind", "verdict", "is_dae", "is_linear", "index", "structural_index", "degrees_of_freedom",
                 "differential", "algebraic", "undetermined", "overdetermined", "redundant", "warnings")  # fmt: skip
        told = {word: getattr(report, word) for word in words}
        hidden = [text for text, _ in report.hidden_constraints]
        _print_json({"model": report.system.name, **told, "hidden_constraints": hidden})
        return
    typer.echo(str(report))
    if plot is not None:
        typer.echo(f"drew {plot}")


@app.command()
def simulate(
    file: File,
    until: Until = None,
    method: Method = "auto",
    rtol: Rtol = 1e-6,
    step: Annotated[float | None, typer.Option("--step", help="Step size in seconds, for fixed-step methods.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Save the run as a NetCDF file.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Save a plot of the run.")] = None,
    name: Name = None,
    inputs: Inputs = [],  # noqa: B006
    parameters: Parameters = [],  # noqa: B006
    start: Starts = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Simulate the model in FILE and print a summary. For a netlist, run all analyses that it contains."""
    source = _source(file, name, inputs, parameters, start)
    trajectory = None if source.is_only_analysed(until) else _run(source, until, method, rtol, step)
    if source.netlist is not None:
        _analyse_netlist(source.netlist, trajectory, out, plot, as_json)
        return
    assert trajectory is not None
    if out is not None:
        trajectory.save(out)
    if plot is not None:
        _save_picture(trajectory.plot(), plot)
    _tell_run(trajectory, {"saved": out, "drew": plot}, as_json)
    if not trajectory.success:
        raise typer.Exit(STOPPED_EARLY)


@app.command()
def animate(
    file: File,
    out: Annotated[Path, typer.Option("-o", "--out", help="The page (.html) or video (.gif, .mp4).")] = Path(
        "run.html"
    ),
    speed: Annotated[float, typer.Option("--speed", help="Playback speed: model seconds per second.")] = 1.0,
    until: Until = None,
    method: Method = "auto",
    rtol: Rtol = 1e-6,
    name: Name = None,
    inputs: Inputs = [],  # noqa: B006
    parameters: Parameters = [],  # noqa: B006
    start: Starts = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Simulate the model in FILE and write an animation: one HTML page that opens offline, or a video."""
    trajectory = _run(_source(file, name, inputs, parameters, start), until, method, rtol, None)
    trajectory.animate(out, speed=speed)
    _tell_run(trajectory, {"wrote": out}, as_json)
    if not trajectory.success:
        raise typer.Exit(STOPPED_EARLY)


@app.command()
def report(
    file: File,
    out: Annotated[Path, typer.Option("-o", "--out", help="The page.")] = Path("report.html"),
    until: Until = None,
    method: Method = "auto",
    rtol: Rtol = 1e-6,
    name: Name = None,
    inputs: Inputs = [],  # noqa: B006
    parameters: Parameters = [],  # noqa: B006
    start: Starts = [],  # noqa: B006
) -> None:
    """Write a report of FILE as one HTML page: equations, analysis, start values, animation, plots, sensitivities."""
    from daedalus.display.report.report_page import report as write

    source = _source(file, name, inputs, parameters, start)
    source.check_complete()
    write(source.model, out, source.until(until), **source.options(), method=method, rtol=rtol)
    typer.echo(f"wrote {out}")


@app.command()
def studio(
    file: File,
    port: Annotated[int, typer.Option("--port", help="The local port; 0 picks a free one.")] = 0,
    browse: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    seconds: Annotated[
        float, typer.Option("--time-limit", help="Longest time of one run, in seconds.", min=1.0)
    ] = 120.0,
    memory: Annotated[float, typer.Option("--memory", help="Memory for all runs, in GiB.", min=1.0)] = 6.0,
    name: Name = None,
) -> None:
    """Open FILE in a local page: edit its values, run it and compare runs. Press Ctrl-C to stop.

    Needs `pip install "daedalus\\[studio]"`. Only this machine can reach the page, at the printed address.
    """
    from functools import partial

    try:
        from daedalus.display.studio.server import serve
        from daedalus.display.studio.workshop import Limits
    except ImportError as error:
        raise InputError(
            "The studio is not installed.",
            f"{error.name} is missing",
            because="its server is an extra of the package.",
            remedy='pip install "daedalus[studio]"',
        ) from error
    load_source(file, name)  # what cannot be used is told before anything is opened

    def announce(address: str) -> None:
        typer.echo(f"Studio for {file}: {address}\nPress Ctrl-C to stop it.")
        if browse:
            import webbrowser

            webbrowser.open(address)

    serve(partial(load_source, file, name), file, port, Limits(seconds, int(memory * 2**30)), announce)


@app.command()
def catalogue(as_json: AsJson = False) -> None:
    """List the known systems; `daedalus simulate catalogue:NAME` runs one."""
    from daedalus.catalogue import describe, names
    from daedalus.catalogue.loading import FIELDS

    if as_json:
        _print_json([{"name": name, "field": FIELDS[name], "description": describe(name)} for name in names()])
        return
    typer.echo("Known systems; run one with: daedalus simulate catalogue:NAME")
    for name in names():
        typer.echo(f"  {name:<{max(map(len, names()))}}  {describe(name)}")


@app.command()
def info(as_json: AsJson = False) -> None:
    """Print versions, the compiler in use and where compiled code is cached."""

    if as_json:
        _print_json(describe())
        return
    for name, value in describe().items():
        typer.echo(f"{name + ':':<16}{value}")


def _run(source: ModelSource, until: float | None, method: str, rtol: float, step: float | None) -> Any:
    from daedalus.simulation.simulate import simulate as run

    source.check_complete()
    options: dict[str, Any] = {"method": method, "rtol": rtol, "step": step}
    return run(source.model, source.until(until), **source.options(), **options)


def _analyse_netlist(netlist: Any, trajectory: Any, out: Path | None, plot: Path | None, as_json: bool) -> None:
    """Make the analyses of a netlist beside its run, and tell their results."""
    from daedalus.components.spice.analyses.run_spice import run_netlist

    results = run_netlist(netlist, trajectory)
    written: dict[str, Path | None] = {"saved": out, "drew": plot}
    if out is not None:
        results.save(out)
    if plot is not None:
        _save_picture(results.plot(), plot)
    if as_json:
        _print_json({**results.plain(), "files": {word: str(path) for word, path in written.items() if path}})
    else:
        typer.echo("\n".join([str(results), *(f"{word} {path}" for word, path in written.items() if path)]))
    if trajectory is not None and not trajectory.success:
        raise typer.Exit(STOPPED_EARLY)


def _tell_run(trajectory: Any, files: dict[str, Path | None], as_json: bool) -> None:
    """How a run went, where it ended, and what was written."""
    from daedalus.display.cards.card import values_text
    from daedalus.display.look import ending_text, unit_text
    from daedalus.model.values import unit_of

    work, written = trajectory.work, {word: str(path) for word, path in files.items() if path is not None}
    states = [n for n, place in trajectory.system.places.items() if place.letter == "x"]
    if as_json:
        counts = {word: getattr(work, word) for word in ("steps", "rejected", "rhs", "jacobians", "seconds")}
        _print_json({
            "model": trajectory.system.name, "success": trajectory.success, "status": str(trajectory.status),
            "stop_reason": trajectory.stop_reason, "time": float(trajectory.time[-1]), "method": trajectory.method,
            "work": counts, "end": {name: trajectory[name][-1] for name in states},
            "events": [{"name": e.name, "time": e.time} for e in trajectory.events],
            "drift": trajectory.drift(), "notes": [record.whole() for record in trajectory.records], "files": written,
        })  # fmt: skip
        return
    typer.echo(f"{trajectory.system.name}: {ending_text(trajectory)}")
    typer.echo(f"{trajectory.method}, {counted(work.steps, 'step')}, {work.rejected} rejected, "
               f"{counted(work.rhs, 'evaluation')}, {seconds_text(work.seconds)}")  # fmt: skip
    for name in states[:12]:
        unit = unit_text(unit_of(trajectory.system, name))
        typer.echo(f"  {name} = {values_text(trajectory[name][-1])} {unit}".rstrip())
    if len(states) > 12:
        typer.echo(f"  … and {len(states) - 12} more; --json prints all of them")
    for note in trajectory.notes[:6]:
        typer.echo(f"note: {note}")
    for word, path in written.items():
        typer.echo(f"{word} {path}")


def _print_json(data: object) -> None:
    typer.echo(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(data: Any) -> Any:
    """Numbers, texts, lists and dictionaries only; what is not a number becomes null."""
    if isinstance(data, dict):
        return {str(name): _plain(value) for name, value in data.items()}
    if isinstance(data, np.ndarray):
        return _plain(data.tolist())
    if isinstance(data, (list, tuple, set)):
        return [_plain(value) for value in data]
    if isinstance(data, (bool, np.bool_)) or data is None:
        return None if data is None else bool(data)
    if isinstance(data, (int, np.integer)):
        return int(data)
    if isinstance(data, (float, np.floating)):
        return float(data) if np.isfinite(data) else None
    return str(data)


def _save_picture(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"The picture {str(path)!r} cannot be written.", str(error).splitlines()[0]) from error


def main() -> None:
    """Run the command line; errors of the package become one line (and its facts) and an exit code."""
    import matplotlib

    matplotlib.use("Agg")
    try:
        app()
    except DaedalusError as error:
        if "--json" in sys.argv:
            told = {"what": error.what, "facts": error.facts, "because": error.because, "remedy": error.remedy}
            _print_json({"error": told})
        typer.echo(f"daedalus: {error}", err=True)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        typer.echo("daedalus: interrupted", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()


def describe() -> dict[str, str]:
    """Versions and settings by name, for `daedalus info` and bug reports."""
    import daedalus
    from daedalus.compilation import cache_folder, compiler_in_use
    from daedalus.compilation.disk_cache import why_not_used

    facts = {
        "daedalus": daedalus.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for package in ("casadi", "numpy", "scipy", "llvmlite", "xarray"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    facts["compiler"] = compiler_in_use()
    facts["compiled code"] = why_not_used() or str(cache_folder())
    return facts
