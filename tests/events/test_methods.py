"""Which params of `mgp/events/subscribe` are refused, and that nothing of the record is looked at where nobody listens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.audit.trail import AuditLog
from gatewright.call import Answer, Back, Call, Caller, Client, Failure, Mgp, Outcome, Target
from gatewright.events.methods import EventMethods
from gatewright.listeners import Signal
from gatewright.servers.supervisor import Supervisor
from tests.events.test_channels import record
from tests.events.test_subscriptions import ANN, CALL, _Listener
from tests.gate_parts import Mute, a_tool

MGP = Client("2025-11-25", mgp=Mgp("0.2.0", ("bidirectional",)))


class _Catalogue:
    def knows(self, profile: str) -> bool:
        return True

    def servers(self, profile: str, caller: Any) -> list[str]:
        return ["s"]


class _House:
    def __init__(self) -> None:
        self.listeners = {"s1": _Listener(ANN)}
        self._count = 0
        hub = SimpleNamespace(heard_by=self.listeners.get, left=Signal(), happened=Signal())
        servers = SimpleNamespace(
            hub=hub, catalogue=_Catalogue(), fleet=SimpleNamespace(servers={})
        )
        self.audit = SimpleNamespace(heard=Signal())
        audit = cast("AuditLog", self.audit)
        self.events = EventMethods(cast("Supervisor", servers), audit, self._random, lambda: "now")

    def _random(self, size: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(size, "big")

    async def ask(self, what: str, client: Client = MGP, **params: Any) -> Outcome:
        call = replace(CALL, method=f"mgp/events/{what}", params=params, client=client)
        return await self.events.methods[call.method](call, Mute())

    async def subscribe(self, **params: Any) -> Outcome:
        """The same through the hook, as the kernel does it."""

        async def further(call: Call, back: Back) -> Outcome:
            return await self.events.methods[call.method](call, back)

        call = replace(CALL, method="mgp/events/subscribe", params=params, client=MGP)
        return await self.events.around(call, Mute(), further)

    def write(self, kind: str, **more: Any) -> None:
        self.audit.heard.send(msgspec.json.encode(record(kind, **more)))


def members(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Answer), outcome
    found: dict[str, Any] = msgspec.json.decode(outcome.raw)
    return found


async def test_the_channels_of_the_gateway_need_no_server() -> None:
    """MGP-13.2-1."""
    found = members(
        await _House().ask("subscribe", channels=["tool.*", "tool.none", "tool.*", "x"])
    )
    assert found["subscribed"] == ["tool.*"]
    assert found["unsupported"] == ["tool.none", "x"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"channels": []},
        {"channels": [1]},
        {"channels": [""]},
        {"channels": ["x" * 129]},
        {"channels": ["tool.*"] * 65},
        {"channels": ["tool.*"], "filter": {"min_severity": "loud"}},
        {"channels": ["tool.*"], "filter": []},
        {"channels": ["tool.*"], "since": 3},
        {"subscription_id": "sub", "since": -1},
        {"subscription_id": 5},
    ],
)
async def test_what_cannot_be_asked_for(params: dict[str, Any]) -> None:
    found = await _House().ask("subscribe", **params)
    assert isinstance(found, Failure)
    assert found.reason == "invalid_params"


async def test_methods_are_of_those_who_negotiated_them() -> None:
    for what in ("subscribe", "unsubscribe"):
        found = await _House().ask(what, Client("2025-11-25"), channels=["tool.*"])
        assert isinstance(found, Failure)
        assert found.reason == "method_not_found"


async def test_unsubscribing_what_is_not_there() -> None:
    """MGP-13.2-2."""
    house = _House()
    for ident, reason in (("sub-none", "not_found"), (None, "invalid_params")):
        found = await house.ask("unsubscribe", subscription_id=ident)
        assert isinstance(found, Failure)
        assert found.reason == reason


async def test_the_record_is_heard_for_as_long_as_somebody_listens() -> None:
    house = _House()
    assert not house.audit.heard.listeners
    made = members(await house.subscribe(channels=["tool.*"]))
    assert house.audit.heard.listeners
    house.write("TOOL_EXECUTED")
    assert house.listeners["s1"].heard == []  # its answer has not left
    await _turn()
    house.write("TOOL_EXECUTED", trace_id="two")
    told = house.listeners["s1"].heard
    assert [(one["channel"], one["sequence"]) for one in told] == [("tool.completed", 1), ("tool.completed", 2)]  # fmt: skip
    assert told[1]["data"]["trace_id"] == "two"
    assert told[1]["timestamp"] == "2026-01-01T00:00:00.000Z"
    house.write("TOOL_EXECUTED", actor={"type": "agent", "id": "bob"})
    house.audit.heard.send(b"no record")  # is in the log, and nobody's call ends for it
    assert len(told) == 2
    await house.ask("unsubscribe", subscription_id=made["subscription_id"])
    assert not house.audit.heard.listeners
    await house.events.close()


@pytest.mark.parametrize("first", ["agent", "operator"])
async def test_of_a_server_those_hear_who_may_see_it_and_why_it_stopped_operators_alone(
    first: str,
) -> None:
    """MGP-13.5-1: an agent learns neither of a server that does not exist for it, nor the reason of one that does; whoever is told
    first."""
    house, callers = _House(), {"agent": ANN, "operator": Caller("olga", "operator")}
    for name in sorted(callers, key=lambda name: name != first):
        house.listeners[name] = _Listener(callers[name])
        call = replace(CALL, caller=callers[name], client=MGP, session=name)
        call = replace(call, params={"channels": ["system.*"]})
        made = members(await house.events.methods["mgp/events/subscribe"](call, Mute()))
        one = house.events.every.get(made["subscription_id"])
        assert one is not None
        house.events.every.catch_up(one)
    for server in ("s", "elsewhere"):
        target, details = {"server_id": server}, {"reason": "a secret word"}
        house.write("SERVER_DISCONNECTED", target=target, details=details)
    for name, servers in (("agent", ["s"]), ("operator", ["s", "elsewhere"])):
        found = house.listeners[name].heard
        assert [one["data"]["target"]["server_id"] for one in found] == servers
        assert str(found).count("a secret word") == (0 if name == "agent" else 2)
    await house.events.close()


async def _turn() -> None:
    import asyncio  # noqa: PLC0415

    await asyncio.sleep(0)


async def test_a_call_that_passed_all_gates_has_started() -> None:
    """MGP-13.5-1."""
    house = _House()
    sent: list[Call] = []

    async def dispatch(call: Call, back: Back) -> Outcome:
        sent.append(call)
        return Answer(b"{}")

    dispatched = house.events.sent(dispatch)
    tool = a_tool("echo", "s")
    call = replace(CALL, kind="tool", tool=tool, target=Target("s", "echo"), trace_id="mine")
    await dispatched(call, Mute())
    await house.subscribe(channels=["tool.started"])
    await _turn()
    await dispatched(call, Mute())
    await dispatched(replace(call, tool=None), Mute())
    assert len(sent) == 3
    assert [one["data"]["trace_id"] for one in house.listeners["s1"].heard] == ["mine"]


async def test_taking_up_is_as_it_was() -> None:
    house = _House()
    made = members(await house.subscribe(channels=["tool.*"]))
    await _turn()
    for _ in range(3):
        house.write("TOOL_EXECUTED")
    ident = made["subscription_id"]
    other = await house.subscribe(subscription_id=ident, channels=["model.*"])
    assert isinstance(other, Failure)
    assert house.events.every.moved == house.events.server_events.moved
    again = members(await house.subscribe(subscription_id=ident, since=1))
    assert (again["sequence"], again["replayed"], again["missed"]) == (3, 2, 0)
    house.listeners["s1"].heard.clear()
    await _turn()
    assert [one["sequence"] for one in house.listeners["s1"].heard] == [2, 3]
    none = await house.subscribe(subscription_id="sub-none")
    assert isinstance(none, Failure)
    assert none.details["rule"] == "subscription_unknown"


async def test_who_cannot_hear_is_told_the_other_way() -> None:
    house = _House()
    house.listeners.clear()
    found = await house.ask("subscribe", channels=["tool.*"])
    assert isinstance(found, Failure)
    assert "subscriptions/listen" in found.message
