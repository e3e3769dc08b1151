"""GRH-int-3: every component of the door can be another one, and the rest does not notice."""

from __future__ import annotations

from typing import Any

from gatewright.call import Answer, Back, Call, Refusal
from gatewright.dialects.groundhog.sessions import Sessions
from gatewright.mcp.wire import jsonrpc
from tests.dialects.groundhog.rig import Rig
from tests.dialects.house import ANN, House

OK = Answer(jsonrpc.encode({"content": [], "structuredContent": {"ok": True}}))
ECHO = {"tool_id": "echo", "parameters": {}}


async def test_the_registry_of_tools_is_replaceable() -> None:
    """GRH-int-3."""
    async with Rig() as rig:
        rig.house.script.does("other", OK)

        async def other(*_: Any, **__: Any) -> str:
            return "other"

        rig.parts.names = other
        result = await rig.client(ANN, "key-ann").result("tools/invoke", ECHO)
        assert result["tool_id"] == "echo"
        assert rig.house.script.calls[0].name == "other"


async def test_the_error_handler_is_replaceable() -> None:
    """GRH-int-3."""
    async with Rig() as rig:

        def spell(*given: Any, **named: Any) -> bytes:
            return b'{"code":1,"message":"as we say it"}'

        rig.parts.spell = spell
        response = await rig.client(ANN, "key-ann").ask("no/such")
        assert response["error"] == {"code": 1, "message": "as we say it"}


async def test_the_security_validator_is_replaceable() -> None:
    """GRH-int-3: it is the kernel's list of gates."""

    class Never:
        name = "never"

        async def __call__(self, call: Call, back: Back) -> Call | Refusal:
            return Refusal("policy_violation", "not on a Sunday")

    async with Rig() as rig, House(Never()) as strict:
        rig.parts.front = strict.front
        data = await rig.client(ANN, "key-ann").data("tools/invoke", ECHO)
        assert (data["error_code"], data["error_message"]) == (
            "policy_violation",
            "not on a Sunday",
        )


async def test_the_session_manager_is_replaceable() -> None:
    """GRH-int-3."""

    class NoMore(Sessions):
        def open(self, caller: Any, id: str | None = None, profile: str = "") -> Any:
            return Refusal("draining", "come back tomorrow")

    async with Rig() as rig:
        rig.parts.sessions = NoMore({}, clock=lambda: 0.0, random=lambda size: b"0" * size)
        data = await rig.client(ANN, "key-ann").data("tools/invoke", ECHO)
        assert (data["error_type"], data["error_code"]) == ("system_error", "unavailable")


async def test_the_message_handler_needs_no_socket_and_no_serialization_of_its_own() -> None:
    """GRH-int-3: frames in, frames out."""
    async with Rig() as rig:
        rig.house.script.does("echo", OK)
        peer = rig.client(ANN, "key-ann").peer
        answer = await peer.answer(
            b'{"jsonrpc":"2.0","id":"1","method":"tools/invoke","params":{"tool_id":"echo"}}'
        )
        assert jsonrpc.decode(answer)["result"]["data"] == {"ok": True}
