"""A server that says whatever it is told to, about tasks of whomever, and every place in which a message can name or imply a task."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Client, Kind, Outcome, Target
from gatewright.mcp.protocol.task_ids import RELATED
from gatewright.mcp.wire.headers_and_meta import OF_THE_SERVER, TASK_STATUS
from gatewright.mcp.wire.methods import WORDS
from gatewright.servers.names import wrap_uri
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import FakeBack, dispatch, make_call, tool_call, within

ANN, BOB = Caller("ann"), Caller("bob")
SESSIONS = {"ann": "sa", "bob": "sb"}
_CAN: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
CLIENTS = {
    "legacy": Client("2025-11-25", _CAN),
    "modern": Client("2026-07-28", {**_CAN, "extensions": {"io.modelcontextprotocol/tasks": {}}}),
}
DECLARED = ("notifications/acme.said", "acme/ask")

SPEAKER = """
import json, sys
modern, count, got, open_, waits, held = sys.argv[1] == "modern", 0, [], set(), None, []
said = {}
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def answer(ident, result):
    send(id=ident, result={**({"resultType": "complete"} if modern else {}), **result})
CAN = {"tools": {}, "tasks": {"list": {}}, "logging": {}, "completions": {}, "prompts": {}, "resources": {"subscribe": True},
       "extensions": {"io.modelcontextprotocol/tasks": {}}}
for line in sys.stdin:
    asked = json.loads(line)
    got.append(asked)
    method, ident, params = asked.get("method"), asked.get("id"), asked.get("params") or {}
    if method is None:
        open_.discard(ident)
    elif method == "server/discover" and modern:
        answer(ident, {"supportedVersions": ["2026-07-28"], "capabilities": CAN, "_meta": {}})
    elif method == "initialize" and not modern:
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": CAN, "serverInfo": {"name": "speaker", "version": "1"}})
    elif method == "tools/list":
        answer(ident, {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in ("say", "work", "hold", "seen")]})
    elif method == "prompts/list":
        answer(ident, {"prompts": [{"name": "p"}]})
    elif method == "resources/list":
        answer(ident, {"resources": [{"name": "r", "uri": "memo:///r"}]})
    elif method == "resources/templates/list":
        answer(ident, {"resourceTemplates": []})
    elif method == "tools/call" and params["name"] == "work":
        count += 1
        name = f"T-{count}"
        said[name] = params.get("arguments", {}).get("said", {})
        task = {"taskId": name, "status": "working", **params.get("arguments", {}).get("made", {})}
        send(id=ident, result={"resultType": "task", **task} if modern else {"task": task})
    elif method == "tools/call" and params["name"] == "hold":
        held.append(ident)
    elif method == "tools/call" and params["name"] == "seen":
        for one in held: answer(one, {"content": []})
        held = []
        answer(ident, {"content": [{"type": "text", "text": json.dumps(got)}]})
        got = []
    elif method == "tools/call" and params["name"] == "say":
        told = params["arguments"]
        for frame in told["frames"]:
            if "id" in frame: open_.add(frame["id"])
            if frame.get("params", {}).get("progressToken") == "OWN":
                frame["params"]["progressToken"] = params["_meta"]["progressToken"]
            send(**frame)
        waits = (ident, told)
    elif method == "tasks/get":
        answer(ident, {"taskId": params["taskId"], "status": "working", **said.get(params["taskId"], {})})
    elif method == "tasks/result":
        held.append(ident)
    elif method == "tasks/cancel":
        answer(ident, {"taskId": params["taskId"], "status": "cancelled"})
    elif method == "tasks/list":
        answer(ident, {"tasks": [{"taskId": one, "status": "working", **said[one]} for one in said]})
    elif ident is not None:
        answer(ident, {})
    if waits and not open_:
        ident, told = waits
        waits = None
        if "error" in told: send(id=ident, error=told["error"])
        else: answer(ident, {"content": [], **told.get("result", {})})
"""


Era = Literal["legacy", "modern"]
ERAS: tuple[Era, ...] = ("legacy", "modern")


def speaker(folder: Path, ident: str, era: Era, **more: Any) -> ServerSpec:
    """A server of that era, as a child."""
    script = folder / "speaker.py"
    script.write_text(SPEAKER)
    more.setdefault("methods", ("notifications/acme.said", "acme/ask"))
    return ServerSpec(
        id=ident, command=sys.executable, args=(str(script), era), era=era, share="gateway", **more
    )


class Place(NamedTuple):
    """One place: what is said there, in which `{}` stands for the task, in the middle of another one's call."""

    name: str
    arguments: dict[str, Any]

    def about(self, task: Any) -> dict[str, Any]:
        """What the server is told to say, of that task."""
        found: dict[str, Any] = _filled(self.arguments, task)
        return found


def _filled(value: Any, task: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, task) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, task) for one in value]
    return task if value == "{}" else value


META = {"_meta": {RELATED: {"taskId": "{}"}}}
WORDS_OF_IT = "words about a task"
_FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
_PARAMS: dict[str, dict[str, Any]] = {
    "elicitation/create": {"message": WORDS_OF_IT, "requestedSchema": _FORM},
    "sampling/createMessage": {
        "maxTokens": 1,
        "messages": [{"role": "user", "content": {"type": "text", "text": WORDS_OF_IT}}],
    },
    "notifications/message": {"level": "info", "data": WORDS_OF_IT},
    "notifications/progress": {"progressToken": "OWN", "progress": 1, "message": WORDS_OF_IT},
    "notifications/resources/updated": {"uri": "memo:///r"},
    "notifications/cancelled": {"requestId": 1},
}
_NOT_ASKED = ("ping",)


def named_places(era: str) -> Iterator[Place]:
    """Every message that a server of that era can send, naming a task in `_meta`; and every end of a call that does."""
    revision = CLIENTS[era].revision
    words = [one for one in WORDS if "server" in one.by and revision in one.revisions]
    methods = [one.method for one in words if not one.extension and one.method not in _NOT_ASKED]
    for method in (*methods, *DECLARED):
        params = {**_PARAMS.get(method, {"said": WORDS_OF_IT}), **META}
        if method in TASK_STATUS:
            params.pop("said")  # what nobody knows passes; words that are known do not
            params |= {"taskId": "{}", "status": "working", "statusMessage": WORDS_OF_IT}
            params |= {"result": {"content": [WORDS_OF_IT]}, "error": {"message": WORDS_OF_IT}}
        elif method in OF_THE_SERVER:
            params.pop("said", None)
        frame: dict[str, Any] = {"method": method, "params": params}
        if not method.startswith("notifications/"):
            if era == "modern":
                continue
            frame["id"] = f"q-{method}"
        yield Place(method, {"frames": [frame]})
    yield Place("a result", {"frames": [], "result": META})
    yield Place("an error", {"frames": [], "error": {"code": 5, "message": "x", "data": META}})
    if era == "modern":
        asks = {
            "q": {
                "method": "elicitation/create",
                "params": {**_PARAMS["elicitation/create"], **META},
            }
        }
        interim = {
            "resultType": "input_required",
            "inputRequests": asks,
            "requestState": "s",
            **META,
        }
        yield Place("a question in a result", {"frames": [], "result": interim})


def implied_places() -> Iterator[Place]:
    """What a legacy server says in the middle of a call without a word of whom it means."""
    methods = [m for m in _PARAMS if m.endswith(("/create", "/createMessage", "/message"))]
    for method in (*methods, "roots/list", *DECLARED):
        frame = {"method": method, "params": dict(_PARAMS.get(method, {"said": WORDS_OF_IT}))}
        if not method.startswith("notifications/"):
            frame["id"] = f"q-{method}"
        yield Place(method, {"frames": [frame]})


class House:
    """Ann and bob before two servers; notes all that each of them receives, as text."""

    def __init__(self, supervisor: Supervisor, era: str) -> None:
        self.supervisor = supervisor
        self.client = CLIENTS[era]
        self.era = era
        self.heard: dict[str, list[str]] = {"ann": [], "bob": []}
        for who in (ANN, BOB):
            session = SESSIONS[who.id]
            take = self._take(who.id)
            supervisor.watch(who, "", take, session, door="test", holder=session)

    def _take(self, who: str) -> Any:
        return lambda _, method, params: self.heard[who].append(json.dumps([method, params]))

    def back(self, who: str, **more: Any) -> FakeBack:
        """The way back to one of them."""
        accepts = {"action": "accept", "content": {"ok": True}, **more}
        back = FakeBack(
            elicitation=accepts, sampling={"role": "assistant", **more}, roots={"roots": [], **more}
        )
        noted = self.heard[who]
        emit, ask = back.emit, back.ask

        def emitted(event: Any) -> None:
            noted.append(json.dumps([event.method, event.params]))
            emit(event)

        async def asked(question: Any) -> dict[str, Any]:
            noted.append(json.dumps([question.method, question.params]))
            return await ask(question)

        back.emit, back.ask = emitted, asked  # type: ignore[method-assign]
        return back

    def tool(self, who: Caller, name: str, arguments: dict[str, Any], server: str = "one") -> Call:
        """A call of theirs."""
        meta = {"progressToken": f"of-{who.id}"} if name == "say" else {}
        call = tool_call(
            self.supervisor,
            f"{server}/{name}",
            arguments,
            meta=meta,
            caller=who,
            client=self.client,
            session=SESSIONS[who.id],
        )
        if name == "work" and self.era == "legacy":
            call.params["task"] = {}
        return call

    async def put(self, call: Call, **more: Any) -> Outcome:
        """The end of a call, noted as what its caller receives."""
        led = dispatch(self.supervisor)
        outcome: Outcome = await within(led(led.about(call), self.back(call.caller.id, **more)))
        raw = (
            outcome.raw if isinstance(outcome, Answer) else (getattr(outcome, "error", None) or b"")
        )
        self.heard[call.caller.id].append(raw.decode())
        return outcome

    async def make(self, who: Caller, server: str = "one", **arguments: Any) -> str:
        """A task of theirs: what they know it by."""
        outcome = await self.put(self.tool(who, "work", arguments, server))
        assert isinstance(outcome, Answer), outcome
        found = json.loads(outcome.raw)
        return str(found["taskId"] if self.era == "modern" else found["task"]["taskId"])

    async def about(self, who: Caller, verb: str, task: str, **more: Any) -> Outcome:
        """Ask about a task."""
        return await self.put(self.method(who, f"tasks/{verb}", {"taskId": task, **more}))

    async def follow(self, who: Caller) -> None:
        """Ask to hear of the resource that the servers speak of. What a modern one says names the stream that is about it, and
        these say nothing of that."""
        if self.era == "legacy":
            uri = wrap_uri(Target("one", "memo:///r"))  # both servers list it
            found = await self.put(self.method(who, "resources/subscribe", {"uri": uri}))
            assert isinstance(found, Answer), found

    def method(self, who: Caller, name: str, params: dict[str, Any]) -> Call:
        """A call that is none of a tool."""
        return make_call(
            "method", name, params, caller=who, client=self.client, session=SESSIONS[who.id]
        )

    async def seen(self, server: str = "one") -> list[dict[str, Any]]:
        """What a server has received since this was last asked; calls that it held are answered."""
        await asyncio.sleep(0)
        outcome = await self.put(self.tool(ANN, "seen", {}, server))
        assert isinstance(outcome, Answer), outcome
        text = json.loads(outcome.raw)["content"][0]["text"]
        self.heard["ann"].pop()  # what the test itself asked for
        found: list[dict[str, Any]] = json.loads(text)
        return found

    def take(self, who: str) -> list[str]:
        """What one of them received since this was last asked."""
        found, self.heard[who][:] = list(self.heard[who]), []
        return found


def to(call: Call, target: Target, kind: Kind = "method") -> Call:
    """The call as the gates hand it on, for that server."""
    return replace(call, target=target, kind=kind, name=target.name)


async def asked_in_time(house: House, place: Place) -> list[str]:
    """What ann was told of a place that names nothing. A question waits for its candidates to become one party's: the call is ended while it does."""
    call = asyncio.ensure_future(house.put(house.tool(ANN, "say", place.about(""))))
    await asyncio.wait([call], timeout=0.3)
    if not call.done():  # until the task ends, nobody is asked
        assert place.arguments["frames"][0].get("id")
        call.cancel()
        await asyncio.wait([call])
        # The call that was given up ends over there, so that the next one is alone again.
        link = house.supervisor.fleet.servers["one"].link
        assert link is not None
        link._questions.laid(link._next - 1)
    heard = house.take("ann")
    return [f"runs, {place.name}: {one}" for one in heard if f'"{place.name}"' in one]
