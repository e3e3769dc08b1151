"""Envelopes as texts: total, and never two readings of one text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcpx.envelope import (
    Envelope,
    Flaw,
    Kind,
    compose,
    is_participant_id,
    is_reserved,
    is_topic,
    read,
    split_kind,
    text_of,
)

GOOD = {"protocol": "mcpx/v0.1", "id": "1", "from": "a", "kind": "chat", "payload": {"text": "x"}}


def test_an_envelope_is_read_and_its_text_kept() -> None:
    """MCPX-8.1-5."""
    more = {"to": ["b"], "correlation_id": "c", "ts": "2025-08-26T14:00:00Z", "x": 1}
    text = json.dumps({**GOOD, **more}).encode()
    assert read(text) == Envelope(
        id="1",
        sender="a",
        kind="chat",
        to=("b",),
        correlation_id="c",
        ts="2025-08-26T14:00:00Z",
        payload=b'{"text": "x"}',
        text=text,
    )


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("chat", Kind("chat")),
        ("mcp/request:tools/call", Kind("mcp/request", "tools/call")),
        (
            "mcp/request:resources/read:file:///a:b",
            Kind("mcp/request", "resources/read", "file:///a:b"),
        ),
        ("mcp/request:", Kind("mcp/request", "")),
    ],
)
def test_a_kind_is_split_at_its_first_two_colons(kind: str, parts: Kind) -> None:
    """MCPX-3.1-2."""
    assert split_kind(kind) == parts


def test_what_only_the_gateway_says_is_known_in_every_spelling() -> None:
    """MCPX-4.1-8, decision C-21."""
    for kind in ("system", "system/x", "system/welcome", "system:x", "systemd", "presence"):
        assert is_reserved(kind)
    for kind in ("chat", "mcp/request:system/x", "mcp/system", "my/presence", "System/x"):
        assert not is_reserved(kind)


def test_names_of_participants_and_topics() -> None:
    for name in ("a", "user-alice", "Zoë Ä", "a:b", "x" * 128):
        assert is_participant_id(name)
        assert is_topic(name)
    for name in ("", " a", "a\n", "x" * 129, "a\u202eb"):
        assert not is_participant_id(name)
        assert not is_topic(name)
    assert not is_participant_id("system:gateway")
    assert not is_participant_id("system")
    assert not is_participant_id("*")


def test_what_we_write_we_read() -> None:
    text = compose(
        id="i", ts=None, sender='s"', kind="k", payload=b"{}", to=["a", "b"], correlation_id="c"
    )
    found = read(text)
    assert isinstance(found, Envelope)
    assert (found.sender, found.to, found.correlation_id) == ('s"', ("a", "b"), "c")
    assert text_of("ü") == '"ü"'.encode()
    assert list(json.loads(text)) == [
        "protocol",
        "id",
        "from",
        "to",
        "kind",
        "correlation_id",
        "payload",
    ]


def test_half_a_surrogate_pair_is_the_senders_affair_inside_the_payload_alone() -> None:
    """MCPX-2.2-1: JavaScript writes such escapes for a string that was cut."""
    text = json.dumps(GOOD).replace('"x"', '"\\ud83d \\\\ud83d \\ud83d\\ude00"').encode()
    found = read(text)
    assert isinstance(found, Envelope)
    assert found.text == text
    assert json.loads(found.payload) == {"text": "\ufffd \\ud83d \U0001f600"}
    for where in ('"chat"', '"1"', '"a"'):
        spoilt = text.decode().replace(where, where[:-1] + '\\udc00"').encode()
        assert isinstance(read(spoilt), Flaw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.binary() | JSON.map(lambda one: json.dumps(one).encode()))
def test_reading_is_total(data: bytes) -> None:
    """MCPX-8.2-1."""
    assert isinstance(read(data), (Envelope, Flaw))


@given(JSON, st.sampled_from(["protocol", "id", "from", "kind", "payload", "ts", "to"]))
def test_one_wrong_member_is_a_flaw_or_as_json_has_it(value: object, name: str) -> None:
    envelope = {**GOOD, name: value}
    found = read(json.dumps(envelope).encode())
    if isinstance(found, Envelope):
        assert {
            "id": found.id,
            "from": found.sender,
            "kind": found.kind,
        }.items() <= envelope.items()
    else:
        assert found.error in ("invalid_envelope", "protocol_version_mismatch")


@given(st.sampled_from(sorted(GOOD)), st.sampled_from(sorted(GOOD)), st.booleans())
def test_a_member_that_stands_twice_is_never_an_envelope(
    first: str, again: str, hide: bool
) -> None:
    """MCPX-4.2-1."""
    spelled = f"\\u{ord(again[0]):04x}{again[1:]}" if hide else again
    text = json.dumps(GOOD)[:-1] + f',"{spelled}":{json.dumps(GOOD[again])}}}'
    assert read(text.encode()) == Flaw("invalid_envelope", f"{again} stands twice", "1")
    assert first in GOOD


def test_a_name_in_to_is_as_long_as_a_participants_may_be() -> None:
    def judged(name: str) -> Envelope | Flaw:
        return read(json.dumps({**GOOD, "to": ["b", name]}).encode())

    assert isinstance(judged("x" * 128), Envelope)
    said = "a participant id in to has at most 128 characters"
    assert judged("x" * 129) == Flaw("invalid_envelope", said, "1")
