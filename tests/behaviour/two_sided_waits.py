"""What waits for an operator in the two-sided model, and who may hear of it: the judge's part about approvals and the tasks that they become.

A call runs once for each yes, with the arguments to which that was said, and only while its caller wants it. Of a request for approval and
of a task of the gateway hears whose call waits, and nobody else; what a task came to is what that call came to.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

from gatewright.approvals.request import Approval
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import HOSTS, WAITS, Asked, about, handles, requests
from tests.behaviour.two_sided_servers import End
from tests.behaviour.two_sided_told import Told

__all__ = ["PAGES", "Held", "Waits", "Wanted"]

PAGES = "http://127.0.0.1:9"
"""Where the gateway has its pages."""
_RECORD = ("notifications/mgp.audit", "notifications/mgp.event")
_PATIENCE_S = 20.0
"""Nothing is given up earlier."""
_HOLD_S = 44.0
"""For so long a call waits on the line at least."""


class Wanted(NamedTuple):
    """What an approval is bound to: who asks, in which profile, for the tool of which server, and with which words."""

    agent: str
    profile: str
    server: str
    what: str


class Held(NamedTuple):
    """A task of the gateway: the request of a client for which it was made, and the run of the gateway in which it is."""

    mark: str
    run: int


class Waits(Told):
    """See the module's text."""

    asked: dict[str, Asked]
    clients: dict[str, Client]

    def __init__(self) -> None:
        super().__init__()
        self.run = 0
        """How often the gateway has been started."""
        self.waits: dict[str, Wanted] = {}
        """By mark, the calls that may not run without the word of an operator."""
        self.known: dict[str, Wanted] = {}
        """By the id of each request for approval: what is asked."""
        self.yes: Counter[tuple[Wanted, str]] = Counter()
        """What operators agreed to and no server has got, with the words with which it is to run."""
        self.no: set[str] = set()
        """The requests that operators denied."""
        self.held: dict[str, Held] = {}
        """The tasks of the gateway."""
        self.tried: set[str] = set()
        """Those that their owners asked to cancel."""
        self.cancelled: set[str] = set()
        """Those of them that had not ended."""

    def now(self) -> float:
        """The time, in seconds."""
        raise NotImplementedError

    def late(self, asked: Asked) -> bool:
        return asked.cut or self.now() - asked.at >= _PATIENCE_S

    def request(self, ident: str) -> Approval | None:
        """A request for approval, as operators see it."""
        raise NotImplementedError

    def undecided(self) -> list[Approval]:
        """What waits for an operator, oldest first."""
        raise NotImplementedError

    def wants(self, asked: Asked, server: str, what: str) -> None:
        """A client calls what waits for an operator."""
        host = HOSTS[asked.who]
        self.waits[asked.mark] = Wanted(host.agent, host.profile, server, what)

    def seen(self, ident: str) -> Wanted | None:
        """What a request for approval asks. What is asked is read while that waits: afterwards the gateway has no arguments."""
        one = None if ident in self.known else self.request(ident)
        if one is not None and one.arguments:
            profile, what = one.policy.partition(" ")[2], str(json.loads(one.arguments).get("m"))
            self.known[ident] = Wanted(one.agent, profile, one.server, what)
        return self.known.get(ident)

    def waiting(self, name: str) -> set[Wanted]:
        """What a client ever asked operators for."""
        return {one for mark, one in self.waits.items() if mark.partition("-")[0] == name}

    # -- clients

    def judge_waiting(self, client: Client, said: Any, text: str) -> None:
        """Look at what a client hears of what waits."""
        self.judge_watched(client, said, text)
        name = client.name
        asked = client.open.get(said.get("id")) if "method" not in said else None
        recorded = said.get("method") in _RECORD  # of all that goes on under a key
        mine = [each for each in HOSTS if recorded and HOSTS[each].agent == client.host.agent]
        waiting = set[Wanted]().union(*map(self.waiting, {name, *mine}))
        for one in requests(text):
            if self.seen(one) not in waiting:
                self.fault(f"{name} heard of what another waits for", said)
        named = handles(text)
        for one in named:
            if asked is not None and asked.mark in self.waits:
                self.held.setdefault(one, Held(asked.mark, self.run))
            who = self.held[one].mark.partition("-")[0] if one in self.held else ""
            if who != name and not (recorded and who in (*mine, "")):
                self.fault(f"{name} heard of a task of the gateway that is another's", said)
        if asked is None:
            return
        found = self.held.get(str(asked.params.get("taskId")))
        if found is not None and (about(text) - {found.mark} or named - {asked.params["taskId"]}):
            self.fault(f"{name} heard what another call came to", said)

    @staticmethod
    def is_page(asked: Any, wrote: set[str]) -> bool:
        """Whether a question is the gateway's own, which leads to the page of a request for approval."""
        params = asked.get("params") or {}
        of_a_request = bool(requests(str(params.get("elicitationId"))))
        return of_a_request and not wrote and str(params.get("url")).startswith(PAGES)

    # -- servers

    def judge_run(self, end: End, asked: Asked, params: Any) -> None:
        """Look at a call that a server got: whether somebody agreed to it, and its caller still wants it."""
        self.judge_stream(end, asked, params)
        if params.get("name") != WAITS:
            return
        name, wanted = end.server.name, self.waits.get(asked.mark)
        if wanted is None or wanted.server != name:
            self.fault(f"{name} got what nobody asked an operator for", params)
            return
        if asked.got[name] > 1:
            return  # a round of its own, or what harms nothing: judged with every other call
        key = wanted, str((params.get("arguments") or {}).get("m"))
        self.yes[key] -= 1
        if self.yes[key] < 0:
            self.fault(f"{name} got what no operator agreed to", params)
        if asked.gone and not asked.parked:
            self.fault(f"{name} got what its caller had given up", params)

    # -- what has to come

    def live(self, handle: str) -> bool:
        """Whether the gateway has to know a task."""
        return handle in self.held and self.held[handle].run == self.run

    def still(self, wanted: Wanted) -> list[Asked]:
        """The calls that wait for one thing, of clients that are there as they were."""
        every = [self.asked[mark] for mark, one in self.waits.items() if one == wanted]
        return [one for one in every if self._waits_on(one)]

    def _waits_on(self, asked: Asked) -> bool:
        client = self.clients[asked.who]
        if asked.got or asked.gone or asked.times != client.times or self.has_gone(asked):
            return False
        if asked.parked and asked.outrun:
            return False
        mine = [one for one, held in self.held.items() if held.mark == asked.mark]
        if not mine:
            return asked in client.open.values() and self.now() - asked.at < _HOLD_S
        return any(self.live(one) and one not in self.cancelled for one in mine)

    def must_run(self, wanted: Wanted, before: list[Asked]) -> None:
        """One of the calls that waited for a yes has reached its server; it may be an older one, of which nobody knows whether it still waits."""
        left = sum(count for (one, _), count in self.yes.items() if one == wanted)
        if before and left > 0 and not any(one.got for one in before):
            self.fault(f"{wanted.server} did not get what an operator agreed to", wanted)

    def must_ask_anew(self, wanted: Wanted, before: list[Asked]) -> None:
        """What an operator agreed to under other rules than hold by now waits for an operator once more, where it is a task (decision 0034)."""
        tasks = {held.mark for held in self.held.values()}
        left = [one for one in before if one.mark in tasks and not one.got]
        if left and wanted not in [self.known[one.id] for one in self.undecided()]:
            self.fault(f"{wanted.server} was not asked for anew under other rules", wanted)

    def must_end(self, before: list[Asked]) -> None:
        """A no is the answer to whoever waited on the line."""
        for one in before:
            client = self.clients[one.who]
            if one in client.open.values() and not one.parked:
                self.fault(f"{one.who} was not told that an operator said no", one.mark)

    def must_stand(self, handle: str, asked: Asked) -> None:
        """Whoever asks how its task stands is told of that one, and truthfully."""
        if not self.live(handle):
            return
        text, mark = asked.heard, self.held[handle].mark
        known = json.loads(text or "{}").get("status")
        if handle not in text or known is None:
            self.fault(f"{asked.who} did not hear of its task {handle}", text)
        elif handle in (self.cancelled if known != "cancelled" else self.held.keys() - self.tried):
            self.fault(f"{asked.who} was told that its task is {known}", text)
        elif known == "working" and self.denied(self.waits[mark]):
            self.fault(f"{asked.who} was not told that an operator said no", text)
        elif known != "working" and not self.over(mark) and handle not in self.tried:
            self.fault(f"{asked.who} was told that its task has ended", text)

    def must_list(self, client: Client, asked: Asked) -> None:
        """Whoever lists its tasks is told of those of the gateway."""
        mine = {one for one, held in self.held.items() if held.mark.startswith(f"{client.name}-")}
        left = {one for one in mine if self.live(one)} - handles(asked.heard)
        if not client.modern and '"tasks"' in asked.heard and left:
            self.fault(f"{client.name} was not told of its tasks {sorted(left)}", asked.heard)

    def denied(self, wanted: Wanted) -> bool:
        """Whether an operator has said no to something, as it was asked last."""
        every = [ident for ident, one in self.known.items() if one == wanted]
        return bool(every) and every[-1] in self.no

    def over(self, mark: str) -> bool:
        """Whether a call that waited for an operator may have ended."""
        asked, wanted = self.asked[mark], self.waits[mark]
        alike = [self.asked[one].got for one, other in self.waits.items() if other == wanted]
        anew = asked.times != self.clients[asked.who].times
        gone = anew or self.has_gone(asked)
        return any(alike) or gone or not asked.servers or self.denied(wanted)

    def has_gone(self, asked: Asked) -> bool:
        """Whether the server was gone since that somebody asked something of."""
        server = self.waits[asked.mark].server
        return not self.there(server) or asked.at <= self.left_at.get(server, -1.0)
