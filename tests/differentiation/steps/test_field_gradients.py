"""Gradients of fields by very many parameters: the work they take, what they store, and that they are right."""

import casadi as ca
import numpy as np
import pytest
from benchmarks.measurements import large

import daedalus as dd
from daedalus.differentiation.steps import adjoint, discrete, residual_pullback, segments, sparse_adjoint, stage_systems
from daedalus.differentiation.steps.stages_of_run import stages_of_run
from daedalus.simulation.between.dense import Dense

FINAL, RUNNING = "final", "running"


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")


def plate(side=12):
    """Diffusion with a coefficient of its own in every cell of a plate, and a loss that is not linear."""
    m, h = dd.Model("plate"), 1.0 / side
    X, Y = np.meshgrid((np.arange(side) + 0.5) * h, (np.arange(side) + 0.5) * h, indexing="ij")
    u = m.state("u", (side, side), start=np.exp(-20 * ((X - 0.4) ** 2 + (Y - 0.6) ** 2)))
    k = m.parameter("k", 0.02 + 0.01 * np.sin(6 * X) * np.cos(5 * Y))
    total = -(u**3)
    for axis in (0, 1):
        flux = (np.roll(u, -1, axis) - u) * (np.roll(k, -1, axis) + k) * (0.5 / h**2)
        total = total + flux - np.roll(flux, 1, axis)
    m.equation(m.der(u), total)
    return m, ca.sumsqr(m["u"]), "k"


def rod(cells=150):
    """Heat along a rod with a source in every cell."""
    m, h = dd.Model("rod"), 1.0 / cells
    T = m.state("T", cells, start=np.sin(np.pi * (np.arange(cells) + 0.5) * h))
    s = m.parameter("s", np.linspace(0.0, 1.0, cells))
    left, right = ca.vertcat(-T[0], T[:-1]), ca.vertcat(T[1:], -T[-1])
    m.equation(m.der(T), 0.05 * (left - 2 * T + right) / h**2 + s * ca.exp(-T))
    return m, ca.sumsqr(m["T"]), "s"


def heated_rod(cells=150):
    """A rod whose end is heated by a controller with a state of its own."""
    m, h = dd.Model("heated_rod"), 1.0 / cells
    T, heat = m.state("T", cells, start=0.0), m.state("heat", start=0.0)
    a = m.parameter("a", np.full(cells, 0.05))
    m.equation(m.der(heat), 5.0 * (1.0 - T[cells // 4]) - heat)
    left, right = ca.vertcat(T[0] + h * heat, T[:-1]), ca.vertcat(T[1:], T[-1])
    m.equation(m.der(T), a * (left - 2 * T + right) / h**2)
    return m, m["T"][cells // 2] ** 2 + m["heat"], "a"


def cells_with_equilibrium(cells=150):
    """A field with an algebraic variable in every cell that has no formula."""
    m, h = dd.Model("cells"), 1.0 / cells
    c = m.state("c", cells, start=np.linspace(0.2, 1.0, cells))
    z = m.algebraic("z", cells, start=np.full(cells, 0.5))
    k = m.parameter("k", np.linspace(0.3, 0.8, cells))
    left, right = ca.vertcat(c[0], c[:-1]), ca.vertcat(c[1:], c[-1])
    m.equation(m.der(c), 0.01 * (left - 2 * c + right) / h**2 - k * z)
    m.equation(z + k * z**3, c)
    return m, ca.sumsqr(m["c"]) + ca.dot(m["c"], m["z"]), "k"


FIELDS = [plate, rod, heated_rod, cells_with_equilibrium]


@pytest.mark.parametrize("cost", [FINAL, RUNNING])
@pytest.mark.parametrize("method", ["radau5", "rodas5p"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_gradient_by_a_field_is_that_of_differences_along_random_directions(field, method, cost):
    """Steps of one length, so that the value is a smooth function of the parameters; to a ten-millionth."""
    m, J, name = field()
    options = {cost: J, "method": method, "step": 0.025}
    g = dd.gradient(m, 0.2, **options)
    values, gradient = np.asarray(m.freeze().start["p"]), g.parameters
    rng = np.random.default_rng(3)
    for _ in range(2):
        way = rng.standard_normal(len(values)) * values.max()
        near = []
        for share in (1e-4, -1e-4):
            moved = (values + share * way).reshape(np.shape(g[name]), order="F")
            near.append(dd.gradient(m, 0.2, **options, wrt="start", parameters={name: moved}).value)
        np.testing.assert_allclose(gradient @ way, (near[0] - near[1]) / 2e-4, rtol=2e-7, atol=1e-9)


@pytest.mark.parametrize("field", FIELDS)
def test_stages_are_those_of_the_run_and_steps_share_factors(field, monkeypatch):
    """Where a system is large no step is taken again and no stage solved for again; the gradient is that of steps
    solved to rounding, to a tenth of the tolerance."""
    monkeypatch.setattr(residual_pullback, "MAY_ITERATE", 0)
    again, systems = [], []
    whole, made = adjoint.steps_again, stage_systems.StageSystems.__init__

    def counted(self, *given):
        systems.append(self)
        made(self, *given)

    monkeypatch.setattr(adjoint, "steps_again", lambda case, t, row: again.append(t) or whole(case, t, row))
    monkeypatch.setattr(stage_systems.StageSystems, "__init__", counted)
    monkeypatch.setattr(sparse_adjoint.SparsePullback, "_stages", None)
    m, J, _ = field()
    g = dd.gradient(m, 0.5, final=J, method="radau5", rtol=1e-6)
    assert g.steps > 10
    assert not again
    assert sum(own.factorisations for own in systems) <= 0.5 * g.steps
    assert sum(own.sweeps for own in systems) <= 10 * g.steps
    monkeypatch.setattr(adjoint, "_with_stages", lambda case, run, solved_to: _to_rounding(case, run))
    exact = dd.gradient(m, 0.5, final=J, method="radau5", rtol=1e-6)
    assert exact.steps == g.steps
    np.testing.assert_allclose(g.parameters, exact.parameters, atol=1e-7 * np.abs(exact.parameters).max())


def _to_rounding(case, run):
    """The steps of a run once more, solved to rounding."""
    again = discrete.steps_again(case, np.array(run.t), np.array(run.x[0]))
    n, c = len(case.x0), adjoint.tableau_of(case).c
    return segments.TakenSteps(np.array(again.x), stages_of_run(c, Dense(*again.dense()), n))


@pytest.mark.parametrize("field", [rod, heated_rod])
def test_stages_of_a_diagonally_implicit_method_are_solved_one_by_one(field):
    """Its matrix has no eigenvectors, and its polynomial does not pass through its stages."""
    m, J, _ = field()
    g = dd.gradient(m, 0.2, final=J, method="sdirk4", rtol=1e-4)
    tight = dd.gradient(m, 0.2, final=J, method="radau5", rtol=1e-8)
    np.testing.assert_allclose(g.parameters, tight.parameters, atol=1e-5 * np.abs(tight.parameters).max())


@pytest.mark.parametrize("method", ["radau5", "rodas5p", "dop853"])
def test_steps_that_are_stored_are_not_taken_again(method, monkeypatch):
    """Without room every segment is taken again from its checkpoint: the same gradient from a fraction of the bytes."""
    taken, whole = [], adjoint.taken_steps
    monkeypatch.setattr(adjoint, "taken_steps", lambda case, segment: taken.append(segment) or whole(case, segment))
    m, J, _ = rod()
    options = {"final": J, "method": method, "step": 0.0002 if method == "dop853" else 0.002}
    roomy = dd.gradient(m, 0.2, **options)
    first = len(taken)
    assert first == (0 if method == "dop853" else roomy.checkpoints)
    monkeypatch.setattr(segments, "MOST_STORED", 0)
    tight = dd.gradient(m, 0.2, **options)
    assert len(taken) - first == first + tight.checkpoints
    np.testing.assert_allclose(tight.parameters, roomy.parameters, rtol=1e-12, atol=1e-14)
    row = 150 if method == "dop853" else 300
    assert tight.stored_bytes == 8 * row * tight.checkpoints
    assert tight.checkpoints <= 2 * np.sqrt(tight.steps)
    assert roomy.stored_bytes > 5 * tight.stored_bytes


def test_what_is_stored_stays_below_its_bound(monkeypatch):
    monkeypatch.setattr(segments, "MOST_STORED", 300_000)
    m, J, _ = rod()
    g = dd.gradient(m, 0.2, final=J, method="radau5", step=0.002)
    assert 100_000 < g.stored_bytes < 300_000 + 8 * 300 * g.checkpoints


@pytest.mark.wide
@pytest.mark.parametrize("method", ["radau5", "rodas5p"])
def test_a_gradient_where_runs_iterate_is_that_of_differences(method):
    """Reactions on a torus of 71 by 71 cells, by 5041 diffusion coefficients along a random direction."""
    model = large.reaction(71)
    options = {"final": ca.sumsqr(model["u"]), "method": method, "step": 0.02}
    assert "GMRES" in str(dd.simulate(model, 0.04, method=method, step=0.02).notes)
    g = dd.gradient(model, 0.04, **options)
    way = np.random.default_rng(5).standard_normal((71, 71))
    moved = [
        dd.gradient(model, 0.04, **options, wrt="start", parameters={"k": 1 + s * way}).value for s in (1e-3, -1e-3)
    ]
    np.testing.assert_allclose(np.sum(g["k"] * way), (moved[0] - moved[1]) / 2e-3, rtol=1e-5)
