"""Settings of `[rooms]` (MCPx): checks participants, topics, profiles and JWT keys, and replaces the tokens by their digests.

Without the table there are no rooms. Tokens are known by their digests from here on; the only secret that stays is the
shared key of signed tokens, where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import BYTES, rate
from gatewright.config.check import Report, read_table
from gatewright.config.substitute import Sources, Undefined, substitute
from gatewright.config.toml_positions import KeyPath
from gatewright.mcpx.capabilities import PROFILES, Capabilities, flaw_of
from gatewright.mcpx.envelope import is_participant_id, is_topic

__all__ = [
    "JwtTable",
    "RoomKernelTable",
    "RoomOrchestratorTable",
    "RoomParticipantTable",
    "RoomTopicTable",
    "Rooms",
    "RoomsTable",
    "build_rooms",
]

Amount = Annotated[int, Meta(ge=1, le=2**40)]
AmountOfBytes = Annotated[int, Meta(ge=1, le=2**40, extra=BYTES)]
Word = Annotated[str, Meta(min_length=1, max_length=4096)]
Mode = Literal["all", "directed"]
Access = Literal["public", "restricted", "private"]
Algorithm = Literal[
    "HS256", "HS384", "HS512", "RS256", "PS256", "ES256", "ES384", "Ed25519", "EdDSA"
]
_TOKEN_CHARS = 16


class RoomParticipantTable(msgspec.Struct, frozen=True, kw_only=True):
    """One participant: its token, what it may send, and where it may join."""

    id: Word
    """The name of the participant in every topic. For an API key it is the name that the key was made for, for a signed
    token its `sub`."""
    token: Word | None = None
    """The token that it presents, 16 characters or more; best as `"${secret:NAME}"`. Without one the participant
    authenticates with an API key or a signed token."""
    profile: Word | None = None
    """The profile with its capabilities; `default_profile` unless set."""
    capabilities: tuple[str, ...] | None = None
    """Patterns of the kinds of messages that it may send, instead of a profile."""
    mode: Mode | None = None
    """Which messages it gets, see `mode` of `[rooms]`, which holds unless set."""
    echo: bool | None = None
    """Whether it gets its own messages; `echo` of `[rooms]` unless set."""
    topics: tuple[Word, ...] | None = None
    """The only topics that it may join; all unless set."""


class RoomTopicTable(msgspec.Struct, frozen=True, kw_only=True):
    """Who may join one topic, and how many."""

    access: Access | None = None
    """Who may join: participants with any valid token (`public`), those that this file or a signed token names
    (`restricted`), or its members (`private`); `topic_access` of `[rooms]` unless set."""
    members: tuple[Word, ...] = ()
    """The ids of the members of a `private` topic."""
    max_participants: Amount | None = None
    """How many participants it may have; `max_participants` of `[rooms]` unless set."""


class JwtTable(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that another service signs (JWT, RFC 7519).

    `sub` is the participant, `capabilities` what it may send, `topic` or `topics` where it may join; `exp` is required.
    """

    key: Word
    """The key that verifies signatures: a shared secret of 32 bytes or more for `HS…`, else a public key as PEM, a JWK or a
    JWK set; best as `"${secret:NAME}"` or `"${file:PATH}"`."""
    algorithms: Annotated[tuple[Algorithm, ...], Meta(min_length=1)] = ("HS256",)
    """The signature algorithms that are accepted."""
    issuer: Word | None = None
    """The value that `iss` has to have; any unless set."""
    audience: Word | None = None
    """The value that `aud` has to contain; not checked unless set."""

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        return f"JwtTable(algorithms={self.algorithms!r}, issuer={self.issuer!r})"


class RoomKernelTable(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway's tools in rooms: a participant that answers requests of MCP, with the sender as the caller.

    Beside a proposal that is put to it, it says what the gates would decide.
    """

    topics: Annotated[tuple[Word, ...], Meta(min_length=1)]
    """The topics that it joins."""
    name: Word = "gatewright"
    """Its name in those topics."""
    profile: str = ""
    """The profile of `[profiles.NAME]` whose tools it offers; all tools while it is empty."""


class RoomOrchestratorTable(msgspec.Struct, frozen=True, kw_only=True):
    """A participant that fulfils proposals on behalf of people and learns rules from their decisions (docs/rooms.md).

    Its own calls are those of an agent with its name, which needs the grants for them.
    """

    topics: Annotated[tuple[Word, ...], Meta(min_length=1)]
    """The topics that it joins."""
    people: Annotated[tuple[Word, ...], Meta(min_length=1)]
    """The participants whose commands it follows and whose decisions it learns from."""
    name: Word = "orchestrator"
    """Its name in those topics."""
    suggest_after: Annotated[int, Meta(ge=2, le=50)] = 5
    """After how many like decisions it suggests a rule."""


class RoomsTable(msgspec.Struct, frozen=True, kw_only=True):
    """Rooms of MCPx: topics in which agents and people see everything that is said (docs/rooms.md).

    Without this table there are none, and `/ws` is not served.
    """

    enabled: bool = True
    """Whether rooms are served; `false` keeps what is written here without effect."""
    participants: tuple[RoomParticipantTable, ...] = ()
    """Participants with a token or rules of their own; see `[[rooms.participants]]`."""
    topics: dict[str, RoomTopicTable] = {}
    """Topics with rules of their own; see `[rooms.topics.NAME]`."""
    profiles: dict[str, tuple[str, ...]] = {}
    """Sets of capabilities by name, beside `full`, `proposal-only`, `response-only`, `read-only` and `tool-only` of
    MCPx."""
    jwt: JwtTable | None = None
    """Signed tokens; see `[rooms.jwt]`."""
    kernel: RoomKernelTable | None = None
    """The gateway's own tools in rooms; see `[rooms.kernel]`."""
    orchestrator: RoomOrchestratorTable | None = None
    """A participant that fulfils proposals for people; see `[rooms.orchestrator]`."""
    default_profile: Word = "proposal-only"
    """The profile of participants without one of their own, for example those with an API key."""
    operator_profile: Word = "full"
    """The profile of operators of this gateway."""
    anonymous_profile: str = ""
    """The profile of participants without a token, on loopback only. While it is empty, none is let in without one."""
    topic_access: Access = "public"
    """Who may join topics without an `access` of their own; see `[rooms.topics.NAME]`."""
    mode: Mode | None = None
    """Which messages a participant gets: all messages of the topic (`all`), or broadcasts and those that name it in `to`
    (`directed`). Unless set, `all` for participants that may call tools and `directed` for the others."""
    echo: bool = True
    """Whether a participant gets its own messages too."""
    max_topics: Amount = 1000
    """How many topics there may be at once. One participant may open a tenth of them, and ten always; topics that
    `[rooms.topics.NAME]` names do not count."""
    max_participants: Amount = 10_000
    """How many participants one topic may have."""
    message_bytes: AmountOfBytes = 256 * 1024
    """The largest message. Above `frame_bytes` of `[limits]` it has no effect."""
    messages_per_s: Annotated[float, Meta(gt=0, le=1e9, extra=rate("messages"))] = 2000.0
    """How many messages one participant may send in the long run."""
    burst: Amount = 10_000
    """How many messages it may send at once after a pause."""
    bytes_per_s: Annotated[float, Meta(gt=0, le=1e9, extra=rate("bytes"))] = 4.0 * 1024 * 1024
    """How many bytes one participant may send in the long run."""
    burst_bytes: AmountOfBytes = 2 * 1024 * 1024
    """How many bytes it may send at once after a pause; one message of `message_bytes` always. Above 4 MiB one sender
    could cause the connections of others to be closed."""
    recorded: Literal["none", "mcp", "all"] = "mcp"
    """Of which messages the record gets sender, recipients, kind and ids: those of MCP, all, or none. Their content is
    never recorded."""
    strict_proposals: bool = False
    """Whether a proposal with a `correlation_id` is refused."""
    violation_notice: bool = False
    """Whether the other participants of a topic are told when one of them tries what it may not do."""
    presence_to_joiner: bool = False
    """Whether a participant that joins gets the message about its own joining too."""
    token_in_query: bool = False
    """Whether the token is taken from `?token=` as well, for clients that cannot send it otherwise. URLs end up in logs."""
    refusal: Literal["http", "close"] = "http"
    """How a WebSocket with an invalid token is refused: with HTTP 401, or by accepting it and closing it with 1008."""


class Rooms(msgspec.Struct, frozen=True, kw_only=True):
    """What was said of rooms. `table` is without tokens and keys."""

    table: RoomsTable
    tokens: Mapping[str, str] = {}
    """SHA-256 of a token, in hexadecimal → the participant's id."""
    jwt_key: str = ""

    def capabilities(self, profile: str) -> tuple[str, ...]:
        """What a profile may send; a name of the file counts before one of MCPx."""
        own = self.table.profiles.get(profile)
        return PROFILES[profile] if own is None else own

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        return f"Rooms(table={self.table!r})"


def build_rooms(value: Any, report: Report, sources: Sources) -> Rooms | None:
    """The table `[rooms]` of one document. None where it is switched off, or an error was reported."""
    path: KeyPath = ("rooms",)
    before = len(report.errors)
    found = read_table(value, RoomsTable, path, report)
    if found is None or len(report.errors) > before:
        return None
    table = RoomsTable(**found)
    _check_profiles(table, report)
    _check_topics(table, report)
    for number, one in enumerate(table.participants):
        _check_participant(one, table, (*path, "participants", number), report)
    _check_twice(table, report)
    _check_parts(table, report)
    if len(report.errors) > before or not table.enabled:
        return None
    return _completed(table, report, sources)


def _check_profiles(table: RoomsTable, report: Report) -> None:
    for name, capabilities in table.profiles.items():
        _check_capabilities(capabilities, ("rooms", "profiles", name), report)
    for key in ("default_profile", "operator_profile", "anonymous_profile"):
        name = getattr(table, key)
        if name:
            _check_profile(name, table, ("rooms", key), report)


def _check_profile(name: str, table: RoomsTable, path: KeyPath, report: Report) -> None:
    known = sorted({*table.profiles, *PROFILES})
    if name not in known:
        report.error(path, f'no profile is called "{name}"', f"write one of {', '.join(known)}")


def _check_capabilities(capabilities: tuple[str, ...], path: KeyPath, report: Report) -> None:
    for one in capabilities:
        flaw = flaw_of(one)
        if flaw:
            what, _, instead = flaw.partition("; ")
            report.error(path, f'"{one}": {what}', instead or "correct it")
    for one in Capabilities(capabilities).idle:
        report.warn(path, f'"{one}": only the gateway sends that', "remove it: it has no effect")


def _check_topics(table: RoomsTable, report: Report) -> None:
    for name, topic in table.topics.items():
        path: KeyPath = ("rooms", "topics", name)
        if not is_topic(name):
            report.error(path, "no topic can be called so", "use 1 to 128 printable characters")
        access = topic.access or table.topic_access
        if access == "private" and not topic.members:
            report.warn(path, "nobody may come in", 'write members = ["ID"]')
        if topic.members and access != "private":
            what = f"members have no effect where access is {access}"
            report.warn((*path, "members"), what, 'write access = "private", or remove them')


def _check_participant(
    one: RoomParticipantTable, table: RoomsTable, path: KeyPath, report: Report
) -> None:
    if not is_participant_id(one.id):
        report.error(
            (*path, "id"),
            f'"{one.id}" cannot be a participant',
            "use up to 128 printable characters, and none of the gateway's own names (system…)",
        )
    if one.profile is not None and one.capabilities is not None:
        report.error(path, "both profile and capabilities are given", "remove one of the two")
    if one.profile is not None:
        _check_profile(one.profile, table, (*path, "profile"), report)
    _check_capabilities(one.capabilities or (), (*path, "capabilities"), report)


def _check_twice(table: RoomsTable, report: Report) -> None:
    ids = [one.id for one in table.participants]
    for number, id in enumerate(ids):
        if id in ids[:number]:
            at: KeyPath = ("rooms", "participants", number, "id")
            report.error(at, f'"{id}" stands twice', "keep one of the two")


def _check_parts(table: RoomsTable, report: Report) -> None:
    """The gateway's own participants: called as nobody else is, in topics that can be."""
    taken = {one.id for one in table.participants}
    for key in ("kernel", "orchestrator"):
        part = getattr(table, key)
        if part is None:
            continue
        if not is_participant_id(part.name) or part.name in taken:
            what = f'"{part.name}" cannot be its name, or is somebody else\'s'
            report.error(("rooms", key, "name"), what, "give it a name of its own")
        taken.add(part.name)
        for number, topic in enumerate(part.topics):
            if not is_topic(topic):
                at: KeyPath = ("rooms", key, "topics", number)
                report.error(at, "no topic can be called so", "use 1 to 128 printable characters")


def _completed(table: RoomsTable, report: Report, sources: Sources) -> Rooms | None:
    folder = report.document.path.absolute().parent
    sources = sources.of(report.document.path, report.document.accepted)
    tokens: dict[str, str] = {}
    at: KeyPath = ()
    key = ""
    try:
        for number, one in enumerate(table.participants):
            if one.token is not None:
                at = ("rooms", "participants", number, "token")
                tokens[_digest(substitute(one.token, sources, folder), tokens)] = one.id
        if table.jwt is not None:
            at = ("rooms", "jwt", "key")
            key = substitute(table.jwt.key, sources, folder)
            _check_key(key, table.jwt)
    except Undefined as problem:
        report.error(at, problem.what, problem.instead)
        return None
    # The settings live as long as the gateway, and end in `config show`.
    bare = tuple(msgspec.structs.replace(one, token=None) for one in table.participants)
    jwt = table.jwt and msgspec.structs.replace(table.jwt, key="***")
    return Rooms(
        table=msgspec.structs.replace(table, participants=bare, jwt=jwt),
        tokens=tokens,
        jwt_key=key,
    )


def _check_key(key: str, jwt: JwtTable) -> None:
    from gatewright.config.signing_keys import read_key  # noqa: PLC0415 - see its docstring

    try:
        read_key(key, jwt.algorithms)
    except ValueError as problem:
        what, instead = str(problem), "see [rooms.jwt] in docs/configuration/rooms.md"
        raise Undefined(what, instead) from None


def _digest(token: str, others: Mapping[str, str]) -> str:
    if len(token) < _TOKEN_CHARS or any(not "!" <= one <= "~" for one in token):
        what = f"a token has {_TOKEN_CHARS} or more visible ASCII characters"
        raise Undefined(what, "make one with `openssl rand -hex 32`")
    found = sha256(token.encode()).hexdigest()
    if found in others:
        raise Undefined("this token is another participant's as well", "give each its own")
    return found
