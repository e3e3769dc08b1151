"""What clients say, through every door: docs/messages.md, the column of clients, for each message in each form with each kind of id.

In front of a server that writes down all that it gets. Another session of another caller has a call, a question and a task of its own; what
names those, or what never was, does nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, running
from tests.behaviour.hosts import EVERY_DOOR, Host, RpcError, host
from tests.behaviour.messages import CAN, IDS, MADE_UP, Case, beside, cases, content, logged, quiet
from tests.behaviour.test_task_handles import keys

OWN_ACCOUNT = frozenset(
    {
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    }
)
"""What the gateway asks servers for itself."""
APART = frozenset({"initialize", "subscriptions/listen"})
TOOLS = frozenset({"say", "hold"})
MINE, FORGED = "mine", "forged"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("messages")
    with running(folder, content(folder, ("own", "2025-11-25"))) as found:
        yield found


class Visitor:
    """A host that has a call that is held, a question that it has not answered, and a task."""

    def __init__(self, host: Host, name: str) -> None:
        self.host, self.name = host, name
        self.asked: list[dict[str, Any]] = []
        self.task = "T-7"
        self.call = 0
        self.subscription = "sub-none"
        host._answer = self._keep  # type: ignore[method-assign]

    async def _keep(self, question: dict[str, Any]) -> None:
        self.asked.append(question)

    async def begin(self, first: int, asks: int) -> None:
        """Have all of it, with requests from number `first` on. A modern host is asked nothing in the middle of a call."""
        self.host._ids = itertools.count(first)
        hold = {"name": "own__hold", "arguments": {"key": self.name}}
        self.call = await self.host.start("tools/call", hold)
        if self.host.revision == "2025-11-25":
            made = {"name": "own__say", "arguments": {}, "task": {}}
            self.task = (await self.host.request("tools/call", made))["task"]["taskId"]
        if self.host.modern:
            return
        wanted = await self.host.request("mgp/events/subscribe", {"channels": ["tool.*"]})
        self.subscription = wanted["subscription_id"]
        for number in range(asks):
            words: dict[str, Any] = {
                "messages": [],
                "maxTokens": 1,
                "_meta": {"progressToken": f"p-{self.name}"},
            }
            ident = f"q-{self.name}{number}"
            asked = {"id": ident, "method": "sampling/createMessage", "params": words}
            await self.host.start("tools/call", {"name": "own__ask", "arguments": asked})
        async with asyncio.timeout(20):
            while len(self.asked) < asks:
                await asyncio.sleep(0.01)

    def names(self) -> dict[str, Any]:
        """What a message says that is about this one."""
        asked = self.asked[-1] if self.asked else dict[str, Any](id="gw-1", params={})
        token = (asked["params"].get("_meta") or {}).get("progressToken", "gw-1")
        ids = {"requestId": self.call, "request_id": self.call, "taskId": self.task}
        return {**ids, "subscription_id": self.subscription, "progressToken": token}

    async def has_all(self) -> None:
        """Nobody else has ended what it has: it ends that itself."""
        if self.host.modern:
            return
        named = {"subscription_id": self.subscription}
        ended = await self.host.request("mgp/events/unsubscribe", named)
        stopped = await self.host.request("mgp/stream/cancel", {"request_id": self.call})
        assert (ended["unsubscribed"], stopped["cancelled"]) == (True, True)

    @property
    def question(self) -> Any:
        """The id of what it was asked."""
        return self.asked[-1]["id"] if self.asked else "gw-1"


def params_of(case: Case, whose: dict[str, Any]) -> dict[str, Any]:
    """The params of one case, which fit any method."""
    words = {"name": "own__say", "arguments": {}, "uri": "speak://ann", "level": "debug"}
    return {**words, **whose, "progress": 1, "_meta": {"case": case.tag}}


def becomes(case: Case, revision: str) -> str:
    """What the page says of a request. Whoever asks which eras there are is answered in each, and
    so is who asks about a task: that there is none."""
    tasks = case.row.method.startswith("tasks/") and case.row.client == "answered"
    if tasks or case.row.method == "server/discover":
        return "answered"
    if case.row.notification or case.row.client != "answered" or not case.row.within(revision):
        return "-32601"
    return "answered"


async def replied(client: Host, case: Case, whose: dict[str, Any]) -> tuple[str, str]:
    """What a request comes to: as the page says it, and in full where it is refused."""
    try:
        await client.request(case.row.method, params_of(case, whose))
    except RpcError as no:
        return ("-32601" if no.code == -32601 else "answered"), f"{no.code} {no.message}"
    return "answered", ""


async def requests(client: Host, ident: str, whose: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What each message of the page comes to as a request."""
    chosen = [one for one in cases("request", ident) if one.row.method not in APART]
    found = await asyncio.gather(*(replied(client, one, whose) for one in chosen))
    said = {one.row.method: each for one, each in zip(chosen, found, strict=True)}
    session = client.session
    (hello,) = (one for one in cases("request", ident) if one.row.method == "initialize")
    said["initialize"] = await replied(client, hello, whose)
    client.session = session
    return said


async def tells(client: Host, ident: str, whose: dict[str, Any]) -> None:
    """Say every message of the page without an id."""
    session = client.session  # which the wire takes from whatever answers initialize
    for case in cases("notification", ident):
        client.session = session
        if case.row.method == "notifications/cancelled" and ident == "own":
            continue  # last of all
        await client.say({"method": case.row.method, "params": params_of(case, whose)})
    client.session = session


async def answers(client: Host, ident: str, question: Any) -> None:
    """Answer a question, and with an error."""
    text = {"type": "text", "text": MINE if ident == "own" else FORGED}
    result = {"role": "assistant", "content": text, "model": "m"}
    error = {"code": 1, "message": FORGED}
    await client.say({"id": question, "result": result})
    await client.say({"id": question, "error": error})
    await client.say({"id": question, "result": result, "error": error})
    if ident != "own":
        gone = {"requestId": question, "reason": FORGED}
        await client.say({"method": "notifications/cancelled", "params": gone})
        far = {"progressToken": question, "progress": 1}
        await client.say({"method": "notifications/progress", "params": far})


def reached(said: list[dict[str, Any]]) -> Counter[str]:
    """What a server got of all that, by what it is."""
    found: Counter[str] = Counter()
    for one in said:
        method, params = one.get("method"), one.get("params") or {}
        case = (params.get("_meta") or {}).get("case")
        if method is None:
            found[f"answer {one['id']}"] += 1
            assert FORGED not in json.dumps(one), one
        elif method == "notifications/progress":
            found[f"progress {params['progressToken']}"] += 1
        elif case is not None:
            assert case.startswith(f"{method} as a "), one
            found[case] += 1
        elif method not in OWN_ACCOUNT and params.get("name") not in TOOLS:
            found[method] += 1
    return found


def of_others(said: dict[str, dict[str, tuple[str, str]]]) -> None:
    """Whoever names what is another's hears what is heard of what never was."""
    names_it = ("tasks/", "mgp/stream/", "mgp/events/", "mgp/callback/")
    refused = {name: one[1] for name, one in said["foreign"].items() if name.startswith(names_it)}
    assert refused == {name: said["forged"][name][1] for name in refused}


async def heard(gateway: Gateway, before: int, what: str) -> None:
    async with asyncio.timeout(20):
        while not reached(logged(gateway, "own")[before:])[what]:
            await asyncio.sleep(0.01)


def passes(case: Case, revision: str) -> bool:
    """Whether a server may get it as it was said."""
    if case.form == "request":
        return becomes(case, revision) == "answered"
    return case.row.client == "the servers of the session" and case.row.within(revision)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_what_clients_say_becomes_what_the_page_says(gateway: Gateway, door: str) -> None:
    """MGP-1.2-2, C-62."""
    ann, bob = keys(gateway.folder, "ann", "bob")
    other = beside(door)
    async with (
        host(gateway, door, can=CAN, headers=ann) as mine,
        host(gateway, other, can=CAN, headers=bob) as theirs,
    ):
        me, you = Visitor(mine, "ann"), Visitor(theirs, "bob")
        await me.begin(100, 1)
        await you.begin(5000, 2)
        before = len(logged(gateway, "own"))
        said: dict[str, Any] = {}
        for ident, whose, question in (
            ("foreign", you.names(), you.question or "gw-2"),
            ("forged", MADE_UP, "gw-4711"),
            ("own", me.names(), me.question),
        ):
            said[ident] = await requests(mine, ident, whose)
            await tells(mine, ident, whose)
            await answers(mine, ident, question)
        await mine.say({"method": "notifications/cancelled", "params": me.names()})
        await quiet(mine, "own__say")
        if not (mine.modern and door.startswith("http")):
            await heard(gateway, before, "notifications/cancelled")
        found = reached(logged(gateway, "own")[before:])
        await you.has_all()
    for ident, each in said.items():
        expected = {one.row.method: becomes(one, mine.revision) for one in cases("request", ident)}
        del expected["subscriptions/listen"]
        expected["initialize"] = each["initialize"][0]  # which another era refuses in its own way
        assert {name: one[0] for name, one in each.items()} == expected, ident
    of_others(said)
    tagged = {name for name in found if " as a " in name}
    assert tagged <= {
        one.tag
        for ident in IDS
        for one in (*cases("request", ident), *cases("notification", ident))
        if passes(one, mine.revision)
    }
    own = {} if mine.modern else {"answer q-ann0": 1, "progress p-ann": 1}
    own |= {} if mine.modern and door.startswith("http") else {"notifications/cancelled": 1}
    assert {name: found[name] for name in found if name not in tagged | {"tasks/list"}} == own
