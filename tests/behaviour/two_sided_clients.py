"""The hosts of the two-sided model: pipes, HTTP sessions and requests that stand alone. Each message that one gets is shown to the judge."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Protocol

from gatewright.app.gateway import Gateway
from gatewright.call import Caller
from gatewright.mcp.protocol.negotiate import EVENTS_WANTED
from gatewright.mcp.protocol.negotiate import EXTENSION as MGP
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.server.open_call import HANDLE
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_LOG_LEVEL,
    META_SUBSCRIPTION,
    META_VERSION,
    request_headers,
)
from gatewright.transport.base import Closed
from gatewright.transport.memory import MemoryPipe, pair
from tests.behaviour.two_sided_facts import (
    EXTENSIONS,
    HOSTS,
    MARK,
    MODERN,
    TAKES_TASKS,
    Asked,
    Question,
    about,
    puts,
    sources,
    tasks_told,
    visible,
)
from tests.behaviour.two_sided_mgp import Hearing, Subscribed
from tests.behaviour.two_sided_posts import Ear, Post

__all__ = ["Client", "Sees"]

_CAN: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
_OFFER = {"version": "0.2.0", "extensions": list(EXTENSIONS)}
_TASKS: dict[str, Any] = {"io.modelcontextprotocol/tasks": {}}


class Sees(Protocol):
    """The house that a client stands at."""

    gateway: Gateway
    asked: dict[str, Asked]
    links: dict[tuple[str, str], dict[str, set[str]]]

    def now(self) -> float:
        """The time, in seconds."""

    def fault(self, what: str, message: Any) -> None:
        """Write down what should not have been."""

    def judge_client(self, client: Client, said: Any, stream: int | None) -> None:
        """Look at one message."""


class Client:
    """See the module's text."""

    pipe: MemoryPipe
    door: Duplex

    def __init__(self, house: Sees, name: str, key: str) -> None:
        self.house, self.name, self.key = house, name, key
        self.host = HOSTS[name]
        self.modern = self.host.revision == MODERN
        self.count = 0
        self.listed: dict[str, set[str]] = {}
        """By URI: the servers of which that is a resource, as the lists say."""
        self.credit: Counter[str] = Counter()
        """How often it may hear that lists have changed."""
        self.spent: Counter[tuple[str, Any]] = Counter()
        """How often it has heard it, on its connection or in answer to each request to listen."""
        self.tasks: dict[str, int] = {}
        """By the id that it was given: the number of each task that was made for it."""
        self.times = 0
        """How often it has connected."""
        self.connect()

    def connect(self) -> None:
        """Begin anew, with ids that begin anew."""
        self.ident = 0
        self.times += 1
        self._spent()
        self.acks: dict[int, dict[str, Any]] = {}
        """What was granted to each request to listen."""
        self.open: dict[int, Asked] = {}
        self.asked: list[Question] = []
        self.answered: list[Question] = []
        """What it answered by a state, the last ones."""
        self.elicited: set[str] = set()
        self.wants: dict[str, set[str]] = {}
        """What it has subscribed to, and whose that is."""
        self.holds: dict[str, str] = {}
        """What of that was granted, and by which server."""
        self.mgp = Hearing()
        self.session = ""
        self.posts: dict[Post, None] = {}
        self._plug()
        if not self.modern:
            self._greet()

    def _plug(self) -> None:
        """Begin a connection, where there is one."""
        if self.host.wire == "pipe":
            front = self.house.gateway.front
            caller = front.identify("websocket", self.key)
            assert isinstance(caller, Caller)
            words: dict[str, Any] = {"credential": self.key, "profile": self.host.profile}
            door = Duplex(front, caller, door="websocket", **words)
            self.door = door
            theirs, self.pipe = pair(door, Ear(self))
            door.attach(theirs)

    def _greet(self) -> None:
        info = {"name": self.name, "version": "1"}
        can = dict(_CAN)
        if self.host.mgp:
            can["mgp"] = _OFFER
        hello = {"protocolVersion": self.host.revision, "capabilities": can, "clientInfo": info}
        self.say(id=0, method="initialize", params=hello)

    def _spent(self) -> None:
        """What it heard on its former connection it does not hear again."""
        for method in {method for method, _ in self.spent}:
            heard = [count for (one, _), count in self.spent.items() if one == method]
            self.credit[method] -= max(heard)
        self.spent.clear()

    def close(self) -> None:
        """Go away."""
        for asked in self.open.values():
            asked.gone = True
        self._unplug()
        for post in list(self.posts):
            post.leave()
        if self.session:
            Post(self, "DELETE", b"", {}, None)
        self.session = ""

    def _unplug(self) -> None:
        if self.host.wire == "pipe":
            self.pipe.close()

    # -- what it says

    def say(self, **message: Any) -> None:
        """Send one message."""
        said = {"jsonrpc": "2.0", **message}
        if self.modern and "method" in said and "id" in said:
            tasks = _TASKS if self.name in TAKES_TASKS else {}
            can = {**_CAN, "extensions": {**tasks, **({MGP: _OFFER} if self.host.mgp else {})}}
            meta = {META_VERSION: MODERN, META_CLIENT_CAPABILITIES: can, META_LOG_LEVEL: "debug"}
            params = dict(said.get("params") or {})
            said["params"] = {**params, "_meta": {**params.get("_meta", {}), **meta}}
        self._put(said)

    def _put(self, said: Any) -> None:
        data = json.dumps(said).encode()
        if self.host.wire == "pipe":
            try:
                self.pipe.send(data)
            except Closed:
                return
        elif self.modern or self.session or said.get("method") == "initialize":
            Post(self, "POST", data, self._headers(said), said.get("id"))

    def _headers(self, said: Any) -> dict[str, str]:
        if not self.modern:
            return {"mcp-protocol-version": self.host.revision}
        method, params = str(said.get("method", "tools/call")), said.get("params") or {}
        return dict(request_headers(method, params, {}, MODERN))

    def request(
        self,
        method: str,
        params: dict[str, Any],
        servers: frozenset[str],
        *,
        may: bool = True,
        ident: bool = True,
    ) -> Asked:
        """Ask something under a new mark, or say it without an id."""
        self.count += 1
        mark = f"{self.name}-{self.count}"
        asked = self.house.asked[mark] = Asked(mark, method, servers & visible(self.name), may)
        asked.at, asked.times = self.house.now(), self.times
        asked.token = f"t{self.count % 3}"
        asked.params = {**params, "_meta": {MARK: mark, "progressToken": asked.token}}
        self.send(asked, ident)
        return asked

    def send(self, asked: Asked, ident: bool = True, **more: Any) -> None:
        """Send what stands behind a mark, once more with more."""
        if not ident:
            self.say(method=asked.method, params=asked.params)
            return
        self.ident += 1
        self.open[self.ident] = asked
        asked.idents.append(self.ident)
        self.say(id=self.ident, method=asked.method, params={**asked.params, **more})

    def cancel(self, number: int) -> Asked:
        """Give a request up."""
        ident = sorted(self.open)[number % len(self.open)]
        asked = self.open.pop(ident)
        asked.gone = True
        if self.host.wire == "http" and self.modern:
            for post in [one for one in self.posts if one.stream == ident]:
                post.leave()
        else:
            self.say(method="notifications/cancelled", params={"requestId": ident})
        return asked

    def unknown(self, number: int) -> int:
        """An id under which it waits for nothing: of a call that goes on under another one, where there is any, of what is
        over, or one that it has not used yet."""
        former = [ident for one in self.open.values() for ident in one.idents[:-1]]
        over = [ident for ident in range(1, self.ident + 1) if ident not in self.open]
        if number < 5 and (former or over):
            found = former or over
            return found[number % len(found)]
        return self.ident + 1 + number

    @property
    def waits_for(self) -> list[tuple[str, str]]:
        """The resources that it was granted word of, and whose each is."""
        listened = [one for ident, one in self.acks.items() if ident in self.open]
        uris = [uri for one in listened for uri in one.get("resourceSubscriptions") or ()]
        return [*self.holds.items(), *((uri, next(iter(self.wants[uri]))) for uri in uris)]

    @property
    def subscriptions(self) -> dict[str, Subscribed]:
        """Its subscriptions to events; those that a request to listen made, while that is open."""
        every = self.mgp.subscriptions.items()
        return {name: one for name, one in every if one.listen is None or one.listen in self.open}

    @property
    def sessionless(self) -> bool:
        """Whether each request of its stands alone."""
        return self.modern and self.host.wire == "http"

    @property
    def handle(self) -> str | None:
        """What the gateway calls its session."""
        return (self.session or None) if self.host.wire == "http" else self.door.peer.session

    def listens_for(self, kind: str) -> bool:
        """Whether it hears that such lists have changed."""
        if not self.modern:
            return True
        return any(
            one.get(f"{kind}ListChanged") for at, one in self.acks.items() if at in self.open
        )

    def parked(self, asked: Asked) -> bool:
        """Whether a request of its waits for its own answer, under no id."""
        return any(one.state and one.mark == asked.mark for one in self.asked)

    def answer(self, number: int, progress: bool = False) -> Question | None:
        """Answer a question that is open, or say how far that is."""
        if not self.asked:
            return None
        at = number % len(self.asked)
        one = self.asked[at]
        if progress:
            message = f"says-{self.name}/{''.join(one.puts)}"
            params = {"progressToken": one.token, "progress": 1, "message": message}
            self.say(method="notifications/progress", params=params)
            return None
        del self.asked[at]
        if not self.modern:
            self.say(id=one.ident, result=self.words(one.method, "".join(one.puts)))
        elif one.ident in self.open:
            asked = self.open.pop(one.ident)
            asked.sent, asked.parked = asked.sent + 1, False
            given = zip(one.keys, one.puts, strict=True)
            answers = {key: self.words(one.method, put) for key, put in given}
            self.answered = [*self.answered[-20:], one]
            self.send(asked, requestState=one.state, inputResponses=answers)
        else:
            return None
        return one

    def words(self, method: str, put: str = "") -> dict[str, Any]:
        """The answer to a question, which says who gives it, and to what."""
        mine = f"answer-of-{self.name}/{put}"
        if method == "roots/list":
            return {"roots": [{"uri": f"file:///{mine}"}]}
        if method == "sampling/createMessage":
            content = {"type": "text", "text": mine}
            return {"role": "assistant", "content": content, "model": "m"}
        return {"action": "accept", "content": {"who": mine, "response": mine}}

    # -- what it hears

    def take(self, said: Any, stream: int | None) -> None:
        """Take one message; `stream` is the request on whose own stream it came, None for other ways."""
        self.house.judge_client(self, said, stream)
        ident = said.get("id")
        if "method" in said:
            if ident is not None:
                self._asked(ident, said)
            elif said["method"] == "notifications/cancelled":
                gone = (said.get("params") or {}).get("requestId")
                self.asked = [one for one in self.asked if one.ident != gone]
            elif said["method"] == "notifications/subscriptions/acknowledged":
                self._granted(said["params"])
            self._handle(said, stream)
        elif ident == 0:
            self.say(method="notifications/initialized")
            if self.host.wire == "http":
                Post(self, "GET", b"", {}, None)
        elif ident in self.open:
            self._ended(ident, said.get("result"))

    def _granted(self, params: Any) -> None:
        ident, granted = params["_meta"][META_SUBSCRIPTION], params["notifications"]
        self.acks[ident] = granted
        if ident in self.open:
            wanted = self.open[ident].params["notifications"].get(EVENTS_WANTED, {})
            self.mgp.granted(ident, wanted, granted.get(EVENTS_WANTED, {}))

    def _handle(self, said: Any, stream: int | None) -> None:
        handle = ((said.get("params") or {}).get("_meta") or {}).get(HANDLE)
        if handle is not None and stream in self.open:
            self.mgp.handles[handle] = self.open[stream].mark

    def _asked(self, ident: Any, said: Any) -> None:
        params, text = said.get("params") or {}, json.dumps(said)
        if isinstance(params.get("elicitationId"), str):
            self.elicited.add(params["elicitationId"])
        mark, token = next(iter(about(text)), ""), (params.get("_meta") or {}).get("progressToken")
        self.asked.append(Question(ident, said["method"], mark, tuple(puts(text)), token=token))

    def _ended(self, ident: int, result: Any) -> None:
        found = result or {}
        if found.get("resultType") == "input_required":
            wanted = found.get("inputRequests") or {}
            for one in wanted.values():
                if isinstance((one.get("params") or {}).get("elicitationId"), str):
                    self.elicited.add(one["params"]["elicitationId"])
            method = next((one["method"] for one in wanted.values()), "elicitation/create")
            whose = tuple("".join(puts(json.dumps(one))) for one in wanted.values())
            self.open[ident].parked = True
            state, mark = str(found.get("requestState", "")), self.open[ident].mark
            self.asked.append(Question(ident, method, mark, whose, state, tuple(wanted)))
            return
        asked = self.open.pop(ident)
        asked.heard = json.dumps(found)
        self.asked = [one for one in self.asked if not (one.state and one.ident == ident)]
        if result is not None:
            self._got(asked, found)

    def _got(self, asked: Asked, found: Any) -> None:
        """Remember what an answer gives a right to."""
        self.mgp.got(asked.method, asked.params, found)
        text = json.dumps(found)
        task = (found.get("task") or {}).get("taskId")
        if found.get("resultType") == "task":
            task = found.get("taskId")
        if isinstance(task, str) and asked.method == "tools/call" and "gwtask_" not in task:
            self.tasks[task] = next(number for _, number in tasks_told(text))
        uri = str(asked.params.get("uri"))
        if asked.method == "resources/subscribe" and uri in self.wants:
            self.holds[uri] = next(iter(asked.servers), "")
        for one in found.get("content") or ():
            if isinstance(one, dict) and one.get("type") == "resource_link":
                named = self.house.links.setdefault((self.host.agent, self.host.profile), {})
                self._of_one(named.setdefault(one["uri"], set()), text, one)
        if asked.method == "resources/list":
            self.listed = {}
            for one in found.get("resources", ()):
                mine = self.listed.setdefault(one["uri"], set())
                self._of_one(mine, str(one.get("description")), one)

    def _of_one(self, mine: set[str], text: str, entry: Any) -> None:
        """One name is one server's."""
        mine.update(sources(text))
        if len(mine) > 1:
            self.house.fault(f"{self.name} is shown the resources of {sorted(mine)} as one", entry)
