"""Models that the tests of reduction share, and the residual of an original along the run of its reduced form."""

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from hypothesis import strategies as st

import daedalus as dd

GRAVITY = 9.81


def pendulum(start=(1.0, 0.0), rate=(0.0, 0.0)):
    """A planar pendulum of length and mass 1 in Cartesian coordinates, from energies: index 3."""
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=start, rate=rate, unit="m")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(GRAVITY * p[1])
    m.constraint("rod", ca.sumsqr(p) - 1)
    return m


def first_order_pendulum():
    """The same pendulum by equations of first order."""
    m = dd.Model("first order")
    p, v, pull = m.state("p", 2, start=[1, 0]), m.state("v", 2, start=[0, 0]), m.algebraic("pull")
    m.equation(m.der(p), v, name="rates")
    m.equation(m.der(v), [2 * p[0] * pull, 2 * p[1] * pull - GRAVITY], name="motion")
    m.equation(ca.sumsqr(p), 1, name="length")
    return m


def angle_of_pendulum(span, **options):
    """Position and rod force over time from the angle alone, a second way of computing."""
    m = dd.Model("by angle")
    a = m.coordinate("a", start=0.0, rate=0.0)
    m.kinetic_energy(0.5 * m.rate(a) ** 2)
    m.potential_energy(GRAVITY * ca.sin(a))
    # Tension along the rod: a'^2 + ... ; with +Gᵀλ, G = 2 p: 2 λ = -(a'^2 - g sin a).
    m.output("multiplier", -0.5 * (m.rate(a) ** 2 - GRAVITY * ca.sin(a)))
    tr = dd.simulate(m, span, **options)
    return np.column_stack([np.cos(tr["a"]), np.sin(tr["a"])]), tr["multiplier"]


def chain(inputs=True):
    """x2' = x1, x3' = x2, x3 = u in separate variables: nilpotent of index 3."""
    m = dd.Model("chain")
    x1, x2, x3 = (m.state(f"x{k}") for k in (1, 2, 3))
    drive = m.input("u") if inputs else ca.sin(m.time)
    m.equation([m.der(x2) - x1, m.der(x3) - x2, x3 - drive], name="chain")
    return m


def residual_along(model, tr):
    """The largest residual of each equation of a model along a run of its reduced form."""
    system = model.freeze()
    used = {s.element_hash() for s in ca.symvar(system.residual)}
    columns = {}
    for letter in ("xdot", "x", "z"):
        symbols = system.symbol(letter).elements() if system.sizes[letter] else []
        columns[letter] = [
            tr[name] if symbol.element_hash() in used or letter != "xdot" else np.zeros(len(tr.time))
            for name, symbol in zip(system.labels[letter], symbols)
        ]
    p = system.start["p"]
    worst = np.zeros(len(system.equation_labels))
    for k, t in enumerate(tr.time):
        vectors = [np.array([c[k] for c in columns[letter]]) for letter in ("xdot", "x", "z")]
        worst = np.maximum(worst, np.abs(system.function(t, *vectors, [], p).full().ravel()))
    return dict(zip(system.equation_labels, worst))


def text_of(call, kind):
    """The text of the error that a call raises."""
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, kind)
    return str(caught.value)


@st.composite
def kronecker(draw):
    """P diag(I, N) Q x' = P diag(J, I) Q x with random regular P, Q: index = size of the largest block of N."""
    finite = draw(st.integers(1, 2))
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    J, N = rng.uniform(-1, 1, (finite, finite)), scipy.linalg.block_diag(*(np.eye(s, k=1) for s in sizes))
    n = finite + len(N)
    P, Q = (scipy.linalg.qr(rng.standard_normal((n, n)))[0] @ np.diag(rng.uniform(0.5, 2, n)) for _ in range(2))
    E = P @ scipy.linalg.block_diag(np.eye(finite), N) @ Q
    A = P @ scipy.linalg.block_diag(J, np.eye(len(N))) @ Q
    y = rng.uniform(-1, 1, finite)
    return E, A, lambda t: np.linalg.solve(Q, np.concatenate([scipy.linalg.expm(J * t) @ y, np.zeros(len(N))])), finite
