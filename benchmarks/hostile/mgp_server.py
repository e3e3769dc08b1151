"""An MGP server over stdio that streams, sends events and asks by callbacks as often and as long as it is told to.

    python benchmarks/hostile/mgp_server.py

Its tools take `kind` and `count`: `chunks` sends so many chunks of one kind, and answers; `events` so many events to each
subscription; `ask` puts so many callbacks, none of which it waits for; `results` answers with a large result; `behave` says in which manner it
answers from then on what the gateway asks for itself, until it is told another one. Inert: all secrets are made up.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = [
    "CALLBACKS",
    "CHUNKS",
    "EVENTS",
    "MANNERS",
    "RESULTS",
    "WAITED_FOR",
    "callback",
    "chunk",
    "event",
    "main",
    "written",
]

_REVISION = "2025-11-25"
_EXTENSIONS = ("security", "streaming", "bidirectional", "lifecycle")
_BATCH = 200
_MEBIBYTE = 1_000_000

_TEXTS: Mapping[str, Callable[[int], str]] = {
    "one_byte": lambda _: "a",
    "one_blank": lambda _: " ",
    "dense": lambda _: "token: a " * 400,
    "dense_long": lambda _: "token: a " * (_MEBIBYTE // 9),
    "assignments": lambda _: "password = 'p' ; secret=s\n" * 150,
    "cookies": lambda _: "Cookie: a=b; " * 300,
    "numbers": lambda _: "4111 1111 " * 400,
    "pem": lambda _: "-----BEGIN PRIVATE KEY-----\n" * 150,
    "letters": lambda _: "a" * _MEBIBYTE,
    "unseen": lambda _: "\u200b\u2063" * 2000,
    "begun": lambda _: "token: ",
}
CHUNKS = (*_TEXTS, "backwards", "same_index", "no_index", "huge_index", "foreign", "done", "rows", "deep", "no_text", "progress")  # fmt: skip
"""Kinds of chunks."""
EVENTS = ("small", "long", "too_long", "rows", "deep", "unasked", "no_channel", "channels", "secrets", "severities", "decimals")  # fmt: skip
"""Kinds of events."""
CALLBACKS = ("input", "long", "options", "notification", "same_id", "unknown_type", "rows")
"""Kinds of callbacks."""
_LISTS, _QUOTES = 2_800_000, 5_700_000
RESULTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "lists": lambda: {"content": [], "rows": [[]] * _LISTS, "_mgp": {}},
    "mgp_quotes": lambda: {"content": [], "_mgp": {"k": '"' * _QUOTES}},
    "mgp_lists": lambda: {"content": [], "_mgp": {"k": [[]] * _LISTS}},
}
"""Kinds of results: eleven megabytes in what is passed on, and in the result's own `_mgp`."""

_DECIMALS = "@decimals"
_SPELLED: Mapping[str, str] = {
    _DECIMALS: f"[{','.join(['1e1'] * 15_000)}]",
    "@lists": f"[{','.join(['[]'] * 20_000)}]",
    "@rows": json.dumps([{"a": 1}] * 6000),
    "@ones": f"[{','.join('0' * 900_000)}]",
    "@texts": "[" + ",".join(['""'] * 900_000) + "]",
    "@quotes": '"' + '\\"' * 5_500_000 + '"',
    "@escapes": '"' + "\\" * 11_000_000 + '"',
    "@spaces": f"[{' ' * 11_000_000}]",
}
"""What stands in a message for a text that is written otherwise than `json` writes it."""
_SUBSCRIBED = {"subscribed.ones": "@ones", "subscribed.texts": "@texts"}
_EARLY = {"early.lists": "@lists", "early.decimals": _DECIMALS, "early.rows": "@rows"}
_PINGED = {f"ping.{one}": f"@{one}" for one in ("quotes", "escapes", "spaces")}
MANNERS = ("", "same_id", *_SUBSCRIBED, *_EARLY, *_PINGED)
"""How it answers: with one id for all subscriptions; with long answers to a subscription; with events of nobody before the answers to several; and
with a long answer to `mgp/health/ping`."""
WAITED_FOR = 16
"""Subscriptions that are answered together where something comes before."""


def _deep(levels: int = 60) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


def chunk(kind: str, number: int, call: Any) -> dict[str, Any]:
    """The params of one chunk of a call; of its progress, where the kind is that."""
    about: dict[str, Any] = {"request_id": call, "index": number, "done": False}
    if kind == "progress":
        return {"request_id": call, "progress": number / 10**6, "message": "token: a " * 10}
    more: dict[str, dict[str, Any]] = {
        "backwards": {"index": 10**6 - number},
        "same_index": {"index": 0},
        "no_index": {"index": None},
        "huge_index": {"index": 10**300},
        "foreign": {"request_id": f"x{number}"},
        "done": {"done": True},
    }
    text = _TEXTS[kind](number) if kind in _TEXTS else "hello "
    content: Any = {"type": "text", "text": text}
    if kind == "rows":
        content = {"type": "text", "text": "a", "rows": [{"a": 1}] * 6000}
    elif kind == "deep":
        content = {"type": "data", "value": [_deep()] * 300}
    elif kind == "no_text":
        content = {"type": "image", "data": "AAAA" * 8000}
    return {**about, "content": content, **more.get(kind, {})}


def event(kind: str, number: int, subscription: Any) -> dict[str, Any]:
    """The params of one event."""
    levels = ("debug", "info", "error", "emergency", "loud", 7)
    data: Mapping[str, Any] = {
        "long": "token: a " * 6000,
        "too_long": "token: a " * 60_000,
        "rows": [{"a": 1}] * 6000,
        "deep": [_deep()] * 300,
        "secrets": {"password": "token: abcdefgh12345678"},
        "decimals": _DECIMALS,
    }
    return {
        "subscription_id": f"x{number}" if kind == "unasked" else subscription,
        "channel": f"tool.c{number}" if kind == "channels" else "x" if kind == "no_channel" else "tool.flood",
        "timestamp": "2026-02-27T12:05:00.000Z",
        "data": data.get(kind, {"number": number}),
        **({"severity": levels[number % len(levels)]} if kind == "severities" else {}),
    }  # fmt: skip


def callback(kind: str, number: int, call: Any) -> dict[str, Any]:
    """The params of one callback."""
    ident = "a" if kind == "same_id" else f"c{number}"
    more: dict[str, dict[str, Any]] = {
        "long": {"message": "token: a " * 900},
        "options": {"type": "selection", "options": [f"{one}{'a' * 250}" for one in range(100)]},
        "notification": {"type": "notification"},
        "unknown_type": {"type": "shout"},
        "rows": {"rows": [{"a": 1}] * 6000},
    }
    said = {"callback_id": ident, "request_id": call, "type": "input", "message": "a"}
    return {**said, "timeout_ms": 2000, **more.get(kind, {})}


def written(message: Mapping[str, Any]) -> str:
    """One message as its line."""
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
    for name, spelled in _SPELLED.items() if '"@' in text else ():
        text = text.replace(f'"{name}"', spelled)
    return text + "\n"


def _write(*messages: Mapping[str, Any]) -> None:
    rest = memoryview("".join(map(written, messages)).encode())
    while rest:
        rest = rest[os.write(1, rest) :]


class _Server:
    def __init__(self) -> None:
        self._subscriptions = 0
        self._manner = ""
        self._waiting: list[tuple[Any, Any]] = []

    def answer(self, message: Mapping[str, Any]) -> None:
        method, ident = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method is None or ident is None:
            return
        if method == "initialize":
            offered = params["capabilities"].get("mgp") or {}
            extensions = [one for one in _EXTENSIONS if one in offered.get("extensions", ())]
            mgp = {"version": "0.2.0", "extensions": extensions}
            about = {"serverInfo": {"name": "foreign", "version": "1"}}
            result: Any = {"protocolVersion": _REVISION, "capabilities": {"tools": {}, "mgp": mgp}, **about}  # fmt: skip
        elif method == "tools/list":
            names = ("chunks", "events", "ask", "results", "behave")
            result = {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in names]}
        elif method == "mgp/events/subscribe":
            self._subscribe(ident, params["channels"])
            return
        elif method == "mgp/health/ping":
            more = _PINGED.get(self._manner)
            result = {"status": "healthy", **({"more": more} if more else {})}
        elif method == "tools/call":
            self._called(ident, params)
            large = RESULTS.get((params.get("arguments") or {}).get("kind", ""))
            plain: Any = {"content": [{"type": "text", "text": "ok"}]}
            result = large() if params["name"] == "results" and large else plain
        else:
            result = {}
        _write({"id": ident, "result": result})

    def _subscribe(self, ident: Any, channels: Any) -> None:
        self._waiting.append((ident, channels))
        if self._manner in _EARLY:
            if len(self._waiting) < WAITED_FOR:
                return
            data = _EARLY[self._manner]
            said = ({"channel": "tool.x", "subscription_id": f"x{one}", "data": data} for one in range(100))  # fmt: skip
            _write(*({"method": "notifications/mgp.event", "params": one} for one in said))
        for one, asked in self._waiting:
            self._subscriptions += 1
            name = "same" if self._manner == "same_id" else f"s{self._subscriptions}"
            found = _SUBSCRIBED.get(self._manner, asked)
            _write({"id": one, "result": {"subscribed": found, "unsupported": [], "subscription_id": name}})  # fmt: skip
        self._waiting.clear()

    def _called(self, ident: Any, params: Mapping[str, Any]) -> None:
        asked, name = params.get("arguments") or {}, params["name"]
        kind, count = asked.get("kind", ""), asked.get("count", 0)
        if name == "behave":
            self._manner = kind
        elif name == "chunks":
            what = "progress" if kind == "progress" else "chunk"
            _flood(f"mgp.stream.{what}", count, lambda one: chunk(kind, one, ident))
        elif name == "ask":
            _flood("mgp.callback.request", count, lambda one: callback(kind, one, ident))
        elif name == "events":
            all_ = [f"s{number}" for number in range(1, self._subscriptions + 1)]
            for name in ["same"] if self._manner == "same_id" else all_:
                _flood("mgp.event", count, lambda one, to=name: event(kind, one, to))  # type: ignore[misc]


def _flood(method: str, count: int, params: Callable[[int], dict[str, Any]]) -> None:
    large = len(json.dumps(params(0))) > 20_000
    batch = 4 if large else _BATCH
    for start in range(0, count, batch):
        some = (params(one) for one in range(start, min(count, start + batch)))
        _write(*({"method": f"notifications/{method}", "params": one} for one in some))


def main() -> int:
    """Serve until the gateway hangs up."""
    server = _Server()
    for line in sys.stdin.buffer:
        server.answer(json.loads(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
