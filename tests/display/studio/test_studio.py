"""The studio from outside: a real process, its doors, its guard, and its page in a real browser."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from urllib.parse import urlsplit

import numpy as np
import pytest
from page_measures import overlapping_texts, wider_than_the_page

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import daedalus as dd
from daedalus import command_line

MODEL = """
import time
import daedalus as dd
import numpy as np

model = dd.Model("pendulum")
angle = model.state("angle", start=2.0, rate=0.0, unit="rad")
length = model.parameter("length", 0.5, unit="m")
torque = model.input("torque")
model.equation(length**2 * model.der(model.der(angle)), torque - 9.81 * length * np.sin(angle))
model.output("height", -length * np.cos(angle))
bob = [length * np.sin(angle), -length * np.cos(angle)]
model.draw("rod", [0, 0], to=bob)
model.draw("sphere", bob, radius=0.05, name="bob")
inputs = {"torque": 0.0}
wind = model.parameter("wind", [0.0, 0.25], unit="m/s")
span = (0.0, 5.0)
"""
ENDLESS = """
import daedalus as dd

model = dd.Model("endless")
x = model.state("x", start=1.0)
u = model.discrete("u", start=0.0)
k = model.parameter("k", 1.0)
model.equation(model.der(x), -k * x + u)

def stuck(t, values, memory):
    while t > 0:
        pass
    return (0.0,), memory

model.every(0.5, call=stuck, reads=["x"], writes=["u"], memory=None)
"""
# A controller that is slow, and in the end neither answers nor hears.
DEAF = """
import pathlib
import time
import daedalus as dd

model = dd.Model("deaf")
x = model.state("x", start=1.0)
u = model.discrete("u", start=0.0)
model.equation(model.der(x), -x + u)

def controller(t, values, memory):
    while t > 2:
        pathlib.Path("deaf").touch()
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
    time.sleep(0.02)
    return (1.0 if values[0] < 0.5 else 0.0,), memory

model.every(0.1, call=controller, reads=["x"], writes=["u"], memory=None)
span = (0.0, 100.0)
"""


class Studio:
    """A studio in a process of its own, and requests as its page makes them."""

    def __init__(self, folder, text, *options):
        (folder / "model.py").write_text(text)
        command = [sys.executable, "-m", "daedalus.command_line", "studio", "model.py", "--no-browse", *options]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
        )
        told = self.process.stdout.readline()
        assert "http://" in told, told + self.process.stdout.read()
        self.address = re.search(r"http://\S+", told)[0]
        self.parts = urlsplit(self.address)

    def close(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def ask(self, path, method="GET", body=None, **headers):
        """(status, body) of a request; headers of the studio's own page unless given."""
        own = {"Origin": f"http://{self.parts.netloc}", "Host": self.parts.netloc}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection(self.parts.hostname, self.parts.port, timeout=300)
        where = path if path.startswith("/") else self.parts.path + path
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, where, data, {n: v for n, v in own.items() if v is not None})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if "json" in answer.headers.get("content-type", "") else text

    def ended(self, number, patience=300):
        """A job once it has ended."""
        return self.until(number, lambda job: job["state"] not in ("waiting", "running"), patience)

    def until(self, number, condition, patience=300):
        """A job once something is so."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            job = self.ask(f"jobs/{number}")[1]
            if condition(job):
                return job
            time.sleep(0.05)
        raise TimeoutError(f"never so: {job}")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    one = Studio(tmp_path_factory.mktemp("studio"), MODEL)
    yield one
    one.close()


def test_a_run_from_values_to_data(studio):
    code, job = studio.ask("run", "POST", {"parameters": {"length": "0.8"}, "end": "2"})
    assert code == 200
    done = studio.ended(job["number"])
    assert (done["state"], done["told"]["success"], done["share"]) == ("done", True, 1.0)
    assert "reached t = 2" in done["told"]["stop_reason"]
    assert "index 0" in done["verdict"] or "ODE" in done["verdict"]
    code, data = studio.ask(f"jobs/{job['number']}/data")
    assert code == 200
    assert {panel["label"] for panel in data["panels"]} >= {"angle [rad]"}


def test_the_python_of_a_run_makes_it_again(studio, tmp_path, monkeypatch):
    told = {
        "parameters": {"length": "0.7"},
        "start": {"angle": "1.5"},
        "inputs": {"torque": "0: 0.5, 1: 0"},
        "end": "2",
    }
    number = studio.ask("run", "POST", {**told, "begin": "0"})[1]["number"]
    assert studio.ended(number)["state"] == "done"
    code, text = studio.ask(f"jobs/{number}/python")
    assert code == 200
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(text.replace("tr.plot()", ""), names)
    data = studio.ask(f"jobs/{number}/data")[1]
    panel = next(panel for panel in data["panels"] if panel["label"].startswith("angle"))
    import base64

    drawn = np.frombuffer(base64.b64decode(panel["series"][0]["values"]), "<f4")
    assert drawn[-1] == pytest.approx(float(names["tr"]["angle"][-1]), rel=1e-5)
    assert names["tr"].at(0.5)["torque"] == 0.5


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"parameters": {"lenght": "1"}}, "The model has no parameter 'lenght'."),
        ({"parameters": {"length": "long"}}, "length = long cannot be read."),
        ({"start": {"angle": "nan"}}, "angle = nan cannot be read."),
        ({"end": "0"}, "The run has no length."),
        ({"method": "magic"}, "There is no method 'magic'."),
        ({"rtol": "-1"}, "rtol must be"),
    ],
)
def test_wrong_values_are_told(studio, body, what):
    job = studio.ended(studio.ask("run", "POST", body)[1]["number"])
    assert job["state"] == "failed"
    assert job["error"]["what"].startswith(what.rstrip("."))


@pytest.mark.parametrize(
    ("path", "method", "body", "what"),
    [
        ("run", "POST", "{", "The request is not JSON."),
        ("run", "POST", [1], "A request for a run must be an object of values."),
        ("run", "POST", {"speed": "1"}, "Runs take no 'speed'."),
        ("run", "POST", {"parameters": {"length": 3}}, "The value of length is not a short text."),
        ("compare", "POST", {"runs": []}, "A comparison takes 1 to 6 numbers of runs."),
        ("compare", "POST", {"runs": [9999]}, "There is no run 9999."),
        ("jobs/9999", "GET", None, "There is no run 9999."),
    ],
)
def test_wrong_requests_are_told(studio, path, method, body, what):
    code, answer = studio.ask(path, method, body)
    assert (code, answer["error"]["what"]) == (422, what)


def test_strangers_are_refused(studio):
    for headers, code, text in (
        ({"Host": "evil.example"}, 421, "does not answer to the host 'evil.example'"),
        ({"Host": f"evil.example:{studio.parts.port}"}, 421, "does not answer"),
        ({"Origin": "http://evil.example"}, 403, "Requests from 'http://evil.example' are refused"),
        ({"Origin": "null"}, 403, "refused"),
        ({"Origin": None}, 403, "must tell its origin"),
        ({"Sec_Fetch_Site": "cross-site"}, 403, "other sites"),
    ):
        found, answer = studio.ask("run", "POST", {}, **headers)
        assert (found, text in answer) == (code, True), answer
    assert studio.ask("/", Origin=None)[0] == 403
    assert studio.ask("/wrong-token/model", Origin=None)[0] == 403
    assert studio.ask("run", "POST", "x" * 300_000)[0] == 413
    assert studio.process.poll() is None


@pytest.mark.parametrize(
    "line",
    [b"OPTIONS *", b"GET *", b"GET x", b"GET http://127.0.0.1/", b"\xff\xfe \x00", b"GET /" + b"9" * 9000, b"GET"],
)
def test_lines_that_are_no_request_get_an_answer(studio, line):
    """Byte for byte, as no library would send them."""
    own = f"Host: {studio.parts.netloc}\r\nOrigin: http://{studio.parts.netloc}\r\n".encode()
    with socket.create_connection((studio.parts.hostname, studio.parts.port), 30) as connection:
        connection.sendall(line + b" HTTP/1.1\r\n" + own + b"Connection: close\r\n\r\n")
        answer = connection.recv(4096)
    assert re.match(rb"HTTP/1\.1 4\d\d", answer), answer[:80]
    status, told = studio.ask("jobs/" + "7" * 5000)
    assert (status, told["error"]["what"]) == (422, "There is no run " + "7" * 40 + ".")
    assert studio.ask("jobs")[0] == 200


def test_the_page_is_whole_and_held_to_its_own_address(studio):
    connection = HTTPConnection(studio.parts.hostname, studio.parts.port, timeout=300)
    connection.request("GET", studio.parts.path)
    answer = connection.getresponse()
    text = answer.read().decode()
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert "http://" not in re.sub(r'<script type="text/plain".*?</script>', "", text, flags=re.S)
    connection.close()


def test_ten_quick_clicks(studio):
    numbers = [studio.ask("run", "POST", {"end": str(1 + k)})[1]["number"] for k in range(10)]
    assert studio.ended(numbers[-1])["state"] == "done"
    assert all(studio.ended(n)["state"] in ("done", "stopped") for n in numbers)


def test_runs_are_named_kept_compared_and_forgotten(studio):
    first, second = (
        studio.ended(studio.ask("run", "POST", {"parameters": {"length": text}})[1]["number"])["number"]
        for text in ("0.4", "0.9")
    )
    assert studio.ask(f"jobs/{first}", "PATCH", {"label": "short", "kept": True})[1]["kept"]
    both = studio.ended(studio.ask("compare", "POST", {"runs": [first, second]})[1]["number"])
    data = studio.ask(f"jobs/{both['number']}/data")[1]
    assert [run["label"] for run in data["runs"]] == ["short", f"run {second}"]
    assert studio.ask(f"jobs/{second}", "DELETE")[0] == 200
    assert studio.ask(f"jobs/{second}")[0] == 422
    for _ in range(30):
        studio.ask("run", "POST", {"end": "0.1"})
    assert studio.ask(f"jobs/{first}")[0] == 200
    assert len(studio.ask("jobs")[1]) <= 30


def test_a_long_run_is_stopped_and_shows_what_it_has(studio):
    number = studio.ask("run", "POST", {"end": "1e7"})[1]["number"]
    studio.until(number, lambda job: job["seen"] > 0)
    partial = studio.ask(f"jobs/{number}/data")[1]
    assert partial["until"] < 1e7
    assert partial["runs"][0]["shapes"]
    assert studio.ask(f"jobs/{number}/stop", "POST", {})[0] == 200
    job = studio.ended(number)
    assert job["state"] == "stopped"
    assert job["error"]["what"] == "Stopped by you."
    assert "interrupted by the user at t = " in job["told"]["stop_reason"]
    assert studio.ask(f"jobs/{number}/data")[0] == 200
    assert studio.ended(studio.ask("run", "POST", {"end": "1"})[1]["number"])["state"] == "done"


@pytest.mark.wide
def test_what_was_seen_of_a_run_stays_when_its_worker_falls(tmp_path):
    one = Studio(tmp_path, DEAF)
    try:
        number = one.ask("run", "POST", {})[1]["number"]
        seen = one.until(number, lambda job: job["seen"] > 1)
        assert (seen["state"], seen["told"]) == ("running", {})
        one.until(number, lambda job: (tmp_path / "deaf").exists())
        assert one.ask(f"jobs/{number}/stop", "POST", {})[0] == 200
        job = one.ended(number)
        assert (job["state"], job["told"]) == ("stopped", {})
        code, data = one.ask(f"jobs/{number}/data")
        assert code == 200
        assert [panel["label"] for panel in data["panels"]] == ["x", "u"]
        assert one.ended(one.ask("run", "POST", {"end": "0.4"})[1]["number"])["state"] == "done"
    finally:
        one.close()


@pytest.mark.wide
def test_an_endless_model_is_survived(tmp_path):
    one = Studio(tmp_path, ENDLESS, "--time-limit", "4")
    try:
        job = one.ended(one.ask("run", "POST", {})[1]["number"])
        assert job["state"] == "stopped"
        assert "longer than 4 s" in job["error"]["what"]
        # A new worker is there.
        assert one.ended(one.ask("run", "POST", {"end": "0.4"})[1]["number"])["state"] == "done"
    finally:
        one.close()


def test_a_file_without_a_model_is_told_before_anything_opens(tmp_path):
    (tmp_path / "model.py").write_text("x = 1")
    with pytest.raises(dd.InputError, match="defines no model"):
        command_line.studio(str(tmp_path / "model.py"), browse=False)


def test_without_its_server_the_studio_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "daedalus.display.studio.server", None)
    with pytest.raises(dd.InputError) as caught:
        command_line.studio("catalogue:pendulum_3d", browse=False)
    assert (caught.value.what, caught.value.remedy) == (
        "The studio is not installed.",
        'pip install "daedalus[studio]"',
    )


# -- in a browser ------------------------------------------------------------------------------------------------------


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
