"""What the servers of the two-sided model say: answers, questions, words about their work and about what changed.

A step takes one of all the requests that wait anywhere, so that there is something to say in nearly every one.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION
from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_facts import KINDS, SERVERS
from tests.behaviour.two_sided_hostile import RESULTS, Hostile
from tests.behaviour.two_sided_listened import Stream
from tests.behaviour.two_sided_servers import End, Work
from tests.behaviour.two_sided_steps import inside, servers, where, which

__all__ = ["LINKS", "Speaking", "any_work", "asking"]

asking = st.sampled_from(["elicitation/create", "sampling/createMessage", "roots/list"])
any_work = st.integers(0, 63)
LINKS = ("own", "any", "listed", "fits")
"""Whose a resource is that a result names: its server's alone, one that all name, and of the hostile one's what is another's."""
_SAYS_WHAT_WAITS = ("tools/call", "prompts/get", "resources/read")


class Speaking(Hostile):
    """See the module's text."""

    def _work(self, number: int) -> tuple[End, Work]:
        found = self.house.every_work()
        return found[number % len(found)]

    # -- about calls

    @where(House.every_work)
    @rule(number=any_work, form=st.sampled_from([None, "task", "same", *LINKS, *RESULTS]))
    @inside
    def a_server_answers(self, number: int, form: Any) -> None:
        self._answers(*self._work(number), form)

    def _answers(self, end: End, one: Work, form: Any) -> None:
        honest, server = not end.server.hostile, end.server.name
        if honest and one.mark in {put.mark for put in end.asked.values()}:
            return  # a call waits for its own question
        end.answered(one)
        text = f"about {one.mark} by-{server}"
        said: dict[str, Any] = {"result": {"content": [{"type": "text", "text": text}]}}
        if form in ("task", "same"):
            said = self._task(end, one, again=form == "same" and not honest) or said
        elif form in LINKS:
            whose = server if honest else self.house.servers["evil"].foreign or "two"
            uri = {"listed": f"{whose}://r", "fits": f"{whose}://r/7", "any": "any://l"}
            link = {"type": "resource_link", "uri": uri.get(form, f"{server}://l"), "name": "l"}
            said["result"]["content"].append(link)
        elif isinstance(form, dict) and not honest:
            ((kind, body),) = form.items()
            said = {kind: {**body, "x": text}}
            if isinstance(body.get("requestState"), str):
                said[kind]["requestState"] = f"state-of-{end.server.called} {one.mark} "
        if end.server.modern and "resultType" not in said["result"]:
            said["result"]["resultType"] = "complete"
        end.say(one.ident, id=one.ident, **said)

    @staticmethod
    def _task(end: End, one: Work, *, again: bool) -> dict[str, Any] | None:
        """A task in place of a result, where the caller takes one; `again`, one that there is already. Where it takes none, that
        would be words in a result like any others: it leads to no task."""
        takes = "task" in one.params or "io.modelcontextprotocol/tasks" in str(one.params)
        if one.method != "tools/call" or not takes:
            return None
        if again and end.tasks:
            known = end.task(next(iter(end.tasks)))
            return {"result": {"resultType": "task", **known, "task": known}}
        return {"result": end.make_task(one.mark.partition("-")[0])}

    @where(House.every_work)
    @rule(number=any_work, method=asking, page=st.booleans())
    @inside
    def a_server_asks(self, number: int, method: str, page: bool) -> None:
        self._asks(*self._work(number), method, page)

    def _asks(self, end: End, one: Work, method: str, page: bool) -> None:
        whole = {each.mark.partition("-")[0] for each in end.work.values()}
        server, more = end.server, dict[str, Any]()
        text = f"about {one.mark} by-{server.name}"
        if page and method == "elicitation/create":
            ident = f"e{len(server.pages) % 5}"
            server.pages.append(ident)
            more = {"mode": "url", "url": "https://example.org/", "elicitationId": ident}
        if server.modern:
            if one.method in _SAYS_WHAT_WAITS:
                self._asks_in_its_answer(end, one, text, more)
        elif server.hostile and len(whole) > 1:
            end.ask(method, None, f"by-{server.name}", more)  # whose it is, it could not know
        else:
            end.ask(method, one, text, more)

    @staticmethod
    def _asks_in_its_answer(end: End, one: Work, text: str, more: dict[str, Any]) -> None:
        del end.work[one.ident]  # and yet it is not over
        _, put = end.numbered()
        form: dict[str, Any] = {"requestedSchema": {"type": "object", "properties": {}}}
        form = {"message": f"{text} put-{put}", **form}
        wanted = {"q1": {"method": "elicitation/create", "params": {**form, **more}}}
        state = f"state-of-{end.server.called} {one.mark} put-{put}"
        words = {"inputRequests": wanted, "requestState": state}
        end.say(one.ident, id=one.ident, result={"resultType": "input_required", **words})

    @where(House.every_question)
    @rule(number=any_work, former=st.booleans())
    @inside
    def a_server_takes_a_question_back(
        self, number: int, former: bool
    ) -> Coroutine[Any, Any, None] | None:
        every = self.house.every_question()
        end, ident = every[number % len(every)]
        if former:  # of what it never asked, and of what has an answer
            over = [f"q{one}" for one in range(end.server.count + 1)]
            ident = next(one for one in over if one not in end.asked)
            end.withdraw(ident)
            return None
        end.withdraw(ident)
        return self._forgotten(f"{end.server.name}.{ident}")

    async def _forgotten(self, put: str) -> None:
        await self.house.rest()
        self.house.must_be_forgotten(put)

    @where(House.every_work)
    @rule(number=any_work, kind=st.sampled_from(["log", "log", "progress", "done"]))
    @inside
    def a_server_speaks_of_its_work(
        self, number: int, kind: str
    ) -> Coroutine[Any, Any, None] | None:
        end, one = self._work(number)
        text = f"about {one.mark} by-{end.server.name}"
        if kind == "done":
            pages = end.server.pages or ["e0"]
            page = {"elicitationId": pages[number % len(pages)], "x": f"by-{end.server.name}"}
            stream = one.ident if number % 2 else None
            end.say(stream, method="notifications/elicitation/complete", params=page)
            return None
        note: dict[str, Any] = {"level": "info", "data": text}
        if kind == "progress":
            token = (one.params.get("_meta") or {}).get("progressToken")
            note = {"progressToken": token, "progress": number, "message": text}
        heard = self.house.told[one.mark, kind]
        method = "message" if kind == "log" else kind
        end.say(one.ident, method=f"notifications/{method}", params=note)
        exact = kind == "progress" or "web" in SERVERS[end.server.name]
        return self._arrives(one, kind, heard) if exact else None

    async def _arrives(self, one: Work, kind: str, heard: int) -> None:
        """What belongs to a call for certain is heard by its caller while that waits."""
        asked = self.house.asked[one.mark]
        client = self.house.clients[asked.who]
        waits = asked in client.open.values() and not asked.gone
        await self.house.rest()
        if waits and not client.parked(asked):
            self.house.must_hear(asked.who, kind, heard, one.mark)

    @where(House.every_idle)
    @rule(number=any_work)
    @inside
    def a_server_speaks_of_what_is_over(self, number: int) -> None:
        """It names no call, and works for nobody."""
        found = self.house.every_idle()
        end = found[number % len(found)]
        text = f"about {end.past[number % len(end.past)]} by-{end.server.name}"
        end.say(None, method="notifications/message", params={"level": "info", "data": text})

    @where(House.every_given_up)
    @rule(number=any_work, method=asking, asks=st.booleans())
    @inside
    def a_server_goes_on_with_what_was_given_up(self, number: int, method: str, asks: bool) -> None:
        """It was told to stop, or was not yet."""
        found = self.house.every_given_up()
        end, one = found[number % len(found)]
        if asks and not end.server.modern:
            self._asks(end, one, method, page=False)
        else:
            text = f"about {one.mark} by-{end.server.name}"
            note = {"level": "info", "data": text}
            end.say(one.ident, method="notifications/message", params=note)

    # -- about tasks, resources and lists

    @where(House.every_task)
    @rule(number=any_work, other=st.booleans())
    @inside
    def a_server_says_how_a_task_stands(
        self, number: int, other: bool
    ) -> Coroutine[Any, Any, None] | None:
        every = self.house.every_task()
        end, ident = every[number % len(every)]
        made = end.tasks[ident]
        heard = self.house.told[str(made), "task"]
        note = f"notifications/tasks{'' if other else '/status'}"
        end.say(None, method=note, params=end.task(ident))
        return None if other or end.server.modern else self._stands(end, made, heard)

    async def _stands(self, end: End, made: int, heard: int) -> None:
        await self.house.rest()
        task = self.house.made[made]
        client = self.house.clients[task.who]
        hears = client.host.revision == "2025-11-25" and made in client.tasks.values()
        hears = hears and self.house.current(end)
        if hears and task.end is end and "web" not in SERVERS[end.server.name]:
            self.house.must_hear(client.name, "task", heard, str(made))

    @rule(server=servers, number=which)
    @inside
    def a_resource_changed(self, server: str, number: int) -> Coroutine[Any, Any, None] | None:
        ends = self.house.servers[server].ends
        if not ends:
            return None
        end = ends[number % len(ends)]
        uri = f"{server}://r" if number % 3 else "any://r"
        heard = [
            (client.name, own, self.house.told[client.name, own])
            for client, own in self.house.holders(end, uri)
            if uri in end.wanted
        ]
        clients = self.house.clients
        each = [self.house.streams(clients[name], "", own) for name, own, _ in heard]
        self._updated(end, uri)
        return self._heard(heard, {at: count for one in each for at, count in one.items()})

    async def _heard(
        self, heard: list[tuple[str, str, int]], each: dict[Stream, int] | None = None
    ) -> None:
        await self.house.rest()
        for who, what, before in heard:
            self.house.must_hear(who, what, before)
        self.house.must_hear_on_each(each or {})

    @staticmethod
    def _updated(end: End, uri: str) -> None:
        meta = {"_meta": {META_SUBSCRIPTION: list(end.listens)[-1]}} if end.listens else {}
        params = {"uri": uri, "x": f"by-{end.server.name}", **meta}
        end.say(None, method="notifications/resources/updated", params=params)

    @rule(server=servers, other=servers)
    @inside
    def the_hostile_one_says_that_anothers_resource_changed(self, server: str, other: str) -> None:
        for end in list(self.house.servers["evil"].ends):
            for uri in (f"{server}://r", f"gatewright://{other}/{server}%3A%2F%2Fr"):
                self._updated(end, uri)

    @rule(server=servers, kind=st.sampled_from(KINDS), working=st.booleans())
    @inside
    def a_list_changed(
        self, server: str, kind: str, working: bool
    ) -> Coroutine[Any, Any, None] | None:
        ends = self.house.servers[server].ends
        found = [end for end in ends if end.work] if working else ends
        what = f"notifications/{kind}/list_changed"
        for end in list(found):
            meta = {"_meta": {META_SUBSCRIPTION: list(end.listens)[-1]}} if end.listens else {}
            self.house.promised(server, kind)
            end.say(None, method=what, params=meta)
        honest = server != "evil" and found and all(map(self.house.current, found))
        return self._changed(server, kind) if honest else None

    async def _changed(self, server: str, kind: str) -> None:
        every, what = self.house.listeners(server, kind), f"notifications/{kind}/list_changed"
        heard = [(one.name, what, self.house.told[one.name, what]) for one in every]
        modern = [one for one in every if one.modern]
        each = [self.house.streams(one, f"{kind}ListChanged", what) for one in modern]
        await self.house.rest()
        await self.house.pass_time(1.5)
        await self._heard(heard, {at: count for one in each for at, count in one.items()})

    @rule(server=servers, again=which)
    @inside
    def a_server_dies(self, server: str, again: int) -> Coroutine[Any, Any, None] | None:
        return self.house.dies(server) if again < 2 else None
