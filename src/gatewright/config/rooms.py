"""Settings of `[rooms]`: participants, topics, signed tokens, kernel tools and orchestrator of MCPx rooms.

Without the table there are no rooms. Tokens are known by their digests from here on; the only secret that stays is the
shared key of signed tokens, where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.config.check import Report, read_table
from gatewright.config.statements import KeyPath
from gatewright.config.substitute import Sources, Undefined, substitute
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
Rate = Annotated[float, Meta(gt=0, le=1e9)]
Word = Annotated[str, Meta(min_length=1, max_length=4096)]
Mode = Literal["all", "directed"]
Access = Literal["public", "restricted", "private"]
Algorithm = Literal[
    "HS256", "HS384", "HS512", "RS256", "PS256", "ES256", "ES384", "Ed25519", "EdDSA"
]
_TOKEN_CHARS = 16


class RoomParticipantTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[[rooms.participants]]`"""

    id: Word
    token: Word | None = None
    profile: Word | None = None
    capabilities: tuple[str, ...] | None = None
    mode: Mode | None = None
    echo: bool | None = None
    topics: tuple[Word, ...] | None = None


class RoomTopicTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[rooms.topics.NAME]`"""

    access: Access | None = None
    """None: what `[rooms]` says of all topics."""
    members: tuple[Word, ...] = ()
    max_participants: Amount | None = None


class JwtTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[rooms.jwt]`"""

    key: Word
    algorithms: Annotated[tuple[Algorithm, ...], Meta(min_length=1)] = ("HS256",)
    issuer: Word | None = None
    audience: Word | None = None

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        return f"JwtTable(algorithms={self.algorithms!r}, issuer={self.issuer!r})"


class RoomKernelTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[rooms.kernel]`: the gateway's tools, offered in rooms."""

    topics: Annotated[tuple[Word, ...], Meta(min_length=1)]
    name: Word = "gatewright"
    profile: str = ""


class RoomOrchestratorTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[rooms.orchestrator]`: who fulfils proposals for people, and learns from them."""

    topics: Annotated[tuple[Word, ...], Meta(min_length=1)]
    people: Annotated[tuple[Word, ...], Meta(min_length=1)]
    name: Word = "orchestrator"
    suggest_after: Annotated[int, Meta(ge=2, le=50)] = 5


class RoomsTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[rooms]`"""

    enabled: bool = True
    participants: tuple[RoomParticipantTable, ...] = ()
    topics: dict[str, RoomTopicTable] = {}
    profiles: dict[str, tuple[str, ...]] = {}
    jwt: JwtTable | None = None
    kernel: RoomKernelTable | None = None
    orchestrator: RoomOrchestratorTable | None = None
    default_profile: Word = "proposal-only"
    operator_profile: Word = "full"
    anonymous_profile: str = ""
    topic_access: Access = "public"
    mode: Mode | None = None
    echo: bool = True
    max_topics: Amount = 1000
    max_participants: Amount = 10_000
    message_bytes: Amount = 256 * 1024
    messages_per_s: Rate = 2000.0
    burst: Amount = 10_000
    bytes_per_s: Rate = 4.0 * 1024 * 1024
    burst_bytes: Amount = 2 * 1024 * 1024
    recorded: Literal["none", "mcp", "all"] = "mcp"
    strict_proposals: bool = False
    violation_notice: bool = False
    presence_to_joiner: bool = False
    token_in_query: bool = False
    refusal: Literal["http", "close"] = "http"


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
    sources = sources.of(report.document.path)
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
        what, instead = str(problem), "see [rooms.jwt] in docs/configuration.md"
        raise Undefined(what, instead) from None


def _digest(token: str, others: Mapping[str, str]) -> str:
    if len(token) < _TOKEN_CHARS or any(not "!" <= one <= "~" for one in token):
        what = f"a token has {_TOKEN_CHARS} or more visible ASCII characters"
        raise Undefined(what, "make one with `openssl rand -hex 32`")
    found = sha256(token.encode()).hexdigest()
    if found in others:
        raise Undefined("this token is another participant's as well", "give each its own")
    return found
