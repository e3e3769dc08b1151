"""Tables of MCP's protocol revisions: features, methods, and version negotiation. No other file compares revision strings.

Source: the specification's five revisions and their change logs.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gatewright.call import Kind

__all__ = [
    "CACHED",
    "INTERRUPTIBLE",
    "LATEST_LEGACY",
    "LATEST_MODERN",
    "LEGACY",
    "METHODS",
    "MODERN",
    "Method",
    "Revision",
    "answer_version",
    "corrects_arguments",
    "is_modern",
    "known_tasks",
    "revision",
]


class Revision(msgspec.Struct, frozen=True):
    """What one revision has."""

    name: str
    modern: bool = False
    batches: bool = False
    """JSON-RPC batches must be understood (2025-03-26 only)."""
    streamable: bool = True
    """Streamable HTTP; 2024-11-05 had HTTP+SSE instead."""
    version_header: bool = True
    """`MCP-Protocol-Version` is sent with each HTTP request after the handshake."""
    structured: bool = True
    """Tools may answer `structuredContent`."""
    elicitation: bool = True
    primed: bool = False
    """Event streams open with an empty event that carries an id, so that a client can resume."""
    tasks: bool = False
    """Tasks are in its core. In 2026-07-28 they are an extension."""


_TABLE = (
    Revision(
        "2024-11-05",
        streamable=False,
        version_header=False,
        structured=False,
        elicitation=False,
    ),
    # Batches came with this revision and went with the next.
    Revision("2025-03-26", batches=True, version_header=False, structured=False, elicitation=False),
    Revision("2025-06-18"),
    Revision("2025-11-25", primed=True, tasks=True),
    Revision("2026-07-28", modern=True),
)
_BY_NAME = {one.name: one for one in _TABLE}

LEGACY: tuple[str, ...] = tuple(one.name for one in _TABLE if not one.modern)
"""Revisions that open with `initialize`, oldest first."""
MODERN: tuple[str, ...] = tuple(one.name for one in _TABLE if one.modern)
"""Revisions that carry everything in each request, oldest first."""
# 2025-11-25 said first that the model is to see what is wrong with its arguments (decision C-61).
_CORRECTING = ("2025-11-25", *MODERN)
_WITH_TASKS = tuple(one.name for one in _TABLE if one.tasks)
LATEST_LEGACY = LEGACY[-1]
LATEST_MODERN = MODERN[-1]


def revision(name: str) -> Revision:
    """The table row of a known revision. Raises `KeyError` for others."""
    return _BY_NAME[name]


def is_modern(name: str) -> bool:
    """Whether a revision carries its handshake in every request."""
    return name in MODERN


def corrects_arguments(name: str) -> bool:
    """Whether a revision wants arguments that do not fit as a tool's error, which the model reads and corrects, and not
    as one of the protocol (MCP 2025-11-25, tools, error handling)."""
    return name in _CORRECTING


def known_tasks(name: str) -> bool:
    """Whether a revision has tasks in its core."""
    return name in _WITH_TASKS


def answer_version(asked: object) -> str:
    """What to answer an `initialize` that asked for `asked`: the same where it is known, else our
    latest handshake revision, which the client may refuse (lifecycle rules of all four)."""
    return asked if isinstance(asked, str) and asked in LEGACY else LATEST_LEGACY


class Method(msgspec.Struct, frozen=True):
    """One request method of a client: what kind of call it makes, and which member names its target."""

    kind: Kind
    names: str | None = None
    legacy: bool = True
    modern: bool = True


METHODS: Mapping[str, Method] = {
    "tools/call": Method("tool", "name"),
    "prompts/get": Method("prompt", "name"),
    "resources/read": Method("resource", "uri"),
    "tools/list": Method("list"),
    "prompts/list": Method("list"),
    "resources/list": Method("list"),
    "resources/templates/list": Method("list"),
    "completion/complete": Method("method"),
    "resources/subscribe": Method("method", "uri", modern=False),
    "resources/unsubscribe": Method("method", "uri", modern=False),
    "logging/setLevel": Method("method", modern=False),
}
"""The methods that become calls. `initialize`, `ping`, `server/discover` and `subscriptions/listen`
are the connection's own and never leave the protocol layer. Everything unknown is a `method` call."""

INTERRUPTIBLE = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Modern methods that may answer `input_required` (2026-07-28, multi round-trip requests)."""

CACHED = frozenset(
    {
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "server/discover",
    }
)
"""Modern methods whose results must carry `ttlMs` and `cacheScope`."""
