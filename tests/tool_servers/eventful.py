"""An MGP server that negotiated `bidirectional`: events on its own channels, and tools that ask by callbacks.

    python tests/tool_servers/eventful.py [--http PORT] [--channels NAME,NAME] [--logs]

Tools: `emit` sends an event to every subscription that it fits; `ask` sends one callback and answers with the response (`answers`: with all that
come in half a second); `delete` asks for a confirmation and does nothing unless it hears `confirm`; `inform` lets its caller know; `done`
what was done; `seen` what it was sent. Events of a call that nobody waits for: the server sends what it likes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.webwires import serve_http
from tests.tool_servers.wires import Call, RefusalError, hello, serve_stdio

__all__ = ["LOGGED", "app", "main"]

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

LOGGED = "model.rate_limit"
"""With `--logs` whoever subscribes to it is spoken of in the log."""
logging: dict[str, Any] = {}
channels = ["model.token_usage", "model.rate_limit", "tool.batch", "system.disk", "security.scan"]
subscriptions: dict[str, tuple[list[str], str]] = {}
waiting: dict[str, asyncio.Future[Any]] = {}
seen: list[dict[str, Any]] = []
done: list[str] = []
numbers = itertools.count(1)


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "security": {"risk_level": "safe"}}


def _fits(pattern: str, channel: str) -> bool:
    return channel.startswith(pattern[:-1]) if pattern.endswith("*") else channel == pattern


def _subscribe(call: Call) -> dict[str, Any]:
    asked = call.params["channels"]
    found = [one for one in asked if any(_fits(one, own) for own in channels)]
    ident = f"theirs-{next(numbers)}"
    least = (call.params.get("filter") or {}).get("min_severity", "debug")
    subscriptions[ident] = found, least
    rest = [one for one in asked if one not in found]
    return {"subscribed": found, "unsupported": rest, "subscription_id": ident}


async def _emit(call: Call, given: dict[str, Any]) -> str:
    """Send an event to every subscription that it fits; under another id where one is given."""
    channel, severity = given["channel"], given.get("severity")
    count = 0
    for ident, (patterns, least) in list(subscriptions.items()):
        if not any(_fits(one, channel) for one in patterns):
            continue
        if LEVELS.index(severity or "info") < LEVELS.index(least):
            continue
        params = {
            "subscription_id": given.get("as", ident),
            "channel": channel,
            "timestamp": "2026-02-27T12:05:00.000Z",
            "data": given.get("data", {}),
            **({"severity": severity} if severity and given.get("states", True) else {}),
        }
        await call.client.notify("notifications/mgp.event", params)
        count += 1
    return str(count)


async def _ask(call: Call, given: dict[str, Any], *, repeat: bool = False) -> Any:
    """What the client answers to one callback."""
    ident = given.get("callback_id", f"theirs-{next(numbers)}")
    waiting[ident] = future = asyncio.get_running_loop().create_future()
    params = {"callback_id": ident, "request_id": call.id, **given}
    await call.notify("notifications/mgp.callback.request", params)
    if repeat:
        await call.notify("notifications/mgp.callback.request", params)
    return await future


async def _run(call: Call) -> str:
    name, given = call.params["name"], call.params.get("arguments") or {}
    if name == "emit":
        return await _emit(call, given)
    if name == "ask":
        return json.dumps(await _ask(call, given.get("callback", {}), repeat="twice" in given))
    if name == "delete":
        said = await _ask(call, {"type": "confirmation", "message": "Delete 15 files?", "options": ["confirm", "cancel"], **given})  # fmt: skip
        if said != "confirm":
            return "kept"
        done.append("deleted")
        return "deleted"
    if name == "inform":
        params = {"callback_id": "n", "request_id": call.id, "type": "notification", **given}
        await call.notify("notifications/mgp.callback.request", params)
        return "informed"
    if name == "seen":
        return json.dumps(seen)
    if name == "open":
        return json.dumps(sorted(subscriptions))
    return json.dumps(done) if name == "done" else name


async def app(call: Call) -> Any:
    """Answer one message."""
    seen.append({"method": call.method, "params": call.params})
    if call.id is None:
        return None
    if logging and call.method == "mgp/events/subscribe" and LOGGED in call.params["channels"]:
        said = {"level": "error", "data": f"somebody wants {LOGGED}"}
        await call.notify("notifications/message", said)
    if call.method.startswith("mgp/"):
        return _of_mgp(call)
    if call.method == "initialize":
        offered = call.params["capabilities"].get("mgp", {}).get("extensions", [])
        agreed = [one for one in ("security", "bidirectional") if one in offered]
        mgp = {"version": "0.1.0", "extensions": agreed}
        return hello(call, "eventful", {"tools": {}, "mgp": mgp, **logging})
    if call.method == "tools/list":
        names = ("emit", "ask", "delete", "inform", "seen", "done", "open", "quick")
        return {"tools": [_tool(name) for name in names]}
    if call.method == "tools/call":
        return {"content": [{"type": "text", "text": await _run(call)}]}
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def _of_mgp(call: Call) -> dict[str, Any]:
    if call.method == "mgp/events/subscribe":
        return _subscribe(call)
    if call.method == "mgp/events/unsubscribe":
        if subscriptions.pop(call.params["subscription_id"], None) is None:
            raise RefusalError(-32602, "no such subscription")
        return {}
    if call.method == "mgp/callback/respond":
        future = waiting.pop(call.params["callback_id"], None)
        if future is None or future.done():
            raise RefusalError(-32602, "nobody waits for that")
        future.set_result(call.params["response"])
        return {}
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A server with events and callbacks")
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--channels")
    parser.add_argument("--logs", action="store_true")
    given = parser.parse_args(arguments)
    if given.channels is not None:
        channels[:] = given.channels.split(",")
    logging.update({"logging": {}} if given.logs else {})
    return serve_stdio(app) if given.http is None else serve_http(app, given.http)


if __name__ == "__main__":
    sys.exit(main())
