"""What one key of a caller was given is not for another with other limits, though a session is the caller's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import (
    ANONYMOUS,
    Answer,
    Back,
    Call,
    Caller,
    CannotAsk,
    Outcome,
    Question,
    UserContext,
)
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.server.shown_rights import at_least, has_all_of, same_rights, shown_in
from gatewright.mcp.wire.permissions import NOTHING
from tests.dialects.client import rpc, within
from tests.dialects.house import ANN, BOB, House, Session, text
from tests.dialects.steps import CALL, JSON_ONLY, TOLD, Hang, Stepwise, progress
from tests.gate_parts import a_call

LESS = replace(ANN, user=(UserContext(trust="untrusted"),))
ELICIT = Question("elicitation/create", {"message": "name?", "requestedSchema": {}})


def test_the_same_credential_or_equal_limits_of_one_caller_are_the_same_rights() -> None:
    first = Presented("http", ANN, "a")
    for other, same in (
        (Presented("http", ANN, "b"), True),
        (Presented("http", LESS, "a"), True),  # limited since, by the configuration
        (Presented("http", LESS, "b"), False),
        (Presented("http", BOB, "a"), False),
        (None, False),
    ):
        assert same_rights(first, other) == same_rights(other, first) == same
    assert same_rights(None, None)


READ = UserContext(scopes=("read",), permissions=("filesystem.read",), steps=(("x", "write"),))
CALLS = replace(READ, permissions=("kernel.tool.invoke:a",))


@pytest.mark.parametrize(
    ("former", "now", "enough"),
    [
        (READ, replace(READ, scopes=("read", "write"), steps=()), True),
        (READ, replace(READ, scopes=("read", "w"), permissions=(*READ.permissions, "x")), True),
        (READ, replace(READ, scopes=("write",)), False),
        (READ, replace(READ, scopes=("read", "write"), permissions=("x",)), False),
        # What it names first of a kind, it has alone.
        (READ, replace(READ, permissions=(*READ.permissions, *CALLS.permissions)), False),
        (CALLS, replace(READ, permissions=(*READ.permissions, *CALLS.permissions)), False),
        (replace(READ, permissions=(NOTHING,)), CALLS, True),
        (READ, replace(READ, scopes=("read", "write"), trust="untrusted"), False),
        (READ, replace(READ, scopes=("read", "write"), resources=("/srv",)), False),
        # A token that says nothing, and one that names a scope.
        (None, UserContext(scopes=("read",)), True),
        (None, UserContext(scopes=("read",), trust="untrusted"), False),
    ],
)
def test_a_token_that_gained_scopes_has_at_least_the_rights_of_the_former_one(
    former: UserContext | None, now: UserContext, enough: bool
) -> None:
    ann = replace(ANN, token=True)
    before = Presented("http", replace(ann, user=() if former is None else (former,)), "a")
    after = Presented("http", replace(ann, user=(now,)), "b")
    assert at_least(after, before) == enough
    assert at_least(before, after) == (former == now)
    for other in (
        replace(after.caller, id="bob"),
        replace(after.caller, token=False),
        replace(after.caller, user=(now, now)),
    ):
        assert not at_least(Presented("http", other, "b"), before)
    assert not at_least(after, None)


FULL, SMALL = (), (UserContext(trust="untrusted"),)
SOME, MORE = ((UserContext(scopes=scopes),) for scopes in (("read",), ("read", "write")))


@pytest.mark.parametrize(
    ("former", "now", "enough"),
    [
        (Caller("ann", key_id="k1"), Caller("ann", key_id="k2"), True),
        (Caller("ann", key_id="k1"), Caller("ann", key_id="k1", user=SMALL), True),
        (Caller("ann", key_id="k1"), Caller("ann", key_id="k2", user=SMALL), False),
        (Caller("ann", key_id="k1", user=SMALL), Caller("ann", key_id="k2"), False),
        (Caller("ann", key_id="k1"), Caller("bob", key_id="k1"), False),
        (Caller("ann"), Caller("ann", user=SMALL), False),  # nobody knows with which key
        (ANONYMOUS, replace(ANONYMOUS, user=SMALL), True),  # limited since, by the configuration
        (Caller("me", "owner", user=SMALL), Caller("me", "owner"), True),
        # The `key_id` of a token names a client, which may have many.
        (Caller("ann", "agent", "c", True, SOME), Caller("ann", "agent", "c", True, MORE), True),
        (Caller("ann", "agent", "c", True, MORE), Caller("ann", "agent", "c", True, SOME), False),
        (Caller("ann", "agent", "c", True, SOME), Caller("ann", "agent", "c", False, MORE), False),
    ],
)
def test_of_what_outlasts_credentials_the_key_and_the_limits_are_compared(
    former: Caller, now: Caller, enough: bool
) -> None:
    assert has_all_of(now, former) == enough


def test_a_call_shows_who_makes_it_and_with_what() -> None:
    call = replace(a_call(caller=ANN), credential="a")
    assert shown_in(call) == Presented("http", ANN, "a")


def shown(session: Session, key: str) -> Session:
    """The same session with another key."""
    other = Session.__new__(Session)
    other.__dict__.update(session.__dict__)
    other._options = {**session._options, "key": key}
    return other


async def test_a_lost_answer_is_fetched_with_equal_rights_alone() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session(key="key-ann")
        broken = session.open("tools/call", TOLD, ident=8)
        tool.say(progress(1))
        primer = await broken.event()
        await broken.event()
        broken.leave()
        tool.say(text("secret"))
        less = shown(session, "key-ann-less")
        assert (await less.get(primer.id).whole()).status == 400
        assert (await less.get("9-0").whole()).body == (await less.get(primer.id).whole()).body
        resumed = await shown(session, "key-ann-2").get(primer.id).whole()
        assert resumed.messages[-1]["id"] == 8


async def test_what_the_stream_of_a_session_kept_is_not_for_a_key_with_other_limits() -> None:
    async with House() as house:
        session = await house.session(key="key-ann")
        house.upstream.tell("notifications/secret")
        less = shown(session, "key-ann-less").get("0-0")
        await less.head()
        house.upstream.tell("notifications/new")
        assert (await less.message())["method"] == "notifications/new"


async def test_who_carried_the_stream_of_a_session_hears_nothing_of_the_next_key_when_that_leaves() -> (
    None
):
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session(key="key-ann-less")
        less = session.get()
        await less.head()
        more = shown(session, "key-ann")
        own = more.get()
        await own.head()
        own.leave()
        await within(own.task)
        call = more.open("tools/call", TOLD, headers=JSON_ONLY)
        tool.say(progress(1), text("done"))
        await call.whole()
        assert (await less.whole()).messages == []


async def test_only_equal_rights_cancel_a_running_call() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        session = await house.session(key="key-ann")
        running = session.open("tools/call", CALL, ident=5)
        await within(hang.began.wait())
        cancel = rpc("notifications/cancelled", {"requestId": 5})
        await shown(session, "key-ann-less").send(cancel)
        assert (await shown(session, "key-ann-less").ask("ping"))["result"] == {}
        assert house.script.cancelled == []
        await shown(session, "key-ann-2").send(cancel)
        await within(running.task)
        assert house.script.cancelled == ["echo"]


async def test_who_gained_scopes_answers_cancels_and_fetches_what_was_begun_with_fewer() -> None:
    async with House() as house:
        house.script.does("echo", _asking)
        session = await house.session(capabilities={"elicitation": {}}, key="token-ann")
        more = shown(session, "token-ann-more")
        running = session.open("tools/call", CALL, ident=5)
        primer = await running.event()
        question = await running.message()
        running.leave()
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "ann"}}
        await more.send(json.dumps(answer).encode())
        answered = (await more.get(primer.id).whole()).messages[-1]
        assert answered["result"]["structuredContent"] == {"action": "ann"}
        house.script.does("echo", hang := Hang())
        for first, then, cancelled in ((more, session, []), (session, more, ["echo"])):
            hang.began.clear()
            running = first.open("tools/call", CALL, ident=6)
            await within(hang.began.wait())
            await then.send(rpc("notifications/cancelled", {"requestId": 6}))
            await then.ask("ping")
            assert house.script.cancelled == cancelled
            hang.end.set()
            await within(running.task)
            hang.end.clear()


async def _asking(call: Call, back: Back) -> Outcome:
    found = await back.ask(ELICIT)
    return Answer(json.dumps({"content": [], "structuredContent": found}).encode())


async def test_a_question_that_nobody_with_equal_rights_could_hear_is_not_waited_for() -> None:
    """The client reads no event streams, and another key carries the session's own."""

    async def asking(call: Call, back: Back) -> Outcome:
        with pytest.raises(CannotAsk, match="no stream"):
            await back.ask(ELICIT)
        return text("done")

    async with House() as house:
        house.script.does("echo", asking)
        session = await house.session(capabilities={"elicitation": {}}, key="key-ann")
        own = shown(session, "key-ann-less").get()
        await own.head()
        answered = await within(session.ask("tools/call", CALL, headers=JSON_ONLY))
        assert answered["result"]["content"][0]["text"] == "done"
        house.upstream.tell("notifications/new")
        assert (await own.message())["method"] == "notifications/new"


async def test_only_equal_rights_answer_the_question_of_a_call() -> None:
    async with House() as house:
        house.script.does("echo", _asking)
        session = await house.session(capabilities={"elicitation": {}}, key="key-ann")
        running = session.open("tools/call", CALL, ident=5)
        await running.event()
        question = await running.message()
        for key, name in (("key-ann-less", "eve"), ("key-ann-2", "ann")):
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": name}}
            await shown(session, key).send(json.dumps(answer).encode())
        answered = (await running.whole()).messages[-1]
        assert answered["result"]["structuredContent"] == {"action": "ann"}


@pytest.mark.parametrize("later", ["key-ann-less", "key-ann-2"])
async def test_a_call_that_waits_for_the_start_runs_with_the_credential_that_it_came_with(
    later: str,
) -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        session = await house.session(key="key-ann")
        started = asyncio.Event()

        async def settled() -> bool:
            await started.wait()
            return True

        house.front.settled = False
        house.upstream.settled = settled  # type: ignore[method-assign]
        waits: Any = session.open("tools/call", CALL)
        await asyncio.sleep(0.01)
        pinged = shown(session, later).open("ping")
        await within(pinged.task)
        started.set()
        await within(waits.task)
        assert [one.credential for one in house.script.calls] == ["key-ann"]


async def test_only_equal_rights_say_how_far_the_question_of_a_call_is() -> None:
    told: list[Any] = []

    async def asking(call: Call, back: Back) -> Outcome:
        params = {**(ELICIT.params or {}), "_meta": {"progressToken": "theirs"}}
        await back.ask(replace(ELICIT, params=params, progress=told.append))
        return text("done")

    async with House() as house:
        house.script.does("echo", asking)
        session = await house.session(capabilities={"elicitation": {}}, key="key-ann")
        running = session.open("tools/call", CALL, ident=5)
        await running.event()
        question = await running.message()
        token = question["params"]["_meta"]["progressToken"]
        for key, number in (("key-ann-less", 1), ("key-ann-2", 2)):
            params = {"progressToken": token, "progress": number}
            await shown(session, key).send(rpc("notifications/progress", params))
        assert [one["progress"] for one in told] == [2]
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
        await session.send(json.dumps(answer).encode())
        await running.whole()


async def test_a_request_is_of_the_caller_with_the_limits_of_the_key_that_it_came_with() -> None:
    """Hooks see it before anybody has looked at the credential once more."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        session = await house.session(key="key-ann")
        for key in ("key-ann", "key-ann-less"):
            await shown(session, key).ask("tools/call", CALL)
        assert [one.caller for one in house.script.calls] == [ANN, LESS]
