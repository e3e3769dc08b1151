"""Parses and validates MCPx v0.1 envelopes and names of topics and participants; encodes the gateway's own envelopes.

An envelope is judged and never rewritten: what a sender wrote is what readers get. So the gateway and a reader must
not be able to understand two different things by one text. Of a member that stands twice, JSON leaves open which one
counts; such an envelope is refused, however the name is spelled. The payload is skipped, not parsed: it must be one
JSON object (decision C-25), and what it says is the receivers' affair.

`read` is total. Limits are characters and entries, not bytes; the length of a whole message is its transport's.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.spellings import MOST, flaw_of_members
from gatewright.patterns import ASCII, DOTALL, Pattern

__all__ = [
    "GATEWAY",
    "PROTOCOL",
    "Envelope",
    "Flaw",
    "Kind",
    "compose",
    "is_participant_id",
    "is_reserved",
    "is_topic",
    "read",
    "split_kind",
    "text_of",
]

PROTOCOL = "mcpx/v0.1"
GATEWAY = "system:gateway"
"""Who speaks where the gateway does."""

ID_CHARS = 256
KIND_CHARS = 2048
PARTICIPANT_CHARS = 128
TOPIC_CHARS = 128
RECIPIENTS = 1000
_BESIDE = 8 * RECIPIENTS
"""Quotes and brackets outside of the payload that are looked at one by one."""
_SURROGATES = 10_000
"""Halves of surrogate pairs, whole pairs counted as one, among which those that stand alone are looked for."""


class Envelope(msgspec.Struct, frozen=True, gc=False):
    """What the gateway knows of a message. `text` is the message as it came, `payload` its part of that text."""

    id: str
    sender: str
    kind: str
    to: tuple[str, ...]
    correlation_id: str | None
    ts: str | None
    payload: bytes
    text: bytes
    by: str = ""
    """Which of those who may have the sender's name has said it, where that is known (`Member.who`)."""


class Flaw(msgspec.Struct, frozen=True, gc=False):
    """Why a text is no envelope: an error of decision C-31, a sentence, and the envelope's id where it has one."""

    error: str
    message: str
    id: str | None = None


class Kind(msgspec.Struct, frozen=True, gc=False):
    """`FAMILY[:METHOD[:CONTEXT]]`. A context may itself have colons."""

    family: str
    method: str | None = None
    context: str | None = None


def split_kind(kind: str) -> Kind:
    """The parts of a kind, split at the first two colons."""
    return Kind(*kind.split(":", 2))


def is_reserved(kind: str) -> bool:
    """Whether only the gateway may send this kind (MCPx §4.1, decision C-21)."""
    return kind.startswith(("system", "presence/", "presence:")) or kind == "presence"


def is_participant_id(name: str) -> bool:
    """Whether somebody may be called so: short, printable, not what the gateway calls itself, and not `*`, which is
    everybody where rules name a participant."""
    return (
        0 < len(name) <= PARTICIPANT_CHARS
        and name.isprintable()
        and name.strip() == name
        and name != "*"
        and name.split(":", 1)[0] != "system"
    )


def is_topic(name: str) -> bool:
    """Whether a topic may be called so."""
    return 0 < len(name) <= TOPIC_CHARS and name.isprintable() and name.strip() == name


_NONE = msgspec.Raw()


class _Outer(msgspec.Struct, gc=False, rename={"sender": "from"}):
    protocol: str
    id: str
    sender: str
    kind: str
    payload: msgspec.Raw
    ts: str | msgspec.UnsetType = msgspec.UNSET
    to: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    correlation_id: str | msgspec.UnsetType = msgspec.UNSET


class _Bare(_Outer, gc=False, forbid_unknown_fields=True):
    """One without other members: nearly all of them."""


_outer = msgspec.json.Decoder(_Outer)
_bare = msgspec.json.Decoder(_Bare)
_CONTROL = Pattern(r"[\x00-\x1f\x7f-\x9f]")
_NAMES = ("protocol", "id", "from", "kind", "payload", "ts", "to", "correlation_id")
_QUOTED = tuple(b'"%b"' % name.encode() for name in _NAMES)


def read(text: bytes) -> Envelope | Flaw:
    """The envelope that a text is, or what is wrong with it. `text` must be UTF-8."""
    judged = text
    try:
        try:
            outer = _decoded(text)
        except msgspec.ValidationError:
            raise  # a subclass of the next one: JSON of another shape, in which no surrogate is to blame
        except msgspec.DecodeError:
            judged = _with_whole_pairs(text)
            if judged is text:
                raise
            outer = _decoded(judged)
    except msgspec.ValidationError:
        return _diagnose(judged)
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        return Flaw("invalid_envelope", f"the message is not one JSON object: {problem}")
    # Of `judged`, in which a half pair reads U+FFFD; what travels is `text`.
    payload = bytes(outer.payload)
    return _read(text, judged, outer, payload)


def _decoded(text: bytes) -> _Outer:
    """What stands around a payload; a `_Bare` where nothing else does."""
    try:
        return _bare.decode(text)
    except msgspec.ValidationError:
        return _outer.decode(text)


def _read(text: bytes, judged: bytes, outer: _Outer, payload: bytes) -> Envelope | Flaw:
    # In the payload a half pair passes as it came (decision 0026); what is judged must have one reading.
    if judged is not text and judged.count(_REPLACED) != payload.count(_REPLACED):
        return Flaw("invalid_envelope", "half of a surrogate pair stands outside of the payload")
    flaw = _flaw(outer, payload) or _repeated(judged, payload)
    if not flaw and type(outer) is not _Bare:
        flaw = _misread(judged)
    ident = outer.id if 0 < len(outer.id) <= ID_CHARS else None
    if outer.protocol != PROTOCOL:
        return _other_version(outer.protocol, ident)
    if flaw:
        return Flaw("invalid_envelope", flaw, ident)
    unset = msgspec.UNSET
    return Envelope(
        id=outer.id,
        sender=outer.sender,
        kind=outer.kind,
        to=() if outer.to is unset else outer.to,
        correlation_id=None if outer.correlation_id is unset else outer.correlation_id,
        ts=None if outer.ts is unset else outer.ts,
        payload=payload,
        text=text,
    )


def _other_version(protocol: str, ident: str | None) -> Flaw:
    said = f"this gateway speaks {PROTOCOL}, not {protocol[:64]!r}; use a client of that version"
    return Flaw("protocol_version_mismatch", said, ident)


def _flaw(outer: _Outer, payload: bytes) -> str:
    if not 0 < len(outer.id) <= ID_CHARS:
        return f"id must have 1 to {ID_CHARS} characters"
    if not 0 < len(outer.kind) <= KIND_CHARS or _CONTROL.search(outer.kind):
        return f"kind must have 1 to {KIND_CHARS} characters, none of them a control character"
    if payload[:1] != b"{":
        return "payload must be a JSON object"
    if outer.ts is not msgspec.UNSET and not _is_moment(outer.ts):
        return "ts must be an RFC 3339 timestamp, for example 2025-08-26T14:00:00Z; or leave it out"
    if outer.to is not msgspec.UNSET and (len(outer.to) > RECIPIENTS or "" in outer.to):
        return f"to must be an array of at most {RECIPIENTS} participant ids"
    if outer.to is not msgspec.UNSET and max(map(len, outer.to), default=0) > PARTICIPANT_CHARS:
        return f"a participant id in to has at most {PARTICIPANT_CHARS} characters"
    correlation = outer.correlation_id
    if correlation is not msgspec.UNSET and not 0 < len(correlation) <= ID_CHARS:
        return f"correlation_id must have 1 to {ID_CHARS} characters; or leave it out"
    return ""


def _diagnose(text: bytes) -> Flaw:
    """What is wrong with a text that is JSON, but no object, or has members missing or of other types."""
    try:
        members = jsonrpc.decode_members(text)
    except ValueError:
        said = "the message must be one JSON object: no array, text, number or null"
        return Flaw("invalid_envelope", said)
    ident = _string(members.get("id"))
    if ident is not None and not 0 < len(ident) <= ID_CHARS:
        ident = None
    protocol = _string(members.get("protocol"))
    if protocol is not None and protocol != PROTOCOL:
        return _other_version(protocol, ident)
    for name in ("protocol", "id", "from", "kind"):
        if _string(members.get(name)) is None:
            return Flaw("invalid_envelope", f"{name} must be there and be a string", ident)
    if "payload" not in members:
        return Flaw("invalid_envelope", "payload must be there and be a JSON object", ident)
    wrong = [
        name
        for name in ("ts", "correlation_id")
        if name in members and _string(members[name]) is None
    ]
    said = f"{wrong[0]} must be a string" if wrong else "to must be an array of strings"
    return Flaw("invalid_envelope", f"{said}; or leave it out", ident)


def _string(raw: msgspec.Raw | None) -> str | None:
    """A member that is a string; what is something else is not read."""
    if raw is None or bytes(raw)[:1] != b'"':
        return None
    try:
        return str(jsonrpc.decode(raw))
    except ValueError:
        return None


# -- half surrogate pairs

_REPLACED = b"\\ufffd"
_HALF = Pattern(
    rb"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})"
)


def _with_whole_pairs(text: bytes) -> bytes:
    """The text with U+FFFD for what is half of a surrogate pair. JavaScript writes such escapes where a string was
    cut, RFC 8259 §8.2 lets it, and the decoder does not. Only to be judged: what is passed on is the text. `text` itself
    where there is none. Raises `ValueError` where there are too many to be looked through."""
    pieces: list[bytes] = []
    at = 0
    # Of the same length, and a backslash in it begins an escape.
    plain = text.replace(b"\\\\", b"..")
    for number, found in enumerate(_HALF.finditer(plain)):
        if number >= _SURROGATES:
            raise ValueError(f"it has half of a surrogate pair, among more than {_SURROGATES}")
        if found[1] is not None:
            pieces += (text[at : found.start()], _REPLACED)
            at = found.end()
    return b"".join((*pieces, text[at:])) if pieces else text


# -- members that stand twice


_TOKEN = Pattern(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', DOTALL)
_COLON = Pattern(rb"[ \t\r\n]*:[ \t\r\n]*")
_MARKS = (b'"', b"{", b"[", b"}", b"]")


def _misread(text: bytes) -> str:
    """A complaint where a member reads as one that is judged: a reader that minds no case would take it for that."""
    try:
        return flaw_of_members("the envelope", jsonrpc.names(text, MOST), _KNOWN)
    except ValueError as problem:
        return f"the envelope cannot be read: it {problem}"


_KNOWN = frozenset(_NAMES)


def _repeated(text: bytes, payload: bytes) -> str:
    """A complaint where a member that is judged stands twice. Names inside the payload do not count, and only
    a text in which such a name may stand twice outside of it pays for the exact look."""
    count, inside = text.count, payload.count
    if all(count(name) - inside(name) < 2 for name in _QUOTED) and (
        b"\\u" not in text or count(b"\\u") == inside(b"\\u")
    ):
        return ""
    if sum(map(count, _MARKS)) - sum(map(inside, _MARKS)) > _BESIDE:
        return f"beside its payload an envelope may have {_BESIDE} quotes and brackets"
    seen: set[str] = set()
    for name in _outermost(text, payload):
        if name in seen and name in _NAMES:
            return f"{name} stands twice"
        seen.add(name)
    return ""


def _outermost(text: bytes, payload: bytes) -> list[str]:
    """The names of the members of the outermost object of a text that is JSON, as often as they stand there. The payload is
    stepped over, however much is in it."""
    names: list[str] = []
    depth = at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        token, at = found.group(), found.end()
        if token[:1] != b'"':
            depth += 1 if token in b"{[" else -1
        elif depth == 1 and (colon := _COLON.match(text, at)) is not None:
            names.append(str(jsonrpc.decode(token)))
            at = colon.end()
            if names[-1] == "payload" and text.startswith(payload, at):
                at += len(payload)
    return names


# -- time


_MOMENT = Pattern(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)"
    r"(\.\d{1,18})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
    ASCII,
)


def _is_moment(text: str) -> bool:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return False
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    longest = 29 if month == 2 and calendar.isleap(year) else _DAYS[month - 1]
    return day <= longest


_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


# -- writing


def compose(
    *,
    id: str,
    ts: str | None,
    sender: str,
    kind: str,
    payload: bytes,
    to: Sequence[str] = (),
    correlation_id: str | None = None,
) -> bytes:
    """The text of an envelope. `payload` is JSON text of an object; `ts` RFC 3339."""
    parts = [b'{"protocol":"mcpx/v0.1","id":', text_of(id)]
    if ts is not None:
        parts += [b',"ts":', text_of(ts)]
    parts += [b',"from":', text_of(sender)]
    if to:
        parts += [b',"to":', text_of(list(to))]
    parts += [b',"kind":', text_of(kind)]
    if correlation_id is not None:
        parts += [b',"correlation_id":', text_of(correlation_id)]
    return b"".join([*parts, b',"payload":', payload, b"}"])


def text_of(value: str | Sequence[str]) -> bytes:
    """JSON text of a string, or of a list of strings."""
    return jsonrpc.encode(value)
