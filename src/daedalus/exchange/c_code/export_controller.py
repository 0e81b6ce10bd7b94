"""controller.to_c: a controller with a receding horizon as self-contained C99, with a test that compares calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.exchange.c_code.casadi_c import CFunction, c_function, numbers, written_functions
from daedalus.exchange.c_code.controller_in_c import HEADER, controller_code, work_fields
from daedalus.exchange.c_code.export_c import MAKEFILE, CExport, c_name, name_table
from daedalus.exchange.c_code.stage_tables import StageTables, stage_tables
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.expressions import nonzeros
from daedalus.optimisation.program.draft import PlacedBlock
from daedalus.optimisation.program.mapped_functions import Formulas
from daedalus.optimisation.program.program import ProgramTables, program_tables
from daedalus.optimisation.receding.controller import MOST_ROUNDS, SETTLED, Controller
from daedalus.optimisation.transcription.inputs_at_points import given_values
from daedalus.reduction.forms.explicit_form import find_explicit_form
from daedalus.reduction.forms.no_form import NoForm

# So many calls are compared, and the inputs agree to this share of their sizes: HPIPM ends at 1e-8.
CALLS = 12
AGREES = 1e-6
# The numbers that a small processor can hold.
LARGEST = 4_000_000


def export_controller(controller: Controller, folder: str | Path, name: str | None) -> CExport:
    """Write a controller; see `dd.Controller.to_c`."""
    horizon = controller.horizon
    if len(horizon.rates[0]):
        raise _refused(
            "it limits the rate of an input by what was applied last", "the input as a state with a bounded rate"
        )
    title = horizon.system.name
    prefix = c_name(title if name is None else name)
    draft = horizon.solving.transcription.draft
    tables = program_tables(draft)
    stages = stage_tables(horizon)
    functions, blocks, sizes = _blocks(draft.blocks, tables, prefix)
    point, expected = _compared(controller)
    layout = _Numbers(controller)
    sizes.update(stages.sizes, NV=len(tables.scale), NR=draft.rows, NJ=len(tables.jacobian[0]))
    sizes.update(NH=len(tables.hessian[0]), NP=len(horizon.program.parameters), NM=len(horizon.measured))
    sizes.update(layout.sizes, NX=len(controller.labels["x"]), NU=len(controller.labels["u"]))
    memory = _memory(sizes)
    if memory > LARGEST:
        raise _refused(
            f"its quadratic programs take {memory} numbers, at most {LARGEST} are written", "fewer intervals"
        )
    files = {
        f"{prefix}_controller.h": _header(controller, title, prefix, sizes, layout, memory),
        f"{prefix}_controller.c": _source(controller, prefix, functions, blocks, tables, stages, layout, sizes, point),
        f"test_{prefix}_controller.c": _test(prefix, controller, expected, layout),
        "Makefile": MAKEFILE.format(name=f"{prefix}_controller"),
    }
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (place / file).write_text(text, encoding="utf-8")
    words = tuple(f"{prefix}_controller_{each}" for each in ("begin", "call", "prepare"))
    labels = {**controller.labels, "p": layout.parameter_names, "given": layout.given_names}
    return CExport(place, tuple(files), words, labels, _notes(controller, layout))


def _notes(controller: Controller, layout: _Numbers) -> tuple[str, ...]:
    notes = [
        "the first call solves quadratic programs until the plan settles, where the package solves the whole problem",
        "where no quadratic program helps, the last plan is moved on, without a search for another and without "
        "fallback= and time_limit=",
    ]
    if layout.given_names:
        notes.append("given inputs are numbers in `given`, as they are at the start; write them anew before a call")
    return (*notes, *controller.notes)


def _refused(why: str, remedy: str) -> InputError:
    return InputError(
        "This controller cannot be written as C.",
        f"{why}; nothing was written",
        because="its code has fixed sizes, formulas for explicit steps and no heap.",
        remedy=remedy,
    )


# -- the functions of the problem ------------------------------------------------------------------------------------


def _blocks(
    placed: Sequence[PlacedBlock], tables: ProgramTables, prefix: str
) -> tuple[list[CFunction], str, dict[str, int]]:
    """The functions of the blocks, their tables as C, and the sizes of what is gathered for them."""
    functions: list[CFunction] = []
    arrays: list[str] = []
    rows: list[str] = []
    longest, slopes, curved, square = 1, 1, 1, 1
    for k, (block, table) in enumerate(zip(placed, tables.blocks)):
        own = block.functions
        word = f"{prefix}_block_{k}"
        formulas = own.formulas or _stepped(block)
        v, (value, first, second) = _formulas_of(formulas)
        made = [c_function(f"{word}_value", [("v", v)], [("r", value)], "")]
        made.append(c_function(f"{word}_first", [("v", v)], [("d", first)], ""))
        names = {"value": made[0].name, "first": made[1].name, "second": "0", "curvature": "0"}
        running = own.running
        states = inputs = 0
        if running is not None:
            x, u, p, tau = (ca.SX.sym(letter, running.formula.numel_in(i)) for i, letter in enumerate("xupt"))
            C, F = running.formula(x, u, p, tau)
            arguments_of_C = [("x", x), ("u", u), ("p", p), ("tau", tau)]
            results_of_C = [("C", nonzeros(C)), ("F", ca.densify(F))]
            made.append(c_function(f"{word}_curvature", arguments_of_C, results_of_C, ""))
            names["curvature"] = made[-1].name
            states, inputs = running.states, running.inputs
            slopes = max(slopes, states * (states + inputs))
            curved, square = max(curved, len(running.row)), max(square, (states + inputs) ** 2)
        elif second is not None:
            made.append(c_function(f"{word}_second", [("v", v), ("mu", second[0])], [("d", second[1])], ""))
            names["second"] = made[-1].name
        functions += made
        count, arguments = block.sources.shape
        results, entries = block.rows.shape[1], len(own.first_row)
        bent = len(own.second_row) if running is not None or second is not None else 0
        longest = max(longest, arguments, results, entries, bent)
        for field in ("sources", "rows", "first_places", "second_places", "slopes"):
            arrays.append(_integers(f"block_{k}_{field}", table[field]))
        for field in ("weights", "first_factors", "second_factors"):
            arrays.append(_doubles(f"block_{k}_{field}", table[field]))
        for field, values in (("row", running.row), ("column", running.column)) if running is not None else ():
            arrays.append(_integers(f"block_{k}_curved_{field}", values))
        curves = (f"block_{k}_curved_row", f"block_{k}_curved_column") if running is not None else ("0", "0")
        counts = (count, arguments, results, entries, bent, states, inputs, 0 if running is None else len(running.row))
        pointers = [f"block_{k}_{word}" for word in ("sources", "rows", "first_places", "second_places", "slopes")]
        factors = [f"block_{k}_{word}" for word in ("weights", "first_factors", "second_factors")]
        rows.append("  {" + ", ".join([*map(str, counts), *pointers, *curves, *factors, *names.values()]) + "}")
    text = "".join(arrays) + "static const Block blocks[] = {\n" + ",\n".join(rows) + "\n};"
    sizes = {"LONGEST": longest, "SLOPES": slopes, "CURVED": curved, "SQUARE": square, "BLOCK_COUNT": len(rows)}
    return functions, text, sizes


def _formulas_of(formulas: Formulas) -> tuple[ca.SX, tuple[ca.SX, ca.SX, tuple[ca.SX, ca.SX] | None]]:
    v = ca.SX.sym("v", formulas.value.numel_in(0))
    second = None
    if formulas.second is not None:
        mu = ca.SX.sym("mu", formulas.second.numel_in(1))
        second = mu, nonzeros(formulas.second(v, mu))
    return v, (nonzeros(ca.densify(formulas.value(v))), nonzeros(formulas.first(v)), second)


def _stepped(block: PlacedBlock) -> Formulas:
    """The flow over an interval as formulas: explicit steps written out."""
    flow = block.functions.flow
    assert flow is not None
    system, tableau = flow.core.system, flow.core.tableau
    if not tableau.is_explicit:
        raise _refused(
            f"its steps are those of {tableau.name or 'an implicit method'}", 'step_method="rk4", with more steps='
        )
    form = find_explicit_form(system)
    if isinstance(form, NoForm):
        raise _refused("the rates of its model have no formulas", "a model whose algebraic variables have formulas")
    rates = ca.Function("rates", [system.symbol(letter) for letter in ("t", "x", "u", "p")], [form.xdot])
    x, u, p = (ca.SX.sym(letter, system.sizes[letter]) for letter in "xup")
    end = x
    for k in range(flow.core.steps):
        end = _one_step(rates, tableau, k * flow.core.step, flow.core.step, end, u, p)
    v = ca.vertcat(x, u, p)
    end = ca.cse(end)
    own = block.functions
    jacobian = ca.jacobian(end, v)
    # The nonzeros that the flow is known by, in their order.
    entries = [jacobian[int(r), int(c)] for r, c in zip(own.first_row, own.first_column)]
    first = ca.vertcat(*(ca.densify(each) for each in entries)) if entries else ca.SX(0, 1)
    return Formulas(ca.Function("value", [v], [end]), ca.Function("first", [v], [first]), None)


def _one_step(rates: ca.Function, tableau: Tableau, t: float, h: float, x: ca.SX, u: ca.SX, p: ca.SX) -> ca.SX:
    slopes: list[ca.SX] = []
    A, b, c = (np.asarray(part, dtype=float) for part in (tableau.A, tableau.b, tableau.c))
    for i in range(len(b)):
        moved = sum((A[i, j] * slopes[j] for j in range(i) if A[i, j]), ca.SX.zeros(x.numel(), 1))
        slopes.append(rates(t + c[i] * h, x + h * moved, u, p))
    return x + h * sum((b[i] * slopes[i] for i in range(len(b)) if b[i]), ca.SX.zeros(x.numel(), 1))


# -- numbers that change from call to call ----------------------------------------------------------------------------


class _Numbers:
    """Where time, parameters of the model and given inputs stand among the parameters of the program."""

    def __init__(self, controller: Controller) -> None:
        horizon = self.horizon = controller.horizon
        layout, stage = horizon.layout, horizon.stage
        shares = [(-1 - own).ravel() for own in layout.share_parameters]
        self.share_places = np.concatenate(shares) if shares else np.zeros(0, dtype=int)
        own = layout.parameters[0]
        self.parameter_places = np.where(own < 0, -1 - own, -1)
        self.parameter_names = tuple(horizon.system.labels["p"])
        self.given_places = np.concatenate(
            [np.zeros(0, dtype=int), *((-1 - own).ravel() for own, _ in layout.given_parameters)]
        )
        self.given_shares = np.concatenate([np.zeros(0), *(shares for _, shares in layout.given_parameters)])
        labels = horizon.system.labels["u"]
        self.given_names = tuple(labels[int(k)] for k in stage.given_positions)
        self.sizes = {
            "SHARE_COUNT": len(self.share_places), "MODEL_NP": len(self.parameter_places),
            "GIVEN_COUNT": len(self.given_places), "NG": len(self.given_names),
        }  # fmt: skip

    def given_at(self, t: float) -> np.ndarray:
        """The given inputs along the horizon at a time, as the C code holds them."""
        horizon = self.horizon
        if not self.given_names:
            return np.zeros(0)
        times = t + horizon.duration * self.given_shares
        return np.asarray(given_values(horizon.description, horizon.stage.given_positions, times), dtype=float).ravel()


# -- files -----------------------------------------------------------------------------------------------------------


def _integers(word: str, values: Any) -> str:
    listed = [str(int(v)) for v in np.ravel(values)] or ["0"]
    return f"static const int {word}[] = {{{', '.join(listed)}}};\n"


def _doubles(word: str, values: Any) -> str:
    return f"static const double {word}[] = {numbers(np.ravel(np.asarray(values, dtype=float)))};\n"


def _memory(sizes: Mapping[str, int]) -> int:
    """The numbers in the memory of a controller."""
    s = sizes
    return int(
        s["SIZE_H"] + s["SIZE_J"] + s["SIZE_G"] + s["SIZE_F"] + 3 * s["NV"] + 2 * s["NP"] + s["NR"] + s["NJ"] + s["NV"]
        + s["NH"] + 5 * s["NQ"] + 4 * s["NB"] + 14 * s["NC"]
    )  # fmt: skip


def _header(
    controller: Controller, title: str, prefix: str, sizes: Mapping[str, int], layout: _Numbers, memory: int
) -> str:
    s = sizes
    fields = work_fields(
        {"H": s["SIZE_H"], "J": s["SIZE_J"], "G": s["SIZE_G"], "Q": s["NQ"], "B": s["NB"], "K": s["K"], "C": s["NC"],
         "F": s["SIZE_F"]}
    )  # fmt: skip
    one = {word: max(1, size) for word, size in s.items()}
    return HEADER.format(
        title=title, name=prefix, upper=prefix.upper(), NX=s["NX"], NU=s["NU"], MODEL_NP=s["MODEL_NP"], NG=s["NG"],
        every=controller.every, duration=controller.horizon.duration, LX=one["NX"], LU=one["NU"], LP=one["MODEL_NP"],
        LG=one["NG"], LS=max(1, len(layout.given_shares)), LGIVEN=one["GIVEN_COUNT"], NV=s["NV"],
        sources=s["NV"] + s["NP"], LN=one["NP"], rows=s["NR"] + 1, first=s["NJ"] + s["NV"], LH=one["NH"], NM=one["NM"],
        fields=fields, kilobytes=round(8 * memory / 1000), rounds=MOST_ROUNDS,
    )  # fmt: skip


def _source(
    controller: Controller,
    prefix: str,
    functions: list[CFunction],
    blocks: str,
    tables: ProgramTables,
    stages: StageTables,
    layout: _Numbers,
    sizes: Mapping[str, int],
    point: np.ndarray,
) -> str:
    horizon = controller.horizon
    program, own = horizon.program, horizon.tables()
    low, high, row_low, row_high = program.scaled_bounds
    linear = dict(zip(("row", "column", "place", "coefficient"), tables.linear))
    settings = {
        "BEGIN": horizon.description.begin, "DURATION": horizon.duration, "WIDTH": horizon.width,
        "EVERY": controller.every,
    }  # fmt: skip
    whole = {
        **sizes, "NL": len(linear["row"]), "TAIL": len(own["tail"]), "INTERVALS": horizon.layout.intervals,
        "FULL": int(controller.mode == "full"), "LARGEST": max(stages.largest, 1),
    }  # fmt: skip
    whole["SQUARE"] = max(sizes["SQUARE"], stages.widest**2)
    integers = {
        **stages.integers, "linear_row": linear["row"], "linear_column": linear["column"],
        "linear_place": linear["place"], "following": own["next"], "tail_rows": own["tail"],
        "tail_nodes": own["tail_nodes"], "measured": own["measured"], "applied": own["applied"],
        "nodes": horizon.layout.nodes[:, : len(horizon.states)], "share_places": layout.share_places,
        "parameter_places": layout.parameter_places, "given_places": layout.given_places,
    }  # fmt: skip
    rest = horizon.solving.begin / program.scale
    doubles = {
        "scale": tables.scale, "lower": low, "upper": high, "row_lower": row_low, "row_upper": row_high,
        "linear_coefficient": linear["coefficient"], "number_values": program.parameters, "plan": point, "rest": rest,
        "model_parameters": horizon.description.parameters, "given_values": layout.given_at(horizon.description.begin),
        "input_lower": program.lower[horizon.applied], "input_upper": program.upper[horizon.applied],
    }  # fmt: skip
    # CasADi's functions come first: they have short names of their own.
    parts = [f'#include "{prefix}_controller.h"\n#include <math.h>\n', _static(written_functions(functions), functions)]
    parts += [f"#define {word} {value!r}\n" for word, value in settings.items()]
    parts += [f"#define {word} {value}\n" for word, value in whole.items()]
    parts += [_integers(word, values) for word, values in integers.items()]
    parts += [_doubles(word, values) for word, values in doubles.items()]
    labels = {**controller.labels, "p": layout.parameter_names, "given": layout.given_names}
    parts += [name_table(f"{prefix}_controller", letter, names) + "\n" for letter, names in labels.items()]
    shares = numbers(layout.given_shares)
    parts.append(f"const double {prefix}_controller_given_shares[{max(1, len(layout.given_shares))}] = {shares};\n")
    parts.append(f"typedef {prefix}_controller_work Work;\n")
    parts.append(controller_code(prefix, blocks, SETTLED, MOST_ROUNDS))
    return "".join(parts)


def _static(code: str, functions: list[CFunction]) -> str:
    """The functions of the blocks are of no use outside of the file."""
    for each in functions:
        code = code.replace(f"\n{each.prototype} {{", f"\nstatic {each.prototype} {{")
    return code


# -- the test ----------------------------------------------------------------------------------------------------------


def _compared(controller: Controller) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The plan from the model's start, and calls from it on, along a motion that does not follow the plan."""
    twin = controller.again()
    labels = twin.labels["x"]
    at = twin.horizon.description.begin
    x = np.array([float(start.value) for start in twin.horizon.description.starts or ()])
    twin(x, at)
    if twin.status != "solved":
        raise _refused(f"no plan was found from the model's start ({twin.status})", "a start in reach, m.state(start=)")
    point = twin.plan_point()
    states, inputs, times = [], [], []
    size = np.abs(np.stack([twin.prediction[label] for label in labels], axis=1)).max(axis=0) + 1e-3
    for k in range(CALLS):
        plan, at = twin.prediction, at + twin.every
        moved = np.array([np.interp(at, plan["time"], plan[label]) for label in labels])
        # Off the plan by a thousandth of what moves.
        x = moved + 1e-3 * size * np.sin(1.0 + k + np.arange(len(labels)))
        u = twin(x, at)
        if twin.work.searches > 1 or twin.status != "solved":
            break
        states.append(x)
        inputs.append(u)
        times.append(at)
    found = {"x": np.array(states), "u": np.array(inputs), "t": np.array(times)}
    return point, found


def _test(prefix: str, controller: Controller, expected: Mapping[str, np.ndarray], layout: _Numbers) -> str:
    u, count = expected["u"], len(expected["t"])
    nx, nu, ng = len(controller.labels["x"]), len(controller.labels["u"]), len(layout.given_places)
    begin = controller.horizon.description.begin
    spread = np.abs(u).max(axis=0) + 1e-3 * controller.horizon.program.scale[controller.horizon.applied] if count else u
    given = np.concatenate([np.zeros(0), *(layout.given_at(t) for t in expected["t"])])
    return f"""#include <math.h>
#include <stdio.h>
#include "{prefix}_controller.h"

static const double t[] = {numbers(expected["t"])};
static const double x[] = {numbers(expected["x"].ravel())};
static const double u[] = {numbers(u.ravel())};
static const double size[] = {numbers(np.ravel(spread))};
static const double given[] = {numbers(given)};
static {prefix}_controller controller;

int main(void) {{
  double found[{max(1, nu)}], worst = 0.0, settled[{max(1, nu)}];
  int call, i, wrong = 0;
  {prefix}_controller_begin(&controller, {begin!r});
  controller.calls = 1;                             /* go on from the plan, one iteration a call */
  for (call = 0; call < {count}; ++call) {{
    for (i = 0; i < {ng}; ++i) controller.given[i] = given[call * {ng} + i];
    wrong |= {prefix}_controller_call(&controller, t[call], x + call * {nx}, found);
    for (i = 0; i < {nu}; ++i) {{
      const double off = fabs(found[i] - u[call * {nu} + i]) / size[i];
      if (!(off <= worst)) worst = off;
    }}
  }}
  printf("%-40s %.1e\\n", "{prefix}_controller_call", worst);
  {prefix}_controller_begin(&controller, {begin!r});
  for (i = 0; i < {ng if count else 0}; ++i) controller.given[i] = given[i];
  if ({int(count > 0)}) wrong |= {prefix}_controller_call(&controller, t[0], x, settled);
  return wrong || !(worst <= {AGREES!r});
}}
"""
