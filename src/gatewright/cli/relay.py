"""State of `gatewright bridge`: pending requests, session replay after a reconnect, errors for lost requests. No I/O.

Messages pass as the bytes they are; only their envelopes are read. When the connection is lost, every
question on its way is answered with an error at once (`lost`), as nobody can know whether it ran, and what the host was asked is taken back. On the
next connection the session is opened again as the host had opened it (`reopen`), and the answers to
that are kept from the host, who never asked twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.mcp.wire.json_bounds import Limits

__all__ = ["Relay"]

_LIMITS = Limits(depth=2**31, keys=2**31, batch=2**31, id_chars=2**31, values=2**31)
"""The gateway judges; a bridge has no opinion about size."""

_REASON = "upstream_unavailable"
_KEPT = {"logging/setLevel": "", "resources/subscribe": "uri"}
"""State of a session besides its opening: method → the member that tells two of them apart."""

_ENDLESS = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"


class Relay:
    """The state of one host's conversation. `name` begins the ids of the bridge's own requests; no host may guess it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked = 0
        self._pending: dict[bytes, str] = {}
        self._theirs: set[bytes] = set()
        self._own: set[bytes] = set()
        self._first = b""
        self._code = reason_of(_REASON).mcp_code
        """What an error of our own has for a number, until the host opens a session of an earlier revision."""
        self._refusal = ""
        self._opening: dict[bytes, bytes] = {}
        self._changing: dict[bytes, tuple[tuple[str, str], bytes | None]] = {}
        """Questions on their way that change what is kept: what, and the parameters that make it so; None: it ends."""
        self._opened: bytes | None = None
        self._initialized: bytes | None = None
        self._kept: dict[tuple[str, str], bytes] = {}

    @property
    def waiting(self) -> int:
        """How many questions of the host are still to be answered. A listening is none: it lasts as
        long as the host does, and a host that left is not kept waiting for it."""
        return sum(method != _ENDLESS for method in self._pending.values())

    @property
    def reopening(self) -> bool:
        """Whether an answer to one of our own questions is still to come."""
        return bool(self._own)

    @property
    def refusal(self) -> str:
        """What the gateway said to the latest opening instead of a result; empty where it said nothing of that kind."""
        return self._refusal

    def from_host(self, line: bytes) -> bytes | None:
        """Note a line about to be sent. None: an answer to a connection that is gone; do not send."""
        messages = _messages(line)
        late = set[int]()
        for place, message in enumerate(messages):
            if isinstance(message, jsonrpc.Request):
                self._pending[message.id] = message.method
                self._remember(message)
            elif isinstance(message, jsonrpc.Notification):
                self._note(message, line, place)
            elif isinstance(message, jsonrpc.Response):
                if message.id not in self._theirs:
                    late.add(place)
                self._theirs.discard(message.id)
        return _without(line, late, len(messages))

    def from_gateway(self, frame: bytes) -> bytes | None:
        """Note a frame that arrived. None: it answers us and not the host."""
        messages = _messages(frame)
        ours = set[int]()
        for place, message in enumerate(messages):
            if isinstance(message, jsonrpc.Response):
                if message.id in self._own:
                    self._own.discard(message.id)
                    if message.id == self._first and not message.result:
                        self._refusal = _said(message)
                    ours.add(place)
                else:
                    self._settle(message)
            elif isinstance(message, jsonrpc.Request):
                self._theirs.add(message.id)
            elif isinstance(message, jsonrpc.Notification) and message.method == _CANCELLED:
                self._theirs.discard(_member(message.params, "requestId") or b"")
        return _without(frame, ours, len(messages))

    def lost(self, why: str) -> list[bytes]:
        """The connection is gone: an error for every question that was on its way, and for every one that the host was asked the
        word that nobody takes its answer, which it may still be showing to a person."""
        answers = [
            _error(ident, self._code, f"{why}; the call may or may not have run", sent=True)
            for ident in self._pending
        ]
        answers += [_taken_back(ident, why) for ident in self._theirs]
        self._pending.clear()
        self._theirs.clear()
        self._own.clear()
        self._opening.clear()
        self._changing.clear()
        return answers

    def refuse(self, line: bytes, why: str) -> list[bytes]:
        """Errors for the questions of a line that cannot be sent."""
        return [
            _error(message.id, self._code, f"{why}; nothing was sent", sent=False)
            if isinstance(message, jsonrpc.Request)
            else jsonrpc.error(message.id, (message.code, message.message))
            for message in _messages(line)
            if isinstance(message, jsonrpc.Request | jsonrpc.Malformed)
        ]

    def reopen(self) -> bytes | None:
        """The opening to send first on a new connection; wait while `reopening`, then `restore`.

        None where the host opened no session: the stateless era needs none.
        """
        # What an attempt before this one asked, or was asked, went with its connection.
        self._own.clear()
        self._theirs.clear()
        self._refusal = ""
        if self._opened is None:
            return None
        question = self._question("initialize", self._opened)
        (self._first,) = self._own
        return question

    def restore(self) -> list[bytes]:
        """What else the session consisted of."""
        if self._opened is None:
            return []
        first = [] if self._initialized is None else [self._initialized]
        return first + [
            self._question(method, params) for (method, _), params in self._kept.items()
        ]

    def _question(self, method: str, params: bytes) -> bytes:
        self._asked += 1
        ident = jsonrpc.encode(f"{self._name}-{self._asked}")
        self._own.add(ident)
        return jsonrpc.request(ident, method, params)

    def _remember(self, request: jsonrpc.Request) -> None:
        if request.method == "initialize":
            self._opening[request.id] = request.params
            if _member(_member(request.params, "capabilities") or b"{}", "mgp") is None:
                self._code = reason_of(_REASON).mcp_legacy_code
        elif request.method in _KEPT:
            self._changing[request.id] = _key(request.method, request), request.params
        elif request.method == "resources/unsubscribe":
            key = _key("resources/subscribe", request)
            self._kept.pop(key, None)
            # And once more when it is answered: by then the subscription may have been.
            self._changing[request.id] = key, None

    def _note(self, notification: jsonrpc.Notification, line: bytes, place: int) -> None:
        if notification.method == "notifications/initialized":
            # By itself, and not its line: in a batch calls stand beside it, which are not to run again.
            self._initialized = _parts(line)[place]
        # MCP: who cancels expects no answer, so none is owed when the connection is lost.
        elif notification.method == _CANCELLED:
            ident = _member(notification.params, "requestId")
            if ident is not None:
                self._pending.pop(ident, None)
                self._changing.pop(ident, None)

    def _settle(self, response: jsonrpc.Response) -> None:
        self._pending.pop(response.id, None)
        params = self._opening.pop(response.id, None)
        changed = self._changing.pop(response.id, None)
        # Only what succeeded is repeated.
        if params is not None and response.result:
            self._opened = params
        if changed is not None and response.result:
            key, kept = changed
            if kept is None:
                self._kept.pop(key, None)
            else:
                self._kept[key] = kept


def _without(line: bytes, places: Collection[int], count: int) -> bytes | None:
    """A line without the messages at these places of its `count`; the bytes that it is where there are none, None where nothing is
    left: what stands beside an answer in a batch is neither lost with it nor takes it along."""
    if not places:
        return line
    if len(places) == count:
        return None
    left = (one for at, one in enumerate(_parts(line)) if at not in places)
    return b"[" + b",".join(left) + b"]"


def _is_batch(data: bytes) -> bool:
    return data.lstrip()[:1] == b"["


def _parts(data: bytes) -> list[bytes]:
    """The text of each of the messages, in the order of `_messages`."""
    if not _is_batch(data):
        return [data]
    found = jsonrpc.split(data, _LIMITS)
    return [data] if isinstance(found, jsonrpc.Malformed) else [bytes(one) for one in found]


def _messages(data: bytes) -> Sequence[jsonrpc.Message]:
    if not _is_batch(data):
        return [jsonrpc.parse(data, _LIMITS)]
    found = jsonrpc.parse_many(data, _LIMITS)
    return [found] if isinstance(found, jsonrpc.Malformed) else found


def _key(method: str, request: jsonrpc.Request) -> tuple[str, str]:
    member = _KEPT[method]
    value = _member(request.params, member) if member else None
    return method, (value or b"").decode(errors="replace")


def _member(params: bytes, name: str) -> bytes | None:
    """The JSON text of one member, or None."""
    try:
        found = jsonrpc.decode_members(params).get(name)
    except ValueError:
        return None
    return None if found is None else bytes(found)


def _said(response: jsonrpc.Response) -> str:
    """The message of an error."""
    try:
        text = jsonrpc.decode(_member(response.error, "message") or b"")
    except ValueError:
        text = None
    return text if isinstance(text, str) and text else "an error without a message"


def _taken_back(ident: bytes, why: str) -> bytes:
    params = {"requestId": msgspec.Raw(ident), "reason": why}
    return jsonrpc.notification(_CANCELLED, jsonrpc.encode(params))


def _error(ident: bytes, code: int, why: str, *, sent: bool) -> bytes:
    """What is known of sending is said, and when to come back only where nothing can run twice by that."""
    row = reason_of(_REASON)
    data: dict[str, Any] = {"reason": row.name, "details": {"sent": sent}}
    if not sent:
        data["retry_after_ms"] = row.retry_after_ms
    return jsonrpc.error(ident, (code, why, data))
