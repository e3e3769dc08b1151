"""The two-sided model is no model in which nothing happens, and its judge sees what should not be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_deciding import puts_off
from tests.behaviour.two_sided_facts import (
    HOSTS,
    MARK,
    REGISTERED,
    SERVERS,
    Asked,
    Question,
    handles,
    visible,
)
from tests.behaviour.two_sided_scene import inside
from tests.behaviour.two_sided_servers import Put


async def everybody_calls(house: House) -> None:
    """Everybody calls every server, is asked by it, answers, and hears the end; the gateway restarts between two rounds."""
    for _ in range(2):
        for name in HOSTS:
            for server in sorted(visible(name) - set(REGISTERED)):
                await one_call(house, name, server)
        await house.restart()


async def one_call(house: House, name: str, server: str) -> None:
    client = house.clients[name]
    client.request("tools/call", {"name": f"{server}__do"}, frozenset({server}))
    await house.rest()
    ((end, one),) = house.servers[server].work()
    text = f"about {one.mark} by-{server}"
    end.say(one.ident, method="notifications/message", params={"level": "info", "data": text})
    told = {"progressToken": one.params["_meta"]["progressToken"], "progress": 1, "message": text}
    end.say(one.ident, method="notifications/progress", params=told)
    if not end.server.modern:
        end.ask("elicitation/create", one, text, {})
        await house.rest()
        client.answer(0)
        await house.rest()
        assert not end.asked
    del end.work[one.ident]
    end.say(one.ident, id=one.ident, result={"resultType": "complete", "content": []})
    await house.rest()
    assert client.open == {}


def test_calls_questions_progress_and_logs_arrive_through_every_door(tmp_path: Path) -> None:
    house = inside(tmp_path, everybody_calls)
    assert house.faults == []
    pairs = sum(len(visible(name) - set(REGISTERED)) for name in HOSTS)
    assert sum(house.served.values()) == 2 * pairs
    asked = sum(
        SERVERS[server].get("era") != "modern"
        for name in HOSTS
        for server in visible(name) - set(REGISTERED)
    )
    assert house.heard["client asked"] == 2 * asked
    assert house.heard["client notifications/progress"] == 2 * pairs
    assert house.heard["client notifications/message"] == 2 * pairs


_BY_ONE = {"x": "by-one"}
TO_CLIENTS: dict[str, dict[str, Any]] = {
    "heard of": {"method": "notifications/message", "params": {"data": "about bob-1"}},
    "may not see": {"method": "notifications/message", "params": {"logger": "odd", "x": "by-odd"}},
    "a task of another client": {"id": 1, "result": {"x": "task-of-bob.0"}},
    "another server than": {"id": 1, "result": {"x": "about ann-1 by-two"}},
    "was answered by": {"id": 1, "result": {"x": "by-two"}},
    "never asked": {"id": 99, "result": {}},
    "had not called": {"id": "g", "method": "roots/list", "params": {"x": "by-two"}},
    "nobody may ask it": {"id": "g", "method": "tools/call", "params": _BY_ONE},
    "other era's way": {
        "id": 1,
        "result": {"inputRequests": {"q": {"method": "roots/list"}}, "x": "by-one"},
    },
    "context of other servers": {
        "id": "g",
        "method": "sampling/createMessage",
        "params": {"includeContext": "allServers", "x": "by-one"},
    },
    "without the server's name": {
        "id": "g",
        "method": "elicitation/create",
        "params": {"message": "by-one"},
    },
    "another place than a page": {
        "id": "g",
        "method": "elicitation/create",
        "params": {"message": 'Server "one" asks: by-one', "url": "javascript:x"},
    },
    "no server may tell": {"method": "notifications/mgp.tools", "params": {}},
    "is not its own         ": {
        "method": "notifications/mgp.event",
        "params": {"channel": "tool.x"},
    },
    "is not its own          ": {
        "method": "notifications/mgp.stream.chunk",
        "params": {"request_id": 1, "x": "about ann-1 by-one piece-0"},
    },
    "is not its own           ": {"method": "notifications/mgp.stream.progress", "params": {}},
    "is not its own            ": {
        "method": "notifications/mgp.callback.request",
        "params": {"callback_id": "cb-1", "request_id": 1, "message": "by-one put-one.q1"},
    },
    "is not its own": {"method": "notifications/resources/updated", "params": {"uri": "one://r"}},
    "is not its own ": {"method": "notifications/tools/list_changed"},
    "is not its own  ": {"method": "notifications/tasks/status", "params": {"taskId": "task_1"}},
    "is not its own   ": {"method": "notifications/progress", "params": {"progressToken": "z"}},
    "is not its own    ": {
        "method": "notifications/elicitation/complete",
        "params": {"elicitationId": "one/e"},
    },
    "is not its own     ": {
        "method": "notifications/message",
        "params": {"logger": "two/one", "x": "by-one"},
    },
    "is not its own      ": {"method": "notifications/mgp.audit", "params": {}},
    "is not its own       ": {"method": "notifications/cancelled", "params": {"requestId": "g7"}},
    "is not its own        ": {
        "method": "notifications/mgp.lifecycle",
        "params": {"server_id": "one"},
    },
    "none of its own": {
        "method": "notifications/message",
        "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 7}},
    },
    "only the gateway says": {"id": 1, "result": {"_meta": {"dev.gatewright/x": 1}, **_BY_ONE}},
    "of an approval": {"id": 1, "error": {"data": {"status": "pending_approval", **_BY_ONE}}},
    "not sealed": {"id": 1, "result": {"requestState": "state-of-one", **_BY_ONE}},
}
_OF_ANN = {"_meta": {MARK: "ann-1"}}
TO_SERVERS: dict[str, dict[str, Any]] = {
    "not meant for it": {"id": 20, "method": "prompts/get", "params": _OF_ANN},
    "do not let pass": {"id": 20, "method": "tools/call", "params": {"name": "no", **_OF_ANN}},
    "a call twice": {"id": 20, "method": "tools/call", "params": {"name": "do", **_OF_ANN}},
    "without an id": {"method": "tools/call", "params": {"name": "do", **_OF_ANN}},
    "what nobody asked": {"id": 20, "method": "tools/call", "params": {"name": "do"}},
    "its caller waits for": {"method": "notifications/cancelled", "params": {"requestId": -1}},
    "how far another is": {
        "method": "notifications/progress",
        "params": {"progressToken": "p1", "message": "says-bob/one.q1"},
    },
    "did not ask for": {"id": "q9", "result": {}},
    "bob answered one.q1 in place of one.q1": {"id": "q1", "result": {"x": "answer-of-bob/one.q1"}},
    "for another call": {
        "id": 20,
        "method": "tools/call",
        "params": {"name": "do", "requestState": "state-of-one bob-1 put-one.q1", **_OF_ANN},
    },
    "than its owner": {
        "id": 20,
        "method": "tasks/get",
        "params": {"taskId": "T-1", "_meta": {MARK: "ann-2"}},
    },
    "events that nobody wants": {
        "id": 20,
        "method": "mgp/events/subscribe",
        "params": {"channels": ["tool.x"]},
    },
    "did not begin": {"id": 20, "method": "mgp/events/unsubscribe", "params": {}},
    "whom it did not ask": {"id": 20, "method": "mgp/callback/respond", "params": {}},
    "a stream that nobody wants": {
        "id": 20,
        "method": "tools/call",
        "params": {"name": "do", "_mgp": {"stream": True}, **_OF_ANN},
    },
}


@pytest.mark.timeout(120)
def test_what_nobody_may_hear_is_a_fault(tmp_path: Path) -> None:
    """Each kind of fault, by a message that the gateway never sent."""
    missed: list[str] = []

    async def forge(house: House) -> None:
        client = house.clients["ann"]
        client.request("tools/call", {"name": "one__do"}, frozenset({"one"}))
        client.request("tasks/get", {"taskId": "T-1"}, frozenset({"one"}))
        await house.rest()
        client.ident, client.open = 1, {1: house.asked["ann-1"]}
        ((end, one),) = house.servers["one"].work()
        end.asked["q1"] = Put("roots/list", one.mark)
        end.tokens["p1"] = one.mark, "one.q1"
        end.make_task("bob")
        client.asked = [Question("g7", "roots/list", one.mark)]
        for fault, said in TO_CLIENTS.items():
            house.faults.clear()
            house.judge_client(client, {"jsonrpc": "2.0", **said}, None)
            if not any(fault.strip() in one for one in house.faults):
                missed.append(fault)
        for fault, said in TO_SERVERS.items():
            house.faults.clear()
            if fault == "its caller waits for":
                said["params"]["requestId"] = one.ident
            house.judge_server(end, {"jsonrpc": "2.0", **said})
            if not any(fault in one for one in house.faults):
                missed.append(fault)
        house.faults.clear()
        house.served["nobody", "tools/call", "one"] = 1

    house = inside(tmp_path, forge)
    assert missed == []
    assert any("the record names 0 of 1" in one for one in house.faults)


async def forged_about_what_waits(house: House) -> list[str]:
    """The faults that the judge does not see in forged messages about what waits for an operator."""
    for name in ("ann", "gus"):
        puts_off(house, name, "one", "")
        await house.rest()
    other, mine = house.asked["gus-1"], house.asked["ann-1"]
    (handle,), (theirs,) = handles(mine.heard), handles(other.heard)
    (request,) = (one.id for one in house.undecided() if house.known[one.id].agent == "gus")
    ann, (end,) = house.clients["ann"], house.servers["one"].ends
    ann.open[7] = Asked("ann-9", "tasks/get", frozenset({"one"}), may=True)
    ann.open[7].params = {"taskId": handle}
    house.asked["ann-9"] = Asked("ann-9", "tools/call", frozenset({"one"}), may=True)
    call = {"id": 20, "method": "tools/call"}
    words = {"name": "wait", "arguments": {"m": "ann-1"}, "_meta": {MARK: "ann-1"}}
    missed = []
    forged: dict[str, dict[str, Any]] = {
        "heard of what another waits for": {"method": "notifications/progress", "params": request},
        "a task of the gateway that is": {"id": 7, "result": {"taskId": theirs}},
        "what another call came to": {"id": 7, "result": {"x": "about ann-3 by-one"}},
        "what another call came to ": {"id": 7, "result": {"x": f"{handle} {theirs}"}},
        "no operator agreed to": {**call, "params": words},
        "had given up": {**call, "params": {**words, "_meta": {MARK: "ann-1"}}},
        "nobody asked an operator": {**call, "params": {**words, "_meta": {MARK: "ann-9"}}},
    }
    for fault, said in forged.items():
        house.faults.clear()
        mine.got.clear()
        mine.gone = fault == "had given up"
        if said.get("method") == "tools/call":
            house.judge_server(end, said)
        else:
            house.judge_client(ann, {**said, "params": {"x": said.get("params")}}, None)
        if not any(fault.strip() in one for one in house.faults):
            missed.append(fault)
    del ann.open[7]
    house.served.clear()
    return missed


def test_what_nobody_may_hear_of_what_waits_is_a_fault(tmp_path: Path) -> None:
    async def forge(house: House) -> None:
        assert house.clients["ann"].count == 0
        assert await forged_about_what_waits(house) == []
        house.faults.clear()

    assert inside(tmp_path, forge).faults == []


MISSING = (
    "did not get what an operator agreed to",
    "was not asked for anew under other rules",
    "was not told that an operator said no",
    "did not hear of its task",
    "was not told of its tasks",
)


def test_what_does_not_come_of_what_waits_is_a_fault(tmp_path: Path) -> None:
    async def forge(house: House) -> None:
        asked = puts_off(house, "ann", "one", "")
        line = puts_off(house, "cid", "evil", "")
        await house.rest()
        (handle,) = handles(asked.heard)
        wanted = house.waits[asked.mark]
        assert house.still(wanted) == [asked]
        house.yes[wanted, wanted.what] = 1
        house.must_run(wanted, [asked])
        house.must_ask_anew(wanted, [asked])  # it waits still
        assert len(house.faults) == 1
        house.must_ask_anew(wanted._replace(what="else"), [asked])
        house.must_end([line])
        silent = Asked("ann-9", "tasks/get", frozenset({"one"}), may=True)
        silent.heard = '{"tasks": []}'
        house.must_stand(handle, silent)
        house.must_list(house.clients["ann"], silent)
        for fault in MISSING:
            assert any(fault in one for one in house.faults), fault
        for status, fault in (("completed", "has ended"), ("cancelled", "is cancelled")):
            silent.heard = json.dumps({"taskId": handle, "status": status})
            house.must_stand(handle, silent)
            assert fault in house.faults[-1]
        house.faults.clear()

    assert inside(tmp_path, forge).faults == []


def test_what_a_server_asked_before_it_heard_of_a_cancellation_is_no_fault(tmp_path: Path) -> None:
    """Within the very step in which the call was given up, and about that call's servers alone."""

    async def forge(house: House) -> None:
        client = house.clients["ann"]
        asked = client.request("tools/call", {"name": "one__do"}, frozenset({"one"}))
        await house.rest()
        client.cancel(0)
        said = {"id": "g", "method": "roots/list", "params": {"x": "by-one"}}
        client.take(said, None)
        assert "had not called" in house.faults[0]
        house.faults.clear()
        house.crossed.add(asked.mark)
        client.take(said, None)
        assert house.faults == []
        client.take({**said, "params": {"x": "by-two"}}, None)
        assert "had not called" in house.faults[0]
        house.faults.clear()

    assert inside(tmp_path, forge).faults == []
