"""A gateway that takes the tokens of two issuers, and a server behind it that remembers all it hears.

`corp` signs its tokens, with scopes that mean something; `asked` is asked about each. The house is made once
for a session, and every credential that an authorisation matrix needs comes from `bad`.
"""

from __future__ import annotations

import shlex
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, host
from tests.identity.issuing import CLIENT, Issuing, beside, elsewhere
from tests.servers.guarded import AuthorizationServer, ProtectedServer

__all__ = ["TokenHouse", "token_house"]

SCOPES = {
    "mcp": ["ToolsListAll", "ToolInvoke(echo/*)"],
    "mcp:all": ["ToolInvoke(*)"],
}


class Everywhere(ProtectedServer):
    """A server that lets everybody in and keeps each request, headers and body."""

    def __init__(self) -> None:
        super().__init__(AuthorizationServer())
        self.requests: list[str] = []

    async def _mcp(self, request: web.Request) -> web.Response:
        self.requests.append(repr(sorted(request.headers.items())) + await request.text())
        return self._answer(await request.json())


class TokenHouse:
    """The gateway, both issuers, one that nobody configured, and the server behind it all."""

    def __init__(
        self, gateway: Gateway, corp: Issuing, asked: Issuing, other: Issuing, heard: Everywhere
    ) -> None:
        self.gateway = gateway
        self.corp, self.asked, self.other = corp, asked, other
        self.heard = heard
        self.base = gateway.url.removesuffix("/mcp")

    def token(self, scope: str = "mcp", place: str = "", **claims: Any) -> str:
        """A good one of `corp`."""
        return self.corp.sign(self.base + place, scope=scope, **claims)

    def bad(self) -> dict[str, str]:
        """Tokens that must let nobody in, by what is wrong with each."""
        found = self.corp.made(self.base, self.other)
        found["revoked"] = self.asked.opaque(self.base)
        self.asked.revoked.add(found["revoked"])
        found["foreign audience, asked about"] = self.asked.opaque("https://elsewhere.example")
        return found

    @asynccontextmanager
    async def host(self, door: str, token: str, **more: Any) -> AsyncIterator[Host]:
        """A host with a token."""
        headers = {"authorization": f"Bearer {token}"}
        async with host(self.gateway, door, headers=headers, **more) as client:
            yield client


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _taped(folder: Path) -> dict[str, Any]:
    """A server behind pipes whose environment and whose every line are kept in files."""
    plain = server("echo")
    words = shlex.join([plain["command"], *plain["args"]])
    script = f"env > {folder}/taped.env; tee {folder}/taped.lines | {words}"
    return {"id": "taped", "command": "sh", "args": ["-c", script]}


@contextmanager
def token_house(folder: Path) -> Iterator[TokenHouse]:
    """One, until the block ends."""
    heard = Everywhere()
    (folder / "asked.secret").write_text(CLIENT[1])
    with ExitStack() as stack:
        corp = stack.enter_context(elsewhere())
        asked, other = (stack.enter_context(elsewhere()) for _ in range(2))
        upstream = stack.enter_context(beside(heard.app()))
        port = _free_port()
        issuers = [
            {"name": "corp", "issuer": corp.issuer, "required_scopes": ["mcp"], "scopes": SCOPES},
            {
                "name": "asked",
                "issuer": asked.issuer,
                "client_id": CLIENT[0],
                "client_secret": "${file:asked.secret}",
            },
        ]
        content = config(
            server("echo"),
            server("echo", "open", default_policy="opt-out"),
            {"id": "heard", "url": f"{upstream}/mcp"},
            _taped(folder),
            oauth={"resource": f"http://127.0.0.1:{port}", "issuers": issuers},
            profiles={"narrow": {"servers": ["echo"]}},
            gateway={"anonymous": "deny"},
        )
        gateway = stack.enter_context(running(folder, content, "--port", str(port)))
        yield TokenHouse(gateway, corp, asked, other, heard)
