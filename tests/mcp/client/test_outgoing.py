"""What a server is to see of the params that it is asked with."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Client, Mgp
from gatewright.mcp.client.outgoing import Outgoing, question
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES, META_VERSION
from gatewright.mcp.wire.versions import LATEST_LEGACY, LATEST_MODERN
from tests.servers.rig import INFO, LEGACY, MODERN, make_call

AUDITED = Mgp("1", ("audit",))
PLAIN_MGP = Mgp("1", ("security",))
WHO = (None, LEGACY, MODERN, replace(LEGACY, mgp=AUDITED), replace(MODERN, mgp=AUDITED))


def outgoing(revision: str = LATEST_LEGACY, mgp: Mgp | None = None) -> Outgoing:
    made = Outgoing(INFO, None)
    made.meet(Hello(revision, mgp=mgp))
    return made


def adapted(one: Outgoing, params: dict[str, Any], client: Client | None) -> tuple[Any, Any]:
    call = None if client is None else make_call("tool", "tools/call", params, client=client)
    return one.adapted(params, call, 77)


@pytest.mark.parametrize("client", WHO)
def test_what_need_not_be_adapted_would_stay_as_it_is(client: Client | None) -> None:
    """Links leave it out then, for whoever asks."""
    for mgp in (None, PLAIN_MGP):
        one = outgoing(mgp=mgp)
        assert not one.always
        params = {"name": "t", "arguments": {"_meta": {"progressToken": 1}, "trace_id": "x"}}
        assert adapted(one, params, client) == (params, None)
    for other in (outgoing(LATEST_MODERN), outgoing(mgp=AUDITED)):
        assert other.always


def test_a_progress_token_is_ours_and_the_callers_own_is_known() -> None:
    found, token = adapted(outgoing(), {"_meta": {"progressToken": "own", "x": 1}}, LEGACY)
    assert (found, token) == ({"_meta": {"progressToken": 77, "x": 1}}, "own")


def test_the_trace_id_goes_to_who_negotiated_it_and_to_nobody_else() -> None:
    speaks = replace(LEGACY, mgp=AUDITED)
    for client in (LEGACY, speaks):
        found, _ = adapted(outgoing(mgp=AUDITED), {"trace_id": "own"}, client)
        assert len(found["trace_id"]) > 3
    assert adapted(outgoing(), {"trace_id": "own"}, speaks) == ({}, None)
    assert adapted(outgoing(), {"trace_id": "own"}, LEGACY) == ({"trace_id": "own"}, None)


def test_each_era_is_asked_in_its_own_way() -> None:
    meta = {META_VERSION: LATEST_MODERN, META_CLIENT_CAPABILITIES: {}, "x": 1}
    assert adapted(outgoing(), {"_meta": meta}, MODERN) == ({"_meta": {"x": 1}}, None)
    modern = outgoing(LATEST_MODERN)
    for client in (LEGACY, MODERN, replace(LEGACY, capabilities={}), LEGACY):
        found, _ = adapted(modern, {}, client)
        assert found["_meta"][META_VERSION] == LATEST_MODERN
        assert found["_meta"][META_CLIENT_CAPABILITIES].keys() == client.capabilities.keys()


@pytest.mark.parametrize(
    "params", [b"{}", b'{"a":1E400,"b":"\\u00e9\\n","c":[1.50,12345678901234567890]}']
)
def test_a_question_is_the_frame_that_any_request_has(params: bytes) -> None:
    found = jsonrpc.decode(params)
    assert question(16, "tools/call", found) == jsonrpc.request(b"16", "tools/call", found)
