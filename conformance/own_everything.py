"""A server on the project's own SDK that offers every fixture the conformance suites ask for.

`make conformance CONFORMANCE=--sdk` runs the server sets against it, without any gateway. When it listens it prints one
line `ready URL` on stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.everything_data import PNG, WAV, WIDE_SCHEMA
from conformance.own_asking import offer_asking
from gatewright.sdk import Audio, Image, Resource, Server, Text, ToolError
from gatewright.sdk.server import Context

__all__ = ["build", "main"]

TINY_WAIT = 0.05
REGION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "description": "Where to run", "x-mcp-header": "Region"}
    },
    "required": ["region"],
}


PICTURE = Image(PNG)


def _document(uri: str, words: str, mime_type: str = "text/plain") -> Resource:
    return Resource(uri, words, mime_type)


def _content(server: Server) -> None:
    # The first one has to work without arguments: the header scenarios call whatever is listed first.
    fixed: dict[str, Any] = {
        "test_simple_text": Text("This is a simple text response for testing."),
        "test_image_content": PICTURE,
        "test_audio_content": Audio(WAV, "audio/wav"),
        "test_embedded_resource": _document(
            "test://embedded-resource", "This is an embedded resource content."
        ),
        "test_multiple_content_types": [
            Text("Multiple content types test:"),
            PICTURE,
            _document(
                "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
            ),
        ],
    }
    for name, found in fixed.items():
        server.tool(name=name, description=f"Conformance fixture {name}")(_always(found))

    @server.tool(description="Fails")
    def test_error_handling() -> None:
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool(input_schema=WIDE_SCHEMA, description="Its schema is what matters")
    def json_schema_2020_12_tool(**given: Any) -> str:
        return "The schema of this tool is what matters"

    @server.tool(input_schema=REGION, description="An argument that is a header, too")
    def test_custom_header(region: str) -> str:
        return f"region is {region}"


def _always(found: Any) -> Callable[[], Any]:
    async def tool() -> Any:
        return found

    return tool


def _telling(server: Server) -> None:
    async def logging(context: Context) -> str:
        for words in ("started", "processing data", "completed"):
            context.info(f"Tool execution {words}")
            await asyncio.sleep(TINY_WAIT)
        return "Three lines were logged"

    for name in ("test_tool_with_logging", "test_logging_tool"):
        server.tool(name=name, description="Logs three lines")(logging)

    @server.tool(description="Says three times how far it is")
    async def test_tool_with_progress(context: Context) -> str:
        for so_far in (0, 50, 100):
            context.progress(so_far, 100)
            await asyncio.sleep(TINY_WAIT)
        return "Progress was reported three times"

    @server.tool(description="Lets its stream go")
    async def test_reconnection(context: Context) -> str:
        context.close_stream(300)
        await asyncio.sleep(2 * TINY_WAIT)
        return "The stream was closed before this answer"


def _changing(server: Server) -> None:
    def appearing() -> str:
        return "Here I am"

    @server.tool(description="Lets a tool come and go")
    async def test_trigger_tool_change() -> str:
        name = "test_appearing_tool"
        if name in server.registry:
            server.registry.unregister(name)
        else:
            server.tool(name=name, description="Came later")(appearing)
        return "The list of tools is another one now"

    later = {"there": False}

    @server.tool(description="Lets a prompt come and go")
    async def test_trigger_prompt_change() -> str:
        name = "test_appearing_prompt"
        if later["there"]:
            server.remove(name)
        else:
            server.prompt(name=name, description="Came later")(appearing)
        later["there"] = not later["there"]
        return "The list of prompts is another one now"


def _resources(server: Server) -> None:
    @server.resource(
        "test://static-text",
        name="static-text",
        description="A text that never changes",
        mime_type="text/plain",
        ttl_s=60,
    )
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource(
        "test://static-binary", name="static-binary", description="A picture", mime_type="image/png"
    )
    def static_binary() -> bytes:
        return PNG

    @server.resource("test://watched-resource", description="A text that may be subscribed to")
    def watched() -> str:
        return "This is the content of the watched resource."

    @server.resource("test://template/{id}/data", name="template", mime_type="application/json")
    def template(id: str) -> str:
        """A document made from the id in its address."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _prompts(server: Server) -> None:
    @server.prompt(description="One fixed message")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="One message made from two arguments")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="A message that carries a resource")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:  # noqa: N803 - the suite's name
        return [
            _document(resourceUri, "Embedded resource content for testing."),
            "Please process the embedded resource above.",
        ]

    @server.prompt(description="A message that carries a picture")
    def test_prompt_with_image() -> list[Any]:
        return [PICTURE, "Please analyze the image above."]

    @server.completion("test_prompt_with_arguments", "arg1")
    def proposals(typed: str) -> list[str]:
        words = ("paris", "park", "party", "test", "testing")
        return [word for word in words if word.startswith(typed)]


def build() -> Server:
    """The server with all fixtures."""
    server = Server("own-everything", instructions="Every fixture of the suites lives here.")
    for offer in (_content, _telling, _changing, _resources, _prompts, offer_asking):
        offer(server)
    return server


async def main() -> None:
    """Serve until ended from outside."""
    served = await build().serve_http()
    print(f"ready {served.url}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
