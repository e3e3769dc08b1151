"""`fetch_short`: asks a tool server a question of the gateway's own; its answer is refused unread where it is long or dear to decode.

What the gateway asks for itself (how a server is, what it will tell events of, how long it drains) is answered in some hundred bytes, and decoded
while everybody waits. A server may answer with as much as any result may have, as often as somebody has it asked.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from gatewright.mcp.client.failures import AnswerTooLong
from gatewright.mcp.wire import jsonrpc

__all__ = ["SHORT_BYTES", "Asked", "fetch_short"]

SHORT_BYTES = 64 * 1024
"""The longest such answer that is read: 64 channels of 128 characters, or the checks of a server, are a quarter of that."""
_MOST_NS = 2_000_000
"""What it may take to decode one that is longer than what is decoded without a look."""


class Asked(Protocol):
    """The connection on which it is asked (`mcp.client.link`)."""

    def fetch(
        self, method: str, params: dict[str, Any], timeout_s: float, whose: str = "", *, most: int
    ) -> Coroutine[Any, Any, bytes]:
        """Ask the server something. Raises `ServerFailed`; `AnswerTooLong` where the answer has more than `most` bytes."""


async def fetch_short(
    link: Asked, method: str, params: dict[str, Any], timeout_s: float, whose: str = ""
) -> dict[str, Any]:
    """The answer to a question of the gateway's own. Raises `ServerFailed`; `AnswerTooLong` where more would have to be made of it than while
    everybody waits, and `ValueError` where it is no JSON object."""
    raw = await link.fetch(method, params, timeout_s, whose, most=SHORT_BYTES)
    flaw = jsonrpc.heavy(raw, _MOST_NS)
    if flaw:
        raise AnswerTooLong(f"{method}: the answer {flaw}")
    found = jsonrpc.decode(raw)
    if type(found) is not dict:
        raise ValueError("the answer is no object")
    return found
