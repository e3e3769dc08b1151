"""What the conformance server serves: fixed pictures, sounds, resources, prompts and schemas.

The conformance suites ask for these names and shapes; the bytes are made here, from nothing, so
that no binary blob has to be kept in the tree.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import wave
import zlib
from typing import Any

import mcp_types as types

__all__ = [
    "DRAFT_2020_12",
    "PROMPTS",
    "RESOURCES",
    "TEMPLATES",
    "WIDE_SCHEMA",
    "embedded",
    "picture",
    "read_resource",
    "render_prompt",
    "sound",
    "text",
]

DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"

# Keywords that a lossy proxy likes to drop: anchors, composition, conditions, `additionalProperties`.
WIDE_SCHEMA: dict[str, Any] = {
    "$schema": DRAFT_2020_12,
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _png() -> bytes:
    """One red pixel as a PNG file."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def _wav() -> bytes:
    """Ten milliseconds of silence as a WAV file."""
    out = io.BytesIO()
    with wave.open(out, "wb") as sink:
        sink.setnchannels(1)
        sink.setsampwidth(2)
        sink.setframerate(8000)
        sink.writeframes(b"\x00\x00" * 80)
    return out.getvalue()


PNG = base64.b64encode(_png()).decode("ascii")
WAV = base64.b64encode(_wav()).decode("ascii")


def text(words: str) -> types.TextContent:
    """A text block."""
    return types.TextContent(text=words)


def picture() -> types.ImageContent:
    """The red pixel as an image block."""
    return types.ImageContent(data=PNG, mime_type="image/png")


def sound() -> types.AudioContent:
    """The silence as an audio block."""
    return types.AudioContent(data=WAV, mime_type="audio/wav")


def embedded(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    """A text resource carried inside a content block."""
    body = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(resource=body)


RESOURCES = [
    types.Resource(
        uri="test://static-text",
        name="static-text",
        description="A text that never changes",
        mime_type="text/plain",
    ),
    types.Resource(
        uri="test://static-binary",
        name="static-binary",
        description="A picture that never changes",
        mime_type="image/png",
    ),
    types.Resource(
        uri="test://watched-resource",
        name="watched-resource",
        description="A text that may be subscribed to",
        mime_type="text/plain",
    ),
]

TEMPLATES = [
    types.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="A JSON document made from the id in its address",
        mime_type="application/json",
    )
]


def read_resource(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    """The one content block behind `uri`, or None when nothing lives there."""
    if uri == "test://static-text":
        words = "This is the content of the static text resource."
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    if uri == "test://watched-resource":
        words = "This is the content of the watched resource."
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    head, tail = "test://template/", "/data"
    if uri.startswith(head) and uri.endswith(tail) and len(uri) > len(head) + len(tail):
        key = uri[len(head) : -len(tail)]
        if "/" not in key:
            words = json.dumps({"id": key, "templateTest": True, "data": f"Data for ID: {key}"})
            return types.TextResourceContents(uri=uri, mime_type="application/json", text=words)
    return None


def _argument(name: str, description: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=True)


PROMPTS = [
    types.Prompt(name="test_simple_prompt", description="One fixed message"),
    types.Prompt(
        name="test_prompt_with_arguments",
        description="One message made from two arguments",
        arguments=[
            _argument("arg1", "The first value to show"),
            _argument("arg2", "The second value to show"),
        ],
    ),
    types.Prompt(
        name="test_prompt_with_embedded_resource",
        description="A message that carries a resource",
        arguments=[_argument("resourceUri", "The address to put on the resource")],
    ),
    types.Prompt(name="test_prompt_with_image", description="A message that carries a picture"),
    types.Prompt(
        name="test_input_required_result_prompt",
        description="A prompt that needs an answer from the user first",
    ),
]


def _said(*blocks: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=block) for block in blocks]
    )


def render_prompt(name: str, arguments: dict[str, str]) -> types.GetPromptResult | None:
    """The messages of the prompt `name`, or None when there is no such prompt."""
    if name == "test_simple_prompt":
        return _said(text("This is a simple prompt for testing."))
    if name == "test_prompt_with_arguments":
        one, two = arguments.get("arg1", ""), arguments.get("arg2", "")
        return _said(text(f"Prompt with arguments: arg1='{one}', arg2='{two}'"))
    if name == "test_prompt_with_embedded_resource":
        uri = arguments.get("resourceUri", "test://example-resource")
        return _said(
            embedded(uri, "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        )
    if name == "test_prompt_with_image":
        return _said(picture(), text("Please analyze the image above."))
    return None
