"""Questions of a server that asks in its result are read within bounds, and those of a legacy server written so."""

from __future__ import annotations

import pytest

from gatewright.call import Question
from gatewright.mcp.protocol import input_required
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from gatewright.mcp.wire.json_bounds import DECODED_BYTES

INFO = {"name": "gw", "version": "1"}


def test_questions_of_a_modern_server_are_read_and_those_of_odd_shape_left_out() -> None:
    wanted = {"a": {"method": "m", "params": {"n": 2**60}}, "b": {"method": "r"}, "c": 5, "d": {}}
    result = {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}
    found = input_required.read_interim(jsonrpc.encode(result))
    assert found == input_required.Interim(
        {"a": Question("m", {"n": 2**60}), "b": Question("r")}, "s"
    )


@pytest.mark.parametrize(
    "result",
    [
        b'{"resultType":"complete","text":"input_required"}',
        b'{"text":"input_required"}',
        b'["input_required"]',
        b'{"resultType":"input_required"',
    ],
)
def test_a_result_that_only_mentions_the_word_is_final(result: bytes) -> None:
    assert input_required.read_interim(result) is None


def test_an_interim_result_may_carry_questions_or_a_state_alone() -> None:
    state = input_required.read_interim(b'{"resultType":"input_required","requestState":"s"}')
    odd = input_required.read_interim(
        b'{"resultType":"input_required","inputRequests":[],"requestState":1}'
    )
    assert (state, odd) == (input_required.Interim({}, "s"), input_required.Interim({}, None))


def test_questions_of_any_size_are_not_decoded() -> None:
    text = b'{"x":"\\u0041","resultType":%b,"inputRequests":[%b1]}'
    for odd in (b"[" + b"1," * 100 + b"1]", b'"input_required' + b" " * 100 + b'"', b'""', b"null"):
        assert input_required.read_interim(text % (odd, b"1," * DECODED_BYTES)) is None


def test_questions_of_a_legacy_server_become_an_interim_result() -> None:
    questions = {"q1": Question("m", {"n": 2**60}), "q2": Question("roots/list")}
    assert jsonrpc.decode(input_required.interim_result(questions, "sealed", INFO)) == {
        "resultType": "input_required",
        "inputRequests": {
            "q1": {"method": "m", "params": {"n": 2**60}},
            "q2": {"method": "roots/list"},
        },
        "requestState": "sealed",
        "_meta": {META_SERVER_INFO: INFO},
    }


def test_a_retry_repeats_the_request_with_answers_and_state() -> None:
    params = {"name": "x", "requestState": "old", "inputResponses": {"z": 1}}
    with_state = input_required.retry_params(params, {"a": {"b": 1}}, "new")
    assert with_state == {"name": "x", "inputResponses": {"a": {"b": 1}}, "requestState": "new"}
    assert input_required.retry_params(params, {}, None) == {"name": "x", "inputResponses": {}}


def test_an_interim_result_is_one_however_its_letters_are_written() -> None:
    found = input_required.read_interim(
        b'{"result\\u0054ype":"input\\u005frequired","requestState":"s"}'
    )
    assert found == input_required.Interim({}, "s")


def test_a_result_asks_so_many_questions_and_no_more() -> None:
    text = b'{"resultType":"input_required","inputRequests":{%b}}'
    for number in (input_required.QUESTIONS, input_required.QUESTIONS + 1):
        asked = b",".join(b'"%d":{"method":"roots/list"}' % one for one in range(number))
        if number > input_required.QUESTIONS:
            with pytest.raises(
                input_required.TooMuchAsked, match=f"asks {number} questions at once, and may ask"
            ):
                input_required.read_interim(text % asked)
        else:
            found = input_required.read_interim(text % asked)
            assert found is not None
            assert len(found.questions) == number
