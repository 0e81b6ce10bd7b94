"""Large systems by CVODE (scikit-sundae): CPU seconds of a run with a sparse or banded factorisation, and with GMRES
preconditioned by algebraic multigrid (pyamg, smoothed aggregation, on the diffusion of each substance)."""

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

MOST_STEPS, DIRECTIONS = 100_000, 30


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: seconds, and the values at the end. Options: part "brusselator" (side; way "direct" or "multigrid"),
    "heat" (cells) or "ladder" (cells; way "Adams" or "BDF")."""
    run = {"heat": heat, "ladder": ladder, "brusselator": brusselator}[options["part"]]
    # Repeated runs of ours are beside it: what is imported once is no part of it.
    _cvode()
    if options.get("way") == "multigrid":
        import pyamg  # noqa: F401
    begin = process_time()
    end = run(options)
    yield {"seconds": process_time() - begin, "sum": float(np.sum(end))}


def heat(options: dict[str, Any]) -> np.ndarray:
    """A rod with cold ends, with a band of three diagonals."""
    n = options["cells"]
    start = np.sin(np.pi * (np.arange(n) + 0.5) / n)

    def rates(t: float, y: Any, out: Any) -> None:
        out[1:-1] = y[:-2] - 2 * y[1:-1] + y[2:]
        out[0], out[-1] = y[1] - 3 * y[0], y[-2] - 3 * y[-1]
        out *= n**2

    way = {"linsolver": "band", "lband": 1, "uband": 1, "max_num_steps": MOST_STEPS}
    return finished(_cvode()(rates, rtol=1e-6, atol=1e-9, **way).solve(np.array([0.0, 0.1]), start))


def ladder(options: dict[str, Any]) -> np.ndarray:
    """A ladder of resistors, coils and capacitors, cell by cell: a band of three diagonals."""

    def rates(t: float, y: Any, out: Any) -> None:
        current, voltage = y[0::2], y[1::2]
        out[0::2] = -current - voltage
        out[0] += 1.0
        out[2::2] += voltage[:-1]
        out[0::2] /= 1e-3
        out[1::2] = current
        out[1:-1:2] -= current[1:]
        out[1::2] /= 1e-6

    way = {"method": options["way"], "linsolver": "band", "lband": 1, "uband": 1, "max_num_steps": MOST_STEPS}
    solver = _cvode()(rates, rtol=1e-6, atol=1e-9, **way)
    return finished(solver.solve(np.array([0.0, 1e-3]), np.zeros(2 * options["cells"])))


def brusselator(options: dict[str, Any]) -> np.ndarray:
    """The 2D Brusselator on a torus, in two parts: another term holds behind t = 1.1."""
    side = options["side"]
    places = np.arange(side) / side
    x, y = np.meshgrid(places, places, indexing="ij")
    line = sp.diags([1.0, 1.0, -2.0, 1.0, 1.0], [1 - side, -1, 0, 1, side - 1], shape=(side, side))
    one = sp.identity(side)
    spread = (10.0 * side**2 * (sp.kron(line, one) + sp.kron(one, line))).tocsr()
    inside = 5.0 * ((x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.01).ravel()
    row = np.concatenate([(22 * y * (1 - y) ** 1.5).ravel(), (27 * x * (1 - x) ** 1.5).ravel()])
    for begin, end, fed in ((0.0, 1.1, 0.0), (1.1, 11.5, inside)):
        way = multigrid(spread) if options["way"] == "multigrid" else direct(spread)
        limits = {"rtol": 1e-5, "atol": 1e-7, "max_num_steps": MOST_STEPS}
        row = finished(_cvode()(reaction(spread, fed), **limits, **way).solve(np.array([begin, end]), row))
    return row


def reaction(spread: Any, fed: Any) -> Any:
    """The right-hand side with what is fed."""
    n = spread.shape[0]

    def rates(t: float, w: Any, out: Any) -> None:
        u, v = w[:n], w[n:]
        grows = u * u * v
        out[:n] = 1 + grows - 4.4 * u + spread @ u + fed
        out[n:] = 3.4 * u - grows + spread @ v

    return rates


def _cvode() -> Any:
    from sksundae.cvode import CVODE

    return CVODE


def slopes_of(w: np.ndarray, spread: Any) -> Any:
    """df/d(u, v) in compressed columns, with one pattern for all values."""
    u, v = np.split(np.asarray(w), 2)
    blocks = [
        [spread + sp.diags(2 * u * v - 4.4), sp.diags(u * u)],
        [sp.diags(3.4 - 2 * u * v), spread - sp.diags(u * u)],
    ]
    found = sp.block_array(blocks, format="csc")
    found.sort_indices()
    return found


def direct(spread: Any) -> dict[str, Any]:
    """SuperLU_MT with the exact Jacobian."""
    pattern = slopes_of(np.random.default_rng(1).uniform(1, 2, 2 * spread.shape[0]), spread)

    def slopes(t: float, w: Any, rate: Any, out: Any) -> None:
        out[:] = slopes_of(w, spread).data

    return {"linsolver": "sparse", "sparsity": pattern, "jacfn": slopes}


def multigrid(spread: Any) -> dict[str, Any]:
    """GMRES whose preconditioner is one cycle on I - gamma times the diffusion, for each substance."""
    import pyamg
    from sksundae.cvode import CVODEPrecond

    n, levels = spread.shape[0], {}

    def prepare(t: float, w: Any, rate: Any, reuse: int, renewed: Any, gamma: float) -> None:
        renewed[0] = 0 if reuse else 1
        matrix = (sp.identity(n) - gamma * spread).tocsr()
        levels["now"] = pyamg.smoothed_aggregation_solver(matrix, max_coarse=50)

    def solve(t: float, w: Any, rate: Any, r: Any, z: Any, gamma: float, delta: float, side: int) -> None:
        for part in (slice(None, n), slice(n, None)):
            z[part] = levels["now"].solve(r[part], maxiter=1, tol=1e-14)

    return {"linsolver": "gmres", "krylov_dim": DIRECTIONS, "precond": CVODEPrecond(prepare, solve)}


def finished(found: Any) -> np.ndarray:
    """The last row of a run that reached its end."""
    if not found.success:
        raise RuntimeError(found.message)
    return np.asarray(found.y[-1]).copy()
