"""Asking an API: what is sent is what was given, and what comes back is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from gatewright.transport.api_client import ApiClient, ApiFailed
from tests.tool_servers.pets import Api, pets
from tests.transport.http_peers import free_port


@pytest.fixture
def api() -> Iterator[Api]:
    with pets() as found:
        yield found


@pytest.fixture
async def client() -> AsyncIterator[ApiClient]:
    found = ApiClient(outside=False, most_bytes=100_000)
    yield found
    await found.close()


async def failed(client: ApiClient, url: str) -> ApiFailed:
    with pytest.raises(ApiFailed) as caught:
        await client.ask("GET", url)
    return caught.value


async def test_a_request_goes_out_as_it_was_given(api: Api, client: ApiClient) -> None:
    url = f"{api.url}/v1/pets/..%2Fx%20y?a=%3F&b=%2e"
    answer = await client.ask("POST", url, {"X-Own": "1"}, b"body")
    assert answer.status == 404
    (seen,) = api.seen
    assert (seen.method, seen.path, seen.body) == (
        "POST",
        "/v1/pets/..%2Fx%20y?a=%3F&b=%2e",
        b"body",
    )
    assert seen.headers["x-own"] == "1"
    assert seen.headers["accept-encoding"] == "identity"
    assert "cookie" not in seen.headers


async def test_a_redirect_is_an_answer(api: Api, client: ApiClient) -> None:
    answer = await client.ask("GET", f"{api.url}/redirect")
    assert (answer.status, answer.location) == (302, "http://169.254.169.254/")
    assert len(api.seen) == 1


async def test_an_answer_that_is_too_long_is_given_up(api: Api, client: ApiClient) -> None:
    problem = await failed(client, f"{api.url}/huge")
    assert (problem.kind, problem.sent) == ("too_large", True)


async def test_an_answer_in_a_coding_is_not_unpacked(api: Api, client: ApiClient) -> None:
    problem = await failed(client, f"{api.url}/packed")
    assert problem.kind == "broken"
    assert "gzip" in str(problem)


async def test_what_nobody_listens_on_was_not_sent(client: ApiClient) -> None:
    problem = await failed(client, f"http://127.0.0.1:{free_port()}/")
    assert (problem.kind, problem.sent) == ("unreachable", False)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "localhost"])
async def test_outside_means_that_no_private_address_is_asked(api: Api, host: str) -> None:
    client = ApiClient(outside=True, most_bytes=1000)
    try:
        problem = await failed(client, f"http://{host}:{api.url.rpartition(':')[2]}/text")
    finally:
        await client.close()
    assert (problem.kind, problem.sent) == ("unreachable", False)
    assert api.seen == []


async def test_a_cancelled_request_is_given_up_at_once(api: Api, client: ApiClient) -> None:
    task = asyncio.ensure_future(client.ask("GET", f"{api.url}/slow"))
    async with asyncio.timeout(10):
        while not api.seen:
            await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_answer_that_is_no_http_is_a_failure(client: ApiClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 ready\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        problem = await failed(client, f"http://127.0.0.1:{port}/")
        assert (problem.kind, problem.sent) == ("broken", True)
    finally:
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_a_kept_connection_that_ends_without_an_answer_is_not_asked_again(
    client: ApiClient, method: str
) -> None:
    """The server took the request and may have acted on it, whatever HTTP calls its method."""
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            seen.append(head.split(b" ", 1)[0])
            if len(seen) > 1:
                break
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert (await client.ask("GET", url)).status == 200
        with pytest.raises(ApiFailed) as caught:
            await client.ask(method, url)
    assert caught.value.sent
    assert seen == [b"GET", method.encode()]
