"""dd.exchange.c: a model as self-contained C99 with a Makefile and a test that compares numbers to 1e-12."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import DaedalusError
from daedalus.exchange.c_code.casadi_c import CFunction, c_function, numbers, written_functions
from daedalus.exchange.c_code.steps_in_c import fixed_steps, second_weights, step_functions, steps_code
from daedalus.exchange.noise_notes import noise_notes
from daedalus.initialisation.initialise import initialise
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.expressions import concatenate
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.reduction.forms.explicit_form import find_explicit_form
from daedalus.reduction.forms.no_form import NoForm

# The test steps so often, and this far in all unless a step is given.
TEST_STEPS = 3
DEFAULT_STEP = 1e-3
# A dense matrix over all stages of an implicit step beyond this size has no place on a stack.
LARGEST_STAGES = 200


@dataclass(frozen=True)
class CExport:
    """The result of `dd.exchange.c`: the folder, its files, the C functions, and notes on what was left out.

    labels: the names of the entries of x, z, u, p and y in the order of the arrays.
    """

    folder: Path
    files: tuple[str, ...]
    functions: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.folder}: {', '.join(self.files)}", *self.functions, *self.notes])


def export_c(
    model: Model | System,
    folder: str | Path,
    step: float | None = None,
    method: str | Tableau = "rk4",
    name: str | None = None,
) -> CExport:
    """Write a model as self-contained C99: no heap, fixed sizes, a Makefile, and a test that compares to 1e-12.

    The folder gets `NAME.h` and `NAME.c` with

    - `NAME_residual`, `NAME_residual_jacobian`: F(t, x', x, z, u, p) and its derivatives by x', x, z and u;
    - `NAME_rates`, `NAME_jacobian`, if x' and z have formulas: x' and z of (t, x, u, p), and ∂x'/∂x and ∂x'/∂u;
    - `NAME_outputs`: the outputs y, if the model has any;
    - `NAME_guards`, `NAME_resets`, if the model has events: what passes zero, and the states after each;
    - `NAME_step`: one fixed step of `method`, the map of `dd.flow`, if the model has no events;
    - `NAME_run`: steps up to a time, as long as tolerances allow, by the second weights of the method or by halves;

    the names and start values of all entries, and `test_NAME.c`. `make test` compiles and runs it. Models of index 2
    and 3 are reduced first; steps keep their constraints.

    Parameters
    ----------
    folder: made if it is not there; files of the same names are replaced.
    step: the step of the test, 1e-3 unless given. The function takes any step.
    method: a tableau by name ("rk4", "dopri5", "radau5", "gauss2", "implicit_euler"), or a `dd.Tableau`.
    name: the prefix in C; by default the name of the model.

    What the code does not have is listed in `notes` of the result. Raises an InputError for clocks and delays, and a
    ModelError for inputs that the equations differentiate.

    Example
    -------
    >>> import daedalus as dd, tempfile
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = dd.exchange.c(m, folder)
    >>> written.files
    ('decay.h', 'decay.c', 'test_decay.c', 'Makefile')
    """
    system = flowing_system(model)
    prefix = c_name(system.name if name is None else name)
    notes = noise_notes(system)
    functions = _model_functions(system, prefix, notes)
    core = _flow_core(system, method, DEFAULT_STEP if step is None else step, notes)
    stepping = ""
    if core is not None:
        functions += step_functions(core, prefix)
        stepping = steps_code(core, prefix)
    generated = written_functions(functions)
    files = {
        f"{prefix}.h": _header(system, prefix, functions, core),
        f"{prefix}.c": f'#include "{prefix}.h"\n#include <math.h>\n{_tables(system, prefix)}{generated}{stepping}',
        f"test_{prefix}.c": _test_program(model, system, prefix, functions, core, notes),
        "Makefile": MAKEFILE.format(name=prefix),
    }
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (place / file).write_text(text, encoding="utf-8")
    words = [f.name for f in functions] + ([f"{prefix}_step", f"{prefix}_run"] if core is not None else [])
    return CExport(place, tuple(files), tuple(words), _labels(system), tuple(notes))


def c_name(name: str) -> str:
    """A name as a prefix in C, with underscores one at a time, as CasADi asks."""
    word = re.sub(r"[\W_]+", "_", name, flags=re.ASCII).rstrip("_")
    return word if re.match(r"[A-Za-z]", word) else f"m_{word}".rstrip("_").replace("__", "_")


def _labels(system: System) -> dict[str, tuple[str, ...]]:
    outputs = [
        f"{name}[{k}]" if value.numel() > 1 else name
        for name, value in system.outputs.items()
        for k in range(value.numel())
    ]
    return {**{letter: system.labels[letter] for letter in ("x", "z", "u", "p")}, "y": tuple(outputs)}


def _model_functions(system: System, name: str, notes: list[str]) -> list[CFunction]:
    symbols = {letter: system.symbol(letter) for letter in ARGUMENTS}
    written = [(letter, symbols[letter]) for letter in ARGUMENTS]
    found = [c_function(f"{name}_residual", written, [("F", system.residual)], "F(t, x', x, z, u, p)")]
    slopes = [(f"by_{letter}", ca.jacobian(system.residual, symbols[letter])) for letter in ("xdot", "x", "z", "u")]
    found.append(c_function(f"{name}_residual_jacobian", written, slopes, "its derivatives, by columns"))
    form = find_explicit_form(system)
    outputs = concatenate(system.outputs.values()) if system.output_names else ca.SX(0, 1)
    if isinstance(form, NoForm):
        notes.append("no rates: x' and z follow from the residual by a nonlinear or large solve")
        if outputs.numel():
            found.append(c_function(f"{name}_outputs", written, [("y", outputs)], "the outputs"))
    else:
        own = [(letter, symbols[letter]) for letter in ("t", "x", "u", "p")]
        found.append(c_function(f"{name}_rates", own, [("xdot", form.xdot), ("z", form.z)], "x' and z"))
        slopes = [("by_x", ca.jacobian(form.xdot, symbols["x"])), ("by_u", ca.jacobian(form.xdot, symbols["u"]))]
        found.append(c_function(f"{name}_jacobian", own, slopes, "dx'/dx and dx'/du, by columns"))
        if outputs.numel():
            y = form.applied(system, outputs)
            found.append(c_function(f"{name}_outputs", own, [("y", y)], "the outputs"))
    if system.events:
        found.append(c_function(f"{name}_guards", written, [("g", system.guards)], "what passes zero at events"))
        after = [("x_next", system.resets.T)]
        found.append(c_function(f"{name}_resets", written, after, "the states after each event, by columns"))
    return found


def _flow_core(system: System, method: str | Tableau, step: float, notes: list[str]) -> FlowCore | None:
    if system.events:
        names = ", ".join(event.name for event in system.events)
        notes.append(f"no step: fixed steps would miss the events {names}; find them by the guards")
        return None
    core = fixed_steps(system, method, step, TEST_STEPS)
    size = core.tableau.stages * (core.stage.sizes["x"] + core.stage.sizes["z"])
    if core.stage.implicit and size > LARGEST_STAGES:
        notes.append(
            f"no step: {core.tableau.name} solves {size} equations at once, at most {LARGEST_STAGES} are written; "
            "an explicit method, or the rates"
        )
        return None
    return core


def _header(system: System, name: str, functions: list[CFunction], core: FlowCore | None) -> str:
    sizes = "\n".join(f"#define {name.upper()}_N{letter.upper()} {len(own)}" for letter, own in _labels(system).items())
    declared = "\n".join(f"/* {f.text} */\n{f.prototype};" for f in functions)
    step = ""
    if core is not None:
        step = f"""
/* One step of {core.tableau.name} from t to t + h, in place; 0 on success. */
int {name}_step(double t, double h, double *x, const double *u, const double *p);

/* Steps from *t to `end`, as long as their error allows: in each of the states less than atol + rtol |x|, in the mean.
   *h is the first length that is tried, 0 for one of its own, and then the next one: keep it from call to call. */
int {name}_run(double *t, double end, double *h, double *x, const double *u, const double *p, double rtol, double atol);
"""
    labels = "\n".join(
        f"extern const char *const {name}_{letter}_names[{max(1, len(own))}];"
        for letter, own in _labels(system).items()
    )
    return f"""/* {system.name}: functions of the model, all of doubles; matrices are stored by columns.
   All of them may be called from several threads; 0 is success. */
#ifndef {name.upper()}_H
#define {name.upper()}_H

{sizes}

{labels}
/* The values that the model was written with; NAN where it has none. */
extern const double {name}_x_start[{max(1, system.sizes["x"])}];
extern const double {name}_p_values[{max(1, system.sizes["p"])}];

{declared}
{step}
#endif
"""


def name_table(name: str, letter: str, own: Sequence[str]) -> str:
    """The names of the entries of a vector."""
    escaped = [label.encode("ascii", "backslashreplace").decode() for label in own]
    texts = ", ".join('"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"' for label in escaped)
    return f"const char *const {name}_{letter}_names[{max(1, len(own))}] = {{{texts or '0'}}};"


def _tables(system: System, name: str) -> str:
    rows = [name_table(name, letter, own) for letter, own in _labels(system).items()]
    rows.append(f"const double {name}_x_start[{max(1, system.sizes['x'])}] = {numbers(system.start['x'])};")
    rows.append(f"const double {name}_p_values[{max(1, system.sizes['p'])}] = {numbers(system.start['p'])};")
    return "\n".join(rows) + "\n"


# -- the test -------------------------------------------------------------------------------------------------------

MAKEFILE = """CFLAGS ?= -O2 -std=c99 -ffp-contract=off
test: test_{name}
	./test_{name}
test_{name}: test_{name}.c {name}.c {name}.h
	$(CC) $(CFLAGS) -o $@ test_{name}.c {name}.c -lm
clean:
	rm -f test_{name}
.PHONY: test clean
"""

COMPARE = """#include <math.h>
#include <stdio.h>
#include "{name}.h"

/* The largest difference, by the largest number. */
static int compare(const char *what, int count, const double *found, const double *expected) {{
  double worst = 0.0, size = 1.0;
  int k;
  for (k = 0; k < count; ++k) {{
    if (isfinite(expected[k])) size = fmax(size, fabs(expected[k]));
  }}
  for (k = 0; k < count; ++k) {{
    if (!isfinite(expected[k]) && !isfinite(found[k])) continue;
    if (!(fabs(found[k] - expected[k]) <= worst)) worst = fabs(found[k] - expected[k]);
  }}
  printf("%-40s %.1e\\n", what, worst / size);
  return !(worst <= 1e-12 * size);
}}

int main(void) {{
  int wrong = 0;
{body}
  return wrong != 0;
}}
"""


def _point(model: Model | System, system: System) -> dict[str, np.ndarray]:
    """Where the functions are compared: a consistent start, if there is one."""
    values = {
        "x": np.array(system.default_start),
        "z": np.nan_to_num(system.start["z"]),
        "u": np.zeros(system.sizes["u"]),
    }
    values["p"] = np.where(np.isnan(system.start["p"]), 1.0, system.start["p"])
    try:
        found = initialise(system, inputs={v.name: np.zeros(v.shape) for v in system.of_kind("input")})
        values["x"] = np.array([float(found[label]) for label in system.labels["x"]])
        values["z"] = np.array([float(found[label]) for label in system.labels["z"]])
    except (DaedalusError, TypeError, KeyError, ValueError):
        pass
    # Zeros of rates and inputs would hide terms.
    values["xdot"] = 0.1 + 0.01 * np.arange(system.sizes["x"])
    values["t"] = np.zeros(1)
    return values


def _test_program(
    model: Model | System,
    system: System,
    name: str,
    functions: list[CFunction],
    core: FlowCore | None,
    notes: list[str],
) -> str:
    point, body = _point(model, system), []
    own = {"k": point["xdot"]}
    for each in functions:
        f = each.function
        arguments = [
            own.get(f.name_in(k), point.get(f.name_in(k), np.zeros(0)))[: f.numel_in(k)] for k in range(f.n_in())
        ]
        found = f.call([ca.DM(a) for a in arguments])
        lines = [f"static const double in_{f.name_in(k)}[] = {numbers(a)};" for k, a in enumerate(arguments)]
        for k, values in enumerate(found):
            lines.append(
                f"static const double expected_{f.name_out(k)}[] = {numbers(np.ravel(values.full(), order='F'))};"
            )
            lines.append(f"double {f.name_out(k)}[{max(1, values.numel())}];")
        passed = [*(f"in_{f.name_in(k)}" for k in range(f.n_in())), *(f.name_out(k) for k in range(f.n_out()))]
        lines.append(f"wrong += {f.name()}({', '.join(passed)});")
        for k, values in enumerate(found):
            what = f"{f.name()}: {f.name_out(k)}"
            lines.append(f'wrong += compare("{what}", {values.numel()}, {f.name_out(k)}, expected_{f.name_out(k)});')
        body.append("  {\n    " + "\n    ".join(lines) + "\n  }")
    if core is not None:
        body.append(_step_test(core, name, point, notes))
    return COMPARE.format(name=name, body="\n".join(body))


def _step_test(core: FlowCore, name: str, point: dict[str, np.ndarray], notes: list[str]) -> str:
    found = core.first_order.evaluate("value", point["x"], point["u"], point["p"], np.zeros(len(point["x"])))
    if not found:
        notes.append("the test makes no step: one from the model's start does not succeed")
        return ""
    end = found[0]
    return f"""  {{
    static const double u[] = {numbers(point["u"])};
    static const double p[] = {numbers(point["p"])};
    static const double expected[] = {numbers(end)};
    double x[] = {numbers(point["x"])};
    int k;
    for (k = 0; k < {core.steps}; ++k) wrong += {name}_step(k * {core.step!r}, {core.step!r}, x, u, p);
    wrong += compare("{name}_step", {len(end)}, x, expected);
    {_run_test(core, name, point)}
  }}"""


def _run_test(core: FlowCore, name: str, point: dict[str, np.ndarray]) -> str:
    """Without a limit of the error, one step leads to each time: it is a step, or two halves where these tell it."""
    parts = 1 if second_weights(core.tableau)[1] else 2
    length, begin = core.step / parts, numbers(point["x"])
    return f"""{{
      double other[] = {begin}, run[] = {begin}, t = 0.0;
      for (k = 0; k < {parts * core.steps}; ++k) wrong += {name}_step(k * {length!r}, {length!r}, other, u, p);
      for (k = 1; k <= {core.steps}; ++k) {{
        double h = {core.step!r};
        wrong += {name}_run(&t, k * {core.step!r}, &h, run, u, p, 1e30, 1e30);
      }}
      wrong += compare("{name}_run", {len(point["x"])}, run, other);
    }}"""
