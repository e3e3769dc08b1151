"""Who asks, by its bearer token, and what somebody hears who is not let in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gatewright.call import Refusal
from gatewright.mcp.server.http_auth import bearer, refuse_caller, refuse_place
from gatewright.mcp.server.http_responses import Send
from gatewright.mcp.wire import jsonrpc


@pytest.mark.parametrize(
    ("value", "token"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer  abc ", "abc"),
        (b"BEARER abc", "abc"),
        (b"Bearer ", ""),
        (b"Basic abc", None),
        (b"Bearerabc", None),
        (b"", None),
    ],
)
def test_a_key_is_a_bearer_token(value: bytes, token: str | None) -> None:
    assert bearer({b"authorization": value}) == token
    assert bearer({}) is None


async def _answered(refusing: Callable[[Send], Awaitable[None]]) -> tuple[int, bytes, Any]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await refusing(send)
    headers = dict(sent[0]["headers"])
    body = b"".join(one.get("body", b"") for one in sent[1:])
    return sent[0]["status"], headers.get(b"www-authenticate", b""), jsonrpc.decode(body)["error"]


@pytest.mark.parametrize(
    ("refusal", "status", "says"),
    [
        (Refusal("auth_required", "no key"), 401, b'Bearer realm="gatewright"'),
        (Refusal("auth_failed", "a wrong key"), 401, b'error="invalid_token"'),
        (Refusal("insufficient_scope", "not for that", {"scope": "a:b"}), 403, b'scope="a:b"'),
        (Refusal("issuer_unavailable", "nobody to ask"), 503, b""),
    ],
)
async def test_a_caller_who_is_refused_hears_why_and_what_would_do(
    refusal: Refusal, status: int, says: bytes
) -> None:
    found, header, error = await _answered(lambda send: refuse_caller(send, refusal))
    assert found == status
    assert says in header
    assert bool(header) is bool(says)
    assert (error["message"], error["data"]) == (refusal.message, {"reason": refusal.reason})


@pytest.mark.parametrize("reason", ["host_refused", "origin_refused"])
async def test_a_foreign_page_is_told_nothing_of_keys(reason: str) -> None:
    status, header, error = await _answered(lambda send: refuse_place(send, reason))
    assert (status, header, error["code"]) == (403, b"", jsonrpc.INVALID_REQUEST)
