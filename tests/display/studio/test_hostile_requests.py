"""Requests of random bytes to every door of the studio: each gets an answer, and none harms the next."""

import asyncio
import json
import threading

import numpy as np
import pytest

pytest.importorskip("starlette")

from daedalus.display.studio.server import studio_app
from daedalus.display.studio.workshop import Limits, Workshop

TOKEN, PORT = "token", 8000
METHODS = ("GET", "HEAD", "POST", "DELETE", "PATCH", "PUT", "OPTIONS", "TRACE", "X")
DOORS = ("", "/", "/model", "/jobs", "/run", "/compare", "/jobs/1", "/jobs/1/stop", "/jobs/1/data", "/jobs/1/python")
BODIES = (
    b"", b"{}", b"[]", b"null", b"1", b'"x"', b"{", b"\xff\xfe", b'{"label": "\\ud800"}', b'{"kept": 1}',
    b'{"begin": "\\ud800"}', b'{"inputs": {"\\udfff": "1"}}', b'{"runs": [1, 1e400, NaN]}',
    b'{"runs": [%s]}' % (b"9" * 4000),
    b"[" * 50_000, b'{"runs": [1]}', b'{"start": {"x": "1e999"}}', b'{"rtol": "\\u0000"}',
    b'{"label": null, "kept": true}',
    b'{"a\\ud800": 1}',
)  # fmt: skip


class Still(Workshop):
    """A workshop that begins nothing."""

    def _start_worker(self) -> None:
        self._is_ready = False

    def _end_worker(self) -> None:
        pass

    def _watch(self) -> None:
        pass


@pytest.fixture
def app():
    workshop = Still(lambda: None, Limits())
    yield studio_app(workshop, "model.py", TOKEN, PORT)
    workshop._closed.set()
    assert isinstance(workshop._thread, threading.Thread)


def asked(app, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    own = {"host": f"127.0.0.1:{PORT}", "origin": f"http://127.0.0.1:{PORT}", **(headers or {})}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode("utf-8", "surrogatepass"), "query_string": b"", "root_path": "", "scheme": "http",
        "headers": [(n.encode("latin-1"), v.encode("latin-1", "replace")) for n, v in own.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT),
    }  # fmt: skip
    answers: list[dict] = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        answers.append(message)

    asyncio.run(app(scope, receive, send))
    return answers[0]["status"], b"".join(a.get("body", b"") for a in answers[1:])


def is_well(app) -> bool:
    """Whether the studio still tells its runs and its model."""
    return all(asked(app, "GET", f"/{TOKEN}{door}")[0] == 200 for door in ("/", "/model", "/jobs"))


@pytest.mark.parametrize("method", METHODS)
def test_every_door_answers_every_body(app, method):
    for door in DOORS:
        for body in BODIES:
            status, text = asked(app, method, f"/{TOKEN}{door}", body)
            assert status < 500, (door, body[:40], text)
            if status == 422:
                assert json.loads(text)["error"]["what"]
    assert is_well(app)


@pytest.mark.parametrize(
    "path", ["*", "", "x", "token", "//", "/", "http://127.0.0.1:8000/token/", "\x00", "/\udcff/", "/é/"]
)
def test_paths_that_are_none_are_refused(app, path):
    for method in METHODS:
        assert 400 <= asked(app, method, path)[0] < 500


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "1.0", "٣", "²", "1e3", " 1", "0x1", "\x00", "nan", "", "%31"])
def test_numbers_that_are_none_are_refused(app, number):
    assert asked(app, "POST", f"/{TOKEN}/run", b"{}")[0] == 200
    for tail in ("", "/stop", "/data", "/python"):
        for method in METHODS:
            assert 400 <= asked(app, method, f"/{TOKEN}/jobs/{number}{tail}")[0] < 500 or number == ""
    assert is_well(app)


@pytest.mark.parametrize("length", ["²", "-1", "9" * 5000, "1e3", "", "٣", "0x10", "1 2", "nan"])
def test_lengths_that_are_none_are_refused(app, length):
    assert asked(app, "POST", f"/{TOKEN}/run", b"{}", {"content-length": length})[0] == 413


@pytest.mark.parametrize("seed", range(40))
def test_random_requests_get_an_answer(app, seed):
    random = np.random.default_rng(seed)
    for _ in range(25):
        door = str(random.choice(DOORS))
        text = list(f"/{TOKEN}{door}")
        for _ in range(random.integers(0, 4)):
            text.insert(
                int(random.integers(0, len(text) + 1)),
                chr(int(random.choice([0, 10, 37, 42, 47, 63, 233, 0x2028, 0xDC80]))),
            )
        body = random.bytes(int(random.integers(0, 60))) if random.integers(2) else bytes(random.choice(BODIES[:12]))
        extra = {
            str(random.choice(["cookie", "range", "accept", "content-type", "expect", "x"])): str(
                random.integers(0, 9) * "é"
            )
        }
        status, _ = asked(app, str(random.choice(METHODS)), "".join(text), body, extra)
        assert status < 500, text
    assert is_well(app)
