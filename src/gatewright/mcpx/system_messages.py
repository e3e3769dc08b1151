"""Builds the payloads of `system/*` messages: welcome, presence, error, notice (MCPx §3.4, §3.5), as JSON text.

A member's own text is made once and put in wherever it is listed: a welcome to a room of thousands is a join of
bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gatewright.mcp.wire import jsonrpc

__all__ = ["error_payload", "member_text", "notice_payload", "presence_payload", "welcome_payload"]


def member_text(id: str, capabilities: Sequence[str]) -> bytes:
    """A participant as others are told of it: `{"id": …, "capabilities": […]}`."""
    return jsonrpc.encode({"id": id, "capabilities": list(capabilities)})


def welcome_payload(you: bytes, others: Iterable[bytes]) -> bytes:
    """Of `system/welcome`; all of them are texts of `member_text`."""
    return b'{"you":%b,"participants":[%b]}' % (you, b",".join(others))


def presence_payload(event: str, id: str, member: bytes) -> bytes:
    """Of `system/presence`; capabilities are told of those who join."""
    about = member if event == "join" else jsonrpc.encode({"id": id})
    return b'{"event":"%b","participant":%b}' % (event.encode(), about)


def error_payload(
    error: str, message: str, kind: str | None, capabilities: Sequence[str] | None
) -> bytes:
    """Of `system/error` to whoever caused it."""
    payload: dict[str, Any] = {"error": error, "message": message}
    if kind is not None:
        payload["attempted_kind"] = kind
    if capabilities is not None:
        payload["your_capabilities"] = list(capabilities)
    return jsonrpc.encode(payload)


def notice_payload(participant: str, kind: str) -> bytes:
    """Of the `system/error` by which the others learn of a violation. Nothing of the message is in it."""
    said = f"{participant} tried to send '{kind}' without the capability for it"
    return jsonrpc.encode(
        {
            "error": "capability_violation",
            "message": said,
            "participant": participant,
            "attempted_kind": kind,
        }
    )
