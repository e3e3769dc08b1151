"""`SharedSession`: what several participants may ask and tell a server over its one MCP session; holders of subscriptions, question tokens.

A session is made for one client. What a client says there that names no request is the whole session's: the level of the log, a
subscription that ends, how far an answer is. So each participant holds subscriptions of its own, of which the server hears the first and
the last; a question that the server asks has a progress token that only whoever was asked can name; and what one participant would
set for all is refused. Beyond the methods of the revision that the session has, nothing is known to be safe to share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from secrets import token_hex
from typing import Any, Literal

import msgspec

from gatewright.mcp.wire import jsonrpc

__all__ = ["EACH", "URI_CHARS", "SharedSession", "Subscribing", "spelled"]

EACH = 256
"""How many resources one participant may have subscribed to at once."""
ALL = 10_000
URI_CHARS = 8192
"""How long the URI of a subscription is at most."""
_SERVED = frozenset({"completions", "prompts", "resources", "tools"})
"""Capabilities of a server of which every member of the room has the use."""
_SUBSCRIBE, _UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
_ASKED = frozenset(
    {
        "completion/complete",
        "initialize",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        _SUBSCRIBE,
        _UNSUBSCRIBE,
        "tools/call",
        "tools/list",
    }
)
"""What clients of the revision 2025-06-18 ask, but for `logging/setLevel`: one level holds for all."""

Subscribing = Literal["ask", "held", "crowded"]
"""Whether the server is asked, or it needs not to be, or there are too many already, or its URI is too long."""


def spelled(message: jsonrpc.Request | jsonrpc.Notification) -> dict[str, msgspec.Raw]:
    """The members of a message in our spelling: who compares texts reads in them what was judged here. Raises `ValueError`."""
    params = jsonrpc.decode(message.params) if message.params else {}
    said: dict[str, Any] = {"jsonrpc": "2.0", "method": message.method, "params": params}
    if isinstance(message, jsonrpc.Request):
        said["id"] = jsonrpc.decode(message.id)
        if message.trace_id is not None:
            said["trace_id"] = message.trace_id
    return {name: msgspec.Raw(jsonrpc.encode(value)) for name, value in said.items()}


class SharedSession:
    """What is known of one session. Nothing here asks or waits."""

    def __init__(self) -> None:
        self._holders: dict[str, set[str]] = {}
        """URI → who has subscribed to it."""
        self._held: Counter[str] = Counter()
        """Participant → how many it holds."""
        self._pending: Counter[tuple[str, str]] = Counter()
        """URI and who asks for it → requests that are not answered yet."""
        self._granted: set[tuple[str, str]] = set()
        """URI and holder, where the server has said yes."""
        self._questions: dict[str, tuple[str, Any]] = {}
        """Our token of a question → who was asked, and the server's token."""

    def refusal(self, method: str) -> str:
        """Why a request is not put to the server; empty where it is."""
        if method in _ASKED:
            return ""
        if method == "logging/setLevel":
            return "the server is shared by all of this room, and so is the level of its log: nobody sets it"
        return f"the session that this room shares has no {method[:128]}"

    def shown(self, hello: bytes) -> bytes:
        """What the members of the room are told of the result of `initialize`: without capabilities whose requests are refused here."""
        try:
            said = jsonrpc.decode_members(hello)
            able = jsonrpc.decode(bytes(said["capabilities"]))
        except (KeyError, ValueError):
            return hello
        if not isinstance(able, dict):
            return hello
        kept = {name: value for name, value in able.items() if name in _SERVED}
        return jsonrpc.encode({**said, "capabilities": kept})

    # -- subscriptions

    def subscribe(self, uri: str, who: str) -> Subscribing:
        """`who` subscribes, from now on; `settle` says what has come of it, but where there are too many."""
        holders = self._holders.get(uri, set())
        full = self._held[who] >= EACH or self._held.total() >= ALL or len(uri) > URI_CHARS
        if who not in holders and full:
            return "crowded"
        self._pending[uri, who] += 1
        if who in holders:
            return "held"
        self._held[who] += 1
        self._holders.setdefault(uri, holders).add(who)
        return "ask"

    def settle(self, uri: str, who: str, *, granted: bool) -> Subscribing:
        """The server has answered a subscription of `who`, or nobody waits for that any more. `ask` where nobody has it now: who
        was granted it before, or asks for it once more, keeps it."""
        self._pending[uri, who] -= 1
        waits = self._pending[uri, who] > 0
        if not waits:
            del self._pending[uri, who]
        if who not in self._holders.get(uri, ()):
            return "held"
        if granted:
            self._granted.add((uri, who))
        if waits or (uri, who) in self._granted:
            return "held"
        return self.unsubscribe(uri, who)

    def unsubscribe(self, uri: str, who: str) -> Subscribing:
        """`who` has it no more: `ask` where nobody has."""
        holders = self._holders.get(uri, set())
        if who not in holders:
            return "held" if holders else "ask"
        holders.discard(who)
        self._granted.discard((uri, who))
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]
        if holders:
            return "held"
        del self._holders[uri]
        return "ask"

    def left(self, who: str) -> list[str]:
        """`who` is gone. What nobody has subscribed to any more."""
        if who not in self._held:
            return []
        held = [uri for uri, holders in self._holders.items() if who in holders]
        return [uri for uri in held if self.unsubscribe(uri, who) == "ask"]

    # -- what the server asks

    def question(self, params: dict[str, Any], who: str) -> tuple[dict[str, Any], str]:
        """What `who` is asked, and our token in it; empty where the server has none."""
        meta = params.get("_meta")
        if not isinstance(meta, dict) or "progressToken" not in meta:
            return params, ""
        token = f"room-{token_hex(8)}"
        self._questions[token] = who, meta["progressToken"]
        return {**params, "_meta": {**meta, "progressToken": token}}, token

    def answered(self, token: str) -> None:
        """The question is answered, or nobody waits for that."""
        self._questions.pop(token, None)

    def progress(self, params: Mapping[str, Any], sender: str) -> dict[str, Any] | None:
        """What the server is told of how far `sender` is; None where it was not asked."""
        token = params.get("progressToken")
        who, theirs = self._questions.get(token if isinstance(token, str) else "", ("", None))
        return {**params, "progressToken": theirs} if who and who == sender else None
