"""The command line: `daedalus demo`, `analyse FILE`, `simulate FILE`, `methods`, `info`."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer

from daedalus.errors import DaedalusError, InputError

app = typer.Typer(
    help="Daedalus: write a dynamic system, understand it, simulate it, look at it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

FILE_HELP = "A Python file with a model (and, if wanted, `inputs`, `start`)."
MODEL_HELP = "The variable that holds the model, where FILE has several and none is called `model`."

# Exit codes: 0 done, 1 the run ended early, 2 the call or the file cannot be used.
STOPPED_EARLY, BAD_INPUT = 1, 2


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Where the picture and the data go.")] = Path("demo"),
) -> None:
    """Fly a quadrotor, swing pendulums, run a DAE of index 3; writes a picture and a NetCDF file."""
    from daedalus.demo import run_demo

    run_demo(folder)


@app.command()
def methods() -> None:
    """Print the integration methods."""
    from rich.console import Console
    from rich.table import Table

    from daedalus.integrators.methods import methods as known_methods

    listing = Table(title="Integration methods", title_justify="left")
    for heading in ("name", "order", "explicit", "adaptive", "ODE", "index 1", "index 2", "index 3", "what it is"):
        listing.add_column(heading, no_wrap=heading != "what it is")
    for m in known_methods():
        flags = ("yes" if flag else "no" for flag in (m.explicit, m.adaptive))
        listing.add_row(m.name, str(m.order), *flags, m.ode, m.index_1, m.index_2, m.index_3, m.title)
    Console(width=None if sys.stdout.isatty() else 140).print(listing)


@app.command()
def analyse(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the incidence into this picture.")] = None,
    name: Annotated[str | None, typer.Option("--model", help=MODEL_HELP)] = None,
) -> None:
    """Say what the system in FILE is: its kind, index, hidden constraints, and what is too much or too little."""
    from daedalus.analysis.analyse import analyse as examine

    found = _load_file(file, name)
    report = examine(found["model"], at=found.get("start"), inputs=found.get("inputs"))
    typer.echo(str(report))
    if plot is not None:
        _save_picture(report.plot(), plot)
        typer.echo(f"drew {plot}")


@app.command()
def simulate(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    until: Annotated[float, typer.Option("--until", help="End of the run, in the model's time.")] = 10.0,
    method: Annotated[str, typer.Option("--method", help="A name from `daedalus methods`.")] = "auto",
    rtol: Annotated[float, typer.Option("--rtol", help="Relative tolerance.")] = 1e-6,
    step: Annotated[float | None, typer.Option("--step", help="Fixed step, for methods without error control.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the run to this NetCDF file.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the run into this picture.")] = None,
    name: Annotated[str | None, typer.Option("--model", help=MODEL_HELP)] = None,
) -> None:
    """Run the model in FILE and say how it went."""
    from daedalus.simulation.simulate import simulate as run

    found = _load_file(file, name)
    trajectory = run(
        found["model"], until, start=found.get("start"), inputs=found.get("inputs"), method=method, rtol=rtol, step=step
    )
    work = trajectory.work
    typer.echo(f"{trajectory.system.name}: {trajectory.stop_reason}")
    typer.echo(f"{trajectory.method}, {work.steps} steps, {work.rejected} rejected, {work.rhs} evaluations, "
               f"{1e3 * work.seconds:.3g} ms")  # fmt: skip
    for name in [n for n, place in trajectory.system.places.items() if place.letter == "x"][:12]:
        typer.echo(f"  {name} = {trajectory[name][-1]}")
    if out is not None:
        trajectory.save(out)
        typer.echo(f"saved {out}")
    if plot is not None:
        _save_picture(trajectory.plot(), plot)
        typer.echo(f"drew {plot}")
    if not trajectory.success:
        raise typer.Exit(STOPPED_EARLY)


@app.command()
def info() -> None:
    """Print versions, the compiler in use and where compiled code is kept."""
    from daedalus.installation import describe

    for name, value in describe().items():
        typer.echo(f"{name + ':':<16}{value}")


def _load_file(file: Path, name: str | None) -> dict[str, Any]:
    """The names a Python file defines, with its model under "model"."""
    if not file.exists():
        raise InputError(f"There is no file {str(file)!r}.", remedy="the path of a Python file with a model")
    if file.suffix != ".py":
        raise InputError(f"{str(file)!r} is not a Python file.", remedy="a .py file with a model")
    sys.path.insert(0, str(file.resolve().parent))
    try:
        found = runpy.run_path(str(file))
    except DaedalusError:
        raise
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
        where = f"line {lines[-1]}: " if lines else ""
        raise InputError(f"{str(file)!r} cannot be run.", f"{where}{type(error).__name__}: {error}") from error
    return {**found, "model": _model_among(found, file, name)}


def _model_among(found: dict[str, Any], file: Path, name: str | None) -> Any:
    """The model asked for, else the one called `model`, else the only one."""
    from daedalus.model.model import Model

    models = {key: value for key, value in found.items() if isinstance(value, Model)}
    wanted = name or "model"
    if wanted in models:
        return models[wanted]
    if name is None and len({id(value) for value in models.values()}) == 1:
        return next(iter(models.values()))
    if models and name is None:
        raise InputError(
            f"{str(file)!r} defines several models.",
            f"they have the names {', '.join(list(models)[:6])}",
            remedy=f"--model {next(iter(models))}",
        )
    kind = "nothing" if wanted not in found else f"a {type(found[wanted]).__name__}"
    raise InputError(
        f"{str(file)!r} defines no model{f' {name!r}' if name else ''}.",
        f"`{wanted}` is {kind} there" + (f"; models have the names {', '.join(list(models)[:6])}" if models else ""),
        remedy=f"--model {next(iter(models))}" if models else 'm = dd.Model("name") at the top level of the file',
    )


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
        typer.echo(f"daedalus: {error}", err=True)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        typer.echo("daedalus: interrupted", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
