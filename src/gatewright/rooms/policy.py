"""Types of room configuration: `Policy`, participants, topics; identities, token claims; `with_word` applies operators' capability changes.

A participant is who its token says it is: the client sends the token and nothing else (MCPx §6.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from gatewright.call import Caller, Refusal
from gatewright.mcpx.capabilities import PROFILES, Capabilities
from gatewright.mcpx.topic import Bounds, Mode
from gatewright.rooms.trust_store import Word
from gatewright.schemas.lookalikes import keys, spellings
from gatewright.secret_scanning.escape_invisible import is_unseen

__all__ = [
    "Access",
    "Claims",
    "Identity",
    "Known",
    "Policy",
    "Topic",
    "Trust",
    "Verifier",
    "with_word",
]

Access = Literal["public", "restricted", "private"]
"""`public`: whoever gets in at the gateway. `restricted`: participants that the configuration or a signed token
names. `private`: the members of the topic."""


class Identity(msgspec.Struct, frozen=True):
    """A participant, as its token established it."""

    id: str
    capabilities: tuple[str, ...]
    mode: Mode = "all"
    echo: bool = True
    topics: tuple[str, ...] | None = None
    """Where it may go; None is everywhere."""
    named: bool = False
    """Whether the configuration or a signed token names it."""
    way: Literal["configuration", "key", "jwt", "anonymous", "gateway"] = "key"
    """How it was established; `gateway` is for participants inside this process."""
    expires_at: float | None = None
    """Unix seconds from which its token is no good."""
    caller: Caller | None = None
    """The owner of the key that it came with."""

    @property
    def who(self) -> str:
        """As what it comes, as callers are told apart: by the kind of its key's owner."""
        if self.way in ("anonymous", "gateway"):
            return self.way
        return "agent" if self.caller is None else self.caller.kind

    @property
    def rights(self) -> tuple[object, ...]:
        """What another who comes under its name must have alike to go on with what this one began: a token that was refreshed, a key
        that was replaced (decision 0113)."""
        limits = () if self.caller is None else self.caller.user
        return self.who, limits, self.capabilities, self.topics


class Claims(NamedTuple):
    """What a signed token says. None: it says nothing of that."""

    id: str
    capabilities: tuple[str, ...] | None
    topics: tuple[str, ...] | None
    expires_at: float
    """Unix seconds."""


class Verifier(Protocol):
    """Checks signed tokens."""

    def claims(self, token: str) -> Claims | Refusal:
        """What a token says, or why it counts for nothing."""


class Known(msgspec.Struct, frozen=True):
    """What the configuration says of one participant. None: what holds for everybody."""

    id: str
    capabilities: tuple[str, ...] | None = None
    mode: Mode | None = None
    echo: bool | None = None
    topics: tuple[str, ...] | None = None


class Topic(msgspec.Struct, frozen=True):
    """What the configuration says of one topic."""

    access: Access = "public"
    members: tuple[str, ...] = ()
    participants: int | None = None
    """How many get in; None: what holds for all topics."""


class Policy(msgspec.Struct, frozen=True):
    """Everything that was configured about rooms."""

    bounds: Bounds = Bounds()
    tokens: Mapping[bytes, Known] = {}
    """SHA-256 of a token → whose it is."""
    known: Mapping[str, Known] = {}
    """By participant id: for those whose token is an API key or a JWT."""
    default: tuple[str, ...] = PROFILES["proposal-only"]
    """What a participant may send of whom nothing else was said (MCPx §7.1)."""
    operators: tuple[str, ...] = PROFILES["full"]
    """The same, for operators of this gateway."""
    anonymous: tuple[str, ...] | None = None
    """What somebody without a token may send; None lets nobody in without one."""
    mode: Mode | None = None
    """None: what follows from what one may send (`mode_of`)."""
    echo: bool = True
    topics: Mapping[str, Topic] = {}
    topic_access: Access = "public"
    """Of topics of which nothing else was said."""
    reserved: tuple[str, ...] = ()
    """What the gateway's own participants are called: in no topic is anybody else called so, or as what looks like it. Who looks for
    one of them by its name would take another for it, where none of them sits."""
    max_topics: int = 1000
    recorded: Literal["none", "mcp", "all"] = "mcp"
    """Of which messages the record gets the metadata."""
    token_in_query: bool = False
    refusal: Literal["http", "close"] = "http"

    def mode_of(self, capabilities: Sequence[str]) -> Mode:
        """How messages are routed to somebody of whom nothing else was said: who may not call tools is not
        trusted, and hears what is for everybody and what is for it."""
        if self.mode is not None:
            return self.mode
        return "all" if Capabilities(capabilities).allows("mcp/request:tools/call") else "directed"

    def topic(self, name: str) -> Topic:
        """What holds for a topic."""
        found = self.topics.get(name)
        return Topic(self.topic_access) if found is None else found

    def is_reserved(self, participant: str) -> bool:
        """Whether a name is that of one of the gateway's own, or looks like it, in any case and without what nobody sees of it."""
        name = "".join(char for char in participant if not is_unseen(char))
        alike = {*keys(name), *keys(name.casefold())}
        # In capitals an i is confused with other letters than the small one.
        return any(not alike.isdisjoint(keys(one) + keys(one.upper())) for one in self.reserved)

    def lets_in(self, identity: Identity, topic: str) -> bool:
        """Whether a topic is open to a participant."""
        rule = self.topic(topic)
        if identity.topics is not None and topic not in identity.topics:
            return False
        if rule.access == "public" or identity.way == "gateway":
            return True
        member = any(one in rule.members for one in spellings(identity.id))
        return identity.named if rule.access == "restricted" else member


class Trust(Protocol):
    """Operators' changes to participants (`trust_store.ParticipantChanges`)."""

    def word(self, participant: str) -> Word | None:
        """The changes to a participant; None where there are none."""


def with_word(capabilities: Sequence[str], word: Word | None) -> tuple[str, ...]:
    """A participant's capabilities after an operator's changes (`trust_store.Word`). `chat` stays last, as people list it."""
    if word is None:
        return tuple(capabilities)
    kept = [one for one in capabilities if one not in word.removed]
    found = [*kept, *(one for one in word.added if one not in kept)]
    return tuple(sorted(found, key=lambda one: one == "chat"))
