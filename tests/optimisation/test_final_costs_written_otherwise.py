"""Linear-quadratic controllers whose final cost is written in other ways, with cross terms, references and bounds.

The reference is the same problem with the integrals over each interval in closed form (C. F. Van Loan, IEEE Trans.
Automatic Control 23, 1978), as a quadratic program of the inputs alone.
"""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import cholesky, expm
from scipy.optimize import lsq_linear

import daedalus as dd

EVERY = 0.1


class LinearQuadratic:
    """x' = A x + B u with e = x - r: eᵀQe + uᵀRu + 2 eᵀSu along the way and eᵀPe at the end, |u| within a limit."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.n, self.inputs, self.count = (int(draw.integers(*limits)) for limits in ((1, 4), (1, 3), (4, 10)))
        n, m = self.n, self.inputs
        self.a, self.b = draw.normal(size=(n, n)), draw.normal(size=(n, m))
        root = draw.normal(size=(n + m, n + m))
        self.weight = root @ root.T + 0.1 * np.eye(n + m)
        root = draw.normal(size=(n, n))
        self.final = root @ root.T + 1e-3 * np.eye(n)
        self.target = draw.normal(size=n) * (draw.random() < 0.5)
        self.limit = float(draw.uniform(0.3, 1.5)) if draw.random() < 0.5 else 1e3
        self.begin = draw.normal(size=n)

    def final_costs(self, x: ca.SX) -> dict[str, ca.SX]:
        """The same final cost, up to a constant, as several users would write it."""
        e, p = x - ca.DM(self.target), ca.DM(self.final)
        pairs = [(i, j) for i in range(self.n) for j in range(self.n)]
        return {
            "matrices": e.T @ p @ e,
            "bilin": ca.bilin(p, e, e),
            "squares": ca.sumsqr(ca.mtimes(ca.DM(cholesky(self.final)), e)),
            "sum": sum((float(self.final[i, j]) * e[i] * e[j] for i, j in pairs), ca.SX(0)),
            "expanded": ca.bilin(p, x, x) - 2 * ca.mtimes(ca.DM(self.final @ self.target).T, x),
        }

    def controller(self, form: str) -> dd.Controller:
        m = dd.Model("linear")
        x, u = m.state("x", self.n, start=np.zeros(self.n)), m.input("u", self.inputs)
        m.equation(m.der(x), ca.mtimes(ca.DM(self.a), x) + ca.mtimes(ca.DM(self.b), u))
        ocp = dd.OptimalControl(m, self.count * EVERY, self.count)
        ocp.start()
        both = ca.vertcat(x - ca.DM(self.target), u)
        ocp.minimise(running=ca.bilin(ca.DM(self.weight), both, both), final=self.final_costs(x)[form])
        ocp.bound("u", -self.limit, self.limit)
        return dd.Controller(ocp, every=EVERY)

    def first_input(self) -> np.ndarray:
        """What is right to do first."""
        n, m, steps = self.n, self.inputs, self.count
        # With the constant 1 as a further state: (e, 1, u).
        size = n + 1 + m
        rates, weight = np.zeros((size, size)), np.zeros((size, size))
        rates[:n, :n], rates[:n, n], rates[:n, n + 1 :] = self.a, self.a @ self.target, self.b
        use = [*range(n), *range(n + 1, size)]
        weight[np.ix_(use, use)] = self.weight
        found = expm(EVERY * np.block([[-rates.T, weight], [np.zeros_like(rates), rates]]))
        step, cost = found[size:, size:], found[size:, size:].T @ found[:size, size:]
        root = np.linalg.cholesky((cost + cost.T) / 2 + 1e-15 * np.eye(size)).T
        # All states as a matrix of the inputs and a constant; the cost is a sum of squares.
        state = np.zeros((n + 1, steps * m + 1))
        state[:, -1] = [*(self.begin - self.target), 1.0]
        rows = []
        for k in range(steps):
            own = np.zeros((m, steps * m + 1))
            own[:, k * m : (k + 1) * m] = np.eye(m)
            both = np.vstack([state, own])
            rows.append(root @ both)
            state = step[: n + 1] @ both
        rows.append(cholesky(self.final) @ state[:n])
        rows = np.vstack(rows)
        found = lsq_linear(rows[:, :-1], -rows[:, -1], (-self.limit, self.limit), method="bvls", tol=1e-14)
        return np.asarray(found.x[:m])


@pytest.mark.parametrize(
    ("seed", "form"), list(enumerate(["matrices", "bilin", "squares", "sum", "expanded", "matrices"]))
)
def test_final_costs_written_otherwise_are_the_same(seed, form):
    own = LinearQuadratic(seed)
    right = own.first_input()
    found = own.controller(form)(own.begin, t=0.0)
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-4 * max(1.0, np.abs(right).max()))


@pytest.mark.wide
def test_many_final_costs():
    for seed in range(100, 130):
        own = LinearQuadratic(seed)
        right = own.first_input()
        for form in ("matrices", "bilin", "expanded"):
            found = own.controller(form)(own.begin, t=0.0)
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-4 * max(1.0, np.abs(right).max()), err_msg=form)
