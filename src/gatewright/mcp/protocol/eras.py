"""Translates params, results, errors, `input_required` between legacy MCP and 2026-07-28; encrypts `requestState`; replies to `listen`.

Legacy revisions open with a handshake and let the server put requests to its client in the middle of
a call. The modern revision (2026-07-28) carries everything in each request, and a server that needs
something answers `input_required`; the client repeats the call with the answers and an opaque state.

Towards modern callers the gateway gives out states of two kinds, both sealed (AES-256-GCM) and bound to principal, request and
expiry: `parked` names a call that waits in the kernel for the answers, `upstream` wraps the state that a modern server gave.
To that server all callers are one client, the gateway; without the seal one caller could finish what another began.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatewright.call import Answer, Client, Mgp, Question
from gatewright.mcp.protocol.negotiate import AUDIT_WANTED, EVENTS_WANTED, LIFECYCLE_WANTED
from gatewright.mcp.protocol.read_members import members_of
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_SUBSCRIPTION,
    META_VERSION,
    OF_CONNECTION,
)
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.versions import CACHED, is_modern

__all__ = [
    "QUESTIONS",
    "Interim",
    "Sealer",
    "State",
    "TooMuchAsked",
    "acknowledgement",
    "check_count",
    "error_code",
    "interim_result",
    "is_interim",
    "lacks_both",
    "legacy_params",
    "listened",
    "modern_params",
    "read_interim",
    "request_digest",
    "retry_params",
    "tag",
    "tail",
    "to_caller",
    "wanted_in",
]

_NO_RESOURCE_LEGACY = -32002
_ADDED = ("resultType", "ttlMs", "cacheScope")
_INPUT_REQUIRED = b'"input_required"'
_TYPE_BYTES = 100
"""No `resultType` is longer, however its letters are spelled."""


# -- requests -------------------------------------------------------------------------------------


def modern_params(
    params: dict[str, Any], client: Client, *, revision: str, info: Mapping[str, Any]
) -> dict[str, Any]:
    """`params` for a modern server: with the connection's `_meta` keys, the caller's capabilities
    in them, so that the server asks only for what the caller can answer."""
    found = params.get("_meta")
    meta = dict(found) if isinstance(found, dict) else {}
    meta[META_VERSION] = revision
    meta[META_CLIENT_INFO] = info
    meta[META_CLIENT_CAPABILITIES] = client.capabilities
    if client.log_level is not None:
        meta[META_LOG_LEVEL] = client.log_level
    return {**params, "_meta": meta}


def legacy_params(params: dict[str, Any]) -> dict[str, Any]:
    """`params` for a legacy server: without the modern connection's keys, otherwise the same."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or META_VERSION not in meta:
        return params
    without = params.copy()
    del without["_meta"]
    if not OF_CONNECTION.issuperset(meta):
        rest = {key: value for key, value in meta.items() if key not in OF_CONNECTION}
        without["_meta"] = rest
    return without


# -- results --------------------------------------------------------------------------------------


def to_caller(answer: Answer, method: str, client: Client, server_info: Mapping[str, Any]) -> bytes:
    """The result in the form of the caller's era; untouched where both ends are of one era."""
    modern = is_modern(client.revision)
    if modern == answer.modern:
        return answer.raw
    raw = answer.raw
    if answer.own:  # it may be long, and is not read again
        return b"{" + _expected(method, server_info) + b"," + raw[1:]
    # Names that certainly do not stand there can be appended to the bytes as they came (decision 0060).
    if modern and method not in CACHED and lacks_both(raw):
        return raw[:-1] + b"," + _expected(method, server_info) + b"}"
    if raw[:1] != b"{":
        return raw  # no object, so nothing of ours can stand in it
    members = members_of(answer)
    return _up(members, method, server_info) if modern else _down(members)


def _expected(method: str, server_info: Mapping[str, Any]) -> bytes:
    """The members that a modern caller expects in every result, as text."""
    fresh = b'"ttlMs":0,"cacheScope":"private",' if method in CACHED else b""
    return b'"resultType":"complete",' + fresh + _ABOUT + jsonrpc.encode(server_info) + b"}"


_ABOUT = b'"_meta":{"%b":' % META_SERVER_INFO.encode()


def tail(server_info: Mapping[str, Any]) -> bytes:
    """What stands in place of the last brace of a result that `lacks_both`, for a modern caller; not of a `CACHED` method's."""
    return b"," + _expected("", server_info) + b"}"


def lacks_both(raw: bytes) -> bool:
    """Whether it is an object with members, for certain without `resultType` and `_meta`. Where the names stand
    further inside, or are perhaps spelled with escapes, it has to be read."""
    return (
        raw[:2] == b'{"'
        and raw.find(b'"resultType"') < 0
        and raw.find(b'"_meta"') < 0
        and raw.find(b"\\u") < 0
        and raw[-1:] == b"}"
    )


def _members(raw: bytes | msgspec.Raw) -> dict[str, Any] | None:
    """The members of an object, or None where the text is something else."""
    if bytes(raw)[:1] != b"{":
        return None
    return dict(jsonrpc.decode_members(raw))


def _up(members: dict[str, Any], method: str, server_info: Mapping[str, Any]) -> bytes:
    members.setdefault("resultType", "complete")
    if method in CACHED:
        # A legacy server promised nothing about freshness, and lists differ by caller.
        members.setdefault("ttlMs", 0)
        members.setdefault("cacheScope", "private")
    meta = _members(members["_meta"]) if "_meta" in members else {}
    if meta is not None and META_SERVER_INFO not in meta:
        members["_meta"] = {**meta, META_SERVER_INFO: server_info}
    return jsonrpc.encode(members)


def _down(members: dict[str, Any]) -> bytes:
    for name in _ADDED:
        members.pop(name, None)
    meta = _members(members["_meta"]) if "_meta" in members else None
    if meta and META_SERVER_INFO in meta:
        del meta[META_SERVER_INFO]
        if meta:
            members["_meta"] = meta
        else:
            del members["_meta"]
    return jsonrpc.encode(members)


def error_code(code: int, method: str, client: Client) -> int:
    """The code of a server's error in the caller's era: 2026-07-28 gave -32002 (no such resource) up."""
    if code == _NO_RESOURCE_LEGACY and method == "resources/read" and is_modern(client.revision):
        return jsonrpc.INVALID_PARAMS
    return code


# -- questions ------------------------------------------------------------------------------------

QUESTIONS = 32
"""So many questions, or pages to open, may stand in one answer: each is a request of its own to a legacy caller, takes milliseconds
to be judged before anybody sees it, and a person longer to answer."""


class Interim(msgspec.Struct, frozen=True):
    """An `input_required` result: what the server wants to know, and what it wants to see again."""

    questions: dict[str, Question]
    state: str | None = None


def is_interim(members: Mapping[str, bytes | msgspec.Raw]) -> bool:
    """Whether the members of a result, as texts, say that its server wants to know something first. Raises `ValueError`."""
    said = bytes(members.get("resultType", b""))
    return 0 < len(said) <= _TYPE_BYTES and jsonrpc.decode(said) == "input_required"


class TooMuchAsked(ValueError):  # noqa: N818 - what the server does
    """An interim result is too long to be read while everybody waits. The text follows the server's name."""


def wanted_in(result: bytes, members: Mapping[str, bytes | msgspec.Raw]) -> Any:
    """What an interim result says that it wants to know: `inputRequests` of its members, decoded. Raises `TooMuchAsked`."""
    if len(result) > DECODED_BYTES:
        raise TooMuchAsked(f"asks in more than {DECODED_BYTES} bytes")
    flaw = jsonrpc.heavy(result)
    if flaw:
        raise TooMuchAsked(f"asks in a result that {flaw}")
    wanted = jsonrpc.decode(members["inputRequests"]) if "inputRequests" in members else {}
    check_count(wanted)
    return wanted


def check_count(wanted: Any) -> None:
    """Raise `TooMuchAsked` where more is asked at once than anybody answers."""
    if isinstance(wanted, dict) and len(wanted) > QUESTIONS:
        raise TooMuchAsked(f"asks {len(wanted)} questions at once, and may ask {QUESTIONS}")


def read_interim(result: bytes) -> Interim | None:
    """The interim result in `result`, or None where it is a final one. Raises `TooMuchAsked`."""
    if result.find(_INPUT_REQUIRED) < 0 and result.find(b"\\u") < 0:  # escapes spell the same
        return None
    try:
        members = jsonrpc.decode_members(result)
        if not is_interim(members):
            return None
    except ValueError:
        return None
    wanted = wanted_in(result, members)
    state = jsonrpc.decode(members["requestState"]) if "requestState" in members else None
    questions = {
        key: Question(one["method"], one.get("params"))
        for key, one in (wanted.items() if isinstance(wanted, dict) else ())
        if isinstance(one, dict) and isinstance(one.get("method"), str)
    }
    return Interim(questions, state if isinstance(state, str) else None)


def retry_params(
    params: dict[str, Any], answers: Mapping[str, Any], state: str | None
) -> dict[str, Any]:
    """The params of the retry that carries the answers; a state is repeated only where one was given."""
    again = {**params, "inputResponses": dict(answers)}
    again.pop("requestState", None)
    if state is not None:
        again["requestState"] = state
    return again


def interim_result(
    questions: Mapping[str, Question], state: str, server_info: Mapping[str, Any]
) -> bytes:
    """An `input_required` result that puts a legacy server's questions to a modern caller."""
    wanted = {
        key: {"method": one.method} | ({} if one.params is None else {"params": one.params})
        for key, one in questions.items()
    }
    return jsonrpc.encode(
        {
            "resultType": "input_required",
            "inputRequests": wanted,
            "requestState": state,
            "_meta": {META_SERVER_INFO: server_info},
        }
    )


# -- sealed states --------------------------------------------------------------------------------


class State(msgspec.Struct, frozen=True, array_like=True):
    """What a sealed state says. `text` is a handle (`parked`) or a server's own state (`upstream`)."""

    kind: Literal["parked", "upstream"]
    principal: str
    digest: str
    expires: float
    text: str


def request_digest(method: str, params: Mapping[str, Any]) -> str:
    """What ties a retry to its first request: method, target and arguments, not `_meta` or answers.

    The order of members does not count: a client may write its arguments anew for the retry.
    """
    salient = [method, params.get("name"), params.get("uri"), params.get("arguments")]
    return hashlib.sha256(_salient.encode(salient)).hexdigest()


def _number_text(value: object) -> Any:
    if isinstance(value, jsonrpc.Num):
        return {"": value.text}  # like no number and no text of a caller's
    raise TypeError(f"{type(value).__name__} has no JSON form")


_salient = msgspec.json.Encoder(enc_hook=_number_text, order="deterministic")


_NOT_GIVEN = "requestState was not given out by this gateway to this caller at this endpoint"
"""Of a forged and of a foreign one alike: guessing teaches nothing."""


class Sealer:
    """Seals states with one key of 32 bytes, made new at each start: parked calls end with the process."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def seal(self, state: State, nonce: bytes) -> str:
        """The opaque text of a state. `nonce` is 12 fresh random bytes."""
        sealed = self._aead.encrypt(nonce, msgspec.json.encode(state), None)
        return base64.urlsafe_b64encode(nonce + sealed).decode()

    def open(self, text: str, *, principal: str, digest: str, now: float) -> State:
        """The state behind a text. Raises `ValueError` saying what does not fit; `now` is in the
        same seconds as the state's expiry."""
        try:
            raw = base64.b64decode(text.encode(), altchars=b"-_", validate=True)
            # The last character has bits that no decoder reads.
            if base64.urlsafe_b64encode(raw).decode() != text:
                raise ValueError("one state has one spelling")
            state = msgspec.json.decode(self._aead.decrypt(raw[:12], raw[12:], None), type=State)
        except (ValueError, InvalidTag, msgspec.DecodeError):
            raise ValueError(_NOT_GIVEN) from None
        if state.principal != principal:
            raise ValueError(_NOT_GIVEN)
        if state.digest != digest:
            raise ValueError("requestState belongs to another request")
        if state.expires < now:
            raise ValueError("requestState has expired; send the request anew without it")
        return state

    def reseal(
        self, result: bytes, *, principal: str, digest: str, expires: float, nonce: bytes
    ) -> bytes:
        """An `input_required` result of a modern server with its state sealed for one caller."""
        members: dict[str, Any] = dict(jsonrpc.decode_members(result))
        if "requestState" not in members:
            return result
        inner = jsonrpc.decode(members["requestState"])
        if not isinstance(inner, str):
            return result
        state = State("upstream", principal, digest, expires, inner)
        members["requestState"] = self.seal(state, nonce)
        return jsonrpc.encode(members)


# -- subscriptions --------------------------------------------------------------------------------


def tag(params: Mapping[str, Any] | None, subscription: Any) -> dict[str, Any]:
    """Notification params marked with the `subscriptions/listen` request they answer."""
    found = dict(params or {})
    meta = found.get("_meta")
    found["_meta"] = {**(meta if isinstance(meta, dict) else {}), META_SUBSCRIPTION: subscription}
    return found


def listened(subscription: Any) -> bytes:
    """The result of a `subscriptions/listen` that the server ends."""
    return jsonrpc.encode({"resultType": "complete", **tag(None, subscription)})


def acknowledgement(wanted: Any, limit: int, mgp: Mgp | None = None) -> dict[str, Any]:
    """The part of a `notifications` filter that we honour, in the filter's own form. `mgp` is what the
    client negotiated: what belongs to an extension is honoured for those who have it.

    Raises `ValueError` for a filter that is not an object or asks for more than `limit` resources.
    """
    if not isinstance(wanted, dict):
        raise ValueError("params.notifications must be an object")  # noqa: TRY004 - bad input
    honoured: dict[str, Any] = {
        name: True
        for name in ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
        if wanted.get(name) is True
    }
    uris = wanted.get("resourceSubscriptions") or []
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        raise ValueError("resourceSubscriptions must be an array of URIs")
    if len(uris) > limit:
        raise ValueError(f"at most {limit} resources can be subscribed to by one client")
    if uris:
        honoured["resourceSubscriptions"] = list(dict.fromkeys(uris))
    for name, extension in ((AUDIT_WANTED, "audit"), (LIFECYCLE_WANTED, "lifecycle")):
        if wanted.get(name) is True and mgp is not None and extension in mgp.extensions:
            honoured[name] = True
    events = wanted.get(EVENTS_WANTED)
    if isinstance(events, dict) and mgp is not None and "bidirectional" in mgp.extensions:
        honoured[EVENTS_WANTED] = events
    return honoured
