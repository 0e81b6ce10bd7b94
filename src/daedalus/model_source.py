"""What the command line works on: a model from a Python file or from the catalogue, with the values given beside it."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.errors import DaedalusError, InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import did_you_mean, listed, shape_text, split_index
from daedalus.model.system.system import System

CATALOGUE = "catalogue:"
# Systems of the catalogue that are several, with the keyword that chooses: `catalogue:small_dae:savin_14`.
VARIANTS = {"small_dae": "example"}
NETLISTS = frozenset({".cir", ".ckt", ".net", ".sp", ".spice"})


@dataclass(frozen=True, eq=False)
class ModelSource:
    """A model and how it is to be run.

    address: as it was asked for. span: (t0, t1), or None where the source says nothing. problem: an optimal control
    problem that comes with it, or None. netlist: what a netlist asks for beside a run, or None. notes: what the
    command line reports about its values.
    """

    address: str
    model: Any
    start: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    span: tuple[float, float] | None = None
    problem: Any = None
    netlist: Any = None
    notes: tuple[str, ...] = ()

    def with_values(self, inputs: Sequence[str], parameters: Sequence[str], start: Sequence[str]) -> ModelSource:
        """With values from the command line, `name=value`, which come before those of the file."""
        variables = self.model.variables
        kinds = {name: v.kind for name, v in variables.items()}
        given = {
            "input": _assigned("--input", inputs, variables, self._open_inputs() if inputs else []),
            "parameter": _assigned(
                "--parameter", parameters, variables, [n for n, kind in kinds.items() if kind == "parameter"]
            ),
            "start": _assigned(
                "--start", start, variables, [n for n, kind in kinds.items() if kind not in ("input", "parameter")]
            ),
        }
        notes = [
            f"{name} = {array.flat[0]:g} in each of its {array.size} elements"
            for texts, values in zip((inputs, parameters, start), given.values())
            for name, array in ((name, np.asarray(value)) for name, value in values.items())
            if array.size > 1 and _is_one_number(texts, name)
        ]
        return replace(
            self,
            notes=(*self.notes, *notes),
            inputs={**self.inputs, **given["input"]},
            parameters={**self.parameters, **given["parameter"]},
            start={**_values(self.start), **given["start"]} if given["start"] else self.start,
        )

    def _open_inputs(self) -> list[str]:
        return [v.name for v in self._system.of_kind("input")]

    @cached_property
    def _system(self) -> System:
        """The model as it is run; inputs of parts that are joined to something are not inputs of it."""
        return self.model.freeze()

    def check_complete(self) -> None:
        """Refuse inputs and parameters without a value, in the words of the command line."""
        open_names = {v.name for v in self._system.variables}
        for option, kind, given in (("--input", "input", self.inputs), ("--parameter", "parameter", self.parameters)):
            missing = [
                name
                for name, v in self.model.variables.items()
                if v.kind == kind and name not in given and name in open_names and (kind == "input" or None in v.start)
            ]
            if missing:
                shape = self.model.variables[missing[0]].shape
                value = "0" if shape == () else ",".join(["0"] * int(np.prod(shape)))
                raise InputError(
                    f"The {kind} {missing[0]!r} has no value.",
                    f"without a value: {', '.join(missing)}" if len(missing) > 1 else "",
                    because=f"a run needs every {kind}.",
                    remedy=f"{option} {missing[0]}={value}",
                )

    def is_only_analysed(self, end: float | None) -> bool:
        """Whether a netlist asks for analyses alone, and nobody for a run."""
        return self.netlist is not None and self.span is None and end is None

    def options(self) -> dict[str, Any]:
        """What every verb takes: start, inputs and parameters."""
        return {"start": self.start or None, "inputs": self.inputs or None, "parameters": self.parameters or None}

    def until(self, end: float | None) -> float | tuple[float, float]:
        """The span of a run that ends at `end`; the source's own, or ten, where nothing was asked for."""
        if end is not None:
            return end if self.span is None else (self.span[0], end)
        return 10.0 if self.span is None else self.span


def load_source(address: str, name: str | None = None) -> ModelSource:
    """The model behind `file.py`, a netlist or `catalogue:name`; `name` picks one of several models of a file."""
    if address.startswith(CATALOGUE):
        return _from_catalogue(address)
    file = Path(address)
    if file.suffix.lower() in NETLISTS and file.exists():
        return _from_netlist(address, file)
    found = _run_file(file)
    model = _model_among(found, file, name)
    span = found.get("span")
    from daedalus.model.model import Model

    problem = next((v for v in found.values() if type(v).__name__ == "OptimalControl"), None)
    assert isinstance(model, Model)
    return ModelSource(
        address,
        model,
        found.get("start") or {},
        found.get("inputs") or {},
        found.get("parameters") or {},
        _read_span(span, file),
        problem,
    )


def _read_span(span: object, file: Path) -> tuple[float, float] | None:
    if span is None:
        return None
    try:
        ends = (0.0, float(span)) if np.ndim(span) == 0 else tuple(float(t) for t in span)  # type: ignore[arg-type, attr-defined]
        begin, end = ends
    except (TypeError, ValueError):
        raise InputError(
            f"`span` in {str(file)!r} is not a time span.",
            f"it is {span!r}",
            remedy="span = 10.0, or span = (0.0, 10.0)",
        ) from None
    return begin, end


def _from_netlist(address: str, file: Path) -> ModelSource:
    """The circuit of a netlist; its .tran is the span, and .include reads files beside it."""
    from daedalus.components.spice.from_spice import read_netlist

    model, netlist = read_netlist(file.read_text(encoding="utf-8", errors="replace"), file.resolve().parent)
    span = (0.0, netlist.transient.stop) if netlist.transient.is_asked else None
    return ModelSource(address, model, span=span, netlist=netlist if netlist.analyses else None)


def _from_catalogue(address: str) -> ModelSource:
    from daedalus import catalogue

    name, _, variant = address.removeprefix(CATALOGUE).partition(":")
    if name not in catalogue.names():
        raise InputError(
            f"The catalogue has no system {name!r}.",
            f"it has {len(catalogue.names())} systems",
            because="`catalogue:` is followed by the name of a known system.",
            remedy=did_you_mean(name, catalogue.names(), listed=False),
        )
    if variant and name not in VARIANTS:
        raise InputError(
            f"The system {name!r} of the catalogue has no variants.",
            f"asked for {variant!r}; systems with variants: {', '.join(VARIANTS)}",
            remedy=f"{CATALOGUE}{name}",
        )
    known = catalogue.load(name, **({VARIANTS[name]: variant} if variant else {}))
    return ModelSource(address, known.model, known.start, known.inputs, {}, known.span, getattr(known, "problem", None))


def source_labels(begun: str) -> Iterable[str]:
    """What may be meant by the beginning of a source, for the completion of a shell."""
    from daedalus import catalogue

    folder, _, _ = begun.rpartition("/")
    files = sorted(Path(folder or ".").glob("*.py"))
    labels = [f"{CATALOGUE}{name}" for name in catalogue.names()]
    if begun.startswith(f"{CATALOGUE}small_dae:"):
        from daedalus.catalogue.textbook.small_dae import EXAMPLES

        labels += [f"{CATALOGUE}small_dae:{name}" for name in EXAMPLES]
    return [text for text in (*(str(f) for f in files), *labels) if text.startswith(begun)]


# -- values of the command line ----------------------------------------------------------------------------------


def _assigned(option: str, texts: Sequence[str], variables: Mapping[str, Any], known: list[str]) -> dict[str, Any]:
    """`name=value` by name; a value is a number, or numbers with commas between them."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not name:
            raise InputError(
                f"{option} {text!r} is not an assignment.",
                because="a value is given by name.",
                remedy=f"{option} {known[0] if known else 'name'}=0",
            )
        stem = split_index(name)[0]
        stem = stem.removesuffix("_dot") if option == "--start" and stem not in variables else stem
        if stem not in known:
            what = {"--input": "input", "--parameter": "parameter", "--start": "state"}[option]
            raise InputError(
                f"The model has no {what} {name!r}.",
                f"{what}s: {listed(known, 8)}" if known else f"it has no {what}s",
                because=f"{option} gives a value to one of them.",
                remedy=did_you_mean(name, known) if known else f"leave {option} out",
            )
        found[name] = _number(option, name, value, () if "[" in name else variables[stem].shape)
    return found


def _is_one_number(texts: Sequence[str], name: str) -> bool:
    """Whether the last assignment to a name has one number, which then holds for every element of a vector."""
    last = next(value for key, _, value in (text.partition("=") for text in reversed(texts)) if key.strip() == name)
    return len(_words(last)) == 1


def _words(text: str) -> list[str]:
    return text.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()


def _number(option: str, name: str, text: str, shape: tuple[int, ...]) -> Any:
    try:
        values = [float(word) for word in _words(text)]
    except ValueError:
        values = []
    count = int(np.prod(shape, dtype=int))
    if not values or (len(values) not in (1, count)):
        raise InputError(
            f"{option} {name}={text} cannot be read.",
            f"{name} is {shape_text(shape)}",
            because="a value is a number, or one number per element, separated by commas.",
            remedy=f"{option} {name}={','.join(['0'] * count)}",
        )
    if shape == ():
        return values[0]
    return np.reshape(values * count if len(values) == 1 else values, shape, order="F")


def _values(start: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): start[name] for name in start}


# -- files -------------------------------------------------------------------------------------------------------


def _run_file(file: Path) -> dict[str, Any]:
    """The names a Python file defines."""
    if not file.exists():
        raise InputError(
            f"There is no file {str(file)!r}.",
            remedy="the path of a Python file with a model, or catalogue:delta_robot",
        )
    if file.suffix != ".py":
        raise InputError(f"{str(file)!r} is not a Python file.", remedy="a .py file with a model")
    sys.path.insert(0, str(file.resolve().parent))
    try:
        return runpy.run_path(str(file))
    except DaedalusError:
        raise
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
        where = f"line {lines[-1]}: " if lines else ""
        raise InputError(f"{str(file)!r} cannot be run.", f"{where}{type(error).__name__}: {error}") from error


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
