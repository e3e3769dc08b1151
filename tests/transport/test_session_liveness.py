"""What becomes of one POST over HTTP+SSE, and what of that says that the session takes no other."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.transport.http_client import (
    CannotDial,
    CannotReach,
    ConnectionBroken,
    Posted,
    TimedOut,
    UpstreamError,
)
from gatewright.transport.posted_messages import INITIALIZED, MEANS_NOTHING
from gatewright.transport.refusals import ONE_TROUBLE_S
from gatewright.transport.session_liveness import UNREACHED_S, WORKS_S, Asked, SessionLiveness
from tests.transport.sse_peers import call

REFUSED = CannotReach("refused", not_sent=True)
NO_SOCKET = CannotDial("too many open files", not_sent=True)
BROKEN = ConnectionBroken("closed", not_sent=False)


class Server:
    """Answers a probe with this."""

    def __init__(self, answer: int | UpstreamError) -> None:
        self.answer = answer
        self.connects = False
        self.works_s = -1.0
        """How long it works on a message, less than 0 for none."""
        self.probed = 0
        self.answers = asyncio.Event()
        self.answers.set()
        asked = Asked(self._probe, lambda: self.connects, lambda for_s: self.works_s >= for_s)
        self.liveness = SessionLiveness(asked)

    def has_trouble(self, for_s: float) -> None:
        """Everything is refused for so long."""
        for one in (self.liveness._unreached, self.liveness._unavailable):
            one.again()
            assert one._since is not None
            one._since -= for_s

    async def is_over(self, trouble: str) -> bool:
        """Whether one more refusal ends it."""
        if trouble == "unavailable":
            return await self.liveness.unavailable()
        return await self.liveness.unreached(REFUSED)

    async def _probe(self) -> Posted:
        self.probed += 1
        await self.answers.wait()
        if isinstance(self.answer, int):
            return Posted(self.answer, {}, b"")
        raise self.answer


def test_a_post_that_was_there_before_connections_are_refused_for_long_is_one_that_works() -> None:
    assert WORKS_S < UNREACHED_S


@pytest.mark.parametrize(
    ("status", "answer", "over", "probed"),
    [
        *((status, answer, True, 1) for status in (401, 404, 410) for answer in (401, 404, 410)),
        *((status, answer, True, 1) for status in (401, 404, 410) for answer in (REFUSED, BROKEN)),
        *((status, answer, False, 1) for status in (401, 404, 410) for answer in (202, 400)),
        *((status, status, False, 0) for status in (413, 414, 415, 422, 425, 429, 431)),
        *((status, status, False, 0) for status in (502, 503, 504, 524)),
        (403, 403, True, 1),
        (403, 404, True, 1),
        (403, 202, False, 1),
        (400, 413, False, 1),
        (500, REFUSED, False, 1),
        (500, BROKEN, False, 1),
    ],
)
async def test_a_status_is_of_one_message_of_all_or_probed(
    status: int, answer: int | UpstreamError, over: bool, probed: int
) -> None:
    server = Server(answer)
    assert await server.liveness.refuses_all(call(17), status) is over
    assert server.probed == probed


async def test_a_notification_that_is_refused_is_not_probed_and_one_ends_the_session() -> None:
    server = Server(403)
    assert not await server.liveness.refuses_all(MEANS_NOTHING, 403)
    assert await server.liveness.refuses_all(INITIALIZED + b"}", 403)
    assert server.probed == 0


@pytest.mark.parametrize("trouble", ["unavailable", "unreached"])
@pytest.mark.parametrize(
    ("answer", "over"),
    [(503, True), (502, True), (REFUSED, True), (202, False), (404, False), (NO_SOCKET, False), (BROKEN, False)],
)  # fmt: skip
async def test_who_is_unavailable_or_not_reached_for_long_is_probed(
    trouble: str, answer: int | UpstreamError, over: bool
) -> None:
    server = Server(answer)
    server.has_trouble(60.0)
    assert (await server.is_over(trouble), server.probed) == (over, 1)


@pytest.mark.parametrize(
    ("answer", "again"), [(202, 1), (BROKEN, 1), (NO_SOCKET, 2)], ids=["taken", "broken", "none"]
)
async def test_a_probe_that_got_through_ends_the_trouble_and_one_that_says_nothing_does_not(
    answer: int | UpstreamError, again: int
) -> None:
    for trouble in ("unavailable", "unreached"):
        server = Server(answer)
        server.has_trouble(60.0)
        assert not await server.is_over(trouble)
        assert not await server.is_over(trouble)
        assert server.probed == again


@pytest.mark.parametrize("trouble", ["unavailable", "unreached"])
async def test_nothing_is_probed_for_trouble_of_a_moment(trouble: str) -> None:
    server = Server(503)
    server.has_trouble(8.0)
    assert not await server.is_over(trouble)
    assert server.probed == 0


async def test_only_a_refused_connection_counts_as_one() -> None:
    server = Server(REFUSED)
    server.has_trouble(60.0)
    for problem in (NO_SOCKET, BROKEN, TimedOut("late", not_sent=False)):
        assert not await server.liveness.unreached(problem)
    assert server.probed == 0


@pytest.mark.parametrize(
    ("trouble", "works_s", "connects", "over"),
    [
        ("unreached", WORKS_S, False, False),
        ("unreached", WORKS_S - 1.0, False, True),
        ("unreached", -1.0, True, False),
        ("unavailable", 61.0, False, False),
        ("unavailable", 59.0, False, True),
        ("unavailable", -1.0, True, True),
    ],
)
async def test_a_server_that_works_on_some_messages_is_not_ended_by_those_that_it_refuses(
    trouble: str, works_s: float, connects: bool, over: bool
) -> None:
    server = Server(REFUSED)
    server.works_s, server.connects = works_s, connects
    server.has_trouble(60.0)
    assert await server.is_over(trouble) is over
    assert server.probed == over


@pytest.mark.parametrize("trouble", ["unavailable", "unreached"])
async def test_one_call_that_never_ends_hides_no_server_that_is_gone_for_ever(
    trouble: str,
) -> None:
    server = Server(REFUSED)
    server.works_s, server.connects = 3600.0, True
    server.has_trouble(ONE_TROUBLE_S + 1.0)
    assert await server.is_over(trouble)


@pytest.mark.parametrize(
    ("said", "unreached", "unavailable"),
    [(None, True, True), (202, False, False), (413, False, True), (500, False, True), (503, False, True)],
)  # fmt: skip
@pytest.mark.parametrize("trouble", ["unavailable", "unreached"])
async def test_what_got_through_ends_the_trouble(
    trouble: str, said: int | None, unreached: bool, unavailable: bool
) -> None:
    """One caller's messages that a proxy refuses for what they are hid from all that the server was away."""
    server = Server(503)
    server.has_trouble(60.0)
    if said is not None:
        server.liveness.answered(said)
    assert await server.is_over(trouble) is (unreached if trouble == "unreached" else unavailable)


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("trouble", ["unavailable", "unreached"])
async def test_what_gets_through_while_a_probe_is_made_counts(trouble: str, heard: bool) -> None:
    server = Server(REFUSED)
    server.has_trouble(60.0)
    server.answers.clear()
    over = asyncio.ensure_future(server.is_over(trouble))
    await asyncio.sleep(0)
    if heard:
        server.liveness.got_through()
    server.answers.set()
    assert await over is not heard


@pytest.mark.parametrize(("for_s", "over"), [(60.0, False), (ONE_TROUBLE_S + 1.0, True)])
@pytest.mark.parametrize("trouble", ["unavailable", "unreached"])
async def test_a_probe_that_nobody_answers_says_only_after_long_that_nothing_is_taken(
    trouble: str, for_s: float, over: bool
) -> None:
    server = Server(TimedOut("late", not_sent=False))
    server.has_trouble(for_s)
    assert await server.is_over(trouble) is over
    assert server.liveness._unreached.last(for_s)


async def test_one_callers_messages_that_are_refused_keep_nobody_from_being_heard() -> None:
    """Two of them at a time, and each of the others' refusals was taken for one that is looked into."""
    server = Server(403)
    server.has_trouble(60.0)
    server.answers.clear()
    probing = [asyncio.ensure_future(server.liveness.refuses_all(call(17), 403)) for _ in range(2)]
    await asyncio.sleep(0)
    over = asyncio.ensure_future(server.liveness.unavailable())
    await asyncio.sleep(0)
    server.answer = 503
    server.answers.set()
    assert await over
    assert await asyncio.gather(*probing) == [False, False]


async def test_one_probe_of_a_kind_is_made_at_a_time() -> None:
    server = Server(503)
    server.has_trouble(60.0)
    server.answers.clear()
    first = asyncio.ensure_future(server.liveness.unavailable())
    await asyncio.sleep(0)
    assert not await server.liveness.unavailable()
    assert not await server.liveness.unreached(REFUSED)
    server.answers.set()
    assert await first
    assert server.probed == 1


async def test_calls_that_are_refused_at_once_make_few_probes() -> None:
    server = Server(403)
    server.answers.clear()
    all_ = [asyncio.ensure_future(server.liveness.refuses_all(call(17), 403)) for _ in range(20)]
    await asyncio.sleep(0)
    server.answers.set()
    assert sum(await asyncio.gather(*all_)) == server.probed == 2
