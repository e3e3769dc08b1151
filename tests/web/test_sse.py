from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.web.sse import EventTooLarge, SseEvent, SseParser, encode, encode_comment

LIMIT = 1 << 20


def parse(stream: bytes, limit: int = LIMIT) -> list[SseEvent]:
    return SseParser(limit).feed(stream)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(stream) + 1) for place in places}), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


def read_in_pieces(pieces: list[bytes], limit: int) -> tuple[list[SseEvent], bool, str, int | None]:
    """What a stream says: its events, whether it broke the limit, its last id and retry time."""
    parser = SseParser(limit)
    events: list[SseEvent] = []
    try:
        for piece in [*pieces, b""]:
            events += parser.feed(piece)
    except EventTooLarge:
        return events, True, "", None
    return events, False, parser.last_event_id, parser.retry_ms


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_all_three_line_ends_end_a_line(end: bytes) -> None:
    stream = end.join([b"event: tick", b"data: one", b"data: two", b"id: 7", b"", b""])
    assert parse(stream) == [SseEvent(b"one\ntwo", "tick", "7")]


def test_a_carriage_return_alone_completes_an_event_without_waiting_for_more() -> None:
    parser = SseParser(LIMIT)
    assert parser.feed(b"data: a\r\r") == [SseEvent(b"a")]
    assert parser.feed(b"\ndata: b\r\n\r\n") == [SseEvent(b"b")]


def test_one_leading_byte_order_mark_is_dropped_even_in_pieces() -> None:
    parser = SseParser(LIMIT)
    assert parser.feed(b"\xef") == []
    assert parser.feed(b"\xbb") == []
    assert parser.feed(b"\xbfdata: a\n\n") == [SseEvent(b"a")]
    assert parse(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n") == [SseEvent(b"b")]


def test_what_only_looks_like_a_byte_order_mark_is_kept() -> None:
    assert parse(b"\xef\xbb: x\ndata: a\n\n") == [SseEvent(b"a")]


def test_comments_unknown_fields_and_fields_without_a_colon_are_ignored() -> None:
    assert parse(b": hi\nnonsense\nfoo: bar\ndata: a\n:\n\n") == [SseEvent(b"a")]


def test_only_one_space_after_the_colon_is_taken_away() -> None:
    assert parse(b"data:  a \n\ndata:b\n\ndata\n\n") == [
        SseEvent(b" a "),
        SseEvent(b"b"),
        SseEvent(b""),
    ]


def test_an_event_without_data_sets_the_id_and_is_not_delivered() -> None:
    parser = SseParser(LIMIT)
    assert parser.feed(b"id: 5\nevent: x\n\n") == []
    assert parser.last_event_id == "5"
    assert parser.feed(b"data: a\n\n") == [SseEvent(b"a", "message", "5")]


def test_an_id_counts_only_when_its_event_is_complete() -> None:
    parser = SseParser(LIMIT)
    parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert parser.last_event_id == "1"


def test_an_id_with_a_nul_or_beyond_a_kibibyte_is_ignored() -> None:
    stream = b"id: ok\ndata: a\n\nid: a\0b\ndata: b\n\nid: " + b"x" * 1025 + b"\ndata: c\n\n"
    assert [event.id for event in parse(stream)] == ["ok", "ok", "ok"]


def test_an_empty_id_resets_the_last_event_id() -> None:
    assert [event.id for event in parse(b"id: 1\ndata: a\n\nid\ndata: b\n\n")] == ["1", ""]


@pytest.mark.parametrize("value", [b"1.5", b"-1", b"1e3", b"", b"\xd9\xa3", b"1" * 5000])
def test_a_retry_time_that_is_not_a_few_digits_is_ignored(value: bytes) -> None:
    parser = SseParser(LIMIT)
    parser.feed(b"retry: 250\nretry: " + value + b"\n")
    assert parser.retry_ms == 250


def test_data_that_is_not_utf8_passes_unrepaired() -> None:
    assert parse(b"data: \xff\xfe\n\n") == [SseEvent(b"\xff\xfe")]


def test_an_event_over_the_limit_is_refused_whatever_its_shape() -> None:
    for stream in (b"data: " + b"x" * 200, b"data: x\n" * 100, b": " + b"x" * 200 + b"\n"):
        parser = SseParser(100)
        with pytest.raises(EventTooLarge, match="longer than 100 bytes"):
            parser.feed(stream)
        with pytest.raises(EventTooLarge):
            parser.feed(b"\n\ndata: a\n\n")


@pytest.mark.parametrize(
    ("event", "ident"),
    [
        (b"id: e7\ndata: " + b"x" * 200, "e7"),
        (b"data: " + b"x" * 200 + b"\nid: e7", ""),
        (b"data: " + b"x" * 200, ""),
        (b"id: e6\ndata: " + b"x" * 200, ""),
    ],
)
def test_what_is_too_long_is_named_where_its_id_came_before_it(event: bytes, ident: str) -> None:
    parser = SseParser(100)
    assert parser.feed(b"id: e6\ndata: a\n\n" + event) == [SseEvent(b"a", id="e6")]
    with pytest.raises(EventTooLarge) as caught:
        parser.feed(b"")
    assert (caught.value.id, caught.value.begins[:3]) == (ident, b"xxx")


def test_many_small_events_are_not_one_large_one() -> None:
    assert len(parse(b"data: 12345\n\n" * 1000, limit=20)) == 1000


def test_events_before_the_one_over_the_limit_are_delivered_first() -> None:
    parser = SseParser(100)
    assert parser.feed(b"data: a\n\ndata: " + b"x" * 200) == [SseEvent(b"a")]
    with pytest.raises(EventTooLarge):
        parser.feed(b"")


def test_a_large_event_in_small_pieces_comes_out_whole() -> None:
    data = b"x" * (1 << 20)
    stream = b"data: " + data + b"\n\n"
    parser = SseParser(1 << 21)
    events = [
        event
        for start in range(0, len(stream), 4096)
        for event in parser.feed(stream[start : start + 4096])
    ]
    assert events == [SseEvent(data)]


fragments = st.lists(
    st.sampled_from(
        [
            b"data: {}",
            b"data",
            b"id: 1",
            b"id:",
            b"id: \0",
            b"event: x",
            b"retry: 10",
            b": c",
            b"data:" + b"y" * 40,
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"\r\r",
            b"\xef\xbb\xbf",
            b"\xff",
        ]
    ),
    max_size=40,
).map(b"".join)


@given(fragments | st.binary(max_size=200), st.lists(st.integers(0, 5000), max_size=30))
def test_the_same_stream_says_the_same_however_it_is_cut(stream: bytes, places: list[int]) -> None:
    for limit in (LIMIT, 60):
        assert read_in_pieces(cut(stream, places), limit) == read_in_pieces([stream], limit)


one_line = st.text(
    st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=30
)


@given(
    st.lists(
        st.tuples(st.binary(max_size=60), one_line, one_line, st.integers(0, 999_999_999)),
        max_size=5,
    ),
    st.lists(st.integers(0, 5000), max_size=30),
)
def test_what_was_encoded_is_what_is_parsed(
    sent: list[tuple[bytes, str, str, int]], places: list[int]
) -> None:
    stream = b"".join(
        encode(data, event=event, id=event_id, retry=retry) + encode_comment(event)
        for data, event, event_id, retry in sent
    )
    expected = [
        SseEvent(re.sub(rb"\r\n|\r", b"\n", data), event or "message", event_id)
        for data, event, event_id, _ in sent
    ]
    events, broken, last_id, retry = read_in_pieces(cut(stream, places), LIMIT)
    assert (events, broken) == (expected, False)
    assert last_id == (sent[-1][2] if sent else "")
    assert retry == (sent[-1][3] if sent else None)


def test_a_plain_message_is_two_lines_on_the_wire() -> None:
    assert encode(b'{"a":1}') == b'data: {"a":1}\n\n'


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\r\ndata: x", "a\0b"])
def test_nothing_can_be_injected_through_event_id_or_comment(bad: str) -> None:
    with pytest.raises(ValueError, match="must be one line"):
        encode(b"", event=bad)
    with pytest.raises(ValueError, match="must be one line"):
        encode(b"", id=bad)
    with pytest.raises(ValueError, match="must be one line"):
        encode_comment(bad)


def test_a_negative_retry_time_is_refused() -> None:
    with pytest.raises(ValueError, match="milliseconds"):
        encode(b"", retry=-1)


def test_a_comment_between_events_delivers_nothing() -> None:
    assert parse(b"data: a\n\n" + encode_comment("still here") + b"data: b\n\n") == [
        SseEvent(b"a"),
        SseEvent(b"b"),
    ]


def test_an_event_of_many_lines_is_put_together_as_they_come() -> None:
    parser = SseParser(1 << 20)
    for _ in range(1000):
        assert parser.feed(b"data: a\n") == []
    assert parser._data == b"\n".join([b"a"] * 1000)
    assert parser.feed(b"\ndata: one\n\n") == [
        SseEvent(b"\n".join([b"a"] * 1000)),
        SseEvent(b"one"),
    ]


@pytest.mark.parametrize("step", [1, 3, 10, 64, 10_000])
@pytest.mark.parametrize("line", [b"-" * 500, b"-\ndata:" * 100])
def test_how_an_event_that_is_too_long_begins_is_told(step: int, line: bytes) -> None:
    text = b'data: {"id":1}' + line
    parser = SseParser(100)

    def feed_all() -> None:
        for at in range(0, len(text), step):
            parser.feed(text[at : at + step])

    with pytest.raises(EventTooLarge) as caught:
        feed_all()
    assert caught.value.begins.startswith(b'{"id":1}')
