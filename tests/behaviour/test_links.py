"""A resource that a result names is read and subscribed to at the server whose result it was, however many servers there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gatewright.call import Target
from gatewright.servers.names import wrap_uri
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import EVERY_DOOR, META, Host, RpcError, host

pytestmark = pytest.mark.timeout(180)

LISTED = "memo://b/listed"


@pytest.fixture(scope="module")
def linking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    servers = (
        server("linking", "a", "a", "--template", "file:///{+path}"),
        server("linking", "b", "b", LISTED, "file:///b.txt", "--template", "notes://{+id}"),
        server("linking", "sly", "sly", "--template", "notes://me/{id}"),
    )
    folder = tmp_path_factory.mktemp("linking")
    with running(folder, config(*servers)) as gateway:
        yield gateway


def uris(result: dict[str, Any]) -> set[str]:
    """Every URI that a result names, which have to be one."""
    deep = [one["at"]["uri"] for one in result.get("structuredContent", {}).get("found", ())]
    content = result["content"]
    return {one["uri"] if "uri" in one else one["resource"]["uri"] for one in content} | set(deep)


async def link(client: Host, ident: str, uri: str) -> str:
    """What a URI in the result of a server is shown as."""
    (shown,) = uris(await client.call(f"{ident}__link", uris=[uri]))
    return shown


async def read(client: Host, uri: str) -> dict[str, Any]:
    result = await client.request("resources/read", {"uri": uri})
    (found,) = result["contents"]
    assert isinstance(found, dict)
    return found


def called(door: str, ident: str, uri: str) -> str:
    """A URI as a result shows it: anonymous callers, who are many under one name, are shown whose it is."""
    return uri if door.startswith("stdio") else wrap_uri(Target(ident, uri))


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_link_in_a_result_is_read_where_it_came_from_under_the_uri_that_it_shows(
    linking: Gateway, door: str
) -> None:
    async with host(linking, door) as client:
        for ident in ("a", "b"):
            uri = f"memo://{ident}/{door.replace(' ', '/')}"
            shown = await link(client, ident, uri)
            assert shown == called(door, ident, uri)
            assert await read(client, shown) == {"uri": shown, "text": f"{ident} of {uri}"}
            prompt = await client.request(
                "prompts/get", {"name": f"{ident}__named", "arguments": {"uri": uri + "/p"}}
            )
            (shown,) = uris({"content": [one["content"] for one in prompt["messages"]]})
            assert shown == called(door, ident, uri + "/p")
            assert (await read(client, shown))["text"] == f"{ident} of {uri}/p"


@pytest.mark.parametrize("door", EVERY_DOOR)
@pytest.mark.parametrize(
    ("uri", "owners"),
    [
        (LISTED, ["b"]),
        ("file:///b.txt", ["a", "b"]),
        ("notes://7", ["b"]),
        ("notes://me/7", ["b", "sly"]),
    ],
)
async def test_whoever_names_what_another_server_has_names_its_own(
    linking: Gateway, door: str, uri: str, owners: list[str]
) -> None:
    """The other lists the URI, or has a template for it: closer or wider."""
    async with host(linking, door) as client:
        shown = await link(client, "sly", uri)
        assert shown == wrap_uri(Target("sly", uri))
        assert await read(client, shown) == {"uri": shown, "text": f"sly of {uri}"}
        if owners == ["b"]:
            assert (await read(client, uri))["text"] == f"b of {uri}"
            return
        with pytest.raises(RpcError, match="several servers") as several:
            await read(client, uri)
        names = several.value.data["details"]["candidates"]
        said = [(await read(client, one))["text"] for one in names]
        assert said == [f"{one} of {uri}" for one in owners]


async def test_lists_show_in_qualified_form_what_two_servers_claim(linking: Gateway) -> None:
    async with host(linking) as client:
        listed = (await client.request("resources/list"))["resources"]
        templates = (await client.request("resources/templates/list"))["resourceTemplates"]
        for one in listed:
            assert (await read(client, one["uri"]))["uri"] == one["uri"]
    assert [one["uri"] for one in listed] == [LISTED, wrap_uri(Target("b", "file:///b.txt"))]
    assert [one["uriTemplate"] for one in templates] == [
        "file:///{+path}",
        "gatewright://b/notes://{+id}",
        "gatewright://sly/notes://me/{id}",
    ]


async def test_a_uri_that_two_results_name_is_qualified_from_the_second_on(
    linking: Gateway,
) -> None:
    """Whichever came first: the other is the one that was meant as often as not."""
    uri = "memo://who"
    async with host(linking, "stdio 2025-11-25") as client:
        assert await link(client, "sly", uri) == uri
        qualified = await link(client, "a", uri)
        assert (await read(client, qualified))["text"] == f"a of {uri}"
        with pytest.raises(RpcError, match="several servers"):
            await read(client, uri)
        again = await link(client, "sly", uri)
        assert (await read(client, again))["text"] == f"sly of {uri}"


async def test_a_change_is_heard_by_who_subscribed_and_only_of_what_its_server_has(
    linking: Gateway,
) -> None:
    updated = "notifications/resources/updated"
    async with host(linking, "stdio 2025-11-25") as client:
        uri = await link(client, "a", "memo://heard")
        qualified = await link(client, "sly", LISTED)
        for one in (uri, qualified, LISTED):
            await client.request("resources/subscribe", {"uri": one})
        await client.call("sly__touch", uris=["memo://heard", "memo://unheard", LISTED])
        await client.call("b__touch", uris=[uri, LISTED])
        await client.call("a__touch", uris=[LISTED, uri])
        heard = [(await client.note(updated))["params"]["uri"] for _ in range(3)]
        await client.text("a__heard")
        assert sorted(heard) == sorted([qualified, LISTED, uri])
        assert [one for one in client.notes if one["method"] == updated] == []
        said = [await client.text(f"{ident}__heard") for ident in ("a", "sly", "b")]
    assert "resources/subscribe memo://heard" in said[0]
    assert f"resources/subscribe {LISTED}" in said[1]
    assert f"resources/subscribe {LISTED}" in said[2]


async def test_what_nobody_subscribed_to_is_not_told_in_the_middle_of_a_call(
    linking: Gateway,
) -> None:
    async with host(linking, "http 2026-07-28") as client:
        await client.call("a__touch", uris=["memo://x", LISTED])
        await client.text("a__heard")
        assert client.notes == []
        wanted = {"toolsListChanged": True, "resourceSubscriptions": [LISTED]}
        await client.start("subscriptions/listen", {"notifications": wanted})
        await client.note("notifications/subscriptions/acknowledged")
        await client.call("a__touch", uris=[LISTED])
        await client.call("b__touch", uris=[LISTED])
        told = await client.note("notifications/resources/updated")
        assert told["params"]["uri"] == LISTED
        assert f"{META}subscriptionId" in told["params"]["_meta"]
        assert [one for one in client.notes if "updated" in one["method"]] == []


async def test_a_link_lets_nobody_read_what_grants_deny(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A link belongs to the caller whom it was shown, and gives no right to anything."""
    servers = [server("linking", ident, ident) for ident in ("a", "b", "c")]
    grants = [
        {"agent": "*", "server": "a", "tool": "link"},
        {"agent": "*", "server": "b"},
        {"agent": "*", "server": "c"},
    ]
    with running(tmp_path_factory.mktemp("denied"), config(*servers, grants=grants)) as gateway:
        async with host(gateway) as client:
            uri = await link(client, "a", "memo://secret")
            for one in (uri, wrap_uri(Target("a", "memo://secret"))):
                for method in ("resources/read", "resources/subscribe"):
                    with pytest.raises(RpcError) as refused:
                        await client.request(method, {"uri": one})
                    assert refused.value.code in (-32002, -32602, 1001)
