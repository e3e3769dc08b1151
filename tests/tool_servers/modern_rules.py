"""The rules of the stateless era for `modern_asker.py`: what is refused, and how rounds are sealed.

A request is judged before anything is done for it, in the order in which the specification's
errors exclude each other. A round that needs an answer is sealed: the state that the client carries
is bound to its request and signed with a key that only this process has.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
from typing import Any

from tests.tool_servers.wires import Call, RefusalError

__all__ = ["PREFIX", "VERSION", "answers", "judge", "require", "unseal"]

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
NEEDED = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling"}

_KEY = os.urandom(32)


def _mismatch(words: str) -> RefusalError:
    return RefusalError(-32020, words)


def judge(call: Call) -> None:
    """Raise the error that this request deserves, if it deserves one."""
    meta = call.params.get("_meta") or {}
    version = meta.get(PREFIX + "protocolVersion")
    if version is None and call.method == "initialize":
        asked = str(call.params.get("protocolVersion"))
        raise _unsupported(asked)
    if version is None or not isinstance(meta.get(PREFIX + "clientCapabilities"), dict):
        raise RefusalError(-32602, "The per-request fields in _meta are missing")
    if call.headers and call.headers.get("mcp-protocol-version") != version:
        raise _mismatch("MCP-Protocol-Version and _meta differ")
    if version != VERSION:
        raise _unsupported(version)
    if call.headers:
        _judge_headers(call)


def _unsupported(asked: str) -> RefusalError:
    return RefusalError(
        -32022, "Unsupported protocol version", {"supported": [VERSION], "requested": asked}
    )


def _judge_headers(call: Call) -> None:
    if call.headers.get("mcp-method") != call.method:
        raise _mismatch("Mcp-Method and method differ")
    key = NAMED.get(call.method)
    if key and call.headers.get("mcp-name") != call.params.get(key):
        raise _mismatch(f"Mcp-Name and {key} differ")
    if call.method == "tools/call" and call.params.get("name") == "located":
        region = (call.params.get("arguments") or {}).get("region")
        if _plain(call.headers.get("mcp-param-region")) != region:
            raise _mismatch("Mcp-Param-Region and the argument differ")


def _plain(value: str | None) -> str | None:
    """A header value without its base64 wrapping."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, ValueError) as broken:
        raise _mismatch("A header is not base64") from broken


def _seal(call: Call, state: Any) -> str:
    bound = [call.method, call.params.get("name") or call.params.get("uri"), state]
    body = base64.urlsafe_b64encode(json.dumps(bound).encode()).decode()
    return f"{body}.{hmac.new(_KEY, body.encode(), hashlib.sha256).hexdigest()}"


def unseal(call: Call) -> Any:
    """The state of the round before, None in the first one."""
    sealed = call.params.get("requestState")
    if sealed is None:
        return None
    body, _, mark = str(sealed).partition(".")
    good = hmac.new(_KEY, body.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(mark, good):
        raise RefusalError(-32602, "requestState does not verify")
    method, name, state = json.loads(base64.urlsafe_b64decode(body))
    if [method, name] != [call.method, call.params.get("name") or call.params.get("uri")]:
        raise RefusalError(-32602, "requestState belongs to another request")
    return state


def require(call: Call, questions: dict[str, Any], state: Any) -> dict[str, Any]:
    """An `input_required` result; with no questions only the state asks to come again."""
    can = call.params["_meta"][PREFIX + "clientCapabilities"]
    for question in questions.values():
        needed = NEEDED.get(question["method"], "roots")
        if needed not in can:
            raise RefusalError(
                -32021, f"This needs {needed}", {"requiredCapabilities": {needed: {}}}
            )
    asked = {"inputRequests": questions} if questions else {}
    return {"resultType": "input_required", **asked, "requestState": _seal(call, state)}


def answers(call: Call, *keys: str) -> dict[str, Any] | None:
    """What the client answered to these questions, None when one answer is missing."""
    responses = call.params.get("inputResponses") or {}
    if all(isinstance(responses.get(key), dict) for key in keys):
        return {key: responses[key] for key in keys}
    return None
