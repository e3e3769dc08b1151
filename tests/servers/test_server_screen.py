"""What a tool server says carries its name, and nothing that is the gateway's to say."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import (
    Answer,
    Call,
    Caller,
    CannotAsk,
    Client,
    Event,
    Failure,
    Mgp,
    Question,
    UserContext,
)
from gatewright.mcp.protocol.input_required import read_interim
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.servers.elicitation import COMPLETE, ELICIT
from gatewright.servers.server_callbacks import Told
from gatewright.servers.server_screen import LOG, Screen
from gatewright.transport.slices import whole
from tests.servers.rig import LEGACY, MODERN, FakeBack, make_call
from tests.servers.scripted import linked

OURS = (
    "dev.gatewright/redaction,gatewright/x,DEV.Gatewright/tool, dev.gatewright/y,"
    "dev.cloto/mgp,io.modelcontextprotocol/subscriptionId"
).split(",")
NONE = {"type": "object", "properties": {}}
FORM = {"method": ELICIT, "params": {"mode": "form", "message": "who?", "requestedSchema": NONE}}


class House:
    """A screen and who is told of what passes it."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, dict[str, Any], str | None]] = []
        told = Told(lambda *_: None, lambda *one: self.heard.append(one), lambda *_: None)
        self.screen = Screen("files", told)


def called(method: str = "tools/call", **more: Any) -> Call:
    return make_call("tool", method, {"name": "t"}, **more)


def answered(text: str | dict[str, Any], call: Call | None = None, modern: bool = False) -> Any:
    raw = text if isinstance(text, str) else json.dumps(text)
    return whole(House().screen._seen(call or called(), Answer(raw.encode(), modern=modern)))


def failed(data: Any, code: int = 1, call: Call | None = None) -> Any:
    error = json.dumps({"code": code, "message": "m", "data": data}).encode()
    found = whole(House().screen._seen(call or called(), Failure("upstream_error", error=error)))
    assert isinstance(found, Failure)
    assert found.error is not None
    return json.loads(found.error)


class Large:
    """A connection whose answer is large."""

    hello = None

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    async def request(self, *_: Any, **__: Any) -> Any:
        return Answer(self.raw)


_WORDS = [*OURS, "_meta", "_mgp", "resultType", "vendor/x", "a_b", "content", "GATEWRIGHT/x"]


def _spelled(text: str, every: int) -> str:
    """The text with each so-manieth letter written as an escape of JSON."""
    return "".join(
        f"\\u{ord(char):04x}" if every and at % every == every - 1 else char
        for at, char in enumerate(text)
    )


@pytest.mark.parametrize("every", range(4))
@pytest.mark.parametrize("said", ["complete", "input_required", "_", "/"])
async def test_a_plain_look_at_an_answer_misses_nothing_that_is_found_in_its_members(
    said: str, every: int
) -> None:
    for word, of_meta in product(_WORDS, _WORDS):
        meta = f'"{_spelled("_meta", every)}":{{"{_spelled(of_meta, every)}":1}}'
        member = f'"{_spelled(word, every)}":"{_spelled(said, every)}"'
        for members in (member, meta, f"{member},{meta}"):
            answer = Answer(f"{{{members}}}".encode())
            link: Any = Large(answer.raw)
            work = House().screen.request(link, "tools/call", {}, called(), FakeBack(), 0)
            assert await work == whole(House().screen._read(called(), answer))


def test_an_ordinary_answer_stays_the_bytes_that_came() -> None:
    answer = Answer(b'{"content": [ ],"_meta":{"vendor/x":1}, "n":1.0e1}')
    assert whole(House().screen._seen(called(), answer)) is answer


@pytest.mark.parametrize("key", OURS)
@pytest.mark.parametrize("spell", [str, lambda key: "".join(f"\\u{ord(c):04x}" for c in key)])
def test_members_of_meta_that_are_the_gateways_cannot_be_forged(key: str, spell: Any) -> None:
    found = answered(
        '{"content":[],"_meta":{"KEY":{"x":1},"vendor/x":2}}'.replace("KEY", spell(key))
    )
    assert json.loads(found.raw) == {"content": [], "_meta": {"vendor/x": 2}}


def test_the_words_of_mgp_are_for_servers_that_negotiated_it() -> None:
    assert json.loads(answered({"content": [], "_mgp": {"code": 1}}).raw) == {"content": []}


@pytest.mark.parametrize(
    "member",
    [
        {"_mgp": {"retryable": True}},
        {"_MGP": {"retryable": True}},
        {" _mgp": {"retryable": True}},
        {"status": "pending_approval"},
        {"Status": " PENDING_APPROVAL"},
        {"missing": "approval"},
        {"Approval_ID": "a"},
        {"cacheScope": "public"},
        {"ttlMs": 5},
        {"requestState": "x"},
        {"inputRequests": {}},
        {"resultType": "input_required"},
        {"approval_id": "a"},
        {"trace_id": "t"},
        {"_meta": {"dev.gatewright/x": 1}},
    ],
)
def test_error_data_carries_no_member_of_the_gateways(member: dict[str, Any]) -> None:
    left: dict[str, Any] = {"_meta": {}} if "_meta" in member else {}
    assert failed({**member, "own": 1}) == {"code": 1, "message": "m", "data": {"own": 1, **left}}
    inside = {"details": {"own": 1, **left}, "own": 1}
    assert failed({"details": {**member, "own": 1}, "own": 1})["data"] == inside


@pytest.mark.parametrize("more", ["", ',"data":{"own":1}', ',"data":[1]', ',"data":"x"'])
@pytest.mark.parametrize("extra", ['"_mgp":{"retryable":true}', '"\\u005fmgp":{}', '"status":"x"'])
def test_an_error_has_the_members_of_json_rpc_alone(more: str, extra: str) -> None:
    error = f'{{"code":1,"message":"m"{more},{extra}}}'.encode()
    found = whole(House().screen._seen(called(), Failure("upstream_error", error=error)))
    assert isinstance(found, Failure)
    assert found.error == f'{{"code":1,"message":"m"{more}}}'.encode()


def test_a_server_that_negotiated_mgp_says_its_words_in_their_own_spelling() -> None:
    house = House()
    house.screen._mgp = True
    error = b'{"code":1,"message":"m","data":{"_mgp":{},"trace_id":"t","_MGP":{},"Trace_Id":"t"}}'
    found = whole(house.screen._seen(called(), Failure("upstream_error", error=error)))
    assert isinstance(found, Failure)
    assert found.error == b'{"code":1,"message":"m","data":{"_mgp":{},"trace_id":"t"}}'


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "text",
        [1],
        {"status": "busy", "reason": "x"},
        {"status": 5, "missing": "file", "details": {"status": "open"}},
    ],
)
def test_error_data_of_the_servers_own_stays_as_it_is(data: Any) -> None:
    assert failed(data)["data"] == data


@pytest.mark.parametrize("word", ["input_required", "input\\u005frequired", "\\u0069nput_required"])
@pytest.mark.parametrize("modern", [False, True])
def test_an_interim_result_of_either_era_is_known_and_judged(word: str, modern: bool) -> None:
    text = '{"resultType":"%s","inputRequests":{"q":%s},"requestState":"s"}'
    found = answered(text % (word, json.dumps(FORM)), called(client=MODERN), modern)
    assert found.modern
    interim = read_interim(found.raw)
    assert interim is not None
    assert interim.state == "files/s"
    said = interim.questions["q"].params
    assert said is not None
    assert said["message"] == 'Server "files" asks: who?'


@pytest.mark.parametrize("word", ["input_required", "\\u0069nput_required"])
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_an_interim_result_is_nothing_for_a_legacy_caller(word: str, revision: str) -> None:
    """Its revision has none, so no question in one was judged: a client that knew both eras would put it to a person."""
    text = '{"resultType":"%s","inputRequests":{"q":%s},"requestState":"s"}'
    found = answered(text % (word, json.dumps(FORM)), called(client=Client(revision)))
    assert isinstance(found, Failure)
    assert "asked something where nothing can be asked" in found.message
    assert isinstance(answered({"content": [], "requestState": "s"}, called()), Answer)


BAD_FORM = {
    "method": ELICIT,
    "params": {"message": "", "requestedSchema": {**NONE, "properties": {"password": {}}}},
}
UNDECLARED = {"method": ELICIT, "params": {"mode": "url", "message": "", "url": "https://a.test"}}


@pytest.mark.parametrize(
    "more",
    [
        {"inputRequests": {"q": BAD_FORM}},
        {"inputRequests": {"q": FORM, "p": UNDECLARED}},
        {"inputRequests": {"q": 5}},
        {"inputRequests": {"q": {"method": 5}}},
        {"inputRequests": [FORM]},
        {"requestState": 5},
        {"requestState": {"x": 1}},
    ],
)
def test_an_interim_result_with_anything_that_cannot_be_asked_fails(more: dict[str, Any]) -> None:
    found = answered({"resultType": "input_required", **more}, called(client=MODERN))
    assert isinstance(found, Failure)
    assert found.error is not None
    assert b"wants to ask what it may not" in found.error


def test_a_callback_is_no_question_of_an_interim_result() -> None:
    client = replace(MODERN, mgp=Mgp("0.2.0", ("bidirectional",)))  # MGP-13.4-1
    asked = {"q": {"method": CALLBACK, "params": {"type": "input", "message": "?"}}}
    said = {"resultType": "input_required", "inputRequests": asked}
    assert isinstance(answered(said, called(client=client)), Failure)


def test_where_nothing_can_be_asked_an_interim_result_is_a_fault() -> None:
    call = called("completion/complete", client=MODERN)
    found = answered({"resultType": "input_required", "requestState": "s"}, call)
    assert isinstance(found, Failure)


def test_pages_in_an_error_are_judged_like_questions() -> None:
    able = called(client=type(LEGACY)(LEGACY.revision, {"elicitation": {"url": {}}}))
    page = {"message": "log in", "url": "https://a.test", "elicitationId": "1"}
    found = failed({"elicitations": [page]}, -32042, able)["data"]["elicitations"]
    shown = {"message": 'Server "files" asks: log in', "elicitationId": "files/1", "mode": "url"}
    assert found == [{**page, **shown}]
    bad = failed({"elicitations": [{**page, "url": "javascript:x"}]}, -32042, able)
    assert "wants to ask what it may not" in bad["message"]


@pytest.mark.parametrize(
    ("theirs", "shown"),
    [
        (None, "files"),
        ("", "files"),
        ("db", "files/db"),
        ("gatewright", "files/gatewright"),
        ("other/x", "files/other/x"),
        ("a\nb\u202e", "files/a\\u000ab\\u202e"),
        (5, "files"),
        ({"x": 1}, "files"),
    ],
)
def test_a_log_line_names_its_server_and_no_other(theirs: object, shown: str) -> None:
    house, params = House(), {"level": "info", "data": 1, "logger": theirs}
    event = house.screen.event(called(), Event(LOG, params))
    assert event == Event(LOG, {**params, "logger": shown})
    house.screen.said(LOG, params, None)
    assert house.heard == [("files", LOG, {**params, "logger": shown}, None)]


def test_an_event_loses_what_is_the_gateways_and_nothing_else() -> None:
    screen, method = House().screen, "notifications/progress"
    params = {"progress": 1, "_meta": {"dev.gatewright/x": 1, "y": 2}}
    assert screen.event(called(), Event(method, params)) == Event(
        method, {"progress": 1, "_meta": {"y": 2}}
    )
    plain = Event(method, {"progress": 1, "_meta": {"y": 2}})
    assert screen.event(called(), plain) is plain


@pytest.mark.parametrize("key", OURS)
def test_a_question_loses_what_is_the_gateways_and_nothing_else(key: str) -> None:
    able = type(LEGACY)(LEGACY.revision, {"elicitation": {}, "sampling": {}, "roots": {}})
    asked, form = called(client=able), {"message": "who?", "requestedSchema": NONE}
    sample = {"messages": [], "maxTokens": 1}
    for method, params in ((ELICIT, form), ("sampling/createMessage", sample), ("roots/list", {})):
        screen, meta = House().screen, {"progressToken": 5, "y": 2}
        question = Question(method, {**params, "_meta": {**meta, key: 1}})
        found = whole(screen.question(asked, question)).params
        same = Question(method, {**params, "_meta": meta})
        assert found == whole(screen.question(asked, same)).params
        assert found is not None
        assert found["_meta"] == meta


def test_the_end_of_a_page_is_told_to_who_was_asked_to_open_it_alone() -> None:
    house = House()
    able = type(LEGACY)(LEGACY.revision, {"elicitation": {"url": {}}})
    mine, other = called(session="a", client=able), called(session="b", client=able)
    page = {"mode": "url", "message": "", "url": "https://a.test", "elicitationId": "1"}
    whole(house.screen.question(mine, Question(ELICIT, page)))
    with pytest.raises(CannotAsk, match="another caller"):
        whole(house.screen.question(other, Question(ELICIT, page)))
    done = {"elicitationId": "1"}
    assert house.screen.event(other, Event(COMPLETE, done)) is None
    assert house.screen.event(mine, Event(COMPLETE, done)) == Event(
        COMPLETE, {"elicitationId": "files/1"}
    )
    house.screen.said(COMPLETE, done, None)
    house.screen.said(COMPLETE, done, "b")
    house.screen.said(COMPLETE, {"elicitationId": "2"}, None)
    house.screen.said(COMPLETE, {}, None)
    house.screen.said(COMPLETE, done, "a")
    party = mine.party
    assert house.heard == [("files", COMPLETE, {"elicitationId": "files/1"}, party)] * 2


def test_another_key_in_a_session_is_no_part_of_a_page_that_the_first_one_was_asked_to_open() -> (
    None
):
    """It would hear of the first one's page, and could be given its id."""
    screen = House().screen
    able = type(LEGACY)(LEGACY.revision, {"elicitation": {"url": {}}})
    mine = called(session="a", client=able)
    less = replace(mine.caller, user=(UserContext(resources=("/srv/**",)),))
    other = replace(mine, caller=less)
    page = {"mode": "url", "message": "", "url": "https://a.test", "elicitationId": "1"}
    whole(screen.question(mine, Question(ELICIT, page)))
    with pytest.raises(CannotAsk, match="another caller"):
        whole(screen.question(other, Question(ELICIT, page)))
    assert screen.event(other, Event(COMPLETE, {"elicitationId": "1"})) is None
    assert screen.event(mine, Event(COMPLETE, {"elicitationId": "1"})) is not None


@pytest.mark.parametrize(("who", "shown"), [("ann", ["q"]), ("bob", [])])
def test_what_a_task_asks_is_for_whoever_has_it_through_any_session(
    who: str, shown: list[str]
) -> None:
    """And what cannot be asked hides nothing of how the task stands."""
    screen = House().screen
    able: dict[str, Any] = {"elicitation": {"url": {}}}
    page = {"mode": "url", "message": "", "url": "https://a.test", "elicitationId": "1"}
    asks = {"status": "working", "inputRequests": {"q": {"method": ELICIT, "params": page}}}

    def polled(session: str, who: str, can: dict[str, Any]) -> list[str]:
        client = type(MODERN)(MODERN.revision, can)
        call = called("tasks/get", session=session, caller=Caller(who), client=client)
        outcome = whole(screen._seen(call, Answer(json.dumps(asks).encode())))
        assert isinstance(outcome, Answer)
        said = json.loads(outcome.raw)
        assert said["status"] == "working"
        return list(said["inputRequests"])

    assert polled("a", "ann", able) == ["q"]
    assert polled("b", who, able) == shown
    assert polled("a", "ann", {}) == []


async def test_what_passes_a_link_passes_the_screen() -> None:
    async with linked() as (link, server):
        house, back = House(), FakeBack(elicitation={"action": "decline"})
        call = called()
        due = asyncio.get_running_loop().time() + 20
        asked = asyncio.ensure_future(
            house.screen.request(link, "tools/call", call.params, call, back, due)
        )
        sent = await server.next()
        server.say(id="q", **FORM)
        assert (await server.next())["result"] == {"action": "decline"}
        server.say(method=LOG, params={"level": "info", "data": 1})
        server.say(id=sent["id"], result={"content": [], "_meta": {"dev.gatewright/x": 1}})
        found = await asked
        assert isinstance(found, Answer)
        assert json.loads(found.raw) == {"content": [], "_meta": {}}
    assert [one.params for one in back.events] == [{"level": "info", "data": 1, "logger": "files"}]
    assert [(one.params or {})["message"] for one in back.questions] == [
        'Server "files" asks: who?'
    ]
