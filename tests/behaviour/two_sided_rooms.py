"""The rooms of the two-sided model: who sits where, what each said and hears. A message reaches whom it is for, once, as it was said.

A participant comes in through the gateway's own door, without a socket. `Rooms` is the judge of what is said there: it knows from outside
what may pass and who is to hear it. What the gateway answers in a room is to who asked it, since that one came in.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from gatewright.app.gateway import Gateway
from gatewright.transport.base import Receiver
from gatewright.transport.websocket_connection import DIRECT
from tests.behaviour.two_sided_facts import DEN, HALL, IN_DEN, PEOPLE, Asked, about

__all__ = ["GATEWAY", "KERNEL", "Chair", "Rooms", "Said"]

KERNEL = "gatewright"
"""What the gateway is called where it offers its tools."""
GATEWAY = "system:gateway"
_MAY = {"full": ("mcp/",), "proposal-only": ("mcp/proposal:", "mcp/response:")}


class Site(Protocol):
    """Where rooms are."""

    gateway: Gateway

    def fault(self, what: str, message: Any) -> None:
        """Write down what should not have been."""


class Said:
    """One envelope that somebody said: whether it may pass, and to whom."""

    def __init__(self, chair: Chair, envelope: Mapping[str, Any]) -> None:
        self.chair, self.turn = chair, chair.turn
        self.envelope = envelope
        self.ident, self.kind = str(envelope["id"]), str(envelope["kind"])
        self.sender, self.to = str(envelope["from"]), tuple(envelope.get("to") or ())
        self.about = str(envelope.get("correlation_id") or "")
        self.method = self.kind.partition(":")[2].partition(":")[0]
        self.passes = False
        self.readers: dict[Chair, int] = {}
        """Who is to hear it, and in which place."""
        self.got: Counter[Chair] = Counter()

    def is_a(self, family: str) -> bool:
        """Whether its kind is of a family."""
        return self.kind == family or self.kind.startswith(f"{family}:")


class _Request:
    def __init__(
        self, asker: str, to: Sequence[str], here: Iterable[Chair], *, proposed: str | None = None
    ) -> None:
        """`here` are those who sit in its topic; `proposed` is the method that is proposed."""
        self.asker, self.to, self.proposed = asker, tuple(to), proposed
        self.here = {one.name: one.turn for one in here}
        self.itself = False
        """Whether its asker may answer it: it does itself what was proposed to it."""
        self.answered: set[str] = set()

    def is_put_to(self, chair: Chair) -> bool:
        """Whether somebody is named in it who has not come in since."""
        return chair.name in self.to and self.here.get(chair.name) == chair.turn

    def is_of(self, chair: Chair) -> bool:
        """Whether somebody asked it who has not left since: whoever is called so next is another."""
        return chair.name == self.asker and self.here.get(chair.name) == chair.turn


class _Line:
    """The connection of somebody who sits somewhere."""

    def __init__(self, chair: Chair) -> None:
        self._chair = chair
        self.receiver: Receiver | None = None
        self.over = False

    @property
    def outlet(self) -> _Line:
        """Where frames are written to."""
        return self

    def take_over(self, receiver: Receiver, burst_bytes: int) -> None:
        """The gateway reads it from now on."""
        self.receiver = receiver

    def leave(self, code: int, reason: str) -> None:
        """The gateway has closed it."""
        self.over = True
        self._chair.lost(self)

    def write(self, frames: bytes) -> None:
        """What a room says: the text frames of a server."""
        while frames:
            size, at = frames[1], 2
            if size > 125:
                at = 4 if size == 126 else 10
                size = int.from_bytes(frames[2:at])
            text, frames = frames[at : at + size], frames[at + size :]
            self._chair.hear(self, json.loads(text))


class Chair:
    """The place of one participant in one topic."""

    def __init__(self, rooms: Rooms, name: str, topic: str) -> None:
        self.rooms, self.name, self.topic = rooms, name, topic
        self.turn = 0
        """How often it has come in anew: what was asked before is of one who is gone."""
        self.place = 0
        """How often it has taken its place, also from itself."""
        self.line: _Line | None = None
        self.heard: Callable[[Any], object] = lambda _: None

    def sit(self, token: str) -> bool:
        """Come in, or take the place anew; whether it is let in."""
        line, answers = _Line(self), list[Any]()
        scope = {
            "type": "websocket",
            "path": "/ws",
            "query_string": f"topic={self.topic}".encode(),
            "client": ("127.0.0.1", 9),
            "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode())],
            "extensions": {DIRECT: line, "websocket.http.response": {}},
        }

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: dict[str, Any]) -> None:
            answers.append(message)

        before, self.line = self.line, line
        with contextlib.suppress(StopIteration):
            self.rooms.house.gateway.app(scope, receive, send).send(None)
        if line.receiver is None or line.over:
            self.line = before
            return False
        self.place += 1
        self.turn += before is None
        return True

    def leave(self) -> None:
        """Go away."""
        line, self.line = self.line, None
        if line is not None and line.receiver is not None:
            line.over = True
            line.receiver.closed("left")
        self.rooms.left(self.topic)

    def lost(self, line: _Line) -> None:
        """The place was taken away."""
        if self.line is line:
            self.line = None
            self.rooms.left(self.topic)

    def say(self, kind: str, payload: Any, **more: Any) -> Said | None:
        """Say something, under a new id where `more` has none."""
        ident = self.rooms.fresh()
        words = {"protocol": "mcpx/v0.1", "id": ident, "from": self.name, "kind": kind}
        return self.rooms.say(self, {**words, "payload": payload, **more})

    def hear(self, line: _Line, envelope: Any) -> None:
        """Take one message of the room."""
        self.rooms.judge(self, line, envelope)
        self.heard(envelope)


class Rooms:
    """See the module's text."""

    def __init__(self, house: Site) -> None:
        self.house = house
        every = [(name, HALL) for name in PEOPLE] + [(name, DEN) for name in PEOPLE]
        self.chairs = {where: Chair(self, *where) for where in every}
        self.said: dict[str, Said] = {}
        """By their ids in the order in which they were said, the last of each id."""
        self.every: list[Said] = []
        """What was said since it was asked whether it arrived."""
        self.put: dict[str, Said] = {}
        """The last request to the gateway of each id, whatever else is said under that id."""
        self.asks: dict[str, dict[str, _Request]] = {HALL: {}, DEN: {}}
        """By topic and id: what was asked and proposed there."""
        self.questions: dict[Any, tuple[str, str]] = {}
        """What the gateway asked in rooms, by the id inside: the envelope's, and its kind."""
        self.results: Counter[Chair] = Counter()
        """How many answers of the gateway each heard that are for it."""
        self.count = 0
        self.passed: Counter[str] = Counter()
        """How much was said that may pass, by kind, and how much that may not."""

    def fresh(self) -> str:
        """An id that nobody has used."""
        self.count += 1
        return f"m{self.count}"

    def seated(self, topic: str) -> list[Chair]:
        """Who is in a topic."""
        return [one for one in self.chairs.values() if one.topic == topic and one.line is not None]

    def left(self, topic: str) -> None:
        """What was asked in a topic is forgotten with it."""
        if topic != HALL and not self.seated(topic):
            self.asks[topic].clear()

    def begin(self) -> None:
        """The gateway has begun anew."""
        for asked in self.asks.values():
            asked.clear()

    # -- what is said

    def say(self, chair: Chair, envelope: Mapping[str, Any]) -> Said | None:
        """Somebody says something; None where it is not there."""
        line = chair.line
        if line is None or line.receiver is None:
            return None
        found = Said(chair, envelope)
        known = self.said.get(found.ident)
        found.passes = self._passes(found)
        self.passed[found.kind.partition(":")[0] if found.passes else "refused"] += 1
        if found.passes:
            found.readers = {one: one.place for one in self._readers(found)}
            self._note(found)
        if found.passes or known is None:
            self.said[found.ident] = found
        if found.passes and KERNEL in found.to and found.is_a("mcp/request"):
            self.put[found.ident] = found
        self.every.append(found)
        line.receiver.message(json.dumps(envelope).encode())
        return found

    def _passes(self, found: Said) -> bool:
        name = found.chair.name
        may = found.kind == "chat" or found.kind.startswith(_MAY[PEOPLE[name].profile])
        if found.sender != name or not may:
            return False
        asked = self.asks[found.chair.topic]
        if found.is_a("mcp/response"):
            request = asked.get(found.about)
            if request is None or request.proposed is not None:
                return True
            own = name == request.asker and not request.itself
            put = not request.to or request.is_put_to(found.chair)
            return put and not own and name not in request.answered
        known = asked.get(found.ident)
        if not (found.is_a("mcp/request") or found.is_a("mcp/proposal")):
            return True
        proposal = self._fulfils(found)
        elsewhere = proposal is not None and bool(proposal.to)
        if proposal is not None and found.to and {*found.to} <= {*proposal.to}:
            elsewhere = False
        return not elsewhere and (known is None or known.asker == name)

    def _fulfils(self, found: Said) -> _Request | None:
        """The proposal that a request names, and asks for."""
        one = self.asks[found.chair.topic].get(found.about)
        if one is None or one.proposed is None or not found.is_a("mcp/request"):
            return None
        return one if "" in {found.method, one.proposed} or found.method == one.proposed else None

    def _note(self, found: Said) -> None:
        asked = self.asks[found.chair.topic]
        if found.is_a("mcp/response") and found.about in asked:
            asked[found.about].answered.add(found.sender)
        told = found.kind.startswith("mcp/request:notifications/")
        if found.is_a("mcp/proposal") or (found.is_a("mcp/request") and not told):
            before = asked.get(found.ident)
            here, proposal = self.seated(found.chair.topic), self._fulfils(found)
            proposed = found.method if found.is_a("mcp/proposal") else None
            request = _Request(found.sender, found.to, here, proposed=proposed)
            request.itself = proposal is not None and proposal.is_put_to(found.chair)
            request.answered = set() if before is None else before.answered
            asked[found.ident] = request

    def _readers(self, found: Said) -> list[Chair]:
        about_ = self.asks[found.chair.topic].get(found.about)
        to = set(found.to)
        if to and about_ is not None and about_.proposed is not None:
            to.update(one.name for one in self.seated(found.chair.topic) if about_.is_of(one))
        return [
            one
            for one in self.seated(found.chair.topic)
            if (one is not found.chair or PEOPLE[one.name].echo)
            and (PEOPLE[one.name].mode == "all" or not to or one.name in to)
        ]

    # -- what is heard

    def judge(self, chair: Chair, line: _Line, envelope: Any) -> None:
        """Look at what somebody hears."""
        sender = envelope["from"]
        if line.over or chair.line is not line:
            self._fault(chair, "heard something though its place was taken", envelope)
        elif sender == GATEWAY:
            self._of_the_gateway(chair, envelope)
        elif sender == KERNEL:
            self._of_the_kernel(chair, envelope)
        else:
            self._of_another(chair, envelope)

    def _fault(self, chair: Chair, what: str, envelope: Any) -> None:
        self.house.fault(f"{chair.name} in {chair.topic} {what}", envelope)

    def _of_another(self, chair: Chair, envelope: Any) -> None:
        known = self.said.get(envelope["id"])
        if known is None or known.envelope != envelope:
            self._fault(chair, "heard what nobody said", envelope)
        elif not known.passes:
            self._fault(chair, "heard what may not pass", envelope)
        elif known.readers.get(chair) != chair.place:
            self._fault(chair, "heard what is not for it", envelope)
        else:
            known.got[chair] += 1
            if known.got[chair] > 1:
                self._fault(chair, "heard something twice", envelope)

    def _of_the_gateway(self, chair: Chair, envelope: Any) -> None:
        kind, payload = envelope["kind"], envelope["payload"]
        mine = {one.name for one in self.chairs.values() if one.topic == chair.topic} | {KERNEL}
        if chair.topic == DEN:
            mine = set(IN_DEN)
        if kind == "system/presence":
            if payload["participant"]["id"] not in mine - {chair.name}:
                self._fault(chair, "heard of somebody elsewhere", envelope)
            return
        if envelope.get("to") != [chair.name]:
            self._fault(chair, "heard what the gateway told another", envelope)
        elif kind == "system/welcome":
            others = {one["id"] for one in payload["participants"]}
            if payload["you"]["id"] != chair.name or others - (mine - {chair.name}):
                self._fault(chair, "was welcomed as another, or among others", envelope)
        else:
            self._refused(chair, envelope)

    def _refused(self, chair: Chair, envelope: Any) -> None:
        """Whoever says what may not pass is told so, and nobody is told of what another said."""
        every = [one for one in self.every if one.ident == envelope.get("correlation_id")]
        if not any(one.chair is chair and not one.passes for one in every):
            self._fault(chair, "was refused what may pass, or what another said", envelope)

    def _of_the_kernel(self, chair: Chair, envelope: Any) -> None:
        to, kind = set(envelope.get("to") or ()), envelope["kind"]
        if PEOPLE[chair.name].mode == "directed" and to and chair.name not in to:
            self._fault(chair, "heard what the gateway told another", envelope)
        if (
            chair.topic != HALL
            or {one.partition("-")[0] for one in about(json.dumps(envelope))} - to
        ):
            self._fault(chair, "heard the gateway tell somebody what is another's", envelope)
        if kind.startswith("mcp/response"):
            self._answers(chair, envelope, to)
        elif kind.startswith("mcp/request") and len(to) != 1:
            self._fault(chair, "heard the gateway ask or tell all what is one's", envelope)
        elif kind.startswith("mcp/request:") and "id" in envelope["payload"]:
            request = _Request(KERNEL, tuple(to), self.seated(HALL))
            self.asks[HALL].setdefault(envelope["id"], request)
            self.questions[envelope["payload"]["id"]] = envelope["id"], kind

    def _answers(self, chair: Chair, envelope: Any, to: set[str]) -> None:
        known = self.put.get(envelope.get("correlation_id"))
        self.results[chair] += chair.name in to
        if known is None:
            self._fault(chair, "heard the gateway answer what nobody asked it", envelope)
            return
        proposed = self.asks[HALL].get(known.about)
        also = (
            {proposed.asker}
            if proposed is not None and proposed.proposed is not None
            else set[str]()
        )
        asker = self.chairs[known.sender, HALL]
        if known.sender not in to or to - also - {known.sender}:
            self._fault(chair, "heard the gateway answer another than who asked", envelope)
        elif asker.line is None or asker.turn != known.turn:
            self._fault(chair, "heard the gateway answer one who is gone", envelope)

    # -- what has to come

    def must_know(self, proposer: Chair, asked: Asked, before: int) -> None:
        """Whoever proposed what somebody has done hears what that came to."""
        if asked.heard and proposer.line is not None and self.results[proposer] <= before:
            self._fault(proposer, "did not hear what its proposal came to", asked.params)

    def must_arrive(self) -> None:
        """Whoever a message is for has heard it, unless it is gone."""
        every, self.every = self.every, []
        for one in every:
            for chair, place in one.readers.items():
                if chair.place == place and chair.line is not None and not one.got[chair]:
                    self._fault(chair, "did not hear what is for it", one.envelope)
