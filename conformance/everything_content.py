"""What the conformance server serves: fixed pictures, sounds, resources, prompts and schemas.

The conformance suites ask for these names and shapes; the bytes are made here, from nothing, so
that no binary blob has to be kept in the tree.
"""

from __future__ import annotations

import base64
import json

import mcp_types as types
from everything_data import PNG, WAV

__all__ = [
    "PROMPTS",
    "RESOURCES",
    "TEMPLATES",
    "embedded",
    "picture",
    "read_resource",
    "render_prompt",
    "sound",
    "text",
]

PICTURE = base64.b64encode(PNG).decode("ascii")
SOUND = base64.b64encode(WAV).decode("ascii")


def text(words: str) -> types.TextContent:
    """A text block."""
    return types.TextContent(text=words)


def picture() -> types.ImageContent:
    """The red pixel as an image block."""
    return types.ImageContent(data=PICTURE, mime_type="image/png")


def sound() -> types.AudioContent:
    """The silence as an audio block."""
    return types.AudioContent(data=SOUND, mime_type="audio/wav")


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
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PICTURE)
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
