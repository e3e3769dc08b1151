"""A guest on the project's own SDK, which serves both eras.

    python own_server.py NAME [--http]

With `--http` it prints one line `ready URL` when it listens. Unlike the other guests it runs in the project's own
environment.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from gatewright.sdk import Result, Tool
from gatewright.sdk.server import Context, Server
from tests.peers.drivers import guest

__all__ = ["main"]

Run = Callable[..., Any]


class _Talk:
    """One call; the SDK knows which era it is of."""

    def __init__(self, server: Server, context: Context) -> None:
        self._server = server
        self._context = context
        call = context.call
        self.meta: dict[str, Any] = {} if call is None else dict(call.params.get("_meta") or {})

    async def ask(self, key: str, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        return await self._context.ask(method, params, key=key)

    async def progress(self, done: float, total: float, words: str) -> None:
        self._context.progress(done, total, words)

    async def log(self, level: Any, words: str) -> None:
        self._context.log(level, words, "guest")

    async def tools_changed(self) -> None:
        name = guest.grown[-1]
        _add(self._server, {**guest.tools()[-1], "name": name})

    async def updated(self, uri: str) -> None:
        self._server.resource_changed(uri)


def _runs(server: Server, name: str) -> Run:
    async def run(context: Context, **given: Any) -> Result:
        found = await guest.call(name, given, _Talk(server, context))
        return Result(
            content=tuple(found["content"]),
            structured=found.get("structuredContent"),
            is_error=found.get("isError", False),
            meta=found.get("_meta"),
        )

    return run


def _add(server: Server, one: dict[str, Any]) -> None:
    hints = one.get("annotations", {})
    server.registry.register(
        Tool(
            name=one["name"],
            title=one.get("title"),
            description=one["description"],
            input_schema=one["inputSchema"],
            output_schema=one.get("outputSchema"),
            read_only=hints.get("readOnlyHint", False),
            idempotent=hints.get("idempotentHint", False),
            function=_runs(server, one["name"]),
        )
    )


def _contents(uri: str) -> Run:
    found = guest.read(uri)["contents"][0]
    return lambda: found.get("text", b"\x89PNG")


def _build() -> Server:
    server = Server("gatewright", instructions=guest.WORDS["instructions"])
    for one in guest.tools():
        _add(server, one)
    for one in guest.WORDS["resources"]:
        offer = server.resource(one["uri"], name=one["name"], mime_type=one["mimeType"])
        offer(_contents(one["uri"]))

    @server.resource("guest:///note/{name}", name="note", mime_type="text/plain")
    def note(name: str) -> str:
        return f"Note {quote(name)}"

    @server.prompt(name="greet")
    def greet(who: str, manner: str = "") -> str:
        """Greets somebody

        Args:
            who: Whom to greet
        """
        given = {"who": who} | ({"manner": manner} if manner else {})
        return str(guest.prompt("greet", given)["messages"][0]["content"]["text"])

    @server.completion("greet", "who")
    def people(value: str) -> list[str]:
        return list(guest.complete(value)["completion"]["values"])

    return server


async def _http(server: Server) -> None:
    served = await server.serve_http()
    sys.stdout.write(f"ready {served.url}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A guest on the project's own SDK")
    parser.add_argument("name")
    parser.add_argument("--http", action="store_true")
    options = parser.parse_args()
    if options.http:
        asyncio.run(_http(_build()))
    else:
        _build().run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
