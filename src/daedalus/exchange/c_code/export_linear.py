"""Linear controllers as C99: the gains of a regulator, and a sampled linear system, with a test to 1e-12."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from daedalus.analysis.linear.responses.discrete_lti import DiscreteLTI
from daedalus.analysis.linear.riccati import Regulator
from daedalus.errors import InputError
from daedalus.exchange.c_code.casadi_c import numbers
from daedalus.exchange.c_code.export_c import COMPARE, MAKEFILE, CExport, c_name, name_table

# So many samples are compared.
SAMPLES = 25

_PRODUCT = """
/* y += sign A x, of rows and columns so many. */
static void add(int rows, int columns, double sign, const double *A, const double *x, double *y) {
  int r, c;
  for (r = 0; r < rows; ++r) {
    double sum = 0.0;
    for (c = 0; c < columns; ++c) sum += A[r * columns + c] * x[c];
    y[r] += sign * sum;
  }
}
"""


def export_regulator(regulator: Regulator, folder: str | Path, name: str) -> CExport:
    """u = -K s; see `Regulator.to_c`."""
    prefix = _prefix(name)
    nu, n = regulator.K.shape
    declared = f"/* u = -K s. */\nvoid {prefix}_inputs(const double *s, double *u);"
    code = f"""{_matrix("K", regulator.K)}{_PRODUCT}
void {prefix}_inputs(const double *s, double *u) {{
  int i;
  for (i = 0; i < {nu}; ++i) u[i] = 0.0;
  add({nu}, {n}, -1.0, K, s, u);
}}
"""
    s = np.cos(np.arange(n))
    body = f"""  static const double s[] = {numbers(s)};
  static const double expected[] = {numbers(-regulator.K @ s)};
  double u[{max(1, nu)}];
  {prefix}_inputs(s, u);
  wrong += compare("{prefix}_inputs", {nu}, u, expected);"""
    labels = {"s": regulator.states, "u": regulator.inputs}
    return _written(folder, prefix, labels, declared, code, body, (f"{prefix}_inputs",))


def export_sampled(system: DiscreteLTI, folder: str | Path, name: str) -> CExport:
    """x₊ = A x + B u, y = C x + D u; see `DiscreteLTI.to_c`."""
    prefix = _prefix(name)
    n, nu, ny = len(system.A), system.B.shape[1], len(system.C)
    declared = f"""#define {prefix.upper()}_STEP {system.step!r}
/* The memory of a controller whose states are x, with its first inputs u. */
void {prefix}_begin(const double *x, const double *u, double *memory);
/* A sample: the outputs y now; the memory is moved on to the next sample. */
void {prefix}_sample(const double *u, double *memory, double *y);"""
    matrices = "".join(_matrix(letter, getattr(system, letter)) for letter in "ABCD") + _matrix("shift", system.shift)
    code = f"""{matrices}{_PRODUCT}
void {prefix}_begin(const double *x, const double *u, double *memory) {{
  int i;
  for (i = 0; i < {n}; ++i) memory[i] = x[i];
  add({n}, {nu}, -1.0, shift, u, memory);
}}

void {prefix}_sample(const double *u, double *memory, double *y) {{
  double next[{max(1, n)}];
  int i;
  for (i = 0; i < {ny}; ++i) y[i] = 0.0;
  add({ny}, {n}, 1.0, C, memory, y);
  add({ny}, {nu}, 1.0, D, u, y);
  for (i = 0; i < {n}; ++i) next[i] = 0.0;
  add({n}, {n}, 1.0, A, memory, next);
  add({n}, {nu}, 1.0, B, u, next);
  for (i = 0; i < {n}; ++i) memory[i] = next[i];
}}
"""
    x, u = np.cos(np.arange(n)), np.sin(1.0 + np.arange(SAMPLES * nu)).reshape(SAMPLES, nu)
    expected = np.asarray(system.respond(u, x).outputs)
    body = f"""  static const double x[] = {numbers(x)};
  static const double u[] = {numbers(u.ravel())};
  static const double expected[] = {numbers(expected.ravel())};
  double memory[{max(1, n)}], y[{max(1, SAMPLES * ny)}];
  int k;
  {prefix}_begin(x, u, memory);
  for (k = 0; k < {SAMPLES}; ++k) {prefix}_sample(u + k * {nu}, memory, y + k * {ny});
  wrong += compare("{prefix}_sample", {SAMPLES * ny}, y, expected);"""
    labels = {"x": system.states, "u": system.inputs, "y": system.outputs}
    return _written(folder, prefix, labels, declared, code, body, (f"{prefix}_begin", f"{prefix}_sample"))


def _prefix(name: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InputError("The prefix in C must be a word.", f"got name={name!r}", remedy='name="controller"')
    return c_name(name)


def _matrix(word: str, values: np.ndarray) -> str:
    return f"static const double {word}[] = {numbers(np.asarray(values, dtype=float).ravel())};\n"


def _written(
    folder: str | Path,
    name: str,
    labels: dict[str, tuple[str, ...]],
    declared: str,
    code: str,
    body: str,
    functions: tuple[str, ...],
) -> CExport:
    upper = name.upper()
    sizes = "\n".join(f"#define {upper}_N{letter.upper()} {len(own)}" for letter, own in labels.items())
    tables = "\n".join(name_table(name, letter, own) for letter, own in labels.items())
    names = "\n".join(
        f"extern const char *const {name}_{letter}_names[{max(1, len(own))}];" for letter, own in labels.items()
    )
    files = {
        f"{name}.h": f"#ifndef {upper}_H\n#define {upper}_H\n\n{sizes}\n\n{names}\n\n{declared}\n\n#endif\n",
        f"{name}.c": f'#include "{name}.h"\n\n{tables}\n\n{code}',
        f"test_{name}.c": COMPARE.format(name=name, body=body),
        "Makefile": MAKEFILE.format(name=name),
    }
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (place / file).write_text(text, encoding="utf-8")
    return CExport(place, tuple(files), functions, labels, ())
