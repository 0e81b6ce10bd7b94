"""Right-hand sides in the styles that SciPy's users write, with whether each leaves a formula behind."""

import functools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, sin
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

MATRIX = np.array([[-0.5, 2.0, 0.0], [-2.0, -0.5, 0.3], [0.1, 0.0, -1.0]])
TABLE_TIMES = np.linspace(0.0, 5.0, 11)
TABLE_VALUES = np.cos(TABLE_TIMES)
LONG_TIMES = np.linspace(0.0, 5.0, 2001)
LONG_VALUES = np.cos(LONG_TIMES)
SETTINGS = {"mass": 1.5, "spring": [4.0, 0.2], "damping": 0.3}
CALLS = [0]
SWITCHES = {"mode": 1.0}
count_of_calls = 0


def unpacking(t, state):
    x, v = state
    return v, -x + 0.1 * np.cos(t)


def zeros_and_assignment(t, y):
    dy = np.zeros(2)
    dy[0] = y[1]
    dy[1] = -np.sin(y[0]) - 0.1 * y[1]
    return dy


def zeros_like_and_slices(t, y):
    dy = np.zeros_like(y)
    dy[1:-1] = y[:-2] - 2 * y[1:-1] + y[2:]
    dy[0], dy[-1] = y[1] - 2 * y[0], y[-2] - 2 * y[-1]
    return dy


def empty_and_loop(t, y):
    n = len(y)
    dy = np.empty(n)
    for i in range(n):
        dy[i] = -(i + 1) * y[i]
        for j in range(i):
            dy[i] += 0.1 * y[j]
    return dy


def math_module(t, y):
    return [y[1], -math.sin(y[0]) * math.exp(-0.1 * t) - math.fabs(y[1]) * y[1]]


def names_from_math(t, y):
    return [cos(t) * y[1], -(sin(y[0]) ** 3)]


def where(t, y):
    return np.where(y > 0.5, -y, -2 * y) + np.where(t > 1.0, 0.1, 0.0)


def if_else(t, y):
    if y[0] > 0.7:
        force = -1.0
    elif t > 2 and y[1] < 0:
        force = 0.5 * y[0]
    else:
        force = 0.0
    return [y[1], force - y[0]]


def conditional_expression(t, y):
    return [y[1], -9.81 if y[0] > 0 else -9.81 - 100 * y[0] - 5 * y[1]]


def max_and_min(t, y):
    return [y[1], -max(y[0], 0.2) - min(0.1, y[1]) * abs(y[1])]


def maximum_abs_sign_clip(t, y):
    return np.array([y[1], -np.maximum(y[0], 0.2) - 0.1 * np.sign(y[1]) * np.abs(y[1]) + np.clip(t - 1, 0, 0.3)])


def matrix_product(t, y):
    return MATRIX @ y + np.array([0.0, np.sin(t), 0.0])


def dot_and_concatenate(t, y):
    return np.concatenate([np.dot(MATRIX[:2], y), [-y[2] * y.sum()]])


def matrix_state(t, y):
    p = y.reshape(2, 2)
    a = np.array([[0.0, 1.0], [-1.0, -0.3]])
    return (a @ p + p @ a.T + np.eye(2) - p @ p).flatten()


def linear_solve(t, y):
    q, v = y[:2], y[2:]
    mass = np.array([[2.0 + np.cos(q[1]), 0.5], [0.5, 1.0 + 0.1 * q[0] ** 2]])
    return np.r_[v, np.linalg.solve(mass, [-np.sin(q[0]), -q[1]] - 0.1 * v)]


def comprehension_and_sum(t, y):
    total = sum(y)
    return [-k * v + 0.1 * (total - v) for k, v in enumerate(y, start=1)]


def helper_functions(t, y):
    return spring(y[0]) * np.array([0.0, 1.0]) + first(y)


def spring(x):
    force = np.zeros(1)
    force[0] = -math.tanh(x)
    return force[0]


def first(y):
    return np.array([y[1], -0.1 * y[1]])


def make_closure(k, damping):
    gains = {"k": k, "damping": np.array([damping, 0.0])}

    def closure(t, y):
        return np.array([y[1], -gains["k"] * y[0] - gains["damping"][0] * y[1]])

    return closure


def global_settings(t, y):
    m, (k, cubic) = SETTINGS["mass"], SETTINGS["spring"]
    return [y[1], -(k * y[0] + cubic * y[0] ** 3 + SETTINGS["damping"] * y[1]) / m]


def with_args(t, y, a, b, c, d):
    x, z = y
    return [a * x - b * x * z, -c * z + d * x * z]


def with_settings(t, y, p, matrix):
    return matrix @ y * p["rate"] + np.asarray(p["offset"])


def with_count(t, y, n, rate):
    total = 0.0
    for i in range(n):
        total = total + y[i % len(y)]
    return -rate * y + 0.01 * total


def keywords(t, y, *, k=2.0):
    return -k * y


def writes_into_y(t, y):
    y *= -0.5
    y[0] += 1.0
    return y


def works_on_a_copy(t, y):
    z = y.copy()
    z[z < 0] = 0.0
    z += 0.1 * t
    return -z


def piecewise_time(t, y):
    return -y * np.heaviside(t - 1, 0.5) + np.floor(t) % 2 * 0.1


def power_and_roots(t, y):
    return -(np.abs(y) ** 1.5) * np.sign(y) + np.sqrt(1 + t) - np.log1p(y**2) + np.hypot(y[0], y[1]) * 0.1


def imports_inside(t, y):
    from math import atan2

    import numpy as np

    return np.array([y[1], -atan2(y[0], 1.0)])


def float_calls(t, y):
    x, v = float(y[0]), float(y[1])
    return [v, -x]


def interpolation(t, y):
    return -y + np.interp(t, TABLE_TIMES, TABLE_VALUES)


def long_interpolation(t, y):
    return -y + np.interp(t, LONG_TIMES, LONG_VALUES)


def nested_scalars(t, y):
    return [np.array(y[1]), np.asarray(-y[0]).item() if False else -y[0]]


def one_unknown(t, y):
    return -(y[0] ** 2)


def casadi_functions(t, y):
    return [y[1], -ca.sin(y[0])]


def counts_its_calls(t, y):
    CALLS[0] += 1
    return -y


def counts_in_a_global(t, y):
    global count_of_calls
    count_of_calls += 1
    return -y


def remembers(t, y):
    if y[0] < 0.5:
        SWITCHES["mode"] = 2.0
    return -SWITCHES["mode"] * y


def random_but_harmless(t, y):
    return -y + 0.0 * random.random()


def numpy_random(t, y):
    return -y + 0.0 * np.random.standard_normal(2)  # noqa: NPY002


def prints_nothing(t, y):
    print(end="")
    return -y


def root_inside(t, y):
    z = 1.0
    while abs(z - np.cos(z) * y[0]) > 1e-12:
        z = z - (z - np.cos(z) * y[0]) / (1 + np.sin(z) * y[0])
    return [-z]


def library_function(t, y):
    from scipy.special import gamma

    return -y * gamma(2.0 + 0.1 * y)


def catches_errors(t, y):
    try:
        return [y[1], -math.sin(complex(y[0]).real)]
    except Exception:
        return [0.0, 0.0]


def index_by_value(t, y):
    return [-[1.0, 2.0, 3.0][int(t) % 3] * y[0]]


def raises_when_negative(t, y):
    if y[0] < -10:
        raise ValueError("too low")
    return -y


class Pendulum:
    def __init__(self, length):
        self.length = length
        self.g = 9.81

    def rhs(self, t, y):
        return [y[1], self.torque(y[0]) / self.length**2]

    def torque(self, angle):
        return -self.g * self.length * np.sin(angle)

    def __call__(self, t, y):
        return self.rhs(t, y)


@dataclass
class Style:
    name: str
    fun: Callable[..., Any]
    y0: list[float]
    traced: bool
    args: tuple[Any, ...] = ()
    t_end: float = 4.0
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 2e-6

    def __repr__(self) -> str:
        return self.name


def _named(fun, y0, traced=True, **rest):
    return Style(fun.__name__, fun, y0, traced, **rest)


STYLES = [
    _named(unpacking, [1.0, 0.0]),
    _named(zeros_and_assignment, [1.0, 0.0]),
    _named(zeros_like_and_slices, [0.0, 1.0, 0.5, 0.0]),
    _named(empty_and_loop, [1.0, 0.5, 2.0]),
    _named(math_module, [1.0, 0.2]),
    _named(names_from_math, [1.0, 0.2]),
    _named(where, [1.0, 0.2]),
    _named(if_else, [1.0, 0.2]),
    _named(conditional_expression, [1.0, 0.2], t_end=1.0),
    _named(max_and_min, [1.0, 0.2]),
    _named(maximum_abs_sign_clip, [1.0, 0.2]),
    _named(matrix_product, [1.0, 0.2, 0.5]),
    _named(dot_and_concatenate, [1.0, 0.2, 0.5]),
    _named(matrix_state, [1.0, 0.0, 0.0, 1.0]),
    _named(linear_solve, [1.0, 0.2, 0.0, 0.5]),
    _named(comprehension_and_sum, [1.0, 0.2, 0.5]),
    _named(helper_functions, [1.0, 0.2]),
    Style("closure", make_closure(4.0, 0.2), [1.0, 0.0], True),
    Style("lambda", lambda t, y: [y[1], -y[0]], [1.0, 0.0], True),
    Style("partial", functools.partial(keywords, k=0.5), [1.0, 0.3], True),
    Style("method", Pendulum(2.0).rhs, [0.5, 0.0], True),
    Style("callable object", Pendulum(2.0), [0.5, 0.0], True),
    _named(global_settings, [1.0, 0.2]),
    _named(with_args, [10.0, 5.0], args=(1.5, 1, 3, 1)),
    _named(with_settings, [1.0, 0.2, 0.5], args=({"rate": 0.5, "offset": [0.1, 0, 0.0]}, MATRIX)),
    _named(with_count, [1.0, 0.2, 0.5], args=(5, 0.5)),
    Style("namespace", lambda t, y, p: -p.rate * y, [1.0], True, args=(SimpleNamespace(rate=0.5),)),
    Style("vectorized", lambda t, y: np.vstack([y[1], -y[0]]), [1.0, 0.0], True, options={"vectorized": True}),
    _named(writes_into_y, [1.0, 0.2]),
    _named(works_on_a_copy, [1.0, 0.2]),
    _named(piecewise_time, [1.0, 0.2]),
    _named(power_and_roots, [1.0, 0.2]),
    _named(imports_inside, [1.0, 0.2]),
    _named(float_calls, [1.0, 0.2]),
    _named(interpolation, [1.0]),
    _named(nested_scalars, [1.0, 0.2]),
    _named(one_unknown, [1.0]),
    _named(casadi_functions, [1.0, 0.2]),
    _named(long_interpolation, [1.0], traced=False),
    _named(counts_its_calls, [1.0], traced=False),
    _named(counts_in_a_global, [1.0], traced=False),
    # When it switches depends on the steps that were tried, for SciPy too.
    _named(remembers, [1.0], traced=False, tolerance=0.05),
    _named(random_but_harmless, [1.0], traced=False),
    _named(numpy_random, [1.0, 2.0], traced=False),
    _named(prints_nothing, [1.0], traced=False),
    _named(root_inside, [1.0], traced=False),
    _named(library_function, [1.0], traced=False),
    _named(catches_errors, [1.0, 0.2], traced=False),
    _named(index_by_value, [1.0], traced=False),
    _named(raises_when_negative, [1.0], traced=False),
]
