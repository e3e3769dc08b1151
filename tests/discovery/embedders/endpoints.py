"""A real HTTP server with `/v1/embeddings`, whose vectors say which of some words a text has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

__all__ = ["Endpoint", "endpoint"]

WORDS = ["weather", "umbrella", "mail", "file"]


class Endpoint:
    """What it was asked, and how it answers."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.status = 200
        self.body: bytes | None = None
        self.wait_s = 0.0
        self.dimensions = 6

    async def answer(self, request: web.Request) -> web.Response:
        """One answer."""
        order = await request.json()
        self.asked.append(order)
        self.keys.append(request.headers.get("Authorization"))
        await asyncio.sleep(self.wait_s)
        if self.body is not None or self.status != 200:
            return web.Response(status=self.status, body=self.body or b"not now")
        data = [
            {"index": at, "embedding": self.vector(text)} for at, text in enumerate(order["input"])
        ]
        said = {"object": "list", "data": data[::-1], "model": order["model"]}
        return web.Response(body=json.dumps(said).encode(), content_type="application/json")

    def vector(self, text: str) -> list[float]:
        """Umbrella and weather are the same to it."""
        has = [float(word in text.lower()) for word in WORDS]
        both = max(has[0], has[1])
        return [both, has[2], has[3], 0.1, *[0.0] * (self.dimensions - 4)]

    @property
    def texts(self) -> list[str]:
        """All that it was asked about."""
        return [text for one in self.asked for text in one["input"]]


@asynccontextmanager
async def endpoint() -> AsyncIterator[Endpoint]:
    """One that runs."""
    made = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/embeddings", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}/v1"
    try:
        yield made
    finally:
        await runner.cleanup()
