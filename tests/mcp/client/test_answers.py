"""What a server's answer means."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gatewright.call import Answer, CannotAsk, Failure, Question, Refusal
from gatewright.mcp.client.answers import ask_all, is_large, params_of, read_large, read_reply
from gatewright.mcp.protocol.eras import Interim, TooMuchAsked, read_interim
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Notification, Response
from tests.servers.rig import FakeBack, within


def read(result: bytes, kind: str = "tool", modern: bool = False) -> Any:
    return read_reply(Response(b"1", result), kind, modern)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b'{"content":[]}', False),
        (b'{"content":[],"isError":true}', True),
        (b'{"content":[],"isError":false}', False),
        (b'{"content":[],"isError":"true"}', False),
        (b'{"structuredContent":{"isError":true}}', False),
        (b'{"content":[{"text":"\\"isError\\":true"}]}', False),
        (b'{"isErro\\u0072":true}', True),
        (b'{"isError":false,"isError":true}', True),
    ],
)
def test_only_the_results_own_member_says_that_a_tool_failed(raw: bytes, error: bool) -> None:
    assert read(raw) == Answer(raw, error)


@pytest.mark.parametrize("kind", ["tool", "prompt", "method"])
@pytest.mark.parametrize(
    "raw",
    [
        b'{"content":[]}',
        b'{"content":["\xc3\xbc"],"isError":true}',
        b'{"isErro\\u0072":true}',
        b'{"isError":true',
        b"[1]",
        b'{"content":["\xff"]}',
    ],
)
async def test_a_large_answer_means_the_same(raw: bytes, kind: str) -> None:
    reply = Response(b"1", raw)
    assert await read_large(reply, kind, False) == read_reply(reply, kind, False)


async def test_a_verdict_is_no_large_answer() -> None:
    verdict = Refusal("resource_exhausted", "full")
    assert not is_large(verdict)
    assert await read_large(verdict, "tool", False) is verdict
    assert is_large(Response(b"1", b'{"a":"%b"}' % (b"x" * 300_000)))


def test_a_prompt_may_have_any_member_of_that_name() -> None:
    assert read(b'{"isError":true}', "prompt") == Answer(b'{"isError":true}')


def test_the_era_of_the_answer_is_kept() -> None:
    assert read(b"{}", modern=True) == Answer(b"{}", modern=True)


def test_an_unknown_method_may_answer_anything() -> None:
    assert read(b"[1]", "method") == Answer(b"[1]")


@pytest.mark.parametrize(
    "error",
    [
        *(b'"text"', b"[]", b'{"message":"\xff"}', b"", b"{}", b'{"code":1}', b'{"message":"x"}'),
        *(b'{"code":%b,"message":"x"}' % one for one in (b'"1"', b"1.5", b"1e3", b"true", b"null")),
        *(b'{"code":1,"message":%b}' % one for one in (b"1", b"null", b"{}", b'["x"]')),
        b'{"code":%b,"message":"x"}' % (b"9" * 20),
    ],
)
def test_an_error_that_cannot_be_read_is_named_and_not_passed_on(error: bytes) -> None:
    outcome = read_reply(Response(b"1", error=error), "tool", False)
    assert isinstance(outcome, Failure)
    assert (outcome.reason, outcome.error) == ("upstream_error", None)


def test_verdicts_pass_as_they_are() -> None:
    for verdict in (Refusal("resource_exhausted", "full"), Failure("upstream_timeout")):
        assert read_reply(verdict, "tool", False) is verdict


async def test_all_questions_are_asked_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    async def answer(question: Question) -> Any:
        await both.wait()
        return {"to": question.method}

    back = FakeBack(elicitation=answer, roots=answer)
    interim = Interim({"a": Question("elicitation/create"), "b": Question("roots/list")})
    found = await within(ask_all(interim, back))
    assert found == {"a": {"to": "elicitation/create"}, "b": {"to": "roots/list"}}


async def test_each_question_says_which_server_asks_and_none_is_of_a_task() -> None:
    back = FakeBack(elicitation={"action": "accept"})
    plain = Interim({"a": Question("elicitation/create", {"message": "x"})}, None)
    assert await within(ask_all(plain, back, "one")) == {"a": {"action": "accept"}}
    assert [one.server for one in back.questions] == ["one"]
    related = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "T-1"}}}
    found = await within(
        ask_all(Interim({"a": Question("elicitation/create", related)}, None), back)
    )
    assert isinstance(found, Failure)
    assert len(back.questions) == 1


async def test_one_question_that_cannot_be_asked_fails_the_call_and_ends_the_others() -> None:
    ended = asyncio.Event()

    async def wait_for_ever(question: Question) -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    def refuse(question: Question) -> Any:
        raise CannotAsk("no such capability", -32021, {"needs": "roots"})

    back = FakeBack(elicitation=wait_for_ever, roots=refuse)
    interim = Interim({"a": Question("elicitation/create"), "b": Question("roots/list")})
    outcome = await within(ask_all(interim, back))
    assert isinstance(outcome, Failure)
    assert outcome.error is not None
    assert json.loads(outcome.error) == {
        "code": -32021,
        "message": "no such capability",
        "data": {"needs": "roots"},
    }
    await within(ended.wait())


def test_an_error_that_is_too_long_is_said_to_be() -> None:
    error = json.dumps({"code": 1, "message": "no", "data": "a" * DECODED_BYTES}).encode()
    found = read_reply(Response(b"1", b"", error), "tool", False)
    assert isinstance(found, Failure)
    assert found.error is None
    assert f"at most {DECODED_BYTES}" in found.message


@pytest.mark.parametrize("params", [b"[1]", b"{", b"3", b'{"a":"' + b"a" * DECODED_BYTES + b'"}'])
def test_params_that_are_none_or_too_long_are_named(params: bytes) -> None:
    assert isinstance(params_of(Notification("a/b", params)), str)


def test_params_are_read() -> None:
    assert params_of(Notification("a/b", b'{"a":1}')) == {"a": 1}
    assert params_of(Notification("a/b", b"")) == {}


def test_an_interim_result_that_asks_at_length_is_refused() -> None:
    asked = {"resultType": "input_required", "inputRequests": {"a": "a" * DECODED_BYTES}}
    with pytest.raises(TooMuchAsked):
        read_interim(json.dumps(asked).replace(": ", ":").encode())
