"""What follows from the headers of a request, and that it follows from nothing else."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gatewright.mcp.server.http_headers import HttpHeaders, headers_of
from gatewright.mcp.server.http_responses import Whole
from gatewright.transport.http_head import KnownHead

JSON = (b"content-type", b"application/json")
BOTH = (b"accept", b"application/json, text/event-stream")


def test_what_is_not_said_is_empty() -> None:
    none = HttpHeaders(())
    assert (none.credential, none.session, none.version, none.text(b"x")) == (None, None, "", "")
    assert (none.modern, none.legacy, none.reads_streams) == (False, False, False)
    assert none.flaw == (415, "a message is sent as application/json")


@pytest.mark.parametrize(
    ("version", "eras"),
    [
        (b"2026-07-28", (True, False)),
        (b"2025-06-18", (False, True)),
        (b"2025-06-18 ", (False, False)),
        (b"1999-01-01", (False, False)),
    ],
)
def test_a_version_belongs_to_one_era_or_to_none(version: bytes, eras: tuple[bool, bool]) -> None:
    said = HttpHeaders([(b"mcp-protocol-version", version)])
    assert (said.modern, said.legacy) == eras


@pytest.mark.parametrize(
    ("agent", "small"),
    [
        (b"python-httpx2/2.16.2", True),
        (b"python-httpx/0.28.1", False),
        (b"x python-httpx2/2", False),
        (b"node", False),
    ],
)
def test_who_gives_up_on_large_events_is_known_by_its_reader(agent: bytes, small: bool) -> None:
    assert HttpHeaders([(b"user-agent", agent)]).small_events is small
    assert HttpHeaders(()).small_events is False


def test_of_several_the_last_stands() -> None:
    said = HttpHeaders([(b"mcp-session-id", b"1"), (b"mcp-session-id", b"2")])
    assert said.session == "2"
    assert said.duplicated() is None


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ([BOTH, JSON], None),
        ([BOTH, (b"content-type", b"text/plain")], 415),
        ([BOTH], 415),  # a browser asks nobody before it sends such a request for a foreign page
        ([JSON, (b"accept", b"text/html")], 406),
        ([JSON, (b"accept", b"text/event-stream")], None),
        ([JSON, (b"accept", b"application/json"), (b"accept", b"text/html")], None),
        ([JSON, (b"accept", b"text/plain"), (b"accept", b"text/html")], 406),
    ],
)
def test_who_cannot_be_answered_has_a_flaw(raw: Any, status: int | None) -> None:
    flaw = HttpHeaders(raw).flaw
    assert (None if flaw is None else flaw[0]) == status


def test_headers_of_a_head_that_comes_again_are_read_once() -> None:
    class Exchange:
        head: KnownHead | None = KnownHead(
            b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
            b"0",
            {"headers": [(b"content-length", b"0")]},
        )

    scope = {"headers": [BOTH]}
    exchange = Exchange()
    known = cast("Whole", exchange)
    first = headers_of(scope, known)
    assert headers_of(scope, known) is first
    assert first.reads_streams
    exchange.head = None
    assert headers_of(scope, known) is not first
    assert headers_of(scope, None) is not first


def test_a_routing_header_that_stands_twice_is_found_among_thousands() -> None:
    many = [(b"x-%x" % one, b"") for one in range(5000)]
    twice = [(b"accept", b"*/*")] * 2
    assert HttpHeaders([*many, *twice]).duplicated() is None
    for name in (b"mcp-name", b"mcp-method", b"mcp-param-x"):
        raw = [*many, (name, b"a"), *twice, *many, (name, b"a")]
        assert HttpHeaders(raw).duplicated() == f"{name.decode()} appears more than once"


def test_to_look_for_headers_that_stand_twice_looks_at_each_a_few_times() -> None:
    """Counted: in time, a set of so many names grows in steps, by what the system takes to give it memory."""

    class Name(bytes):
        looked = 0

        def __eq__(self, other: object) -> bool:
            Name.looked += 1
            return bytes.__eq__(self, other)

        def __hash__(self) -> int:
            Name.looked += 1
            return bytes.__hash__(self)

    many = [(Name(b"x-%x" % one), b"") for one in range(5000)]
    headers = HttpHeaders([*many, *[(Name(b"accept"), b"*/*")] * 2])
    assert headers.duplicated() is None
    assert Name.looked < 10 * len(many)
