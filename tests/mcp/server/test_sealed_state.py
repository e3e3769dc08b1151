"""What a `requestState` says, and to whom."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Answer, Call, Caller, Client, Failure, UserContext
from gatewright.mcp.protocol import request_state
from gatewright.mcp.server.pending_input import PENDING_S, bound_to
from gatewright.mcp.server.sealed_state import opened, resealed, state_of
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.wire import jsonrpc
from tests.dialects.house import House

CALL = Call(
    "c1",
    "http",
    "tool",
    "tools/call",
    "echo",
    {"name": "echo"},
    Caller("ann"),
    Client("2026-07-28"),
    "t",
)
ASKS = {"resultType": "input_required", "inputRequests": {}, "requestState": "inner"}


async def test_the_state_of_a_parked_call_is_of_its_caller_and_request() -> None:
    async with House() as house:
        front = house.front
        digest, mine = (
            request_state.request_digest(CALL.method, CALL.params),
            bound_to(CALL.caller, "http", ""),
        )
        sealed = state_of(front, CALL, "h1")
        opened = front.sealer.open(sealed, principal=mine, digest=digest, now=front.clock())
        assert (opened.kind, opened.text) == ("parked", "h1")
        assert opened.expires == front.clock() + PENDING_S
        foreign = state_of(front, replace(CALL, caller=Caller("bob")), "h1")
        with pytest.raises(ValueError, match="not given out"):
            front.sealer.open(foreign, principal=mine, digest=digest, now=front.clock())


async def test_what_asks_nothing_is_not_touched_and_what_asks_too_much_is_a_failure() -> None:
    async with House() as house:
        plain = Answer(b'{"content":[]}', modern=True)
        assert resealed(house.front, CALL, plain) is plain
        asked = resealed(house.front, CALL, Answer(jsonrpc.encode(ASKS), modern=True))
        assert isinstance(asked, Answer)
        assert jsonrpc.decode(asked.raw)["requestState"] != "inner"
        question = {"method": "elicitation/create", "params": {}}
        many = {**ASKS, "inputRequests": {f"q{number}": question for number in range(100)}}
        refused = resealed(house.front, CALL, Answer(jsonrpc.encode(many), modern=True))
        assert isinstance(refused, Failure)


LESS = Caller("ann", key_id="k2", user=(UserContext(resources=("/srv/**",)),))
TOKEN = Caller("ann", token=True, user=(UserContext(scopes=("a",)),))


@pytest.mark.parametrize(
    ("first", "back", "may"),
    [
        (Caller("ann", key_id="k1"), Caller("ann", key_id="k1"), True),
        (Caller("ann", key_id="k1"), Caller("ann", key_id="k3"), True),
        (Caller("ann", key_id="k1"), LESS, False),
        (LESS, Caller("ann", key_id="k1"), False),
        (LESS, replace(LESS, user=()), True),
        (TOKEN, replace(TOKEN, user=(UserContext(scopes=("a", "b")),)), True),
        (replace(TOKEN, user=(UserContext(scopes=("a", "b")),)), TOKEN, False),
        (ANONYMOUS, ANONYMOUS, True),
    ],
)
async def test_a_servers_round_goes_on_with_the_limits_with_which_it_began(
    first: Caller, back: Caller, may: bool
) -> None:
    async with House() as house:
        call = replace(CALL, caller=first)
        asked = resealed(house.front, call, Answer(jsonrpc.encode(ASKS), modern=True))
        assert isinstance(asked, Answer)
        params = {**call.params, "requestState": jsonrpc.decode(asked.raw)["requestState"]}
        given = house.front, Presented("http", back, None), "", call.method, params
        if may:
            assert opened(*given).text == "inner"
        else:
            with pytest.raises(ValueError, match="not given out"):
                opened(*given)
