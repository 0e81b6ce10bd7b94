"""The page of the studio in a real browser."""

import numpy as np
import pytest
from page_measures import overlapping_texts, wider_than_the_page
from studio_process import MODEL, Studio

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import daedalus as dd


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    one = Studio(tmp_path_factory.mktemp("studio"), MODEL)
    yield one
    one.close()


def field(name):
    return f"document.querySelector('[data-name=\"{name}\"]')"


def typed(name, text):
    return f"(f => {{ f.value = '{text}'; f.dispatchEvent(new Event('input')); }})({field(name)})"


@pytest.fixture
def page(studio, browser):
    for job in studio.ask("jobs")[1]:
        studio.ask(f"jobs/{job['number']}", "DELETE")
    browser.open(studio.address)
    # It runs once as it is opened.
    browser.wait("window.studio && studio.active === null && studio.shown !== null && studio.jobs.size === 1")
    return browser


def test_the_page_runs_a_model_end_to_end(page, studio):
    assert page.ask(f"{field('parameters.length')}.value") == "0.5"
    page.ask(typed("parameters.length", "0.8"))
    page.ask("studio.go.click()")
    page.wait("studio.jobs.size === 2 && studio.active === null && studio.shown === Math.max(...studio.jobs.keys())")
    assert "reached t = 5" in page.ask("studio.status.textContent")
    # Curves and poses are those of the run.
    values = "[...daedalus.panels.find(p => p.label.startsWith('angle')).series[0].values]"
    names = {}
    exec(MODEL, names)
    tr = dd.simulate(names["model"], 5.0, inputs=names["inputs"], parameters={"length": 0.8})
    drawn = page.ask(values)
    np.testing.assert_allclose(drawn[-1], tr["angle"][-1], rtol=1e-5)
    page.wait("daedalus.stage")
    page.ask("daedalus.seek(2)")
    angle = tr.at(2.0)["angle"]
    np.testing.assert_allclose(
        page.ask("daedalus.pose('bob')")[:2], 0.8 * np.array([np.sin(angle), -np.cos(angle)]), atol=1e-3
    )
    assert "explicit ODE" in page.ask("studio.sentence.textContent")
    # A second run is put over the first.
    page.ask(typed("parameters.length", "0.3"))
    page.ask("studio.go.click()")
    page.wait("studio.jobs.size === 3 && studio.active === null && studio.compared.size === 1")
    page.ask("[...document.querySelectorAll('.run input[type=checkbox]')].find(b => !b.checked).click()")
    page.wait("studio.viewer.runs.length === 2")
    page.ask("[...document.querySelectorAll('.run button')].find(b => b.textContent === 'Python').click()")
    page.wait("studio.python")
    assert '"length": 0.3' in page.ask("studio.python")
    assert page.errors() == []


def test_vectors_have_a_field_for_each_element(page, studio):
    names = page.ask("studio.fields.filter(f => f.group === 'parameters').map(f => [f.told.name, f.input.value])")
    assert names == [["length", "0.5"], ["wind[0]", "0"], ["wind[1]", "0.25"]]
    page.ask(typed("parameters.wind[1]", "0.75"))
    page.ask("studio.go.click()")
    page.wait("studio.jobs.size === 2 && studio.active === null")
    job = max(studio.ask("jobs")[1], key=lambda job: job["number"])
    assert job["values"]["parameters"] == {"wind[1]": "0.75"}
    assert job["state"] == "done"


def test_wrong_input_shows_its_message_and_goes_away(page):
    page.ask(typed("parameters.length", "short"))
    page.ask("studio.go.click()")
    page.wait("!studio.error.hidden")
    told = page.ask("studio.error.textContent")
    assert "length = short cannot be read." in told
    assert "Try: 0.5" in told
    assert page.ask("document.querySelector('.wrong input').dataset.name") == "parameters.length"
    page.ask("studio.reset.click()")
    page.ask("studio.go.click()")
    page.wait("studio.error.hidden && studio.active === null && !document.querySelector('.wrong')")


def test_curves_and_motion_grow_while_a_run_goes_on_and_stay_after_a_stop(page):
    page.ask(typed("span.to", "1e7"))
    page.ask("studio.go.click()")
    page.wait("studio.active !== null && studio.viewer.job === studio.active && studio.viewer.stage")
    first = page.ask("[daedalus.end, daedalus.now]")
    assert first[0] == first[1] > 0  # one sees the newest moment
    page.ask("window.before = daedalus, 0")
    page.ask("daedalus.stage.azimuth = 1.25")
    page.wait(f"daedalus.end > {first[0]}")
    assert page.ask("studio.active !== null && before === daedalus && daedalus.now === daedalus.end")
    assert page.ask("daedalus.stage.azimuth") == 1.25  # as one has turned it
    assert "explicit ODE" in page.ask("studio.sentence.textContent")
    assert page.ask("document.querySelector('.run .what').textContent") == "running"
    curve = "daedalus.panels.find(p => p.label.startsWith('angle')).series[0].values"
    assert page.ask(f"{curve}.length === daedalus.times.length && {curve}.every(Number.isFinite)")
    # The pendulum hangs where its newest angle says.
    angle, place = page.ask(f"[{curve}.at(-1), daedalus.pose('bob')]")
    np.testing.assert_allclose(place[:2], 0.5 * np.array([np.sin(angle), -np.cos(angle)]), atol=1e-5)
    # Whoever looks at an earlier time stays there.
    page.ask("daedalus.seek(daedalus.begin)")
    reached = page.ask("daedalus.end")
    page.wait(f"daedalus.end > {reached}")
    assert page.ask("daedalus.now") == 0
    reached = page.ask("daedalus.end")
    page.ask("studio.halt.click()")
    page.wait("studio.active === null && studio.shown === Math.max(...studio.jobs.keys())")
    assert "interrupted by the user" in page.ask("studio.status.textContent")
    end, until, times, count = page.ask(f"[daedalus.end, daedalus.until, daedalus.times.length, {curve}.length]")
    assert end == until >= reached
    assert times == count > 100
    assert page.errors() == []


def test_stop_and_ten_quick_clicks_in_the_page(page):
    page.ask(typed("span.to", "1e7"))
    page.ask("studio.go.click()")
    page.wait("!studio.halt.disabled && studio.status.textContent.includes('running')")
    page.ask("studio.halt.click()")
    page.wait("studio.halt.disabled && !studio.error.hidden")
    assert "Stopped" in page.ask("studio.error.textContent")
    page.ask(typed("span.to", "2"))
    page.ask("for (let k = 0; k < 10; k++) studio.go.click()")
    page.wait("studio.active === null && studio.status.textContent.includes('reached t = 2')")
    assert page.ask("studio.jobs.size") == 3
    assert page.errors() == []


@pytest.mark.wide
def test_run_and_stop_are_in_reach_in_a_narrow_window(page):
    page.window(420, 900)
    try:
        page.ask("studio.stage.scrollIntoView()")
        for button in ("go", "halt"):
            left, top, right, bottom = page.ask(
                f"(b => [b.left, b.top, b.right, b.bottom])(studio.{button}.getBoundingClientRect())"
            )
            assert 0 <= left < right <= 420
            assert 0 <= top < bottom <= 900
        assert page.ask("document.documentElement.scrollWidth") == 420
    finally:
        page.window(1200, 800)


@pytest.mark.wide
def test_the_page_fits_its_window_and_no_text_lies_over_another(page):
    try:
        for width in (360, 768, 1280):
            page.window(width, 900)
            assert wider_than_the_page(page) == []
            assert overlapping_texts(page) == []
    finally:
        page.window(1200, 800)


def test_a_closed_tab_harms_nothing(page, studio):
    page.ask(typed("span.to", "1e7"))
    page.ask("studio.go.click()")
    page.wait("studio.active !== null")
    page.open("about:blank")
    number = max(job["number"] for job in studio.ask("jobs")[1])
    studio.ask(f"jobs/{number}/stop", "POST", {})
    assert studio.ended(number)["state"] == "stopped"
    assert studio.ended(studio.ask("run", "POST", {"end": "1"})[1]["number"])["state"] == "done"


def test_a_page_from_elsewhere_gets_nothing(browser, studio, tmp_path):
    (tmp_path / "evil.html").write_text("<title>elsewhere</title>")
    browser.open(tmp_path / "evil.html")
    before = len(studio.ask("jobs")[1])
    for mode in ("cors", "no-cors"):
        call = f"fetch('{studio.address}run', {{method: 'POST', mode: '{mode}', body: '{{}}'}})"
        told = browser.ask(f"{call}.then(a => a.type + ' ' + a.status, () => 'refused')")
        assert told in ("refused", "opaque 0")
    assert len(studio.ask("jobs")[1]) == before
