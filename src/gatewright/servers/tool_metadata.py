"""Collects a tool's metadata (name, version, author, categories, trust) from its `_meta`, its server and the operator's settings.

The author of a foreign tool is believed about words (version, author, categories) and never about trust:
how far a tool is trusted is how far its server is, by the operator's word (decision 2.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.call import Tool
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import META_TOOL, About
from gatewright.servers.spec import ServerSpec

__all__ = ["about_tool"]

_TRUST = {"trusted": "system", "standard": "verified", "sandboxed": "community"}
_CHARS = 256
_CATEGORIES_MOST = 32
_LIMITS = ("max_execution_time", "max_memory")


def about_tool(tool: Tool, spec: ServerSpec | None, hello: Hello) -> About:
    """Everything that is said. `hello` is what the tool's server said of itself."""
    said = _said(tool)
    word = None if spec is None else spec.word(tool.target.name)
    filed = word.categories if word is not None and word.categories else said.get("categories")
    own = spec is not None and spec.local
    trust = _TRUST.get((spec.trust_level if spec is not None else None) or "standard", "untrusted")
    # Trust and limits are believed of in-process tools alone (`own`): a foreign author could claim any.
    limits = said.get("resource_limits")
    return About(
        # A name is more than a word: registrations and Groundhog's ids go by it.
        name=(_text(said.get("name")) if own else "") or tool.target.name,
        version=_text(said.get("version")) or _text(hello.info.get("version")),
        author=_text(said.get("author")),
        categories=_texts(filed),
        trust_level=_text(said.get("trust_level")) or trust if own else trust,
        sandbox_level=(_text(said.get("sandbox_level")) or "none") if own else "none",
        limits=_numbers(limits) if own and isinstance(limits, dict) else {},
    )


def _said(tool: Tool) -> Mapping[str, Any]:
    meta = tool.definition.get("_meta")
    if meta is None or META_TOOL.encode() not in bytes(meta):
        return {}
    around = jsonrpc.decode(meta)
    found = around.get(META_TOOL) if isinstance(around, dict) else None
    return found if isinstance(found, dict) else {}


def _text(found: Any) -> str:
    return found[:_CHARS] if isinstance(found, str) else ""


def _texts(found: Any) -> tuple[str, ...]:
    if not isinstance(found, list | tuple):
        return ()
    return tuple(one[:_CHARS] for one in found[:_CATEGORIES_MOST] if isinstance(one, str))


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: found[name] for name in _LIMITS if isinstance(found.get(name), int | float)}
