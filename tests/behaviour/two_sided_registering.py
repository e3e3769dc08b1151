"""Servers of the two-sided model that are registered while the gateway runs: who registers and deregisters them, and who reaches for them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import HOSTS, PROGRAM, REGISTERED, SERVER_EXTENSIONS, SERVERS
from tests.behaviour.two_sided_steps import callers, inside, where, which
from tests.behaviour.two_sided_streaming import Streaming, asks, said

__all__ = ["Registering", "deregisters", "looked", "reaches", "registers"]

OWNER = "lea"
registered = st.sampled_from(REGISTERED)
registering = st.sampled_from(["lea", "lea", "lou", "lux", "liz", "ida", "gus", "kim"])
"""The owner in three sessions, and in none (`liz`); one with the right to register servers; and two without."""


LOOK_S = 0.3
"""In that time the gateway looks at who may see what."""
ENDS_S = 0.6
"""And in that at sessions that have ended."""


async def looked(house: House, coming: list[str]) -> None:
    """What is seen now is known of everybody, so that of servers that come or go then nobody hears but who sees them."""
    await house.pass_time(LOOK_S)
    for server in coming:
        house.comes_or_goes(server)


async def registers(house: House, who: str, server: str) -> bool:
    """A client registers a server; whether that came to be."""
    lifetime = SERVERS[server]["registered"]
    owner, there = HOSTS[who].agent == OWNER, house.there(server)
    params: dict[str, Any] = {
        "id": server,
        "command": PROGRAM,
        "transport": "stdio",
        "mgp": {"trust_level": "standard"},
        "justification": "it is needed",
        "lifetime": lifetime,
    }
    if "mgp" in SERVERS[server]:
        params["mgp"]["extensions"] = list(SERVER_EXTENSIONS)
    if owner:
        await looked(house, [server])
    asked = asks(house, who, "mgp/discovery/register", params)
    await house.rest()
    done = bool(said(asked).get("id") == server)
    if done and (there or not owner):
        house.fault(f"{who} registered what is another's, or is there", server)
    endless = lifetime == "session" and house.clients[who].sessionless
    if done and endless:
        house.fault(f"{who} registered {server} for a session, and has none", params)
    if owner and not there and not done and not endless:
        house.fault(f"{who} could not register {server}", params)
    if done:
        house.joins(server, who, ends=lifetime == "session")
    await house.pass_time(LOOK_S)
    return done


async def deregisters(house: House, who: str, server: str) -> None:
    """A client deregisters a server, which is of another or its own."""
    owner, there = HOSTS[who].agent == OWNER, house.there(server)
    if owner:
        await looked(house, [server])
    asked = asks(house, who, "mgp/discovery/deregister", {"id": server, "reason": "it was"})
    await house.rest()
    done = said(asked).get("status") == "deregistered"
    if done and not (there and owner):
        house.fault(f"{who} deregistered what is another's, or is not there", server)
    if owner and there and not done:
        house.fault(f"{who} could not deregister {server}", asked.params)
    if done and there:
        house.leaves(server)
    await house.pass_time(LOOK_S)


async def reaches(house: House, who: str, server: str, number: int) -> None:
    """A client wants something of a registered server: its owner gets there while it is registered."""
    forms: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": f"{server}__do", "arguments": {}}),
        ("prompts/get", {"name": f"{server}__p"}),
        ("resources/read", {"uri": f"gatewright://{server}/{server}%3A%2F%2Fr"}),
        ("tools/call", {"name": f"{server}__do", "arguments": {}, "_mgp": {"stream": True}}),
    ]
    method, params = forms[number % len(forms)]
    may = HOSTS[who].agent == OWNER
    asked = house.clients[who].request(method, params, frozenset({server}), may=may)
    await house.rest()
    if may and house.there(server) and not asked.got.get(server):
        house.fault(f"{who} did not reach {server}", asked.params)


class Registering(Streaming):
    """See the module's text."""

    @rule(who=registering, server=registered, number=which)
    @inside
    def a_client_registers_a_server(
        self, who: str, server: str, number: int
    ) -> Coroutine[Any, Any, None] | None:
        """Whoever may register servers, and is the first with an id, has it: so others come after the owner."""
        if who == "ida" and server not in self.house.ever:
            who = OWNER
        return self._registers(who, server, number)

    async def _registers(self, who: str, server: str, number: int) -> None:
        if await registers(self.house, who, server):
            others = ["lou", "lux", "liz"]
            await reaches(self.house, OWNER if number % 2 else others[number % 3], server, number)

    @where(lambda house: house.ever)
    @rule(who=registering, server=registered, number=which)
    @inside
    def a_client_deregisters_a_server(
        self, who: str, server: str, number: int
    ) -> Coroutine[Any, Any, None] | None:
        if HOSTS[who].agent == OWNER and number > 3:
            return None
        return deregisters(self.house, who, server)

    @where(lambda house: house.ever)
    @rule(who=callers, server=registered, number=which)
    @inside
    def a_client_reaches_for_what_is_registered(
        self, who: str, server: str, number: int
    ) -> Coroutine[Any, Any, None]:
        return reaches(self.house, who, server, number)

    @rule(who=callers)
    @inside
    def a_client_comes_back(self, who: str) -> Coroutine[Any, Any, None]:
        return self._comes_back(self.house.clients[who])

    async def _comes_back(self, client: Client) -> None:
        """What it registered for as long as it is there has ended meanwhile."""
        house = self.house
        ending = house.ending_with(client)
        if ending:
            await looked(house, ending)
        given_up = [one for one in client.open.values() if not client.parked(one)]
        client.close()
        await self._stopped(given_up)
        if ending:
            await house.pass_time(ENDS_S)
            await house.pass_time(LOOK_S)
        for server in ending:
            house.leaves(server)
        client.connect()
