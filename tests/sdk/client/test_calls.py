"""Repetitions of a client's calls, against a server that counts and times them (MGP §14.6, GGEN-err-13)."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.protocol.recovery import Policy
from gatewright.sdk.client import Client, Options
from gatewright.sdk.errors import AccessError, InternalError, LimitError, TransportError
from tests.sdk.client.scripted import MGP, Clock, Scripted, broken, text, within

TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}


class Failing:
    """A tool that fails some times, and then answers; `other` always answers."""

    def __init__(self, times: int, code: int = 3000, **mgp: Any) -> None:
        self.times = times
        self.calls: list[str] = []
        self._error = code, mgp

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        """One call."""
        self.calls.append(params["name"])
        if params["name"] == "other":
            return text("from the other")
        if self.calls.count("t") <= self.times:
            code, mgp = self._error
            raise broken(code, **mgp)
        return text("done")


def patient(clock: Clock, **more: Any) -> Options:
    """Options whose waits take no time, and whose randomness is none."""
    return Options(sleep=clock.sleep, random=lambda: 0.0, clock=lambda: 1_700_000_000.25, **more)


HINT: dict[str, Any] = {"retryable": True, "retry_after_ms": 1000, "max_retries": 3}


async def test_a_retryable_error_is_followed_by_the_wait_and_the_same_call() -> None:
    """MGP-14.6-1, MGP-14.6-2."""
    clock, tool = Clock(), Failing(2, retry_strategy="exponential_backoff", **HINT)
    server = Scripted(MGP, tools_call=tool)
    async with Client(server, patient(clock)) as client:
        result = await within(client.call_tool("t", {"a": 1}))
    assert result.text == "done"
    assert clock.slept == [1.0, 2.0]
    arguments = [one["arguments"] for one in server.params("tools/call")]
    assert arguments == [{"a": 1}] * 3


async def test_every_repetition_is_told_to_a_server_that_negotiated_audit() -> None:
    """MGP-14.6-5, MGP-6.3-1: n repetitions, n events, in the form of §6.3."""
    server = Scripted(MGP, tools_call=Failing(2, **HINT))
    async with Client(server, patient(Clock(), actor="me")) as client:
        await within(client.call_tool("t"))
        events = server.params("notifications/mgp.audit")
    traces = {one.pop("trace_id") for one in events}
    assert len(traces) == 1
    assert events == [
        {
            "timestamp": "2023-11-14T22:13:20.250Z",
            "event_type": "dev.gatewright.retry",
            "actor": {"type": "agent", "id": "me"},
            "target": {"server_id": "scripted", "tool_name": "t"},
            "result": "FAILURE",
            "details": {
                "attempt": number,
                "wait_ms": 1000,
                "error": {"code": 3000, "message": "no"},
            },
        }
        for number in (1, 2)
    ]


@pytest.mark.parametrize("mgp", [None, {"version": "0.2.0", "extensions": ["security"]}])
async def test_who_did_not_negotiate_audit_hears_of_no_repetition(mgp: Any) -> None:
    heard: list[str] = []
    server = Scripted(mgp, tools_call=Failing(1, **HINT))
    options = patient(Clock(), on_event=lambda method, _: heard.append(method))
    async with Client(server, options) as client:
        await within(client.call_tool("t"))
    assert server.params("notifications/mgp.audit") == []
    assert heard == ["notifications/mgp.audit"]  # the program itself still can


async def test_attempts_end_with_the_servers_limit_and_with_ours() -> None:
    """MGP-14.6-3."""
    for said, ours, calls in ((2, 5, 3), (9, 1, 2), (0, 5, 1)):
        tool = Failing(99, retryable=True, retry_after_ms=1, max_retries=said)
        options = patient(Clock(), retry=Policy(retries=ours))
        async with Client(Scripted(MGP, tools_call=tool), options) as client:
            with pytest.raises(LimitError) as caught:
                await within(client.call_tool("t"))
        assert len(tool.calls) == calls
        assert caught.value.details["data"]["_mgp"]["max_retries"] == said


async def test_the_fallback_tool_gets_the_same_arguments_once_at_the_end() -> None:
    """MGP-14.6-4."""
    tool = Failing(99, retryable=True, retry_after_ms=1, max_retries=2, fallback_tool="other")
    server = Scripted(MGP, tools_call=tool)
    async with Client(server, patient(Clock())) as client:
        result = await within(client.call_tool("t", {"q": "x"}))
    assert result.text == "from the other"
    assert tool.calls == ["t", "t", "t", "other"]
    assert server.params("tools/call")[-1]["arguments"] == {"q": "x"}
    assert [one["details"]["attempt"] for one in server.params("notifications/mgp.audit")] == [
        1,
        2,
        0,
    ]


@pytest.mark.parametrize(
    ("code", "mgp", "kind"),
    [
        (3000, {"retryable": False, "retry_after_ms": 1}, LimitError),
        (1001, {}, AccessError),
        (-32005, {}, InternalError),
    ],
)
async def test_an_error_that_is_not_retryable_is_reported_at_once(
    code: int, mgp: dict[str, Any], kind: type[Exception]
) -> None:
    """MGP-14.6-6, GGEN-err-13: exactly one attempt."""
    tool = Failing(99, code, **mgp)
    async with Client(Scripted(MGP, tools_call=tool), patient(Clock())) as client:
        with pytest.raises(kind):
            await within(client.call_tool("t"))
    assert tool.calls == ["t"]


@pytest.mark.parametrize(
    ("hints", "repeatable", "calls"),
    [
        ({}, None, 1),
        ({"readOnlyHint": True, "idempotentHint": True}, None, 1),
        ({}, True, 2),
        ({"readOnlyHint": True}, False, 1),
    ],
)
async def test_a_bare_code_repeats_only_what_is_harmless(
    hints: dict[str, Any], repeatable: bool | None, calls: int
) -> None:
    """GGEN-err-13 with care: ggen's -32003 says a tool crashed, and so that it may have done something."""
    tool = Failing(1, -32003)
    listed = {"tools": [{**TOOLS["tools"][0], "annotations": hints}]}
    server = Scripted(tools_call=tool, tools_list=listed)
    async with Client(server, patient(Clock())) as client:
        await client.list_tools()
        if calls == 1:
            with pytest.raises(InternalError):
                await within(client.call_tool("t", repeatable=repeatable))
        else:
            await within(client.call_tool("t", repeatable=repeatable))
    assert len(tool.calls) == calls


async def test_who_wants_no_repetitions_gets_none() -> None:
    tool = Failing(1, **HINT)
    async with Client(Scripted(MGP, tools_call=tool), patient(Clock(), retry=None)) as client:
        with pytest.raises(LimitError):
            await within(client.call_tool("t"))
    assert tool.calls == ["t"]


async def test_lists_are_asked_for_again_as_well() -> None:
    answers: list[Any] = [broken(-32603), TOOLS]

    def listing(params: dict[str, Any]) -> dict[str, Any]:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return dict(found)

    async with Client(Scripted(tools_list=listing), patient(Clock())) as client:
        assert [one.name for one in await within(client.list_tools())] == ["t"]


async def test_a_wait_longer_than_the_time_limit_is_not_begun() -> None:
    tool = Failing(1, retryable=True, retry_after_ms=5000)
    clock = Clock()
    async with Client(Scripted(MGP, tools_call=tool), patient(clock)) as client:
        with pytest.raises(LimitError):
            await within(client.call_tool("t", timeout_s=2))
    assert clock.slept == []


async def test_a_connection_that_cannot_be_made_is_tried_again() -> None:
    """CDM-err-8."""
    clock = Clock()
    client = Client(["/no/such/program"], patient(clock))
    with pytest.raises(TransportError, match="no/such/program"):
        await within(client.call_tool("t"))
    await client.close()
    assert clock.slept == [1.0, 2.0, 4.0]
