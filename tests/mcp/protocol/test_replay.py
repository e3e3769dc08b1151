"""Resumable streams: what was missed comes again, in order, once; memory is bounded."""

from __future__ import annotations

from gatewright.mcp.protocol.replay import Streams


class Connection:
    def __init__(self) -> None:
        self.events: list[tuple[str, bytes]] = []

    def sink(self, ident: str, message: bytes) -> None:
        self.events.append((ident, message))

    @property
    def messages(self) -> list[bytes]:
        return [message for _, message in self.events]


def test_a_client_that_comes_back_gets_what_followed_the_last_event_it_saw() -> None:
    streams = Streams(1000)
    stream = streams.open()
    first, second = Connection(), Connection()
    stream.attach(first.sink)
    stream.add(b"one")
    stream.add(b"two")
    stream.detach(first.sink)
    stream.add(b"three", last=True)
    assert first.messages == [b"one", b"two"]
    found = streams.find(first.events[0][0])
    assert found is not None
    again, number = found
    again.attach(second.sink, number)
    assert second.messages == [b"two", b"three"]
    assert again.ended


def test_the_opening_event_can_be_resumed_from() -> None:
    streams = Streams(1000)
    stream = streams.open()
    stream.add(b"answer", last=True)
    found = streams.find(streams.open().primer()) and streams.find(f"{stream.ident}-0")
    assert found is not None
    connection = Connection()
    found[0].attach(connection.sink, found[1])
    assert connection.messages == [b"answer"]


def test_a_newer_connection_takes_over_and_the_older_cannot_take_back() -> None:
    stream = Streams(1000).own
    old, new = Connection(), Connection()
    stream.attach(old.sink)
    stream.attach(new.sink)
    stream.detach(old.sink)
    stream.add(b"x")
    assert (old.messages, new.messages) == ([], [b"x"])


def test_the_oldest_messages_are_forgotten_beyond_the_limit() -> None:
    stream = Streams(10).own
    for _ in range(100):
        stream.add(b"12345")
    connection = Connection()
    stream.attach(connection.sink, 0)
    assert len(connection.events) == 2
    assert connection.events[-1][0].endswith("-100")


def test_one_message_over_the_limit_is_still_kept() -> None:
    stream = Streams(10).own
    stream.add(b"x" * 100)
    connection = Connection()
    stream.attach(connection.sink, 0)
    assert connection.messages == [b"x" * 100]


def test_finished_streams_make_room_and_running_ones_stay() -> None:
    streams = Streams(1000, limit_streams=4)
    running = streams.open()
    for _ in range(20):
        streams.open().add(b"done", last=True)
    assert streams.find(running.primer()) is not None
    assert streams.find("1-0") is not None
    assert streams.find("2-0") is None


def test_an_id_that_was_never_given_out_names_nothing() -> None:
    streams = Streams(1000)
    for ident in ("", "0", "zz-1", "0-x", "0--1", "0-" + "9" * 30):
        assert streams.find(ident) is None
