"""Records to a real HTTP server that fails for a while."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from gatewright.audit.formats import writer
from gatewright.audit.sinks.follow import SinkFailed, SinkRefused
from gatewright.audit.sinks.http import HttpSink
from tests.audit.parts import until
from tests.audit.sinks.parts import Trail, lines, plain


class Endpoint:
    """Takes batches where its `status` says so."""

    def __init__(self) -> None:
        self.status = 200
        self.most = 1 << 30
        self.asked = 0
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []

    async def take(self, request: web.Request) -> web.Response:
        """One batch."""
        self.asked += 1
        body = await request.read()
        status = 413 if len(body) > self.most else self.status
        if status < 300:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        return web.Response(status=status, headers={"Location": "http://127.0.0.1:1/"})

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """While inside it listens, at this URL."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/ingest", self.take)
        runner = web.AppRunner(app)
        await runner.setup()
        listening = socket.create_server(("127.0.0.1", 0))
        await web.SockSite(runner, listening).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/ingest"
        finally:
            await runner.cleanup()


async def test_a_batch_is_one_post_of_json_lines_with_the_headers() -> None:
    endpoint = Endpoint()
    async with endpoint.served() as url:
        sink = HttpSink(url, plain, headers={"Authorization": "Bearer s3cret"}, events=False)
        await sink.deliver(lines(1, 3))
    assert endpoint.bodies == [b"".join(map(plain, lines(1, 3)))]
    assert endpoint.headers[0]["Authorization"] == "Bearer s3cret"
    assert endpoint.headers[0]["Content-Type"] == "application/x-ndjson"


async def test_cloudevents_are_one_array_of_their_media_type() -> None:
    endpoint = Endpoint()
    async with endpoint.served() as url:
        sink = HttpSink(url, writer("cloudevents", "gw"), headers={}, events=True)
        await sink.deliver(lines(1, 3))
    events = msgspec.json.decode(endpoint.bodies[0])
    assert [event["data"]["seq"] for event in events] == [1, 2, 3]
    assert {event["specversion"] for event in events} == {"1.0"}
    assert endpoint.headers[0]["Content-Type"] == "application/cloudevents-batch+json"


@pytest.mark.parametrize("status", [302, 401, 429, 500, 503])
async def test_any_status_but_2xx_means_that_nothing_was_taken(status: int) -> None:
    endpoint = Endpoint()
    endpoint.status = status
    async with endpoint.served() as url:
        with pytest.raises(SinkFailed, match=f"HTTP {status}"):
            await HttpSink(url, plain, headers={}, events=False).deliver(lines(1, 1))


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_what_is_refused_for_itself_is_told_apart(status: int) -> None:
    endpoint = Endpoint()
    endpoint.status = status
    async with endpoint.served() as url:
        with pytest.raises(SinkRefused, match=f"HTTP {status}"):
            await HttpSink(url, plain, headers={}, events=False).deliver(lines(1, 1))


async def test_long_names_of_callers_stop_no_collector_of_a_usual_size(tmp_path: Path) -> None:
    """nginx takes 1 MB, and answers 413 to more for as long as it comes."""
    endpoint = Endpoint()
    endpoint.most = 1_000_000
    async with endpoint.served() as url:
        sink = HttpSink(url, writer("ocsf", "gw"), headers={}, events=False)
        async with Trail(tmp_path / "state", siem=sink) as trail:
            for _ in range(600):
                trail.log.event("com.example.made", details={"name": "x" * 3_000})
            await trail.drained()
            assert trail.sinks.states()["siem"].problem is None
    assert sum(len(body.splitlines()) for body in endpoint.bodies) == trail.log.written


async def test_nobody_listening_is_a_failure_with_a_name() -> None:
    sink = HttpSink("http://127.0.0.1:9/", plain, headers={}, events=False)
    with pytest.raises(SinkFailed, match="cannot be asked"):
        await sink.deliver(lines(1, 1))


async def test_a_server_that_fails_for_a_while_gets_everything_in_order(tmp_path: Path) -> None:
    """Nothing lost, nothing out of order; a record that comes twice has the same id."""
    endpoint = Endpoint()
    endpoint.status = 503
    async with endpoint.served() as url:
        sink = HttpSink(url, plain, headers={}, events=False)
        async with Trail(tmp_path / "state", siem=sink) as trail:
            trail.write(1_200)
            await until(lambda: endpoint.asked >= 2)
            trail.write(100)
            assert trail.sinks.states()["siem"].problem == "the endpoint answered HTTP 503"
            endpoint.status = 200
            await trail.drained()
    got = [msgspec.json.decode(line) for body in endpoint.bodies for line in body.splitlines()]
    assert [one["seq"] for one in got] == list(range(1, 1_301))
    assert len({one["id"] for one in got}) == 1_300
