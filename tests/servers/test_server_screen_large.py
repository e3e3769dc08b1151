"""What a server says at length is screened like what is short, and everybody else has turns meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from gatewright.call import Answer, Call, Client, Failure, Outcome, Question
from gatewright.mcp.protocol.input_required import QUESTIONS
from gatewright.transport import slices
from tests.servers.passes import Passes
from tests.servers.rig import MODERN, FakeBack
from tests.servers.test_server_screen import FORM, OURS, House, Large, answered, called


@pytest.mark.parametrize(
    "members",
    [{}, {"_meta": {OURS[0]: 1, "vendor/x": 1}}, {"_mgp": {"x": 1}}, {"\u005f": 1}],
)
async def test_a_large_answer_is_screened_like_a_small_one(members: dict[str, Any]) -> None:
    small = {"content": [], **members}
    raw = json.dumps({**small, "filler": "x" * 300_000}).encode()
    house = House()
    link: Any = Large(raw)
    found = await house.screen.request(link, "tools/call", {}, called(), FakeBack(), 0)
    assert isinstance(found, Answer)
    seen = json.loads(found.raw)
    seen.pop("filler")
    assert seen == json.loads(answered(small).raw)


async def test_a_large_answer_is_gone_through_once_in_a_turn_and_each_part_of_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    came = {"content": [], "_meta": {OURS[0]: 1}, "rest": "x" * 600_000}
    link: Any = Large(json.dumps({"taskId": "T", "status": "completed", "result": came}).encode())
    passes = Passes(monkeypatch)
    found = await House().screen.request(
        link, "tasks/get", {}, called("tasks/get", client=MODERN), FakeBack(), 0
    )
    passes.stop()
    assert isinstance(found, Answer)
    assert json.loads(found.raw)["result"] == {**came, "_meta": {}}
    assert (passes.in_all, passes.in_one_turn) == (2, 1)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", ["_meta", "\\u005fmeta"])
async def test_a_meta_of_more_than_a_mebibyte_is_refused_by_name(inside: bool, name: str) -> None:
    """It would be read again wherever something is looked for in it."""
    said = f'{{"content":[],"{name}":{{"vendor/x":"{"x" * (1024 * 1024)}"}}}}'
    call = called("tasks/get" if inside else "tools/call", client=MODERN)
    link: Any = Large((f'{{"taskId":"T","result":{said}}}' if inside else said).encode())
    found = await House().screen.request(link, call.method, {}, call, FakeBack(), 0)
    assert isinstance(found, Failure)
    assert found.message == "the answer of server files has a _meta of more than 1048576 bytes"


@pytest.mark.parametrize(("rest", "passes"), [(300_000, True), (1024 * 1024, False)])
async def test_a_page_of_tasks_of_more_than_a_mebibyte_is_refused_before_it_is_read(
    rest: int, passes: bool
) -> None:
    link: Any = Large(json.dumps({"tasks": [], "rest": "x" * rest}).encode())
    found = await House().screen.request(
        link, "tasks/list", {}, called("tasks/list"), FakeBack(), 0
    )
    assert isinstance(found, Answer) is passes
    if isinstance(found, Failure):
        assert found.message == "the tasks of server files have more than 1048576 bytes"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"inputRequests": {f"q{one}": FORM for one in range(12_000)}}, "asks in more than"),
        ({"inputRequests": {f"q{one}": FORM for one in range(65)}}, "asks 65 questions at once"),
        ({"requestState": "s", "x": [[]] * 330_000}, "asks in a result that has more values"),
    ],
)
def test_a_server_that_asks_too_much_at_once_is_not_judged(more: Any, why: str) -> None:
    said = {"resultType": "input_required", **more}
    call = called(client=MODERN)
    found = answered(json.dumps(said, separators=(",", ":")), call, modern=True)
    assert isinstance(found, Failure)
    assert found.message.startswith(f"server files {why}")


PAGE = {"mode": "url", "message": "m", "url": "https://a.test"}
ABLE = Client(MODERN.revision, {"elicitation": {"form": {}, "url": {}}})


def asking(kind: str, number: int) -> tuple[Call, Outcome]:
    """A call, and an outcome that asks so many things."""
    forms = {str(one): FORM for one in range(number)}
    if kind == "pages":
        error = {"code": -32042, "message": "m", "data": {"elicitations": [PAGE] * number}}
        return called(client=ABLE), Failure("upstream_error", error=json.dumps(error).encode())
    if kind == "task":
        said = {"taskId": "T", "status": "input_required", "inputRequests": forms}
        return called("tasks/get", client=ABLE), Answer(json.dumps(said).encode())
    said = {"resultType": "input_required", "inputRequests": forms}
    return called(client=ABLE), Answer(json.dumps(said).encode())


class Says:
    """A connection on which a call ends so."""

    hello = None

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    async def request(self, *_: Any, **__: Any) -> Outcome:
        return self.outcome


async def put(house: House, kind: str, number: int) -> Outcome:
    call, outcome = asking(kind, number)
    link: Any = Says(outcome)
    return await house.screen.request(link, call.method, {}, call, FakeBack(), 0)


def shown(kind: str, outcome: Outcome) -> int:
    if kind == "pages":
        assert isinstance(outcome, Failure)
        assert outcome.error is not None
        return len(json.loads(outcome.error)["data"]["elicitations"])
    assert isinstance(outcome, Answer)
    return len(json.loads(outcome.raw)["inputRequests"])


@pytest.mark.parametrize("kind", ["result", "pages", "task"])
async def test_of_many_questions_one_is_judged_in_a_turn(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may take some ten milliseconds, in an answer that is no long one."""
    turns: Counter[int] = Counter()
    turn = 0

    async def turning() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    house = House()
    judge = house.screen.question

    def question(call: Call, question: Question) -> Generator[None, None, Question]:
        turns[turn] += 1
        return judge(call, question)

    monkeypatch.setattr(house.screen, "question", question)
    monkeypatch.setattr(slices, "_SLICE_S", -1.0)
    others = asyncio.ensure_future(turning())
    assert shown(kind, await put(house, kind, QUESTIONS)) == QUESTIONS
    others.cancel()
    assert (turns.total(), max(turns.values())) == (QUESTIONS, 1)


@pytest.mark.parametrize("kind", ["result", "pages", "task"])
async def test_so_many_questions_stand_in_one_answer_and_no_more(kind: str) -> None:
    """A task shows the rest when these are answered; what ends a call is refused by name."""
    found = await put(House(), kind, QUESTIONS + 1)
    if kind == "task":
        assert shown(kind, found) == QUESTIONS
        return
    assert isinstance(found, Failure)
    assert (
        f"may ask {QUESTIONS}" in found.message or f"at most {QUESTIONS} questions" in found.message
    )
