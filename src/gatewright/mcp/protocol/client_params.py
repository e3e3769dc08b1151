"""Decodes the params of clients' messages, parses their notifications, and rejects ambiguous names of methods and members. No I/O.

A name that reads as another one's is refused here, before any server could take it for that.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gatewright.call import Client
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.methods import NOTIFICATIONS, flaw_of
from gatewright.mcp.wire.spellings import META, PLAIN, TAKEN, flaw_of_params
from gatewright.mcp.wire.versions import is_modern

__all__ = [
    "Dropped",
    "MisreadError",
    "Notice",
    "Rejected",
    "flaw_of_call",
    "misread",
    "no_request",
    "params_of",
    "read_notice",
]


class Notice(msgspec.Struct, frozen=True):
    """A notification that is not about the connection: it becomes a call that nobody waits for."""

    method: str
    params: dict[str, Any]
    client: Client


class Dropped(msgspec.Struct, frozen=True):
    """A message without an id that is no notification: nobody can be answered, and nothing is done."""

    code: int
    message: str


class Rejected(msgspec.Struct, frozen=True):
    """A request that cannot be served as it is. `http` is the status that goes with it; `client` is
    known where the request said who sends it."""

    id: bytes
    code: int
    message: str
    data: Any = None
    http: int = 400
    client: Client | None = None


class MisreadError(ValueError):
    """Two readers could take params for two different ones."""


def params_of(request: jsonrpc.Request | jsonrpc.Notification) -> dict[str, Any]:
    """The decoded params, where they have the shape of any and no second spelling of what is read. Raises `ValueError`."""
    text = request.params
    if not text:
        return {}
    params = jsonrpc.decode(text)
    # A comparison of sets settles nearly every call (decision 0060); the rest is looked through by name.
    if (
        type(params) is dict
        and "_meta" not in params
        and params.keys() <= TAKEN.get(request.method, PLAIN)
    ):
        return params
    return _checked(params, request.method)


def _checked(params: Any, method: str) -> dict[str, Any]:
    if type(params) is not dict:
        raise ValueError("params must be an object")
    meta = params.get("_meta")
    if meta is not None and type(meta) is not dict:
        raise ValueError("params._meta must be an object")
    plain = params.keys() <= TAKEN.get(method, PLAIN)
    if not (plain and (meta is None or meta.keys() <= META)):
        flaw = flaw_of_params(method, params)
        if flaw:
            raise MisreadError(flaw)
    return params


def no_request(method: str) -> str:
    """Why a method that is not MCP's cannot be one of anybody's."""
    if method.startswith(NOTIFICATIONS):
        return f"{method[:100]!a} is a notification: it goes without an id"
    return flaw_of(method)


def flaw_of_call(
    request: jsonrpc.Request,
    params: dict[str, Any],
    client: Client,
    names: str | None,
    *,
    known: bool,
) -> Rejected | None:
    """Why nobody can be called so: the method is none that is `known` and none of a server's own, or the member that `names` what is
    meant does not."""
    if not known:
        flaw, code, http = no_request(request.method), jsonrpc.METHOD_NOT_FOUND, 404
    elif names is not None and type(params.get(names)) is not str:
        flaw, code, http = f"params.{names} must be a string", jsonrpc.INVALID_PARAMS, 400
    else:
        flaw = ""
    if not flaw:
        return None
    http = http if is_modern(client.revision) else 200
    return Rejected(request.id, code, flaw, http=http, client=client)


def misread(request: jsonrpc.Request, problem: ValueError, unknown: int) -> Rejected:
    """The answer to a request whose params cannot be read. What is nobody's method is refused for that, with the status `unknown`,
    whatever params came with it."""
    flaw = no_request(request.method)
    if flaw:
        return Rejected(request.id, jsonrpc.METHOD_NOT_FOUND, flaw, http=unknown)
    http = 200 if unknown == 200 else 400
    return Rejected(request.id, jsonrpc.INVALID_PARAMS, str(problem), http=http)


def read_notice(notification: jsonrpc.Notification, client: Client) -> Notice | Dropped | None:
    """What a notification asks for that is not about the connection itself; None for one that cannot be read: they are not
    answered. What is no notification by its name would be run by servers that do not look for the id."""
    method = notification.method
    if not method.startswith(NOTIFICATIONS):
        said = flaw_of(method) or f"{method} is a request, and has no id"
        return Dropped(jsonrpc.INVALID_REQUEST, f"{said}; nothing was done")
    flaw = flaw_of(method)
    if flaw:
        return Dropped(jsonrpc.METHOD_NOT_FOUND, flaw)
    try:
        return Notice(method, params_of(notification), client)
    # Recorded as refused; what merely cannot be read is not answered (JSON-RPC 2.0 §4.1).
    except MisreadError as problem:
        return Dropped(jsonrpc.INVALID_PARAMS, f"{method}: {problem}; nothing was done")
    except ValueError:
        return None
