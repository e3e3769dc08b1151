"""An API behind its document is a server like any other: it lists tools, answers calls, and has limits."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatewright.call import Answer, Failure, Refusal
from gatewright.mcp.client.endpoint import ApiPlace, Endpoint
from gatewright.mcp.client.link import ServerFailed
from gatewright.servers.openapi.link import ApiLink, connect_api
from gatewright.transport.base import Limits
from tests.servers.rig import INFO, FakeBack, make_call
from tests.servers.scripted import Ear
from tests.tool_servers.pets import Api, pets

KEYS = {"key": "s3cret"}


@pytest.fixture
def api() -> Iterator[Api]:
    with pets() as found:
        yield found


def endpoint(document: str, base: str = "", **more: Any) -> Endpoint:
    place = ApiPlace(document, base, more.pop("credentials", KEYS))
    return Endpoint(id="pets", transport="openapi", api=place, **more)


@asynccontextmanager
async def linked(spec: Endpoint) -> AsyncIterator[ApiLink]:
    link = await connect_api(spec, INFO, Ear(), None)
    try:
        yield link
    finally:
        await link.stop(1.0)


async def call(link: ApiLink, name: str, seconds: float = 20.0, **arguments: Any) -> Any:
    made = make_call("tool", "tools/call", {"name": name, "arguments": arguments})
    deadline = asyncio.get_running_loop().time() + seconds
    return await link.request(
        "tools/call", made.params, call=made, back=FakeBack(), deadline=deadline
    )


async def result(link: ApiLink, name: str, **arguments: Any) -> dict[str, Any]:
    outcome = await call(link, name, **arguments)
    assert isinstance(outcome, Answer), outcome
    found: dict[str, Any] = json.loads(outcome.raw)
    return found


async def test_the_document_is_its_list_of_tools(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with linked(endpoint(f"{api.url}/api.json")) as link:
            listed = json.loads(await link.fetch("tools/list", {}, 5.0))["tools"]
            assert link.hello is not None
            assert link.hello.info == {"name": "Pets", "version": "1.2"}
            assert link.hello.instructions == "All about pets"
    assert [one["name"] for one in listed][:4] == ["listPets", "addPet", "getPet", "removePet"]
    assert "GET /elsewhere" in caplog.text


async def test_calls_go_where_the_document_was_fetched_from_with_the_operators_key(
    api: Api,
) -> None:
    async with linked(endpoint(f"{api.url}/api.json")) as link:
        found = await result(link, "getPet", petId=1)
        assert found["structuredContent"] == {"id": 1, "name": "Tom", "weight": 1.10}
        assert (await result(link, "listPets", tag=["a", "b"]))["structuredContent"] == {
            "result": [{"id": 1, "weight": 1.10}]
        }
        await result(link, "addPet", body={"name": "Kit"})
        assert (await result(link, "removePet", petId=1))["content"][0]["text"].startswith(
            "HTTP 204"
        )
    asked = [(one.method, one.path, one.headers.get("x-key")) for one in api.seen]
    assert asked == [
        ("GET", "/api.json", None),
        ("GET", "/v1/pets/1", "s3cret"),
        ("GET", "/v1/pets?tag=a&tag=b", "s3cret"),
        ("POST", "/v1/pets", "s3cret"),
        ("DELETE", "/v1/pets/1", "s3cret"),
    ]
    assert api.seen[3].body == b'{"name":"Kit"}'


async def test_an_error_of_the_api_is_the_tools_own(api: Api) -> None:
    async with linked(endpoint(f"{api.url}/api.json")) as link:
        found = await result(link, "getPet", petId=9)
        assert found["isError"] is True
        assert found["content"][0]["text"] == 'HTTP 404 Not Found\n{"error": "no such pet"}'
        assert (await result(link, "broken"))["content"][0]["text"].endswith("it broke")
        redirected = await result(link, "redirect")
        assert "is not followed" in redirected["content"][0]["text"]
        assert (await result(link, "text"))["content"] == [{"type": "text", "text": "plain"}]
        assert (await result(link, "picture"))["content"][0]["mimeType"] == "image/png"
    assert not any("169.254" in one.path for one in api.seen)


async def test_what_cannot_be_had_is_a_failure_with_its_reason(api: Api) -> None:
    limits = Limits(frame_bytes=100_000)
    async with linked(endpoint(f"{api.url}/api.json", limits=limits)) as link:
        for name, reason in (("huge", "upstream_error"), ("packed", "upstream_error")):
            failure = await call(link, name)
            assert isinstance(failure, Failure)
            assert failure.reason == reason
        slow = await call(link, "slow", seconds=0.2)
        assert isinstance(slow, Failure)
        assert slow.reason == "upstream_timeout"
        odd = await call(link, "nothing")
        assert isinstance(odd, Failure)
        assert odd.reason == "method_not_found"


async def test_a_body_that_is_too_long_as_a_result_is_refused_by_name(api: Api) -> None:
    """JSON stands there twice."""
    limits = Limits(frame_bytes=60)
    async with linked(endpoint(f"{api.url}/api.json", limits=limits)) as link:
        failure = await call(link, "getPet", petId=1)
        assert isinstance(failure, Failure)
        assert failure.details == {"limit_bytes": 60}
        assert "would have more than 60 bytes" in failure.message


async def test_an_argument_that_cannot_be_sent_is_refused_before_anything_is(api: Api) -> None:
    async with linked(endpoint(f"{api.url}/api.json")) as link:
        failure = await call(link, "getPet", petId="..")
        assert isinstance(failure, Failure)
        assert failure.reason == "invalid_args"
    assert [one.path for one in api.seen] == ["/api.json"]


async def test_a_call_that_is_cancelled_leaves_nothing_behind(api: Api) -> None:
    async with linked(endpoint(f"{api.url}/api.json")) as link:
        task = asyncio.ensure_future(call(link, "slow"))
        async with asyncio.timeout(10):
            while len(api.seen) < 2:
                await asyncio.sleep(0.005)
        assert link.busy
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not link.busy


async def test_no_more_than_so_many_calls_are_in_flight(api: Api) -> None:
    async with linked(endpoint(f"{api.url}/api.json", in_flight=1)) as link:
        task = asyncio.ensure_future(call(link, "slow"))
        async with asyncio.timeout(10):
            while len(api.seen) < 2:
                await asyncio.sleep(0.005)
        refused = await call(link, "getPet", petId=1)
        assert isinstance(refused, Refusal)
        assert refused.reason == "resource_exhausted"
        api.release.set()
        assert isinstance(await asyncio.wait_for(task, 10), Answer)


async def test_a_link_that_is_closed_ends_what_is_in_flight(api: Api) -> None:
    link = await connect_api(endpoint(f"{api.url}/api.json"), INFO, Ear(), None)
    task = asyncio.ensure_future(call(link, "slow"))
    async with asyncio.timeout(10):
        while len(api.seen) < 2:
            await asyncio.sleep(0.005)
    link.close("enough")
    failure = await asyncio.wait_for(task, 10)
    assert isinstance(failure, Failure)
    assert failure.reason == "upstream_unavailable"
    assert (link.open, await link.wait_closed()) == (False, "enough")
    await link.stop(0.1)


async def test_headers_of_the_operator_go_along_but_not_to_another_origin(api: Api) -> None:
    headers = {"X-Team": "blue", "Authorization": "Bearer own"}
    with pets() as documents:
        spec = endpoint(f"{documents.url}/api.json", f"{api.url}/v1/", headers=headers)
        async with linked(spec) as link:
            await result(link, "getPet", petId=1)
        assert "x-team" not in documents.seen[0].headers
        assert "authorization" not in documents.seen[0].headers
    (seen,) = api.seen
    assert (seen.path, seen.headers["x-team"], seen.headers["authorization"]) == (
        "/v1/pets/1",
        "blue",
        "Bearer own",
    )


async def test_no_argument_takes_the_place_of_a_header_of_the_operator(
    api: Api, tmp_path: Path
) -> None:
    file = tmp_path / "api.json"
    parameters = [
        {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
        for name in ("x-tenant", "X-Note")
    ]
    operation = {"operationId": "find", "parameters": parameters}
    file.write_text(json.dumps({"openapi": "3.1.0", "paths": {"/pets/1": {"get": operation}}}))
    spec = endpoint(str(file), f"{api.url}/v1", headers={"X-Tenant": "blue"})
    async with linked(spec) as link:
        await result(link, "find", **{"x-tenant": "red", "X-Note": "hi"})
    (seen,) = api.seen
    assert (seen.headers["x-tenant"], seen.headers["x-note"]) == ("blue", "hi")


# -- documents that are not what they should be


async def refused(spec: Endpoint) -> str:
    with pytest.raises(ServerFailed) as caught:
        await connect_api(spec, INFO, Ear(), None)
    return str(caught.value)


async def test_a_document_that_is_none_says_why(api: Api, tmp_path: Path) -> None:
    api.document = b"{}"
    assert "no OpenAPI document" in await refused(endpoint(f"{api.url}/api.json"))
    assert "HTTP 404" in await refused(endpoint(f"{api.url}/v1/nothing"))
    assert "cannot be read" in await refused(endpoint(str(tmp_path / "nothing.json")))
    (tmp_path / "huge.json").write_bytes(b" " * (8 * 1024 * 1024 + 1))
    assert "longer than" in await refused(endpoint(str(tmp_path / "huge.json")))


async def test_a_document_cannot_send_calls_elsewhere(api: Api) -> None:
    document = json.loads(api.document)
    document["servers"] = [{"url": "https://evil.example/v1"}]
    api.document = json.dumps(document).encode()
    said = await refused(endpoint(f"{api.url}/api.json"))
    assert "sends calls to evil.example" in said
    assert "base_url" in said
    async with linked(endpoint(f"{api.url}/api.json", f"{api.url}/v1")) as link:
        assert (await result(link, "getPet", petId=1))["structuredContent"]["name"] == "Tom"


@pytest.mark.parametrize("chars", [2049, 8192, 8193, 100_000])
async def test_a_url_that_is_longer_than_any_sends_calls_nowhere(api: Api, chars: int) -> None:
    """And not to the URL of the document, which an empty one means."""
    document = json.loads(api.document)
    url = f"{api.url}/v1/{{v}}"
    longer = {"v": {"default": "x" * (chars - len(url) + 3)}}
    for one in ({"url": url, "variables": longer}, {"url": "/".ljust(chars, "x")}):
        document["servers"] = [one]
        api.document = json.dumps(document).encode()
        said = await refused(endpoint(f"{api.url}/api.json"))
        assert "to a URL of more than 2048 characters; write base_url" in said


async def test_a_file_cannot_send_calls_inside(api: Api, tmp_path: Path) -> None:
    document = json.loads(api.document)
    document["servers"] = [{"url": f"{api.url}/v1"}]
    file = tmp_path / "api.json"
    file.write_text(json.dumps(document))
    async with linked(endpoint(str(file))) as link:
        failure = await call(link, "getPet", petId=1)
        assert isinstance(failure, Failure)
        assert "no public address" in failure.message
    assert api.seen == []
    async with linked(endpoint(str(file), f"{api.url}/v1")) as link:
        await result(link, "getPet", petId=1)
    document["servers"] = []
    file.write_text(json.dumps(document))
    assert "base_url" in await refused(endpoint(str(file)))


async def test_a_file_that_is_not_as_it_was_accepted_is_not_believed_at_any_connection(
    api: Api, tmp_path: Path
) -> None:
    def place(digest: str) -> Endpoint:
        made = endpoint(str(file), api.url)
        assert made.api is not None
        return msgspec.structs.replace(made, api=msgspec.structs.replace(made.api, digest=digest))

    file = tmp_path / "api.json"
    file.write_bytes(api.document)
    spec = place(hashlib.sha256(api.document).hexdigest())
    async with linked(spec) as link:
        assert link.hello is not None
    file.write_bytes(api.document + b" ")
    assert "is not as it was accepted" in await refused(spec)
    assert "is not as it was accepted" in await refused(place("not accepted"))
    async with linked(place("")) as link:
        assert link.hello is not None
