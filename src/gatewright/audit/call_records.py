"""Builds audit records of a call (intent, end, rejected arguments) as JSON, templates for prepared calls; arguments by digest, no secrets.

Arguments are never in them, only the SHA-256 and the size of their JSON with sorted keys. What a caller
chose, a name or an id, has no secret in it.

An end, and the intent before it, share most of what they say, and calls share much of that with those before
them. `told_of` puts it together as JSON once for a call, and remembers pieces of it for who asks for what on
which way. Whatever is out of the ordinary (text that is no Unicode, a record that is too long, any end of a
tool call but an answer) goes through `Record`: both ways write the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, cast

import msgspec

from gatewright.audit.records import (
    INTENT,
    MAX_BYTES,
    MAX_CHARS,
    Actor,
    Decision,
    Program,
    Record,
    Request,
    Result,
    Subject,
    Verdict,
    encode,
    encoder,
)
from gatewright.call import Answer, Call, Failure, Outcome, Refusal, Tool
from gatewright.secret_scanning import HELD, is_dense, without_secrets
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.short_cache import AllShort, cached_if_all_short

__all__ = [
    "Context",
    "Templates",
    "Told",
    "context_of",
    "end_of",
    "end_text",
    "intent_of",
    "intent_text",
    "rejections_of",
    "request_of",
    "sorted_json",
    "templates_of",
    "told_of",
]

_MAX_VIOLATIONS = 20
_DIGITS = b"0123456789abcdef-"
_LONGEST_ID = 64
_LONGEST_NAME = 2048
"""Characters of a name or URI that somebody chose; of a longer one the beginning is recorded, and its digest."""
_UNDECIDED = 512
_PLACES = 16
"""Of a long name that has more places than so many in which a secret may stand, only the digest is recorded: a caller names what it
likes, a thousand times a second, and each place is looked at by itself."""
_PROGRAM_CHARS = 64

sorted_json = msgspec.json.Encoder(order="deterministic").encode
"""Whose digest stands in the records. Raises an exception for what is no JSON."""
_spell = encoder.encode

Context = tuple[Actor, Subject, str, str, str, str, str | None, Program | None, Request | None]
"""The members of a record that every record of one call shares, in their order."""


class _Who(msgspec.Struct, gc=False):
    actor: Actor
    target: Subject


class _Way(msgspec.Struct, gc=False, omit_defaults=True):
    method: str
    door: str
    session: str | None = None
    client: Program | None = None


Told = tuple[str, dict[str, Any], str]
"""What both records of a tool call say, as JSON: the members from `actor` to `request`, then the facts at that time and
`details` as they follow from these, both without the brace behind them."""


def told_of(call: Call) -> Told | None:
    """None where it takes a `Record` to say it."""
    tool = call.tool
    target = call.target if tool is None else tool.target
    if target is None or call.kind != "tool":
        return None
    try:
        asked, caller, info = call.params.get("arguments"), call.caller, call.client.info
        asked = b"{}" if asked is None else sorted_json(asked)
        before, behind = _standing[
            HELD.version,
            caller.kind,
            caller.id,
            caller.key_id,
            target.server,
            target.name,
            call.method,
            call.door,
            call.session,
            info.get("name"),
            info.get("version"),
        ]
        trace, id = call.trace_id, call.id
        # What is left without hexadecimal digits and dashes might need an escape, or hold a secret.
        if len(trace) > _LONGEST_ID or (trace + id).encode().translate(None, _DIGITS):
            trace, id = _escaped(_trace(call)), _escaped(id)
        digest, size = sha256(asked).hexdigest(), str(len(asked))
        shared = "".join((before, trace, _CALL, id, behind, digest, _BYTES, size))
        return shared, call.facts.copy(), _details_text(call)
    except Exception:  # noqa: BLE001 - no Unicode, no JSON, too deep: still a record
        return None


class Templates(NamedTuple):
    """What the records of tool calls that are alike say, for `%`: id and time of the record, then (`shared`) trace, call, digest and size of
    its arguments; in `ended`, of a success, the size of the result and milliseconds besides. `details` is no template."""

    intended: str
    ended: str
    shared: str
    details: str


def templates_of(call: Call) -> Templates:
    """Of a call that is about to be forwarded at once. Raises an exception where it takes a `Record` to say it."""
    caller, info, target = call.caller, call.client.info, cast("Tool", call.tool).target
    who = caller.kind, caller.id, caller.key_id, target.server, target.name
    way = call.method, call.door, call.session, info.get("name"), info.get("version")
    pieces = _standing[(HELD.version, *who, *way)]
    details = _details_text(call)
    before, behind, plain = (one.replace("%", "%%") for one in (*pieces, details))
    shared = f"{before}%s{_CALL}%s{behind}%s{_BYTES}%d"
    ended, result = _SUCCEEDED
    return Templates(
        f"{_ID}%s{_TIME}%s{_INTENDED}{shared}{_DETAILS}{plain}}}}}",
        f"{_ID}%s{_TIME}%s{ended}{shared}{result}%d{_DETAILS}{plain}{_TOOK}%r}}}}",
        shared,
        details,
    )


def _stands(  # noqa: PLR0913, PLR0917 - each is a part of the key
    known: int,
    kind: str,
    id: str,
    key_id: str | None,
    server: str,
    tool: str,
    method: str,
    door: str,
    session: str | None,
    program: Any,
    version: Any,
) -> tuple[str, str]:
    """What stands before the trace id and behind the id of a call. `known`, here and below: a text that was looked through when
    fewer secrets were known may hold one."""
    who = _spell(_Who(Actor(kind, id, key_id), Subject(server, _chosen(tool))))
    said = _program(known, _looked_at(program), _looked_at(version))
    way = _spell(_Way(_chosen(method), door, session, said))
    before, behind = who[1:-1].decode(), way[1:-1].decode()
    return f'{before},"trace_id":"', f'",{behind},"request":{{"digest":"'


_standing = AllShort(_stands, 4096)


def _looked_at(said: Any) -> str:
    """What the caller's program says of itself, no longer than is looked at; empty for none."""
    return said[:MAX_CHARS] if type(said) is str else ""


@cached_if_all_short(4096)
def _program(known: int, name: str, version: str) -> Program | None:
    """As it may be written down: nothing in it hidden or secret, and short."""
    said = (spelled(_chosen(name))[:_PROGRAM_CHARS], spelled(_chosen(version))[:_PROGRAM_CHARS])
    return Program(said[0], said[1] or None) if any(said) else None


def _escaped(text: str) -> str:
    """As it stands between quotation marks in JSON."""
    return _spell(text)[1:-1].decode()


def _details_text(call: Call) -> str:
    facts, tool = call.facts, call.tool
    # `end_text` appends the member to this text: twice in one object, readers would disagree which one counts.
    if "duration_ms" in facts:
        raise ValueError("a fact has the name of a member that is added behind them")
    risk = "unknown" if tool is None else tool.security.risk_level
    details = {**facts, "risk_level": risk}
    if "validator_applied" not in facts:
        details["validator_applied"] = "none"
    return _spell(details)[:-1].decode()


def intent_text(call: Call, stamp: tuple[str, str], told: Told | None) -> bytes:
    """The record before a call is forwarded. `stamp` is what `Stamps.take` gave, `told` what `told_of` did."""
    if told is not None:
        moment, id = stamp
        shared, _, details = told
        parts = (_ID, id, _TIME, moment, _INTENDED, shared, _DETAILS, details, "}}")
        text = "".join(parts).encode()
        if len(text) <= MAX_BYTES:
            return text
    return encode(intent_of(call, stamp, context_of(call)))


def end_text(
    call: Call,
    outcome: Outcome,
    stamp: tuple[str, str],
    told: Told | None,
    forwarded: bool,
    duration_ms: float,
) -> bytes:
    """The record after a call. `forwarded` says whether it ever left for its owner."""
    # Nearly every call; all others are built member by member.
    if told is not None and type(outcome) is Answer:
        shared, facts, details = told
        if call.facts == facts or (details := _more_details(call)):
            moment, id = stamp
            ended, result = _FAILED if outcome.tool_error else _SUCCEEDED
            size, took = str(len(outcome.raw)), _spell(duration_ms).decode()
            parts = [_ID, id, _TIME, moment, ended, shared, result, size, _DETAILS, details, _TOOK]
            text = "".join((*parts, took, "}}")).encode()
            if len(text) <= MAX_BYTES:
                return text
    return encode(end_of(call, outcome, stamp, context_of(call), forwarded, duration_ms))


def _more_details(call: Call) -> str:
    """Where facts were found out while it ran; empty where it takes a `Record` to say them."""
    try:
        return _details_text(call)
    except Exception:  # noqa: BLE001 - see `told_of`
        return ""


# Pieces, since joining them is what costs least. The order of members is that of `Record`: both ways must write the same bytes.
_ID, _TIME = '{"id":"', '","time":"'
_INTENDED = f'","event_type":"{INTENT}","outcome":"pending",'
_ENDED = '","event_type":"TOOL_EXECUTED","outcome":'
_SUCCEEDED = f'{_ENDED}"success",', '},"result":{"is_error":false,"bytes":'
_FAILED = f'{_ENDED}"failure",', '},"result":{"is_error":true,"bytes":'
_CALL, _BYTES, _DETAILS = '","call":"', '","bytes":', '},"details":'
_TOOK = ',"duration_ms":'


def request_of(call: Call) -> Request | None:
    """The digest of what the call asks with, whatever `_meta` says beside it; None for questions about the catalogue."""
    if call.kind == "list":
        return None
    asked = call.arguments if call.kind in {"tool", "prompt"} else {name: one for name, one in call.params.items() if name != "_meta"}  # fmt: skip
    try:
        # One order of members, so that the same arguments have one digest.
        text = sorted_json(asked)
    except Exception:  # noqa: BLE001 - what cannot be written as JSON is still something
        text = repr(asked).encode("utf-8", "backslashreplace")
    return Request(sha256(text).hexdigest(), len(text))


def intent_of(call: Call, stamp: tuple[str, str], context: Context) -> Record:
    """The record before a call is forwarded. `stamp` is what `Stamps.take` gave."""
    moment, id = stamp
    details = _details(call)
    return Record(id, moment, INTENT, "pending", *context, None, None, details)


def end_of(
    call: Call,
    outcome: Outcome,
    stamp: tuple[str, str],
    context: Context,
    forwarded: bool,
    duration_ms: float,
) -> Record:
    """The record after a call. `forwarded` says whether it ever left for its owner."""
    details = _details(call)
    details["duration_ms"] = duration_ms
    decision: Decision | None = None
    result: Result | None = None
    if type(outcome) is Answer:
        event = "TOOL_EXECUTED"
        verdict: Verdict = "failure" if outcome.tool_error else "success"
        result = Result(outcome.tool_error, len(outcome.raw))
    elif type(outcome) is Refusal:
        event = "TOOL_BLOCKED"
        verdict = "denied"
        decision = Decision(outcome.gate, outcome.reason)
    else:
        event = "TOOL_EXECUTED" if forwarded else "TOOL_BLOCKED"  # blocked: it never ran
        details["reason"] = reason = cast("Failure", outcome).reason
        verdict = "cancelled" if reason == "cancelled" else "error"
    if call.kind != "tool":
        event = f"dev.gatewright.{call.kind}"
    moment, id = stamp
    return Record(id, moment, event, verdict, *context, decision, result, details)


def rejections_of(refusal: Refusal) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What is recorded besides the block when a check of the arguments refused (MGP §6.4): the type of
    each event, and what its details say more."""
    yield "VALIDATION_FAILED", {}
    if refusal.reason == "code_safety":
        texts = [_chosen(str(one))[:MAX_CHARS] for one in refusal.details.get("violations", ())]
        yield "CODE_REJECTED", {"violations": texts[:_MAX_VIOLATIONS]}


def context_of(call: Call) -> Context:
    """The context of `call`, which stays the same once it is known what is called."""
    caller = call.caller
    return (
        Actor(caller.kind, caller.id, caller.key_id),
        _subject(call),
        _trace(call),
        call.id,
        _chosen(call.method),
        call.door,
        call.session,
        _program(HELD.version, *map(_looked_at, _named(call))),
        request_of(call),
    )


def _named(call: Call) -> tuple[Any, Any]:
    """The name and the version that the caller's program gives itself."""
    info = call.client.info
    return info.get("name"), info.get("version")


def _trace(call: Call) -> str:
    """Its trace id. One of hexadecimal digits is no secret."""
    trace = call.trace_id
    if len(trace) <= _LONGEST_ID and not trace.encode("utf-8", "replace").translate(None, _DIGITS):
        return trace
    return _chosen(trace)


def _chosen(text: str) -> str:
    """What a caller chose, a name or an id, without a secret in it."""
    if len(text) <= MAX_CHARS:
        return _remembered(HELD.version, text)
    # No more is looked through than is kept, and a little: half a secret at the end is not kept either.
    head, kept = text[: _LONGEST_NAME + _UNDECIDED], ""
    if not is_dense(_bytes(head), _PLACES):
        clean = _cleaned(head)
        if len(text) <= _LONGEST_NAME:
            return clean
        kept = clean[: min(_LONGEST_NAME, len(clean) - _UNDECIDED)]
    # Of all of it: two long names stay apart.
    digest = sha256(_bytes(text)).hexdigest()
    return f"{kept}… ({len(text)} characters, SHA-256 {digest})"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _cleaned(text: str) -> str:
    return without_secrets(_bytes(text)).decode("utf-8", "surrogatepass")


@cached_if_all_short(4096)  # the names of a gateway are few, and looked at in each call
def _remembered(known: int, text: str) -> str:
    return _cleaned(text)


def _subject(call: Call) -> Subject:
    target = call.target if call.tool is None else call.tool.target
    if call.kind == "tool":
        if target is None:
            return Subject(None, _chosen(call.name))
        return Subject(target.server, _chosen(target.name))
    server = None if target is None else target.server
    tool = _chosen(target.name) or None if target is not None and call.of_tool else None
    return Subject(server, tool, _chosen(call.name) if call.kind != "list" else None)


def _details(call: Call) -> dict[str, Any]:
    details = dict(call.facts)
    if call.kind == "tool":
        details["risk_level"] = "unknown" if call.tool is None else call.tool.security.risk_level
        details.setdefault("validator_applied", "none")
    return details
