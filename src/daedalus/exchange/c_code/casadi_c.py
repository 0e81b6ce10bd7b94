"""CasADi functions as C99 with plain signatures: one pointer an argument and a result, work space on the stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.compilation.inverse_error_function import inverse_error_function_in_c
from daedalus.errors import InputError

# A compiler takes minutes over one function of more instructions.
LARGEST = 300_000
# Of results with fewer nonzeros than this share those alone are computed, and put in their places among zeros.
FEW = 0.1
# The stack of a small processor, and of a thread, may not hold more than this many doubles of work.
MOST_WORK = 2_000_000


@dataclass(frozen=True)
class CFunction:
    """A CasADi function with the words of its C counterpart: `int name(const double *x, ..., double *y, ...)`."""

    function: ca.Function
    by_nonzeros: ca.Function  # the same, with the nonzeros alone of results that have few
    text: str
    size_words: tuple[str, ...]  # the names of the sizes of the arguments, then of the results

    @property
    def name(self) -> str:
        """The name in C."""
        return str(self.function.name())

    @property
    def prototype(self) -> str:
        """The declaration, without a semicolon."""
        f = self.function
        arguments = [f"const double *{f.name_in(k)}" for k in range(f.n_in())]
        results = [f"double *{f.name_out(k)}" for k in range(f.n_out())]
        return f"int {self.name}({', '.join([*arguments, *results])})"


def c_function(
    name: str, arguments: Sequence[tuple[str, ca.SX]], results: Sequence[tuple[str, ca.SX]], text: str
) -> CFunction:
    """Expressions as a function with names for arguments and results; matrices are stored by columns."""
    names, symbols = [n for n, _ in arguments], [a for _, a in arguments]
    outputs = [n for n, _ in results]
    written = [r if r.nnz() <= FEW * r.numel() else ca.densify(r) for _, r in results]
    by_nonzeros = ca.Function(name, symbols, written, names, outputs)
    if by_nonzeros.n_instructions() > LARGEST:
        raise InputError(
            f"The C code of {name!r} would be too long.",
            f"it has {by_nonzeros.n_instructions()} operations, at most {LARGEST} are written",
            because="compilers need minutes for such a function.",
            remedy="a smaller model, or dd.simulate",
        )
    function = ca.Function(name, symbols, [ca.densify(r) for _, r in results], names, outputs)
    sizes = tuple(str(part.numel()) for _, part in (*arguments, *results))
    return CFunction(function, by_nonzeros, text, sizes)


def written_functions(functions: Sequence[CFunction]) -> str:
    """The C code of functions: those of CasADi, hidden in the file, and the plain ones in front of them."""
    # Some symbols bear the generator's name: two files of one program must not share it.
    generator = ca.CodeGenerator(f"{functions[0].name}_file", {"with_header": False, "casadi_int": "long long int"})
    for each in functions:
        generator.add(_renamed(each.by_nonzeros, f"{each.name}_generated"))
    code = generator.dump()
    missing = inverse_error_function_in_c() if "erfinv(" in code else ""
    return missing + code + "".join(_plain(each) for each in functions)


def _renamed(function: ca.Function, name: str) -> ca.Function:
    inputs = function.sx_in()
    return ca.Function(name, inputs, function.call(inputs))


def _plain(each: CFunction) -> str:
    f = each.by_nonzeros
    renamed = _renamed(f, f"{each.name}_generated")
    work, whole = max(1, renamed.sz_w()), max(1, renamed.sz_iw())
    if work > MOST_WORK:
        raise InputError(f"The work space of {each.name!r} is too large.", f"{work} numbers", remedy="a smaller model")
    arguments = ", ".join(f.name_in(k) for k in range(f.n_in()))
    sparse = [k for k in range(f.n_out()) if not f.sparsity_out(k).is_dense()]
    results = ", ".join(f"{f.name_out(k)} ? few_{k} : 0" if k in sparse else f.name_out(k) for k in range(f.n_out()))
    spread = "".join(_spread(f.name_out(k), f"few_{k}", f.sparsity_out(k)) for k in sparse)
    room = "".join(f"\n  double few_{k}[{max(1, f.nnz_out(k))}];" for k in sparse)
    call = f"{renamed.name()}(arguments, results, whole, work, 0)"
    ending = f"  if ({call}) return 1;{spread}\n  return 0;" if sparse else f"  return {call};"
    return f"""
{each.prototype} {{{room}
  const double *arguments[{max(1, renamed.sz_arg())}] = {{{arguments}}};
  double *results[{max(1, renamed.sz_res())}] = {{{results}}};
  long long int whole[{whole}];
  double work[{work}];
{ending}
}}
"""


def _spread(result: str, nonzeros: str, places: ca.Sparsity) -> str:
    """Nonzeros in their places among the zeros of a matrix by columns."""
    rows, columns = np.array(places.row(), dtype=int), np.array(places.get_col(), dtype=int)
    listed = ", ".join(str(k) for k in (columns * places.size1() + rows).tolist())
    if not listed:
        return f"""
  if ({result}) {{
    int k;
    for (k = 0; k < {places.numel()}; ++k) {result}[k] = 0.0;
  }}"""
    return f"""
  if ({result}) {{
    static const int places[] = {{{listed}}};
    int k;
    for (k = 0; k < {places.numel()}; ++k) {result}[k] = 0.0;
    for (k = 0; k < {places.nnz()}; ++k) {result}[places[k]] = {nonzeros}[k];
  }}"""


def numbers(values: Sequence[float] | np.ndarray) -> str:
    """Numbers with all their digits, for an array of C; an empty array keeps one zero, which C99 asks for."""
    listed = [_digits(float(v)) for v in values] or ["0.0"]
    return "{" + ", ".join(listed) + "}"


def _digits(value: float) -> str:
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value) if "." in repr(value) or "e" in repr(value) else f"{value!r}.0"
