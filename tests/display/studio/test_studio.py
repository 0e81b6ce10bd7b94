"""The studio from outside: a real process, its doors and its guard."""

import re
import socket
import sys
from http.client import HTTPConnection

import numpy as np
import pytest
from studio_process import MODEL, Studio

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import daedalus as dd
from daedalus import command_line

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
        ({"end": "0"}, "The run has zero length."),
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
        ({"Host": "evil.example"}, 421, "does not accept the host name 'evil.example'"),
        ({"Host": f"evil.example:{studio.parts.port}"}, 421, "does not accept"),
        ({"Origin": "http://evil.example"}, 403, "Requests from 'http://evil.example' are refused"),
        ({"Origin": "null"}, 403, "refused"),
        ({"Origin": None}, 403, "must send its origin"),
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
