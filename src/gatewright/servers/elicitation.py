"""Screens servers' elicitations, sampling requests and MGP callbacks: attributes them to the server, refuses or narrows forbidden ones.

The gateway asks people, too: whether a call may run, at which address they can decide. A server's question must not pass for
one of those, so it begins with the server's name, and no line of its own stands where a line of the gateway's could. What MCP
forbids servers to ask for (passwords, keys, by form), what no browser should open, and what would show one server the words
of others is refused or narrowed here, wherever the question came from: a request, an `input_required` result, an error.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any
from urllib.parse import SplitResult, urlsplit

from msgspec.structs import replace

from gatewright.call import CannotAsk, Client, Question
from gatewright.mcp.protocol.callbacks import form_of, read_callback
from gatewright.mcp.protocol.mcp_server import can_answer
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.mcp.wire.spellings import SAID, flaw_of_params
from gatewright.schemas.lookalikes import length_seen
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.servers.form_check import judge_form, legible
from gatewright.servers.gateway_url_check import Ours, Steps, cannot, judge_addresses
from gatewright.transport.slices import whole

__all__ = ["COMPLETE", "ELICIT", "SAMPLE", "informed", "quoted", "screened"]

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
COMPLETE = "notifications/elicitation/complete"

Params = Generator[None, None, dict[str, Any]]

_OF_FORMS, _OF_URLS = ("requestedSchema",), ("url", "elicitationId")
_URL_MOST = 4096
_MESSAGE_MOST = 8192


def screened(
    server: str, question: Question, client: Client, ours: Ours
) -> Generator[None, None, Question]:
    """The question of a server as its caller may be asked it, in steps. Raises `CannotAsk` saying what the server may not ask."""
    method = question.method
    if method == CALLBACK:
        found = yield from _called_back(server, _object(question), client, ours)
        return replace(question, params=found)
    if not can_answer(client, method):
        raise CannotAsk(f"the caller's client did not declare that it answers {method}")
    said = question.params
    flaw = flaw_of_params(method, said, SAID) if isinstance(said, dict) else ""
    if flaw:
        raise cannot(flaw)
    if method == ELICIT:
        found = yield from _elicited(server, _object(question), client, ours)
        return replace(question, params=found)
    if method == SAMPLE:
        return replace(question, params=_sampled(_object(question), client))
    return question


def _object(question: Question) -> dict[str, Any]:
    if not isinstance(question.params, dict):
        raise cannot(f"the params of {question.method} must be an object")
    return question.params


# -- elicitation ----------------------------------------------------------------------------------


def _elicited(server: str, params: dict[str, Any], client: Client, ours: Ours) -> Params:
    mode = params.get("mode", "form")
    declared = client.capabilities.get("elicitation")
    if mode not in ("form", "url") or not _declares(declared, mode):
        raise cannot(
            f"the caller's client did not declare elicitation of the mode {str(mode)[:40]!a}"
        )
    said = params.get("message", "")
    _check_message(said)
    # What is of the other mode nobody has judged, and a client may show it all the same.
    other = _OF_URLS if mode == "form" else _OF_FORMS
    found = {name: one for name, one in params.items() if name not in other}
    found["message"] = quoted(server, said)
    yield from judge_addresses([said], ours)
    if mode == "form":
        yield from judge_form(said, params.get("requestedSchema"), ours)
        found["requestedSchema"] = legible(params["requestedSchema"])
        return found
    flaw = _flaw_of_url(params.get("url"), ours)
    if flaw:
        raise cannot(f"a person cannot be asked to open this url: {flaw}")
    ident = params.get("elicitationId")
    if ident is not None:
        if not isinstance(ident, str):
            raise cannot("elicitationId must be a string")
        # Of its server alone: none can complete what another asked for, nor an approval of the gateway's.
        found["elicitationId"] = f"{server}/{ident}"
    return found


def _check_message(said: Any) -> None:
    """What is longer as it looks takes as long to judge as a text of that length."""
    if not isinstance(said, str) or length_seen(said, _MESSAGE_MOST) > _MESSAGE_MOST:
        raise cannot(f"message must be a string of at most {_MESSAGE_MOST} characters")


def _declares(declared: Any, mode: str) -> bool:
    """An empty declaration means forms (MCP 2025-11-25, elicitation)."""
    modes = declared if isinstance(declared, dict) else {}
    if mode == "url":
        return isinstance(modes.get("url"), dict)
    return isinstance(modes.get("form"), dict) or not isinstance(modes.get("url"), dict)


def quoted(server: str, said: str, does: str = "asks") -> str:
    """A server's words under its name. Of several lines each is marked, so that none can stand as one of the gateway's."""
    shown = spelled(said, keep="\n")
    if "\n" not in shown:
        return f'Server "{server}" {does}: {shown}'
    return "\n> ".join((f'Server "{server}" {does}:', *shown.split("\n")))


def _flaw_of_url(url: Any, ours: Ours) -> str:
    """Why no person should be led to a URL; empty where nothing is against it."""
    if not isinstance(url, str) or not 0 < len(url) <= _URL_MOST:
        return f"it must be a string of at most {_URL_MOST} characters"
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "it has characters that browsers and people read in different ways"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it raises
    except ValueError:
        return "it cannot be read"
    flaw = _flaw_of_parts(parts)
    return flaw or ("it leads to the gateway itself" if ours(url) else "")


def _flaw_of_parts(parts: SplitResult) -> str:
    if parts.scheme not in ("http", "https"):
        return "only https and http can be opened"
    if not parts.hostname:
        return "it names no host"
    if "@" in parts.netloc:
        return "it hides its host behind a user name"
    if "%" in parts.netloc:
        return "it hides its host behind escapes"
    return ""


# -- callbacks of MGP -------------------------------------------------------------------------------


def _called_back(server: str, params: dict[str, Any], client: Client, ours: Ours) -> Params:
    """A callback is judged as the form that asks the same, whichever of the two its caller gets to see."""
    declared = client.capabilities.get("elicitation")
    if not can_answer(client, CALLBACK) and not (
        declared is not None and _declares(declared, "form")
    ):
        raise CannotAsk("its client negotiated no MGP callbacks and declared no elicitation")
    try:
        callback = read_callback({"callback_id": 0, **params})
    except ValueError as flaw:
        raise CannotAsk(f"this callback cannot be: {flaw}", jsonrpc.INVALID_PARAMS) from None
    _check_message(callback.message)
    yield from _judge_options(callback.options, ours)
    yield from judge_addresses([callback.message], ours)
    yield from judge_form(callback.message, form_of(callback), ours)
    return {**params, "message": quoted(server, callback.message)}


def informed(server: str, params: dict[str, Any], ours: Ours) -> dict[str, Any]:
    """What a server lets its caller know by a callback that wants no answer. Raises `CannotAsk`."""
    said = params.get("message", "")
    _check_message(said)
    whole(judge_addresses([said], ours))
    return {**params, "message": quoted(server, said, "says")}


def _judge_options(options: Iterable[str], ours: Ours) -> Steps:
    if any(spelled(one) != one for one in options):
        raise cannot("an option has characters that nobody can see")
    yield from judge_addresses(options, ours)


# -- sampling ---------------------------------------------------------------------------------------


def _sampled(params: dict[str, Any], client: Client) -> dict[str, Any]:
    """To the client the gateway is one server, so `thisServer` too would be what all servers behind it said."""
    declared = client.capabilities.get("sampling")
    tools = declared.get("tools") if isinstance(declared, dict) else None
    if ("tools" in params or "toolChoice" in params) and not isinstance(tools, dict):
        raise cannot("the caller's client did not declare that it samples with tools")
    if "includeContext" in params and params["includeContext"] != "none":
        return {**params, "includeContext": "none"}
    return params
