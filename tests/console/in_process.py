"""A gateway in this process with its console as an ASGI application: people of any role, a clock that a test moves, no socket."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from gatewright.app.gateway import Gateway
from gatewright.config import load
from gatewright.config.console import ConsoleRole
from gatewright.console.dependencies import Dependencies
from gatewright.console.feature import ConsoleFeature
from gatewright.console.guard import Guard
from gatewright.console.people import Person
from gatewright.console.screens import made
from gatewright.console.sessions import ConsoleSessions
from gatewright.console.site import Site
from tests.console.raw import Answer, cookie_of, csrf_in
from tests.storage.parts import key_of

__all__ = ["HOST", "Client", "Within", "newest", "within"]

HOST = "127.0.0.1:8421"
_LASTS_S = 3600.0
_END: Mapping[str, Any] = {"type": "http.disconnect"}


class Within:
    """One console. `clock` has the seconds that a test adds to the time."""

    def __init__(self, gateway: Gateway, url: str = "") -> None:
        self.gateway = gateway
        self.ahead = 0.0
        self.arrives: Callable[[], object] = lambda: None
        """Called before a body is handed over, as of a request whose body comes slowly."""
        feature = next(one for one in gateway.features if isinstance(one, ConsoleFeature))
        parts: Dependencies | None = vars(feature)["_parts"]
        assert parts is not None
        self.sessions = ConsoleSessions(
            clock=self.clock,
            lasts_s=_LASTS_S,
            still=vars(parts.sessions)["_still"],
            confirm_s=vars(parts.sessions)["_confirm_s"],
            told=parts.changes.look,
        )
        self.parts = msgspec.structs.replace(parts, sessions=self.sessions, clock=self.clock)
        self.screens = made(self.parts)
        self.site = Site(self.parts, self.screens, Guard(url), url or f"http://{HOST}")

    def clock(self) -> float:
        """Unix seconds, and what a test added."""
        return time.time() + self.ahead

    def nobody(self) -> Client:
        """Who has no session."""
        return Client(self)

    async def person(self, role: ConsoleRole, name: str = "") -> Client:
        """Somebody who is signed in with a role, by the operator's key of that name where there is one."""
        key = key_of(self.parts.ground.database, name or role)
        return await self.opened(
            self.sessions.token_for(Person(name or role, role, "url", "", key))
        )

    async def opened(self, token: str) -> Client:
        """Whoever redeems a token."""
        client = self.nobody()
        answer = await client.form("/open", {"token": token})
        assert answer.status == 200, answer.text
        client.cookie, client.csrf = cookie_of(answer), csrf_in(answer.text)
        return client

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str | None], body: bytes
    ) -> Answer:
        """One request, to the end of its answer."""
        raw, _, query = path.partition("?")
        said = [(k.lower().encode(), v.encode()) for k, v in headers.items() if v is not None]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": raw,
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "headers": said,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8421),
        }
        sent: list[Any] = []
        given = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            found = next(given, None)
            if found is not None:
                self.arrives()
                return found
            await asyncio.sleep(0.01 if len(sent) > 1 else 3600)  # only streams wait for this
            return _END

        async def send(message: Any) -> None:
            sent.append(message)

        await asyncio.wait_for(self.site.app(scope, receive, send), 60)
        return _answer(sent)


class Client:
    """One caller. `cookie` and `csrf` are what it has, empty where it has none; `idle`: for how many seconds nobody has touched it."""

    def __init__(self, within: Within, cookie: str = "", csrf: str = "") -> None:
        self._within = within
        self.cookie = cookie
        self.csrf = csrf
        self.idle = 0

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """One request; a header that is None is left out."""
        said: dict[str, str | None] = {
            "Host": HOST,
            "Cookie": self.cookie or None,
            "X-CSRF-Token": self.csrf or None,
            "X-Console-Idle": str(self.idle),
        }
        return await self._within.ask(method, path, said | dict(headers or {}), body)

    async def get(self, path: str, headers: Mapping[str, str | None] | None = None) -> Answer:
        """GET."""
        return await self.ask("GET", path, headers=headers)

    async def form(
        self,
        path: str,
        fields: Mapping[str, str],
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """POST of a form, with our token where we have one."""
        named = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.ask("POST", path, urlencode(fields).encode(), named | dict(headers or {}))

    async def api(
        self,
        method: str,
        path: str,
        given: Any = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """An operation of the API, with our token where we have one."""
        named = {"Content-Type": "application/json"}
        body = b"" if given is None else json.dumps(given).encode()
        return await self.ask(method, f"/api/v1{path}", body, named | dict(headers or {}))


def _answer(sent: list[Any]) -> Answer:
    headers = HTTPMessage()
    for name, value in sent[0]["headers"]:
        headers[name.decode()] = value.decode()
    body = b"".join(one.get("body", b"") for one in sent[1:])
    return Answer(sent[0]["status"], headers, body)


def newest(console: Within) -> list[dict[str, Any]]:
    """The newest records, newest first."""
    return [msgspec.json.decode(line) for line in console.parts.recent.lines()]


@asynccontextmanager
async def within(folder: Path, text: str = "", url: str = "") -> AsyncIterator[Within]:
    """While inside, a gateway with this configuration runs."""
    config = folder / "mgp.toml"
    config.write_text(f'[storage]\npath = "{folder}/state"\n{text}', encoding="utf-8")
    settings = load(config, environ={"HOME": str(folder)})
    async with Gateway(settings, follows=[[config]]) as gateway:
        await gateway.supervisor.settled()
        yield Within(gateway, url)
