"""What a WebSocket client sends is parsed in turns, within bounds, and not before the upgrade was answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.transport import websocket_intake as module
from gatewright.transport.read_turns import CONNECTIONS_A_TURN, TURN_S, ReadTurns
from gatewright.transport.websocket_intake import (
    CONTROL_BURST,
    CONTROL_PER_S,
    EXCUSED,
    FRAGMENTS,
    FRAMES_A_TURN,
    FRAMES_BURST,
    FRAMES_PER_S,
    PACED_PER_S,
    Intake,
)
from tests.transport.collecting import within

PING = b"\x89\x80\x00\x00\x00\x00"


def frame(size: int, *, first: int = 0x81, mask: bool = True) -> bytes:
    """One frame of a client with so many bytes in it."""
    bit = 0x80 if mask else 0
    if size < 126:
        head = bytes([first, bit | size])
    elif size < 65536:
        head = bytes([first, bit | 126]) + size.to_bytes(2)
    else:
        head = bytes([first, bit | 127]) + size.to_bytes(8)
    return head + (bytes(4) if mask else b"") + b"x" * size


class Wire:
    """An intake with all that it calls, on a clock that the test sets."""

    def __init__(
        self, turns: ReadTurns | None = None, *, open_: bool = True, paced: bool = False
    ) -> None:
        self.now = 0.0
        self.pauses = 0
        self.parsed: list[bytes] = []
        self.before: list[Wire] = []
        self.reads = True
        self.changes = 0
        self.floods: list[str] = []
        self.turns = turns or ReadTurns(asyncio.get_running_loop())
        self.intake = Intake(
            self.turns,
            lambda: self.now,
            self._parse,
            self._flow,
            self.floods.append,
            self._later if paced else None,
        )
        if open_:
            self.intake.hold(held=False)

    def _parse(self, data: bytes) -> None:
        self.parsed.append(data)
        self.before.append(self)

    def _flow(self, on: bool) -> None:
        self.changes += self.reads is not on
        self.reads = on

    def _later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Time goes on as soon as anybody waits for it."""
        self.pauses += 1
        assert not self.reads

        def then() -> None:
            self.now += seconds
            call()

        return asyncio.get_running_loop().call_later(0, then)

    async def quiet(self) -> None:
        """Wait until all is parsed or the client was sent away."""

        async def wait() -> None:
            while self.intake.waits and not self.floods:
                await asyncio.sleep(0)

        await within(wait())

    @property
    def got(self) -> bytes:
        return b"".join(self.parsed)


SIZES = st.lists(st.sampled_from([0, 1, 5, 125, 126, 300, 65535, 65536]), max_size=12)


@given(SIZES, st.lists(st.integers(1, 70_000), max_size=8), st.booleans())
def test_everything_arrives_in_its_order_however_it_is_cut(
    sizes: list[int], cuts: list[int], mask: bool
) -> None:
    whole = b"".join(frame(one, mask=mask) for one in sizes)

    async def run() -> None:
        wire, at = Wire(), 0
        for cut in [*cuts, len(whole)]:
            wire.intake.take(whole[at : at + cut])
            at += cut
        await wire.quiet()
        assert (wire.got, wire.reads, wire.floods) == (whole, True, [])

    asyncio.run(run())


async def test_what_is_parsed_as_it_comes_does_not_stop_the_reading() -> None:
    """To stop and to go on is two calls of the system: for each byte of a client that sends single ones."""
    wire = Wire()
    for byte in frame(100):
        wire.intake.take(bytes([byte]))
        await asyncio.sleep(0)  # a turn has its time
    assert (wire.got, wire.changes) == (frame(100), 0)
    wire.intake.take(frame(1) * (FRAMES_A_TURN + 1))
    assert not wire.reads
    await wire.quiet()
    assert (wire.reads, wire.changes) == (True, 2)


async def test_one_frame_of_each_of_many_is_parsed_in_several_turns_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of ten thousand sockets that send in one moment each has one message; everybody else had waited for all of them."""
    loop, spent, each = asyncio.get_running_loop(), [0.0], list[int]()
    clock = lambda: spent[0]  # noqa: E731
    turns = ReadTurns(SimpleNamespace(time=clock, call_soon=loop.call_soon))  # type: ignore[arg-type]
    monkeypatch.setattr(module, "perf_counter", clock)
    order: list[Wire] = []

    class Costly(Wire):
        def _parse(self, data: bytes) -> None:
            super()._parse(data)
            spent[0] += TURN_S / 4

    wires = [Costly(turns) for _ in range(40)]
    for wire in wires:
        wire.before = order
        wire.intake.take(frame(1))
    wires[-1].intake.take(frame(2))  # the system had it already
    assert len(order) == 4
    while len(order) < len(wires):
        each.append(len(order))
        await asyncio.sleep(0)
    await wires[-1].quiet()
    assert max(later - sooner for sooner, later in pairwise(each)) <= CONNECTIONS_A_TURN
    assert order[: len(wires)] == wires
    assert wires[-1].got == frame(1) + frame(2)
    assert all(wire.reads for wire in wires)
    await asyncio.sleep(0)
    wires[0].intake.take(frame(3))  # a turn later there is time again
    assert order[-1] is wires[0]


async def test_nothing_is_parsed_before_the_upgrade_was_answered() -> None:
    wire = Wire(open_=False)
    wire.intake.take(frame(3) * 100)
    for _ in range(5):
        await asyncio.sleep(0)
    assert (wire.parsed, wire.reads) == ([], False)
    wire.intake.hold(held=False)
    await wire.quiet()
    assert (wire.got, wire.reads) == (frame(3) * 100, True)


async def test_a_connection_that_was_refused_was_never_listened_to() -> None:
    wire = Wire(open_=False)
    wire.intake.take(frame(1, first=0x01) * 100_000)
    wire.intake.stop()
    wire.intake.hold(held=False)
    assert (wire.parsed, wire.floods, wire.intake.waits) == ([], [], False)


async def test_a_turn_has_a_few_frames_of_each_whoever_sent_more() -> None:
    turns = ReadTurns(asyncio.get_running_loop())
    many, few = Wire(turns), Wire(turns)
    many.intake.take(frame(1) * 1000)
    few.intake.take(frame(1))
    order: list[Wire] = []
    many.before = few.before = order
    await few.quiet()
    assert order.index(few) <= 2
    assert max(map(len, many.parsed)) <= FRAMES_A_TURN * len(frame(1))
    await many.quiet()
    assert many.got == frame(1) * 1000


def floods() -> Iterator[tuple[str, bytes, str]]:
    begin = frame(1, first=0x01)
    yield "one byte fragments", begin + frame(1, first=0x00) * FRAGMENTS, "small pieces"
    yield "empty fragments", begin + frame(0, first=0x00) * FRAGMENTS, "small pieces"
    yield "unmasked fragments", begin + frame(1, first=0x00, mask=False) * FRAGMENTS, "small pieces"
    yield "pings", PING * (int(CONTROL_BURST) + 1), "control frames"
    yield "pongs", b"\x8a\x80\x00\x00\x00\x00" * (int(CONTROL_BURST) + 1), "control frames"
    mixed = begin + (frame(1, first=0x00) + PING) * FRAGMENTS
    yield "fragments between pings", mixed, "small pieces"
    yield "messages", frame(0) * (int(FRAMES_BURST) + 1), "frames a second"
    yield "binary messages", frame(1, first=0x82) * (int(FRAMES_BURST) + 1), "frames a second"


@pytest.mark.parametrize(
    ("name", "sent", "words"), list(floods()), ids=[one[0] for one in floods()]
)
async def test_a_flood_ends_its_connection_by_name(name: str, sent: bytes, words: str) -> None:
    wire = Wire()
    wire.intake.take(sent)
    await wire.quiet()
    assert len(wire.floods) == 1, name
    assert words in wire.floods[0]
    before = len(wire.parsed)
    wire.intake.take(sent)  # what it goes on to send is forgotten
    assert (len(wire.parsed), wire.intake.waits) == (before, False)


async def test_messages_of_one_who_is_paced_wait_for_their_allowance() -> None:
    wire, many = Wire(paced=True), int(FRAMES_BURST + PACED_PER_S)
    wire.intake.take(frame(1) * many + PING)
    await wire.quiet()
    assert (wire.got, wire.floods) == (frame(1) * many + PING, [])
    assert wire.now == pytest.approx(1.0, abs=0.05)
    assert wire.reads


@pytest.mark.parametrize(
    ("sent", "words"),
    [one[1:] for one in floods() if "messages" not in one[0]],
    ids=[one[0] for one in floods() if "messages" not in one[0]],
)
async def test_whoever_is_paced_floods_with_all_else(sent: bytes, words: str) -> None:
    wire = Wire(paced=True)
    wire.intake.take(sent)
    await wire.quiet()
    assert len(wire.floods) == 1
    assert words in wire.floods[0]


async def test_one_that_stops_while_it_is_paced_is_called_no_more() -> None:
    wire = Wire(paced=True)
    wire.intake.take(frame(1) * int(FRAMES_BURST + 1000))
    while not wire.pauses and wire.intake.waits:
        await asyncio.sleep(0)
    assert wire.pauses
    before = (len(wire.parsed), wire.now)
    wire.intake.stop()
    for _ in range(5):
        await asyncio.sleep(0.001)
    assert (len(wire.parsed), wire.now) == before


async def test_what_may_come_each_second_may_come_for_ever() -> None:
    wire = Wire()
    for second in range(60):
        wire.now = float(second)
        wire.intake.take(PING * int(CONTROL_PER_S))
        wire.intake.take(frame(2) * 100)
        await wire.quiet()
    assert wire.floods == []
    assert FRAMES_PER_S >= 100


@pytest.mark.parametrize(
    ("one", "burst", "per_s"),
    [(frame(0), FRAMES_BURST, FRAMES_PER_S), (PING, CONTROL_BURST, CONTROL_PER_S)],
)
async def test_time_in_which_nothing_was_sent_allows_no_more_than_the_burst(
    one: bytes, burst: float, per_s: float
) -> None:
    wire = Wire()
    wire.now = 64.0
    wire.intake.take(one * int(burst))
    await wire.quiet()
    assert wire.floods == []
    wire.now += 10.5 / per_s
    wire.intake.take(one * 10)
    await wire.quiet()
    assert wire.floods == []
    wire.intake.take(one)
    await wire.quiet()
    assert len(wire.floods) == 1


async def test_a_large_message_may_have_as_many_pieces_as_kilobytes() -> None:
    wire = Wire()
    pieces = [frame(1024, first=0x01), *[frame(1024, first=0x00)] * 2000, frame(1, first=0x80)]
    wire.intake.take(b"".join(pieces))
    await wire.quiet()
    assert (wire.floods, wire.got) == ([], b"".join(pieces))


async def test_only_what_was_left_for_another_turn_has_waited() -> None:
    """Who sends a byte a second and answers no ping is dead, whatever comes."""
    wire = Wire()
    for one in frame(4):
        wire.intake.take(bytes([one]))
        assert not wire.intake.late(1000.0)
        await asyncio.sleep(0)
    wire.intake.take(frame(1) * 10)
    assert wire.intake.late(1000.0)


async def test_who_keeps_sending_and_answers_no_ping_is_excused_for_a_while() -> None:
    wire = Wire(open_=False)
    wire.intake.take(frame(1) * 10)
    assert [wire.intake.late(20.0) for _ in range(EXCUSED + 2)] == [True] * EXCUSED + [False] * 2
    wire.intake.answered()
    assert wire.intake.late(20.0)


async def test_a_peer_whose_message_was_paced_has_waited() -> None:
    """Also one that was all there was: its answer to a ping may be in what the system holds."""
    wire = Wire(paced=True)
    wire.intake.take(frame(1) * int(FRAMES_BURST))
    await wire.quiet()
    wire.intake._waited = float("-inf")
    before = wire.pauses
    wire.intake.take(frame(1))
    assert wire.pauses == before + 1
    await wire.quiet()
    assert wire.intake.late(50.0)
