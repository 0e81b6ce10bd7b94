"""Fields drawn at one time and as films."""

import shutil
import subprocess

import numpy as np
import pytest

import daedalus as dd


@pytest.fixture(scope="module")
def run():
    m = dd.Model("plate")
    u = m.state("u", (4, 3), start=np.arange(12.0).reshape(4, 3), unit="K")
    v = m.state("v", 5, start=np.arange(5.0))
    m.equation(m.der(u), dd.laplacian(u, 1.0, "neumann"))
    m.equation(m.der(v), -v)
    m.output("mean", u[0, 0] + u[3, 2])
    return dd.simulate(m, 1.0)


def test_an_image_has_the_first_axis_to_the_right(run):
    figure = run.plot_field("u", 0.0)
    panel = figure.axes[0]
    np.testing.assert_allclose(panel.images[0].get_array(), np.arange(12.0).reshape(4, 3).T)
    assert panel.get_title() == "plate: u at t = 0 s"
    assert figure.axes[1].get_ylabel() == "u [K]"


def test_a_line_for_one_axis_at_the_end_by_default(run):
    panel = run.plot_field("v").axes[0]
    np.testing.assert_allclose(panel.lines[0].get_ydata(), run["v"][-1])


def test_panels_of_ones_own(run):
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots()
    assert run.plot_field("v", 0.5, ax=panel) is figure


def test_films(run, tmp_path):
    run.animate_field("u", tmp_path / "u.html", frames=3)
    assert "<img" in (tmp_path / "u.html").read_text()
    run.animate_field("v", tmp_path / "v.gif", frames=2)
    assert (tmp_path / "v.gif").stat().st_size > 1000
    assert run.animate_field("u", frames=2) is not None


def test_a_film_as_mp4_needs_ffmpeg(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(dd.InputError, match="needs ffmpeg") as error:
        run.animate_field("u", tmp_path / "u.mp4", frames=2)
    assert "u.gif" in str(error.value)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed: no MP4 can be written")
def test_a_film_as_mp4(run, tmp_path):
    from PIL import Image

    run.animate_field("u", tmp_path / "u.MP4", frames=3)
    subprocess.run(["ffmpeg", "-loglevel", "error", "-i", "u.MP4", "%d.png"], cwd=tmp_path, check=True)
    assert len(list(tmp_path.glob("*.png"))) == 3
    with Image.open(tmp_path / "1.png") as first, Image.open(tmp_path / "3.png") as last:
        assert first.size == (640, 480)
        assert np.abs(np.asarray(first).astype(int) - np.asarray(last)).max() > 50


def test_mistakes_are_named(run, tmp_path):
    with pytest.raises(dd.InputError, match="mean is not a field"):
        run.plot_field("mean")
    with pytest.raises(dd.InputError, match=r"cannot be written as '\.txt'"):
        run.animate_field("v", tmp_path / "v.txt", frames=2)
    with pytest.raises(dd.InputError, match="frames is a whole number"):
        run.animate_field("v", frames=1)
    with pytest.raises(dd.DaedalusError, match="nothing"):
        run.plot_field("nothing")
