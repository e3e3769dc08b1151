"""The filter `output_schema`: what a tool said of its results holds, or the result is not passed on."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Call, Event, Failure, Outcome, Refusal
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.objection import Objection
from gatewright.schemas.output_filter import OutputSchema
from tests.gate_parts import a_call, a_tool, a_tool_call
from tests.servers.passes import Passes

SCHEMA = b'{"type":"object","properties":{"n":{"type":"integer","maximum":9}},"required":["n"]}'


def call_of(schema: bytes | None = SCHEMA) -> Call:
    tool = a_tool()
    if schema is not None:
        tool = replace(tool, definition={**tool.definition, "outputSchema": msgspec.Raw(schema)})
    return a_tool_call(tool)


def said(outcome: Outcome, schema: bytes | None = SCHEMA, **more: Any) -> Outcome:
    found = OutputSchema(Compiled(), **more).outcome(call_of(schema), outcome)
    assert isinstance(found, Answer | Refusal | Failure)
    return found


def test_a_result_that_fits_is_handed_on_as_it_is() -> None:
    """GRH-reg-8"""
    answer = Answer(b'{"content":[],"structuredContent":{"n":1,"more":[]}}')
    assert said(answer) is answer


@pytest.mark.parametrize(
    ("raw", "path", "rule"),
    [
        (b'{"content":[],"structuredContent":{"n":"1"}}', "/n", "type"),
        (b'{"content":[],"structuredContent":{"n":10}}', "/n", "maximum"),
        (b'{"content":[],"structuredContent":{}}', "", "required"),
        (b'{"content":[],"structuredContent":[1]}', "", "type"),
    ],
)
def test_a_result_of_another_shape_is_a_failure_that_says_where(
    raw: bytes, path: str, rule: str
) -> None:
    """GRH-reg-8, GGEN-sig-16, MGP-14.3-17: 5000, and what was returned is not repeated."""
    found = said(Answer(raw))
    assert isinstance(found, Failure)
    assert found.reason == "output_invalid"
    assert found.details == {"path": path, "rule": rule}
    assert "outputSchema" in found.message


def test_what_was_returned_does_not_stand_in_the_failure() -> None:
    found = said(Answer(b'{"structuredContent":{"n":"sesame-open"}}'))
    assert isinstance(found, Failure)
    assert "sesame" not in f"{found.message}{found.details}"


def test_what_is_no_object_at_all_is_not_passed_on() -> None:
    found = said(Answer(b'["structuredContent"]'))
    assert isinstance(found, Failure)
    assert found.details["rule"] == "json"


@pytest.mark.parametrize(
    "outcome",
    [
        Answer(b'{"content":[],"isError":true}', tool_error=True),
        Answer(b'{"resultType":"input_required","content":[],"inputRequests":{}}'),
        Answer(b'{"task":{"taskId":"1"}}'),
        Answer(b'{"content":[{"type":"text","text":"1"}]}'),
        Refusal("access_denied", "no"),
        Failure("timeout"),
    ],
)
def test_what_is_no_result_yet_or_says_that_it_failed_is_not_judged(outcome: Outcome) -> None:
    assert said(outcome) is outcome


def test_a_tool_without_an_output_schema_may_answer_anything() -> None:
    answer = Answer(b'{"content":[],"structuredContent":"x"}')
    assert said(answer, None) is answer
    assert OutputSchema(Compiled()).outcome(a_call("prompt"), answer) is answer


def test_a_server_whose_schemas_are_off_is_not_judged() -> None:
    answer = Answer(b'{"structuredContent":{}}')
    assert said(answer, off={"srv"}) is answer
    assert said(answer, off={"other"}) is not answer


def test_a_schema_that_cannot_be_used_lets_nothing_pass() -> None:
    found = said(Answer(b'{"structuredContent":{}}'), b'{"$ref":"https://schemas.example/x"}')
    assert isinstance(found, Failure)
    assert found.details["rule"] == "schema"


def test_events_are_handed_on_as_they_are() -> None:
    event = Event("notifications/progress", {"progress": 1})
    assert OutputSchema(Compiled()).event(call_of(), event) is event


def task_call() -> Call:
    """Asks about a task whose call is one of the tool."""
    call = call_of()
    return replace(call, kind="method", method="tasks/get", tool=None, task_tool=call.tool)


@pytest.mark.parametrize(("n", "fits"), [(1, True), (10, False)])
@pytest.mark.parametrize("size", [0, 600_000])
async def test_what_a_task_came_to_is_judged_as_the_result_of_its_call_and_gone_through_once_in_a_turn(
    n: int, fits: bool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is checked as it came, beside the loop where it is large."""
    seen = []
    result = b'{"structuredContent":{"n":%d},"rest":"%b"}' % (n, b"x" * size)
    answer = Answer(b'{"taskId":"T","status":"completed","result":%b}' % result)

    async def beside(_: Call, raw: bytes, *__: Any) -> Objection | None:
        seen.append(raw)
        return None if fits else Objection("/n", "maximum", "it is too much")

    passes = Passes(monkeypatch)
    found = OutputSchema(Compiled(), beside=beside).outcome(task_call(), answer)
    outcome = await found if isinstance(found, Awaitable) else found
    passes.stop()
    assert (outcome is answer) is fits
    assert isinstance(outcome, Answer | Failure)
    assert seen == ([result] if size else [])
    assert passes.in_one_turn == (1 if size else 0)


@pytest.mark.parametrize("name", ["StructuredContent", "structured_content", "STRUCTUREDCONTENT"])
def test_a_second_spelling_of_what_is_judged_is_refused(name: str) -> None:
    found = said(Answer(f'{{"content":[],"structuredContent":{{"n":1}},"{name}":{{}}}}'.encode()))
    assert isinstance(found, Failure)
    assert found.details["rule"] == "names"


@pytest.mark.parametrize(
    "member", ['"meta":null', '"Content":[]', '"is_error":false', '"error":null']
)
def test_members_that_no_schema_judges_may_be_called_as_they_like(member: str) -> None:
    """Servers write results by the names that their own classes have for the members."""
    answer = Answer(f'{{"content":[],"structuredContent":{{"n":1}},{member}}}'.encode())
    assert said(answer) is answer


NUMBERS = b'{"properties":{"n":{"items":{"enum":[%b]}}}}' % b",".join(
    b"%d.5" % number for number in range(2000)
)
MANY = b'{"structuredContent":{"n":[%b]}}' % b",".join([b"1999.5"] * 20)


@pytest.mark.parametrize("of_task", [False, True])
async def test_what_a_schema_takes_long_for_is_judged_beside_the_loop(of_task: bool) -> None:
    seen = []

    async def beside(_: Call, raw: bytes, *__: Any) -> Objection | None:
        seen.append(raw)
        return None

    call, answer = call_of(NUMBERS), Answer(MANY)
    if of_task:
        call = replace(call, kind="method", method="tasks/get", tool=None, task_tool=call.tool)
        answer = Answer(b'{"taskId":"T","status":"completed","result":%b}' % MANY)
    found = OutputSchema(Compiled(), beside=beside).outcome(call, answer)
    assert isinstance(found, Awaitable)
    assert await found is answer
    assert seen == [MANY]
