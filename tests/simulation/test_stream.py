"""Results beyond memory: parts of a run, written one after the other, are the run."""

import numpy as np
import pytest

import daedalus as dd


def rod(n=40):
    m = dd.Model("rod")
    u = m.state("u", n, start=np.sin(np.pi * (np.arange(n) + 0.5) / n))
    v = m.state("v", (2, 3), start=np.arange(6.0).reshape(2, 3))
    m.equation(m.der(u), dd.laplacian(u, 1 / n, ("dirichlet", 0.0)))
    m.equation(m.der(v), -v)
    m.output("first", u[0] + v[0, 0])
    return m


@pytest.mark.parametrize("memory", [2e8, 5e4])
def test_the_file_has_the_rows_of_the_run(tmp_path, memory):
    times = np.linspace(0, 0.3, 31)
    run = dd.stream(rod(), 0.3, tmp_path / "rod.nc", times, ["u", "v", "first"], memory, method="radau5", rtol=1e-8)
    whole = dd.simulate(rod(), 0.3, save_at=times, method="radau5", rtol=1e-8)
    assert run.success
    assert (run.rows, run.parts > 4) == (31, memory < 1e6)
    with run.open() as data:
        np.testing.assert_array_equal(data["time"], times)
        assert data["v"].shape == (31, 2, 3)
        for name in ("u", "v", "first"):
            np.testing.assert_allclose(data[name], whole[name], rtol=1e-6, atol=1e-8)
    assert run.end["u"].shape == (40,)


def test_events_go_on_from_part_to_part_and_end_the_file(tmp_path):
    def ball(terminal):
        m = dd.Model("ball")
        y, v = m.state("y", start=1.0), m.state("v", start=0.0)
        m.equation([m.der(y), m.der(v)], [v, -9.81])
        m.event("ground", y, direction=-1, reset=None if terminal else {"v": -0.8 * v}, terminal=terminal)
        return m

    times = np.linspace(0, 1.5, 16)
    run = dd.stream(ball(False), 1.5, tmp_path / "ball.nc", times, memory=2e3)
    with run.open() as data:
        np.testing.assert_allclose(data["y"], dd.simulate(ball(False), 1.5, save_at=times)["y"], atol=1e-7)
    assert run.parts > 2
    stopped = dd.stream(ball(True), 1.5, tmp_path / "ball.nc", times, memory=2e3)
    with stopped.open() as data:
        assert float(data["time"][-1]) == pytest.approx(0.4)


def test_backwards(tmp_path):
    m = dd.Model("growth")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x)
    run = dd.stream(m, (1.0, 0.0), tmp_path / "x.nc", [0.9, 0.5, 0.1], memory=1e3, rtol=1e-9)
    with run.open() as data:
        np.testing.assert_allclose(data["x"], np.exp([-0.1, -0.5, -0.9]), rtol=1e-7)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"save_at": []}, "A file needs times"),
        ({"variables": ["w"]}, "no variable 'w'"),
        ({"variables": "u"}, "list of names"),
        ({"memory": -1}, "positive number of bytes"),
        ({"progress": True}, "takes no progress"),
    ],
)
def test_mistakes_are_named(tmp_path, options, text):
    with pytest.raises(dd.InputError, match=text):
        dd.stream(rod(), 0.1, tmp_path / "rod.nc", options.pop("save_at", [0.1]), **options)
    assert not (tmp_path / "rod.nc").exists()
