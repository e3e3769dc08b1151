"""MGP callback requests (§13.4): reads `notifications/mgp.callback.request`, checks responses, converts to and from an elicitation form.

A callback is asked in three forms: as the server's notification, as the gateway's own to an MGP client, and as an elicitation to a
client of plain MCP. All three are made of one `Callback`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

import msgspec

__all__ = [
    "CALLBACK_TYPES",
    "DECLINES",
    "LONGEST_S",
    "OPTIONS_MOST",
    "RESPONSE_MOST",
    "USUAL_S",
    "Callback",
    "flaw_of_response",
    "form_of",
    "read_callback",
    "response_of_form",
]

Kind = Literal["confirmation", "input", "selection", "notification"]
CALLBACK_TYPES: tuple[str, ...] = get_args(Kind)
"""The four types of MGP §13.4."""

USUAL_S, LONGEST_S = 60.0, 600.0
"""How long a callback without `timeout_ms` waits, and the longest that one may ask for: longer ones are cut to that."""

OPTIONS_MOST = 100
RESPONSE_MOST = 65_536
"""Characters of one response."""

DECLINES = ("cancel", "no", "deny", "decline", "reject")
"""Options that say no, in lower case: what a form that is declined stands for, the first of these that is offered."""

_YES_OR_NO = ("confirm", "cancel")
_ID_MOST, _OPTION_MOST, _MESSAGE_MOST = 256, 256, 8192


class Callback(msgspec.Struct, frozen=True):
    """One callback as its server asked it. `id` is the server's own."""

    id: str | int
    type: Kind
    message: str
    options: tuple[str, ...] = ()
    timeout_s: float = USUAL_S

    @property
    def params(self) -> dict[str, Any]:
        """What a client is told of it, besides the ids, which the gateway gives."""
        found: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.options:
            found["options"] = list(self.options)
        if self.type != "notification":
            found["timeout_ms"] = round(self.timeout_s * 1000)
        return found


def read_callback(params: Mapping[str, Any]) -> Callback:
    """A callback from the params of its notification. Members that MGP does not have are left out: nobody has judged them.
    Raises `ValueError` saying what is wrong."""
    ident, kind, message = params.get("callback_id"), params.get("type"), params.get("message")
    if type(ident) not in (str, int) or not 0 < len(str(ident)) <= _ID_MOST:
        raise ValueError(f"callback_id must be a string of 1 to {_ID_MOST} characters")
    if kind not in CALLBACK_TYPES:
        raise ValueError(f"type must be one of {', '.join(CALLBACK_TYPES)}")
    if not isinstance(message, str) or len(message) > _MESSAGE_MOST:
        raise ValueError(f"message must be a string of at most {_MESSAGE_MOST} characters")
    options = _options(cast("Kind", kind), params.get("options"))
    seconds = _seconds(params.get("timeout_ms"))
    return Callback(cast("str | int", ident), cast("Kind", kind), message, options, seconds)


def _options(kind: Kind, said: Any) -> tuple[str, ...]:
    options = [] if said is None else said
    if not isinstance(options, list) or len(options) > OPTIONS_MOST:
        raise ValueError(f"options must be an array of at most {OPTIONS_MOST} strings")
    if not all(isinstance(one, str) and 0 < len(one) <= _OPTION_MOST for one in options):
        raise ValueError(f"each option must be a string of 1 to {_OPTION_MOST} characters")
    if len(set(options)) < len(options):
        raise ValueError("no option may stand twice")
    if kind == "selection" and not options:
        raise ValueError("a selection needs options")
    if kind == "confirmation" and not options:
        return _YES_OR_NO
    return tuple(options) if kind in ("confirmation", "selection") else ()


def _seconds(said: Any) -> float:
    if said is None:
        return USUAL_S
    if isinstance(said, bool) or not isinstance(said, int | float) or not said > 0:
        raise ValueError("timeout_ms must be a number of milliseconds greater than 0")
    return (
        min(said, LONGEST_S * 1000) / 1000
    )  # a number of any length, and divided it has to be a float


def flaw_of_response(callback: Callback, response: Any) -> str:
    """Why this is no response to a callback; empty where it is one."""
    if not isinstance(response, str) or len(response) > RESPONSE_MOST:
        return f"response must be a string of at most {RESPONSE_MOST} characters"
    if callback.options and response not in callback.options:
        return "response must be one of the options"
    return ""


# -- as a form of plain MCP -----------------------------------------------------------------------

_FIELD = "response"
_TITLES = {"confirmation": "Your decision", "selection": "Your choice", "input": "Your answer"}


def form_of(callback: Callback) -> dict[str, Any]:
    """The `requestedSchema` of an elicitation that asks the same: one field, without anything filled in."""
    field: dict[str, Any] = {"type": "string", "title": _TITLES.get(callback.type, "")}
    if callback.options:
        field["enum"] = list(callback.options)
    return {"type": "object", "properties": {_FIELD: field}, "required": [_FIELD]}


def response_of_form(callback: Callback, answer: Mapping[str, Any]) -> str | None:
    """What an answered elicitation says in response; None where its user would not say, and no option stands for that."""
    content = answer.get("content")
    if answer.get("action") == "accept" and isinstance(content, dict):
        said = content.get(_FIELD)
        return said if not flaw_of_response(callback, said) else None
    if callback.type != "confirmation":
        return None
    offered = {one.casefold(): one for one in callback.options}
    return next((offered[one] for one in DECLINES if one in offered), None)
