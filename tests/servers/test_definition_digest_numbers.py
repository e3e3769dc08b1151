"""Numbers of definitions and arguments: the digests that were agreed to stay, and no number costs more than its text is long."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import jsonrpc
from gatewright.servers import definition_digest as definition
from gatewright.servers.definition_digest import (
    canonical,
    canonical_steps,
    definition_digest,
    digest_steps,
)
from tests.costs import lines_run

KEPT = {
    '{"name":"t","x":[1.50,-2.0,1e2,1e400,1e401,0.0,-0.0,12e-1]}': "fe2776c0aefaca094a12dee4522a9f06d5af522a4606f1d3d6f1d6b4a2321db0",
    '{"name":"t","x":[1e999999999999999999,1e9999999999999999999,10E+5,0.00100]}': "e37128f2db41e6e5fcedfd268460e6336cb2fce89d1d08c85240be3363a9066a",
    '{"name":"t","x":{"minimum":0.1,"maximum":1e-7,"y":9007199254740993,"z":1E-05}}': "8c60f9e170d0b5731089ff4e9ecc26e98fd9a1d01f7071485b09390622a2bf93",
}

POWERS = st.one_of(
    st.sampled_from(("0", "5", "0005", "399", "400", "401", "999999999999999", "0" * 5000 + "7")),
    st.sampled_from(("1000000000000000", "999999999999999999", "1999999999999999998", "9" * 30)),
    st.integers(0, 2000).map(str),
)


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """JSON numbers with a fraction or an exponent, many zeros among their digits."""
    digits = st.text(alphabet="0005", max_size=40)
    whole = draw(st.sampled_from(("0", "5", "7"))) + draw(digits)
    text = draw(st.sampled_from(("", "-"))) + (whole.lstrip("0") or "0")
    fraction, powered = draw(digits), draw(st.booleans())
    if fraction or not powered:
        text += f".{fraction or '0'}"
    if powered:
        text += draw(st.sampled_from("eE")) + draw(st.sampled_from(("", "+", "-"))) + draw(POWERS)
    return text


def by_decimals(text: str) -> str:
    """What a number is called, worked out with decimals instead of text."""
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return text
    assert isinstance(exponent, int)
    if not any(digits):
        return "0"
    kept = list(digits)
    while kept[-1] == 0:
        kept.pop()
        exponent += 1
    whole = int("".join(map(str, kept))) * (-1 if sign else 1)
    return str(whole * 10**exponent) if 0 <= exponent <= 400 else f"{whole}e{exponent}"


@given(numbers())
def test_a_number_is_called_what_it_always_was(text: str) -> None:
    assert canonical(jsonrpc.decode(f"[{text}]".encode())).decode() == f"[{by_decimals(text)}]"


@pytest.mark.parametrize("text", KEPT)
def test_the_digests_of_what_was_agreed_to_stay(text: str) -> None:
    """Pins, grants and approvals have them in their stores."""
    assert definition_digest(jsonrpc.decode_members(text.encode())) == KEPT[text]


def forms(size: int) -> list[str]:
    """Numbers of about so many characters that are short ones in the end, or as long as they are written."""
    return [
        "1." + "0" * size,
        "0." + "0" * size + "1",
        "5" * (size % 4000) + ".5",
        "1." + "0" * size + "e7",
        "1e" + "0" * size + "7",
        "-0." + "0" * size,
    ]


@pytest.mark.parametrize("form", range(len(forms(1))))
def test_no_step_is_made_for_each_digit(form: int) -> None:
    def work(size: int) -> int:
        value = jsonrpc.decode(f"[{forms(size)[form]}]".encode())
        return lines_run(definition, lambda: canonical(value))

    assert 0 < work(3000) == work(300)


def test_more_digits_than_a_number_may_have_are_an_error() -> None:
    canonical(jsonrpc.decode(b"[1." + b"7" * 4299 + b"]"))
    with pytest.raises(ValueError, match="more than 4300 digits"):
        canonical(jsonrpc.decode(b"[1." + b"7" * 4300 + b"]"))


def _read(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The numbers that are worked on, as they are."""
    found: list[float] = []
    real = definition._number

    def counted(one: float) -> Any:
        found.append(one)
        return real(one)

    monkeypatch.setattr(definition, "_number", counted)
    return found


@pytest.mark.parametrize("nested", ["[{}]", '{{"a":[{}]}}', "[[{}],[{}]]"])
def test_a_large_value_is_written_some_hundred_values_a_step(
    nested: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = ",".join(["1e1"] * 2000)
    value = jsonrpc.decode(nested.format(inner, inner).encode())
    read = _read(monkeypatch)
    steps, most, found = canonical_steps(value), 0, b""
    while not found:
        before = len(read)
        try:
            next(steps)
        except StopIteration as done:
            found = done.value
        most = max(most, len(read) - before)
    assert 0 < most <= 256
    assert found == canonical(value)


def test_the_digest_of_a_large_definition_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'{"name":"t","once":[%b]}' % b",".join([b"1e1"] * 3000)
    members = jsonrpc.decode_members(text)
    read = _read(monkeypatch)
    first = definition_digest(members)
    assert len(read) == 3000
    assert definition_digest(dict(members)) == first
    assert len(read) == 3000
    assert list(digest_steps(members)) == []
    other = jsonrpc.decode_members(text.replace(b'"once"', b'"twice"'))
    assert definition_digest(other) != first


def test_no_two_large_definitions_have_one_digest_because_their_texts_join_alike() -> None:
    pad = b'"' + b"x" * 5000 + b'"'
    one = jsonrpc.decode_members(b'{"ab":1,"c":%b}' % pad)
    other = jsonrpc.decode_members(b'{"a":1,"bc":%b}' % pad)
    assert definition_digest(one) != definition_digest(other)
