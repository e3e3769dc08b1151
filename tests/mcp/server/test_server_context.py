"""How a request becomes a call, and which trace it belongs to."""

from __future__ import annotations

import uuid
from typing import Any, cast

import pytest

from gatewright.call import Caller, Client, Refusal
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.protected_resource import Protected
from gatewright.mcp.server.server_context import Presented, ServerContext, Terms, trace_of
from gatewright.mcp.wire.json_bounds import Limits
from gatewright.mcp.wire.versions import METHODS, Method
from tests.dialects.house import ANN, House

CLIENT = Client("2025-11-25")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def inbound(method: str, params: dict[str, Any], trace: str | None = None) -> Inbound:
    return Inbound(b"1", method, params, CLIENT, METHODS.get(method, Method("method")), trace)


def call_of(house: House, one: Inbound) -> Any:
    return house.front.call(one, ANN, door="http", credential="key", session="s", profile="small")


class Socket:
    """A connection that lasts."""

    busy = False

    def __init__(self, caller: Caller | None, credential: str | None) -> None:
        self.presented = None if caller is None else Presented("http", caller, credential)

    def dismiss(self, why: Refusal) -> None:
        raise AssertionError("nobody ends it")


async def test_whose_tokens_are_in_use_is_known() -> None:
    bearer = Caller("corp:ann", token=True)
    shown: list[tuple[Caller | None, str | None]] = [
        (bearer, "one"),
        (bearer, "one"),
        (bearer, "other"),
        (ANN, "a key"),
        (None, None),
    ]
    async with House() as house:
        house.front.lasting |= {Socket(*one) for one in shown}
        assert house.front.tokens() == {"one", "other"}
    async with House() as house:
        assert house.front.tokens() == set(), "of one gateway alone"


@pytest.mark.parametrize(
    ("method", "params", "kind", "name"),
    [
        ("tools/call", {"name": "x"}, "tool", "x"),
        ("prompts/get", {"name": "p"}, "prompt", "p"),
        ("resources/read", {"uri": "u"}, "resource", "u"),
        ("resources/subscribe", {"uri": "u"}, "method", "u"),
        ("tools/list", {"name": "x"}, "list", ""),
        ("com.example/any", {"name": "x"}, "method", ""),
    ],
)
async def test_a_request_becomes_one_kind_of_call(
    method: str, params: dict[str, Any], kind: str, name: str
) -> None:
    async with House() as house:
        call = call_of(house, inbound(method, params))
        assert (call.kind, call.name, call.method, call.params) == (kind, name, method, params)
        assert (call.caller, call.client, call.credential) == (ANN, CLIENT, "key")
        assert (call.door, call.session, call.profile, call.facts) == ("http", "s", "small", {})


async def test_calls_have_ids_and_facts_of_their_own() -> None:
    async with House() as house:
        one, other = (call_of(house, inbound("tools/list", {})) for _ in range(2))
        assert one.id != other.id
        assert one.facts is not other.facts


async def test_a_call_without_a_trace_gets_a_fresh_one() -> None:
    """MGP-6.5-4."""
    async with House() as house:
        traces = [call_of(house, inbound("tools/list", {})).trace_id for _ in range(2)]
        assert [uuid.UUID(one).version for one in traces] == [4, 4]
        assert traces[0] != traces[1]


@pytest.mark.parametrize(
    ("trace", "params", "found"),
    [
        ("top", {"trace_id": "in"}, "top"),
        (None, {"trace_id": "in", "_meta": {"traceparent": PARENT}}, "in"),
        (None, {"_meta": {"traceparent": PARENT}}, PARENT[3:35]),
        ("x" * 129, {"trace_id": "in"}, "in"),
        ("", {"trace_id": "in"}, "in"),
        ("a\nb", {"trace_id": "in"}, "in"),
    ],
)
async def test_a_trace_is_taken_from_where_the_caller_put_it(
    trace: str | None, params: dict[str, Any], found: str
) -> None:
    """MGP-6.5-1 and MGP-6.5-2."""
    async with House() as house:
        assert call_of(house, inbound("tools/list", params, trace)).trace_id == found


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"trace_id": 5},
        {"trace_id": "x" * 129},
        {"trace_id": "a\tb"},
        {"_meta": None},
        {"_meta": {"traceparent": 5}},
        {"_meta": {"traceparent": "00-" + "0" * 32 + "-b7ad6b7169203331-01"}},
        {"_meta": {"traceparent": PARENT.upper()}},
        {"_meta": {"traceparent": PARENT[:-1]}},
        {"_meta": {"traceparent": PARENT + "0"}},
    ],
)
def test_what_is_no_trace_is_not_taken_for_one(params: dict[str, Any]) -> None:
    assert trace_of(params) is None


def test_a_later_version_of_traceparent_may_say_more() -> None:
    later = "01" + PARENT[2:] + "-more"
    assert trace_of({"_meta": {"traceparent": later}}) == PARENT[3:35]


GONE = Refusal("auth_failed", "gone")
KEYED, BEARER = Caller("ann", key_id="k"), Caller("corp:alice", token=True)


class Tokens:
    """One good token, for one path."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def look(self, credential: str, places: Any = None) -> Refusal | None:
        self.asked.append(credential)
        return None if credential == "token" and "https://gw/mcp" in places else GONE


async def test_keys_are_known_at_once_and_tokens_are_looked_at_for_the_path() -> None:
    """RFC 8707: who has a token is asked about with the place where it is shown, at every door."""
    tokens = Tokens()
    front = cast("Any", ServerContext)(
        kernel=None,
        upstream=None,
        identify=lambda door, credential: KEYED if credential == "gw_key" else GONE,
        face=None,
        info={},
        sealer=None,
        bearer=lambda credential: BEARER,
    )
    assert await front.admit("http", "token", "/mcp") is GONE, "nobody takes tokens yet"
    front.protected = Protected("https://gw", tokens, name="gw", issuers=[])
    assert await front.admit("http", "gw_key", "/mcp") is KEYED
    assert await front.admit("http", "gw_wrong", "/mcp") is GONE
    assert await front.admit("http", None, "/mcp") is GONE
    assert tokens.asked == []
    assert await front.admit("http", "token", "/mcp") is BEARER
    assert await front.admit("http", "other", "/mcp") is GONE
    assert front.still("http", BEARER, "token") is BEARER
    assert front.still("http", KEYED, "gw_revoked") is GONE


async def test_another_configuration_says_all_at_once_who_is_known_and_what_is_too_much() -> None:
    terms = Terms(
        identify=lambda door, credential: KEYED,
        bearer=lambda credential: BEARER,
        protected=Protected("https://gw", Tokens(), name="gw", issuers=[]),
        info={"name": "other"},
        limits=Limits(depth=3),
        subscriptions=7,
    )
    async with House() as house:
        house.front.adopt(terms)
        found = {one: getattr(house.front, one) for one in Terms.__struct_fields__}
        assert found == {one: getattr(terms, one) for one in Terms.__struct_fields__}
        assert await house.front.admit("http", "gw_revoked", "/mcp") is KEYED
        assert house.front.still("http", BEARER, "token") is BEARER
