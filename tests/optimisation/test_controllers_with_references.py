"""Controllers with references in time, final costs and saturated inputs, against least squares with bounds."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import lsq_linear

import daedalus as dd

INTERVALS, STEP, PARTS = 12, 0.1, 16


class Follower:
    """x' = A x + B u, whose first state follows a sine: (x - r)ᵀ Q (x - r) + R u² along the way, P at the end."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.n = n = int(random.integers(2, 4))
        matrix = random.normal(size=(n, n))
        self.a, self.b = matrix / (1.5 * np.abs(np.linalg.eigvals(matrix)).max()), random.normal(size=(n, 1))
        self.q, self.r = random.uniform(0.2, 3.0, n), random.uniform(0.05, 1.0)
        self.root = random.normal(size=(n, n))
        self.most, self.rate, self.start = random.uniform(0.3, 2.0), random.uniform(1.0, 4.0), random.normal(size=n) / 2

    def controller(self, mode: str) -> dd.Controller:
        m = dd.Model("follower")
        x, u = m.state("x", self.n, start=np.zeros(self.n)), m.input("u")
        m.equation(m.der(x), ca.DM(self.a) @ x + ca.DM(self.b) * u)
        off = x - ca.vertcat(0.5 * ca.sin(self.rate * m.time), ca.SX.zeros(self.n - 1))
        ocp = dd.OptimalControl(m, INTERVALS * STEP, INTERVALS)
        ocp.bound(u, -self.most, self.most)
        end = ca.DM(self.root) @ off
        ocp.minimise(running=ca.sum1(ca.DM(self.q) * off**2) + self.r * u**2, final=ca.sumsqr(end))
        return dd.Controller(ocp, every=STEP, mode=mode)

    def moved(self, duration: float) -> tuple[np.ndarray, np.ndarray]:
        """How a state, and a held input, move it."""
        n = self.n
        both = expm(np.block([[self.a, self.b], [np.zeros((1, n + 1))]]) * duration)
        return both[:n, :n], both[:n, n]

    def reference(self, time: float) -> np.ndarray:
        return np.concatenate([[0.5 * np.sin(self.rate * time)], np.zeros(self.n - 1)])

    def best(self, start: np.ndarray, time: float) -> float:
        """The first of the inputs that are best from a state on; costs by the midpoint rule on parts of intervals."""
        x, slope, rows, sides = start, np.zeros((self.n, INTERVALS)), [], []
        half, by_half = self.moved(STEP / PARTS / 2)
        for k in range(INTERVALS):
            for part in range(2 * PARTS):
                x, slope = half @ x, half @ slope
                slope[:, k] += by_half
                if part % 2 == 0:
                    root = np.sqrt(STEP / PARTS * self.q)
                    at = time + k * STEP + (part + 1) * STEP / PARTS / 2
                    rows.append(root[:, None] * slope)
                    sides.append(root * (self.reference(at) - x))
        rows += [np.sqrt(STEP * self.r) * np.eye(INTERVALS), self.root @ slope]
        sides += [np.zeros(INTERVALS), self.root @ (self.reference(time + INTERVALS * STEP) - x)]
        found = lsq_linear(np.vstack(rows), np.concatenate(sides), bounds=(-self.most, self.most), tol=1e-12)
        return float(found.x[0])


@pytest.mark.parametrize("mode", ["real_time", "full"])
@pytest.mark.parametrize("seed", [0, 2, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(3, 13))])
def test_references_final_costs_and_saturation(seed, mode):
    plant = Follower(seed)
    controller, x, time = plant.controller(mode), plant.start, 0.0
    controller(x, t=time)  # real-time steps begin at a solution
    for _ in range(4):
        u = float(np.ravel(controller(x, t=time))[0])
        assert u == pytest.approx(plant.best(x, time), abs=2e-4 * plant.most)
        state, by_input = plant.moved(STEP)
        x, time = state @ x + by_input * u, time + STEP
