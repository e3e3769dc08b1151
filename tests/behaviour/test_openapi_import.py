"""Somebody's API behind the gateway: its operations are tools at every door, governed like any other."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import aiohttp
import pytest

from gatewright.identity.keys import KeyStore
from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.ggen_house import Client
from tests.behaviour.hosts import DOORS, host
from tests.storage.parts import state_in
from tests.tool_servers.pets import Api, pets

SECRET = "s3cret-of-the-operator"
TOM = {"id": 1, "name": "Tom", "weight": 1.10}


class Zoo(NamedTuple):
    """The gateway, the API behind it, and the key of who may use all of it but take pets away."""

    gateway: Gateway
    api: Api
    key: str


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    folder = tmp_path_factory.mktemp("zoo")
    with pets() as api:
        content = config(
            {
                "id": "pets",
                "openapi": f"{api.url}/api.json",
                "base_url": f"{api.url}/v1",
                "credentials": {"key": SECRET},
                "call_timeout_s": 1.5,
            },
            grants=[
                {"agent": "keeper", "server": "pets"},
                {"agent": "keeper", "server": "pets", "tool": "redirect", "permission": "deny"},
            ],
            gateway={"anonymous": "deny", "unprefixed": True},
            approvals={"approver": "caller"},
        )
        with running(folder, content) as gateway:
            callers = KeyStore(state_in(folder / "state"), clock=time.time, random=os.urandom)
            try:
                key = callers.create("keeper", by="test")[1]
            finally:
                callers.close()
            yield Zoo(gateway, api, key)


@pytest.mark.parametrize("door", [door for door in DOORS if not door.startswith("stdio")])
async def test_an_operation_is_a_tool_at_every_door_of_mcp(zoo: Zoo, door: str) -> None:
    """GGEN-core-7: one of the several kinds of sources behind one gateway."""
    headers = {"authorization": f"Bearer {zoo.key}"}
    async with host(zoo.gateway, door, headers=headers) as client:
        assert "getPet" in await client.tools()
        assert (await client.call("getPet", petId=1))["structuredContent"] == TOM
        listed = (await client.request("tools/list"))["tools"]
        hints = {one["name"]: one["annotations"] for one in listed}
        assert hints["getPet"]["readOnlyHint"] is True
        assert hints["removePet"]["destructiveHint"] is True


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_an_operation_is_a_tool_at_the_doors_of_ggen(zoo: Zoo, kind: str) -> None:
    """GGEN-core-7, GGEN-p4-9."""
    async with Client(zoo.gateway, kind, zoo.key) as client:
        assert (await client.call("getPet", petId=1))["result"] == TOM
        added = await client.call("addPet", body={"name": "Kit"})
        assert added["result"] == {"id": 7, "name": "Kit"}
        missing = (await client.call("getPet", petId=9))["error"]
        assert (missing["code"], missing["data"]["error_type"]) == (-32003, "ToolExecution")
        assert "no such pet" in missing["data"]["reason"]
        late = (await client.call("slow"))["error"]["data"]
        assert (late["error_type"], late["timeout_ms"]) == ("ToolTimeout", 1500)


async def test_an_operation_is_a_tool_of_rest_and_of_its_document(zoo: Zoo) -> None:
    """GRH-int-2: an API's request, translated to a tool call and back."""
    base = zoo.gateway.urls["rest"]
    headers = {"authorization": f"Bearer {zoo.key}"}
    async with aiohttp.ClientSession(headers=headers) as http:
        async with http.post(f"{base}/getPet", json={"petId": 1}) as answer:
            assert (answer.status, await answer.json()) == (200, TOM)
        async with http.get(base.removesuffix("/tools") + "/openapi.json") as answer:
            said = (await answer.json())["paths"]["/tools/addPet"]["post"]
    schema = said["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["body"] == {"$ref": "#/components/schemas/addPet.input.Pet"}


async def test_what_the_document_asks_for_is_asked_for(zoo: Zoo) -> None:
    """Arguments are judged by the schema that the document gives, before anything is sent."""
    before = len(zoo.api.seen)
    async with Client(zoo.gateway, "http", zoo.key) as client:
        for arguments in ({}, {"petId": "1"}, {"petId": 1, "more": 2}):
            error = (await client.call("getPet", **arguments))["error"]
            assert error["code"] == -32001
        empty = (await client.call("addPet", body={"name": ""}))["error"]
        assert empty["data"]["field"] == "body.name"
    assert len(zoo.api.seen) == before


async def test_who_may_not_use_a_tool_makes_no_request(zoo: Zoo) -> None:
    """The policy of every other server: a denied tool, a dangerous one that nobody can agree to."""
    before = len(zoo.api.seen)
    async with Client(zoo.gateway, "http", zoo.key) as client:
        assert (await client.call("redirect"))["error"]["code"] == -32005
        removed = (await client.call("removePet", petId=1))["error"]
        assert (removed["code"], removed["data"]["kind"]) == (-32005, "confirmation_required")
    async with Client(zoo.gateway, "http", None) as stranger:
        assert (await stranger.call("getPet", petId=1))["error"]["code"] == -32004
    assert len(zoo.api.seen) == before


async def test_the_api_sees_the_operators_credential_and_never_the_callers(zoo: Zoo) -> None:
    """GGEN-auth-13: no key, no header, no trace of who called."""
    async with Client(zoo.gateway, "http", None) as client:
        auth = {"type": "bearer", "token": zoo.key}
        asked = {"name": "getPet", "arguments": {"petId": 1}}
        assert (await client.ask("tools/call", asked, auth=auth))["result"] == TOM
    calls = [one for one in zoo.api.seen if one.path.startswith("/v1/pets")]
    assert calls
    for one in calls:
        assert one.headers["x-key"] == SECRET
        assert "authorization" not in one.headers
        assert zoo.key not in json.dumps(one.headers) + one.path + one.body.decode()
        assert "keeper" not in json.dumps(one.headers)
    assert not any(SECRET in line for line in zoo.gateway.said())


def test_a_check_says_what_the_document_offers(zoo: Zoo) -> None:
    (one,) = json.loads(zoo.gateway.cli("server", "check", "pets", "--json"))
    assert (one["transport"], one["state"]) == ("openapi", "ready")


async def test_the_record_names_the_tool(zoo: Zoo) -> None:
    async with Client(zoo.gateway, "http", zoo.key) as client:
        await client.call("listPets")
    records = zoo.gateway.audit("--agent", "keeper")
    assert {"listPets"} <= {one.get("target", {}).get("tool_name") for one in records}
    assert SECRET not in json.dumps(records)
