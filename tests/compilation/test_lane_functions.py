"""Functions on lanes against mpmath: sin, cos, exp, log, pow within 1 ulp, others within 4, over the whole range."""

import ctypes
import math

import casadi as ca
import numpy as np
import pytest

from daedalus.compilation.lanes import elementary
from daedalus.compilation.lanes.lane_formulas import (
    NOTHING_FIXED,
    check_known,
    fixed_part,
    written_fixed,
    written_formulas,
)
from daedalus.compilation.lanes.machine import kernel_code, lane_width
from daedalus.compilation.lanes.random_words import normal_number, normal_numbers, philox
from daedalus.compilation.lanes.words import LaneModule, LaneText
from daedalus.compilation.llvm_code import ENTRY
from daedalus.model.system.instruction_list import UnknownOperationError, read_instructions

mpmath = pytest.importorskip("mpmath")
INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, INF, -INF, NAN, 5e-324, -5e-324, 2.3e-308, 1.7e308, -1.7e308]


def on_lanes(function: ca.Function, *columns: np.ndarray, lanes: int | None = None) -> np.ndarray:
    """The first output of a function of scalars, for many values at once."""
    rows = read_instructions(function)
    check_known(rows)
    return written_on_lanes(
        lambda w, words: written_formulas(w, rows, [[a] for a in words])[0][0], *columns, lanes=lanes
    )


def written_on_lanes(write, *columns: np.ndarray, lanes: int | None = None) -> np.ndarray:
    """What `write` makes of words, for many values at once."""
    lanes = lanes or lane_width()
    module = LaneModule(lanes)
    w = LaneText(module)
    begin = w.cell("i64")
    begin.set("0")
    with w.repeat(lambda: w.line(f"icmp slt i64 {begin.now}, %count")):
        at = begin.now
        words = []
        for k in range(len(columns)):
            place = w.line(f"getelementptr double, ptr %p{k}, i64 {at}")
            words.append(w.line(f"load {module.real}, ptr {place}, align 8"))
        result = write(w, words)
        place = w.line(f"getelementptr double, ptr %result, i64 {at}")
        w.raw(f"store {module.real} {result}, ptr {place}, align 8")
        begin.set(w.line(f"add i64 {at}, {lanes}"))
    given = ", ".join(f"ptr %p{k}" for k in range(len(columns)))
    head = f"define void @{ENTRY}(i64 %count, {given}, ptr %result) #0 {{"
    code = kernel_code(module.text([head, *w.whole_text(), "ret void", "}"]))
    count = -len(columns[0]) % lanes + len(columns[0])
    padded = [np.resize(np.asarray(c, dtype=float), count) for c in columns]
    result = np.empty(count)
    address = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[address] * (len(columns) + 1))(code.address)
    call(count, *(c.ctypes.data for c in (*padded, result)))
    return result[: len(columns[0])]


def ulps(found: np.ndarray, exact: list) -> float:
    """The largest distance in units of the last place of the exact value; infinite where a special value is missed."""
    worst = 0.0
    for value, true in zip(found.tolist(), exact):
        if mpmath.isnan(true) or math.isnan(value):
            worst = max(worst, 0.0 if mpmath.isnan(true) and math.isnan(value) else INF)
            continue
        nearest = float(true)
        if math.isinf(nearest) or nearest == 0:
            worst = max(worst, 0.0 if value == nearest or abs(value) >= 1.7e308 else abs(value - nearest) / 5e-324)
            continue
        worst = max(worst, float(abs(mpmath.mpf(value) - true) / math.ulp(nearest)))
    return worst


def drawn(low: float, high: float, count: int = 700, seed: int = 0) -> np.ndarray:
    """Numbers spread evenly over an interval, and over the exponents in it."""
    generator = np.random.default_rng(seed)
    even = generator.uniform(low, high, count)
    sizes = 10 ** generator.uniform(-20, math.log10(max(abs(low), abs(high))), count)
    signs = np.where(generator.random(count) < 0.5, -1.0, 1.0)
    every = sizes * signs
    return np.concatenate([even, every[(every >= low) & (every <= high)]])


def one_operand(name: str) -> ca.Function:
    x = ca.SX.sym("x")
    return ca.Function(name, [x], [getattr(ca, name)(x)])


def two_operands(name: str) -> ca.Function:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    body = x**y if name == "pow" else getattr(ca, name)(x, y)
    return ca.Function(name, [x, y], [body])


ONE = {
    "sin": (1.0, mpmath.sin, -1e3, 1e3),
    "cos": (1.0, mpmath.cos, -1e3, 1e3),
    "exp": (1.0, mpmath.exp, -745.0, 709.7),
    "log": (1.0, mpmath.log, 0.0, 1e300),
    "tan": (4.0, mpmath.tan, -1e3, 1e3),
    "asin": (4.0, mpmath.asin, -1.0, 1.0),
    "acos": (4.0, mpmath.acos, -1.0, 1.0),
    "atan": (4.0, mpmath.atan, -1e3, 1e3),
    "sinh": (4.0, mpmath.sinh, -710.0, 710.0),
    "cosh": (4.0, mpmath.cosh, -710.0, 710.0),
    "tanh": (4.0, mpmath.tanh, -25.0, 25.0),
    "asinh": (4.0, mpmath.asinh, -1e12, 1e12),
    "acosh": (4.0, mpmath.acosh, 1.0, 1e12),
    "atanh": (4.0, mpmath.atanh, -1.0, 1.0),
    "erf": (4.0, mpmath.erf, -7.0, 7.0),
    "log1p": (4.0, mpmath.log1p, -1.0, 1e12),
    "expm1": (4.0, mpmath.expm1, -50.0, 709.0),
}


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name):
    allowed, exact, low, high = ONE[name]
    x = drawn(low, high)
    with mpmath.workprec(160):
        assert ulps(on_lanes(one_operand(name), x), [exact(mpmath.mpf(v)) for v in x.tolist()]) <= allowed


@pytest.mark.parametrize("name", ONE)
def test_special_values_are_those_of_the_mathematical_library(name):
    found = on_lanes(one_operand(name), np.array(SPECIAL))
    with np.errstate(all="ignore"):
        if name == "erf":
            wanted = np.array([math.erf(v) for v in SPECIAL])
        else:
            named = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
            wanted = getattr(np, {**named, "atanh": "arctanh"}.get(name, name))(np.array(SPECIAL))
    np.testing.assert_allclose(found, wanted, rtol=9e-16, atol=0)
    zeros = wanted == 0
    assert np.signbit(found[zeros]).tolist() == np.signbit(wanted[zeros]).tolist()


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_angles_are_reduced_to_their_last_digit(name):
    generator = np.random.default_rng(1)
    x = np.ldexp(generator.uniform(1, 2, 500), generator.integers(15, 1023, 500))
    # The double next to a multiple of π/2 (J.-M. Muller, Elementary Functions, chapter 11).
    x = np.concatenate([x, -x[:100], [6381956970095103 * 2.0**797, 2.0**30, np.nextafter(2.0**30, 0), 1e22]])
    with mpmath.workprec(1400):
        exact = [getattr(mpmath, name)(mpmath.mpf(v)) for v in x.tolist()]
        assert ulps(on_lanes(one_operand(name), x), exact) <= (4 if name == "tan" else 1)


def test_powers():
    generator = np.random.default_rng(2)
    x = np.exp(generator.uniform(-20, 20, 900))
    y = generator.uniform(-30, 30, 900)
    near_one = 1 + generator.uniform(-1e-3, 1e-3, 300)
    x, y = np.concatenate([x, near_one]), np.concatenate([y, generator.uniform(-6e5, 6e5, 300)])
    with mpmath.workprec(200):
        exact = [mpmath.power(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), y.tolist())]
        exact = [mpmath.inf if e > 1.79e308 else e for e in exact]
        assert ulps(on_lanes(two_operands("pow"), x, y), exact) <= 1.0


def pairs(values: list[float]) -> tuple[np.ndarray, np.ndarray]:
    grid = np.array([(a, b) for a in values for b in values])
    return grid[:, 0].copy(), grid[:, 1].copy()


@pytest.mark.parametrize(
    ("name", "ours"), [("pow", np.power), ("atan2", np.arctan2), ("fmod", np.fmod), ("hypot", np.hypot)]
)
def test_special_pairs_are_those_of_the_mathematical_library(name, ours):
    x, y = pairs([*SPECIAL, 3.0, -3.0, 2.5, 1e17, -7.25])
    with np.errstate(all="ignore"):
        wanted = ours(x, y)
    found = on_lanes(two_operands(name), x, y)
    np.testing.assert_allclose(found, wanted, rtol=9e-16, atol=0)
    zeros = wanted == 0
    assert np.signbit(found[zeros]).tolist() == np.signbit(wanted[zeros]).tolist()


@pytest.mark.parametrize(("name", "exact"), [("fmod", math.fmod), ("remainder", math.remainder)])
def test_remainders_are_exact(name, exact):
    generator = np.random.default_rng(3)
    x = np.ldexp(generator.uniform(-1, 1, 600), generator.integers(-300, 300, 600))
    y = np.ldexp(generator.uniform(-1, 1, 600), generator.integers(-300, 300, 600))
    x = np.concatenate([x, generator.uniform(-50, 50, 300), [1.5, 2.5, -1.5, 4.0, 1e300, 5e-324]])
    y = np.concatenate([y, generator.uniform(-3, 3, 300), [1.0, 1.0, 1.0, 2.0, 5e-324, 1e300]])
    wanted = [exact(a, b) for a, b in zip(x.tolist(), y.tolist())]
    assert on_lanes(two_operands(name), x, y).tolist() == wanted


def test_angles_and_lengths():
    generator = np.random.default_rng(4)
    x = generator.normal(size=600) * 10 ** generator.uniform(-8, 8, 600)
    y = generator.normal(size=600) * 10 ** generator.uniform(-8, 8, 600)
    with mpmath.workprec(120):
        given = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), y.tolist())]
        assert ulps(on_lanes(two_operands("atan2"), x, y), [mpmath.atan2(a, b) for a, b in given]) <= 4
        assert ulps(on_lanes(two_operands("hypot"), x, y), [mpmath.hypot(a, b) for a, b in given]) <= 4


def test_conditions_and_choices_mean_what_they_mean_to_casadi():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    chosen = ca.if_else(ca.logic_and(x < y, ca.logic_not(x == 0)), ca.fmin(x, y), ca.fmax(x, y) + ca.sign(x))
    f = ca.Function("f", [x, y], [chosen + 3 * ca.floor(x) + ca.ceil(y) + ca.copysign(x, y) + ca.fabs(y) / 4])
    a, b = pairs([-2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 7.5, 1e10])
    wanted = np.array([float(f(p, q)) for p, q in zip(a, b)])
    np.testing.assert_allclose(on_lanes(f, a, b), wanted, rtol=1e-15)


def test_every_width_gives_the_same_bits():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    f = ca.Function("f", [x, y], [ca.sin(x) * ca.exp(y / 3) + ca.log(y * y) ** 3 - ca.atan2(x, y) + x**y])
    a, b = drawn(0.1, 40.0)[:601], drawn(-5.0, 5.0)[:601]
    one = on_lanes(f, a, b, lanes=1)
    for lanes in (2, 4, 8):
        assert on_lanes(f, a, b, lanes=lanes).tobytes() == one.tobytes()


def test_what_lanes_do_not_have_is_named():
    x = ca.SX.sym("x")
    with pytest.raises(UnknownOperationError, match="erfinv"):
        check_known(read_instructions(ca.Function("f", [x], [ca.erfinv(x)])))


def test_divisors_are_inverted_once_but_in_strict_code():
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p")
    length = ca.sqrt(ca.sumsqr(x))
    rows = read_instructions(ca.Function("f", [x, p], [x / length, x[0] / 3.0 + x[1] / (1 + p**2)]))

    def divisions(strict, part=NOTHING_FIXED, fixed=()):
        w = LaneText(LaneModule(8, strict=strict))
        written_formulas(w, rows, [["%a", "%b", "%c"], ["%p"]], part, fixed)
        return sum(" = fdiv " in line for line in w.whole_text())

    # One for x / length, one for 1 + p²; 3 is a constant.
    assert (divisions(strict=False), divisions(strict=True)) == (2, 5)
    # What follows from p alone is computed elsewhere, with its inverse.
    part = fixed_part(rows, of_p)
    assert (len(part.values), len(part.inverses)) == (0, 1)
    assert divisions(False, part, ["%i"]) == 1
    kept = fixed_part(rows, of_p, strict=True)
    assert (len(kept.values), len(kept.inverses)) == (1, 0)
    assert divisions(True, kept, ["%v"]) == 5


def of_p(argument, place):
    """What stays of the arguments (x, p)."""
    return argument == 1


def test_fixed_parts_give_what_the_whole_formulas_give():
    x, p = ca.SX.sym("x"), ca.SX.sym("p", 2)
    rows = read_instructions(ca.Function("f", [x, p], [x / p[0] + ca.sin(p[1]) * x - ca.exp(p[0]) / (x + p[1])]))
    part = fixed_part(rows, of_p)
    module = LaneModule(1)
    w = LaneText(module)
    places = [w.line(f"getelementptr double, ptr %in, i64 {k}") for k in range(3)]
    given = [w.line(f"load double, ptr {place}") for place in places]
    fixed = written_fixed(w, rows, {1: given[1:]}, part)
    ((result,),) = written_formulas(w, rows, [given[:1], given[1:]], part, fixed)
    w.raw(f"store double {result}, ptr %result")
    head = f"define void @{ENTRY}(ptr %in, ptr %result) #0 {{"
    code = kernel_code(module.text([head, *w.whole_text(), "ret void", "}"]))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    values, found = np.array([0.7, 1.3, -2.1]), np.empty(1)
    call(values.ctypes.data, found.ctypes.data)
    exact = 0.7 / 1.3 + math.sin(-2.1) * 0.7 - math.exp(1.3) / (0.7 - 2.1)
    assert found[0] == pytest.approx(exact, rel=1e-15)


def test_rough_functions_are_as_good_as_they_say():
    """What lengths of steps are found by, over all sizes and densely between two powers of two."""
    sizes = np.concatenate([np.linspace(1.0, 2.0, 4001), 10.0 ** np.linspace(-290, 290, 1001)])
    inverse = written_on_lanes(lambda w, a: elementary.rough_inverse(w, a[0]), sizes)
    assert np.abs(inverse * sizes - 1).max() < 4e-6
    logarithm = written_on_lanes(lambda w, a: elementary.rough_log(w, a[0]), sizes)
    assert np.abs(logarithm - np.log(sizes)).max() < 2e-6
    exponents = np.linspace(-690.0, 690.0, 5001)
    power = written_on_lanes(lambda w, a: elementary.rough_exp(w, a[0]), exponents)
    assert np.abs(power / np.exp(exponents) - 1).max() < 2e-7


A, B, C, D, E = (ca.SX.sym(letter) for letter in "abcde")


@pytest.mark.parametrize(("formula", "operations"), [
    (C - (A * B - D * E), 2),
    (C - (A * B + D * E), 2),
    (C + (A * B - D * E), 2),
    ((A * B - D * E) - C, 2),
    ((A * B + D**2) - C, 2),
    ((A**2 - D * E) + C, 2),
    (C - 2 * A, 1),
    (2 * A - C, 1),
    (1 - 2 * (A**2 + B**2), 3),
    ((A * B - D * E) + (C * B - A * E), 4),
    (A * B + C * D + E * A, 3),
])  # fmt: skip
def test_products_in_sums_are_fused_with_their_signs(formula, operations):
    """Few operations, counted, and the value of NumPy to rounding."""
    function = ca.Function("f", [A, B, C, D, E], [formula])
    rows, module = read_instructions(function), LaneModule(1)
    w = LaneText(module)
    written_formulas(w, rows, [[f"%a{k}"] for k in range(5)])
    assert sum("fneg" not in line for line in w.whole_text()) == operations
    columns = np.random.default_rng(4).uniform(-2.0, 2.0, (5, 16))
    exact = np.array([float(function(*column)) for column in columns.T])
    np.testing.assert_allclose(on_lanes(function, *columns), exact, rtol=1e-12, atol=1e-14)


def test_normal_numbers_on_lanes_have_the_bits_of_the_core():
    """Words of the core's places, by Philox and the quantile on lanes of every width; and words far in the tails."""
    from daedalus.simulation.noise.wiener_path import normals, stream_of

    stream = np.array(stream_of("w"), np.uint64).astype(np.int64)
    places = np.arange(-200, 200) + 2**62
    for level, seed in ((0, 0), (-7, 3), (60, 2**52 + 1)):
        expected = normals([seed], "w", level, -200, 400)[0]

        def number(w, a, k, level=level, seed=seed):
            counter = w.integer("add", w.integer("lshr", w.as_int(a), w.whole_num(2)), w.whole_num(1))
            key = (w.whole_num(seed), w.whole_num(int(stream)))
            return normal_number(w, philox(w, (counter, w.whole_num(level)), key)[k])

        for k in range(4):
            for lanes in (1, lane_width()) if k == level % 4 else ():
                mine = places[places % 4 == k]
                found = written_on_lanes(lambda w, a, k=k: number(w, a[0], k), mine.view(float), lanes=lanes)
                np.testing.assert_array_equal(found, expected[places % 4 == k])


def test_normal_numbers_on_lanes_are_right_in_their_tails():
    from scipy.special import ndtri

    upper = np.concatenate([2 ** np.arange(52), 2**53 - 1 - 2 ** np.arange(52)]).astype(np.uint64)
    found = written_on_lanes(lambda w, a: normal_number(w, w.as_int(a[0])), (upper << np.uint64(11)).view(float))
    expected = ndtri((upper.astype(float) + 0.5) * 2.0**-53)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_numbers_of_several_words_have_the_bits_of_single_ones(share):
    """Lanes that need the formula of the tails, packed side by side: none of them, a few, and all."""
    generator = np.random.default_rng(5)
    tails = generator.random((4, 200)) < share
    upper = np.where(tails, 2**40 * generator.random((4, 200)), 2**52 * (0.9 + 0.2 * generator.random((4, 200))))
    columns = (upper.astype(np.uint64) << np.uint64(11)).view(float)

    def alike(w, numbers):
        words = [w.as_int(a) for a in numbers]
        both = zip(normal_numbers(w, words), [normal_number(w, word) for word in words])
        found = w.num(0.0)
        for beside, one in both:
            found = w.add(found, w.choose(w.compare("oeq", beside, one), w.num(1.0), w.num(0.0)))
        return found

    assert np.all(written_on_lanes(alike, *columns) == len(columns))
