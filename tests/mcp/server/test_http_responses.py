"""Whole HTTP responses, and how they say that somebody has to say who asks."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.server.http_responses import (
    challenge,
    send_json,
    send_pieces,
    send_plain,
    step_up,
)


class Sent:
    """Keeps what was sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.messages)


async def test_responses_without_a_body_have_no_type() -> None:
    end, json_ = Sent(), Sent()
    await send_plain(end.send, 202)
    await send_json(json_.send, b"{}", 503)
    assert end.messages[0]["headers"] == [(b"content-length", b"0")]
    assert (json_.messages[0]["status"], json_.body) == (503, b"{}")


@pytest.mark.parametrize(("size", "pieces"), [(64 * 1024, 1), (64 * 1024 + 1, 2), (200_000, 4)])
async def test_a_long_body_leaves_in_pieces_of_which_the_last_says_so(
    size: int, pieces: int
) -> None:
    end, body = Sent(), bytes(range(250)) * (size // 250 + 1)
    await send_pieces(end.send, body[:size], 200, ((b"x-trace", b"t"),))
    start, *sent = end.messages
    assert (b"x-trace", b"t") in start["headers"]
    assert (len(sent), end.body) == (pieces, body[:size])
    assert [one.get("more_body", False) for one in sent] == [True] * (pieces - 1) + [False]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("auth_required", b'Bearer realm="gatewright"'),
        ("auth_failed", b'Bearer realm="gatewright", error="invalid_token"'),
    ],
)
def test_a_refusal_says_how_to_say_who_asks(reason: str, said: bytes) -> None:
    assert challenge(reason) == ((b"www-authenticate", said),)


def test_where_the_issuer_is_down_another_token_would_not_help() -> None:
    assert challenge("issuer_unavailable") == ()


def test_a_token_that_is_not_enough_is_told_what_would_be() -> None:
    more = b'Bearer realm="gatewright", error="insufficient_scope", scope="a b"'
    assert challenge("auth_failed", "a b") == step_up("a b") == ((b"www-authenticate", more),)
