"""How implicit steps solve linear systems: the same answers each way, told in words, and refusals."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import _core
from daedalus.simulation.result.records_of_methods import LinearSystems


def reaction(side=12):
    m = dd.Model("reaction")
    x = (np.arange(side) + 0.5) / side
    u = m.state("u", (side, side), start=1 + np.outer(np.sin(2 * np.pi * x), np.cos(2 * np.pi * x)))
    v = m.state("v", (side, side), start=np.full((side, side), 3.0))
    m.equation(m.der(u), 1 + u**2 * v - 4.4 * u + 0.02 * dd.laplacian(u, 1 / side))
    m.equation(m.der(v), 3.4 * u - u**2 * v + 0.02 * dd.laplacian(v, 1 / side))
    return m


def linear_systems(tr):
    return [record for record in tr.records if isinstance(record, LinearSystems)]


@pytest.mark.parametrize("method", ["bdf", "radau5", "rodas5p", "implicit_euler", "trapezoidal"])
def test_every_way_gives_the_same_answer(method):
    way = {"step": 0.05} if method in ("implicit_euler", "trapezoidal") else {"rtol": 1e-7, "atol": 1e-9}
    ends = {}
    for linear in ("dense", "sparse", "krylov"):
        tr = dd.simulate(reaction(6), 0.5, method=method, linear=linear, save_at=[0.5], **way)
        assert tr.success
        assert ("GMRES" in tr.work.linear) == (linear == "krylov")
        assert (linear in tr.work.linear) == (linear != "krylov")
        ends[linear] = tr["u"][-1]
    np.testing.assert_allclose(ends["sparse"], ends["dense"], rtol=1e-7)
    np.testing.assert_allclose(ends["krylov"], ends["dense"], rtol=1e-6)


@pytest.mark.parametrize(("method", "order"), [("implicit_euler", 1), ("trapezoidal", 2), ("radau3", 3), ("radau5", 5)])
def test_orders_with_iterations(method, order):
    """Steps are halved: iterations do not cost the order."""
    m = dd.Model("rod")
    u = m.state("u", 8, start=np.sin(np.pi * (np.arange(8) + 0.5) / 8))
    m.equation(m.der(u), dd.laplacian(u, 1 / 8, ("dirichlet", 0.0)) * (1 + 0.1 * u))
    exact = dd.simulate(m, 0.1, method="radau9", rtol=1e-13, atol=1e-15, save_at=[0.1])["u"][-1]
    runs = [dd.simulate(m, 0.1, method=method, step=h, linear="krylov", save_at=[0.1])["u"][-1] for h in (0.02, 0.01)]
    errors = [np.abs(run - exact).max() for run in runs]
    assert errors[1] < 1e-9 or np.log2(errors[0] / errors[1]) > order - 0.35


def test_notes_tell_of_large_systems_only():
    small, large = reaction(4), reaction(16)
    assert not linear_systems(dd.simulate(small, 0.1, method="bdf"))
    tr = dd.simulate(large, 0.1, method="bdf")
    (record,) = linear_systems(tr)
    assert str(record) == f"linear systems: {tr.work.linear}"
    assert (record.form, record.orderings) == ("sparse", 1)
    assert dd.simulate(small, 0.1, method="dop853").work.linear == ""


def test_counts_add_up_and_are_kept(tmp_path):
    tr = dd.simulate(reaction(4), 0.2, method="bdf", linear="krylov")
    tr.save(tmp_path / "run.nc")
    loaded = dd.load(tmp_path / "run.nc")
    assert loaded.work == tr.work
    assert loaded.notes == tr.notes
    both = tr.work + loaded.work
    assert (both.steps, both.linear) == (2 * tr.work.steps, tr.work.linear)


def test_iterations_that_go_nowhere_fall_back_to_factors():
    """A saddle point has no incomplete factors: the answer comes from full ones, and the notes say so."""
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * (m.rate(q)[0] ** 2 + m.rate(q)[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    runs = [dd.simulate(m, 1.0, method="radau5", linear=way, save_at=[1.0]) for way in ("sparse", "krylov")]
    np.testing.assert_allclose(runs[1]["q"], runs[0]["q"], atol=1e-6)
    assert "stopped converging" in runs[1].work.linear


def krylov(matrix):
    n = len(matrix)
    columns = [np.flatnonzero(matrix[:, c]) for c in range(n)]
    solver = _core.LinearSolver(
        n,
        [0, *np.cumsum([len(c) for c in columns]).tolist()],
        np.concatenate(columns).tolist(),
        np.iscomplexobj(matrix),
        "krylov",
    )
    return solver, np.concatenate([matrix[rows, c] for c, rows in enumerate(columns)])


@pytest.mark.parametrize("turn", [1.0, 1 + 2j])
def test_gmres_solves_grids(turn):
    generator = np.random.default_rng(4)
    n = 200
    matrix = turn * (np.diag(np.full(n, 2.1)) + np.diag(np.full(n - 1, -1.0), 1) + np.diag(np.full(n - 1, -1.0), -1))
    matrix[np.arange(0, n - 20), np.arange(20, n)] = -0.05
    matrix *= 10.0 ** generator.uniform(-4, 4, n)[:, None]
    solver, values = krylov(matrix)
    assert solver.factor(values)
    b = matrix @ generator.normal(size=n)
    x = solver.solve(b)
    assert np.abs((matrix @ x - b) / np.abs(matrix).max(axis=1)).max() < 1e-7
    assert 0 < solver.iterations < 100
    assert not solver.gave_up


def test_a_pattern_without_a_diagonal_is_factored():
    matrix = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 3.0]])
    matrix = np.kron(np.eye(8), matrix)
    solver, values = krylov(matrix)
    assert solver.factor(values)
    b = np.arange(24.0)
    np.testing.assert_allclose(matrix @ solver.solve(b), b, atol=1e-12)
    assert solver.gave_up


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"linear": "magic"}, "linear= is not known"),
        ({"linear": 3}, "linear= is not known"),
        ({"linear": "sparse", "preconditioner": "ilu"}, "preconditioner does nothing"),
        ({"linear": "krylov", "preconditioner": "amg"}, "preconditioner does not exist"),
    ],
)
def test_mistakes_are_named(options, text):
    with pytest.raises(dd.InputError, match=text):
        dd.simulate(reaction(4), 0.1, method="bdf", **options)
    with pytest.raises(dd.InputError, match=text):
        dd.prepare(reaction(4), 0.1, method="bdf", **options)
