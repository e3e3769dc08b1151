"""Tasks, states and streams of the two-sided model, over longer than one request: tasks ask and end, a state is shown when it is used up or
torn, a client of 2026-07-28 listens on several streams, and one meddles in the session of another key of its caller.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import (
    HOSTS,
    KINDS,
    MODERN,
    SERVERS,
    TAKES_TASKS,
    Hosted,
    visible,
)
from tests.behaviour.two_sided_fates import ASKS, ENDS
from tests.behaviour.two_sided_registering import Registering
from tests.behaviour.two_sided_servers import End
from tests.behaviour.two_sided_speaking import any_work
from tests.behaviour.two_sided_steps import callers, inside, where, which

__all__ = ["Tasking", "answers_a_task", "goes_on", "listens", "meddles", "shows_again"]


def _differ(one: Hosted, other: Hosted) -> bool:
    return one[:-1] == other[:-1] and one.role != other.role


_KEYS = [(one, other) for one in HOSTS for other in HOSTS if _differ(HOSTS[one], HOSTS[other])]
"""Clients over HTTP of one caller, with keys of other limits."""
modern = st.sampled_from([name for name, host in HOSTS.items() if host.revision == MODERN])


async def meddles(house: House, who: str, other: str) -> None:
    """A client gives up, in the session of another key of its caller, all that runs there: it goes on, and what came of it so far is not told."""
    client, their = house.clients[who], house.clients[other]
    await house.rest()
    runs = dict(their.open)
    mine, client.session = client.session, their.session
    for ident in runs:
        client.say(method="notifications/cancelled", params={"requestId": ident})
    stops = [
        client.request("mgp/stream/cancel", {"request_id": one}, frozenset(), may=False)
        for one in runs
    ]
    client.session = mine
    await house.rest()
    if any(json.loads(one.heard or "{}").get("cancelled") for one in stops):
        house.fault(f"{who} cancelled by its key what {other} began", stops)
    if any(their.open.get(ident) is not one for ident, one in runs.items()):
        house.fault(f"a call of {other} ended as {who} cancelled in its session", list(runs))


def _there(house: House, number: int) -> bool:
    """Whether the connection on which a task is can still be asked about it."""
    task = house.made[number]
    server = task.end.server
    there = task.end in server.ends
    there = there or (task.shared and bool(server.ends) and "web" in SERVERS[server.name])
    return there and house.current(task.end)


async def _asks_about(house: House, client: Client, number: int) -> None:
    """The owner of a task asks for it, and hears how that stands."""
    (ident,) = (one for one, made in client.tasks.items() if made == number)
    name = house.made[number].end.server.name
    there, status = _there(house, number), house.fates.status(number)
    asked = client.request("tasks/get", {"taskId": ident}, frozenset({name}))
    await house.rest()
    if there and not asked.gone:
        house.must_be_of(client, number, asked.heard)
        if json.loads(asked.heard or "{}").get("status") != status:
            house.fault(f"{client.name} was not told that its task {number} is {status}", asked.heard)  # fmt: skip


async def goes_on(house: House, end: End, ident: str, status: str) -> None:
    """A task of a server goes on: its owner hears of that where it asks."""
    number = end.tasks[ident]
    asks = status == ASKS and end.server.modern and house.made[number].who in TAKES_TASKS
    if status == ASKS and not asks:
        return
    house.fates.becomes(number, status, end.numbered()[1] if asks else "")
    end.say(None, method=f"notifications/tasks{'' if end.server.modern else '/status'}", params=end.task(ident))  # fmt: skip
    await house.rest()
    client = house.clients[house.made[number].who]
    if number in client.tasks.values():
        await _asks_about(house, client, number)


async def answers_a_task(house: House, number: int, other: str) -> None:
    """Another client answers what a task asks, and then its owner: that one's answer gets to the server."""
    task, put = house.made[number], house.fates.put(number)
    client = house.clients[task.who]
    ident = next((one for one, made in client.tasks.items() if made == number), None)
    if ident is None or not put:
        return
    there = _there(house, number)
    for each in (house.clients[other], client):
        # Another may have a task of its own that is called like this.
        mine = each.tasks.get(ident)
        whose = frozenset() if mine is None else {house.made[mine].end.server.name}
        if each is not client and mine is not None:
            continue
        params = {"taskId": ident, "inputResponses": {"q1": each.words("elicitation/create", put)}}
        each.request("tasks/update", params, frozenset(whose), may=each is client)
        await house.rest()
    if there and put not in house.fates.answered:
        house.fault(f"{task.end.server.name} did not get the answer to what its task asks", put)


async def shows_again(house: House, who: str, number: int, *, torn: bool) -> None:
    """A client shows a state of a call that is over, or one that is none: nobody gets anything of that. What a state of a server's own is
    good for that server decides."""
    client = house.clients[who]
    over = [one for one in client.answered if not client.parked(house.asked[one.mark])]
    over = [one for one in over if house.asked[one.mark] not in client.open.values()]
    theirs = {name for name, how in SERVERS.items() if how.get("era") == "modern"}
    over = [one for one in over if not theirs & {put.partition(".")[0] for put in one.puts}]
    found = [one for one in client.asked if one.state] if torn else over
    if not found:
        return
    one = found[number % len(found)]
    known, at = house.asked[one.mark], len(one.state) // 2 + number
    state = one.state[:at] + ("A" if one.state[at] != "A" else "B") + one.state[at + 1 :]
    params: dict[str, Any] = {**known.params, "requestState": state if torn else one.state}
    params["inputResponses"] = dict.fromkeys(one.keys, client.words("", "".join(one.puts)))
    client.request(known.method, params, frozenset(), may=False)
    await house.rest()


async def listens(house: House, who: str, kinds: tuple[str, ...]) -> None:
    """A client listens once more."""
    client = house.clients[who]
    wanted = {f"{kind}ListChanged": True for kind in kinds}
    client.request("subscriptions/listen", {"notifications": wanted}, frozenset(visible(who)))
    ident = client.ident
    await house.rest()
    if client.acks.get(ident) != wanted:
        house.fault(f"{who} was not granted what it asked for", client.acks.get(ident))


class Tasking(Registering):
    """See the module's text."""

    @where(House.every_task)
    @rule(number=any_work, status=st.sampled_from([ASKS, ASKS, *ENDS]))
    @inside
    def a_task_goes_on(self, number: int, status: str) -> Coroutine[Any, Any, None]:
        every = self.house.every_task()
        return goes_on(self.house, *every[-1 - number % len(every)], status)

    @where(lambda house: house.fates.asking())
    @rule(number=any_work, other=callers)
    @inside
    def a_client_answers_what_a_task_asks(
        self, number: int, other: str
    ) -> Coroutine[Any, Any, None]:
        asking = self.house.fates.asking()
        return answers_a_task(self.house, asking[-1 - number % len(asking)], other)

    @where(lambda house: any(one.answered or one.asked for one in house.clients.values()))
    @rule(who=modern, number=which, torn=st.booleans())
    @inside
    def a_client_shows_a_state_again(
        self, who: str, number: int, torn: bool
    ) -> Coroutine[Any, Any, None]:
        return shows_again(self.house, who, number, torn=torn)

    @where(lambda house: any(house.clients[one].open for _, one in _KEYS))
    @rule(pair=st.sampled_from(_KEYS))
    @inside
    def a_client_meddles_in_a_session_of_its_caller(
        self, pair: tuple[str, str]
    ) -> Coroutine[Any, Any, None] | None:
        clients = [self.house.clients[one] for one in pair]
        there = all(one.session for one in clients) and clients[1].open
        return meddles(self.house, *pair) if there else None

    @rule(who=modern, kinds=st.sets(st.sampled_from(KINDS), min_size=1))
    @inside
    def a_client_listens_once_more(self, who: str, kinds: set[str]) -> Coroutine[Any, Any, None]:
        return listens(self.house, who, tuple(sorted(kinds)))
