"""Resumable streams: what was missed comes again, in order, once; memory is bounded."""

from __future__ import annotations

import asyncio
import time

import pytest

from gatewright.mcp.protocol.replay import FinishedStreams, Stream, Streams
from gatewright.transport.slices import begun


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


@pytest.mark.parametrize("kept", [True, False])
def test_a_stream_that_is_anothers_has_one_connection_and_what_was_kept_for_that_one(
    kept: bool,
) -> None:
    stream, old, new, ended = Streams(1000).own, Connection(), Connection(), list[bool]()
    stream.attach(old.sink, over=lambda: ended.append(True))
    stream.detach(old.sink)
    stream.add(b"said meanwhile")
    stream.attach(old.sink, over=lambda: ended.append(True))
    after = stream.handed
    stream.pass_on(kept=kept)
    stream.attach(new.sink, after)
    stream.detach(new.sink)
    stream.add(b"said later")
    assert ended == [True]
    assert old.messages == []
    assert new.messages == ([b"said meanwhile"] if kept else [])


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


def test_what_finished_streams_of_several_sessions_hold_together_is_bounded() -> None:
    shelf = FinishedStreams(100)
    one, other = Streams(10, shelf=shelf), Streams(10, shelf=shelf)
    streams = [session.open() for session in (one, other, one, other)]
    for stream in streams:
        stream.add(b"x" * 40, last=True)
    assert shelf.held == 80
    assert [one.find(f"{stream.ident}-0") is None for stream in streams[::2]] == [True, False]
    assert [other.find(f"{stream.ident}-0") is None for stream in streams[1::2]] == [True, False]
    last = one.open()
    last.add(b"x" * 500, last=True)
    assert shelf.held == 500
    assert one.find(f"{last.ident}-0") is not None
    one.end()
    assert shelf.held == 0


def test_a_stream_that_runs_or_is_forgotten_otherwise_takes_no_room_on_the_shelf() -> None:
    shelf = FinishedStreams(100)
    streams = Streams(1000, limit_streams=3, shelf=shelf)
    running = streams.open()
    running.add(b"x" * 60)
    assert shelf.held == 0
    for _ in range(9):
        streams.open().add(b"x" * 10, last=True)
    assert shelf.held == 10
    running.add(b"x", last=True)
    running.end()
    assert shelf.held == 71
    streams.drop(running)
    assert shelf.held == 10


def test_what_the_own_streams_of_several_sessions_keep_together_is_bounded() -> None:
    shelf, owns = FinishedStreams(100), FinishedStreams(100)
    one, other = (Streams(80, shelf=shelf, owns=owns) for _ in range(2))
    finished = one.open()
    finished.add(b"x" * 90, last=True)
    for _ in range(3):
        one.own.add(b"x" * 30)
    assert (one.own.held, owns.held) == (60, 60)
    other.own.add(b"y" * 30)
    assert (one.own.held, other.own.held, owns.held) == (60, 30, 90)
    other.own.add(b"y" * 30)  # that of the session which was told something last stays
    assert (one.own.held, other.own.held, owns.held) == (0, 60, 60)
    heard: list[tuple[str, bytes]] = []
    one.own.attach(lambda ident, message: heard.append((ident, message)), 0)
    one.own.add(b"z")
    assert heard == [("0-4", b"z")]  # the gap in numbers tells what is missing
    assert (shelf.held, one.find(f"{finished.ident}-0")) == (90, (finished, 0))
    for session in (one, other):
        session.end()
        session.own.add(b"late")
    assert (shelf.held, owns.held) == (0, 0)


def test_what_is_about_something_that_may_be_told_no_more_is_dropped_and_its_room_is_free() -> None:
    owns = FinishedStreams()
    streams = Streams(1000, owns=owns)
    for about in ("a", "b", None):
        streams.own.add(b"12345", about=about)
    streams.own.retain(lambda about: about == "a")
    heard: list[str] = []
    streams.own.attach(lambda ident, _: heard.append(ident), 0)
    assert heard == ["0-1", "0-3"]
    assert streams.own.held == owns.held == 10


def test_what_many_messages_are_about_is_judged_once() -> None:
    streams = Streams(100_000)
    for number in range(1000):
        streams.own.add(b"1", about=("server", f"{number % 3}"))
    asked: list[object] = []

    def may(about: object) -> bool:
        asked.append(about)
        return True

    streams.own.retain(may)
    assert sorted(map(str, asked)) == [f"('server', '{one}')" for one in "012"]
    assert streams.own.held == 1000


def _many(count: int) -> Stream:
    stream = Streams(1_000_000).own
    for number in range(1, count + 1):
        stream.add(b"%d" % number)
    return stream


class Slow(Connection):
    """One on which each message takes half a millisecond."""

    def sink(self, ident: str, message: bytes) -> None:
        super().sink(ident, message)
        end = time.perf_counter() + 0.0005
        while time.perf_counter() < end:
            pass

    async def has(self, count: int) -> None:
        while len(self.events) < count:
            await asyncio.sleep(0)


async def test_many_kept_messages_are_repeated_in_slices_and_what_comes_meanwhile_behind_them() -> (
    None
):
    stream, slow, over = _many(200), Slow(), list[int]()
    stream.attach(slow.sink, 50, lambda: over.append(len(slow.events)), begun)
    assert 0 < len(slow.events) < 100
    stream.add(b"201")
    stream.add(b"202", last=True)
    assert over == []
    await slow.has(152)
    assert slow.messages == [b"%d" % one for one in range(51, 203)]
    await asyncio.sleep(0.02)
    assert (over, stream.handed) == ([152], 202)


async def test_after_what_was_repeated_the_next_message_is_carried_at_once() -> None:
    stream, slow = _many(100), Slow()
    stream.attach(slow.sink, 0, begun=begun)
    await slow.has(100)
    await asyncio.sleep(0.01)
    stream.add(b"101")
    assert slow.messages[-1] == b"101"


async def test_who_comes_meanwhile_carries_and_is_given_the_rest() -> None:
    stream, old, new, over = _many(200), Slow(), Slow(), list[str]()
    stream.attach(old.sink, 0, lambda: over.append("old"), begun)
    seen = len(old.events)
    stream.attach(new.sink, stream.handed, lambda: over.append("new"), begun)
    await new.has(200 - seen)
    await asyncio.sleep(0.02)
    stream.add(b"201")
    assert old.messages + new.messages == [b"%d" % one for one in range(1, 202)]
    assert over == []
    stream.detach(new.sink)
    stream.add(b"202", last=True)
    assert old.messages[-1] == b"202"
    assert over == ["old"]


@pytest.mark.parametrize("how", ["detach", "pass_on", "forget", "retain"])
async def test_what_may_be_told_no_more_is_not_repeated(how: str) -> None:
    stream, slow = Streams(1_000_000).own, Slow()
    for _ in range(200):
        stream.add(b"x", about="tool")
    stream.attach(slow.sink, 0, begun=begun)
    seen = len(slow.events)
    if how == "detach":
        stream.detach(slow.sink)
    elif how == "pass_on":
        stream.pass_on(kept=True)
    elif how == "forget":
        stream.forget()
    else:
        stream.retain(lambda about: about != "tool")
    await asyncio.sleep(0.05)
    assert len(slow.events) == seen < 200
    stream.add(b"y")
    assert (slow.messages[-1] == b"y") == (how in {"forget", "retain"})


async def test_what_makes_room_meanwhile_is_given_first() -> None:
    stream, slow = Streams(400).own, Slow()
    for number in range(100, 233):
        stream.add(b"%d" % number)
    stream.attach(slow.sink, 0, begun=begun)
    stream.add(b"x" * 390)
    await slow.has(134)
    assert slow.messages == [*(b"%d" % one for one in range(100, 233)), b"x" * 390]


async def test_who_carried_before_goes_on_where_a_newer_one_left_in_the_middle() -> None:
    stream, old, new = _many(200), Slow(), Slow()
    stream.attach(old.sink, 0, begun=begun)
    seen = len(old.events)
    stream.attach(new.sink, stream.handed, begun=begun)
    given = seen + len(new.events)
    stream.detach(new.sink)
    stream.add(b"201")
    assert stream.handed < 200
    await old.has(201 - given + seen)
    await asyncio.sleep(0.02)
    stream.add(b"202")
    assert old.messages[:seen] + new.messages + old.messages[seen:] == [
        b"%d" % one for one in range(1, 203)
    ]


async def test_who_was_given_all_before_is_not_given_again_what_a_newer_one_repeated() -> None:
    stream, old, new = Streams(1_000_000).own, Connection(), Slow()
    stream.attach(old.sink)
    for number in range(1, 201):
        stream.add(b"%d" % number)
    stream.attach(new.sink, 0, begun=begun)
    stream.add(b"201")
    assert len(new.events) < 200
    stream.detach(new.sink)
    await asyncio.sleep(0.02)
    stream.add(b"202")
    assert old.messages == [b"%d" % one for one in range(1, 203)]


async def test_nothing_is_given_to_who_was_told_the_end_when_a_newer_one_leaves() -> None:
    stream, old, new, over = _many(200), Slow(), Slow(), list[str]()
    stream.attach(old.sink, over=lambda: over.append("old"))
    stream.attach(new.sink, 0, begun=begun)
    stream.add(b"201", last=True)
    assert over == ["old"]
    handed = stream.handed
    stream.detach(new.sink)
    await asyncio.sleep(0.02)
    assert (old.events, stream.handed) == ([], handed)


async def test_what_makes_room_for_other_sessions_is_given_first_where_it_is_repeated() -> None:
    owns = FinishedStreams(1500)
    one, other = (Streams(1000, owns=owns) for _ in range(2))
    for number in range(100, 400):
        one.own.add(b"%d" % number)
    slow = Slow()
    one.own.attach(slow.sink, 0, begun=begun)
    assert len(slow.events) < 300
    for _ in range(2):
        other.own.add(b"x" * 400)
    assert one.own.held == 0
    await asyncio.sleep(0.02)
    assert slow.messages == [b"%d" % number for number in range(100, 400)]
