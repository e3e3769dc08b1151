"""What the clients of the two-sided model say: calls, answers, what they follow and give up, and what is not theirs to say."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from gatewright.servers.names import unwrap_uri
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import (
    HOSTS,
    KINDS,
    MODERN,
    SERVERS,
    TAKES_TASKS,
    Asked,
    visible,
)
from tests.behaviour.two_sided_offers import LISTS
from tests.behaviour.two_sided_speaking import LINKS, Speaking, any_work, asking
from tests.behaviour.two_sided_steps import anything, callers, inside, servers, where, which

__all__ = ["TASKING", "Calling"]

_LED = frozenset(
    {
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
        "tasks/list",
    }
)
"""What may reach a server where it is asked as it has to be; rules of their own do that."""
_HEARD = frozenset({"notifications/roots/list_changed", "notifications/cancelled"})
TASKING = [name for name, host in HOSTS.items() if host.revision == "2025-11-25"] + [*TAKES_TASKS]


class Calling(Speaking):
    """See the module's text."""

    def _near(self, who: str, server: str, number: int) -> str:
        """A server that the client may see, seldom one that it may not."""
        seen = sorted(visible(who))
        return server if number == 7 else seen[(sorted(SERVERS).index(server) + number) % len(seen)]

    def _calls(self, who: str, server: str, task: bool = False) -> Asked:
        params: dict[str, Any] = {"name": f"{server}__do", "arguments": {}}
        if task and HOSTS[who].revision == "2025-11-25":
            params["task"] = {}
        return self.house.clients[who].request("tools/call", params, frozenset({server}))

    # -- calls

    @rule(who=callers, server=servers, number=which, task=st.booleans())
    @inside
    def a_client_calls(self, who: str, server: str, number: int, task: bool) -> None:
        self._calls(who, self._near(who, server, number), task)

    @rule(who=callers, other=callers, number=which)
    @inside
    def two_call_one_server(self, who: str, other: str, number: int) -> None:
        both = sorted(visible(who) & visible(other))
        if both:
            self._calls(who, both[number % len(both)])
            self._calls(other, both[number % len(both)])

    @rule(who=st.sampled_from(TASKING), server=servers, number=which)
    @inside
    def a_call_becomes_a_task(
        self, who: str, server: str, number: int
    ) -> Coroutine[Any, Any, None]:
        asked = self._calls(who, self._near(who, server, number), task=True)
        return self._task_of(asked, "same" if number == 6 else "task")

    async def _task_of(self, asked: Asked, form: str) -> None:
        await self.house.rest()
        for end, one in self.house.every_work():
            if one.mark == asked.mark:
                self._answers(end, one, form)

    @rule(who=callers, server=servers, number=which, method=asking, page=st.booleans())
    @inside
    def a_call_leads_to_a_question(
        self, who: str, server: str, number: int, method: str, page: bool
    ) -> Coroutine[Any, Any, None]:
        asked = self._calls(who, self._near(who, server, number))
        return self._asked_about(asked, method, page)

    async def _asked_about(self, asked: Asked, method: str, page: bool) -> None:
        await self.house.rest()
        for end, one in self.house.every_work():
            if one.mark == asked.mark:
                self._asks(end, one, method, page)

    @rule(
        who=callers,
        server=servers,
        number=which,
        kind=st.sampled_from(["prompt", "complete", "template"]),
    )
    @inside
    def a_client_asks_for_something_else(
        self, who: str, server: str, number: int, kind: str
    ) -> None:
        server = self._near(who, server, number)
        method, params = "prompts/get", dict[str, Any]({"name": f"{server}__p"})
        whose = frozenset({server})
        if kind == "complete":
            method = "completion/complete"
            ref = {"type": "ref/prompt", "name": f"{server}__p"}
            params = {"ref": ref, "argument": {"name": "a", "value": ""}}
        elif kind == "template":
            method, params = "resources/read", {"uri": f"{server}://r/x"}
            # It may list what is anybody's; what was registered and is gone claims nothing.
            evil = frozenset({"evil"} if not self.house.there(server) else ())
            whose = whose | evil if server in visible(who) else frozenset({"evil"})
        self.house.clients[who].request(method, params, whose)

    @rule(who=callers, method=st.sampled_from(["resources/list", "resources/list", *LISTS]))
    @inside
    def a_client_lists(self, who: str, method: str) -> None:
        self.house.clients[who].request(method, {}, visible(who))

    @rule(
        who=callers,
        number=which,
        method=st.sampled_from(["read", "subscribe", "subscribe", "unsubscribe"]),
    )
    @inside
    def a_client_follows_a_list(
        self, who: str, number: int, method: str
    ) -> Coroutine[Any, Any, None]:
        return self._follows(self.house.clients[who], number, method)

    async def _follows(self, client: Client, number: int, method: str) -> None:
        if not client.listed:
            client.request("resources/list", {}, visible(client.name))
            await self.house.rest()
        if not client.listed:
            return
        uri = sorted(client.listed)[number % len(client.listed)]
        if method == "unsubscribe" and client.holds:
            uri = sorted(client.holds)[number % len(client.holds)]
        whose = frozenset(client.listed.get(uri) or client.wants[uri])
        if method == "read":
            await self._reads(client, number)
            return
        client.holds.pop(uri, None)
        if method == "subscribe":
            client.wants[uri] = set(whose)
        if not client.modern:
            client.request(f"resources/{method}", {"uri": uri}, whose)
        elif method == "subscribe":
            wanted = {f"{kind}ListChanged": True for kind in KINDS[: number % 4]}
            params = {"notifications": {**wanted, "resourceSubscriptions": [uri]}}
            client.request("subscriptions/listen", params, whose)

    async def _reads(self, client: Client, number: int) -> None:
        """What is listed now can be read, and is its server's."""
        client.request("resources/list", {}, visible(client.name))
        await self.house.rest()
        if client.listed:
            uri = sorted(client.listed)[number % len(client.listed)]
            whose = client.listed[uri]
            asked = client.request("resources/read", {"uri": uri}, frozenset(whose))
            await self.house.rest()
            self.house.must_reach(asked, next(iter(whose)))

    @rule(who=callers, number=which, other=callers)
    @inside
    def the_hostile_one_takes_what_somebody_holds(
        self, who: str, number: int, other: str
    ) -> Coroutine[Any, Any, None]:
        return self._taken(self.house.clients[who], number, other)

    async def _taken(self, client: Client, number: int, other: str) -> None:
        await self._follows(client, number, "subscribe")
        await self.house.rest()
        held = [server for _, server in client.waits_for]
        evil = self.house.servers["evil"]
        evil.foreign = held[number % len(held)] if held else ""
        for end in list(evil.ends):
            self.house.promised("evil", "resources")
            end.say(None, method="notifications/resources/list_changed", params={})
        await self.house.rest()
        await self.house.pass_time(1.5)
        for end in list(evil.ends):
            self._updated(end, f"{evil.foreign}://r")
        await self.house.rest()
        await self._reads(self.house.clients[other], number)

    @rule(who=callers, server=servers, number=which, other=callers)
    @inside
    def a_result_names_a_resource(
        self, who: str, server: str, number: int, other: str
    ) -> Coroutine[Any, Any, None]:
        asked = self._calls(who, self._near(who, server, number))
        return self._named(asked, LINKS[number % 4], other)

    async def _named(self, asked: Asked, form: str, other: str) -> None:
        await self.house.rest()
        for end, one in self.house.every_work():
            if one.mark == asked.mark:
                self._answers(end, one, form)
        await self.house.rest()
        host = HOSTS[asked.who]
        for uri in list(self.house.links.get((host.agent, host.profile), ())):
            self._follows_a_link(other, uri)

    @where(lambda house: house.links)
    @rule(who=callers, other=callers, number=which)
    @inside
    def a_client_follows_a_link(self, who: str, other: str, number: int) -> None:
        their = HOSTS[other]
        shown = sorted(self.house.links.get((their.agent, their.profile), ()))
        if not shown:
            return
        self._follows_a_link(who, shown[number % len(shown)])

    def _follows_a_link(self, who: str, uri: str) -> None:
        host = HOSTS[who]
        mine = frozenset(self.house.links.get((host.agent, host.profile), {}).get(uri, ()))
        target = unwrap_uri(uri)  # that form needs nobody to have shown it
        seen = visible(who)
        listed = uri.partition("://r")
        if listed[1]:  # for whoever may see who lists it, and the hostile one lists what it likes
            mine = mine | {listed[0], "evil"}
        mine = seen if len(seen) == 1 else mine  # all goes there that nobody else could have
        if uri in self.house.stale:  # what named it is there no more, and what has its id did not
            mine = frozenset()
        whose = frozenset(mine if target is None else {target.server}) & seen
        client = self.house.clients[who]
        client.request("resources/read", {"uri": uri}, whose, may=bool(whose))

    # -- what is not its own

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
        token = asked[number % len(asked)].token if asked else f"gw-{number}"
        if ident not in {one.ident for one in client.asked} and not client.modern:
            said = {"error": {"code": 1, "message": "m"}} if error else {"result": client.words("")}
            client.say(id=ident, **said)
        if token not in {one.token for one in client.asked}:
            params = {"progressToken": token, "progress": 1, "message": f"says-{who}/"}
            client.say(method="notifications/progress", params=params)

    @rule(who=callers, other=callers, number=which)
    @inside
    def a_client_shows_the_state_of_another(self, who: str, other: str, number: int) -> None:
        client = self.house.clients[who]
        states = [one for one in self.house.clients[other].asked if one.state]
        if not states:
            return
        one, mine = states[number % len(states)], HOSTS[who]
        known, their = self.house.asked[one.mark], HOSTS[other]
        params = {**known.params, "requestState": one.state}
        params["inputResponses"] = dict.fromkeys(one.keys, client.words("", "".join(one.puts)))
        if (mine.agent, mine.wire, mine.profile) != (their.agent, their.wire, their.profile):
            client.request(known.method, params, frozenset(), may=False)
        elif who == other:  # its own, for another call
            params |= {"name": f"{number}__no", "uri": f"no://{number}"}
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

    # -- questions, and what it gives up

    @where(lambda house: any(one.asked for one in house.clients.values()))
    @rule(number=any_work, one=which, progress=st.booleans())
    @inside
    def a_client_answers_what_it_was_asked(
        self, number: int, one: int, progress: bool
    ) -> Coroutine[Any, Any, None] | None:
        asked = [each for each in self.house.clients.values() if each.asked]
        client = asked[number % len(asked)]
        question = client.answer(one, progress and one > 3)
        return None if question is None else self._answered(client, question)

    async def _answered(self, client: Client, question: Any) -> None:
        await self.house.rest()
        self.house.must_be_answered(client, question)

    @where(lambda house: any(one.open for one in house.clients.values()))
    @rule(who=which, number=which)
    @inside
    def a_client_cancels(self, who: int, number: int) -> Coroutine[Any, Any, None] | None:
        waiting = [one for one in self.house.clients.values() if one.open]
        client = waiting[who % len(waiting)]
        asked = client.open[sorted(client.open)[number % len(client.open)]]
        waits = None if client.parked(asked) else self._stopped([asked])
        client.cancel(number)
        return waits

    async def _stopped(self, given_up: list[Asked]) -> None:
        await self.house.rest()
        await self.house.pass_time(
            0.1
        )  # those who closed a connection are looked for a little later
        self.house.must_stop(given_up)

    @rule(who=callers, number=which)
    @inside
    def a_client_cancels_what_it_does_not_wait_for(self, who: str, number: int) -> None:
        client = self.house.clients[who]
        params = {"requestId": client.unknown(number)}
        client.say(method="notifications/cancelled", params=params)

    # -- tasks, and what is led to servers

    @rule(
        who=callers,
        other=callers,
        number=which,
        verb=st.sampled_from(["get", "get", "result", "cancel", "update", "list"]),
    )
    @inside
    def a_client_asks_about_a_task(
        self, who: str, other: str, number: int, verb: str
    ) -> Coroutine[Any, Any, None] | None:
        client = self.house.clients[who]
        found = [[other], [who], list(HOSTS), list(HOSTS)][number % 4]
        known = [one for name in found for one in self.house.clients[name].tasks]
        task = known[-1 - number % len(known)] if known and number < 7 else f"T-{number - 5}"
        made = client.tasks.get(task)
        whose = set() if made is None else {self.house.made[made].end.server.name}
        if verb == "list":
            client.request("tasks/list", {}, visible(who))
            return None
        params = {"taskId": task}
        asked = client.request(f"tasks/{verb}", params, frozenset(whose), may=bool(whose))
        waits = verb == "get" and made is not None
        return self._told_of(client, asked, made) if waits and made is not None else None

    async def _told_of(self, client: Client, asked: Asked, made: int) -> None:
        """Who asks about a task that is there is told of it."""
        task = self.house.made[made]
        end, ends = task.end, task.end.server.ends
        there = end in ends or (task.shared and bool(ends) and "web" in SERVERS[end.server.name])
        there = there and self.house.current(end)
        await self.house.rest()
        if there:
            self.house.must_be_of(client, made, asked.heard)

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
        elif kind == "roots" and HOSTS[who].revision != MODERN:
            for server in visible(who):
                self.house.roots[server] += 1
            method = "notifications/roots/list_changed"
            client.request(method, {}, visible(who), ident=False)
