"""Calls of the two-sided model that fail, get lost on their way, are answered at length, and much that happens in one turn of the loop.

A server that gives up what it asked fails its call and says no more (0104); a stream that is cut leaves a call running of which nobody hears any
more; an answer of more than 64 KiB is read in turns, between which others speak (0099).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Coroutine
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import rule

from gatewright.transport.base import Closed
from gatewright.transport.http_client import ConnectionBroken
from gatewright.transport.memory import MemoryPipe
from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_facts import HOSTS, Asked, visible
from tests.behaviour.two_sided_servers import End, Pipe, Web, Work
from tests.behaviour.two_sided_speaking import any_work, asking
from tests.behaviour.two_sided_steps import callers, inside, servers, where, which
from tests.behaviour.two_sided_tasking import Tasking

__all__ = ["ACTS", "Failing", "at_length", "comes_to_nothing", "cuts", "fails"]

ACTS = ("call", "cancel", "answer", "answer", "fail", "ask", "log", "progress")
"""What can happen beside other things in one turn."""
_SHARED = ("one", "two", "two", "far", "far")
"""Legacy servers that serve several on one connection."""
_LONG = 70_000
"""Characters: more than are read at once."""


def fails(end: End, one: Work, *, tells: bool) -> None:
    """A server fails a call by an error, or by a result that is one (`tells`). What it asked for that it gives up, and does not say so."""
    end.answered(one)
    text = f"about {one.mark} by-{end.server.name}"
    content = [{"type": "text", "text": text}]
    said: dict[str, Any] = {"error": {"code": -32000, "message": text}}
    if tells and one.method == "tools/call":
        said = {"result": {"resultType": "complete", "content": content, "isError": True}}
    end.say(one.ident, id=one.ident, **said)


def at_length(end: End, one: Work, *, behind: bool) -> None:
    """A server answers with much text, and with something that nobody knows `behind` the result."""
    end.answered(one)
    content = [{"type": "text", "text": f"about {one.mark} by-{end.server.name} {'-' * _LONG}"}]
    more = {"vendor": [1]} if behind else {}
    result = {"resultType": "complete", "content": content}
    end.say(one.ident, id=one.ident, result=result, **more)


def streamed(house: House) -> list[tuple[Web, Work]]:
    """What legacy servers work on whose streams can be cut: no call that waits for an operator as well, which is asked about by others."""
    return [
        (end, one)
        for end, one in house.every_work()
        if isinstance(end, Web) and not end.server.modern and one.ident in end.over
        if one.method == "tools/call" and one.mark not in house.waits
    ]


def cuts(house: House, end: Web, one: Work) -> None:
    """The stream of a call ends before its answer."""
    house.asked[one.mark].cut = True
    end.over[one.ident].set_exception(ConnectionBroken("the stream ended before the answer"))


async def comes_to_nothing(
    house: House, asked: Asked, method: str, *, waits: bool, tells: bool
) -> None:
    """A call fails, or is lost sight of. Its server may wait for its caller then (`waits`), and goes on with what was lost."""
    await house.rest()
    for end, one in house.every_work():
        if one.mark != asked.mark:
            continue
        text = f"about {one.mark} by-{end.server.name}"
        if waits:
            end.ask(method, one, text, {})
            await house.rest()
        if not isinstance(end, Web):
            fails(end, one, tells=tells)
        elif one.ident in end.over:
            cuts(house, end, one)
            await house.rest()
            note = {"level": "info", "data": text}
            end.say(None, method="notifications/message", params=note)
            end.ask(method, one, text, {})


class _Kept:
    """Stands for a pipe until all that was said on it leaves as one text."""

    def __init__(self, end: Pipe) -> None:
        self._end, self._pipe, self._said = end, end.pipe, list[Any]()
        end.pipe = cast("MemoryPipe", self)

    def send(self, data: bytes) -> None:
        """Keep it."""
        self._said.append(json.loads(data))

    def leave(self) -> None:
        """Send it."""
        said, self._end.pipe = self._said, self._pipe
        if said:
            with contextlib.suppress(Closed):
                self._pipe.send(json.dumps(said if len(said) > 1 else said[0]).encode())


class Failing(Tasking):
    """See the module's text."""

    @where(House.every_work)
    @rule(number=any_work, tells=st.booleans())
    @inside
    def a_server_fails(self, number: int, tells: bool) -> None:
        fails(*self._work(number), tells=tells)

    @where(House.every_work)
    @rule(number=any_work, behind=st.booleans())
    @inside
    def a_server_answers_at_length(self, number: int, behind: bool) -> None:
        end, one = self._work(number)
        if one.mark not in {put.mark for put in end.asked.values()}:
            at_length(end, one, behind=behind)

    @where(streamed)
    @rule(number=any_work)
    @inside
    def a_stream_is_cut(self, number: int) -> None:
        found = streamed(self.house)
        cuts(self.house, *found[number % len(found)])

    @rule(
        number=any_work,
        other=any_work,
        server=st.sampled_from(_SHARED),
        method=asking,
        waits=st.booleans(),
        tells=st.booleans(),
    )
    @inside
    def a_call_comes_to_nothing_beside_another(
        self, number: int, other: int, server: str, method: str, waits: bool, tells: bool
    ) -> Coroutine[Any, Any, None]:
        every = [name for name in sorted(HOSTS) if server in visible(name)]
        asked = self._calls(every[number % len(every)], server)
        self._calls(every[other % len(every)], server)
        return comes_to_nothing(self.house, asked, method, waits=waits, tells=tells)

    @rule(
        acts=st.lists(st.tuples(st.sampled_from(ACTS), any_work), min_size=2, max_size=5),
        who=callers,
        server=servers,
        method=asking,
        together=st.booleans(),
        near=which,
    )
    @inside
    def much_happens_at_once(
        self,
        acts: list[tuple[str, int]],
        who: str,
        server: str,
        method: str,
        together: bool,
        near: int,
    ) -> None:
        """Each server on a pipe says what it says in one text (`together`: a batch), or in one turn of the loop."""
        pipes = [end for end in self.house.every_end() if isinstance(end, Pipe)]
        kept = [_Kept(end) for end in pipes] if together else []
        for act, number in acts:
            if act == "call":
                self._calls(who, self._near(who, server, near))
            elif self.house.every_work():
                self._acts(act, number, method, *self._work(number))
        for each in kept:
            each.leave()

    def _acts(self, act: str, number: int, method: str, end: End, one: Work) -> None:
        asked = self.house.asked[one.mark]
        client, name = self.house.clients[asked.who], end.server.name
        if act == "cancel":
            waits = [client.open[ident] for ident in sorted(client.open)]
            if asked in waits and not client.parked(asked):
                client.cancel(waits.index(asked))
                self.house.crossed.add(one.mark)
        elif asked.gone and act in ("answer", "fail"):
            return  # they would cross, and its caller hear of what is over
        elif act == "answer":
            self._answers(end, one, None)
        elif act == "fail":
            fails(end, one, tells=bool(number % 2))
        elif act == "ask":
            self._asks(end, one, method, page=False)
        else:
            note: dict[str, Any] = {"level": "info", "data": f"about {one.mark} by-{name}"}
            if act == "progress":
                token = (one.params.get("_meta") or {}).get("progressToken")
                note = {"progressToken": token, "progress": number, "message": note["data"]}
            kind = "message" if act == "log" else act
            end.say(one.ident, method=f"notifications/{kind}", params=note)
