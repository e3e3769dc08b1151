"""What every guest server offers, apart from the SDK that carries it.

A guest is a server written on somebody else's SDK. All of them offer the same tools, resources and
prompts, so that one tour (`tour.py`, `tour.mjs`) can be made through any of them; the parts that
are only data are in `guest.json`, which the servers written for Node read as well. A tool that asks
its client is written once for both eras: `Talk.ask` gives the answer when it is there, and otherwise
raises `WantedError`, which the server spells as its era does.

This file runs in the environment of the SDK; it knows none of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

__all__ = [
    "WORDS",
    "Talk",
    "UnknownError",
    "WantedError",
    "call",
    "complete",
    "prompt",
    "read",
    "tools",
]

WORDS: dict[str, Any] = json.loads((Path(__file__).parent / "guest.json").read_text("utf-8"))
PATIENCE_S = 10.0
NOTE = "guest:///note/"

grown: list[str] = []
heard: list[Any] = []
"""Every message that came in, where the server writes them down (`tapping.py`)."""
_ends: dict[str, asyncio.Future[str]] = {}


class UnknownError(Exception):
    """There is no such tool, resource or prompt."""


class WantedError(Exception):
    """The answer to one question is wanted before the tool can go on."""

    def __init__(self, key: str, method: str, params: dict[str, Any] | None) -> None:
        super().__init__(key)
        self.key = key
        self.method = method
        self.params = params


class Talk(Protocol):
    """One call as its tool sees it: how to talk to the client while it runs."""

    meta: dict[str, Any]

    async def ask(self, key: str, method: str, params: dict[str, Any] | None) -> dict[str, Any]: ...

    async def progress(self, done: float, total: float, words: str) -> None: ...

    async def log(self, level: Any, words: str) -> None: ...

    async def tools_changed(self) -> None: ...

    async def updated(self, uri: str) -> None: ...


def done(words: Any, **more: Any) -> dict[str, Any]:
    text = words if isinstance(words, str) else json.dumps(words, sort_keys=True)
    return {"content": [{"type": "text", "text": text}], **more}


async def _add(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    total = given["a"] + given["b"]
    return done(str(total), structuredContent={"sum": total})


async def _show(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    return dict(WORDS["show"])


async def _refuse(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    return done("It did not work", isError=True)


def _form(question: str) -> dict[str, Any]:
    return {"mode": "form", "message": question, "requestedSchema": WORDS["form"]}


async def _ask(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    form = _form(str(given.get("question", "Who are you?")))
    return done(_said(await talk.ask("who", "elicitation/create", form)))


async def _sample(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    return done(_said(await talk.ask("word", "sampling/createMessage", WORDS["sampling"])))


async def _places(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    return done(_said(await talk.ask("places", "roots/list", None)))


async def _interview(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    who = await talk.ask("who", "elicitation/create", _form("Who are you?"))
    word = await talk.ask("word", "sampling/createMessage", WORDS["sampling"])
    return done({"who": _said(who), "word": _said(word)})


def _said(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what an SDK or an era adds to it."""
    return {
        key: value
        for key, value in answer.items()
        if value is not None and key not in ("_meta", "resultType")
    }


async def _work(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    for step in (1, 2, 3):
        await talk.progress(step, 3, f"step {step}")
    for level in ("debug", "info", "warning"):
        await talk.log(level, f"a line of {level}")
    await asyncio.wait_for(asyncio.shield(_end(f"work {given['key']}")), PATIENCE_S)
    return done("worked")


async def _enough(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    """Some hosts drop the progress that comes in one breath with the result."""
    _end(f"work {given['key']}").set_result("enough")
    return done("enough")


async def _sleep(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    end = _end(given["key"])
    await talk.progress(0, 1, "asleep")
    try:
        await asyncio.sleep(PATIENCE_S)
    except asyncio.CancelledError:
        end.set_result("cancelled")
        raise
    end.set_result("woke up")
    return done("woke up")


async def _slept(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    return done(await asyncio.wait_for(asyncio.shield(_end(given["key"])), PATIENCE_S))


def _end(key: str) -> asyncio.Future[str]:
    return _ends.setdefault(key, asyncio.get_running_loop().create_future())


async def _grow(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    grown.append(given["name"])
    await talk.tools_changed()
    return done("grown")


async def _touch(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    await talk.updated(NOTE + str(given["name"]))
    return done("touched")


async def _meta(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    return done({key: talk.meta[key] for key in sorted(talk.meta) if key.startswith("guest/")})


async def _heard(talk: Talk, given: dict[str, Any]) -> dict[str, Any]:
    """Each method that the gateway has called so far, and what it said it can."""
    hello: dict[str, Any] = next(
        (one["params"] for one in heard if one.get("method") == "initialize"), {}
    )
    methods = {one["method"] for one in heard if "method" in one}
    told = {"methods": sorted(methods), "capabilities": sorted(hello.get("capabilities", {}))}
    return done(told)


_TOOLS: dict[str, Callable[[Talk, dict[str, Any]], Awaitable[dict[str, Any]]]] = {
    "add": _add,
    "show": _show,
    "refuse": _refuse,
    "ask": _ask,
    "sample": _sample,
    "places": _places,
    "interview": _interview,
    "work": _work,
    "enough": _enough,
    "sleep": _sleep,
    "slept": _slept,
    "grow": _grow,
    "touch": _touch,
    "meta": _meta,
    "heard": _heard,
}


def tools() -> list[dict[str, Any]]:
    """The tools as they are now."""
    late = {"description": "Came later", "inputSchema": {"type": "object"}}
    return [*WORDS["tools"], *({"name": name, **late} for name in grown)]


async def call(name: str, given: dict[str, Any], talk: Talk) -> dict[str, Any]:
    """The result of a tool. Raises `UnknownError`, `WantedError`."""
    if name in grown:
        return done(f"I am {name}")
    if name not in _TOOLS:
        raise UnknownError(f"UnknownError tool: {name}")
    return await _TOOLS[name](talk, given)


def read(uri: str) -> dict[str, Any]:
    """The contents of a resource. Raises `UnknownError`."""
    if uri.startswith(NOTE):
        text = f"Note {uri.removeprefix(NOTE)}"
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}
    if uri not in WORDS["contents"]:
        raise UnknownError("Resource not found")
    return {"contents": [WORDS["contents"][uri]]}


def prompt(name: str, given: dict[str, str]) -> dict[str, Any]:
    """A rendered prompt. Raises `UnknownError`."""
    if name != "greet":
        raise UnknownError(f"UnknownError prompt: {name}")
    text = f"Greet {given['who']}{' ' + given['manner'] if 'manner' in given else ''}"
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": "Greets somebody", "messages": [message]}


def complete(value: str) -> dict[str, Any]:
    """Names that begin like this."""
    found = [name for name in WORDS["people"] if name.startswith(value)]
    return {"completion": {"values": found, "total": len(found), "hasMore": False}}
