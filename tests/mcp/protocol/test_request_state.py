"""A sealed state serves only whom, and for what, it was made."""

from __future__ import annotations

import base64
import math
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gatewright.mcp.protocol.request_state import Sealer, State, request_digest
from gatewright.mcp.wire import jsonrpc
from tests.mcp.protocol.test_eras import raw, texts, values

SEALER = Sealer(b"k" * 32)
NONCE = b"n" * 12
DIGEST = request_digest("tools/call", {"name": "x", "arguments": {"a": 1}})
STATE = State("parked", "ann", DIGEST, 100.0, "handle")
SEALED = SEALER.seal(STATE, NONCE)


def opened(text: str, **other: Any) -> State:
    known: dict[str, Any] = {"principal": "ann", "digest": DIGEST, "now": 100.0}
    return SEALER.open(text, **(known | other))


@given(st.builds(State, st.sampled_from(["parked", "upstream"]), texts, texts, st.floats(0), texts))
def test_a_state_opens_to_what_was_sealed(state: State) -> None:
    assume(math.isfinite(state.expires))
    text = SEALER.seal(state, NONCE)
    again = SEALER.open(text, principal=state.principal, digest=state.digest, now=state.expires)
    assert again == state


@given(st.integers(0, len(base64.urlsafe_b64decode(SEALED)) * 8 - 1))
def test_a_state_with_any_bit_flipped_is_refused(bit: int) -> None:
    sealed = bytearray(base64.urlsafe_b64decode(SEALED))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ValueError, match="not given out"):
        opened(base64.urlsafe_b64encode(sealed).decode())


@given(st.integers(0, len(SEALED) - 1), st.characters(codec="utf-8"))
def test_a_state_with_any_character_changed_is_refused(place: int, other: str) -> None:
    assume(SEALED[place] != other)
    with pytest.raises(ValueError, match="not given out"):
        opened(SEALED[:place] + other + SEALED[place + 1 :])


@given(
    st.one_of(texts, st.binary(max_size=80).map(lambda one: base64.urlsafe_b64encode(one).decode()))
)
def test_what_was_never_sealed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not given out"):
        opened(text)


def test_one_state_has_one_spelling() -> None:
    state = SEALER.seal(State("parked", "ann", DIGEST, 100.0, "handle??"), b"\xff" * 12)
    assert "_" in state
    for spelled in (
        state.replace("_", "/"),
        state.rstrip("="),
        state + "=",
        state + "\n",
        state + " ",
    ):
        if spelled != state:
            with pytest.raises(ValueError, match="not given out"):
                opened(spelled)


@given(texts)
def test_another_principal_is_refused(who: str) -> None:
    with pytest.raises(ValueError, match="not given out"):
        opened(SEALED, principal=who)


@given(st.dictionaries(st.sampled_from(["name", "uri", "arguments"]), st.integers(), min_size=1))
def test_another_request_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="another request"):
        opened(SEALED, digest=request_digest("tools/call", params))


@given(st.floats(100.0, exclude_min=True, allow_infinity=False))
def test_a_state_is_refused_after_its_time(now: float) -> None:
    with pytest.raises(ValueError, match="expired"):
        opened(SEALED, now=now)


def test_another_key_opens_nothing() -> None:
    with pytest.raises(ValueError, match="not given out"):
        Sealer(b"j" * 32).open(SEALED, principal="ann", digest=DIGEST, now=0)


def test_the_state_of_a_server_is_wrapped_and_the_rest_of_its_result_untouched() -> None:
    result = b'{"resultType":"input_required","n":1.50,"requestState":"theirs","x":null}'
    sealed = SEALER.reseal(result, principal="ann", digest=DIGEST, expires=5.0, nonce=NONCE)
    members = raw(sealed)
    state = opened(jsonrpc.decode(members.pop("requestState").encode()), now=0)
    assert state == State("upstream", "ann", DIGEST, 5.0, "theirs")
    assert members == {"resultType": '"input_required"', "n": "1.50", "x": "null"}


@pytest.mark.parametrize("state", [b"", b',"requestState":5', b',"requestState":null'])
def test_a_result_without_a_state_stays_as_it_is(state: bytes) -> None:
    result = b'{"resultType":"input_required"' + state + b"}"
    assert SEALER.reseal(result, principal="", digest="", expires=0, nonce=NONCE) == result


SALIENT = {"name": "x", "arguments": {"a": 1, "b": [1, {"c": None}]}}


def test_what_a_client_adds_to_a_retry_does_not_change_the_digest() -> None:
    more = {**SALIENT, "_meta": {"x": 1}, "inputResponses": {}, "requestState": "s"}
    assert request_digest("tools/call", more) == request_digest("tools/call", SALIENT)


@given(st.dictionaries(texts, st.dictionaries(texts, st.integers()), max_size=4))
def test_the_order_of_members_does_not_change_the_digest(arguments: dict[str, Any]) -> None:
    turned = {key: dict(reversed(arguments[key].items())) for key in reversed(list(arguments))}
    digests = [request_digest("m", {"arguments": one}) for one in (arguments, turned)]
    assert digests[0] == digests[1]


@given(values, values)
def test_other_arguments_have_another_digest(one: str, other: str) -> None:
    first, second = (jsonrpc.decode(text.encode()) for text in (one, other))
    same = jsonrpc.encode(first) == jsonrpc.encode(second)
    digests = [request_digest("m", {"arguments": value}) for value in (first, second)]
    assert (digests[0] == digests[1]) is same or _reordered(first, second)


def _reordered(one: Any, other: Any) -> bool:
    order = msgspec.json.Encoder(enc_hook=lambda number: {"": number.text}, order="deterministic")
    return order.encode(one) == order.encode(other)


def test_the_parts_of_a_request_are_not_mistaken_for_each_other() -> None:
    found = {
        request_digest("a", {"name": "b"}),
        request_digest("a", {"uri": "b"}),
        request_digest("a", {"arguments": "b"}),
        request_digest("ab", {}),
    }
    assert len(found) == 4
