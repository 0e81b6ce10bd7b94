"""Fixed steps in C99: explicit stages, or Newton's method over all stages with a dense factor, without a heap.

The step is the map of `dd.flow`: kᵢ = f(t + cᵢ h, x + h Σⱼ aᵢⱼ kⱼ) or F(t + cᵢ h, x + h Σⱼ aᵢⱼ kⱼ, kᵢ, zᵢ) = 0, then
x + h Σ bᵢ kᵢ, moved onto the invariants.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import InputError
from daedalus.exchange.c_code.casadi_c import CFunction, c_function, numbers
from daedalus.integrators.tableaux.named_tableaux import tableau
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.system.system import System
from daedalus.simulation.plant.projection import CORRECTIONS

# Newton's method in C goes on until corrections no longer shrink; a step that needs more iterations has failed.
MOST_ITERATIONS = 50
# Of steps with second weights, the share of the tolerance that one may take; the first length tried, of the whole.
SHARE_OF_A_STEP, FIRST_SHARE, MOST_TRIES = 0.1, 1e-4, 1_000_000
# Stages at rest are zero but for rounding: they are measured from here on.
LEAST_STAGE = 1e-3
# Corrections have come down to rounding where so many in turn do not shrink, and move the states by this share at most.
STALLED_CORRECTIONS, MOVES_NOTHING = 3, 1e-15


def fixed_steps(system: System, method: str | Tableau, step: float, steps: int) -> FlowCore:
    """The map of `dd.flow` without its derivatives, which C code does not need."""
    chosen = method if isinstance(method, Tableau) else tableau(method)
    problems = [] if chosen.is_consistent else chosen.problems()
    if problems:
        raise InputError(f"The tableau {chosen.name!r} is not consistent.", problems, remedy="correct the coefficients")
    if not (isinstance(step, (int, float)) and math.isfinite(step) and step > 0):
        raise InputError("step must be a positive number.", f"got {step!r}", remedy="step=1e-3")
    return FlowCore(system, chosen, float(step), steps, 0.0)


def second_weights(table: Tableau) -> tuple[np.ndarray, int]:
    """First less second weights of an explicit method, and the order of the second; zeros and 0 without them."""
    if table.b_hat is None or not table.is_explicit:
        return np.zeros(table.stages), 0
    return table.b - table.b_hat, int(min(table.order, table.embedded_order or table.order))


def step_functions(core: FlowCore, name: str) -> list[CFunction]:
    """The functions that a step calls."""
    stage = core.stage
    symbols = stage.symbols
    plain = [(letter, symbols[letter]) for letter in ("t", "x", "u", "p", "k", "z")]
    found = []
    if stage.implicit:
        by = [ca.jacobian(stage.expression, symbols[letter]) for letter in ("x", "k", "z")]
        results = [("F", stage.expression), *zip(("by_x", "by_k", "by_z"), by)]
        found.append(c_function(f"{name}_stage", plain, results, "the equations of a stage and their derivatives"))
    else:
        found.append(c_function(f"{name}_stage", plain, [("rate", stage.expression)], "the rate of a stage"))
    if stage.projected is not None:
        own = [(letter, symbols[letter]) for letter in ("t", "x", "u", "p")]
        found.append(c_function(f"{name}_correct", own, [("x_next", stage.projected)], "one move onto what is kept"))
    return found


def step_code(core: FlowCore, name: str, known: bool = False, errors: np.ndarray | None = None, head: str = "") -> str:
    """The function `name_step(t, h, x, u, p)`, which moves x on by one step.

    known: whether values of x' and z, with which Newton's method begins, stand behind the parameters in p. errors:
    weights by which a last argument, where it is not NULL, gets the error of the step. head: another head of the
    function, as far as its first argument.
    """
    stage, table = core.stage, core.tableau
    n, nz, s = stage.sizes["x"], stage.sizes["z"], table.stages
    constants = f"""
static const double {name}_A[{s * s}] = {numbers(table.A.ravel())};
static const double {name}_b[{s}] = {numbers(table.b)};
static const double {name}_c[{s}] = {numbers(table.c)};
"""
    correct = ""
    if stage.projected is not None:
        correct = f"""
  for (r = 0; r < {CORRECTIONS}; ++r) {{
    double end = t + h;
    if ({name}_correct(&end, x, u, p, moved)) return 1;
    for (i = 0; i < {n}; ++i) x[i] = moved[i];
  }}"""
    solve = _implicit(core, name, known) if stage.implicit else _explicit(name, n, s)
    asked, estimate = "", ""
    if errors is not None:
        constants += f"static const double {name}_off[{s}] = {numbers(errors)};\n"
        asked = ", double *error"
        estimate = f"""
  for (i = 0; error && i < {n}; ++i)
    for (error[i] = 0, j = 0; j < {s}; ++j) error[i] += h * {name}_off[j] * k[j * {n} + i];"""
    return f"""{constants}{_factor(name, s * (n + nz)) if stage.implicit else ""}
{head or f"int {name}_step("}double t, double h, double *x, const double *u, const double *p{asked}) {{
  double k[{max(1, s * n)}], z[{max(1, s * nz)}], at[{max(1, n)}], moved[{max(1, n)}];
  int i, j, r, a;
  (void)moved; (void)z; (void)r; (void)a;
{solve}
  for (j = 0; j < {s}; ++j)
    for (i = 0; i < {n}; ++i) x[i] += h * {name}_b[j] * k[j * {n} + i];{estimate}{correct}
  for (i = 0; i < {n}; ++i)
    if (!isfinite(x[i])) return 1;
  return 0;
}}
"""


def _explicit(name: str, n: int, s: int) -> str:
    return f"""  for (a = 0; a < {s}; ++a) {{
    double when = t + {name}_c[a] * h;
    for (i = 0; i < {n}; ++i) at[i] = x[i];
    for (j = 0; j < a; ++j)
      for (i = 0; i < {n}; ++i) at[i] += h * {name}_A[a * {s} + j] * k[j * {n} + i];
    if ({name}_stage(&when, at, u, p, k, z, k + a * {n})) return 1;
  }}"""


def _implicit(core: FlowCore, name: str, known: bool) -> str:
    n, nz, s = core.stage.sizes["x"], core.stage.sizes["z"], core.tableau.stages
    m, guess = n + nz, core.system.start["z"]
    first = [0.0 if v != v else float(v) for v in guess[:nz]]
    behind = core.system.sizes["p"]
    rate, value = (f"p[{behind} + i % {n}]", f"p[{behind + n} + i]") if known and n else ("0.0", "guess[i]")
    return f"""  {{
    static const double guess[{max(1, nz)}] = {numbers(first)};
    double F[{m}], by_x[{max(1, m * n)}], by_k[{max(1, m * n)}], by_z[{max(1, m * nz)}];
    double matrix[{(s * m) ** 2}], right[{s * m}], before = INFINITY;
    int order[{s * m}], iteration, stalled = 0;
    double reach = 0.0;
    (void)guess;
    for (i = 0; i < {n}; ++i) reach = fmax(reach, fabs(x[i]));
    for (i = 0; i < {s * n}; ++i) k[i] = {rate};
    for (a = 0; a < {s}; ++a)
      for (i = 0; i < {nz}; ++i) z[a * {nz} + i] = {value};
    for (iteration = 0; ; ++iteration) {{
      double length = 0.0, size = {LEAST_STAGE}, moves = 0.0, off = 0.0;
      if (iteration == {MOST_ITERATIONS}) return 1;
      for (i = 0; i < {(s * m) ** 2}; ++i) matrix[i] = 0.0;
      for (a = 0; a < {s}; ++a) {{
        double when = t + {name}_c[a] * h;
        for (i = 0; i < {n}; ++i) at[i] = x[i];
        for (j = 0; j < {s}; ++j)
          for (i = 0; i < {n}; ++i) at[i] += h * {name}_A[a * {s} + j] * k[j * {n} + i];
        if ({name}_stage(&when, at, u, p, k + a * {n}, z + a * {nz}, F, by_x, by_k, by_z)) return 1;
        for (i = 0; i < {m}; ++i) {{
          int row = a * {m} + i;
          right[row] = -F[i];
          for (j = 0; j < {s}; ++j)
            for (r = 0; r < {n}; ++r)
              matrix[row * {s * m} + j * {m} + r] += h * {name}_A[a * {s} + j] * by_x[r * {m} + i];
          for (r = 0; r < {n}; ++r) matrix[row * {s * m} + a * {m} + r] += by_k[r * {m} + i];
          for (r = 0; r < {nz}; ++r) matrix[row * {s * m} + a * {m} + {n} + r] += by_z[r * {m} + i];
        }}
      }}
      if ({name}_solve(matrix, right, order)) return 1;
      for (a = 0; a < {s}; ++a) {{
        for (i = 0; i < {n}; ++i) {{
          double d = right[a * {m} + i];
          k[a * {n} + i] += d;
          moves = fmax(moves, fabs(h * d));
          length = fmax(length, fabs(d)); size = fmax(size, fabs(k[a * {n} + i]));
        }}
        for (i = 0; i < {nz}; ++i) {{
          double d = right[a * {m} + {n} + i];
          z[a * {nz} + i] += d;
          off = fmax(off, fabs(d));
          length = fmax(length, fabs(d)); size = fmax(size, fabs(z[a * {nz} + i]));
        }}
      }}
      if (!isfinite(length)) return 1;
      if (length <= 1e-15 * size || (length <= 1e-9 * size && length >= 0.5 * before)) break;
      stalled = length >= 0.5 * before ? stalled + 1 : 0;
      if (stalled >= {STALLED_CORRECTIONS} && moves <= {MOVES_NOTHING} * reach && off <= 1e-9 * size) break;
      before = length;
    }}
  }}"""


def _factor(name: str, size: int) -> str:
    """Gaussian elimination with pivots by rows."""
    return f"""
static int {name}_solve(double *matrix, double *right, int *order) {{
  int i, j, k;
  for (k = 0; k < {size}; ++k) {{
    int best = k;
    double scale;
    for (i = k + 1; i < {size}; ++i)
      if (fabs(matrix[i * {size} + k]) > fabs(matrix[best * {size} + k])) best = i;
    order[k] = best;
    if (!(fabs(matrix[best * {size} + k]) > 0.0)) return 1;
    if (best != k) {{
      for (j = 0; j < {size}; ++j) {{
        scale = matrix[k * {size} + j];
        matrix[k * {size} + j] = matrix[best * {size} + j];
        matrix[best * {size} + j] = scale;
      }}
      scale = right[k]; right[k] = right[best]; right[best] = scale;
    }}
    for (i = k + 1; i < {size}; ++i) {{
      scale = matrix[i * {size} + k] / matrix[k * {size} + k];
      if (scale == 0.0) continue;
      for (j = k + 1; j < {size}; ++j) matrix[i * {size} + j] -= scale * matrix[k * {size} + j];
      right[i] -= scale * right[k];
    }}
  }}
  for (k = {size} - 1; k >= 0; --k) {{
    for (j = k + 1; j < {size}; ++j) right[k] -= matrix[k * {size} + j] * right[j];
    right[k] /= matrix[k * {size} + k];
  }}
  return 0;
}}
"""


def steps_code(core: FlowCore, name: str) -> str:
    """One step, and as many as lead to a time: `name_step` and `name_run`."""
    errors, order = second_weights(core.tableau)
    if not order:
        return step_code(core, name) + _run_code(core, name)
    tried = step_code(core, name, errors=errors, head=f"static int {name}_try(")
    step = f"""
int {name}_step(double t, double h, double *x, const double *u, const double *p) {{
  return {name}_try(t, h, x, u, p, 0);
}}
"""
    return tried + step + _run_code(core, name)


def _run_code(core: FlowCore, name: str) -> str:
    """The function `name_run(t, end, h, x, u, p, rtol, atol)`: steps as long as their error allows, up to `end`.

    The error of a step is told by second weights, held to a tenth of the tolerance, since errors add up; without them a
    step is tried whole and in two halves (Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.4).
    """
    n, order = core.stage.sizes["x"], core.tableau.order
    second = second_weights(core.tableau)[1]
    if second:
        step = f"""failed = {name}_try(*t, length, next, u, p, off);
    for (i = 0; i < {n}; ++i) off[i] /= {SHARE_OF_A_STEP};"""
    else:
        step = f"""for (i = 0; i < {n}; ++i) off[i] = x[i];
    failed = {name}_step(*t, length, off, u, p) || {name}_step(*t, 0.5 * length, next, u, p) ||
             {name}_step(*t + 0.5 * length, 0.5 * length, next, u, p);
    for (i = 0; i < {n}; ++i) off[i] = (off[i] - next[i]) / {2.0**order - 1.0!r};"""
    return f"""
int {name}_run(double *t, double end, double *h, double *x, const double *u, const double *p, double rtol,
    double atol) {{
  double next[{max(1, n)}], off[{max(1, n)}];
  long tries = 0;
  int i;
  if (!(*h > 0)) *h = {FIRST_SHARE} * (end - *t);
  while (*t < end) {{
    const double rest = end - *t;
    const int last = *h >= rest * (1 - 1e-12);
    const double length = last ? rest : *h > 0.5 * rest ? 0.5 * rest : *h;
    double error = 0.0, growth;
    int failed;
    if (++tries > {MOST_TRIES}L || !(*t + length > *t)) return 1;
    for (i = 0; i < {n}; ++i) next[i] = x[i];
    {step}
    for (i = 0; i < {n}; ++i) {{
      const double part = off[i] / (atol + rtol * fmax(fabs(x[i]), fabs(next[i])));
      error += part * part;
    }}
    error = sqrt(error / {max(1, n)});
    if (failed || !isfinite(error)) {{
      *h = 0.25 * length;
      continue;
    }}
    growth = fmin(4.0, fmax(0.2, 0.9 * pow(fmax(error, 1e-10), -1.0 / {(second or order) + 1})));
    if (error > 1.0) {{
      *h = length * fmin(1.0, growth);
      continue;
    }}
    for (i = 0; i < {n}; ++i) x[i] = next[i];
    /* A step that the end cut short says little of the next one. */
    if (!last || growth < 1.0 || *h <= rest) *h = length * growth;
    *t = last ? end : *t + length;
  }}
  return 0;
}}
"""
