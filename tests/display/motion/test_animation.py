"""Animations as pages and films: self-contained, small, and showing the trajectory's own numbers."""

import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.display.motion.page import HERE, THREE_VERSION


@cache
def delta_run(end=0.5):
    # The motors carry the weight and damp the arms, so that ten seconds stay a calm motion.
    k = catalogue.load("delta_robot")
    rate = k.model["angle_dot"]
    return dd.simulate(k.model, end, inputs={"torque": k.inputs["torque"] - 0.05 * rate})


def test_a_page_holds_everything_and_asks_for_nothing(tmp_path):
    file = tmp_path / "run.html"
    delta_run(10.0).animate(file)
    text = file.read_text()
    assert file.stat().st_size < 2_000_000
    # No address of a network, no file beside it.
    assert (
        re.findall(r'(?:src|href)\s*=\s*"?(?!data:)[^"> ]+', re.sub(r"<script.*?</script>", "", text, flags=re.S)) == []
    )
    assert "http://" not in re.sub(r'<script type="text/plain".*?</script>', "", text, flags=re.S)


def test_three_js_is_the_pinned_package_with_its_licence():
    source = (HERE / "three" / "three.module.min.js").read_text(encoding="utf-8")
    assert (
        "MIT" in (HERE / "three" / "LICENSE").read_text()
        or "Permission is hereby granted" in (HERE / "three" / "LICENSE").read_text()
    )
    assert f'"{THREE_VERSION.split(".")[1]}"' in source


@pytest.mark.wide
def test_the_slider_moves_the_drawn_pose(browser, tmp_path):
    tr = delta_run()
    tr.animate(tmp_path / "run.html")
    browser.open(tmp_path / "run.html")
    browser.wait("window.daedalus && window.daedalus.stage")
    slider = "document.querySelector('.dd-slider')"
    for share in (0.0, 0.31, 1.0):
        browser.ask(f"(s => {{ s.value = {share} * s.max; s.dispatchEvent(new Event('input')); }})({slider})")
        t = browser.ask("daedalus.now")
        assert t == pytest.approx(0.5 * share, abs=1e-3)
        drawn = browser.ask("daedalus.stage.objects.find(o => o.userData.shape.name === 'nacelle').position.toArray()")
        np.testing.assert_allclose(drawn, tr.at(t)["position"], atol=2e-5)
    assert browser.errors() == []


@pytest.mark.wide
def test_play_runs_to_the_end_at_its_speed(browser, tmp_path):
    tr = delta_run()
    tr.animate(tmp_path / "run.html", speed=2.0)
    browser.open(tmp_path / "run.html")
    browser.wait("window.daedalus")
    browser.ask("document.querySelector('.dd-play').click()")
    assert browser.ask("daedalus.playing")
    browser.wait("!daedalus.playing && daedalus.now === daedalus.end")
    browser.ask("document.querySelector('.dd-play').click()")
    browser.wait("daedalus.now > daedalus.begin")
    assert browser.errors() == []


def test_something_is_seen(browser, tmp_path):
    delta_run().animate(tmp_path / "run.html")
    browser.open(tmp_path / "run.html")
    browser.wait("window.daedalus")
    colours = browser.ask("""(() => {
      daedalus.stage.render();
      const gl = daedalus.stage.renderer.getContext(), w = gl.drawingBufferWidth, h = gl.drawingBufferHeight;
      const pixels = new Uint8Array(4 * w * h);
      gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      const seen = new Set();
      for (let k = 0; k < pixels.length; k += 4) seen.add(pixels[k] << 16 | pixels[k + 1] << 8 | pixels[k + 2]);
      return seen.size;
    })()""")
    assert colours > 50


def test_switches_and_views_work(browser, tmp_path):
    k = catalogue.load("four_bar")
    dd.simulate(k.model, k.span).animate(tmp_path / "run.html")
    browser.open(tmp_path / "run.html")
    browser.wait("window.daedalus")
    count = "daedalus.stage.objects.filter(o => o.visible && o.userData.shape.group === 'frames').length"
    assert browser.ask(count) == 0
    browser.ask("[...document.querySelectorAll('.dd-switch')].find(l => l.textContent.includes('frames')).click()")
    assert browser.ask(count) == 3
    for view in ("3D", "front", "side", "top"):
        browser.ask(f"[...document.querySelectorAll('.dd-view')].find(b => b.textContent === '{view}').click()")
    browser.ask("document.querySelector('.dd-view[title]').click()")
    assert browser.ask("document.documentElement.dataset.shade") == "dark"
    assert browser.errors() == []


@pytest.mark.wide
def test_several_runs_over_each_other(browser, tmp_path):
    k = catalogue.load("pendulum_3d")
    one = dd.simulate(k.model, 2.0, inputs=k.inputs)
    two = dd.simulate(k.model, 1.0, inputs=k.inputs, parameters={"gravity": 1.62})
    film = one.animate(tmp_path / "run.html", compare=two, labels=["earth", "moon"])
    assert [scene.label for scene in film.scenes] == ["earth", "moon"]
    browser.open(tmp_path / "run.html")
    browser.wait("window.daedalus")
    browser.ask("daedalus.seek(0.8)")
    for k, run in enumerate((one, two)):
        np.testing.assert_allclose(browser.ask(f"daedalus.pose('position', {k})"), run.at(0.8)["position"], atol=1e-4)
    # A run that ends early stays where it ended.
    browser.ask("daedalus.seek(1.9)")
    np.testing.assert_allclose(browser.ask("daedalus.pose('position', 1)"), two["position"][-1], atol=1e-4)


def test_inside_a_notebook():
    text = delta_run().animate()._repr_html_()
    assert text.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')


def test_a_film_as_gif(tmp_path):
    from PIL import Image

    delta_run().animate(tmp_path / "run.gif", speed=2.0)
    with Image.open(tmp_path / "run.gif") as film:
        assert film.n_frames == 6
        assert film.info["duration"] == 40
        first = np.asarray(film.convert("RGB")).astype(int)
        film.seek(5)
        assert np.abs(np.asarray(film.convert("RGB")).astype(int) - first).max() > 50


def test_films_have_the_page_s_colours_and_camera(browser, tmp_path):
    """The bodies of a film are where those of the page are: their pixels lie over each other."""
    from PIL import Image

    from daedalus.display.motion.drawn_scene import scene_picture

    k = catalogue.load("slider_crank")
    film = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs).animate(tmp_path / "run.html", curves=[])
    browser.window(640, 440)
    try:
        browser.open(tmp_path / "run.html")
        browser.wait("window.daedalus")
        browser.ask("daedalus.hidden.add('forces'), daedalus.hidden.add('traces'), daedalus.stage.show()")
        browser.ask("daedalus.seek(0.3)")
        browser.ask("document.querySelectorAll('.dd-tools, .dd-legend').forEach(e => e.remove())")
        box = browser.ask("(b => [b.left, b.top, b.right, b.bottom])(daedalus.canvas.getBoundingClientRect())")
        browser.picture(tmp_path / "page.png")
    finally:
        browser.window(1200, 800)
    with Image.open(tmp_path / "page.png") as shot:
        page = shot.convert("RGB").crop(tuple(round(edge) for edge in box))
    data = {**film.data, "hidden": [*film.data["hidden"], "forces", "traces"]}
    drawn = scene_picture(film.scenes, data, 0.3 * (len(film.scenes[0].times) - 1), page.size)
    for rule in (lambda r, g, b: r - b > 60, lambda r, g, b: b - r > 60, lambda r, g, b: (g - r > 50) & (g - b > 20)):
        seen, ours = (rule(*np.moveaxis(np.asarray(image).astype(int), 2, 0)) for image in (page, drawn))
        assert ours.sum() > 50
        assert (seen & ours).sum() > 0.6 * (seen | ours).sum()


def test_mp4_without_a_codec_is_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(dd.InputError, match="needs ffmpeg") as error:
        delta_run().animate(tmp_path / "run.mp4")
    assert "run.gif" in str(error.value)


def test_mp4_hands_every_frame_to_ffmpeg(tmp_path, monkeypatch):
    (tmp_path / "ffmpeg").write_text('#!/bin/sh\necho "$@" > told; for last; do :; done; /bin/cat > "$last"\n')
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    delta_run().animate("run.mp4", speed=2.0)
    told = (tmp_path / "told").read_text().split()
    width, height = map(int, told[told.index("-s") + 1].split("x"))
    assert width % 2 == height % 2 == 0
    assert (tmp_path / "run.mp4").stat().st_size == 6 * width * height * 3


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed: no MP4 can be written")
def test_an_mp4_plays_as_long_as_the_run_at_its_speed(tmp_path):
    from PIL import Image

    delta_run().animate(tmp_path / "run.mp4", speed=2.0)
    # 0.25 s as shown, 25 frames per second; ffmpeg decodes what it wrote.
    subprocess.run(["ffmpeg", "-loglevel", "error", "-i", "run.mp4", "%d.png"], cwd=tmp_path, check=True)
    every = sorted(tmp_path.glob("*.png"), key=lambda file: int(file.stem))
    assert len(every) == 6
    delta_run().animate(tmp_path / "run.gif", speed=2.0)
    with Image.open(tmp_path / "run.gif") as film:
        for k in (0, 5):
            film.seek(k)
            drawn = np.asarray(film.convert("RGB")).astype(float)
            with Image.open(every[k]) as frame:
                played = np.asarray(frame.convert("RGB")).astype(float)
            assert played.shape == drawn.shape
            # Both are compressed with losses: one in its colours, the other in its edges.
            assert np.abs(played - drawn).mean() < 4.0


def test_what_ffmpeg_complains_about_is_told(tmp_path, monkeypatch):
    (tmp_path / "ffmpeg").write_text("#!/bin/sh\necho no such codec >&2\nexit 3\n")
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(dd.InputError, match="no such codec"):
        delta_run().animate(tmp_path / "run.mp4", speed=2.0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"path": "run.pdf"}, "extensions: .html"),
        ({"speed": 0.0}, "positive number"),
        ({"compare": ["x"]}, "Only runs can be compared"),
        ({"labels": ["a", "b"]}, "Every run needs one label"),
        ({"path": "no/such/folder/run.html"}, "The folder does not exist"),
        ({"curves": ["nothing"]}, "no variable 'nothing'"),
    ],
)
def test_wrong_calls_are_refused_in_words(arguments, text):
    with pytest.raises(dd.InputError) as error:
        delta_run().animate(**arguments)
    assert text in str(error.value)
