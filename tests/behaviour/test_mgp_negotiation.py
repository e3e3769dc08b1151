"""MGP §2 from outside: what is offered, what is answered, and where."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from gatewright.config import SettingsError, load
from gatewright.mcp.protocol.negotiate import EXTENSIONS
from gatewright.mcp.wire.methods import WORDS
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, EVERY_DOOR, RpcError, host
from tests.behaviour.wires import StdioWire

PLACES = ("mgp", "experimental", "extensions")
OURS = {"security", "audit", "code_safety", "discovery", "streaming"}


def offer(place: str, extensions: Any, version: Any = "0.2.0") -> dict[str, Any]:
    body = {"version": version, "extensions": extensions}
    if place == "mgp":
        return {"mgp": body}
    return {place: {"mgp" if place == "experimental" else "dev.cloto/mgp": body}}


def answered(hello: dict[str, Any]) -> dict[str, Any]:
    """Place → what stands there."""
    capabilities = hello["capabilities"]
    found = {
        "mgp": capabilities.get("mgp"),
        "experimental": (capabilities.get("experimental") or {}).get("mgp"),
        "extensions": (capabilities.get("extensions") or {}).get("dev.cloto/mgp"),
    }
    return {place: body for place, body in found.items() if body is not None}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_the_reply_stands_in_the_place_of_the_offer_and_nowhere_else(
    several: Gateway, door: str, place: str
) -> None:
    """MGP-2.1-1, MGP-2.2-1, MGP-2.3-1 and MGP-2.4-6: on the ordinary handshake."""
    async with host(several, door, can=offer(place, ["security", "audit"])) as client:
        assert answered(client.hello) == {
            place: {"version": "0.2.0", "extensions": ["security", "audit"]}
        }


async def test_the_specifications_own_request_is_accepted(several: Gateway) -> None:
    """MGP-2.2-1 and MGP-2.3-4: the example of §2.2, and the extensions of §2.3."""
    wanted = ["security", "access_control", "audit"]
    can = offer("mgp", wanted, "0.1.0")
    async with host(several, "stdio 2024-11-05", can=can) as client:
        assert client.hello["protocolVersion"] == "2024-11-05"
        assert answered(client.hello)["mgp"] == {
            "version": "0.1.0",
            "extensions": wanted,
        }


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("door", DOORS)
async def test_all_nine_extensions_are_offered_by_a_gateway(
    several: Gateway, door: str, place: str
) -> None:
    """MGP-2.2-5."""
    nine = [
        "security",
        "access_control",
        "audit",
        "code_safety",
        "lifecycle",
        "streaming",
        "bidirectional",
        "discovery",
        "tool_discovery",
    ]
    async with host(several, door, can=offer(place, [*nine, "tenth"])) as client:
        assert sorted(answered(client.hello)[place]["extensions"]) == sorted(nine)


@pytest.mark.parametrize("door", DOORS)
async def test_what_the_gateway_says_of_itself_is_what_was_configured(
    tmp_path: Path, several: Gateway, door: str
) -> None:
    """MGP-2.3-2: in each place of the reply; nothing of it where nothing was configured."""
    own = {
        "server_id": "gateway.example",
        "trust_level": "trusted",
        "permissions_required": ["network.outbound"],
    }
    with running(tmp_path, config(server("echo"), gateway=own)) as gateway:
        for place in PLACES:
            can = offer(place, ["audit"])
            async with (
                host(gateway, door, can=can) as told,
                host(several, door, can=can) as not_told,
            ):
                plain = {"version": "0.2.0", "extensions": ["audit"]}
                assert answered(told.hello) == {place: plain | own}
                assert answered(not_told.hello) == {place: plain}


def test_a_trust_level_that_there_is_not_is_refused_by_its_key(tmp_path: Path) -> None:
    """MGP-2.3-3."""
    (tmp_path / "mgp.toml").write_text('[gateway]\ntrust_level = "core"\n')
    with pytest.raises(SettingsError, match=r"gateway\.trust_level"):
        load(tmp_path / "mgp.toml")


async def test_what_is_active_is_what_both_have(several: Gateway) -> None:
    """MGP-2.4-1 and MGP-2.2-6: for every subset, unknown names ignored."""
    names = ("security", "audit", "code_safety", "streaming", "zzz")
    for size in range(len(names) + 1):
        for one in combinations(names, size):
            async with host(several, can=offer("mgp", list(one))) as client:
                assert set(answered(client.hello)["mgp"]["extensions"]) == set(one) & OURS


@pytest.mark.parametrize(
    ("version", "extensions"),
    [(None, []), ("abc", []), ("0.2.0", None), ("0.2.0", "security"), ("1.0.0", ["audit"])],
)
@pytest.mark.parametrize("door", DOORS)
async def test_an_offer_that_does_not_count_leaves_plain_mcp(
    several: Gateway, door: str, version: Any, extensions: Any
) -> None:
    """MGP-2.2-3, MGP-2.2-4 and MGP-2.4-4: and the log says why."""
    async with host(several, door, can=offer("mgp", extensions, version)) as client:
        assert answered(client.hello) == {}
        assert await client.text("echo__echo", message="goes on") == "goes on"
        said = several.said()
        if isinstance(client.wire, StdioWire):
            said = (client.wire.folder / "gateway.log").read_text().splitlines()
    why = "mgp.extensions must be" if extensions not in ([], ["audit"]) else "mgp.version"
    words = (
        f"offers MGP at the door {door.split(maxsplit=1)[0]} in a way that does not count: {why}"
    )
    assert any(words in line for line in said)


@pytest.mark.parametrize(
    ("theirs", "active"), [("0.1.0", "0.1.0"), ("0.2.0", "0.2.0"), ("0.3.0", "0.2.0")]
)
@pytest.mark.parametrize("door", DOORS)
async def test_three_minor_versions_interoperate(
    several: Gateway, door: str, theirs: str, active: str
) -> None:
    """MGP-2.4-5 and MGP-9-1."""
    async with host(several, door, can=offer("mgp", ["audit"], theirs)) as client:
        assert answered(client.hello)["mgp"] == {"version": active, "extensions": ["audit"]}


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """MGP servers that declare themselves in each of the three places, and a plain one."""
    mgp = {"extensions": ["security", "audit", "streaming"], "trust_level": "trusted"}
    servers = [server("mgp_server", f"in_{one}", "--place", one, mgp=mgp) for one in PLACES]
    with running(tmp_path_factory.mktemp("governed"), config(*servers, server("asker"))) as gateway:
        yield gateway


@pytest.mark.parametrize("place", PLACES)
async def test_a_server_is_recognised_wherever_it_declares_mgp(
    governed: Gateway, place: str
) -> None:
    """MGP-2.4-6, the upstream side: the active set is the intersection there too."""
    async with host(governed) as client:
        told = json.loads(await client.text(f"in_{place}__hello"))
        assert told == {"extensions": ["security", "audit", "streaming"]}


@pytest.mark.parametrize("door", DOORS)
async def test_a_method_of_an_extension_that_was_not_negotiated_reaches_no_server(
    governed: Gateway, door: str
) -> None:
    """MGP-1.2-2: of every extension, for operators too; and a server is offered none that the gateway does not have."""
    operator = {"authorization": f"Bearer {governed.operator_token}"}
    methods = [one.method for one in WORDS if one.method.startswith("mgp/")]
    not_found = [*methods, "mgp/vendor/thing"]  # none of them is of `audit`
    for extensions in (["audit"], list(EXTENSIONS)):
        async with host(governed, door, can=offer("mgp", extensions), headers=operator) as client:
            for method in not_found:
                with contextlib.suppress(RpcError):
                    await client.request(method, {"request_id": "r", "id": "in_mgp"})
                await client.say({"method": method, "params": {"id": "in_mgp"}})
            for method in not_found if extensions == ["audit"] else not_found[-1:]:
                with pytest.raises(RpcError) as caught:
                    await client.request(method, {"channels": []})
                assert caught.value.code == -32601, method
            seen = json.loads(await client.text("in_mgp__requests"))
            assert not [one["method"] for one in seen if one["method"].startswith("mgp/")]


async def test_a_plain_server_is_never_spoken_to_in_mgp(governed: Gateway) -> None:
    """MGP-2.4-2 and MGP-15.2-4: no mgp request, no offer, no trace id of ours."""
    async with host(governed, can=offer("mgp", ["security", "audit"])) as client:
        known = json.loads(await client.text("asker__facts"))
        assert not [one for one in known["methods"] if "mgp" in one]
        assert answered({"capabilities": known["capabilities"]}) == {}
        got = json.loads(await client.text("asker__meta"))
        assert "trace_id" not in got


@pytest.mark.parametrize("door", DOORS)
async def test_mgp_members_of_a_server_reach_only_who_offered_mgp(
    governed: Gateway, door: str
) -> None:
    """MGP-1.1-1 and MGP-1.3-2: results and errors of an MGP server before a plain host."""
    async with host(governed, door) as client:
        plain = await client.call("in_mgp__annotated")
        assert "_mgp" not in plain
        with pytest.raises(RpcError) as caught:
            await client.call("in_mgp__fail")
        assert (caught.value.code, caught.value.data) == (5000, {"kept": 1})
    async with host(governed, door, can=offer("mgp", ["security"])) as client:
        full = await client.call("in_mgp__annotated")
        assert full["_mgp"] == {"streamed": False, "duration_ms": 3}
        assert full["_meta"]["dev.cloto/mgp"] == full["_mgp"]
        with pytest.raises(RpcError) as caught:
            await client.call("in_mgp__fail")
        # What the server recommends is passed on without its promise: it may have run.
        told = caught.value.data["_mgp"]
        assert told["category"] == "external"
        assert "retry_after_ms" not in told
        assert told.get("retryable") is not True


@pytest.mark.parametrize("door", DOORS)
async def test_tools_carry_security_where_it_was_negotiated(governed: Gateway, door: str) -> None:
    """MGP-4.1-1 and decision C-50: beside the definition and, for SDK clients, in its `_meta`."""
    async with host(governed, door, can=offer("extensions", ["security"])) as client:
        tools = {one["name"]: one for one in (await client.request("tools/list"))["tools"]}
        declared = tools["in_mgp__hello"]["security"]
        assert declared["risk_level"] == "safe"
        assert tools["in_mgp__hello"]["_meta"]["dev.cloto/security"] == declared
        assert tools["asker__log"]["security"]["risk_level"] == "moderate"


async def test_trust_levels_outside_the_three_are_a_configuration_error(tmp_path: Path) -> None:
    """MGP-2.3-3."""
    content = config(server("echo", mgp={"trust_level": "divine"}))
    with pytest.raises(AssertionError) as caught, running(tmp_path, content):
        pass
    said = str(caught.value) + (tmp_path / "gateway.log").read_text()
    assert "trust_level" in said
    assert "divine" in said


@pytest.mark.parametrize("door", DOORS)
async def test_servers_are_listed_for_who_negotiated_discovery(
    governed: Gateway, door: str
) -> None:
    """MGP-15.2-6, and MGP-1.2-2 for who did not."""
    async with host(governed, door, can=offer("mgp", ["discovery"])) as client:
        listed = await client.request("mgp/discovery/list", {"filter": {"status": "connected"}})
        assert {one["id"] for one in listed["servers"]} >= {"asker", "in_mgp"}
    async with host(governed, door, can=offer("mgp", ["audit"])) as client:
        with pytest.raises(RpcError) as caught:
            await client.request("mgp/discovery/list", {})
        assert caught.value.code == -32601
