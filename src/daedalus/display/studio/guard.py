"""Who may talk to the studio: a page of its own address that knows the token, with short requests; nobody else.

A page from elsewhere can reach a server on the loopback through the user's browser. So every request must name the
studio's own host (a name that was bound to 127.0.0.1 elsewhere is refused), come from its own origin, and carry in
its path the token that the studio drew as it began.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import PlainTextResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HOSTS = ("127.0.0.1", "localhost")
LONGEST_BODY = 256 * 1024
LENGTH = re.compile(r"[0-9]{1,12}")
# The page is whole in itself: it loads nothing, is framed by nobody, and talks to its own address only.
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Stands before the studio's pages and refuses what is not theirs, with a sentence."""

    def __init__(self, app: Callable[..., Awaitable[None]], token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{host}:{port}" for host in HOSTS}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            code, text = refusal
            await PlainTextResponse(text, code, HEADERS)(scope, receive, send)
            return
        await self._app(scope, _bounded(receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, f"This Daedalus studio is local; it does not accept the host name {host[:80]!r}."
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins:
            return 403, f"Requests from {origin[:80]!r} are refused: only the studio's own page may talk to it."
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return 403, "A request that changes something must send its origin."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "Requests from other sites are refused."
        given = scope["path"].removeprefix("/").partition("/")[0] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode()):
            return (
                403,
                "The address does not contain the token of this studio.",
            )
        length = headers.get("content-length", "0")
        if not LENGTH.fullmatch(length) or int(length) > LONGEST_BODY:
            return 413, f"A request holds at most {LONGEST_BODY} bytes."
        return None


def _bounded(receive: Receive) -> Receive:
    """A body that ends where it becomes too long, whatever its headers said."""
    taken = 0

    async def bounded() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return message if taken <= LONGEST_BODY else {"type": "http.disconnect"}

    return bounded


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return sending
