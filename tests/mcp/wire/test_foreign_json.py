"""The estimate is never too low, and what is counted while it is found is counted right."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import foreign_json, jsonrpc
from gatewright.mcp.wire.foreign_json import (
    MOST_MEMBERS,
    Num,
    TooMuch,
    check,
    decode,
    decode_members,
    decode_whole,
    elements,
    encode,
    entries,
    first,
    heavy,
    members_named,
    names,
)
from gatewright.mcp.wire.json_bounds import Limits, flaw_of
from gatewright.transport.slices import whole

MIB = 1024 * 1024


def filled(unit: bytes, size: int = MIB) -> bytes:
    return b"[" + (unit + b",") * (size // (len(unit) + 1)) + b"1]"


def padded(text: bytes) -> bytes:
    """The same value in a text that is not short."""
    return text + b" " * 70_000


@pytest.mark.parametrize(
    "unit", [b"1e1", b"8.5e-324", b"[]", b"0.12345678901234567890123", b"1.50"]
)
def test_what_takes_too_long_is_refused_by_name(unit: bytes) -> None:
    text = filled(unit)
    with pytest.raises(TooMuch, match="has more values than are read at once"):
        decode(text)
    assert "1048" in heavy(text)


def embedding(count: int, spelled: str) -> bytes:
    source = random.Random(7)
    return json.dumps({"x": [float(spelled % source.gauss(0, 1)) for _ in range(count)]}).encode()


@pytest.mark.parametrize(
    "text",
    [
        embedding(50_000, "%.17g"),
        embedding(50_000, "%.6f"),
        b"[" + b"1.50," * 49_000 + b"1]",
        b"[" + b"0.100000," * 49_000 + b"1]",
        filled(b'{"id":1,"name":"abc"}', MIB - 100),
        filled(b"1", MIB),
        b'"' + b"abc, def: {ghi} [jkl]. " * 40_000 + b'"',
        b'"' + b'{\\"a\\":[1.5e1,{\\"b\\":[]}]},' * 30_000 + b'"',
        b'{"data":"' + b"QWxhZGRpbjpvcGVuIHNlc2FtZQ0e9E1" * 300_000 + b'"}',
        b'"' + b"9" * 1_000_000 + b'"',
    ],
    ids=["embedding", "rounded", "prices", "zeros", "rows", "numbers", "prose", "JSON in a text", "base64", "digits"],
)  # fmt: skip
def test_honest_large_things_are_read(text: bytes) -> None:
    assert heavy(text) == ""
    assert decode(text) == json.loads(text)


def test_a_short_text_takes_little_whatever_it_is() -> None:
    for unit in (b"1e1", b"8.5e-324", b"[]", b"{}", b'{"":1}', b"9" * 4000, b"0." + b"1" * 30):
        text = filled(unit, 8000)
        assert heavy(text) == ""
        assert decode(text) == decode_whole(text)


@given(st.binary(min_size=1, max_size=12))
def test_params_that_are_accepted_can_be_decoded(unit: bytes) -> None:
    """`flaw_of` and `decode` do not contradict each other, whatever is repeated, at each side of their thresholds."""
    for size in (9_000, 60_000, 70_000):
        text = b'{"x":' + filled(unit, size) + b"}"
        if not flaw_of(text, Limits()):
            try:
                decode(text)
            except TooMuch as problem:
                pytest.fail(str(problem))
            except ValueError:
                continue


@pytest.mark.parametrize(
    "unit", [b"1e1", b"8.5e-324", b"[]", b"1.1e1", b"0.12345678901234567890123"]
)
def test_params_that_are_not_looked_at_twice_can_be_decoded(unit: bytes) -> None:
    assert heavy(filled(unit, 64 * 1024)) == ""


WHATEVER = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(WHATEVER)
def test_values_are_those_of_the_text(value: Any) -> None:
    text = json.dumps(value).encode()
    assert decode(text) == decode(padded(text)) == decode_whole(text) == value
    check(text)


@given(st.dictionaries(st.text(), st.integers()))
def test_members_are_the_same_in_short_and_long_texts(value: dict[str, int]) -> None:
    text = json.dumps(value).encode()
    found = {name: int(bytes(one)) for name, one in decode_members(text).items()}
    again = {name: int(bytes(one)) for name, one in decode_members(padded(text)).items()}
    assert found == again == value
    assert sorted(names(text, 1000)) == sorted(value)


@given(st.lists(st.dictionaries(st.text(), st.integers(), max_size=2), max_size=20))
def test_elements_are_the_same_in_short_and_long_texts(value: list[dict[str, int]]) -> None:
    text = json.dumps(value).encode()
    for one in (text, padded(text)):
        assert [json.loads(bytes(each)) for each in elements(one, 20)] == value
        assert [json.loads(bytes(each)) for each in whole(entries(one, 20))] == value
    head = first(text)
    assert (None if head is None else json.loads(bytes(head))) == (value[0] if value else None)


def test_numbers_keep_their_text() -> None:
    text = b"[1.50,1e1,0.1,1e400,-0.0,1.0,5.8e-05,1E5,100000.0,0.00001]"
    found = decode(text)
    assert encode(found) == b"[1.50,1e1,0.1,1e400,-0.0,1.0,0.00001,1E5,100000.0,0.00001]".replace(
        b"-0.0,1.0,0.00001", b"-0.0,1.0," + encode(found[6])
    )
    assert [type(one) is Num for one in found[:6]] == [True, True, False, True, False, False]
    assert found[6] == 5.8e-05


def test_one_member_too_many_ends_the_reading() -> None:
    text = b"{" + b",".join(b'"%d":1' % number for number in range(MOST_MEMBERS)) + b"}"
    assert len(decode_members(text)) == MOST_MEMBERS
    with pytest.raises(TooMuch, match="more than 10000 members"):
        decode_members(text[:-1] + b',"a":1}')
    with pytest.raises(TooMuch, match="more than 2 members"):
        names(b'{"a":1,"a":2,"a":3}', 2)
    assert names(b'{"a":1,"\\u0061":{"b":1},"c":[{"a":1}]}', 3) == ["a", "a", "c"]


def test_the_key_that_the_decoder_knows_is_one_like_the_others() -> None:
    found = decode_members(padded(b'{"\\u0000":1,"a":2}'))
    assert found == {"\0": msgspec.Raw(b"1"), "a": msgspec.Raw(b"2")}
    assert all(type(one) is str for one in found)


def test_one_element_too_many_ends_the_reading() -> None:
    for text in (b"[1,2,3]", padded(b"[1,2,3]")):
        assert len(elements(text, 3)) == 3
        with pytest.raises(TooMuch, match="more than 2 elements"):
            elements(text, 2)
    with pytest.raises(TooMuch, match="more than 2 entries"):
        whole(entries(b"[{},{},{}]", 2))
    with pytest.raises(TooMuch):
        elements(filled(b"1"), 1000)


@pytest.mark.parametrize("text", [b"", b"{", b"[1,", b"nul", b'{"a":1}x', b"[" * 5000, b'"\\x"'])
def test_what_is_no_json_is_an_error_in_every_way_to_read_it(text: bytes) -> None:
    for read in (
        decode,
        decode_whole,
        decode_members,
        check,
        first,
        lambda one: names(one, 9),
        lambda one: elements(one, 9),
        lambda one: whole(entries(one, 9)),
        lambda one: members_named(one, "a"),
    ):
        for one in (text, padded(text)):
            with pytest.raises(ValueError, match=r".") as problem:
                read(one)
            assert not isinstance(problem.value, TooMuch)


def test_named_members_alone_are_read() -> None:
    found = members_named(b'{"a":1,"b":{"a":2},"c":[1e1],"a":3}', "a", "c", "none")
    assert found == {"a": msgspec.Raw(b"3"), "c": msgspec.Raw(b"[1e1]")}


def test_a_message_of_too_many_members_is_refused_where_they_are_looked_at() -> None:
    def of(members: int, more: bytes = b"") -> jsonrpc.Message:
        names = b'"x":1,' * members + more
        return jsonrpc.parse(b'{"jsonrpc":"2.0",' + names + b'"id":1,"method":"m","params":{}}')

    assert isinstance(of(900), jsonrpc.Request)
    for found in (of(2000), of(2000, b'"id":1,')):
        assert isinstance(found, jsonrpc.Malformed)
        assert "more than 1000 members" in found.message


def test_the_collector_is_as_it_was() -> None:
    import gc  # noqa: PLC0415

    before = gc.isenabled()
    decode(filled(b"1"))
    with pytest.raises(ValueError, match=r"."):
        decode(padded(b"[1,"))
    assert gc.isenabled() == before
    assert foreign_json.MOST_NS > 0
