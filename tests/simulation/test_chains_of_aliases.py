"""A chain of unknowns that equal each other is read and solved in work that grows with its length."""

import sys

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

# Where long expressions could be gone through once for every link.
LOOKS = ("vertcat", "substitute", "jacobian", "jtimes", "which_depends", "depends_on", "symvar", "jacobian_sparsity")


def forward(links):
    m = dd.Model("chain")
    x, z = m.state("x", start=1.0), [m.algebraic(f"z{k}") for k in range(links)]
    m.equation(z[0], x)
    for one, other in zip(z[1:], z):
        m.equation(one, other)
    m.equation(m.der(x), -z[-1])
    return m


def backward(links):
    m = dd.Model("chain")
    x, z = m.state("x", start=1.0), [m.algebraic(f"z{k}") for k in range(links)]
    m.equation(m.der(x), -z[-1])
    for one, other in zip(z[1:], z):
        m.equation(0, one - other)
    m.equation(z[0] - x)
    return m


def scaled(links):
    m = dd.Model("chain")
    x, z = m.state("x", start=1.0), [m.algebraic(f"z{k}") for k in range(links)]
    m.equation(z[0], x)
    for one, other in zip(z[1:], z):
        m.equation(one, 0.5 * other + 0.5 * x)
    m.equation(m.der(x), -z[-1])
    return m


def work_of(write, links, monkeypatch):
    """Calls of Python and C functions from the first line of the model to the end of a run, and entries looked at."""
    calls, entries = [0], [0]

    def looking(name):
        own = getattr(ca, name)

        def look(*arguments):
            entries[0] += sum(e.numel() for e in arguments if isinstance(e, ca.SX))
            return own(*arguments)

        return look

    for name in LOOKS:
        monkeypatch.setattr(ca, name, looking(name))
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: calls.__setitem__(0, calls[0] + (event in ("call", "c_call"))))
    try:
        tr = dd.simulate(write(links), 1.0, method="rk4", step=0.25, save_at=[1.0])
    finally:
        sys.setprofile(before)
        monkeypatch.undo()
    np.testing.assert_allclose(tr["x"][-1], np.exp(-1), rtol=1e-3)
    return calls[0], entries[0]


@pytest.mark.parametrize(
    ("write", "sizes"),
    [
        (forward, (60, 120, 240)),
        (backward, (60, 120, 240)),
        (scaled, (60, 120, 240)),
        pytest.param(forward, (1250, 2500, 5000), marks=pytest.mark.wide),
        pytest.param(scaled, (600, 1200, 2400), marks=pytest.mark.wide),
    ],
)
def test_work_grows_with_the_length_of_the_chain(write, sizes, monkeypatch):
    work_of(write, 20, monkeypatch)  # modules are read once
    found = np.array([work_of(write, links, monkeypatch) for links in sizes])
    further = np.diff(found, axis=0) / np.diff(sizes)[:, None]
    # A link more costs the same in a long chain: a fifth more at most where the length doubles.
    assert np.all(further[1] <= 1.2 * further[0]), further
