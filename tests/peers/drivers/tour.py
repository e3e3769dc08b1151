"""A visit to a guest through the gateway, made by any host; and what the host saw, as one object.

A host is an adapter of one SDK's client. `tour` uses what a host can do and nothing else, so that
two hosts that see the same report the same. A `Visit` undoes what the gateway does to names: behind
an endpoint for several servers, tools and prompts carry a prefix.

This file runs in the environment of the SDK; it knows none of them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

__all__ = [
    "ANSWERS",
    "CHANGED",
    "DEADLINE_S",
    "EXTENSION",
    "Host",
    "RpcError",
    "Visit",
    "go",
    "tour",
]

DEADLINE_S = 20.0
EXTENSION = "dev.cloto/mgp"
OURS = ("guest/", "dev.cloto/")
CHANGED = {
    "resource": "notifications/resources/updated",
    "tools": "notifications/tools/list_changed",
}
MARK = {"guest/mark": {"kept": [1, None]}}
ANSWERS: dict[str, dict[str, Any]] = {
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "word"},
        "model": "a-model",
        "stopReason": "endTurn",
    },
    "roots/list": {"roots": [{"uri": "file:///home/somebody", "name": "home"}]},
}
FORMS: dict[str, dict[str, Any]] = {
    "accept": {"action": "accept", "content": {"name": "Ada", "age": 36}},
    "decline": {"action": "decline"},
    "cancel": {"action": "cancel"},
}


class RpcError(Exception):
    """A JSON-RPC error as the host got it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Host(Protocol):
    """What a client of any SDK can do. Results are wire objects; errors are `RpcError`."""

    asked: list[dict[str, Any]]
    """The forms that were shown, in order."""
    form: dict[str, Any]
    """The answer to the next ones."""
    logs: list[dict[str, Any]]
    frames: list[Any]
    """Every message that came in."""

    def hello(self) -> dict[str, Any]: ...

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Any: ...

    async def call(
        self, name: str, given: dict[str, Any], progress: Any = None, meta: Any = None
    ) -> Any: ...

    async def cancel(self, call: asyncio.Future[Any]) -> None: ...

    async def quiet_below(self, level: str) -> None: ...

    async def watch(self, change: str, uri: str, during: Callable[[], Awaitable[None]]) -> Any:
        """What the host is told of `change` (`CHANGED`) while `during` runs, or soon after."""
        ...


class Visit:
    """One server behind one endpoint. `key` tells this visit from all others. `steps` are those of
    the tour through a guest, all where it is None; for servers that are no guests, `script` is what
    to ask instead: pairs of a method and its params. `name` is what the user writes into forms."""

    def __init__(
        self,
        host: Host,
        *,
        server: str,
        key: str,
        prefix: str = "",
        steps: list[str] | None = None,
        script: list[Any] | None = None,
        name: str = "Ada",
    ) -> None:
        self.host = host
        self.server = server
        self.key = key
        self.prefix = prefix
        self.steps = steps
        self.script = script
        self.name = name

    def own(self, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What belongs to this guest of a list of named things, under the guest's own names."""
        return [
            {**one, "name": one["name"].removeprefix(self.prefix)}
            for one in found
            if one["name"].startswith(self.prefix)
        ]

    async def call(self, name: str, given: dict[str, Any] | None = None, **more: Any) -> Any:
        """The result of one of the guest's tools."""
        return said(await self.host.call(self.prefix + name, given or {}, **more))

    async def text(self, name: str, given: dict[str, Any] | None = None, **more: Any) -> Any:
        """The first text of a result; read as JSON where it is that."""
        text = (await self.call(name, given, **more))["content"][0]["text"]
        try:
            return json.loads(text)
        except ValueError:
            return text

    def here(self, found: list[dict[str, Any]], member: str) -> list[dict[str, Any]]:
        """What of a list with URIs can be this guest's: all, or what is wrapped for it."""
        start = f"gatewright://{self.server}/" if self.prefix else ""
        return [one for one in found if one[member].startswith(start)]


def said(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what an era or an SDK adds to it."""
    found = {key: value for key, value in result.items() if value is not None}
    for added in ("resultType", "ttlMs", "cacheScope", "nextCursor"):
        found.pop(added, None)
    meta = {key: one for key, one in found.pop("_meta", {}).items() if key.startswith(OURS)}
    if meta:
        found["_meta"] = meta
    if found.get("isError") is False:
        del found["isError"]
    return found


def mgp_members(value: Any, path: str = "") -> list[str]:
    """Where in a message there is anything of MGP's: members, and methods of notifications."""
    if isinstance(value, list):
        return [hit for one in value for hit in mgp_members(one, path)]
    if not isinstance(value, dict):
        return []
    hits = [
        f"{path}/{key}"
        for key, one in value.items()
        if key in ("mgp", "_mgp", "security", EXTENSION, "dev.cloto/security")
        or (key == "method" and "mgp" in str(one))
    ]
    return hits + [hit for key, one in value.items() for hit in mgp_members(one, f"{path}/{key}")]


def mgp_reply(frames: list[Any]) -> dict[str, Any]:
    """The answer to the host's MGP offer, by the place where it stood."""
    results = [one.get("result") or {} for one in frames if isinstance(one, dict)]
    told: dict[str, Any] = next(
        (one["capabilities"] for one in results if "capabilities" in one), {}
    )
    places = {
        "mgp": told.get("mgp"),
        "experimental": (told.get("experimental") or {}).get("mgp"),
        "extensions": (told.get("extensions") or {}).get(EXTENSION),
    }
    return {place: body for place, body in places.items() if body is not None}


async def tour(visit: Visit) -> dict[str, Any]:
    """One step after the other. What a step fails with is what was seen."""
    steps: dict[str, Callable[[Visit], Awaitable[Any]]] = {
        "script": _script,
        "tools": _tools,
        "results": _results,
        "questions": _questions,
        "work": _work,
        "resources": _resources,
        "prompts": _prompts,
        "changes": _changes,
        "cancelled": _cancelled,
    }
    wanted = ["script"] if visit.script is not None else visit.steps or [*steps][1:]
    seen: dict[str, Any] = {"hello": visit.host.hello()}
    for name, step in steps.items():
        if name not in wanted:
            continue
        try:
            seen[name] = await asyncio.wait_for(step(visit), DEADLINE_S)
        except Exception as problem:  # noqa: BLE001 -- and the other steps are still worth making
            seen[name] = f"{type(problem).__name__}: {problem}"
    return seen


async def _script(visit: Visit) -> Any:
    visit.host.form = {"action": "accept", "content": {"name": visit.name}}
    visit.host.asked.clear()
    found = [await code(_ask(visit, *one)) for one in visit.script or []]
    return {"answers": found, "asked": [said(one) for one in visit.host.asked]}


async def _ask(visit: Visit, method: str, params: dict[str, Any]) -> Any:
    """The answer to one line of a script; with progress where there was any."""
    if method != "tools/call":
        return said(await visit.host.request(method, params))
    steps: list[Any] = []

    async def progress(done: float, total: float | None, words: str | None) -> None:
        steps.append([done, total])

    found = await visit.call(params["name"], params["arguments"], progress=progress)
    return {**found, "progress": steps} if steps else found


async def _tools(visit: Visit) -> Any:
    found = await visit.host.request("tools/list")
    tools = visit.own(found["tools"])
    return [said(one) for one in tools if not one["name"].startswith("late_")]


async def _results(visit: Visit) -> Any:
    return {
        "add": await visit.call("add", {"a": 2, "b": 3}),
        "show": await visit.call("show"),
        "refuse": await visit.call("refuse"),
        "meta": await visit.text("meta", meta=MARK),
        "unknown": await code(visit.call("nothing_of_that_name")),
    }


async def code(awaited: Awaitable[Any]) -> Any:
    """The code of an error, or the result where there was none."""
    try:
        return await awaited
    except RpcError as problem:
        return problem.code


async def _questions(visit: Visit) -> Any:
    seen: dict[str, Any] = {}
    visit.host.asked.clear()
    for action, form in FORMS.items():
        visit.host.form = form
        seen[action] = await visit.text("ask", {"question": f"Please {action}"})
    visit.host.form = FORMS["accept"]
    seen["sample"] = await visit.text("sample")
    seen["places"] = await visit.text("places")
    seen["interview"] = await visit.text("interview")
    seen["asked"] = [said(one) for one in visit.host.asked]
    return seen


async def _work(visit: Visit) -> Any:
    await visit.host.quiet_below("info")
    visit.host.logs.clear()
    steps: list[Any] = []
    all_seen = asyncio.Event()

    async def progress(done: float, total: float | None, words: str | None) -> None:
        steps.append([done, total, words])
        if done == total:
            all_seen.set()

    key = {"key": visit.key}
    call = asyncio.ensure_future(visit.call("work", key, progress=progress))
    await all_seen.wait()
    while len(visit.host.logs) < 2:
        await asyncio.sleep(0.01)
    await visit.call("enough", key)
    return {"result": await call, "progress": steps, "logs": list(visit.host.logs)}


async def _cancelled(visit: Visit) -> Any:
    asleep = asyncio.Event()

    async def progress(done: float, total: float | None, words: str | None) -> None:
        asleep.set()

    key = {"key": visit.key}
    call = asyncio.ensure_future(visit.call("sleep", key, progress=progress))
    waiting = asyncio.ensure_future(asleep.wait())
    await asyncio.wait({call, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if call.done():
        return f"it ended before it was cancelled: {call.result()}"
    await visit.host.cancel(call)
    return await visit.text("slept", key)


async def _resources(visit: Visit) -> Any:
    listed = visit.here((await visit.host.request("resources/list"))["resources"], "uri")
    found = await visit.host.request("resources/templates/list")
    templates = visit.here(found["resourceTemplates"], "uriTemplate")
    uris = {one["name"]: one["uri"] for one in listed}
    note = templates[0]["uriTemplate"].replace("{name}", "of%20mine")
    nowhere = uris["alpha"].replace("alpha", "nowhere")
    return {
        "list": [said(one) for one in listed],
        "templates": [said(one) for one in templates],
        "alpha": said(await visit.host.request("resources/read", {"uri": uris["alpha"]})),
        "pixel": said(await visit.host.request("resources/read", {"uri": uris["pixel"]})),
        "note": said(await visit.host.request("resources/read", {"uri": note})),
        "nowhere": await code(visit.host.request("resources/read", {"uri": nowhere})),
    }


async def _prompts(visit: Visit) -> Any:
    listed = visit.own((await visit.host.request("prompts/list"))["prompts"])
    name = visit.prefix + "greet"
    arguments = {"who": "Ada", "manner": "warmly"}
    ref = {"type": "ref/prompt", "name": name}
    asked = {"ref": ref, "argument": {"name": "who", "value": "al"}}
    got = await visit.host.request("prompts/get", {"name": name, "arguments": arguments})
    return {
        "list": [said(one) for one in listed],
        "get": said(got),
        "complete": said(await visit.host.request("completion/complete", asked)),
    }


async def _changes(visit: Visit) -> Any:
    found = await visit.host.request("resources/templates/list")
    template = visit.here(found["resourceTemplates"], "uriTemplate")[0]["uriTemplate"]
    uri = template.replace("{name}", visit.key)
    late = f"late_{visit.key}"

    async def touch() -> None:
        await visit.call("touch", {"name": visit.key})

    async def grow() -> None:
        await visit.call("grow", {"name": late})

    seen = {
        "touched": await visit.host.watch("resource", uri, touch) == uri,
        "grown": await visit.host.watch("tools", uri, grow),
    }
    tools = visit.own((await visit.host.request("tools/list"))["tools"])
    seen["listed"] = late in [one["name"] for one in tools]
    seen["late"] = await visit.text(late)
    return seen


Connect = Callable[[dict[str, Any], Any], AbstractAsyncContextManager[Host]]


async def _go(plan: dict[str, Any], connect: Connect) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for connection in plan["connections"]:
        async with connect(plan, connection["target"]) as host:
            for one in connection["visits"]:
                visit = Visit(host, name=plan.get("name", "Ada"), **one)
                seen[visit.server] = await tour(visit)
                if "offer" in plan:
                    seen[visit.server]["reply"] = mgp_reply(host.frames)
                else:
                    seen[visit.server]["mgp"] = mgp_members(host.frames)
    return seen


def go(connect: Connect) -> int:
    """Make the tours that the command line asks for, as JSON, and print what was seen as one line."""
    plan = json.loads(sys.argv[1])
    seen = asyncio.run(_go(plan, connect))
    print(json.dumps(seen, sort_keys=True), flush=True)  # noqa: T201 -- the test reads this
    return 0
