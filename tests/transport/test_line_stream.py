from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport import line_stream
from gatewright.transport.base import Limits
from gatewright.transport.line_stream import LineInbox, LineOutbox, LineSplitter
from gatewright.transport.pipe_ends import End
from tests.costs import lines_run
from tests.transport.collecting import Collector, within


class Source:
    """A stream that can be paused, and remembers it."""

    def __init__(self) -> None:
        self.paused = False
        self.pauses = 0
        self.closing = False

    def pause_reading(self) -> None:
        assert not self.paused
        self.paused = True
        self.pauses += 1

    def resume_reading(self) -> None:
        assert self.paused
        self.paused = False

    def reads(self) -> bool:
        return not self.paused

    def is_closing(self) -> bool:
        return self.closing


class Sink:
    """A stream that keeps what is written to it; `stuck` bytes of it count as not yet taken."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.stuck = 0
        self.closing = False

    def write(self, data: bytes, /) -> None:
        self.writes.append(data)

    def get_write_buffer_size(self) -> int:
        return self.stuck

    def is_closing(self) -> bool:
        return self.closing


def split(pieces: list[bytes], limit: int) -> tuple[list[bytes], bool, bool]:
    splitter = LineSplitter(limit)
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    return lines, splitter.broken, splitter.partial


async def next_turn() -> None:
    await asyncio.sleep(0)


async def started(
    receiver: Collector,
    limits: Limits,
    source: Source | None = None,
    broken: Callable[[str], None] = pytest.fail,
) -> LineInbox:
    inbox = LineInbox(source or Source(), End(receiver), limits, broken)
    inbox.start()
    for _ in range(3):
        await next_turn()
    return inbox


def test_lines_end_with_lf_or_crlf_and_blank_ones_vanish() -> None:
    assert split([b"a\r\n\n\r\nb\rb\nc\n"], 10) == ([b"a", b"b\rb", b"c"], False, False)


def test_half_a_line_is_kept_and_known() -> None:
    assert split([b"a\nhal", b"f"], 10) == ([b"a"], False, True)


def test_a_line_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    assert split([b"x" * 10 + b"\r\n"], 10) == ([b"x" * 10], False, False)
    assert split([b"x" * 11 + b"\n"], 10) == ([], True, False)
    assert split([b"x" * 10, b"\r", b"\n"], 10) == ([b"x" * 10], False, False)


def test_nothing_is_held_of_a_line_over_the_limit() -> None:
    splitter = LineSplitter(10)
    assert splitter.feed(b"ok\n" + b"x" * 12) == [b"ok"]
    assert splitter.broken
    assert splitter.feed(b"\nmore\n") == []
    assert not splitter.partial


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"x" * 9, b"\n\n"]), max_size=30),
    st.lists(st.integers(0, 300), max_size=20),
)
def test_the_same_stream_has_the_same_lines_however_it_is_cut(
    parts: list[bytes], places: list[int]
) -> None:
    stream = b"".join(parts)
    edges = [0, *sorted({place % (len(stream) + 1) for place in places}), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    assert split(pieces, 9)[:2] == split([stream], 9)[:2]
    assert split(pieces, 1000) == split([stream], 1000)


def test_a_long_line_in_pieces_is_looked_at_once() -> None:
    """The work is counted, not timed: bytes handled by joins and splits grow with the line, not with its square."""
    splitter = LineSplitter(1 << 26)
    piece = b"x" * 65536
    for _ in range(1023):
        assert splitter.feed(piece) == []
    assert len(splitter._pieces) == 1023
    (line,) = splitter.feed(piece + b"\n")
    assert len(line) == 1 << 26
    assert splitter._pieces == []


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"\n\r\n"])
@pytest.mark.parametrize("before", [b"", b"half a line", b"\r"])
def test_blank_lines_cost_no_step_each(blank: bytes, before: bytes) -> None:
    splitter = LineSplitter(1 << 20)
    splitter.feed(before)
    few = lines_run(line_stream, lambda: splitter.feed(blank * 10))
    assert lines_run(line_stream, lambda: splitter.feed(blank * 100_000)) <= few
    assert (
        lines_run(line_stream, lambda: splitter.feed(blank * (1 << 20))) <= few + 10
    )  # longer than a line may be


async def test_nothing_is_delivered_before_the_pipe_is_in_its_owners_hands() -> None:
    collector = Collector()
    broken: list[str] = []
    ended: list[bool] = []
    inbox = LineInbox(Source(), End(collector), Limits(frame_bytes=5), broken.append)
    inbox.feed(b"1\n2\n" + b"x" * 6 + b"\n")
    inbox.end(ended.append)
    for _ in range(5):
        await next_turn()
    assert (collector.messages, broken, ended) == ([], [], [])
    inbox.start()
    assert collector.messages == []
    for _ in range(5):
        await next_turn()
    assert collector.messages == [b"1", b"2"]
    assert broken == ["a message longer than 5 bytes"]


async def test_a_flood_is_delivered_in_portions_of_one_turn_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "gatewright.transport.line_stream.SLICE_S", 60
    )  # a busy machine ends no turn early
    collector, source = Collector(), Source()
    inbox = await started(collector, Limits(turn_messages=10), source)
    inbox.feed(b"m\n" * 35)
    seen = [len(collector.messages)]
    while not source.reads():
        await next_turn()
        seen.append(len(collector.messages))
    assert seen == [10, 20, 30, 35]


async def test_who_sends_what_takes_long_is_not_heard_for_as_long_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each message in a turn of its own is not enough: the calls of others take several turns."""
    loop = asyncio.get_running_loop()
    now, waits = 100.0, list[float]()
    taken: list[bytes] = []

    class Slow(Collector):
        def message(self, data: bytes) -> None:
            nonlocal now
            taken.append(data)
            now += 0.2 if data.startswith(b"h") else 0.007 if data.startswith(b"s") else 0.0

    source = Source()
    inbox = await started(Slow(), Limits(), source)
    inbox._loop = loop
    monkeypatch.setattr(loop, "time", lambda: now)
    monkeypatch.setattr("gatewright.transport.line_stream.time.thread_time", lambda: now)
    monkeypatch.setattr(loop, "call_later", lambda after, act: waits.append(round(after, 3)))
    inbox.feed(b"q" * 9000 + b"\n")
    await next_turn()
    assert (len(taken), waits) == (1, [])
    inbox.feed((b"s" * 9000 + b"\n") * 2)
    assert (len(taken), waits) == (2, [0.007])
    await next_turn()
    assert len(taken) == 2
    assert not source.reads()
    inbox._next_turn()
    assert (len(taken), waits) == (3, [0.007, 0.007])
    assert not source.reads()
    inbox._next_turn()
    assert source.reads()
    inbox.feed(b"h" * 9000 + b"\n")
    assert waits == [0.007, 0.007, 0.05]


@pytest.mark.parametrize(("size", "first"), [(20, 4), (3000, 2), (9000, 1), (100_000, 1)])
async def test_the_clock_is_looked_at_after_so_many_lines_or_bytes(
    monkeypatch: pytest.MonkeyPatch, size: int, first: int
) -> None:
    """What one long message takes may be milliseconds: four of them would be a stall."""
    monkeypatch.setattr("gatewright.transport.line_stream.SLICE_S", 0.0)
    collector, source = Collector(), Source()
    inbox = await started(collector, Limits(), source)
    inbox.feed((b"m" * size + b"\n") * 6)
    seen = [len(collector.messages)]
    while seen[-1] < 6:
        await next_turn()
        seen.append(len(collector.messages))
    assert seen[0] == first
    assert max(after - before for before, after in pairwise(seen)) <= first


async def test_many_bytes_in_one_turn_pause_the_source_until_the_next() -> None:
    collector, source = Collector(), Source()
    inbox = await started(collector, Limits(turn_bytes=100), source)
    inbox.feed(b"x" * 60)
    assert source.reads()
    inbox.feed(b"x" * 60)
    assert not source.reads()
    await next_turn()
    assert source.reads()
    inbox.feed(b"x" * 60 + b"\n")
    assert (source.pauses, len(collector.messages)) == (1, 1)


async def test_the_end_comes_after_the_last_message_and_tells_of_half_a_line() -> None:
    collector, source = Collector(), Source()
    inbox = await started(collector, Limits(turn_messages=2), source)
    ended: list[tuple[int, bool]] = []
    inbox.feed(b"m\nm\nm\nm\nm\nhalf")
    inbox.end(lambda half: ended.append((len(collector.messages), half)))
    while not ended:
        await next_turn()
    assert ended == [(5, True)]


async def test_messages_before_one_over_the_limit_are_delivered_first() -> None:
    collector = Collector()
    reasons: list[str] = []
    limits = Limits(frame_bytes=5, turn_messages=1)
    inbox = await started(collector, limits, broken=reasons.append)
    inbox.feed(b"1\n2\n" + b"x" * 6 + b"\n3\n")
    while not reasons:
        await next_turn()
    inbox.feed(b"4\n")
    assert collector.messages == [b"1", b"2"]
    assert reasons == ["a message longer than 5 bytes"]


async def test_a_dropped_inbox_delivers_nothing_more() -> None:
    collector, source = Collector(), Source()
    inbox = await started(collector, Limits(turn_messages=1), source)
    inbox.feed(b"1\n2\n3\n")
    inbox.drop()
    source.closing = True
    inbox.feed(b"4\n")
    await next_turn()
    assert collector.messages == [b"1"]


async def test_what_is_sent_in_one_turn_leaves_in_one_write() -> None:
    sink = Sink()
    outbox = LineOutbox(sink, Limits(), pytest.fail)
    for message in (b"1", b"2", b"3"):
        assert outbox.send(message)
    assert sink.writes == []
    await next_turn()
    assert sink.writes == [b"1\n2\n3\n"]
    outbox.send(b"4")
    outbox.flush()
    assert sink.writes == [b"1\n2\n3\n", b"4\n"]


async def test_a_newline_inside_a_message_cannot_start_another_one() -> None:
    sink = Sink()
    outbox = LineOutbox(sink, Limits(), pytest.fail)
    outbox.send(b'{"a":\n1,\r\n"b":2}\n{"evil":1}')
    outbox.flush()
    assert sink.writes == [b'{"a": 1,  "b":2} {"evil":1}\n']


async def test_nothing_is_written_to_a_sink_that_closes() -> None:
    sink = Sink()
    outbox = LineOutbox(sink, Limits(), pytest.fail)
    outbox.send(b"1")
    sink.closing = True
    await next_turn()
    assert sink.writes == []


async def test_a_sink_that_takes_nothing_is_refused_at_once_or_in_time() -> None:
    sink = Sink()
    slow = asyncio.Event()
    outbox = LineOutbox(sink, Limits(queue_bytes=10, burst_bytes=20, patience_s=0.01), slow.set)
    sink.stuck = 5
    assert outbox.send(b"x" * 9)
    assert not outbox.send(b"x" * 9)
    sink.stuck = 15
    await within(slow.wait())
    outbox.stop()


async def test_what_is_read_in_the_middle_of_a_turn_counts_only_as_far_as_it_matters() -> None:
    """How much waits in the sink is asked once a turn, and again where that would be too much."""
    sink = Sink()
    outbox = LineOutbox(sink, Limits(queue_bytes=20, burst_bytes=20), pytest.fail)
    sink.stuck = 16
    assert outbox.send(b"abcd")
    assert not outbox.send(b"e")  # 21 wait
    sink.stuck = 0
    assert outbox.send(b"f" * 15)  # after 5
    assert not outbox.send(b"g")
    outbox.flush()
    assert sink.writes == [b"abcd\n" + b"f" * 15 + b"\n"]
    assert outbox.send(b"h" * 100)  # nothing waits
    outbox.stop()


async def test_many_small_messages_of_one_turn_make_a_peer_slow_that_reads_none() -> None:
    slow = asyncio.Event()
    sink = Sink()
    limits = Limits(queue_bytes=100, burst_bytes=10_000, patience_s=0.01)
    outbox = LineOutbox(sink, limits, slow.set)
    assert all(outbox.send(b"x" * 9) for _ in range(30))
    sink.stuck = 300  # all of it
    await within(slow.wait())
    outbox.stop()


async def test_what_is_to_be_sent_soon_is_not_sent_behind_more_than_that() -> None:
    sink = Sink()
    outbox = LineOutbox(sink, Limits(queue_bytes=40, burst_bytes=40), pytest.fail)
    assert outbox.send_behind(b"a\nb", 10)
    assert outbox.send_behind(b"12345", 10)
    assert not outbox.send_behind(b"", 10)
    assert outbox.waiting() == 10
    assert outbox.send_behind(b"", 11)
    assert not outbox.send_behind(b"x" * 40, 100)  # that would be slow reading
    await asyncio.sleep(0)
    assert sink.writes == [b"a b\n12345\n\n"]
    sink.stuck = 8
    assert not outbox.send_behind(b"12", 10)
    assert outbox.send_behind(b"1", 10)


async def test_what_is_sent_soon_counts_for_a_peer_that_reads() -> None:
    """It has taken a little of what waited, and all that was sent soon: together as much as who reads takes in that time."""
    sink, slow = Sink(), list[bool]()
    limits = Limits(queue_bytes=100, burst_bytes=10_000, patience_s=60.0)
    outbox = LineOutbox(sink, limits, lambda: slow.append(True))

    def sent(size: int, waits: int, send: Callable[[bytes], bool]) -> None:
        assert send(b"x" * (size - 1))
        outbox.flush()
        sink.stuck = waits

    sent(120, 0, outbox.send)
    sent(120, 120, outbox.send)
    outbox._backlog._look()
    sink.stuck = 70
    for _ in range(3):
        sent(30, 70, lambda data: outbox.send_behind(data, 100))
    sent(50, 120, outbox.send)
    outbox._backlog._look()
    assert not slow
    outbox._backlog._look()
    assert slow  # nothing was taken since
    outbox.stop()
