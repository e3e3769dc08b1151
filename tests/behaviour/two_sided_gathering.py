"""What participants of rooms say to each other in the two-sided model, and what one of them says that is not its to say."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.behaviour.two_sided_deciding import Deciding
from tests.behaviour.two_sided_facts import DEN, HALL, IN_DEN, MARK, PEOPLE, token_of, visible
from tests.behaviour.two_sided_guests import Guest
from tests.behaviour.two_sided_rooms import GATEWAY, KERNEL, Chair
from tests.behaviour.two_sided_steps import inside, servers, which

__all__ = ["Gathering", "fulfilled"]

people = st.sampled_from(sorted(PEOPLE))
guests = st.sampled_from(["pat", "quin"])
KINDS = ("chat", "mcp/request:x/ask", "mcp/proposal:x/do", "mcp/response:x/ask", "made/up")
kinds = st.sampled_from(KINDS)
FORGED = ("system/welcome", "system/presence", "presence", "system/error", *KINDS)


def payload(kind: str, number: int) -> dict[str, Any]:
    """Something of a kind."""
    call = {"method": kind.rpartition(":")[2], "params": {}}
    if kind.startswith("mcp/request"):
        return {"jsonrpc": "2.0", "id": number, **call}
    if kind.startswith("mcp/response"):
        return {"jsonrpc": "2.0", "id": number, "result": {}}
    return call if kind.startswith("mcp/proposal") else {"text": "words"}


async def fulfilled(house: Any, who: str, server: str, by: str = "rob") -> Any:
    """Somebody proposes a call of the gateway's, and a client makes it: what that asked."""
    client, chair = house.clients[who], house.rooms.chairs[by, HALL]
    mark, token = f"{who}-{client.count + 1}", f"t{(client.count + 1) % 3}"
    params = {"name": f"{server}__do", "arguments": {}}
    whole = {**params, "_meta": {MARK: mark, "progressToken": token}}
    words = {"method": "tools/call", "params": whole}
    proposal = chair.say("mcp/proposal:tools/call", words, to=[KERNEL])
    await house.rest()
    assert isinstance(client, Guest)
    client.proposal = "" if proposal is None else proposal.ident
    return client.request("tools/call", params, frozenset({server}))


class Gathering(Deciding):
    """See the module's text."""

    def _chair(self, who: str, number: int) -> Chair:
        """Where somebody sits; one that is gone comes in again."""
        topic = DEN if who in IN_DEN and number % 3 == 0 else HALL
        chair = self.house.rooms.chairs[who, topic]
        if chair.line is None:
            assert chair.sit(token_of(who))
        return chair

    def _to(self, chair: Chair, number: int) -> list[str]:
        """Nobody in particular, one, two, or somebody who is not there."""
        others = sorted(PEOPLE.keys() - {chair.name})
        some = [[], others[:1], others[1:], [others[number % 3], KERNEL], ["nobody"], [chair.name]]
        return some[number % len(some)]

    # -- in turn

    @rule(who=people, number=which, kind=kinds, about=which)
    @inside
    def somebody_speaks_in_a_room(self, who: str, number: int, kind: str, about: int) -> None:
        chair = self._chair(who, about)
        more: dict[str, Any] = {"to": self._to(chair, number)} if number != 7 else {}
        asked = list(self.house.rooms.asks[chair.topic])
        if asked and (about % 2 or kind.startswith("mcp/response")) and "proposal" not in kind:
            more["correlation_id"] = asked[-1 - about % len(asked)]
        chair.say(kind, payload(kind, number), **more)

    @rule(who=people, other=people, number=which, third=people)
    @inside
    def somebody_is_asked_in_a_room(
        self, who: str, other: str, number: int, third: str
    ) -> Coroutine[Any, Any, None]:
        """Two answer, of whom one may not have been asked, and the first of them twice: the last time to what was said again."""
        return self._asked_of(who, other, number, third)

    async def _asked_of(self, who: str, other: str, number: int, third: str) -> None:
        asker = self._chair(who, 1)
        to = [other] if number % 4 else []
        found = asker.say("mcp/request:x/ask", payload("mcp/request:x/ask", number), to=to)
        await self.house.rest()
        for each in (other, third, other):
            more = {"to": [who], "correlation_id": found.ident if found else "m0"}
            if found is not None and each is third and number % 2:
                asker.say(found.kind, payload(found.kind, number), id=found.ident, to=to)
            self._chair(each, 1).say("mcp/response:x/ask", payload("mcp/response", number), **more)
            await self.house.rest()

    @rule(who=guests, server=servers, number=which)
    @inside
    def somebody_fulfils_a_proposal(
        self, who: str, server: str, number: int
    ) -> Coroutine[Any, Any, None]:
        seen = sorted(visible(who))
        return self._fulfils(who, seen[number % len(seen)], number)

    async def _fulfils(self, who: str, server: str, number: int) -> None:
        proposer = self._chair("rob", 1)
        asked = await fulfilled(self.house, who, server)
        await self.house.rest()
        before = self.house.rooms.results[proposer]
        if number == 5:
            proposer.leave()
        for end, one in self.house.every_work():
            if one.mark == asked.mark and not end.server.modern:
                self._answers(end, one, None)
                await self.house.rest()
                self.house.rooms.must_know(proposer, asked, before)

    # -- out of turn

    @rule(number=which, kind=st.sampled_from(FORGED), who=people, about=which)
    @inside
    def the_hostile_one_speaks_in_a_room(
        self, number: int, kind: str, who: str, about: int
    ) -> None:
        """In another's name, under another's id, or in answer to what it was not asked."""
        chair, rooms = self._chair("mal", 1), self.house.rooms
        asked = list(rooms.asks[HALL])
        one = asked[-1 - about % len(asked)] if asked else "m0"
        more: dict[str, Any] = {"to": self._to(chair, about)}
        if number < 2:
            more["from"] = [GATEWAY, KERNEL, who][about % 3]
        if number in (2, 3):
            more["id"] = one
        if number > 2 and "proposal" not in kind:
            more["correlation_id"] = one
        chair.say(kind, payload(kind, number), **more)

    @rule(number=which, result=st.booleans())
    @inside
    def the_hostile_one_answers_in_a_room(self, number: int, result: bool) -> None:
        """What the gateway asked somebody else, or was asked."""
        rooms, chair = self.house.rooms, self._chair("mal", 1)
        asked = [(one, each) for one, each in rooms.asks[HALL].items() if each.asker != "mal"]
        if asked:
            ident, each = asked[-1 - number % len(asked)]
            inner = [one for one, (known, _) in rooms.questions.items() if known == ident]
            body = {"result": {"action": "accept", "content": {"who": "answer-of-mal/"}}}
            said = {"jsonrpc": "2.0", "id": inner[0] if inner else 1}
            said |= body if result else {"error": {"code": 1, "message": "m"}}
            to = [KERNEL if each.asker == KERNEL else each.asker]
            chair.say("mcp/response:elicitation/create", said, to=to, correlation_id=ident)

    @rule(token=people, topic=st.sampled_from([HALL, DEN]))
    @inside
    def somebody_comes_into_a_room(self, token: str, topic: str) -> None:
        """Whoever is there already takes its own place anew, and into a private one come its members alone."""
        rooms = self.house.rooms
        if topic == DEN and token not in IN_DEN:
            if rooms.chairs[token, DEN].sit(token_of(token)):
                self.house.fault(f"{token} was let into a private room", topic)
        elif not rooms.chairs[token, topic].sit(token_of(token)):
            self.house.fault(f"{token} was not let into a room of its own", topic)

    @rule(who=people, number=which)
    @inside
    def somebody_leaves_a_room(self, who: str, number: int) -> Coroutine[Any, Any, None] | None:
        """Another comes in under its name; a client takes its place anew, and is who it was."""
        client = self.house.clients.get(who)
        if isinstance(client, Guest) and number % 3:
            client.sits()
            return None
        chair = self._chair(who, 1 if client is None else 0)
        if chair.topic == HALL and client is not None:
            return None
        chair.leave()
        return self._back(chair)

    async def _back(self, chair: Chair) -> None:
        await self.house.rest()
        assert chair.sit(token_of(chair.name))
