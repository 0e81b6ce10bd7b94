"""FMUs as parts of a model: alone and among others, with events, derivatives, and crashes that stay outside."""

import gc
import math
import shutil
import threading

import numpy as np
import pytest
from tests.exchange.fmus.small_fmus import SMALL, small_fmu

import daedalus as dd

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the FMUs of these tests are built by cc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fmus")


@pytest.fixture(scope="module")
def small(folder):
    return small_fmu(folder)


def kicked(t, k=1.0, level=0.5):
    """x(t) of the small FMU: it decays from 1, and jumps up by one at the level."""
    x, now = 1.0, 0.0
    while True:
        down = math.log(x / level) / k
        if now + down > t:
            return x * math.exp(-k * (t - now))
        now, x = now + down, level + 1.0


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_an_fmu_runs_alone_with_its_events(small, method, trusted):
    part = dd.exchange.load_fmu(small, trusted=trusted)
    tr = dd.simulate(part, 3.5, method=method, rtol=1e-9)
    assert tr.success
    assert tr["x"][-1] == pytest.approx(kicked(3.5), rel=1e-7)
    assert tr["y"][-1] == pytest.approx(2 * tr["x"][-1], rel=1e-12)
    assert tr["count"][-1] == 3
    jumps = [e.time for e in tr.events]
    assert jumps == pytest.approx(
        sorted([math.log(2), math.log(2) + math.log(3), math.log(18), 1.0, 2.0, 3.0]), rel=1e-7
    )


def test_what_is_read_between_rows_has_the_state_of_its_time(small):
    part = dd.exchange.load_fmu(small)
    tr = dd.simulate(part, 3.5)
    times = np.array([3.2, 0.4, 2.5, 1.5])
    np.testing.assert_array_equal(tr.at(times)["count"], [3, 0, 2, 1])


def test_names_units_and_what_it_is(small):
    part = dd.exchange.load_fmu(small, name="plant")
    assert part.name == "plant"
    assert part.kind == "model_exchange"
    assert part.version == 2
    assert part.variables["x"].unit == "m"
    assert part.names == {"der(x)": "der_x"}
    assert dd.exchange.load_fmu(small, variables=["der(x)"]).freeze().outputs.keys() >= {"der_x", "y", "count"}


def test_parameters_start_values_and_inputs(small):
    part = dd.exchange.load_fmu(small)
    tr = dd.simulate(
        part, 1.0, start={"x": 3.0}, parameters={"k": 2.0, "level": -9.0}, inputs={"u": lambda t: t}, rtol=1e-9
    )
    exact = 3.25 * math.exp(-2) + 0.25
    assert tr["x"][-1] == pytest.approx(exact, rel=1e-8)
    assert tr["y"][-1] == pytest.approx(2 * exact + 3, rel=1e-8)


def test_two_of_them_in_one_model(small):
    m = dd.Model("two")
    a = m.add(dd.exchange.load_fmu(small, name="a"))
    b = m.add(dd.exchange.load_fmu(small, name="b"))
    m.connect(a.y, b.u)
    tr = dd.simulate(m, 0.6, parameters={"a.level": -9.0, "b.level": -9.0, "b.k": 2.0}, rtol=1e-9)
    # x_b' = -2 x_b + 2 exp(-t)
    assert tr["b.x"][-1] == pytest.approx(2 * math.exp(-0.6) - math.exp(-1.2), rel=1e-8)


def test_in_a_loop_with_feedthrough(small):
    m = dd.Model("loop")
    a = m.add(dd.exchange.load_fmu(small, name="a"))
    z = m.algebraic("z", start=0.0)
    m.equation(z, -0.1 * a.y)  # y = 2 x + 3 z
    m.connect(z, a.u)
    tr = dd.simulate(m, 0.5, parameters={"a.level": -9.0}, rtol=1e-9)
    assert tr["a.x"][-1] == pytest.approx(math.exp(-0.5 * (1 + 0.2 / 1.3)), rel=1e-7)


def test_runs_joined_are_one_run(small):
    part = dd.exchange.load_fmu(small)
    first = dd.simulate(part, 1.5, rtol=1e-9)
    second = dd.simulate(part, (1.5, 3.5), start=first.end, rtol=1e-9)
    assert second["x"][-1] == pytest.approx(kicked(3.5), rel=1e-7)
    assert second["count"][-1] == 3


def test_derivatives_sweeps_and_linear_models_of_smooth_fmus(folder, small):
    text = SMALL.replace('numberOfEventIndicators="1"', "").replace(
        'variability="discrete"', 'variability="continuous"'
    )
    text = text.replace("<Integer/>", "<Real/>").replace(
        'name="count" valueReference="7"', 'name="also" valueReference="3"'
    )
    path = folder / "smooth"
    path.mkdir(exist_ok=True)
    part = dd.exchange.load_fmu(small_fmu(path, text))
    # The FMU has time events, so that only what does not pass them is smooth.
    lin = dd.linearise(part)
    assert lin.A[0, 0] == pytest.approx(-1.0)
    assert lin.B[0, 0] == pytest.approx(1.0)
    assert lin.C[0, 0] == pytest.approx(2.0)
    assert lin.D[0, 0] == pytest.approx(3.0)
    runs = dd.sweep(part, 0.5, over={"k": [1.0, 2.0, 3.0]}, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(runs["x"])[:, -1], np.exp(-0.5 * np.array([1.0, 2.0, 3.0])), rtol=1e-8)


def test_co_simulation_is_a_sampled_part(small):
    part = dd.exchange.load_fmu(small, kind="co_simulation")
    tr = dd.simulate(part, 2.5, parameters={"x_start": 2.0}, inputs={"u": 1.0})
    assert tr.success
    assert tr["count"][-1] == 2
    assert tr["y"][-1] == pytest.approx(2 * (1 + math.exp(-2.5)) + 3, rel=1e-12)
    m = dd.Model("around")
    a = m.add(dd.exchange.load_fmu(small, kind="co_simulation", step=0.01, name="a"))
    x = m.state("x", start=0.0)
    m.equation(m.der(x), a.y)
    m.connect(0.0 * x, a.u)
    assert dd.simulate(m, 1.0)["x"][-1] == pytest.approx(2 * (1 - math.exp(-1)), abs=0.02)


@pytest.mark.parametrize(
    ("deed", "what"),
    [(1, "crashed"), (3, "crashed"), (4, "exit status 7"), (5, "failed"), (2, "does not answer")],
)
def test_what_goes_wrong_inside_is_an_error_here(small, deed, what):
    part = dd.exchange.load_fmu(small, time_limit=1.0 if deed == 2 else 60.0)
    with pytest.raises(dd.SolverError, match=what):
        dd.simulate(part, 1.0, parameters={"deed": float(deed)})
    # The next run has a process of its own again.
    assert dd.simulate(part, 0.5)["x"][-1] == pytest.approx(math.exp(-0.5), rel=1e-5)


def test_what_it_prints_does_not_disturb(small, capfd):
    part = dd.exchange.load_fmu(small)
    assert dd.simulate(part, 0.5, parameters={"deed": 6.0}).success
    assert "must not disturb" not in capfd.readouterr().out


def test_values_that_it_discards_make_the_steps_smaller(small):
    part = dd.exchange.load_fmu(small)
    tr = dd.simulate(part, 0.5, parameters={"deed": 7.0, "level": -9.0})
    assert tr.success
    assert tr["x"][-1] == pytest.approx(math.exp(-0.5), rel=1e-5)


def test_eight_at_a_time_in_threads(small):
    part = dd.exchange.load_fmu(small)
    found, errors = {}, []

    def work(k):
        try:
            found[k] = dd.simulate(part, 0.5, parameters={"k": float(k)})["x"][-1]
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for k, value in found.items():
        assert value == pytest.approx(dd.simulate(part, 0.5, parameters={"k": float(k)})["x"][-1], rel=1e-6)


def test_loading_again_and_again_starts_no_process_each_time(small):
    from daedalus.exchange.fmu_import import load_fmu

    dd.exchange.load_fmu(small)
    before = len(load_fmu._states_of)
    for _ in range(50):
        dd.exchange.load_fmu(small)
    assert len(load_fmu._states_of) == before


def test_what_no_expression_calls_any_more_goes(small):
    """Each part that was loaded left its functions for good, and each file its folder."""
    from daedalus.exchange.fmu_import import continuous_fmu

    owner = dd.Model("owner")
    owner.add(dd.exchange.load_fmu(small))
    dd.exchange.load_fmu(small)
    gc.collect()
    dd.exchange.load_fmu(small)
    here = len(continuous_fmu._in_use)
    for _ in range(20):
        dd.exchange.load_fmu(small)
    gc.collect()
    dd.exchange.load_fmu(small)
    assert len(continuous_fmu._in_use) <= here
    assert dd.simulate(owner, 1.2).success


def test_many_fmus_run_few_processes_and_one_that_rested_goes_on(tmp_path, monkeypatch):
    """Each file had a process of its own for good: a thousand of them ran out of file descriptors."""
    from daedalus.exchange.fmu_import import fmu_states

    monkeypatch.setattr(fmu_states, "MOST_RUNNING", 2)
    parts = []
    for k in range(4):
        m = dd.Model(f"rested{k}")
        x = m.state("x", start=1.0)
        m.equation(m.der(x), -x)
        m.event("half", x - 0.5 - 0.01 * k, direction=-1, reset={"x": 1.0})
        dd.exchange.fmu(m, tmp_path / f"rested{k}.fmu")
        parts.append(dd.exchange.load_fmu(tmp_path / f"rested{k}.fmu"))
    runs = [dd.simulate(part, 1.0) for part in parts]
    running = [states for states in fmu_states._used if states.link._process is not None]
    assert len(running) <= 2
    for k, part in enumerate(parts):
        whole = dd.simulate(part, 1.5)
        assert (len(runs[k].events), len(whole.events)) == (1, 2)
        joined = dd.simulate(part, (1.0, 1.5), start=runs[k].end)
        assert abs(float(joined["x"][-1]) - float(whole["x"][-1])) < 1e-5


def test_derivatives_through_its_events_are_refused(small):
    part = dd.exchange.load_fmu(small)
    with pytest.raises(dd.DaedalusError, match="FMU"):
        dd.sensitivities(part, 1.2)


def ball():
    m = dd.Model("ball")
    h, v, e = m.state("h", start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s"), m.parameter("e", 0.8)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -e * v})
    m.output("energy", 9.81 * h + 0.5 * v**2)
    return m


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", ["model_exchange", "co_simulation"])
def test_own_fmus_there_and_back(tmp_path, kind, version):
    dd.exchange.fmu(ball(), tmp_path / "ball.fmu", kind=kind, version=version, rtol=1e-9)
    part = dd.exchange.load_fmu(tmp_path / "ball.fmu", kind=kind, variables=["h"])
    tr, own = (dd.simulate(m, 1.6, parameters={"e": 0.7}, rtol=1e-9) for m in (part, ball()))
    assert tr["energy"][-1] == pytest.approx(own["energy"][-1], rel=1e-6)
    if kind == "model_exchange":
        bounces = [e.time for e in tr.events]
        assert bounces == pytest.approx([e.time for e in own.events], rel=1e-8)


@pytest.mark.parametrize("version", [pytest.param(2, marks=pytest.mark.wide), 3])
def test_no_bounce_is_missed(tmp_path, version):
    """Heights after a bounce are zero but for rounding, of either sign."""
    path = dd.exchange.fmu(ball(), tmp_path / "ball.fmu", kind="model_exchange", version=version).path
    part = dd.exchange.load_fmu(path, trusted=True)
    for height in (0.1, 0.3, 0.5, 0.9, 1.0, 1.1, 1.7, 2.0):
        tr, own = (dd.simulate(m, 2.0, start={"h": height}, rtol=1e-9) for m in (part, ball()))
        assert len(tr.events) == len(own.events) > 0, height


def test_a_mechanism_of_index_three_there_and_back(tmp_path):
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    v = m.rate(q)
    m.kinetic_energy(0.5 * (v[0] ** 2 + v[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    dd.exchange.fmu(m, tmp_path / "pendulum.fmu")
    part = dd.exchange.load_fmu(tmp_path / "pendulum.fmu")
    tr, own = dd.simulate(part, 1.0, rtol=1e-9), dd.simulate(m, 1.0, rtol=1e-9)
    state = next(name for name in part.variables if name.startswith("q"))
    assert tr[state][-1] == pytest.approx(own["q"][-1, 0], abs=1e-6)


def test_a_token_that_the_fmu_refuses(folder):
    other = folder / "other"
    other.mkdir(exist_ok=True)
    with pytest.raises(dd.SolverError, match="cannot be instantiated"):
        dd.exchange.load_fmu(small_fmu(other, SMALL.replace("{small}", "{other}")))
