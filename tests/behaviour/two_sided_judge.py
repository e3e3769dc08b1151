"""Judge of the two-sided model (`two_sided`): what may have been said, by somebody who stands outside and knows what each sent and got."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gatewright.mcp.server.open_call import HANDLE
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import (
    HOSTS,
    KINDS,
    MARK,
    SERVERS,
    Asked,
    about,
    answers,
    mark_of,
    puts,
    sources,
    tasks_told,
    visible,
)
from tests.behaviour.two_sided_fates import Fates, Made
from tests.behaviour.two_sided_mgp import OF_ALL
from tests.behaviour.two_sided_record import unrecorded
from tests.behaviour.two_sided_servers import End, Work
from tests.behaviour.two_sided_waits import Waits

__all__ = ["Judge"]

_OWN_ACCOUNT = frozenset(
    {
        "initialize",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "logging/setLevel",
        "ping",
        "notifications/initialized",
    }
)
"""What the gateway asks for itself, or for all who wish for it."""
_LISTED = tuple(f"notifications/{kind}/list_changed" for kind in KINDS)
_OF_A_TASK = frozenset({"tasks/get", "tasks/result", "tasks/cancel", "tasks/update"})
_STATUS = frozenset({"notifications/tasks/status", "notifications/tasks"})
_OURS = ("dev.gatewright/", "gatewright/")


class Judge(Waits):
    """Keeps what should not have been, and what was."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.faults: list[str] = []
        self.heard: Counter[str] = Counter()
        """How often clients and servers got each kind of message."""
        self.asked: dict[str, Asked] = {}
        """By mark, all that clients ever asked."""
        self.served: Counter[tuple[str, str, str]] = Counter()
        """Agent, method and server of each call that a server got."""
        self.made: list[Made] = []
        """All tasks that servers made, by their numbers."""
        self.fates = Fates()
        self.links: dict[tuple[str, str], dict[str, set[str]]] = {}
        """By agent and profile: the resources that results named to it, and which servers' results those were."""
        self.pages: dict[str, tuple[str, int]] = {}
        """By the id of each page that somebody was sent to: who that was, and on which connection."""
        self.back: set[str] = set()
        """The questions that servers have taken back."""
        self.clients: dict[str, Client] = {}
        self.told: Counter[tuple[str, str]] = Counter()
        """How often a client heard of a request of its own while that ran: by mark, `progress` or `log`; of a task of its own, by
        its number; and of a resource or a list, by its own name and what that is."""
        self.roots: Counter[str] = Counter()
        """How often clients said that their roots are others, by the server that may hear of it."""

    def fault(self, what: str, message: Any) -> None:
        """Write one down."""
        self.faults.append(f"{what}: {json.dumps(message)[:700]}")

    # -- clients

    def judge_client(self, client: Client, said: Any, stream: int | None) -> None:
        """Look at what a client got."""
        name, text = client.name, json.dumps(said)
        marks, wrote, seen = about(text), sources(text), visible(client.name)
        method = said.get("method")
        self.heard[f"client {method or 'answer'}"] += 1
        if any(one.partition("-")[0] != name for one in marks):
            self.fault(f"{name} heard of {marks}", said)
        if wrote - seen:
            self.fault(f"{name} heard a server that it may not see", said)
        if any(who != name for who, _ in tasks_told(text)):
            self.fault(f"{name} heard of a task of another client", said)
        for one in marks:
            known = self.asked.get(one)
            if known is None or wrote - known.servers:
                self.fault(f"{name} heard another server than the one it asked", said)
        self._count(name, said, marks)
        self.judge_waiting(client, said, text)
        self._stream(client, said, stream, marks, wrote)
        self.judge_listened(client, said, stream)
        if method is None:
            self._answer(client, said, wrote)
        elif said.get("id") is not None:
            self._question(client, said, wrote)
        else:
            self._notice(client, said, wrote)
        self._forged(client, said, wrote)

    def _count(self, name: str, said: Any, marks: set[str]) -> None:
        """Keep what somebody heard of its own."""
        method = str(said.get("method"))
        kind = {"notifications/progress": "progress", "notifications/message": "log"}.get(method)
        self.told.update((one, kind) for one in marks if kind)
        if method in _STATUS:
            self.told.update((str(number), "task") for _, number in tasks_told(json.dumps(said)))
        elif method.startswith(("notifications/resources", *_LISTED)):
            self.told[name, str((said.get("params") or {}).get("uri", method))] += 1

    def _stream(
        self, client: Client, said: Any, stream: int | None, marks: set[str], wrote: set[str]
    ) -> None:
        """Over HTTP what a request is about stands on its own stream, and nothing else. Questions and log lines of a server on a pipe name
        no request: they go to the newest of the same session."""
        asked = client.open.get(stream) if stream is not None else None
        piped = not any("web" in SERVERS[one] for one in wrote)
        question = "method" in said and said.get("id") is not None
        question = question or "inputRequests" in (said.get("result") or {})
        if piped and (question or said.get("method") == "notifications/message"):
            asked = None
        running = {one.mark for one in client.open.values()}  # what is over has no stream any more
        if asked is not None and marks & running - {asked.mark}:
            self.fault(f"{client.name} heard on one stream what belongs to another", said)
        beside = client.host.wire == "http" and stream is None and "method" in said
        if beside and any(one.mark in marks for one in client.open.values()):
            self.fault(f"{client.name} heard of a request beside its stream", said)

    def _answer(self, client: Client, said: Any, wrote: set[str]) -> None:
        ident = said.get("id")
        if ident in (0, None):
            return
        asked = client.open.get(ident)
        if asked is None:
            if not 0 < ident <= client.ident:
                self.fault(f"{client.name} got an answer to what it never asked", said)
            elif wrote:
                self.fault(f"{client.name} got an answer to what is over", said)
            return
        if asked.method in OF_ALL:
            return  # of all that it may see
        allowed = asked.servers if asked.may else frozenset()
        if wrote - allowed:
            self.fault(f"{client.name} was answered by {wrote} in place of {allowed}", said)
        found = said.get("result") or {}
        for one in (found.get("inputRequests") or {}).values():
            self._asks(client, one, wrote, modern=True)

    def _question(self, client: Client, said: Any, wrote: set[str]) -> None:
        waits = [*client.open.values(), *self.crossing(client)]
        if wrote - {server for one in waits for server in one.servers}:
            self.fault(f"{client.name} was asked by a server that it had not called", said)
        self._asks(client, said, wrote, modern=False)

    def _asks(self, client: Client, asked: Any, wrote: set[str], *, modern: bool) -> None:
        self.heard["client asked"] += 1
        params, method = asked.get("params") or {}, str(asked.get("method"))
        if method not in ("elicitation/create", "sampling/createMessage", "roots/list"):
            self.fault(f"{client.name} was asked what nobody may ask it", asked)
        if client.modern is not modern:
            self.fault(f"{client.name} was asked in the other era's way", asked)
        if "sampling" in method and params.get("includeContext", "none") != "none":
            self.fault(f"{client.name} was asked for the context of other servers", asked)
        if method == "elicitation/create" and not self.is_page(asked, wrote):
            self._page(client, asked, params.get("elicitationId"))
            names = [one for one in wrote if params["message"].startswith(f'Server "{one}" asks:')]
            if not names:
                self.fault(f"{client.name} was asked without the server's name", asked)
            if not str(params.get("url", "https://")).startswith("https://"):
                self.fault(f"{client.name} was led to another place than a page", asked)

    def _page(self, client: Client, asked: Any, ident: str | None) -> None:
        """A page that somebody was sent to is of nobody else."""
        mine = client.name, client.times if client.host.wire == "pipe" or not client.modern else 0
        if ident is not None and self.pages.setdefault(ident, mine) != mine:
            self.fault(f"{client.name} was sent to a page of another", asked)

    def _notice(self, client: Client, said: Any, wrote: set[str]) -> None:
        method, params = said["method"], said.get("params") or {}
        judge = self._notices.get(method) or self.told_by_mgp.get(method)
        if judge is None:
            self.fault(f"{client.name} was told what no server may tell", said)
        elif not judge(client, params, wrote, said):
            self.fault(f"{client.name} was told what is not its own", said)
        self._subscription(client, params, said)

    @property
    def _notices(self) -> Mapping[str, Callable[[Client, Any, set[str], Any], bool]]:
        """Whether a client may be told each of these."""
        return {
            "notifications/message": lambda _, params, wrote, __: (
                wrote <= {str(params.get("logger")).partition("/")[0]}
            ),
            "notifications/resources/updated": lambda client, params, wrote, _: (
                params.get("uri") in client.wants and wrote <= client.wants[params["uri"]]
            ),
            "notifications/progress": self._progressed,
            **dict.fromkeys(_LISTED, self._changed),
            **dict.fromkeys(_STATUS, self._stands),
            "notifications/elicitation/complete": lambda client, params, wrote, _: (
                params.get("elicitationId") in client.elicited
                and wrote <= {str(params["elicitationId"]).partition("/")[0]}
            ),
            "notifications/mgp.audit": lambda client, params, *_: (
                client.host.mgp
                and (params.get("actor") or {}).get("id", client.host.agent) == client.host.agent
            ),
            "notifications/mgp.lifecycle": self._seen_to_change,
            "notifications/subscriptions/acknowledged": lambda client, *_: client.modern,
            "notifications/cancelled": self._taken_back,
        }

    def _seen_to_change(self, client: Client, params: Any, wrote: set[str], _: Any) -> bool:
        return client.host.mgp and params.get("server_id") in visible(client.name) and not wrote

    def _progressed(self, client: Client, params: Any, _: set[str], said: Any) -> bool:
        known = [self.asked[one].token for one in about(json.dumps(said)) if one in self.asked]
        return params.get("progressToken") in (known or [one.token for one in client.open.values()])

    def _changed(self, client: Client, params: Any, _: set[str], said: Any) -> bool:
        ident = (params.get("_meta") or {}).get(META_SUBSCRIPTION)
        client.spent[said["method"], ident] += 1
        return client.spent[said["method"], ident] <= client.credit[said["method"]]

    def _taken_back(self, client: Client, params: Any, _: set[str], __: Any) -> bool:
        """A question ends with its call, with its server, by its server's word, or when its time is over."""
        found = [one for one in client.asked if one.ident == params.get("requestId")]
        asked = self.asked.get(found[0].mark) if found else None
        if (
            asked is None
            or self.back.intersection(found[0].puts)
            or self.late(asked)
            or asked not in client.open.values()
        ):
            return not client.modern
        return not any(
            one.mark == asked.mark for server in asked.servers for _, one in self.works(server)
        )

    def works(self, server: str) -> Sequence[tuple[End, Work]]:
        """The requests that a server has not answered."""
        raise NotImplementedError

    def withdrawn(self, put: str) -> None:
        """A server has taken back what it asked."""
        self.back.add(put)

    def _stands(self, client: Client, params: Any, wrote: set[str], said: Any) -> bool:
        mine = client.tasks.get(str(params.get("taskId")))
        if mine is None or {number for _, number in tasks_told(json.dumps(said))} != {mine}:
            return False
        return wrote <= {self.made[mine].end.server.name}

    def _subscription(self, client: Client, params: Any, said: Any) -> None:
        meta = params.get("_meta") or {}
        ident = meta.get(META_SUBSCRIPTION) if isinstance(meta, dict) else None
        if ident is None:
            return
        asked = client.open.get(ident)
        if asked is None or asked.method != "subscriptions/listen":
            self.fault(f"{client.name} was told under a number that is none of its own", said)

    def _forged(self, client: Client, said: Any, wrote: set[str]) -> None:
        """What the gateway alone says does not stand in what a server wrote."""
        if not wrote:
            return
        data = (said.get("error") or {}).get("data")
        for holder in (said.get("result"), data, said.get("params")):
            found = holder if isinstance(holder, dict) else {}
            meta = found.get("_meta") if isinstance(found.get("_meta"), dict) else {}
            theirs = not client.host.mgp or sources(json.dumps(found.get("_mgp")))
            if "_mgp" in found and theirs and not wrote & {"odd", "imp"}:
                self.fault(f"{client.name} got what only the gateway says", said)
            if any(str(key).startswith(_OURS) for key in set(meta or {}) - {HANDLE}):
                self.fault(f"{client.name} got what only the gateway says", said)
            if found.get("status") == "pending_approval":
                self.fault(f"{client.name} was told of an approval by a server", said)
            if str(found.get("requestState", "")).startswith("state-of"):
                self.fault(f"{client.name} got a state that is not sealed", said)

    # -- servers

    def judge_server(self, end: End, said: Any) -> None:
        """Look at what a server got."""
        name, method, mark = end.server.name, said.get("method"), mark_of(said)
        self.heard[f"server {method or 'answer'}"] += 1
        if method is None:
            self._response(end, said)
            return
        if method.startswith("notifications/") is not (said.get("id") is None):
            self.fault(f"{name} got a request without an id, or a notification with one", said)
        told = {
            "notifications/cancelled": self._cancelled,
            "notifications/progress": self._progress,
            **self.asked_by_mgp,
        }
        if method in told:
            told[method](end, said)
        elif mark:
            self._asked(end, said, self.asked.get(mark))
        elif method == "notifications/roots/list_changed" and self.roots[name]:
            return  # of the session that has the connection, which its server asks
        elif method == "tasks/list" and self._lists_tasks(end):
            return  # the page that a caller asked for, whose every entry is looked at on its way back
        elif method not in _OWN_ACCOUNT:
            self.fault(f"{name} was asked what nobody asked", said)

    def _lists_tasks(self, end: End) -> bool:
        """Whether somebody whose tasks are on a connection waits for a list of them."""
        mine = {self.made[number].who for number in end.tasks.values()}
        waiting = (one for name in mine for one in self.clients[name].open.values())
        return any(one.method == "tasks/list" for one in waiting)

    def _asked(self, end: End, said: Any, asked: Asked | None) -> None:
        name, method, params = end.server.name, said["method"], said["params"]
        if asked is None or not asked.may or name not in asked.servers or asked.method != method:
            self.fault(f"{name} got what was not meant for it, or may not be", said)
            return
        if name not in visible(asked.who) or params.get("name") == "no":
            self.fault(f"{name} got what the gates do not let pass", said)
        asked.got[name] = asked.got.get(name, 0) + 1
        self.judge_run(end, asked, params)
        if method == "tools/call" and asked.got[name] > asked.sent and not end.server.modern:
            self.fault(f"{name} got a call twice", said)
        number = end.tasks.get(str(params.get("taskId")))
        if method in _OF_A_TASK and (number is None or self.made[number].who != asked.who):
            self.fault(f"{name} was asked about a task by another than its owner", said)
        self._served(end, asked)
        state, mark = str(params.get("requestState", "")), params["_meta"][MARK]
        if state and not state.startswith(f"state-of-{end.server.called} {mark} "):
            self.fault(f"{name} got a state that it gave for another call", said)
        put = "".join(puts(state)) or self.fates.put(number)
        self._words(end, said, asked.mark, put)
        if asked.got[name] == 1:  # what harms nothing is asked again where a connection broke
            self.served[HOSTS[asked.who].agent, method, name] += 1

    def _served(self, end: End, asked: Asked) -> None:
        """A server that each session has for itself never has two of them on one connection."""
        end.served.add((asked.who, self.clients[asked.who].times))
        if SERVERS[end.server.name].get("share") == "session" and len(end.served) > 1:
            self.fault(f"{end.server.name} serves several on one connection", asked.params)

    def _words(self, end: End, said: Any, mark: str, put: str) -> None:
        """Who answers is whom it was put to, and it answers that."""
        who = mark.partition("-")[0]
        for name, what in answers(json.dumps(said)):
            if what != put or (name != who and not (end.server.hostile and not mark)):
                self.fault(f"{name} answered {what} in place of {put} for {mark}", said)

    def _cancelled(self, end: End, said: Any) -> None:
        found = end.work.get(said["params"].get("requestId"))
        asked = None if found is None else self.asked.get(found.mark)
        if asked is not None and not asked.gone and not self.late(asked):
            self.fault(f"{end.server.name} was told to stop what its caller waits for", said)

    def _progress(self, end: End, said: Any) -> None:
        token, words = said["params"].get("progressToken"), str(said["params"].get("message"))
        mark, put = end.tokens.get(token, ("?", ""))
        who, _, what = words.removeprefix("says-").partition("/")
        if what != put or (mark and mark.partition("-")[0] != who):
            self.fault(f"{end.server.name} was told how far another is", said)

    def _response(self, end: End, said: Any) -> None:
        ident = said.get("id")
        put = end.asked.pop(ident, None)
        if put is None:
            if ident not in end.loose:
                self.fault(f"{end.server.name} got an answer that it did not ask for", said)
            return
        if put.mark or end.server.hostile or not answers(json.dumps(said)):
            self._words(end, said, put.mark, f"{end.server.name}.{ident}")
        elif put.method != "roots/list":
            self.fault(f"{end.server.name} was answered though it asked nobody", said)

    # -- the record

    def judge_record(self) -> None:
        """The record names each call that a server got: who called, what, and where."""
        self.faults += unrecorded(self.folder / "state", self.served)
