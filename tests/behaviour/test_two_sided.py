"""Between callers and between servers: whoever is told anything asked for it, subscribed to it or owns it.

Eight clients with different grants, profiles, revisions and transports, seven servers, one of which says anything at any time, every kind of
message both ways, connections that end and begin anew, a gateway that restarts. `two_sided_judge` judges each message from outside. How many
steps: `GATEWRIGHT_MODEL_STEPS`, 5,000 where it says nothing.
"""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from gatewright.wire.mcp import META_SUBSCRIPTION
from tests.behaviour.two_sided_facts import HOSTS, KINDS, SERVERS, visible
from tests.behaviour.two_sided_hostile import RESULTS, Hostile
from tests.behaviour.two_sided_servers import End, Work
from tests.behaviour.two_sided_steps import anything, callers, inside, servers, which

_EACH = 100
_STEPS = int(os.environ.get("GATEWRIGHT_MODEL_STEPS", "5000"))

asking = st.sampled_from(["elicitation/create", "sampling/createMessage", "roots/list"])
_LED = frozenset(
    {
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
    }
)
"""What may reach a server where it is asked as it has to be; rules of their own do that."""
_HEARD = frozenset({"notifications/roots/list_changed", "notifications/cancelled"})


class TwoSided(Hostile):
    """See the module's text."""

    # -- clients

    @rule(who=callers, server=servers, task=st.booleans())
    @inside
    def a_client_calls(self, who: str, server: str, task: bool) -> None:
        params: dict[str, Any] = {"name": f"{server}__do", "arguments": {}}
        if task and HOSTS[who].revision == "2025-11-25":
            params["task"] = {}
        self.house.clients[who].request("tools/call", params, frozenset({server}))

    @rule(who=callers, server=servers, kind=st.sampled_from(["prompt", "complete", "template"]))
    @inside
    def a_client_asks_for_something_else(self, who: str, server: str, kind: str) -> None:
        method, params = "prompts/get", dict[str, Any]({"name": f"{server}__p"})
        whose = frozenset({server})
        if kind == "complete":
            method = "completion/complete"
            ref = {"type": "ref/prompt", "name": f"{server}__p"}
            params = {"ref": ref, "argument": {"name": "a", "value": ""}}
        elif kind == "template":
            method, params = "resources/read", {"uri": f"{server}://r/x"}
            whose = whose if server in visible(who) else frozenset({"evil"})
        self.house.clients[who].request(method, params, whose)

    @rule(who=callers)
    @inside
    def a_client_lists(self, who: str) -> None:
        self.house.clients[who].request("resources/list", {}, visible(who))

    @rule(
        who=callers,
        number=which,
        method=st.sampled_from(["read", "subscribe", "subscribe", "unsubscribe"]),
    )
    @inside
    def a_client_follows_a_list(self, who: str, number: int, method: str) -> None:
        client = self.house.clients[who]
        if not client.listed:
            return
        uri = sorted(client.listed)[number % len(client.listed)]
        whose = frozenset(client.listed[uri])
        if method == "read":
            client.request("resources/read", {"uri": uri}, whose)
            return
        if method == "subscribe":
            client.wants[uri] = set(whose)
        if not client.modern:
            client.request(f"resources/{method}", {"uri": uri}, whose)
        elif method == "subscribe":
            wanted = {f"{kind}ListChanged": True for kind in KINDS[: number % 4]}
            params = {"notifications": {**wanted, "resourceSubscriptions": [uri]}}
            client.request("subscriptions/listen", params, whose)

    @rule(who=callers, method=anything, server=servers, request=st.booleans(), more=which)
    @inside
    def a_client_says_what_reaches_nobody(
        self, who: str, method: str, server: str, request: bool, more: int
    ) -> None:
        if (request and method in _LED) or (not request and method in _HEARD):
            return
        params: dict[str, Any] = {
            "name": f"{server}__no",
            "uri": f"{server}://r",
            "taskId": f"T-{more}",
        }
        params |= {"level": "debug", "progressToken": f"p{more}", "requestId": more}
        if request and method == "initialize":
            return  # a session is begun once, and this would be an id of it
        if not request:
            params["name"] = f"{server}__do"
        client = self.house.clients[who]
        client.request(method, params, frozenset(SERVERS), may=False, ident=request)

    @rule(who=callers, other=callers, number=which, error=st.booleans())
    @inside
    def a_client_answers_what_another_was_asked(
        self, who: str, other: str, number: int, error: bool
    ) -> None:
        client, asked = self.house.clients[who], self.house.clients[other].asked
        ident = asked[number % len(asked)].ident if asked else f"gw-{number}"
        if ident not in {one.ident for one in client.asked} and not client.modern:
            said = {"error": {"code": 1, "message": "m"}} if error else {"result": client.words("")}
            client.say(id=ident, **said)
            token = {"progressToken": ident, "progress": 1, "message": f"says-{who}"}
            client.say(method="notifications/progress", params=token)

    @rule(who=callers, other=callers, number=which)
    @inside
    def a_client_shows_the_state_of_another(self, who: str, other: str, number: int) -> None:
        client = self.house.clients[who]
        states = [one for one in self.house.clients[other].asked if one.state]
        if states and who != other and HOSTS[who].agent != HOSTS[other].agent:
            one = states[number % len(states)]
            known = self.house.asked[one.mark]
            more = {"requestState": one.state, "inputResponses": {"q1": client.words("")}}
            params = {**known.params, **more}
            client.request(known.method, params, frozenset(), may=False)

    @rule(who=callers, other=callers)
    @inside
    def a_client_uses_the_session_of_another(self, who: str, other: str) -> None:
        client, session = self.house.clients[who], self.house.clients[other].session
        if client.session and session and HOSTS[who].agent != HOSTS[other].agent:
            client.session, mine = session, client.session
            params = {"name": "far__do", "arguments": {}}
            client.request("tools/call", params, frozenset(), may=False)
            client.session = mine

    @rule(who=callers, number=which, progress=st.booleans())
    @inside
    def a_client_answers_what_it_was_asked(self, who: str, number: int, progress: bool) -> None:
        self.house.clients[who].answer(number, progress and number > 4)

    @rule(who=callers, number=which)
    @inside
    def a_client_cancels(self, who: str, number: int) -> None:
        client = self.house.clients[who]
        if client.open:
            client.cancel(number)
        client.say(method="notifications/cancelled", params={"requestId": client.ident + number})

    @rule(
        who=callers,
        other=callers,
        number=which,
        verb=st.sampled_from(["get", "result", "cancel", "update", "list"]),
    )
    @inside
    def a_client_asks_about_a_task(self, who: str, other: str, number: int, verb: str) -> None:
        client, agent = self.house.clients[who], HOSTS[other].agent
        known = sorted(self.house.tasks.get(agent, {}))
        task = known[number % len(known)] if known and number < 6 else f"T-{number - 5}"
        whose = self.house.tasks.get(HOSTS[who].agent, {}).get(task, set())
        if verb == "list":
            client.request("tasks/list", {}, visible(who))
        else:
            client.request(f"tasks/{verb}", {"taskId": task}, frozenset(whose), may=bool(whose))

    @rule(who=callers, kind=st.sampled_from(["ask", "told", "level", "roots"]))
    @inside
    def a_client_says_what_is_led_to_servers(self, who: str, kind: str) -> None:
        client, two = self.house.clients[who], frozenset({"two"})
        if kind == "ask":
            client.request("acme/ask", {}, two)
        elif kind == "told":
            client.request("notifications/acme.told", {}, two, ident=False)
        elif kind == "level" and not client.modern:
            client.request("logging/setLevel", {"level": "debug"}, visible(who))
        elif kind == "roots" and not client.modern:
            for server in visible(who):
                self.house.roots[server] += 1
            method = "notifications/roots/list_changed"
            client.request(method, {}, visible(who), ident=False)

    @rule(who=callers)
    @inside
    def a_client_comes_back(self, who: str) -> Coroutine[Any, Any, None]:
        self.house.clients[who].close()
        return self._connects(who)

    async def _connects(self, who: str) -> None:
        await self.house.turns()
        self.house.clients[who].connect()

    # -- servers

    def _work(self, server: str, number: int) -> tuple[End, Work] | None:
        found = self.house.servers[server].work()
        return found[number % len(found)] if found else None

    @rule(server=servers, number=which, form=st.sampled_from([None, "task", "task", *RESULTS]))
    @inside
    def a_server_answers(self, server: str, number: int, form: Any) -> None:
        found = self._work(server, number)
        if found is None:
            return
        end, one = found
        honest = not end.server.hostile
        if honest and one.mark in {put.mark for put in end.asked.values()}:
            return  # a call waits for its own question
        del end.work[one.ident]
        text = f"about {one.mark} by-{server}"
        said: dict[str, Any] = {"result": {"content": [{"type": "text", "text": text}]}}
        if form == "task" and one.method == "tools/call":
            if "task" in one.params or "io.modelcontextprotocol/tasks" in str(one.params):
                agent = HOSTS[one.mark.partition("-")[0]].agent
                said = {"result": end.make_task(agent)}
        elif form is not None and form != "task" and not honest:
            ((kind, body),) = form.items()
            said = {kind: {**body, "x": text}}
        if end.server.modern and "resultType" not in said["result"]:
            said["result"]["resultType"] = "complete"
        end.say(one.ident, id=one.ident, **said)

    @rule(server=servers, number=which, method=asking, page=st.booleans())
    @inside
    def a_server_asks(self, server: str, number: int, method: str, page: bool) -> None:
        found = self._work(server, number)
        if found is None:
            return
        end, one = found
        whole = {each.mark.partition("-")[0] for each in end.work.values()}
        text = f"about {one.mark} by-{server}"
        more: dict[str, Any] = {}
        if page and method == "elicitation/create":
            more = {"mode": "url", "url": "https://example.org/", "elicitationId": f"e{number}"}
        if end.server.modern:
            if one.method not in ("tools/call", "prompts/get", "resources/read"):
                return
            del end.work[one.ident]
            form = {"message": text, "requestedSchema": {"type": "object", "properties": {}}}
            wanted = {"q1": {"method": "elicitation/create", "params": {**form, **more}}}
            state = f"state-of-{server} {one.mark}"
            words = {"inputRequests": wanted, "requestState": state}
            end.say(one.ident, id=one.ident, result={"resultType": "input_required", **words})
        elif end.server.hostile and len(whole) > 1:
            end.ask(method, None, f"by-{server}", more)  # whose it is, it could not know
        else:
            end.ask(method, one, text, more)

    @rule(server=servers, number=which)
    @inside
    def a_server_takes_a_question_back(self, server: str, number: int) -> None:
        every = [(end, one) for end in self.house.servers[server].ends for one in end.asked]
        if every and number < 4:
            end, ident = every[number % len(every)]
            end.withdraw(ident)

    @rule(server=servers, number=which, kind=st.sampled_from(["log", "progress", "done"]))
    @inside
    def a_server_speaks_of_its_work(
        self, server: str, number: int, kind: str
    ) -> Coroutine[Any, Any, None] | None:
        found = self._work(server, number)
        if found is None:
            return None
        end, one = found
        text = f"about {one.mark} by-{server}"
        if kind == "done":
            page = {"elicitationId": f"e{number}", "x": f"by-{server}"}
            end.say(None, method="notifications/elicitation/complete", params=page)
            return None
        note: dict[str, Any] = {"level": "info", "data": text}
        if kind == "progress":
            token = (one.params.get("_meta") or {}).get("progressToken")
            note = {"progressToken": token, "progress": number, "message": text}
        heard = self.house.told[one.mark, kind]
        method = "message" if kind == "log" else kind
        end.say(one.ident, method=f"notifications/{method}", params=note)
        exact = kind == "progress" or "web" in SERVERS[server]
        return self._arrives(one, kind, heard) if exact else None

    async def _arrives(self, one: Work, kind: str, heard: int) -> None:
        """What belongs to a call for certain is heard by its caller while that waits."""
        asked = self.house.asked[one.mark]
        client = self.house.clients[asked.who]
        waits = asked in client.open.values() and not asked.gone
        parked = any(each.mark == one.mark and each.state for each in client.asked)
        await self.house.turns(30)
        if waits and not parked and self.house.told[one.mark, kind] == heard:
            self.house.fault(f"{asked.who} did not hear of its call ({kind})", one.mark)

    @rule(server=servers, kind=st.sampled_from(["tasks", "tasks", "update", *KINDS]), number=which)
    @inside
    def a_server_says_what_changed(self, server: str, kind: str, number: int) -> None:
        words = f"by-{server}"
        for end in list(self.house.servers[server].ends):
            meta = {"_meta": {META_SUBSCRIPTION: end.listens[-1]}} if end.listens else {}
            if kind == "tasks":
                for task in end.tasks:
                    note = f"notifications/tasks{'' if number % 2 else '/status'}"
                    end.say(None, method=note, params=end.task(task))
            elif kind == "update":
                uri = f"{server}://r" if number % 2 else "any://r"
                params = {"uri": uri, "x": words, **meta}
                end.say(None, method="notifications/resources/updated", params=params)
            else:
                self.house.promised(server, kind)
                end.say(None, method=f"notifications/{kind}/list_changed", params=dict(meta))

    @rule(server=servers, again=which)
    @inside
    def a_server_dies(self, server: str, again: int) -> Coroutine[Any, Any, None] | None:
        return self.house.dies(server) if again < 3 else None

    # -- the gateway

    @rule(seconds=st.sampled_from([0.1, 0.1, 1.5, 1.5, 40.0]))
    @inside
    def time_goes_by(self, seconds: float) -> Coroutine[Any, Any, None]:
        return self.house.pass_time(seconds)

    @rule(one=which, other=which)
    @inside
    def the_gateway_restarts(self, one: int, other: int) -> Coroutine[Any, Any, None] | None:
        return self.house.restart() if one == 5 and other < 3 else None


TestTwoSided = TwoSided.TestCase
_timed: Any = TestTwoSided
_timed.pytestmark = [pytest.mark.timeout(180 + _STEPS // 5)]
del _timed  # pytest would collect it as a second one
TestTwoSided.settings = settings(
    max_examples=max(1, _STEPS // _EACH),
    stateful_step_count=_EACH,
    deadline=None,
    phases=(
        Phase.reuse,
        Phase.generate,
    ),  # a failure names its message; shrinking would take an hour
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
