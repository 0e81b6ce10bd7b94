"""A model as C code for the runtime of an FMU, built by the compiler of the machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.exchange.c_code.casadi_c import CFunction, numbers, written_functions
from daedalus.exchange.c_code.steps_in_c import step_code

# What the runtime calls, and what stands in for a function that a model does not have.
OPTIONAL = {"dd_outputs": "t, x, u, p, y", "dd_guards": "t, x, u, p, g", "dd_resets": "t, x, u, p, r"}


def c_header(
    sizes: dict[str, int], functions: Sequence[CFunction], core: FlowCore, token: str, rtol: float, first_step: float
) -> str:
    """model.h: sizes, constants and functions."""
    names = {f.name for f in functions}
    lines = [f"#define {word} {size}" for word, size in sizes.items()]
    lines += [
        f'#define DD_TOKEN "{token}"',
        f"#define DD_RTOL {rtol!r}",
        f"#define DD_ORDER {core.tableau.order}",
        f"#define DD_FIRST_STEP {first_step!r}",
        f"extern const double dd_x_start[{max(1, sizes['NX'])}], dd_p_values[{max(1, sizes['NP'])}];",
        f"extern const double dd_nominal[{max(1, sizes['NX'])}];",
        f"extern const int dd_directions[{max(1, sizes['NG'])}], dd_terminal[{max(1, sizes['NG'])}];",
        *(f"#define {name}({words}) ((void)({words}), 0)" for name, words in OPTIONAL.items() if name not in names),
        *(f"{f.prototype};" for f in functions),
        "int dd_step(double t, double h, double *x, const double *u, const double *p);",
    ]
    return "\n".join(lines) + "\n"


def c_model(
    sizes: dict[str, int], functions: Sequence[CFunction], core: FlowCore, start: np.ndarray, parameters: np.ndarray,
    nominal: np.ndarray, events: Sequence[tuple[int, bool]],
) -> str:  # fmt: skip
    """model.c: start values and functions."""
    directions = ", ".join(str(way) for way, _ in events) or "0"
    terminal = ", ".join(str(int(ends)) for _, ends in events) or "0"
    count, guards = max(1, sizes["NX"]), max(1, sizes["NG"])
    tables = [
        f"const double dd_x_start[{count}] = {numbers(start)};",
        f"const double dd_p_values[{max(1, sizes['NP'])}] = {numbers(parameters)};",
        f"const double dd_nominal[{count}] = {numbers(nominal)};",
        f"const int dd_directions[{guards}] = {{{directions}}};",
        f"const int dd_terminal[{guards}] = {{{terminal}}};",
    ]
    # What CasADi exports by itself stays inside.
    whole = written_functions(functions)
    return '#include "model.h"\n#include <math.h>\n' + "\n".join(tables) + whole + step_code(core, "dd")
