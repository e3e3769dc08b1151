"""Between callers and between servers: whoever is told anything asked for it, subscribed to it or owns it.

Four callers with different grants, profiles and revisions, three servers, one of which says anything at any time, every kind
of message both ways, connections that end and begin anew. `two_sided` judges each message from outside. How many steps:
`GATEWRIGHT_MODEL_STEPS`, 5,000 where it says nothing.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_judge import GRANTS

_EACH = 100
_STEPS = int(os.environ.get("GATEWRIGHT_MODEL_STEPS", "5000"))

callers = st.sampled_from(sorted(GRANTS))
servers = st.sampled_from(["one", "two", "evil"])
which = st.integers(0, 7)
asking = st.sampled_from(["elicitation/create", "sampling/createMessage", "roots/list"])
STRAY = [
    ("notifications/resources/updated", {"uri": "one://r"}),
    ("notifications/resources/updated", {"uri": "two://r"}),
    ("notifications/resources/updated", {"uri": "evil://r"}),
    ("notifications/tools/list_changed", {}),
    ("notifications/resources/list_changed", {}),
    ("notifications/message", {"level": "error", "logger": "gatewright", "data": ""}),
    ("notifications/message", {"level": "error", "logger": "one/db", "data": ""}),
    (
        "notifications/message",
        {"level": "error", "_meta": {"io.modelcontextprotocol/subscriptionId": 1}},
    ),
    ("notifications/tasks/status", {"taskId": "1", "status": "working"}),
    ("notifications/elicitation/complete", {"elicitationId": "1"}),
    ("notifications/mgp.audit", {"event_type": "TOOL_EXECUTED"}),
    ("notifications/cancelled", {"requestId": "one-q1"}),
    ("notifications/vendor", {"a": 1}),
]
RESULTS: list[dict[str, Any]] = [
    {"result": {"content": [], "_meta": {"dev.gatewright/redaction": {}}, "_mgp": {}}},
    {
        "result": {
            "resultType": "input_required",
            "requestState": "state-of-evil",
            "inputRequests": {},
        }
    },
    {"result": {"content": [{"type": "text", "text": "x"}], "requestState": 5}},
    {"error": {"code": 1, "message": "m", "data": {"status": "pending_approval", "_mgp": {}}}},
    {
        "error": {
            "code": -32042,
            "message": "m",
            "data": {"elicitations": [{"url": "javascript:x"}]},
        }
    },
]
FORGED = [
    ("tools/call", None),
    ("initialize", None),
    ("shutdown", None),
    ("logging/setLevel", None),
    ("notifications/vendor", None),
    ("notifications/tools/list_changed", None),
    ("notifications/roots/list_changed", None),
    ("Tools/Call", 1),
    ("tools//call", 1),
    ("vendor/any", 1),
    ("tasks/cancel", 1),
    ("tasks/get", 1),
]


def inside(act: Callable[..., Any]) -> Callable[..., None]:
    """One step: it happens in the loop of the house, which then comes to rest."""

    async def step(self: TwoSided, words: dict[str, Any]) -> None:
        waits = act(self, **words)
        if waits is not None:
            await waits
        await self.house.turns()

    @wraps(act)
    def rule_(self: TwoSided, **words: Any) -> None:
        self.loop.run_until_complete(step(self, words))

    return rule_


class TwoSided(RuleBasedStateMachine):
    """See the module's text."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.house = House(self.folder)
        self.loop.run_until_complete(self.house.open())

    # -- clients

    @rule(who=callers, server=servers)
    @inside
    def a_client_calls(self, who: str, server: str) -> None:
        self.house.clients[who].call(server)

    @rule(who=callers, server=servers, form=st.sampled_from(FORGED), more=which)
    @inside
    def a_client_says_what_it_may_not(self, who: str, server: str, form: Any, more: int) -> None:
        client, (method, ident) = self.house.clients[who], form
        if method == "tools/call":
            client.call(server, quiet=True)
        else:
            params = {"name": f"{server}__{server}-tool", "taskId": str(more), "level": "debug"}
            said: dict[str, Any] = {"method": method, "params": params}
            client.say(**said, **({} if ident is None else {"id": self.house.number()}))

    @rule(who=callers, other=callers, number=st.integers(0, 4))
    @inside
    def a_client_answers_what_another_was_asked(self, who: str, other: str, number: int) -> None:
        asked = self.house.clients[other].asked
        ident = asked[number % len(asked)][0] if asked else f"gw-{number}"
        words = {"action": "accept", "content": {"who": f"answer-of-{who}"}}
        mine = {one[0] for one in self.house.clients[who].asked}
        if ident not in mine:
            self.house.clients[who].say(id=ident, result=words)

    @rule(who=callers, number=which)
    @inside
    def a_client_answers_what_it_was_asked(self, who: str, number: int) -> None:
        self.house.clients[who].answer(number)

    @rule(who=callers, number=which)
    @inside
    def a_client_cancels(self, who: str, number: int) -> None:
        client = self.house.clients[who]
        if client.open:
            ident = sorted(client.open)[number % len(client.open)]
            client.say(method="notifications/cancelled", params={"requestId": ident})
            del client.open[ident]

    @rule(who=callers, server=servers)
    @inside
    def a_client_subscribes(self, who: str, server: str) -> None:
        client, uri = self.house.clients[who], f"{server}://r"
        if not client.modern:
            client.subscribed.add(uri)
            client.say(id=self.house.number(), method="resources/subscribe", params={"uri": uri})

    @rule(who=callers)
    @inside
    def a_client_comes_back(self, who: str) -> None:
        client = self.house.clients[who]
        client.pipe.close()
        client.subscribed.clear()
        client.connect()

    # -- servers

    @rule(server=servers, number=which, form=st.sampled_from([None, *RESULTS]))
    @inside
    def a_server_answers(self, server: str, number: int, form: dict[str, Any] | None) -> None:
        calls = self.house.servers[server].calls
        if calls:
            pipe, ident, mark = calls[number % len(calls)]
            if mark in pipe.asked.values() and server != "evil":
                return  # a call waits for its own question
            del pipe.calls[ident]
            text = f"about {mark} by-{server}"
            said: dict[str, Any] = {"result": {"content": [{"type": "text", "text": text}]}}
            if server == "evil" and form is not None:
                ((kind, body),) = form.items()
                said = {kind: {**body, "x": text}}
            pipe.say(id=ident, **said)

    @rule(server=servers, number=which, method=asking)
    @inside
    def a_server_asks(self, server: str, number: int, method: str) -> None:
        calls = self.house.servers[server].calls
        if calls:
            pipe, _, mark = calls[number % len(calls)]
            pipe.ask(method, mark)

    @rule(server=servers, number=which)
    @inside
    def a_server_logs_and_tells_progress(self, server: str, number: int) -> None:
        calls = self.house.servers[server].calls
        if calls:
            pipe, ident, mark = calls[number % len(calls)]
            text = f"about {mark} by-{server}"
            pipe.say(method="notifications/message", params={"level": "info", "data": text})
            token = {"progressToken": ident, "progress": 1, "message": text}
            pipe.say(method="notifications/progress", params=token)

    @rule(server=servers, form=st.sampled_from(STRAY))
    @inside
    def a_server_says_something_at_no_call(self, server: str, form: Any) -> None:
        method, params = form
        for pipe in self.house.servers[server].pipes:
            pipe.say(method=method, params={**params, "x": f"by-{server}"})

    @rule(
        number=st.integers(0, 60), kind=st.sampled_from(["result", "progress", "ask", "request_id"])
    )
    def the_hostile_one_guesses_numbers(self, number: int, kind: str) -> None:
        for pipe in list(self.house.servers["evil"].pipes):
            words = {"x": "by-evil", "message": "by-evil", "requestedSchema": {}}
            if kind == "result":
                pipe.calls.pop(number, None)
                pipe.say(id=number, result={"content": [], **words})
            elif kind == "progress":
                params = {"progressToken": number, "progress": 1, **words}
                pipe.say(method="notifications/progress", params=params)
            elif kind == "ask":
                pipe.say(
                    id=f"free-{self.house.number()}", method="elicitation/create", params=words
                )
            else:
                params = {"request_id": number, "_meta": {"progressToken": number}, **words}
                pipe.say(method="notifications/message", params={"level": "info", **params})

    @rule(server=servers)
    @inside
    def a_server_dies(self, server: str) -> Coroutine[Any, Any, None]:
        for pipe in list(self.house.servers[server].pipes):
            pipe.pipe.close()
        return self.house.back(server)

    @invariant()
    def nobody_got_what_is_anothers(self) -> None:
        assert self.house.faults == []

    def teardown(self) -> None:
        self.loop.run_until_complete(self.house.close())
        self.loop.close()
        shutil.rmtree(self.folder)
        assert self.house.faults == []


TestTwoSided = TwoSided.TestCase
TestTwoSided.settings = settings(
    max_examples=max(1, _STEPS // _EACH),
    stateful_step_count=_EACH,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


async def test_the_model_is_no_model_in_which_nothing_happens(tmp_path: Path) -> None:
    """Calls arrive, questions are asked and answered, and the judge hears it."""
    house = House(tmp_path)
    await house.open()
    try:
        for who, server in (("ann", "one"), ("bob", "evil"), ("dan", "one")):
            house.clients[who].call(server)
            await house.turns()
            for pipe, ident, mark in house.servers[server].calls:
                pipe.ask("elicitation/create", mark)
                await house.turns()
                house.clients[who].answer(0)
                await house.turns()
                pipe.say(id=ident, result={"content": [{"type": "text", "text": f"by-{server}"}]})
                del pipe.calls[ident]
            await house.turns()
            assert house.clients[who].open == {}
        assert house.served == [("ann", "one"), ("bob", "evil"), ("dan", "one")]
        assert house.questions == 3
    finally:
        await house.close()
    assert house.faults == []
