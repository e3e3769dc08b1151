"""A server whose results name resources that no list has.

    python tests/tool_servers/linking.py NAME [LISTED ...] [--template TEXT]

Tools: `link` (the given URIs as links, embedded and structured), `touch` (says of the given URIs that they changed, in
the middle of the call, and that all lists did), `broken` (ends with a JSON-RPC error of any code), `heard` (the URIs that it was asked to read or subscribe to). The prompt
`named` takes one URI. What is read is `NAME of URI`. Who subscribes to `memo://slow` has its answer when somebody unsubscribes from it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import Call, RefusalError, hello, serve_stdio

__all__ = ["SLOW", "main", "named"]

SLOW = "memo://slow"


def named(uris: list[str]) -> dict[str, Any]:
    """A result that names each URI in every way that there is."""
    content: list[dict[str, Any]] = []
    for uri in uris:
        content.append({"type": "resource_link", "uri": uri, "name": "linked"})
        content.append({"type": "resource", "resource": {"uri": uri, "text": "embedded"}})
    deep = [{"at": {"type": "resource_link", "uri": uri, "name": "deep"}} for uri in uris]
    return {"content": content, "structuredContent": {"found": deep}}


class Linking:
    """One of them."""

    def __init__(self, name: str, listed: list[str], templates: list[str]) -> None:
        self._name = name
        self._listed = [{"uri": uri, "name": uri} for uri in listed]
        self._templates = [{"uriTemplate": one, "name": one} for one in templates]
        self._heard: list[str] = []
        self._ended = asyncio.Event()

    async def __call__(self, call: Call) -> Any:
        """Answer one message."""
        params = call.params
        if call.id is None:
            return None
        if call.method == "initialize":
            can = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}}
            return hello(call, self._name, can)
        if call.method == "tools/list":
            schema = {"type": "object"}
            tools = ("link", "touch", "heard", "broken")
            return {"tools": [{"name": one, "inputSchema": schema} for one in tools]}
        lists = {
            "prompts/list": {"prompts": [{"name": "named", "arguments": [{"name": "uri"}]}]},
            "resources/list": {"resources": self._listed},
            "resources/templates/list": {"resourceTemplates": self._templates},
        }
        if call.method in lists:
            return lists[call.method]
        if call.method == "prompts/get":
            content = named([params["arguments"]["uri"]])["content"]
            return {"messages": [{"role": "user", "content": one} for one in content]}
        if call.method.startswith("resources/"):
            return await self._resource(call.method, params["uri"])
        if call.method == "tools/call":
            return await self._call(call, params["name"], params.get("arguments", {}))
        raise RefusalError(-32601, "Method not found")

    async def _resource(self, method: str, uri: str) -> dict[str, Any]:
        self._heard.append(f"{method} {uri}")
        if (method, uri) == ("resources/unsubscribe", SLOW):
            self._ended.set()
        if (method, uri) == ("resources/subscribe", SLOW):
            await self._ended.wait()
        if method != "resources/read":
            return {}
        return {"contents": [{"uri": uri, "text": f"{self._name} of {uri}"}]}

    async def _call(self, call: Call, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "broken":
            raise RefusalError(
                arguments.get("code", -32603), "it broke in here", arguments.get("data")
            )
        if name == "link":
            return named(arguments["uris"])
        if name == "touch":
            for uri in arguments["uris"]:
                await call.notify("notifications/resources/updated", {"uri": uri})
            await call.notify("notifications/tools/list_changed", {})
        return {"content": [{"type": "text", "text": "\n".join(self._heard)}]}


def main(words: list[str]) -> None:
    """Serve until the input ends."""
    listed, templates = [], []
    rest = iter(words[1:])
    for word in rest:
        if word == "--template":
            templates.append(next(rest))
        else:
            listed.append(word)
    serve_stdio(Linking(words[0], listed, templates))


if __name__ == "__main__":
    main(sys.argv[1:])
