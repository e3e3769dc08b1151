"""Reads and writes `input_required` results (MCP 2026-07-28): the questions asked, bounded in number and size; params of the retry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Question
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from gatewright.mcp.wire.json_bounds import DECODED_BYTES

__all__ = [
    "QUESTIONS",
    "Interim",
    "TooMuchAsked",
    "check_count",
    "interim_result",
    "is_interim",
    "read_interim",
    "retry_params",
    "wanted_in",
]


_INPUT_REQUIRED = b'"input_required"'
_TYPE_BYTES = 100
"""No `resultType` is longer, however its letters are spelled."""


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
