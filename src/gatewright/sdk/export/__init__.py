"""Exports tools: a catalogue, one tool with examples, and tool lists in the formats of model APIs.

Every function takes `Tool`s or MCP tool definitions (`{"name", "description", "inputSchema"}`), so that what a gateway
lists can be exported like what a module declares.
"""

from __future__ import annotations

from gatewright.sdk.export.catalogue import catalogue, tags_of, tool_document
from gatewright.sdk.export.examples import examples_of
from gatewright.sdk.export.model_formats import (
    FORMS,
    for_anthropic,
    for_gemini,
    for_mcp,
    for_openai,
)

__all__ = [
    "FORMS",
    "catalogue",
    "examples_of",
    "for_anthropic",
    "for_gemini",
    "for_mcp",
    "for_openai",
    "tags_of",
    "tool_document",
]
