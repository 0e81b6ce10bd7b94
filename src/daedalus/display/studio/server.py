"""`daedalus studio FILE`: the page, the doors behind it, and the server on the loopback."""

from __future__ import annotations

import json
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from daedalus.display.cards.card import STYLE
from daedalus.display.motion.page import read_text as page_text
from daedalus.display.motion.page import viewer_scripts
from daedalus.display.studio.guard import Guard
from daedalus.display.studio.job import GROUPS, RunValues, error_parts, read_comparison, read_text, read_values
from daedalus.display.studio.workshop import Limits, Workshop
from daedalus.errors import DaedalusError, InputError

REFUSED = 422
NUMBER = re.compile(r"[0-9]{1,9}")
CATALOGUE = "catalogue:"


class PlainJSON(JSONResponse):
    """JSON of plain characters: whatever a request holds can be told back."""

    def render(self, content: Any) -> bytes:
        """The answer as bytes."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class Doors:
    """What the page can ask for; each answer is JSON, and what cannot be done is an error in four parts."""

    def __init__(self, workshop: Workshop, address: str) -> None:
        self._workshop, self._address = workshop, address

    def routes(self) -> list[Route]:
        """The doors, below the token."""
        root = "/{token}"
        return [
            Route(f"{root}/", self.page),
            Route(f"{root}/model", told(self.model)),
            Route(f"{root}/jobs", told(self.jobs)),
            Route(f"{root}/run", told(self.run), methods=["POST"]),
            Route(f"{root}/compare", told(self.compare), methods=["POST"]),
            Route(f"{root}/jobs/{{number}}", told(self.job)),
            Route(f"{root}/jobs/{{number}}", told(self.forget), methods=["DELETE"]),
            Route(f"{root}/jobs/{{number}}", told(self.change), methods=["PATCH"]),
            Route(f"{root}/jobs/{{number}}/stop", told(self.stop), methods=["POST"]),
            Route(f"{root}/jobs/{{number}}/data", told(self.data)),
            Route(f"{root}/jobs/{{number}}/python", told(self.python)),
        ]

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return HTMLResponse(studio_page())

    async def model(self, request: Request) -> Response:
        """The form of the model; empty while it is being loaded."""
        return PlainJSON({"form": self._workshop.form, "unusable": self._workshop.unusable, "address": self._address})

    async def jobs(self, request: Request) -> Response:
        """All runs that are remembered."""
        return PlainJSON([job.told_to_page() for job in self._workshop.jobs()])

    async def run(self, request: Request) -> Response:
        """Begin a run."""
        values = read_values(await _body(request))
        return PlainJSON((await run_in_threadpool(self._workshop.run, values)).told_to_page())

    async def compare(self, request: Request) -> Response:
        """Begin a comparison."""
        runs = read_comparison(await _body(request))
        return PlainJSON((await run_in_threadpool(self._workshop.compare, runs)).told_to_page())

    async def job(self, request: Request) -> Response:
        """How far a job is."""
        return PlainJSON(self._workshop.job(_number(request)).told_to_page())

    async def stop(self, request: Request) -> Response:
        """End a job."""
        self._workshop.stop(_number(request))
        return PlainJSON({})

    async def forget(self, request: Request) -> Response:
        """Drop a job."""
        self._workshop.forget(_number(request))
        return PlainJSON({})

    async def change(self, request: Request) -> Response:
        """Name a run, or keep it."""
        asked = await _body(request)
        label, kept = (asked.get("label"), asked.get("kept")) if isinstance(asked, dict) else (None, None)
        if not isinstance(kept, bool | None):
            raise InputError('"kept" must be true or false.', f"got {str(kept)[:60]}", remedy='{"kept": true}')
        label = None if label is None else read_text("the label", label)
        return PlainJSON(self._workshop.change(_number(request), label, kept).told_to_page())

    async def data(self, request: Request) -> Response:
        """What the viewer shows of a job."""
        job = self._workshop.job(_number(request))
        if not job.data:
            raise InputError(f"There is nothing to show of number {job.number}.", f"it is {job.state}")
        return Response(job.data, media_type="application/json")

    async def python(self, request: Request) -> Response:
        """A run as Python."""
        job = self._workshop.job(_number(request))
        if job.values is None:
            raise InputError(f"Number {job.number} is a comparison.", remedy="the number of a run")
        return PlainTextResponse(python_text(self._address, job.values))


def told(door: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """A door whose errors are answers."""

    async def answer(request: Request) -> Response:
        try:
            return await door(request)
        except ClientDisconnect:
            return PlainTextResponse("The request was too long or incomplete.", 413)
        except (DaedalusError, ValueError) as error:
            return PlainJSON({"error": error_parts(error)}, REFUSED)

    return answer


def _number(request: Request) -> int:
    """The number of a job in a path."""
    text = request.path_params["number"]
    if not NUMBER.fullmatch(text):
        raise InputError(f"There is no run {text[:40]}.", "runs have numbers", remedy="1")
    return int(text)


async def _body(request: Request) -> Any:
    """The JSON of a request, refused in words where it is none."""
    try:
        return await request.json()
    except (ValueError, RecursionError) as error:
        raise InputError("The request is not JSON.", str(error)[:120]) from None


def studio_app(workshop: Workshop, address: str, token: str, port: int) -> Guard:
    """The whole of it, behind its guard."""
    return Guard(Starlette(routes=Doors(workshop, address).routes()), token, port)


def serve(load: Callable[[], Any], address: str, port: int, limits: Limits, announce: Callable[[str], None]) -> None:
    """Serve the studio on the loopback until Ctrl-C; `announce` gets its address once it can be opened.

    port: 0 for any that is free.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise InputError(f"Port {port} cannot be used.", str(error), remedy="--port 0, for any that is free") from error
    listener.listen(64)
    token, own = secrets.token_urlsafe(24), listener.getsockname()[1]
    workshop = Workshop(load, limits)
    settings = uvicorn.Config(
        studio_app(workshop, address, token, own), log_level="warning", access_log=False, lifespan="off",
        limit_concurrency=64, timeout_keep_alive=5, timeout_graceful_shutdown=1, server_header=False, ws="none",
    )  # fmt: skip
    try:
        announce(f"http://127.0.0.1:{own}/{token}/")
        uvicorn.Server(settings).run(sockets=[listener])
    finally:
        workshop.close()
        listener.close()


def python_text(address: str, values: RunValues) -> str:
    """Lines that load the model as the studio did and simulate it with the same values."""
    lines = ["import daedalus as dd", *_loading(address)]
    if "" in (values.begin.strip(), values.end.strip()):
        span = "span"
    else:
        span = f"({_plain_number(values.begin)}, {_plain_number(values.end)})"
    arguments = [f"model, {span}"]
    arguments += [f"{group}={{**{group}, {_items(group, getattr(values, group))}}}" if getattr(values, group)
                  else f"{group}={group}" for group in GROUPS]  # fmt: skip
    arguments += [f"method={json.dumps(values.method)}"] if values.method != "auto" else []
    arguments += [f"rtol={_plain_number(values.rtol)}"]
    joined = ",\n    ".join(arguments)
    return "\n".join([*lines, "", f"tr = dd.simulate(\n    {joined},\n)", "print(tr.stop_reason)", "tr.plot()", ""])


def _loading(address: str) -> list[str]:
    if address.startswith(CATALOGUE):
        name = json.dumps(address.removeprefix(CATALOGUE))
        return [
            "from daedalus import catalogue", "", f"known = catalogue.load({name})",
            "model, span, parameters = known.model, known.span, {}",
            "start, inputs = dict(known.start), dict(known.inputs)",
        ]  # fmt: skip
    return [
        "import runpy", "", f"names = runpy.run_path({json.dumps(address)})",
        "model = next(value for value in names.values() if isinstance(value, dd.Model))",
        'start, inputs, parameters = (names.get(name) or {} for name in ("start", "inputs", "parameters"))',
        'span = names.get("span") or 10.0',
    ]  # fmt: skip


def _items(group: str, texts: Mapping[str, str]) -> str:
    return ", ".join(f"{json.dumps(name)}: {_value(group, text)}" for name, text in texts.items())


def _value(group: str, text: str) -> str:
    if group == "inputs" and ":" in text:
        pairs = [part.partition(":") for part in text.split(",") if part.strip()]
        rows: list[Any] = [_value("", value) for _, _, value in pairs]
        return f"dd.signal([{', '.join(_plain_number(t) for t, _, _ in pairs)}], [{', '.join(rows)}])"
    words = text.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
    return _plain_number(words[0]) if len(words) == 1 else f"[{', '.join(_plain_number(word) for word in words)}]"


def _plain_number(text: str) -> str:
    return repr(float(text))


# -- the page --------------------------------------------------------------------------------------------------------


HERE = Path(__file__).parent


@cache
def studio_page() -> str:
    """The page as text; it asks for everything else at its own address."""
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("studio.css", "studio.js"))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Daedalus studio</title><link rel="icon" href="data:,">
{STYLE}<style>{page_text("viewer.css")}{style}</style></head>
<body><aside id="desk" aria-label="values and runs"></aside><main id="stage" aria-label="what happens"></main>
{viewer_scripts()}
<script>{script}</script>
<script>window.studio = new DaedalusStudio(document.getElementById("desk"), document.getElementById("stage"));</script>
</body></html>
"""
