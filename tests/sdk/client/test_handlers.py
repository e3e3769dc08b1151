"""Who hears, and who answers."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import CannotAsk, Event, Question
from gatewright.sdk.client.handlers import CallHandlers, answer_question
from gatewright.sdk.client.options import Options
from gatewright.sdk.client.results import Progress

FORM = Question("elicitation/create", {"message": "who?"})


async def test_a_question_is_answered_by_whoever_the_options_name() -> None:
    async def later(params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"said": params["message"]}}

    def at_once(params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"said": params["message"]}}

    for handler in (later, at_once):
        found = await answer_question(Options(elicit=handler), FORM)
        assert found == {"action": "accept", "content": {"said": "who?"}}
    roots = await answer_question(Options(roots=["file:///a"]), Question("roots/list"))
    assert roots == {"roots": [{"uri": "file:///a"}]}


CALLED_BACK = Question(
    "notifications/mgp.callback.request", {"type": "confirmation", "message": "go?"}
)


async def test_a_callback_is_answered_by_who_answers_forms() -> None:
    """MGP-13.4-2, for the SDK's own client."""

    def yes(params: dict[str, Any]) -> dict[str, Any]:
        offered = params["requestedSchema"]["properties"]["response"]["enum"]
        return {"action": "accept", "content": {"response": offered[0]}}

    assert await answer_question(Options(elicit=yes), CALLED_BACK) == {"response": "confirm"}
    declined = Options(elicit=lambda _: {"action": "decline"})
    assert await answer_question(declined, CALLED_BACK) == {"response": "cancel"}
    odd_one = Options(elicit=lambda _: {"action": "accept", "content": {"response": "perhaps"}})
    with pytest.raises(CannotAsk, match="no answer"):
        await answer_question(odd_one, CALLED_BACK)
    with pytest.raises(CannotAsk, match="does not answer"):
        await answer_question(Options(), CALLED_BACK)


def no(params: dict[str, Any]) -> dict[str, Any]:
    raise ValueError("not today")


def odd(params: dict[str, Any]) -> Any:
    return ["no object"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(), "does not answer elicitation/create"),
        (Options(elicit=no), "not today"),
        (Options(elicit=odd), "no object"),
    ],
)
async def test_a_server_is_told_in_words_why_it_gets_no_answer(options: Options, said: str) -> None:
    with pytest.raises(CannotAsk, match=said):
        await answer_question(options, FORM)


def test_progress_goes_to_its_call_and_everything_else_to_the_client() -> None:
    heard: list[Any] = []
    options = Options(on_event=lambda method, params: heard.append((method, params)))
    voice = CallHandlers(options, heard.append)
    voice.emit(Event("notifications/progress", {"progress": 1, "total": 2, "message": "m"}))
    voice.emit(Event("notifications/message", {"data": "x"}))
    assert heard == [
        Progress({"progress": 1, "total": 2, "message": "m"}),
        ("notifications/message", {"data": "x"}),
    ]


def test_a_listener_that_raises_disturbs_nobody() -> None:
    def bad(progress: Progress) -> None:
        raise RuntimeError("mine")

    heard: list[str] = []
    voice = CallHandlers(Options(on_event=lambda method, _: heard.append(method)), bad)
    voice.emit(Event("notifications/progress", {"progress": 1}))
    voice.emit(Event("notifications/x", {}))
    assert heard == ["notifications/x"]
