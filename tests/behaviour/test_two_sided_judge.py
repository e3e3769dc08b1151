"""The two-sided model is no model in which nothing happens, and its judge sees what should not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_clients import Question
from tests.behaviour.two_sided_facts import HOSTS, MARK, SERVERS, visible
from tests.behaviour.two_sided_scene import inside
from tests.behaviour.two_sided_servers import Put


async def everybody_calls(house: House) -> None:
    """Everybody calls every server, is asked by it, answers, and hears the end; the gateway restarts between two rounds."""
    for _ in range(2):
        for name in HOSTS:
            for server in sorted(visible(name)):
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
    pairs = sum(len(visible(name)) for name in HOSTS)
    assert sum(house.served.values()) == 2 * pairs
    asked = sum(
        SERVERS[server].get("era") != "modern" for name in HOSTS for server in visible(name)
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
    "no server may tell": {"method": "notifications/mgp.event", "params": {}},
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
