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
# Stages at rest are zero but for rounding: they are measured from here on.
LEAST_STAGE = 1e-3


def fixed_steps(system: System, method: str | Tableau, step: float, steps: int) -> FlowCore:
    """The map of `dd.flow` without its derivatives, which C code does not need."""
    chosen = method if isinstance(method, Tableau) else tableau(method)
    problems = [] if chosen.is_consistent else chosen.problems()
    if problems:
        raise InputError(f"The tableau {chosen.name!r} is not consistent.", problems, remedy="correct the coefficients")
    if not (isinstance(step, (int, float)) and math.isfinite(step) and step > 0):
        raise InputError("step must be a positive number.", f"got {step!r}", remedy="step=1e-3")
    return FlowCore(system, chosen, float(step), steps, 0.0)


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


def step_code(core: FlowCore, name: str, known: bool = False, errors: np.ndarray | None = None) -> str:
    """The function `name_step(t, h, x, u, p)`, which moves x on by one step.

    known: whether values of x' and z, with which Newton's method begins, stand behind the parameters in p. errors:
    weights by which a last argument, where it is not NULL, gets the error of the step.
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
int {name}_step(double t, double h, double *x, const double *u, const double *p{asked}) {{
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
    int order[{s * m}], iteration;
    (void)guess;
    for (i = 0; i < {s * n}; ++i) k[i] = {rate};
    for (a = 0; a < {s}; ++a)
      for (i = 0; i < {nz}; ++i) z[a * {nz} + i] = {value};
    for (iteration = 0; ; ++iteration) {{
      double length = 0.0, size = {LEAST_STAGE};
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
          length = fmax(length, fabs(d)); size = fmax(size, fabs(k[a * {n} + i]));
        }}
        for (i = 0; i < {nz}; ++i) {{
          double d = right[a * {m} + {n} + i];
          z[a * {nz} + i] += d;
          length = fmax(length, fabs(d)); size = fmax(size, fabs(z[a * {nz} + i]));
        }}
      }}
      if (!isfinite(length)) return 1;
      if (length <= 1e-15 * size || (length <= 1e-9 * size && length >= 0.5 * before)) break;
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
