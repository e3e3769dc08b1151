"""Reads a tool's words about itself (version, author, categories) from its `_meta`, once; `About`: those with its server's and the operator's.

The author of a foreign tool is believed about words (version, author, categories) and never about trust:
how far a tool is trusted is how far its server is, by the operator's word (decision 2.4).

`_meta` may have a quarter of a MiB of anything. It is read when a server lists the tool, a step for each, and nothing of it is
decoded but the few members that are wanted; whoever asks later has what was found.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Tool
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import META_TOOL, About
from gatewright.servers.listing import Definition
from gatewright.servers.spec import ServerSpec

__all__ = ["NO_WORDS", "Words", "about_tool", "read_words", "texts_of", "words_of"]

_TRUST = {"trusted": "system", "standard": "verified", "sandboxed": "community"}
_META = META_TOOL.encode()
_CHARS = 256
_CATEGORIES_MOST = 32
_LIMITS = ("max_execution_time", "max_memory")
_NUMBER_BYTES = 64
_TEXTS_BYTES, _TEXTS_MOST = 65_536, 1000
"""A longer list of texts is not read."""


class Words(msgspec.Struct, frozen=True):
    """What a tool says of itself. Its name, trust and limits are those of tools of this process alone: a foreign author could
    claim any."""

    name: str = ""
    version: str = ""
    author: str = ""
    categories: tuple[str, ...] = ()
    trust_level: str = ""
    sandbox_level: str = ""
    limits: Mapping[str, float] = {}


NO_WORDS = Words()
_FOREIGN = ("version", "author", "categories")
_OWN = (*_FOREIGN, "name", "trust_level", "sandbox_level", "resource_limits")


def words_of(definition: Definition, *, own: bool = False) -> Words:
    """What the definition of a tool says; `own` is one of this process."""
    meta = definition.get("_meta")
    if meta is None or _META not in bytes(meta):
        return NO_WORDS
    said = _members(_members(meta, META_TOOL).get(META_TOOL), *(_OWN if own else _FOREIGN))
    limits = _members(said.get("resource_limits"), *_LIMITS)
    return Words(
        # A name is more than a word: registrations and Groundhog's ids go by it.
        name=_text(said.get("name")),
        version=_text(said.get("version")),
        author=_text(said.get("author")),
        categories=tuple(texts_of(said.get("categories"), _CATEGORIES_MOST, _CHARS)),
        trust_level=_text(said.get("trust_level")),
        sandbox_level=_text(said.get("sandbox_level")),
        limits={name: found for name, one in limits.items() if (found := _number(one)) is not None},
    )


def read_words(
    tools: Sequence[Tool],
    known: Mapping[str, Tool],
    before: Mapping[str, Words],
    *,
    own: bool,
) -> Generator[None, None, dict[str, Words]]:
    """Name → what a tool says, of those that say something; one tool a step. `before` is the same of those that were `known`."""
    found: dict[str, Words] = {}
    for tool in tools:
        yield
        name = tool.target.name
        same = known.get(name) is tool
        said = before.get(name, NO_WORDS) if same else words_of(tool.definition, own=own)
        if said is not NO_WORDS:
            found[name] = said
    return found


def about_tool(tool: Tool, words: Words, spec: ServerSpec | None, hello: Hello) -> About:
    """Everything that is said. `hello` is what the tool's server said of itself."""
    word = None if spec is None else spec.word(tool.target.name)
    filed = word.categories[:_CATEGORIES_MOST] if word is not None and word.categories else None
    trust = _TRUST.get((spec.trust_level if spec is not None else None) or "standard", "untrusted")
    version = hello.info.get("version")
    return About(
        name=words.name or tool.target.name,
        version=words.version or (version[:_CHARS] if isinstance(version, str) else ""),
        author=words.author,
        categories=words.categories if filed is None else tuple(one[:_CHARS] for one in filed),
        trust_level=words.trust_level or trust,
        sandbox_level=words.sandbox_level or "none",
        limits=dict(words.limits),
    )


def texts_of(raw: msgspec.Raw | None, most: int, chars: int) -> list[str]:
    """The texts among the first elements of a list, each as far as `chars`; none of what is no list, or a long one. Nothing else in
    it is decoded."""
    if raw is None or bytes(raw)[:1] != b"[" or len(raw) > _TEXTS_BYTES:
        return []
    try:
        found = jsonrpc.elements(raw, _TEXTS_MOST)
    except ValueError:
        return []
    texts = (one for one in found[:most] if bytes(one)[:1] == b'"')
    return [str(jsonrpc.decode(one))[:chars] for one in texts]


def _members(raw: msgspec.Raw | None, *names: str) -> Mapping[str, msgspec.Raw]:
    if raw is None or bytes(raw)[:1] != b"{":
        return {}
    return jsonrpc.members_named(raw, *names)


def _text(raw: msgspec.Raw | None) -> str:
    if raw is None or bytes(raw)[:1] != b'"':
        return ""
    return str(jsonrpc.decode(raw))[:_CHARS]


def _number(raw: msgspec.Raw) -> float | None:
    found: Any = None if len(raw) > _NUMBER_BYTES else jsonrpc.decode(raw)
    return found if isinstance(found, int | float) else None
