"""estimator.to_c: a Kalman filter as self-contained C99 beside its model, with a test that compares calls to 1e-10."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.differentiation.differentiable_system import flowing_system
from daedalus.differentiation.variational.chain_rule import expression_of
from daedalus.errors import InputError
from daedalus.estimation.held_flow import MOST_STEPS, HeldFlow, slope_formulas
from daedalus.estimation.kept_directions import kept_formula
from daedalus.estimation.propagation import CORRECTIONS, SETTLED, Propagation
from daedalus.exchange.c_code.casadi_c import CFunction, c_function, numbers, written_functions
from daedalus.exchange.c_code.export_c import CExport, c_name, export_c
from daedalus.exchange.c_code.filter_in_c import HEADER, filter_code
from daedalus.model.expressions import column
from daedalus.model.names import counted

# About thirty matrices of this size are on the stack at once.
LARGEST = 60
# So many calls are compared.
CALLS = 8
EXPLICIT = "rk4"

# Spectral densities and covariances: of the start, of the process and of a measurement.
Noises = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Calls:
    """What the filter was told and what it found, one row a call."""

    u: np.ndarray
    y: np.ndarray
    x: np.ndarray
    P: np.ndarray


def export_filter(
    kind: str,
    model: Propagation,
    outputs: tuple[str, ...],
    noises: Noises,
    folder: str | Path,
    name: str | None,
    steps: int | None,
) -> CExport:
    """Write an estimator's filter and its model; see `dd.Estimator.to_c`."""
    flow = _steps_of(kind, model)
    case, title = model.case, model.system.name
    prefix = c_name(title if name is None else name)
    parts, calls = _compared(model, flow, noises, steps)
    functions = _functions(model, outputs, prefix)
    system = flowing_system(case.system)
    written = export_c(system, folder, step=model.every / parts, method=EXPLICIT, name=prefix)
    if f"{prefix}_step" not in written.functions or (model.keeps and f"{prefix}_correct" not in written.functions):
        raise _refused("its model has no step in C", "; ".join(written.notes) or f"functions: {written.functions}")
    sizes = {"N": len(model.start), "M": calls.y.shape[1], "NU": len(case.u0), "NP": len(case.p)}
    files = {
        f"{prefix}_filter.h": _header(title, prefix, model.every, sizes, functions),
        f"{prefix}_filter.c": _source(model, noises, prefix, {**sizes, "STEPS": parts}, functions),
        f"test_{prefix}_filter.c": _test(prefix, calls),
        "Makefile": _makefile(written.folder / "Makefile", prefix),
    }
    for file, text in files.items():
        (written.folder / file).write_text(text, encoding="utf-8")
    own = [f"{prefix}_filter_{each}" for each in ("begin", "call", "predict", "update")]
    notes = [
        *written.notes,
        f"{counted(parts, 'step')} an interval: enough for the tolerances in the calls of the test",
    ]
    if model.system.constrains_start and np.any(model.open_inputs):
        notes.append(
            "the start is that of the inputs in the test's first call; the estimator finds it again for others"
        )
    notes.append("no late measurements: calls are one interval apart")
    return replace(
        written,
        files=(*written.files, *(file for file in files if file != "Makefile")),
        functions=(*written.functions, *(f.name for f in functions), *own),
        notes=tuple(notes),
    )


def _refused(what: str, facts: str) -> InputError:
    return InputError(
        "This estimator cannot be written as C.",
        [what, facts],
        because="C code makes explicit steps of one length, with formulas and without a heap.",
        remedy='kind="ekf" for a model with formulas, without events or jumps, that is not stiff',
    )


def _steps_of(kind: str, model: Propagation) -> HeldFlow:
    if kind != "ekf":
        raise _refused(f"kind={kind!r} solves a problem over several samples", "only the filter is written")
    if model.flow is None:
        raise _refused(
            "its model is run with sensitivities", "it has events, jumps, input signals, or x' and z without formulas"
        )
    if not model.flow.explicit:
        raise _refused("its model is stepped by an implicit method", "only explicit steps of a covariance are written")
    if len(model.start) > LARGEST:
        raise _refused(f"its model has {len(model.start)} states", f"at most {LARGEST} fit on a stack")
    if model.system.invariants and kept_formula(model.case) is None:
        raise _refused("what its model keeps is found by numbers", "the projection of noise onto it has no formula")
    return model.flow


def _functions(model: Propagation, outputs: tuple[str, ...], name: str) -> list[CFunction]:
    case, system = model.case, model.system
    own = [(letter, system.symbol(letter)) for letter in ("t", "x", "u", "p")]
    x, form = system.symbol("x"), case.form
    seen = form.applied(system, ca.vertcat(*(column(expression_of(system, each)[0]) for each in outputs)))

    def by_rows(matrix: ca.SX) -> ca.SX:
        return ca.vec(ca.densify(matrix).T)

    flowing = flowing_system(system)
    own_rates = [(letter, flowing.symbol(letter)) for letter in ("t", "x", "u", "p")]
    found = [
        c_function(
            f"{name}_filter_measured", own, [("y", seen), ("H", by_rows(ca.jacobian(seen, x)))], "y and dy/dx, by rows"
        ),
        c_function(f"{name}_filter_slopes", own_rates, [("A", by_rows(slope_formulas(flowing)))], "dx'/dx, by rows"),
    ]
    formula = kept_formula(case)
    if formula is not None:
        symbols = [symbol for _, symbol in own]
        onto = formula.call(symbols)[0]
        found.append(c_function(f"{name}_filter_onto", own, [("onto", onto)], "noise along what is kept, by rows"))
    return found


def _compared(model: Propagation, flow: HeldFlow, noises: Noises, steps: int | None) -> tuple[int, _Calls]:
    """How many steps an interval needs, and the calls of the test with them."""
    most = MOST_STEPS[EXPLICIT]
    if steps is not None:
        whole = isinstance(steps, (int, np.integer)) and not isinstance(steps, bool)
        if not (whole and 1 <= steps <= most):
            raise InputError("steps must be a whole number.", f"got {steps!r}, from 1 to {most}", remedy="steps=1")
        found = _calls(model, flow, noises, int(steps))
        if found is None:
            raise InputError(
                f"{counted(int(steps), 'step')} an interval do not reach the tolerances.",
                f"an interval is {model.every:g} s",
                because="steps in C have one length.",
                remedy="more steps=, or steps=None to find how many",
            )
        return int(steps), found
    parts = 1
    while parts <= most:
        found = _calls(model, flow, noises, parts)
        if found is not None:
            return parts, found
        parts *= 2
    raise _refused(
        "its model is stiff, or near a position where it has no way on",
        f"{most} explicit steps an interval do not reach the tolerances",
    )


def _calls(model: Propagation, flow: HeldFlow, noises: Noises, parts: int) -> _Calls | None:
    """Calls from the start on with such steps; None where one does not reach the tolerances."""
    spread, density, noise = noises
    x, P, h = model.start, model.tangent @ spread @ model.tangent.T, model.every / parts
    u, t, rows = np.array(model.case.u0), 0.0, []
    for call in range(CALLS):
        if call:
            for k in range(parts):
                found = flow.in_one_step(t + k * h, h, x, P, u, density)
                if found is None:
                    return None
                x, P = found.x, found.covariance
            t += model.every
        values, slopes_there = model.measured(t, x, u)
        y = values + 0.5 * np.sqrt(np.diag(noise)) * np.cos(1.0 + call + np.arange(len(values)))
        if call == 2:
            y[0] = np.nan
        taken = _core.take_in(x, P, slopes_there, noise, y - values)
        if not taken:
            raise InputError(
                "The measurements cannot be weighted.",
                "in some direction, neither the state nor the measurements have noise",
                remedy="measurement_noise= above zero, or a larger start_covariance=",
            )
        x, P = model.kept(t, taken[0], u), taken[1]
        u = model.case.u0 + 0.1 * np.sin(call + np.arange(len(u)))
        if call == 0:
            u = np.array(model.case.u0)
        rows.append((u, y, x, P.ravel()))
    return _Calls(*(np.array([row[k] for row in rows]) for k in range(4)))


def _header(title: str, name: str, every: float, sizes: dict[str, int], functions: list[CFunction]) -> str:
    n = sizes["N"]
    return HEADER.format(
        title=title.encode("ascii", "backslashreplace").decode().replace("*/", "* /"),
        name=name,
        upper=name.upper(),
        ny=sizes["M"],
        every=repr(float(every)),
        nx=n,
        square=n * n,
        nu=max(1, sizes["NU"]),
        np=max(1, sizes["NP"]),
        declared="\n".join(f"/* {f.text} */\n{f.prototype};" for f in functions),
    )


def _source(model: Propagation, noises: Noises, name: str, sizes: dict[str, int], functions: list[CFunction]) -> str:
    spread, density, noise = noises
    chosen = {
        **sizes,
        "OPEN": int(np.any(model.open_inputs)),
        "KEEPS": int(bool(model.system.invariants)),
        "MOVES": int(model.keeps),
        "CORRECTIONS": CORRECTIONS,
        "SETTLED": SETTLED,
    }
    values = {
        "x_start": model.start,
        "P_start": (model.tangent @ spread @ model.tangent.T).ravel(),
        "u_start": model.case.u0,
        "p_values": model.case.p,
        "density": density.ravel(),
        "noise": noise.ravel(),
    }
    defined = "\n".join(f"#define {word} {value}" for word, value in chosen.items())
    tables = "\n".join(f"static const double {word}[] = {numbers(own)};" for word, own in values.items())
    # CasADi's functions come first: they have short names of their own.
    return (
        f'#include "{name}_filter.h"\n#include <math.h>\n{written_functions(functions)}\n{defined}\n{tables}\n'
        f"{filter_code(name)}"
    )


def _makefile(path: Path, name: str) -> str:
    own = f"{name}_filter"
    text = path.read_text(encoding="utf-8")
    text = text.replace(
        f"test: test_{name}\n\t./test_{name}\n", f"test: test_{name} test_{own}\n\t./test_{name}\n\t./test_{own}\n"
    )
    text = text.replace(f"rm -f test_{name}\n", f"rm -f test_{name} test_{own}\n")
    built = f"""test_{own}: test_{own}.c {own}.c {own}.h {name}.c {name}.h
\t$(CC) $(CFLAGS) -o $@ test_{own}.c {own}.c {name}.c -lm
"""
    return text.replace("clean:\n", f"{built}clean:\n")


def _test(name: str, calls: _Calls) -> str:
    count, n = calls.x.shape
    variances = calls.P.reshape(count, n, n)[:, range(n), range(n)]
    # Of states, in their deviations, or a hundredth of the largest; rounding is that of the largest of all.
    deviations = np.sqrt(np.maximum(variances, np.maximum(1e-4 * variances.max(axis=0), 1e-12 * variances.max())))
    m, nu = calls.y.shape[1], calls.u.shape[1]
    return f"""#include <math.h>
#include <stdio.h>
#include "{name}_filter.h"

static const double u[] = {numbers(calls.u.ravel())};
static const double y[] = {numbers(calls.y.ravel())};
static const double x[] = {numbers(calls.x.ravel())};
static const double P[] = {numbers(calls.P.ravel())};
static const double deviations[] = {numbers(deviations.ravel())};

int main(void) {{
  {name}_filter filter;
  double worst_x = 0.0, worst_P = 0.0;
  int call, i, j;
  {name}_filter_begin(&filter);
  for (call = 0; call < {count}; ++call) {{
    const double *size = deviations + call * {n};
    if ({name}_filter_call(&filter, y + call * {m}, u + call * {nu})) return 1;
    for (i = 0; i < {n}; ++i) {{
      double off = fabs(filter.x[i] - x[call * {n} + i]), scale = size[i] + fabs(x[call * {n} + i]);
      if (!(off <= worst_x * scale)) worst_x = off / scale;
      for (j = 0; j < {n}; ++j) {{
        off = fabs(filter.P[i * {n} + j] - P[(call * {n} + i) * {n} + j]);
        if (!(off <= worst_P * size[i] * size[j])) worst_P = off / (size[i] * size[j]);
      }}
    }}
  }}
  printf("%-40s %.1e\\n%-40s %.1e\\n", "{name}_filter: x", worst_x, "{name}_filter: P", worst_P);
  return !(worst_x <= 1e-10 && worst_P <= 1e-10);
}}
"""
