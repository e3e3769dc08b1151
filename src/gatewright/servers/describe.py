"""`describe`: merges servers' capabilities and instructions for one endpoint; redacts instructions, quotes them if several, cuts at 16 KiB.

A single server without a prefix is mirrored: what it says of itself, unknown capabilities included,
is what a host hears. Several are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gatewright.mcp.protocol.mcp_client import Hello, without_mgp
from gatewright.secret_scanning import HELD, without_secrets
from gatewright.secret_scanning.escape_invisible import spelled

__all__ = ["describe"]

INSTRUCTIONS_BYTES = 16 * 1024
"""Longer joined instructions end with a note that says so."""

_UNDECIDED = 4 * 1024
_KEPT = "\n\t\ufe0f"
"""The last one makes a picture of the character before it."""
_LISTED = ("tools", "prompts", "resources")


def describe(hellos: Sequence[tuple[str, Hello]], *, mirror: bool) -> tuple[dict[str, Any], str]:
    """Capabilities and instructions. `hellos` are server id and hello of those that are known."""
    if mirror and len(hellos) == 1:
        hello = hellos[0][1]
        return _mirrored(hello), _said(hello.instructions or "")
    return _joined([hello for _, hello in hellos]), _instructions(hellos)


def _mirrored(hello: Hello) -> dict[str, Any]:
    capabilities = without_mgp(hello.capabilities)
    for name in _LISTED:
        if isinstance(capabilities.get(name), dict):
            # We announce changes even where the server does not: it may come back different.
            capabilities[name] = {**capabilities[name], "listChanged": True}
    if hello.writes:
        capabilities.setdefault("logging", {})
    return capabilities


def _joined(hellos: Sequence[Hello]) -> dict[str, Any]:
    found: dict[str, Any] = {"tools": {"listChanged": True}}
    for hello in hellos:
        _join(found, without_mgp(hello.capabilities))
        if hello.writes:
            found["logging"] = {}
    return found


def _join(found: dict[str, Any], theirs: dict[str, Any]) -> None:
    for name in _LISTED:
        if name in theirs:
            found.setdefault(name, {})["listChanged"] = True
    resources = theirs.get("resources")
    if isinstance(resources, dict) and resources.get("subscribe"):
        found["resources"]["subscribe"] = True
    if "completions" in theirs:
        found["completions"] = {}
    for place in ("extensions", "experimental"):
        if isinstance(theirs.get(place), dict):
            # Of two servers that declare one extension the first of the configuration counts.
            found[place] = {**theirs[place], **found.get(place, {})}


@lru_cache(64)
def _clean(text: str, known: int) -> str:
    """Without secrets: what is said in a handshake is no outcome of a call, and passes no filter. `known` is another number
    whenever more is known to be secret."""
    del known
    return without_secrets(text.encode("utf-8", "replace")).decode()


def _instructions(hellos: Sequence[tuple[str, Hello]]) -> str:
    """What several servers say, each under its name. Every line is marked, so that none can stand as a heading of another's, or
    as the gateway's word."""
    parts: list[str] = []
    size, longer = 0, False
    for name, hello in hellos:
        if not hello.instructions or size > INSTRUCTIONS_BYTES:
            continue
        said, cut = _readable(hello.instructions)
        marked = said.replace("\n", "\n> ")
        parts.append(f"## {name}\n\n> {marked}")
        size += len(parts[-1])
        longer = longer or cut
    return _within("\n\n".join(parts), longer)


def _said(whole: str) -> str:
    return _within(*_readable(whole))


def _readable(whole: str) -> tuple[str, bool]:
    """Instructions without secrets and with nothing hidden in them, and whether there are more. No more of them is looked
    through than is said, and a little: half a secret at the end is not said either."""
    text = _clean(whole[: INSTRUCTIONS_BYTES + _UNDECIDED], HELD.version)
    longer = len(whole) > INSTRUCTIONS_BYTES + _UNDECIDED
    if longer:
        text = text[: max(0, len(text) - _UNDECIDED)]
    return spelled(text.replace("\r\n", "\n"), keep=_KEPT), longer


def _within(text: str, longer: bool) -> str:
    """As much of a text as may be said, with a note where there is more."""
    if not longer and len(text.encode()) <= INSTRUCTIONS_BYTES:
        return text
    cut = text.encode()[:INSTRUCTIONS_BYTES].decode(errors="ignore")
    return f"{cut}\n\n(The instructions are longer than this.)"
