"""The libraries inside an FMU: prebuilt runtimes that read the model as data, or one that the C compiler builds."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.compilation.c_compiler import TIME_LIMIT, find_compiler
from daedalus.differentiation.flow.flow_core import FlowCore
from daedalus.errors import InputError
from daedalus.exchange.c_code.casadi_c import CFunction, numbers, written_functions
from daedalus.exchange.c_code.steps_in_c import step_code
from daedalus.exchange.fmu.embedded_steps import FIRST_STEP, EmbeddedSteps
from daedalus.exchange.fmu.instants import TIMES, Instants
from daedalus.exchange.fmu.model_description import PLATFORMS, own_platform, platform_folder
from daedalus.exchange.fmu.prebuilt_model import NAME as MODEL_FILE
from daedalus.exchange.fmu.prebuilt_model import model_bytes, runtimes
from daedalus.model.system.system import System
from daedalus.simulation.plant.projection import CORRECTIONS

# What is compiled with the code of a model.
RUNTIME = ("runtime.c", "iteration.h", "friction.h", "bdf.h")
BDF_STAGE = (
    "int dd_bdf_stage(double when, const double *x, const double *u, const double *p, const double *k, "
    "const double *z, double *F, double *by_x, double *by_k, double *by_z)"
)
BDF_CORRECT = "int dd_bdf_correct(double when, double *x, const double *u, const double *p)"
FLAGS = ("-std=c99", "-fPIC", "-shared", "-ffp-contract=off")
# Optimisers take more than linear time over one long function: code of more characters is compiled as it stands.
OPTIMISED = 400_000
# What the runtime calls, and what stands in for a function that a model does not have.
OPTIONAL = {
    "dd_outputs": "t, x, u, p, y", "dd_guards": "t, x, u, p, g", "dd_resets": "t, x, u, p, r",
    "dd_residual": "t, x, u, p, F, by_w", "dd_residual_forward": "t, x, u, p, sx, su, sp, F",
    "dd_frictions": "t, x, u, p, s, f, c, l", "dd_impulses": "t, x, u, p, X, S",
    "dd_begin": "t, x, u, p, n, k",
    "dd_residual_adjoint": "t, x, u, p, F, x_bar, u_bar, p_bar",
}  # fmt: skip


def builder_of(compiler: bool | None, platforms: str, version: int) -> str | dict[str, Path]:
    """The C compiler, or prebuilt runtimes by platform."""
    own, there = own_platform(), runtimes()
    if platforms == "all":
        # FMI 2 has one folder for macOS, whose name means x86-64.
        wanted = [n for n, (old, _) in PLATFORMS.items() if version == 3 or (old and n != "aarch64-darwin")]
        missing = [name for name in wanted if name not in there]
        if missing or compiler:
            raise InputError(
                'platforms="all" is not available here.',
                "a C compiler builds for its own machine" if compiler else f"no runtime for {', '.join(missing)}",
                because="wheels carry the prebuilt runtimes of all platforms, a checkout only its own.",
                remedy='platforms="this", or `make runtimes` in the checkout',
            )
        return {name: there[name] for name in wanted}
    platform_folder(version, own)
    found = None if compiler is False or (compiler is None and own in there) else find_compiler()
    if found is not None:
        return found
    if compiler or own not in there:
        raise InputError(
            "There is no C compiler on this machine." if compiler else "This machine cannot build an FMU.",
            f"prebuilt runtimes: {', '.join(there) or 'none'}; C compiler: none",
            because="the library inside an FMU comes from one of them.",
            remedy="compiler=False" if own in there else "install cc, gcc or clang; or dd.exchange.c for sources",
        )
    return {own: there[own]}


def libraries(
    builder: str | dict[str, Path], system: System, functions: list[CFunction], core: FlowCore, start: np.ndarray,
    unknowns: np.ndarray, instants: Instants, steps: EmbeddedSteps, described: str,
) -> tuple[dict[str, bytes], str]:  # fmt: skip
    """The library and what lies beside it, by name, and the token that belongs to them."""
    sizes = {"NX": system.sizes["x"], "NZ": system.sizes["z"], "NU": system.sizes["u"], "NP": system.sizes["p"]}
    sizes |= {"NY": sum(value.numel() for value in system.outputs.values()), "NG": instants.guards}
    sizes["NK"] = next((f.function.numel_out(1) for f in functions if f.name == "dd_begin"), 0)
    p, nominal = np.asarray(system.start["p"]), np.asarray(system.nominal["x"])

    def token(*of: bytes) -> str:
        return "{" + hashlib.sha256(b"".join([*of, described.encode()])).hexdigest()[:32] + "}"

    if isinstance(builder, dict):
        binaries = {name: path.read_bytes() for name, path in builder.items()}
        packed = (sizes, functions, core, start, p, nominal, unknowns, instants)
        # The token does not depend on the platforms, so that FMUs for one and for all are the same model.
        own = token(model_bytes(*packed, "", steps))
        return {**binaries, f"resources/{MODEL_FILE}": model_bytes(*packed, own, steps)}, own
    sizes |= {"NH": instants.discretes, "NC": instants.clocks, "NW": len(unknowns), "NF": len(instants.friction_modes)}
    code = c_model(sizes, functions, core, start, p, nominal, unknowns, instants, steps)
    runtime = {name: Path(__file__).with_name(name).read_text(encoding="utf-8") for name in RUNTIME}
    own = token(code.encode(), *(text.encode() for text in runtime.values()))
    header = c_header(sizes, functions, core, own, steps)
    return {own_platform(): _built(builder, {"model.h": header, "model.c": code, **runtime})}, own


def _built(compiler: str, files: dict[str, str]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="daedalus") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        level = "-O1" if len(files["model.c"]) < OPTIMISED else "-O0"
        command: list[Any] = [compiler, *FLAGS, level, "-o", "model.so", "model.c", "runtime.c", "-lm"]
        try:
            subprocess.run(
                command, cwd=folder, check=True, capture_output=True, timeout=TIME_LIMIT, stdin=subprocess.DEVNULL
            )
        except subprocess.SubprocessError as error:
            told = getattr(error, "stderr", b"") or b""
            raise InputError(
                "The library of the FMU could not be built.", told.decode(errors="replace")[:300] or str(error)[:200],
                remedy="a smaller model, or another compiler in $CC",
            ) from error  # fmt: skip
        return (Path(folder) / "model.so").read_bytes()


def _several_steps(core: FlowCore, steps: EmbeddedSteps) -> str:
    """What backward differentiation formulas ask of the model."""
    solved = "dd_stage(&when, x, u, p, k, z, F, by_x, by_k, by_z)" if steps.several else "1"
    count, moves = core.stage.sizes["x"], ""
    if core.stage.projected is not None:
        moves = f"""  double moved[{max(1, count)}];
  int r, i;
  for (r = 0; r < {CORRECTIONS}; ++r) {{
    if (dd_correct(&when, x, u, p, moved)) return 1;
    for (i = 0; i < {count}; ++i) x[i] = moved[i];
  }}
"""
    unused = "(void)when, (void)x, (void)u, (void)p"
    return f"""{BDF_STAGE} {{
  {unused}, (void)k, (void)z, (void)F, (void)by_x, (void)by_k, (void)by_z;
  return {solved};
}}
{BDF_CORRECT} {{
{moves}  {unused};
  return 0;
}}"""


def c_header(
    sizes: dict[str, int], functions: Sequence[CFunction], core: FlowCore, token: str, steps: EmbeddedSteps
) -> str:
    """model.h: sizes, constants and functions."""
    names = {f.name for f in functions}
    lines = [f"#define {word} {size}" for word, size in sizes.items()]
    lines += [
        f'#define DD_TOKEN "{token}"',
        f"#define DD_RTOL {steps.rtol!r}",
        f"#define DD_ORDER {core.tableau.order}",
        f"#define DD_EMBEDDED {steps.second_order}",
        f"#define DD_FIRST_STEP {FIRST_STEP!r}",
        f"#define DD_FIXED_STEP {steps.fixed!r}",
        f"#define DD_BDF {int(steps.several)}",
        f"#define DD_STAGE_Z {core.stage.sizes['z'] if core.stage.implicit else 0}",
        f"extern const double dd_x_start[{max(1, sizes['NX'])}], dd_p_values[{max(1, sizes['NP'])}];",
        f"extern const double dd_nominal[{max(1, sizes['NX'])}], dd_w_start[{max(1, sizes['NW'])}];",
        "extern const int dd_directions[], dd_terminal[], dd_at_start[], dd_levels[], dd_first[];",
        "extern const int dd_friction_guards[], dd_friction_modes[];",
        "extern const double dd_period[], dd_offset[], dd_divisor[], dd_times[];",
        *(f"#define {name}({words}) ((void)({words}), 0)" for name, words in OPTIONAL.items() if name not in names),
        *(f"{f.prototype};" for f in functions),
        "int dd_step(double t, double h, double *x, const double *u, const double *p, double *error);",
        f"{BDF_STAGE};",
        f"{BDF_CORRECT};",
    ]
    return "\n".join(lines) + "\n"


def c_model(
    sizes: dict[str, int], functions: Sequence[CFunction], core: FlowCore, start: np.ndarray, parameters: np.ndarray,
    nominal: np.ndarray, unknowns: np.ndarray, instants: Instants, steps: EmbeddedSteps,
) -> str:  # fmt: skip
    """model.c: start values and functions."""
    count = max(1, sizes["NX"])
    tables = [
        f"const double dd_x_start[{count}] = {numbers(start)};",
        f"const double dd_p_values[{max(1, sizes['NP'])}] = {numbers(parameters)};",
        f"const double dd_nominal[{count}] = {numbers(nominal)};",
        f"const double dd_w_start[{max(1, sizes['NW'])}] = {numbers(unknowns)};",
    ]
    for word in ("directions", "terminal", "at_start", "levels", "first", "friction_guards", "friction_modes"):
        own = ", ".join(map(str, getattr(instants, word))) or "0"
        tables.append(f"const int dd_{word}[] = {{{own}}};")
    tables += [f"const double dd_{word}[] = {numbers(getattr(instants, word))};" for word in TIMES]
    tables.append(_several_steps(core, steps))
    # What CasADi exports by itself stays inside.
    whole = written_functions(functions)
    step = step_code(core, "dd", bool(sizes["NW"]), steps.errors)
    return '#include "model.h"\n#include <math.h>\n' + "\n".join(tables) + whole + step
