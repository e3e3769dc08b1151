"""A configuration that changes in the two-sided model: a server is switched off, or another one is put behind its id, with calls in flight.

Whoever answers for a URI is the server that lists it or named it, there or not; whoever is asked about a task gave it out, and is no
other that has its id (decision 0110).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_facts import REGISTERED, SERVERS, visible
from tests.behaviour.two_sided_failing import Failing
from tests.behaviour.two_sided_steps import callers, inside, which

__all__ = ["CHANGING", "Reloading", "asks_around", "changes", "neighbour_lists"]

CHANGING = tuple(sorted(set(SERVERS) - {*REGISTERED, "evil"}))
_MOST = 3
"""So often one server changes: more former ones than wait for their calls would end with them (`RETIRING_MOST`)."""


async def neighbour_lists(house: House, name: str) -> None:
    """The hostile one lists what is another's as its own, or nothing of anybody."""
    evil = house.servers["evil"]
    evil.foreign = name
    for end in list(evil.ends):
        house.promised("evil", "resources")
        end.say(None, method="notifications/resources/list_changed", params={})
    await house.rest()
    await house.pass_time(1.5)


async def asks_around(house: House, name: str, who: str) -> None:
    """A client wants what is a server's: nobody else hears of it."""
    client, mine = house.clients[who], frozenset({name})
    shown = house.links.get((client.host.agent, client.host.profile), {})
    named = [uri for uri, whose in shown.items() if whose == {name} and uri not in house.stale]
    for uri in (f"{name}://r", f"{name}://r/7", *named):
        client.request("resources/read", {"uri": uri}, mine)
        ref = {"type": "ref/resource", "uri": uri}
        argument = {"name": "a", "value": ""}
        client.request("completion/complete", {"ref": ref, "argument": argument}, mine)
    for prompt in (f"{name}__p", f"{name}/p"):
        client.request("prompts/get", {"name": prompt}, mine)
    await house.rest()


async def changes(house: House, name: str, who: str, *, moves: bool, lists: bool) -> None:
    """A server is switched off, and comes back as it was or as another one; meanwhile a client wants what is that server's."""
    house.moved.setdefault(name, 0)
    await house.reads_anew(off={name})
    if lists:
        await neighbour_lists(house, name)
    await asks_around(house, name, who)
    if lists:
        await neighbour_lists(house, "")
    if moves:
        house.moves(name)
    await house.reads_anew()
    await house.pass_time(1.5)


class Reloading(Failing):
    """See the module's text."""

    def __init__(self) -> None:
        super().__init__()
        self._times: dict[str, int] = dict.fromkeys(CHANGING, 0)

    @rule(
        who=callers,
        server=st.sampled_from(CHANGING),
        near=which,
        number=which,
        lists=st.booleans(),
    )
    @inside
    def the_configuration_changes(
        self, who: str, server: str, near: int, number: int, lists: bool
    ) -> Coroutine[Any, Any, None] | None:
        server = self._near(who, server, near)
        if number > 2 or server not in self._times or server not in visible(who):
            return None
        self._times[server] += 1
        if self._times[server] > _MOST:
            return None
        return changes(self.house, server, who, moves=number < 2, lists=lists)
