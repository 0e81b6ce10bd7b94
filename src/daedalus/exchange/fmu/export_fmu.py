"""dd.exchange.fmu: a model as an FMU, for model exchange and with its own steps for co-simulation."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import is_singular
from daedalus.analysis.structure.written_structure import variable_index
from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import DaedalusError, InputError
from daedalus.exchange.c_code.casadi_c import CFunction, c_function
from daedalus.exchange.c_code.steps_in_c import fixed_steps, step_functions
from daedalus.exchange.fmu.aliases import with_aliases
from daedalus.exchange.fmu.chosen_states import notes_of_choice, with_chosen_states
from daedalus.exchange.fmu.embedded_steps import embedded_steps
from daedalus.exchange.fmu.fitting_start import fitting_start
from daedalus.exchange.fmu.frictions import frictions_of
from daedalus.exchange.fmu.instants import Instants, assigned_by, guards_of, instants_of
from daedalus.exchange.fmu.iterated_unknowns import NONE, IteratedUnknowns, iterated_unknowns
from daedalus.exchange.fmu.libraries import builder_of, libraries
from daedalus.exchange.fmu.model_description import (
    KINDS,
    PLATFORMS,
    FmuVariable,
    description,
    platform_folder,
)
from daedalus.exchange.fmu.resets_on_constraints import consistent_resets
from daedalus.exchange.noise_notes import MOST_LISTED, noise_notes
from daedalus.initialisation.initialise import initialise
from daedalus.model.expressions import concatenate, elements
from daedalus.model.model import Model, as_system
from daedalus.model.names import did_you_mean, listed
from daedalus.model.system.system import System
from daedalus.reduction.forms.explicit_form import ExplicitForm, find_explicit_form
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.reduce import reduce
from daedalus.reduction.switches import switches_of

EXPLICIT, STIFF, SEVERAL, ONE_STAGE = "dopri5", "radau5", "bdf", "implicit_euler"
# Where "auto" takes implicit steps: rates of decay this far apart, at the start or after steps of these lengths (s);
# all stages of a step are one dense system, so that large models stay with explicit steps.
SPREAD, MOST_IMPLICIT = 1e4, 66
FIRST_LOOK, LAST_LOOK = 1e-6, 0.1
# How fast model exchange draws algebraic equations back to zero (1/s); stiff models have importers with implicit steps.
# The transistor amplifier under CVode at 1e-8: 1.6e-4 off at its end without it, 3.5e-5 with 20, 1.3e-6 with 1000.
DRAWN_BACK, DRAWN_BACK_STIFF = 20.0, 1000.0
# A date for all files, so that the same model gives the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class FmuExport:
    """The result of `dd.exchange.fmu`: path, kinds, version, names of inputs and outputs, method, notes, platforms."""

    path: Path
    kinds: tuple[str, ...]
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    method: str
    notes: tuple[str, ...]
    platforms: tuple[str, ...] = ()
    step: float | None = None

    def __str__(self) -> str:
        head = f"{self.path}: FMI {self.version}.0, {' and '.join(self.kinds)}, {self.method} inside"
        head += f", fixed steps of {self.step:g} s" if self.step else ""
        head += f", for {', '.join(self.platforms)}" if self.platforms else ""
        return "\n".join([head, *self.notes])


def export_fmu(
    model: Model | System,
    path: str | Path,
    kind: str = "both",
    version: int = 3,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    platforms: str = "this",
    method: str = "auto",
    rtol: float = 1e-6,
    step: float | None = None,
    compiler: bool | None = None,
) -> FmuExport:
    """Write a model as an FMU for other tools: FMI 2.0 or 3.0, model exchange, co-simulation, or both.

    Variables have the names of the model, with units and start values; parameters are tunable. In model exchange the
    importer integrates: models of index 2 and 3 are reduced, and their constraints stabilised (Baumgarte), since an
    importer cannot project. The states of `dd.reduce(m, stabilise="dummy_derivatives")` are the independent ones
    alone, and the FMU solves its constraints for the others; state events exchange them where others are better. In
    co-simulation the FMU makes its own steps to the tolerance `rtol`, keeps constraints by projection, and locates
    events inside a communication step. States of the FMU can be saved, set and serialised.

    Parameters
    ----------
    path: the file, usually "name.fmu".
    kind: "both", "model_exchange" or "co_simulation".
    version: 3 or 2.
    inputs: the inputs to offer, all of them; None for all.
    outputs: names of outputs, states or algebraic variables that are outputs of the FMU; None for the model's outputs,
        or all states if it has none. All others can be read, too.
    platforms: "this", or "all": with libraries for Linux, macOS and Windows, where their runtimes are installed.
    method: of the steps in co-simulation: "auto", a tableau such as "dopri5", "rk4", "radau5", or "bdf".
    rtol: the relative tolerance of co-simulation; an importer may set another.
    step: the length of all steps in co-simulation (s), but for those that end at events, ticks and communication
        points; None for steps as long as the tolerance allows.
    compiler: False gives the FMU a prebuilt library that reads the model as data: made in a moment, without a C
        compiler. True builds the library by the C compiler of this machine, for faster code. None: prebuilt, where the
        package has a runtime for this platform.

    Discrete variables, conditions, clocks and schedules act as in `dd.simulate`; ticks are time events of the FMU. What
    it does not carry is listed in `notes` of the result. Raises an InputError for clocks that call Python code, for
    contacts, delays, and resets of positions that constraints hold. Equations without a formula for x' and z, as those
    of circuits with diodes, are solved by a damped Newton's method inside; `method` is then an implicit one.

    Example
    -------
    >>> import daedalus as dd, tempfile
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = dd.exchange.fmu(m, f"{folder}/decay.fmu")
    >>> written.outputs
    ('x',)
    """
    kinds = _checked(kind, version, platforms)
    builder = builder_of(compiler, platforms, version)
    system, form, unknowns, notes = _flowing_system(model)
    instants = instants_of(system)
    names = _chosen_outputs(model, system, inputs, outputs)
    start, first = _start(system, unknowns, notes)
    chosen, core = _steps(system, form, unknowns, start, method)
    variables, functions = (
        _variables(system, form, unknowns, names, start, instants),
        _functions(model, system, form, unknowns, core, instants, notes),
    )
    identifier = "".join(c if c.isalnum() and c.isascii() else "_" for c in system.name)
    identifier = identifier if identifier[:1].isalpha() else f"m_{identifier}"
    whole = [*functions, *step_functions(core, "dd")]
    steps = embedded_steps(core.tableau, rtol, step, chosen == SEVERAL)
    files, token = libraries(builder, system, whole, core, start, first, instants, steps, repr(variables))
    text = description(system.name, identifier, token, version, kinds, variables, instants.guards, rtol)
    where = Path(path)
    inside = {"modelDescription.xml": text.encode()}
    for name, content in files.items():
        folder, ending = platform_folder(version, name) if name in PLATFORMS else ("", "")
        inside[f"binaries/{folder}/{identifier}{ending}" if folder else name] = content
    _zipped(where, inside)
    there = tuple(name for name in files if name in PLATFORMS)
    return FmuExport(where, tuple(kinds), version, system.labels["u"], names, chosen, tuple(notes), there, step)


def _checked(kind: str, version: int, platforms: str) -> list[str]:
    if kind not in ("both", *KINDS):
        raise InputError(f"kind={kind!r} is not a kind of FMU.", remedy='"both", "model_exchange" or "co_simulation"')
    if version not in (2, 3):
        raise InputError(f"version={version!r} is not a version of FMI.", remedy="version=3, or 2")
    if platforms not in ("this", "all"):
        raise InputError(f"platforms={platforms!r} is not known.", remedy='platforms="this", or "all"')
    return list(KINDS) if kind == "both" else [kind]


def _flowing_system(model: Model | System) -> tuple[System, ExplicitForm, IteratedUnknowns, list[str]]:
    whole = flowing_system(model, sampled=True)
    system = with_chosen_states(model, whole) or whole
    found = find_explicit_form(system)
    form, unknowns = iterated_unknowns(system) if isinstance(found, NoForm) else (found, NONE)
    notes = [] if not unknowns.count else ["x' and z are solved by Newton's method at every evaluation"]
    notes += noise_notes(system)
    if system is not whole:
        notes += notes_of_choice(whole, system)
    switches = switches_of(system)
    if switches is not None:
        named = listed([*switches.conditions, *switches.on_time], MOST_LISTED)
        notes.append(f"conditions in the equations are no events, steps pass them by their error: {named}")
    return system, form, unknowns, notes


def _chosen_outputs(
    model: Model | System, system: System, inputs: Sequence[str] | None, outputs: Sequence[str] | None
) -> tuple[str, ...]:
    if inputs is not None and set(inputs) != {v.name for v in system.of_kind("input")}:
        raise InputError(
            "inputs= has to name all inputs of the model.",
            f"the model has {', '.join(v.name for v in system.of_kind('input')) or 'none'}",
            because="an FMU gets the values of all inputs from outside.",
            remedy="inputs=None; give the others a value in the equations",
        )
    if outputs is None:
        written = as_system(model)
        of_states = written if written.choices else system  # where the FMU has others, those of the model
        return tuple(system.output_names) or tuple(v.name for v in of_states.of_kind("state"))
    discrete = [v.name for v in system.of_kind("discrete")]
    known = [*system.output_names, *(n for n, p in system.places.items() if p.letter in ("x", "z")), *discrete]
    for name in outputs:
        if name not in known:
            raise InputError(
                f"{name!r} cannot be an output of the FMU.", f"known: {', '.join(known[:10])}",
                remedy=did_you_mean(str(name), known),
            )  # fmt: skip
    return tuple(outputs)


def _start(system: System, unknowns: IteratedUnknowns, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The consistent start, with inputs at zero, and first values of unknowns that are solved by iteration."""
    missing = [label for label, v in zip(system.labels["p"], system.start["p"]) if np.isnan(v)]
    if missing:
        raise InputError(
            f"{', '.join(missing[:6])} {'has' if len(missing) == 1 else 'have'} no value.",
            because="an FMU has a start value for each parameter.",
            remedy=f"m.parameter({missing[0]!r}, 1.0)",
        )
    try:
        found = initialise(system, inputs={v.name: np.zeros(v.shape) for v in system.of_kind("input")})
        labels = [system.labels["x"], [*system.labels["xdot"], *system.labels["z"]] if unknowns.count else []]
        start, first = (np.array([float(found[label]) for label in own]) for own in labels)
        return start, first
    except (DaedalusError, TypeError, ValueError):
        notes.append("start values are those written in the model; they were not made consistent")
        guess = np.concatenate([np.zeros(system.sizes["x"]), np.nan_to_num(system.start["z"])])
        return np.array(system.default_start), guess[: unknowns.count]


def _without_events(system: System) -> System:
    if not system.events:
        return system
    return system.changed(
        events=[], guards=ca.SX(0, 1), resets=ca.SX(0, system.sizes["x"]), assigned=None, parts=system.parts()
    )


def _steps(
    system: System, form: ExplicitForm, unknowns: IteratedUnknowns, start: np.ndarray, method: str
) -> tuple[str, FlowCore]:
    chosen = method
    if method == "auto" and unknowns.count:
        chosen = STIFF
    elif method == "auto":
        small = system.sizes["x"] <= MOST_IMPLICIT
        chosen = STIFF if small and _is_stiff(system, form, start) else EXPLICIT
    # Backward differentiation formulas solve the equations of one implicit stage.
    return chosen, fixed_steps(_without_events(system), ONE_STAGE if chosen == SEVERAL else chosen, 1e-3, 1)


def _is_stiff(system: System, form: ExplicitForm, start: np.ndarray) -> bool:
    """Whether rates of decay are far apart at the start, or soon after it: rough steps that grow, implicit once.

    Robertson's reactions are not stiff at their start, and very stiff a microsecond later.
    """
    symbols = system.symbols(("t", "x", "u", "p"))
    rates, n = form.xdot, system.sizes["x"]
    slopes = ca.Function("rates", symbols, [ca.densify(rates), ca.densify(ca.jacobian(rates, symbols[1]))])
    t, x, step = 0.0, np.array(start, dtype=float), FIRST_LOOK
    while step <= LAST_LOOK:
        value, matrix = (m.full() for m in slopes(t, x, np.zeros(system.sizes["u"]), system.start["p"]))
        if not (np.all(np.isfinite(value)) and np.all(np.isfinite(matrix))):
            return False
        poles = np.linalg.eigvals(matrix) if n else np.zeros(1)
        fast = float(np.max(-poles.real, initial=0.0))
        slow = float(np.min(np.abs(poles), initial=np.inf))
        if fast > SPREAD * min(max(slow, 1e-3), 1.0):
            return True
        if system.has_invariants:  # such a step would leave them
            return False
        # One linearly implicit Euler step.
        system_matrix = np.eye(n) - step * matrix
        if n == 0 or is_singular(system_matrix):
            return False
        x = x + np.linalg.solve(system_matrix, step * value.ravel())
        t, step = t + step, 10 * step
    return False


def _variables(
    system: System, form: ExplicitForm, unknowns: IteratedUnknowns, outputs: tuple[str, ...], start: np.ndarray,
    instants: Instants,
) -> list[FmuVariable]:  # fmt: skip
    sizes = system.sizes
    units = {letter: [""] * sizes[letter] for letter in ("x", "xdot", "z", "u", "p")}
    for place in system.places.values():
        for letter, k in zip(place.letters, place.positions):
            units[letter][int(k)] = units[letter][int(k)] or place.unit
    chosen, limits = {label for name in outputs for label in _labels_of(system, name)}, _limits(system)
    found: list[FmuVariable] = [FmuVariable("time", 0, "independent", "continuous")]
    n, nz = sizes["x"], sizes["z"]
    labels_y = [label for name in system.output_names for label in _labels_of(system, name)]
    first_u = 2 + 2 * n + nz + len(labels_y)

    depends = partial(_dependence, system, unknowns, first_u)

    def kind(label: str) -> str:
        return "output" if label in chosen else "local"

    # States come first, so that the index of the k-th is k + 2; rates, z, outputs, inputs and parameters follow.
    for k, label in enumerate(system.labels["x"]):
        own = (k + 2,) if kind(label) == "output" else ()
        value, is_open = float(start[k]), bool(system.constrains_start and np.isnan(system.start["x"][k]))
        state = FmuVariable(label, 1 + k, kind(label), "continuous", value, units["x"][k], None, own, is_open=is_open)
        found.append(state)
    for k, row in enumerate(depends(form.xdot)):
        label = system.labels["xdot"][k]
        label = f"der({system.labels['x'][k]})" if label in system.labels["x"] else label
        found.append(FmuVariable(label, 1 + n + k, "local", "continuous", None, units["xdot"][k], k + 2, row))
    for k, row in enumerate(depends(form.z)):
        label = system.labels["z"][k]
        found.append(FmuVariable(label, 1 + 2 * n + k, kind(label), "continuous", None, units["z"][k], None, row))
    y = form.applied(system, concatenate(system.outputs.values())) if system.output_names else ca.SX(0, 1)
    own_units = [system.output_units.get(name, "") for name in system.output_names for _ in _labels_of(system, name)]
    for k, row in enumerate(depends(y)):
        output = FmuVariable(labels_y[k], 1 + 2 * n + nz + k, kind(labels_y[k]), "continuous", unit=own_units[k])
        found.append(replace(output, depends=row))
    for k, label in enumerate(system.labels["u"]):
        found.append(FmuVariable(label, first_u - 1 + k, "input", "continuous", 0.0, units["u"][k]))
    for k, label in enumerate(system.labels["p"]):
        value = float(system.start["p"][k])
        reference = first_u - 1 + sizes["u"] + k
        if k < sizes["p"] - instants.discretes:
            found.append(FmuVariable(label, reference, "parameter", "tunable", value, units["p"][k]))
        else:
            found.append(FmuVariable(label, reference, kind(label), "discrete", value, units["p"][k]))
    guards = form.applied(system, guards_of(system, instants)) if instants.guards else ca.SX(0, 1)
    for k, row in enumerate(depends(guards)):
        reference = first_u - 1 + sizes["u"] + sizes["p"] + k
        label = f"guard({system.events[instants.order[k]].name})"
        found.append(FmuVariable(label, reference, "local", "continuous", depends=row, is_guard=True))
    found = with_aliases(system, found, _written_outputs(system, labels_y))
    return [_limited(variable, limits) for variable in found]


def _dependence(system: System, unknowns: IteratedUnknowns, first_u: int, expression: ca.SX) -> list[tuple[int, ...]]:
    """The indices (from 1) of the states and inputs that each row depends on; first_u: that of the first input."""
    n = system.sizes["x"]
    by_x, by_u = (ca.jacobian(expression, system.symbol(letter)).sparsity() for letter in ("x", "u"))
    by_w = set(ca.jacobian(expression, unknowns.symbols).sparsity().get_triplet()[0])
    # What is solved by iteration may depend on all states and inputs.
    all_of_them = [*range(2, 2 + n), *range(first_u, first_u + system.sizes["u"])]
    rows: list[list[int]] = [list(all_of_them) if k in by_w else [] for k in range(expression.numel())]
    for pattern, first in ((by_x, 2), (by_u, first_u)):
        for row, column in zip(*pattern.get_triplet()):
            rows[row].append(first + column)
    return [tuple(sorted(set(row))) for row in rows]


def _written_outputs(system: System, labels: list[str]) -> dict[str, ca.SX]:
    """The expression of each output."""
    return dict(zip(labels, elements(concatenate(system.outputs.values())))) if labels else {}


def _limits(system: System) -> dict[str, dict[str, float]]:
    """Usual sizes other than one, and bounds of what an importer sets, by label; a run does not stop at others."""
    found: dict[str, dict[str, float]] = {}
    for variable in system.variables:
        words = ("nominal", "lower", "upper") if variable.kind in ("input", "parameter") else ("nominal",)
        for k in range(variable.size):
            given = ((word, getattr(variable, word)[k : k + 1]) for word in words)
            own = {w: float(v) for w, values in given for v in values if np.isfinite(v) and (w, v) != ("nominal", 1.0)}
            if own:
                found[variable.label(k)] = own
    return found


def _limited(variable: FmuVariable, limits: dict[str, dict[str, float]]) -> FmuVariable:
    own = limits.get(variable.name, {})
    return replace(variable, nominal=own.get("nominal"), lower=own.get("lower"), upper=own.get("upper"))


def _labels_of(system: System, name: str) -> list[str]:
    if name in system.output_names:
        size = system.output(name).numel()
        return [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]
    place = system.place(name)
    return [system.labels[letter][int(k)] for letter, k in zip(place.letters, place.positions)]


def _functions(
    model: Model | System, system: System, form: ExplicitForm, unknowns: IteratedUnknowns, core: FlowCore,
    instants: Instants, notes: list[str],
) -> list[CFunction]:  # fmt: skip
    own = [*((letter, system.symbol(letter)) for letter in ("t", "x", "u")), ("p", unknowns.parameters(system))]
    rates = form
    if system.has_invariants:
        rates = _stabilised(model, system) or _drawn_back(system, form, core) or form
        notes.append(
            "model exchange stabilises constraints (Baumgarte)" if rates is not form
            else "model exchange does not stabilise constraints: they drift as the importer's errors do"
        )  # fmt: skip
    found = [c_function("dd_rates", own, [("xdot", rates.xdot), ("z", form.z)], "x' and z")]
    y = form.applied(system, concatenate(system.outputs.values())) if system.output_names else ca.SX(0, 1)
    seeds = [(f"s{letter}", ca.SX.sym(f"s{letter}", symbols.numel())) for letter, symbols in own[1:]]
    at, along = ca.vertcat(*(s for _, s in own[1:])), ca.vertcat(*(s for _, s in seeds))
    moved = [(word, _along(e, at, along)) for word, e in (("xdot", rates.xdot), ("z", form.z), ("y", y))]
    found.append(c_function("dd_forward", [*own, *seeds], moved, "how x', z and y change along a direction"))
    weights = [(f"w{word}", ca.SX.sym(f"w{word}", e.numel())) for word, e in moved]
    back = _back([rates.xdot, form.z, y], at, [w for _, w in weights])
    ends = np.cumsum([0, *(symbols.numel() for _, symbols in own[1:])]).tolist()
    parts = [(f"{letter}_bar", back[a:b]) for letter, a, b in zip(("x", "u", "p"), ends, ends[1:])]
    found.append(c_function("dd_adjoint", [*own, *weights], parts, "how a weighted sum of x', z and y changes"))
    found += [*unknowns.functions(own), *fitting_start(system, form, own)]
    if system.output_names:
        found.append(c_function("dd_outputs", own, [("y", y)], "the outputs"))
    if instants.guards:
        guards = form.applied(system, guards_of(system, instants))
        found.append(c_function("dd_guards", own, [("g", guards)], "what passes zero at events"))
    if instants.order:
        after = form.applied(system, assigned_by(system, instants, consistent_resets(system, form)))
        found.append(c_function("dd_resets", own, [("next", after)], "states and discrete variables after each event"))
    return found + frictions_of(system).functions(form, own)


def _along(expression: ca.SX, at: ca.SX, direction: ca.SX) -> ca.SX:
    return ca.jtimes(expression, at, direction) if expression.numel() else ca.SX(0, 1)


def _back(expressions: list[ca.SX], at: ca.SX, weights: list[ca.SX]) -> ca.SX:
    whole, weight = ca.vertcat(*expressions), ca.vertcat(*weights)
    if not whole.numel() or not at.numel():
        return ca.SX.zeros(at.numel(), 1)
    return ca.densify(ca.jtimes(whole, at, weight, True))


def _drawn_back(system: System, form: ExplicitForm, core: FlowCore) -> ExplicitForm | None:
    """The rates with what is kept drawn back to zero: x' + alpha (move onto what is kept).

    For equations that were differentiated once, as those of circuits with a singular matrix of capacities.
    """
    stage = core.stage
    if stage.projected is None:
        return None
    letters = ("t", "x", "u", "p")
    old = ca.vertcat(*(stage.symbols[letter] for letter in letters))
    new = ca.vertcat(*system.symbols(letters))
    move = ca.substitute(stage.projected, old, new) - system.symbol("x")
    alpha = DRAWN_BACK_STIFF if stage.implicit else DRAWN_BACK
    return ExplicitForm(form.xdot + alpha * move, form.z)


def _stabilised(model: Model | System, system: System) -> ExplicitForm | None:
    """The rates with constraints stabilised, in the symbols of the system; None where its states are others."""
    if variable_index(as_system(model)).largest < 2:
        return None
    try:
        other = reduce(model, stabilise="baumgarte").freeze()
        found = find_explicit_form(other)
    except DaedalusError:
        return None
    if isinstance(found, NoForm) or any(other.labels[k] != system.labels[k] for k in ("x", "u", "p")):
        return None
    letters = ("t", "x", "u", "p")
    old, new = (ca.vertcat(*s.symbols(letters)) for s in (other, system))
    return ExplicitForm(ca.substitute(found.xdot, old, new), found.z)


def _zipped(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
