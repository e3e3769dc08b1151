"""The sentence of a search: typed, as a URL, as a command."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gatewright.audit.search_index import FACTS
from gatewright.console import audit_query
from gatewright.console.audit_query import (
    NAMES,
    AuditQuery,
    added,
    chips,
    command_of,
    recorded,
    url_of,
    wanted_of,
)
from gatewright.console.operations import ApiError, read
from tests.costs import DOUBLED, grows, lines_run


@pytest.mark.parametrize(
    ("typed", "name", "value"),
    [
        ("agent:ann", "agent", "ann"),
        ("denied", "outcome", "denied"),
        ("0" * 32, "trace", "0" * 32),
        ("read_note", "tool", "read_note"),
        ("since:2h", "since", "2h"),
        ("rule:a:b", "rule", "a:b"),
        ("ünder:x", "tool", "ünder:x"),
    ],
)
def test_what_is_typed_becomes_a_chip(typed: str, name: str, value: str) -> None:
    query = added(AuditQuery(add=typed, before=7))
    assert [(one.name, one.value, one.url) for one in chips(query)] == [(name, value, "/audit")]
    assert query.before == 0


def test_a_name_that_nothing_is_found_by_is_an_error_that_lists_those_that_are() -> None:
    with pytest.raises(ApiError) as caught:
        added(AuditQuery(add="agnet:ann"))
    assert caught.value.status == 422
    assert "agent" in caught.value.hint


def test_a_url_has_everything_and_is_read_back() -> None:
    said = {name: f"<{name}>&=#" for name in NAMES}
    query = AuditQuery(**said, before=9)  # type: ignore[arg-type]
    url = url_of(query)
    back = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert read(AuditQuery, back, texts=True) == query
    assert len(chips(query)) == len(NAMES)


def test_times_are_read_and_nonsense_is_refused() -> None:
    wanted = wanted_of(AuditQuery(since="10s", until="2030-01-01T00:00:00Z", tool="x"), 100.0)
    assert (wanted.since, wanted.until, wanted.facts) == (90_000, 1893456000_000, {"tool": "x"})
    assert recorded(90_250) == "1970-01-01T00:01:30.250Z"
    with pytest.raises(ApiError):
        wanted_of(AuditQuery(since="soon"), 0.0)


def test_the_command_is_quoted_for_a_shell() -> None:
    command = command_of(AuditQuery(agent="a'; b", kind="X"))
    assert command.endswith("""audit query --agent='a'"'"'; b' --event=X""")
    assert command_of(AuditQuery(trace="t")).endswith("audit show t")


def _everything(text: str) -> None:
    """All that is made of what stands in a URL."""
    said: dict[str, Any] = dict.fromkeys(FACTS, text)
    query = added(AuditQuery(**said, add=f"agent:{text}"))
    chips(query)
    command_of(query)
    command_of(query, "export")
    wanted_of(query, 0.0)
    with suppress(ApiError):
        wanted_of(AuditQuery(since=text), 0.0)
    with suppress(ApiError):
        added(AuditQuery(add=f"{text}:x"))


@pytest.mark.parametrize("piece", ["a", "0", ":", "'", "\u202e", " ", "7d", "\n", "0" * 31 + "g"])
def test_the_work_grows_with_what_stands_in_a_url(piece: str) -> None:
    """Counted: no line is run for a character. What built-in functions do with one is compared."""
    small, large = piece * (1_000 // len(piece)), piece * (4_000 // len(piece))
    assert lines_run(audit_query, lambda: _everything(small)) == lines_run(
        audit_query, lambda: _everything(large)
    )
    assert grows(lambda: _everything(small), lambda: _everything(large)) <= DOUBLED**2


def test_a_url_has_bounded_members() -> None:
    with pytest.raises(ApiError):
        read(AuditQuery, {"agent": "x" * 2049}, texts=True)
