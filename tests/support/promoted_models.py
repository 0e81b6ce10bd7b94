"""Small models in which a reduction makes states of algebraic variables or of derivatives."""

import casadi as ca

import daedalus as dd


def bent_store():
    """w' = -k y with w = y + y³/2, and s' = f, s = y, which makes a state of y; reset to y = 1 at y = 0.5."""
    m = dd.Model("bent store")
    w, s = m.state("w", start=1.5), m.state("s", start=1.0)
    y, f, k = m.algebraic("y", start=1.0), m.algebraic("f"), m.parameter("k", 1.0)
    m.equation(m.der(w), -k * y)
    m.equation(w, y + y**3 / 2)
    m.equation(m.der(s), f)
    m.equation(s, y)
    m.event("refill", w - 0.5625, direction=-1, reset={"w": 1.5, "s": 1.0})
    return m


def shifted_decay():
    """x' = r with r = -2x, and s' = f, s = r: x = exp(-2t)."""
    m = dd.Model("shifted decay")
    x, s = m.state("x", start=1.0), m.state("s")
    r, f = m.algebraic("r"), m.algebraic("f")
    m.equation(m.der(x), r)
    m.equation(r, -2 * x)
    m.equation(m.der(s), f)
    m.equation(s, r)
    return m


def shared_store(**reset):
    """w = 2 y + q with w' = -w, q' = 0, and s' = f, s = y; at w = 1/2 what is named is reset."""
    m = dd.Model("shared store")
    w, q, s = m.state("w", start=1.0), m.state("q", start=0.1), m.state("s")
    y, f = m.algebraic("y"), m.algebraic("f")
    m.equation(m.der(w), -w, name="decay")
    m.equation(m.der(q), 0 * q)
    m.equation(w, 2 * y + q, name="shares")
    m.equation(m.der(s), f)
    m.equation(s, y, name="copy")
    m.event("share", w - 0.5, direction=-1, reset=reset)
    return m


def summed_decays():
    """a' = -a and b' = -b, of which the sum of multiples is written, with s' = v, v' = f, s = a."""
    m = dd.Model("summed decays")
    a, b, s, v = m.state("a", start=1.0), m.state("b", start=2.0), m.state("s"), m.state("v")
    f = m.algebraic("f")
    m.equation(4 * (m.der(a) + a) + 0.3 * (m.der(b) + b), 0)
    m.equation(m.der(b) + b, 0)
    m.equation(m.der(s), v)
    m.equation(m.der(v), f)
    m.equation(s, a)
    return m


def driven_copy(bent):
    """x' = -x, sinh(r) = x + u (or r = x + u), and s' = f, s = r: the input is differentiated."""
    m = dd.Model("driven copy")
    x, s, u = m.state("x", start=1.0), m.state("s"), m.input("u")
    r, f = m.algebraic("r"), m.algebraic("f")
    m.equation(m.der(x), -x)
    m.equation(ca.sinh(r) if bent else r, x + u)
    m.equation(m.der(s), f)
    m.equation(s, r)
    return m
