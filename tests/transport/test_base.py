from __future__ import annotations

from typing import Any

import pytest

from gatewright.transport.base import FROM_CLIENTS, FROM_SERVERS, SLICE_S, Closed, Limits, send_soon

MIB = 1 << 20


def test_the_default_limits_are_the_published_ones() -> None:
    assert (FROM_CLIENTS.frame_bytes, FROM_SERVERS.frame_bytes) == (MIB, 16 * MIB)
    assert (FROM_CLIENTS.queue_bytes, FROM_CLIENTS.header_bytes) == (256 << 10, 32 << 10)
    assert (FROM_CLIENTS.header_timeout_s, FROM_CLIENTS.body_timeout_s) == (10, 30)


def test_limits_cannot_be_changed_while_they_are_in_use() -> None:
    with pytest.raises(AttributeError):
        Limits().frame_bytes = 1  # type: ignore[misc]


def test_a_closed_pipe_says_why_it_is_closed() -> None:
    error = Closed("slow reader")
    assert error.reason == "slow reader"
    assert str(error) == "the connection is closed: slow reader"


def test_many_small_messages_of_a_server_are_one_turn_and_what_they_cost_is_bounded() -> None:
    """A thousand streams are as many messages as everything else together; `SLICE_S` is what nobody waits longer for."""
    assert FROM_SERVERS.turn_messages == 8 * FROM_CLIENTS.turn_messages
    assert SLICE_S <= 0.001


class _Pipe:
    waiting = 4

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def send(self, message: bytes) -> None:
        if self.closed:
            raise Closed("gone")
        self.sent.append(message)


def test_a_message_for_soon_is_not_sent_behind_more_than_that() -> None:
    pipe: Any = _Pipe()
    assert not send_soon(pipe, b"123", 7)
    assert send_soon(pipe, b"12", 7)
    pipe.closed = True
    assert not send_soon(pipe, b"12", 7)
    assert pipe.sent == [b"12"]
