"""Kind and payload of a message in a room have to agree, or it says nothing (MCPx §4.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx.envelope import Envelope, compose, read
from gatewright.mcpx.payload import (
    Chat,
    Operation,
    Proposed,
    Requested,
    Responded,
    Said,
    Unfit,
    examine,
    kind_of,
)

CALL = {"name": "safe_tool", "arguments": {"n": 1}}
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "security" / "mcpx.jsonl"
PROMPT = {"type": "ref/prompt", "name": "hello"}
TEMPLATE = {"type": "ref/resource", "uri": "file:///{a}"}


def envelope(
    kind: str, payload: Any, *, sender: str = "ada", correlation_id: str | None = None
) -> Envelope:
    """A message; `payload` is an object, or bytes to stand there as they are."""
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    text = compose(
        id="e1", ts=None, sender=sender, kind=kind, payload=raw, correlation_id=correlation_id
    )
    found = read(text)
    assert isinstance(found, Envelope), found
    return found


def request(method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}, **more}


@pytest.mark.parametrize(
    ("kind", "params", "context"),
    [
        ("mcp/request:tools/call:safe_tool", CALL, "safe_tool"),
        ("mcp/request:tools/call", CALL, "safe_tool"),
        ("mcp/request:resources/read:file:///a:b", {"uri": "file:///a:b"}, "file:///a:b"),
        ("mcp/request:prompts/get:hello", {"name": "hello"}, "hello"),
        ("mcp/request:tools/list", {}, None),
        ("mcp/request:completion/complete:hello", {"ref": PROMPT}, "hello"),
        ("mcp/request:completion/complete:file:///{a}", {"ref": TEMPLATE}, "file:///{a}"),
        ("mcp/request:completion/complete", {"ref": TEMPLATE}, "file:///{a}"),
    ],
)
def test_a_request_that_fits_its_kind_is_read(kind: str, params: Any, context: Any) -> None:
    """MCPX-4.3-1, MCPX-4.3-2, MCPX-3.1-2: the context is split at the first two colons only."""
    method = kind.split(":")[1]
    found = examine(envelope(kind, request(method, params)))
    assert isinstance(found, Requested)
    assert (found.operation, found.ident) == (Operation(method, params), b"7")
    assert found.operation.context == context


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("mcp/request:tools/list", request("tools/call", CALL)),
        ("mcp/request:tools/call:safe_tool", request("tools/call", {"name": "dangerous_tool"})),
        ("mcp/request:tools/call:safe_tool", request("tools/call", {"name": "Safe_tool"})),
        ("mcp/request:tools/call:safe_tool", request("tools/call", {})),
        ("mcp/request:tools/call:safe_tool", request("tools/call", {"name": ["safe_tool"]})),
        ("mcp/request:tools/list:x", request("tools/list")),
        ("mcp/request:resources/read:file:///a", request("resources/read", {"uri": "file:///b"})),
        (
            "mcp/request:completion/complete:hello",
            request("completion/complete", {"ref": {**TEMPLATE, "name": "hello"}}),
        ),
        ("mcp/request:tools/call", {"jsonrpc": "2.0", "id": 7, "result": {}}),
        ("mcp/request:tools/list", request("tools/list", result={})),
        ("mcp/request:tools/list", request("tools/list", error={"code": 1, "message": ""})),
        ("mcp/proposal:tools/list", {"method": "tools/call", "params": CALL}),
        ("mcp/proposal:tools/call:other", {"method": "tools/call", "params": CALL}),
        ("system/welcome", {"you": {"id": "x", "capabilities": []}}),
    ],
)
def test_a_payload_that_says_something_else_than_its_kind_is_forged(
    kind: str, payload: Any
) -> None:
    """MCPX-4.3-1, MCPX-4.3-2."""
    found = examine(envelope(kind, payload))
    assert isinstance(found, Unfit)
    assert found.forged


@pytest.mark.parametrize(
    "payload",
    [
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"evil","name":"safe_tool"}}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"tools/call","params":{"name":"safe_tool"}}',
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe_tool","n\\u0061me":"evil"}}',
    ],
)
def test_a_member_that_stands_twice_makes_a_payload_unfit(payload: bytes) -> None:
    """MCPX-4.3-3: two readers could take two different ones."""
    assert isinstance(examine(envelope("mcp/request:tools/call:safe_tool", payload)), Unfit)


@pytest.mark.parametrize(
    ("kind", "payload", "ident"),
    [
        ("mcp/request:tools/call:safe_tool", request("tools/call", {"name": "x"}), b"7"),
        ("mcp/request:tools/list", {"id": 7, "method": "tools/list"}, b"7"),
        ("mcp/request:tools/list", {"jsonrpc": "2.0", "method": "tools/call"}, None),
        ("mcp/request:tools/call", request("tools/call", {}), b"7"),
        ("mcp/request", request("tools/list"), b"7"),
        ("mcp/request:tools/list", request("tools/list", [1]), b"7"),
    ],
)
def test_who_asked_in_a_broken_way_can_be_told_so(
    kind: str, payload: Any, ident: bytes | None
) -> None:
    """MCPX-4.3-3: the error carries the id of the request, where there is one."""
    found = examine(envelope(kind, payload))
    assert isinstance(found, Unfit)
    assert found.ident == ident


def test_notifications_travel_as_requests_without_an_id() -> None:
    """MCPX-3.1-3."""
    payload = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    found = examine(envelope("mcp/request:notifications/initialized", payload))
    assert isinstance(found, Requested)
    assert found.ident is None


def test_a_response_needs_the_id_of_its_request() -> None:
    """MCPX-3-8."""
    payload = {"jsonrpc": "2.0", "id": 42, "result": {"content": []}}
    kind = "mcp/response:tools/call:safe_tool"
    assert examine(envelope(kind, payload, correlation_id="e0")) == Responded(
        b"42", {"content": []}
    )
    assert isinstance(examine(envelope(kind, payload)), Unfit)
    both = {**payload, "error": {"code": 1, "message": "x"}}
    assert isinstance(examine(envelope(kind, both, correlation_id="e0")), Unfit)
    asked = {**payload, "method": "tools/call"}
    assert isinstance(examine(envelope(kind, asked, correlation_id="e0")), Unfit)


def test_a_proposal_is_an_operation_and_begins_something_new() -> None:
    """MCPX-3.2-1, MCPX-3.2.1-1."""
    payload = {"method": "tools/call", "params": CALL}
    kind = "mcp/proposal:tools/call:safe_tool"
    assert examine(envelope(kind, payload)) == Proposed(Operation("tools/call", CALL))
    assert isinstance(examine(envelope(kind, payload, correlation_id="e0")), Unfit)
    assert isinstance(examine(envelope(kind, {**payload, "jsonrpc": "2.0"})), Unfit)


def test_chat_has_a_text_and_is_plain_unless_it_says_so() -> None:
    """MCPX-3.3-1, MCPX-3.3-2."""
    assert examine(envelope("chat", {"text": "hi"})) == Chat("hi", "plain")
    marked = {"text": "*hi*", "format": "markdown"}
    assert examine(envelope("chat", marked)) == Chat("*hi*", "markdown")
    for kind, payload in (
        ("chat", {}),
        ("chat", {"text": 1}),
        ("chat", {"text": "a", "format": "html"}),
        ("chat:x", {"text": "a"}),
    ):
        assert isinstance(examine(envelope(kind, payload)), Unfit)


def test_the_gateway_alone_says_system_and_unknown_kinds_are_let_be() -> None:
    """MCPX-8.1-6 as a receiver sees it."""
    payload = {"event": "leave", "participant": {"id": "x"}}
    found = examine(envelope("system/presence", payload, sender="system:gateway"))
    assert found == Said("presence", payload)
    assert examine(envelope("weather", {"sunny": True})) is None


def test_a_kind_made_of_an_operation_fits_it() -> None:
    operation = Operation("tools/call", CALL)
    assert kind_of("mcp/request", operation) == "mcp/request:tools/call:safe_tool"
    assert kind_of("mcp/proposal", Operation("tools/list", {})) == "mcp/proposal:tools/list"


def _forged(kind: str, method: str, name: str) -> dict[str, Any]:
    params = {"name": name} if name else {}
    payload = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    row = {"protocol": "mcpx/v0.1", "id": "e1", "ts": "2026-11-21T00:00:00Z", "from": "agent-1"}
    return row | {"kind": kind, "payload": payload, "to": ["s"]}


LABELLED = [
    (True, _forged("mcp/request:tools/call:read", "tools/call", "remove")),
    (True, _forged("mcp/request:tools/call:read", "tools/call", "Read")),
    (True, _forged("mcp/request:tools/list", "tools/call", "read")),
    (True, _forged("mcp/request:prompts/get:hi", "prompts/get", "hi/../bye")),
    (False, _forged("mcp/request:tools/call:read", "tools/call", "read")),
    (False, _forged("mcp/request:tools/list", "tools/list", "")),
    (False, _forged("mcp/request:prompts/get:hi", "prompts/get", "hi")),
]
"""Whether it is a forgery, and the message."""


def _labelled() -> list[tuple[bool, dict[str, Any]]]:
    """Our own, and those of the data beside the project, where it is there."""
    rows = [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.is_file() else []
    known = {"mcpx.spoof_name": True, "mcpx.spoof_method": True, "mcpx.ok": False}
    found = [
        (known[row["category"]], row["input"]["envelope"])
        for row in rows
        if row["category"] in known
    ]
    return LABELLED + found


def test_every_forgery_of_the_labelled_data_is_told_and_no_honest_message() -> None:
    """MCPX-4.3-1, MCPX-4.3-2 on the labelled examples; what the gateway refuses never gets here."""
    for forged, message in _labelled():
        found = read(json.dumps(message).encode())
        assert isinstance(found, Envelope)
        assert isinstance(examine(found), Unfit) == forged, message


@given(
    st.binary(max_size=200), st.sampled_from(["mcp/request:tools/call", "chat", "mcp/response:x"])
)
def test_whatever_a_payload_holds_there_is_a_verdict(noise: bytes, kind: str) -> None:
    """MCPX-8.2-1."""
    whole = Envelope("e", "ada", kind, (), "c", None, b'{"method":' + noise + b"}", b"")
    assert isinstance(examine(whole), (Unfit, Requested, Responded, Proposed, Chat))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ([{}] * 60_000, "more than 50000 values"),
        ([{"a": 1}] * 11_000, "more than 10000 keys"),
        (10**1001, "more than 1000 digits"),
    ],
)
def test_a_payload_is_bounded_as_the_params_of_any_call_are(more: Any, why: str) -> None:
    found = examine(envelope("chat", {"text": "hi", "more": more}))
    assert isinstance(found, Unfit)
    assert why in found.message
