"""How implicit steps solve linear systems: the same answers each way, told in words, and refusals."""

import casadi as ca
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import daedalus as dd
from daedalus.integrators.methods import METHODS, is_implicit
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
    for linear in ("dense", "sparse", "krylov", "matrix_free"):
        tr = dd.simulate(reaction(6), 0.5, method=method, linear=linear, save_at=[0.5], **way)
        assert tr.success
        iterates = linear in ("krylov", "matrix_free")
        assert ("GMRES" in tr.work.linear) == iterates
        assert ("products by compiled code" in tr.work.linear) == (linear == "matrix_free")
        assert (linear in tr.work.linear) == (not iterates)
        ends[linear] = tr["u"][-1]
    np.testing.assert_allclose(ends["sparse"], ends["dense"], rtol=1e-7)
    np.testing.assert_allclose(ends["krylov"], ends["dense"], rtol=1e-6)
    np.testing.assert_allclose(ends["matrix_free"], ends["dense"], rtol=1e-6)


def exact_inverse(slopes, gamma):
    return splu(sp.identity(slopes.shape[0], format="csc") - gamma * slopes).solve


FAMILIES = ("tableau", "radau", "rosenbrock")
IMPLICIT = sorted(name for name in METHODS if is_implicit(name) and METHODS[name].family in FAMILIES)
PRECONDITIONERS = ("ilu", "block_ilu", "banded", "amg")


@pytest.mark.parametrize("way", [*(("krylov", kind) for kind in PRECONDITIONERS), ("matrix_free", "ilu")])
@pytest.mark.parametrize("method", IMPLICIT)
def test_orders_with_iterations(method, way):
    """Steps are halved: iterations do not cost the order."""
    m = dd.Model("rod")
    u = m.state("u", 8, start=np.sin(np.pi * (np.arange(8) + 0.5) / 8))
    m.equation(m.der(u), 0.05 * dd.laplacian(u, 1 / 8, ("dirichlet", 0.0)) * (1 + 0.1 * u))
    exact = dd.simulate(m, 0.4, method="radau9", rtol=1e-13, atol=1e-15, save_at=[0.4])["u"][-1]
    way = {"linear": way[0], "preconditioner": way[1], "save_at": [0.4]}
    runs = [dd.simulate(m, 0.4, method=method, step=h, **way) for h in (0.1, 0.05)]
    assert all("GMRES" in run.work.linear for run in runs)
    errors = [np.abs(run["u"][-1] - exact).max() for run in runs]
    assert errors[1] < 1e-9 or np.log2(errors[0] / errors[1]) > METHODS[method].order - 0.5


@pytest.mark.parametrize("method", ["bdf", "radau5", "rodas5p"])
def test_a_preconditioner_of_ones_own(method):
    """An exact inverse needs an iteration or two for each solve; of complex matrices it is an approximation."""
    seen = []

    def own(slopes, gamma):
        seen.append((slopes.shape, gamma))
        return exact_inverse(slopes, gamma)

    way = {"method": method, "rtol": 1e-7, "atol": 1e-9, "save_at": [0.5]}
    tr = dd.simulate(reaction(8), 0.5, linear="krylov", preconditioner=own, **way)
    np.testing.assert_allclose(tr["u"], dd.simulate(reaction(8), 0.5, linear="sparse", **way)["u"], rtol=1e-6)
    assert "GMRES with the given preconditioner" in tr.work.linear
    assert len(seen) == tr.work.factorisations
    assert all(shape == (128, 128) and gamma > 0 for shape, gamma in seen)
    # GMRES with an exact inverse has the answer in its first direction; a second one may mend its rounding. One solve
    # for each correction of Newton's method, one for each of the eight stages of a step of rodas5p.
    solves = {"bdf": tr.work.newton, "rodas5p": 8 * (tr.work.steps + tr.work.rejected)}
    if method in solves:
        assert iterations(tr) <= 2 * solves[method]


def test_the_pattern_chooses_the_preconditioner():
    def named(m, **way):
        return dd.simulate(m, 0.02, method="bdf", linear="krylov", save_at=[0.02], **way).work.linear

    line = dd.Model("two fields on a line")
    u, v = line.state("u", 40, start=np.linspace(0, 1, 40)), line.state("v", 40, start=np.ones(40))
    line.equation(line.der(u), dd.laplacian(u, 1 / 40, "neumann") - u * v)
    line.equation(line.der(v), dd.laplacian(v, 1 / 40, "neumann") + u * v)
    assert "banded factors" in named(line)
    assert "with ILU(0)" in named(reaction(10))
    assert "algebraic multigrid" in named(reaction(32))
    assert "block ILU(0)" in named(reaction(10), preconditioner="block_ilu")


@pytest.mark.parametrize("form", [*(("krylov", kind) for kind in PRECONDITIONERS), ("matrix_free", "banded")])
def test_bdf_keeps_its_orders_with_iterations(form):
    """Order 5 is reached, with about as many steps as by factors, and errors fall with the tolerance."""
    m = dd.Model("rod")
    u = m.state("u", 8, start=np.sin(np.pi * (np.arange(8) + 0.5) / 8))
    m.equation(m.der(u), 0.05 * dd.laplacian(u, 1 / 8, ("dirichlet", 0.0)) * (1 + 0.1 * u))
    exact = dd.simulate(m, 0.4, method="radau9", rtol=1e-13, atol=1e-15, save_at=[0.4])["u"][-1]
    krylov = {"linear": form[0], "preconditioner": form[1]}
    for rtol in (1e-5, 1e-7, 1e-9):
        way = {"method": "bdf", "rtol": rtol, "atol": 1e-2 * rtol}
        by_factors, tr = dd.simulate(m, 0.4, **way), dd.simulate(m, 0.4, **krylov, **way)
        assert "GMRES" in tr.work.linear
        assert np.abs(tr["u"][-1] - exact).max() <= 10 * rtol
        assert tr.steps.order.max() == by_factors.steps.order.max()
        assert tr.work.steps <= 1.1 * by_factors.work.steps + 2
    assert tr.steps.order.max() == 5


@pytest.mark.parametrize("method", ["bdf", "radau5", "rodas5p", "sdirk4"])
def test_products_by_compiled_code_are_those_of_the_matrix(method):
    """As many steps and iterations as with the nonzeros, also with inputs, algebraic unknowns and a moving mass."""
    m = dd.Model("heated rod")
    u, z, lamp = m.state("u", 30, start=np.linspace(0, 1, 30)), m.algebraic("z", 30), m.input("lamp")
    m.equation((1 + 0.1 * u**2) * m.der(u), dd.laplacian(u, 0.1, "neumann") * 0.01 + lamp * z)
    m.equation(z, np.roll(u, 1) * u + 0.1 * z**2 * m.time)
    way = {"inputs": {"lamp": lambda t: np.cos(3 * t)}, "method": method, "rtol": 1e-7, "atol": 1e-9, "save_at": [1.0]}
    runs = [dd.simulate(m, 1.0, linear=form, preconditioner="ilu", **way) for form in ("krylov", "matrix_free")]
    np.testing.assert_allclose(runs[1]["u"], runs[0]["u"], rtol=1e-9)
    assert runs[1].work.steps == runs[0].work.steps
    assert abs(iterations(runs[1]) - iterations(runs[0])) <= 0.02 * iterations(runs[0])


def test_products_of_foreign_functions():
    m = dd.Model("table")
    u = m.state("u", 12, start=np.linspace(0, 1, 12))
    m.equation(
        m.der(u), dd.laplacian(u, 0.2) * 0.1 - ca.interpolant("f", "bspline", [[0, 1, 2, 3]], [0, 1, 4, 9])(u[0])
    )
    way = {"method": "bdf", "rtol": 1e-7, "atol": 1e-9, "save_at": [0.5]}
    runs = [dd.simulate(m, 0.5, linear=form, **way) for form in ("sparse", "matrix_free")]
    np.testing.assert_allclose(runs[1]["u"], runs[0]["u"], rtol=1e-6)


@pytest.mark.parametrize("method", ["bdf", "radau5"])
def test_the_order_of_a_pattern_is_kept_with_its_system(method):
    """Real and complex matrices, and later runs, take the order of elimination that was found first."""
    m = reaction(20)
    runs = [dd.simulate(m, 0.02, method=method, parameters={}, rtol=rtol) for rtol in (1e-4, 1e-6)]
    assert all(linear_systems(run)[0].form == "sparse" for run in runs)
    assert runs[0]._plant is runs[1]._plant
    assert runs[1]._plant.model.order_searches == 1


def iterations(tr):
    return linear_systems(tr)[0].iterations


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (lambda slopes, gamma: 1 / 0, "ZeroDivisionError"),
        (lambda slopes, gamma: 3.0, "returned float, not a function"),
        (lambda slopes, gamma: lambda r: r[:3], "returned 3 numbers, 128 are expected"),
        (lambda slopes, gamma: lambda r: None, "The preconditioner failed"),
    ],
)
def test_errors_of_a_preconditioner_are_told(own, text):
    with pytest.raises(dd.InputError, match=text):
        dd.simulate(reaction(8), 0.1, method="bdf", linear="krylov", preconditioner=own)


def test_a_preconditioner_that_does_not_help_gives_way_to_factors():
    tr = dd.simulate(reaction(8), 0.1, method="bdf", linear="krylov", preconditioner=lambda j, g: lambda r: 0 * r)
    assert tr.success
    assert "the given preconditioner was given up" in tr.work.linear


def test_corrections_of_bdf_take_few_iterations():
    """Iterations stop where Newton's method has nothing more of them; the error stays that of the run by factors."""
    way = {"method": "bdf", "rtol": 1e-5, "atol": 1e-7, "save_at": [0.5]}
    exact = dd.simulate(reaction(24), 0.5, method="radau5", rtol=1e-10, atol=1e-12, save_at=[0.5])
    by_factors = dd.simulate(reaction(24), 0.5, linear="sparse", **way)
    for preconditioner in ("ilu", "amg"):
        tr = dd.simulate(reaction(24), 0.5, linear="krylov", preconditioner=preconditioner, **way)
        errors = [np.abs(run["u"] - exact["u"]).max() for run in (tr, by_factors)]
        assert errors[0] <= 2 * errors[1] + 1e-6
        assert tr.work.newton <= 1.3 * by_factors.work.newton + 4
        assert iterations(tr) <= 4 * tr.work.newton


def test_corrections_count_in_units_of_their_tolerances():
    """Unknowns of the size of 1e-6 and of 1e6: iterations leave as little of the one as of the other."""

    def field(scale):
        m = dd.Model("two fields")
        x = (np.arange(40) + 0.5) / 40
        u, v = m.state("u", 40, start=np.sin(np.pi * x)), m.state("v", 40, start=scale * np.cos(np.pi * x))
        m.equation(m.der(u), dd.laplacian(u, 1 / 40, "neumann") + v / scale - u)
        m.equation(m.der(v), 0.1 * dd.laplacian(v, 1 / 40, "neumann") + scale * u * u - v)
        return m

    ends = []
    for scale in (1.0, 1e-6, 1e6):
        way = {"rtol": 1e-6, "atol": {"u": 1e-8, "v": 1e-8 * scale}, "save_at": [0.5]}
        tr = dd.simulate(field(scale), 0.5, method="bdf", linear="krylov", preconditioner="ilu", **way)
        ends.append((tr["u"][-1], tr["v"][-1] / scale))
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=1e-4)


def test_notes_tell_of_large_systems_only():
    small, large = reaction(4), reaction(16)
    assert not linear_systems(dd.simulate(small, 0.1, method="bdf"))
    tr = dd.simulate(large, 0.1, method="bdf")
    (record,) = linear_systems(tr)
    assert str(record) == f"linear systems: {tr.work.linear}"
    assert (record.form, record.orderings) == ("sparse", 1)
    assert dd.simulate(small, 0.1, method="dop853").work.linear == ""


@pytest.mark.parametrize("method", ["bdf", "radau5"])
def test_a_band_is_called_one(method):
    """A rod of cells in a row has three diagonals, and a beam five."""
    for halfwidth in (1, 2):
        n = 600
        m = dd.Model("rod")
        u = m.state("u", n, start=np.sin(np.arange(n)))
        chain = -3.0 * u
        for k in range(1, halfwidth + 1):
            chain = chain + ca.vertcat(u[k:], np.zeros(k)) + ca.vertcat(np.zeros(k), u[:-k])
        m.equation(m.der(u), chain)
        tr = dd.simulate(m, 0.01, method=method, save_at=[0.01])
        (record,) = linear_systems(tr)
        assert (record.form, record.band) == ("banded", 2 * halfwidth + 1)
        assert tr.work.linear.startswith(f"banded, {2 * halfwidth + 1} wide, ")


def test_explicit_steps_of_a_flow_tell_of_no_factors():
    """Stokes flow on a staggered torus, index 2: x' and z are solved at each evaluation; a vortex decays as it must."""
    n = 8
    h, x = 1 / n, np.arange(n) / n
    m = dd.Model("flow")
    along = np.outer(np.sin(2 * np.pi * x), np.cos(2 * np.pi * (x + h / 2)))
    u = m.state("u", (n, n), start=along)
    v = m.state("v", (n, n), start=-np.outer(np.cos(2 * np.pi * (x + h / 2)), np.sin(2 * np.pi * x)))
    p = m.algebraic("p", (n, n))
    m.equation(m.der(u), 0.01 * dd.laplacian(u, h) - (p - np.roll(p, 1, 0)) / h)
    m.equation(m.der(v), 0.01 * dd.laplacian(v, h) - (p - np.roll(p, 1, 1)) / h)
    divergence = (np.roll(u, -1, 0) - u) / h + (np.roll(v, -1, 1) - v) / h
    divergence[0, 0] = p[0, 0]
    m.equation(divergence, np.zeros((n, n)))
    tr = dd.simulate(m, 0.5, save_at=[0.5])
    rate = -0.08 / h**2 * np.sin(np.pi / n) ** 2
    np.testing.assert_allclose(tr["u"][-1], along * np.exp(0.5 * rate), atol=1e-6)
    assert "0 nonzeros" not in tr.work.linear


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
    ways = ("sparse", "krylov", "matrix_free")
    runs = [dd.simulate(m, 1.0, method="radau5", linear=way, save_at=[1.0]) for way in ways]
    for run in runs[1:]:
        np.testing.assert_allclose(run["q"], runs[0]["q"], atol=1e-6)
        assert "was given up" in run.work.linear


@pytest.mark.parametrize("kind", ["ilu", "block_ilu"])
def test_constraints_of_a_field_are_solved_by_iterations(kind):
    """A potential that keeps the divergence of a flow at zero, of index 1 and without a diagonal."""
    n = 6
    m = dd.Model("flow")
    u = m.state("u", (n, n), start=np.random.default_rng(1).normal(size=(n, n)))
    force, pressure = m.algebraic("force", (n, n)), m.algebraic("pressure", (n, n))
    m.equation(m.der(u), dd.laplacian(u, 1.0) - u - force)
    m.equation(pressure - np.roll(pressure, 1, 0) / 4, force)
    m.equation(force + 0.1 * np.roll(force, 1, 1), u)
    runs = [dd.simulate(m, 1.0, method="bdf", save_at=[1.0], **way) for way in (
        {"linear": "sparse"}, {"linear": "krylov", "preconditioner": kind})]  # fmt: skip
    np.testing.assert_allclose(runs[1]["u"], runs[0]["u"], atol=1e-6)
    assert "GMRES" in runs[1].work.linear
    assert "stopped" not in runs[1].work.linear


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"linear": "magic"}, "linear= is not known"),
        ({"linear": 3}, "linear= is not known"),
        ({"linear": "sparse", "preconditioner": "ilu"}, "preconditioner has no effect"),
        ({"linear": "krylov", "preconditioner": "magic"}, "preconditioner does not exist"),
        ({"linear": "krylov", "preconditioner": 3}, "preconditioner does not exist"),
    ],
)
def test_mistakes_are_named(options, text):
    with pytest.raises(dd.InputError, match=text):
        dd.simulate(reaction(4), 0.1, method="bdf", **options)
    with pytest.raises(dd.InputError, match=text):
        dd.prepare(reaction(4), 0.1, method="bdf", **options)
