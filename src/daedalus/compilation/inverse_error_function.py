"""CasADi's inverse error function in LLVM's language and in C, operation by operation as the interpreter computes it.

Rational approximations (one for |x| < 0.7, one near ±1) polished by two Newton steps on erf(y) = x, exactly as
casadi/core/calculus.hpp has it: below -0.7 the approximation is returned without the polish. Compilers for ARM fuse
each product of the polynomials with the sum behind it: CasADi's library does so there, and this as well.
"""

from __future__ import annotations

import math
import platform

from daedalus.compilation.mathematics_library import STRICT_PREFIX
from daedalus.compilation.operations import literal

# Coefficients of casadi/core/calculus.hpp, highest power first.
_TAIL_TOP = (1.641345311, 3.429567803, -1.624906493, -1.970840454)
_TAIL_BOTTOM = (1.637067800, 3.543889200, 1.0)
_MIDDLE_TOP = (-0.140543331, 0.914624893, -1.645349621, 0.886226899)
_MIDDLE_BOTTOM = (-0.329097515, 0.012229801, 1.442710462, -2.118377725, 1.0)

# Whether products are fused with sums by the compilers for this processor.
FUSED = platform.machine().lower() in ("aarch64", "arm64")


def _horner(name: str, variable: str, coefficients: tuple[float, ...]) -> list[str]:
    """Lines for a polynomial; its value is %name."""
    lines, value = [], literal(coefficients[0])
    for step, coefficient in enumerate(coefficients[1:], 1):
        result = f"%{name}" if step == len(coefficients) - 1 else f"%{name}.{step}"
        operands = f"double {value}, double {variable}, double {literal(coefficient)}"
        if FUSED:
            lines.append(f"{result} = call double @llvm.fma.f64({operands})")
        else:
            lines.append(f"%{name}.m{step} = fmul double {value}, {variable}")
            lines.append(f"{result} = fadd double %{name}.m{step}, {literal(coefficient)}")
        value = result
    return lines


def _tail(name: str, one_minus: str, log: str) -> list[str]:
    """Lines for the top and bottom polynomials in z = √(−log((1 ∓ x)/2))."""
    return [
        f"%{name}.h = fdiv double {one_minus}, {literal(2.0)}",
        f"%{name}.l = call double @{log}(double %{name}.h)",
        f"%{name}.n = fneg double %{name}.l",
        f"%{name}.z = call double @llvm.sqrt.f64(double %{name}.n)",
        *_horner(f"{name}.top", f"%{name}.z", _TAIL_TOP),
        *_horner(f"{name}.bottom", f"%{name}.z", _TAIL_BOTTOM),
    ]


def _newton_step(start: str, name: str, erf: str, exp: str) -> list[str]:
    """Lines for y − (erf(y) − x) / (2/√π exp(−y²))."""
    return [
        f"%{name}.e = call double @{erf}(double {start})",
        f"%{name}.d = fsub double %{name}.e, %x",
        f"%{name}.n = fneg double {start}",
        f"%{name}.q = fmul double %{name}.n, {start}",
        f"%{name}.g = call double @{exp}(double %{name}.q)",
        f"%{name}.s = fmul double %{name}.g, {literal(2.0 / math.sqrt(math.pi))}",
        f"%{name}.c = fdiv double %{name}.d, %{name}.s",
        f"%{name} = fsub double {start}, %{name}.c",
    ]


def inverse_error_function(strict: bool) -> str:
    """The definition of @erfinv, with the functions it calls named for the strict or the fast reading."""
    log, erf, exp = (STRICT_PREFIX + name if strict else name for name in ("log", "erf", "exp"))
    infinity, not_a_number = literal(math.inf), literal(math.nan)
    lines = [
        "define internal double @erfinv(double %x) noinline nounwind willreturn memory(none) {",
        f"%above = fcmp oge double %x, {literal(1.0)}",
        "br i1 %above, label %at.above, label %check.below",
        "at.above:",
        f"%is.one = fcmp oeq double %x, {literal(1.0)}",
        f"%r.above = select i1 %is.one, double {infinity}, double {not_a_number}",
        "ret double %r.above",
        "check.below:",
        f"%below = fcmp ole double %x, {literal(-1.0)}",
        "br i1 %below, label %at.below, label %check.low",
        "at.below:",
        f"%is.minus = fcmp oeq double %x, {literal(-1.0)}",
        f"%r.below = select i1 %is.minus, double {literal(-math.inf)}, double {not_a_number}",
        "ret double %r.below",
        "check.low:",
        f"%low = fcmp olt double %x, {literal(-0.7)}",
        "br i1 %low, label %at.low, label %check.middle",
        "at.low:",
        f"%plus = fadd double %x, {literal(1.0)}",
        *_tail("low.tail", "%plus", log),
        "%low.minus = fneg double %low.tail.top",
        "%r.low = fdiv double %low.minus, %low.tail.bottom",
        "ret double %r.low",
        "check.middle:",
        f"%middle = fcmp olt double %x, {literal(0.7)}",
        "br i1 %middle, label %at.middle, label %at.high",
        "at.middle:",
        "%square = fmul double %x, %x",
        *_horner("mid.top", "%square", _MIDDLE_TOP),
        *_horner("mid.bottom", "%square", _MIDDLE_BOTTOM),
        "%mid.scaled = fmul double %x, %mid.top",
        "%y.middle = fdiv double %mid.scaled, %mid.bottom",
        "br label %polish",
        "at.high:",
        f"%minus = fsub double {literal(1.0)}, %x",
        *_tail("high.tail", "%minus", log),
        "%y.high = fdiv double %high.tail.top, %high.tail.bottom",
        "br label %polish",
        "polish:",
        "%y = phi double [ %y.middle, %at.middle ], [ %y.high, %at.high ]",
        *_newton_step("%y", "y.one", erf, exp),
        *_newton_step("%y.one", "y.two", erf, exp),
        "ret double %y.two",
        "}",
    ]
    return "\n".join(lines)


def _nested(variable: str, coefficients: tuple[float, ...]) -> str:
    """A polynomial in C."""
    text = repr(coefficients[0])
    for coefficient in coefficients[1:]:
        fused, apart = f"fma({text}, {variable}, {coefficient!r})", f"({text}*{variable} + ({coefficient!r}))"
        text = fused if FUSED else apart
    return text


def inverse_error_function_in_c() -> str:
    """The definition of erfinv, which CasADi's generated C calls and does not define."""
    step = f"y = y - (erf(y) - x) / ({2.0 / math.sqrt(math.pi)!r} * exp(-y*y));"
    return f"""
#include <math.h>
static double erfinv(double x) {{
  double y, z;
  if (x >= 1) return x == 1 ? INFINITY : NAN;
  if (x <= -1) return x == -1 ? -INFINITY : NAN;
  if (x < -0.7) {{
    z = sqrt(-log((1.0 + x)/2.0));
    return -{_nested("z", _TAIL_TOP)}/{_nested("z", _TAIL_BOTTOM)};
  }}
  if (x < 0.7) {{
    z = x*x;
    y = x*{_nested("z", _MIDDLE_TOP)}/{_nested("z", _MIDDLE_BOTTOM)};
  }} else {{
    z = sqrt(-log((1.0 - x)/2.0));
    y = {_nested("z", _TAIL_TOP)}/{_nested("z", _TAIL_BOTTOM)};
  }}
  {step}
  {step}
  return y;
}}
"""
