"""`mgp/permission/request`: answers value `deferred`, stores nothing; `mgp/permission/response`: stores an operator's decision (MGP §3).

An operator's connection that negotiated `security` decides with `mgp/permission/response`, the very body of §3.6. To `mgp/permission/request` everybody
who negotiated `security` gets an answer that says how things stand and decides nothing: the gateway itself declares no
permissions, and what it is told by a client raises nobody's rights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from gatewright.access.permissions import Word
from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.command_text import to_type
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.permissions import ASKED, RULED, Value, canonical_permission
from gatewright.mcp.wire.timestamps import moment_of
from gatewright.servers.dispatch import Builtin
from gatewright.servers.permission_admission import Standing, decision, request_of

__all__ = ["Authority", "permission_methods"]


class Authority(Protocol):
    """The permissions of all servers (`permission_policy`)."""

    def of(self, server: str) -> Mapping[str, Standing]:
        """Everything that is known of a server's permissions."""

    def servers_of(self, ident: str) -> set[str]:
        """Which servers a request of this id was about."""

    def say(self, *words: Word) -> None:
        """An operator says something, all of it or nothing. Raises `ValueError`."""


class _Ruling(msgspec.Struct):
    """The body of §3.6. `server_id` says which server is meant where the request does not."""

    request_id: str
    grants: dict[str, Value]
    approved_by: str = ""
    expires_at: str | None = None
    server_id: str | None = None


def permission_methods(authority: Authority) -> dict[str, Builtin]:
    """By their names."""

    async def asked(call: Call, back: Back) -> Outcome:
        return _asked(call) if _negotiated(call) else _no_method(call)

    async def ruled(call: Call, back: Back) -> Outcome:
        return _ruled(authority, call) if _negotiated(call) else _no_method(call)

    return {**dict.fromkeys(ASKED, asked), **dict.fromkeys(RULED, ruled)}


def _negotiated(call: Call) -> bool:
    mgp = call.client.mgp
    return mgp is not None and "security" in mgp.extensions


def _no_method(call: Call) -> Failure:
    return Failure("method_not_found", f"Method not found: {call.method}")


def _asked(call: Call) -> Outcome:
    found = request_of(call.params)
    if isinstance(found, str):
        return Failure("invalid_params", found)
    ident, names = found
    return _answer(decision(ident, {name: Standing("deferred") for name in names}))


def _ruled(authority: Authority, call: Call) -> Outcome:
    if call.caller.kind != "operator":
        return Refusal(
            "access_denied",
            "an operator decides on permissions, with "
            f"`{to_type('server permit SERVER PERMISSION')}`; this connection is not one's",
        )
    try:
        ruling = msgspec.convert(call.params, _Ruling)
        ends = None if ruling.expires_at is None else moment_of(ruling.expires_at)
        server = _server(authority, ruling)
        words = [
            Word(server, name, value, call.caller.id, expires=ends)
            for name, value in _said(ruling.grants).items()
            if value != "deferred"
        ]
        if words:
            authority.say(*words)
    except (ValueError, msgspec.ValidationError) as problem:
        return Failure("invalid_params", f"params: {problem}")
    now = authority.of(server)
    names = [canonical_permission(name) or name for name in ruling.grants]
    return _answer(decision(ruling.request_id, {name: now[name] for name in names if name in now}))


def _said(grants: Mapping[str, Value]) -> dict[str, Value]:
    """What is said of each permission by its canonical name. Raises `ValueError` where two spellings of one say different things."""
    found: dict[str, Value] = {}
    for name, value in grants.items():
        known = canonical_permission(name) or name
        if found.setdefault(known, value) != value:
            raise ValueError(f"two spellings of {known[:100]} say different things; leave one out")
    return found


def _server(authority: Authority, ruling: _Ruling) -> str:
    """Which server is meant. Raises `ValueError` where that is not certain."""
    asked = authority.servers_of(ruling.request_id)
    # Ids are chosen by servers, so two may ask under the same one: then only the operator knows which is meant.
    if ruling.server_id is None and len(asked) == 1:
        return next(iter(asked))
    if ruling.server_id is None:
        several = "several servers asked" if asked else "no server asked"
        raise ValueError(f"{several} as {ruling.request_id[:100]!r}; name one as server_id")
    if not authority.of(ruling.server_id):
        raise ValueError(f"server {ruling.server_id[:100]!r} asked for nothing")
    return ruling.server_id


def _answer(body: dict[str, Any]) -> Answer:
    return Answer(jsonrpc.encode(body))
