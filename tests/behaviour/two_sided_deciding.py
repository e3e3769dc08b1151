"""Calls of the two-sided model that wait for an operator: on the line, or as tasks of the gateway; what operators decide, and who asks how it
stands.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from gatewright.approvals.request import Approval
from tests.behaviour.two_sided_calling import TASKING, Calling
from tests.behaviour.two_sided_facts import HOSTS, WAITS, Asked, visible
from tests.behaviour.two_sided_speaking import any_work
from tests.behaviour.two_sided_steps import callers, inside, servers, where, which
from tests.behaviour.two_sided_waits import Wanted

__all__ = ["Deciding", "puts_off"]

_ROOTS_S = 6.0
"""Longer than a new connection waits for the question that its server once asked."""
_AWAY_S = 10.0
"""For so long a call to which an operator agreed waits for a server that is away."""
_VERBS = ("get", "get", "result", "cancel", "update", "list")
verbs = st.sampled_from(_VERBS)
words = st.sampled_from(["yes", "yes", "no", "other"])
tasking = st.sampled_from(TASKING)


def puts_off(house: Any, who: str, server: str, what: str, *, task: bool = True) -> Asked:
    """A client calls what waits for an operator; with `task`, it takes one where its revision has them."""
    client = house.clients[who]
    what = what or f"{who}-{client.count + 1}"
    params: dict[str, Any] = {"name": f"{server}__{WAITS}", "arguments": {"m": what}}
    if task and HOSTS[who].revision == "2025-11-25":
        params["task"] = {}
    asked: Asked = client.request("tools/call", params, frozenset({server}))
    house.wants(asked, server, what)
    return asked


class Deciding(Calling):
    """See the module's text."""

    @rule(who=callers, server=servers, number=which, task=st.booleans())
    @inside
    def a_call_waits_for_an_operator(self, who: str, server: str, number: int, task: bool) -> None:
        what = f"same{number % 2}" if number > 4 else ""
        puts_off(self.house, who, self._near(who, server, number), what, task=task)

    @rule(who=callers, other=callers, server=servers, number=which, word=words)
    @inside
    def two_wait_for_an_operator(
        self, who: str, other: str, server: str, number: int, word: str
    ) -> Coroutine[Any, Any, None]:
        """With the same words, so that only who asks tells them apart; on one of them an operator decides."""
        both = sorted(visible(who) & visible(other)) or [server]
        near = both[number % len(both)]
        every = [puts_off(self.house, one, near, f"same{number % 2}") for one in (other, who)]
        return self._one_of(every, number, word)

    async def _one_of(self, every: list[Asked], number: int, word: str) -> None:
        await self.house.rest()
        one = self._handle(every[0])
        if one:
            await self._asks_how_it_stands(every[-1].who, one, _VERBS[number % len(_VERBS)])
        await self._on(every[-1], word)
        for asked in every:
            if self._handle(asked):
                await self._asks_how_it_stands(asked.who, self._handle(asked), "get")

    @rule(who=tasking, server=servers, number=which, word=words, verb=verbs)
    @inside
    def a_task_waits_for_an_operator(
        self, who: str, server: str, number: int, word: str, verb: str
    ) -> Coroutine[Any, Any, None]:
        """Its owner asks for it before the decision and after it."""
        asked = puts_off(self.house, who, self._near(who, server, number), "")
        return self._asked_around(asked, word, verb)

    async def _asked_around(self, asked: Asked, word: str, verb: str) -> None:
        await self.house.rest()
        handle = self._handle(asked)
        if handle:
            await self._asks_how_it_stands(asked.who, handle, verb)
        await self._on(asked, word)
        if handle:
            await self._asks_how_it_stands(asked.who, handle, verb)
            await self._asks_how_it_stands(asked.who, handle, "get")

    def _handle(self, asked: Asked) -> str:
        """The task as which a call waits; empty where it is none."""
        return next((one for one, held in self.house.held.items() if held.mark == asked.mark), "")

    async def _on(self, asked: Asked, word: str) -> None:
        """An operator decides on a call, where it waits for that."""
        wanted = self.house.waits[asked.mark]
        for one in self.house.undecided():
            if self.house.known[one.id] == wanted:
                await self._decided(one, word)

    @where(lambda house: len(house.waits) > len(house.no))
    @rule(number=any_work, word=words)
    @inside
    def an_operator_decides(self, number: int, word: str) -> Coroutine[Any, Any, None] | None:
        every = self.house.undecided()
        return self._decided(every[number % len(every)], word) if every else None

    async def _decided(self, one: Approval, word: str) -> None:
        wanted = self.house.known[one.id]
        before = self.house.still(wanted)
        await self._decides(one, word, wanted, before)
        for each in before:
            each.outrun = each.outrun or (each.parked and not each.got)

    async def _decides(self, one: Approval, word: str, wanted: Wanted, before: list[Asked]) -> None:
        edited = f"{wanted.what}-edited" if word == "other" else ""
        self.house.decides(one, yes=word != "no", edited=edited)
        await self.house.rest()
        if not self.house.there(wanted.server):
            return
        away_s = self.house.connects_in(wanted.server)
        if away_s > _AWAY_S:
            return  # no call waits for that
        # No server of this model asks for roots anew on each connection.
        takes_s = _ROOTS_S if self.house.awaits_roots(wanted.server) else away_s
        if takes_s and not any(one.got for one in before):
            await self.house.pass_time(takes_s)
        if word == "no":
            self.house.must_end(before)
        elif self.house.other_rules(one):
            self.house.must_ask_anew(wanted, before)
        else:
            self.house.must_run(wanted, before)

    @where(lambda house: house.held)
    @rule(who=callers, other=callers, number=which, verb=verbs)
    @inside
    def a_client_asks_about_a_task_of_the_gateway(
        self, who: str, other: str, number: int, verb: str
    ) -> Coroutine[Any, Any, None]:
        held = self.house.held
        names = [[who], [other], [who], list(HOSTS)][number % 4]
        known = [one for one, each in held.items() if each.mark.partition("-")[0] in names]
        every = known or list(held)
        return self._asks_how_it_stands(who, every[-1 - number % len(every)], verb)

    async def _asks_how_it_stands(self, who: str, handle: str, verb: str) -> None:
        client, mark = self.house.clients[who], self.house.held[handle].mark
        if verb == "list":
            listing = client.request("tasks/list", {}, visible(who))
            await self.house.rest()
            self.house.must_list(client, listing)
            return
        mine = mark.partition("-")[0] == who
        whose = frozenset({self.house.waits[mark].server} if mine else ())
        asked = client.request(f"tasks/{verb}", {"taskId": handle}, whose, may=mine)
        if verb == "cancel" and mine:
            self._gives_up(handle)
        await self.house.rest()
        if mine and verb == "get":
            self.house.must_stand(handle, asked)
        elif mine and verb == "cancel" and handle in self.house.cancelled:
            self.house.must_stop([self.house.asked[mark]])

    def _gives_up(self, handle: str) -> None:
        """Its owner cancels a task, which may have ended."""
        mark, house = self.house.held[handle].mark, self.house
        house.tried.add(handle)
        if house.live(handle) and not self._has_ended(mark):
            house.cancelled.add(handle)
            house.asked[mark].gone = True

    def _has_ended(self, mark: str) -> bool:
        """Whether what a call came to is there: until its server has answered what it got, it is not."""
        works = any(one.mark == mark for _, one in self.house.every_work())
        return self.house.over(mark) and not works
