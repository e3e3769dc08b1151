"""What tests of the upstream half share: calls, a caller that can be asked, real servers as children."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gatewright.call import (
    ANONYMOUS,
    Answer,
    Call,
    Caller,
    CannotAsk,
    Client,
    Event,
    Kind,
    Outcome,
    Question,
)
from gatewright.mcp.wire.versions import LATEST_LEGACY, LATEST_MODERN
from gatewright.servers.dispatch import Dispatch
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide

__all__ = [
    "ASKABLE",
    "DEADLINE",
    "INFO",
    "LEGACY",
    "MODERN",
    "SERVERS",
    "FakeBack",
    "alive",
    "ask",
    "dispatch",
    "make_call",
    "python",
    "result",
    "running",
    "said",
    "text",
    "tool_call",
    "within",
]

SERVERS = Path(__file__).resolve().parents[1] / "tool_servers"
DEADLINE = 20.0
INFO = {"name": "gatewright", "version": "0"}
ASKABLE: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
LEGACY = Client(LATEST_LEGACY, ASKABLE, {"name": "host", "version": "1"})
MODERN = Client(LATEST_MODERN, ASKABLE, {"name": "host", "version": "1"})

_numbers = itertools.count(1)


def python(name: str, *args: str, **more: Any) -> ServerSpec:
    """A test server as a stdio child; its id is its file name unless `id` is given."""
    ident = more.pop("id", name)
    command = str(SERVERS / f"{name}.py")
    more.setdefault("restart_wait_s", DEADLINE)
    return ServerSpec(id=ident, command=sys.executable, args=(command, *args), **more)


async def within(waiting: Any, seconds: float = DEADLINE) -> Any:
    """What is waited for, with the deadline that every wait has."""
    async with asyncio.timeout(seconds):
        return await waiting


class FakeBack:
    """A caller's side: records events, answers questions from `answers` (method → result or function)."""

    def __init__(self, **answers: Any) -> None:
        self.events: list[Event] = []
        self.questions: list[Question] = []
        self._answers = {
            "elicitation/create": answers.get("elicitation"),
            "sampling/createMessage": answers.get("sampling"),
            "roots/list": answers.get("roots"),
        }
        self._changed: asyncio.Future[None] | None = None

    def emit(self, event: Event) -> None:
        """Record one event."""
        self.events.append(event)
        self._wake()

    async def ask(self, question: Question) -> dict[str, Any]:
        """Answer from the table, or refuse."""
        self.questions.append(question)
        self._wake()
        answer = self._answers.get(question.method)
        if answer is None:
            raise CannotAsk("this caller cannot be asked")
        found = answer(question) if callable(answer) else answer
        return dict(await found if asyncio.iscoroutine(found) else found)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something recorded makes a condition true."""
        async with asyncio.timeout(DEADLINE):
            while not true():
                self._changed = asyncio.get_running_loop().create_future()
                await self._changed

    def of(self, method: str) -> list[dict[str, Any]]:
        """The params of the events of one method."""
        return [event.params for event in self.events if event.method == method]

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)


def make_call(
    kind: Kind,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    session: str | None = "s1",
    client: Client = LEGACY,
    caller: Caller = ANONYMOUS,
    **more: Any,
) -> Call:
    """One call as a door and the gates would hand it on."""
    given = dict(params or {})
    number = next(_numbers)
    return Call(
        id=f"call-{number}",
        door="test",
        kind=kind,
        method=method,
        name=str(given.get("name", given.get("uri", ""))),
        params=given,
        caller=caller,
        client=client,
        trace_id=f"trace-{number}",
        session=session,
        **more,
    )


def tool_call(
    supervisor: Supervisor, name: str, arguments: Mapping[str, Any] | None = None, **more: Any
) -> Call:
    """A tool call with its target resolved, by the tool's canonical name."""
    tool = supervisor.catalogue.tool("", name)
    assert tool is not None, name
    params: dict[str, Any] = {"name": tool.exposed, "arguments": dict(arguments or {})}
    if "meta" in more:
        params["_meta"] = more.pop("meta")
    return make_call("tool", "tools/call", params, target=tool.target, tool=tool, **more)


def dispatch(supervisor: Supervisor, **more: Any) -> Dispatch:
    """Where calls to these servers go; `more` is what a gateway adds."""
    return Dispatch(supervisor.fleet, supervisor.tasks, **more)


async def ask(
    supervisor: Supervisor,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    back: FakeBack | None = None,
    **more: Any,
) -> Outcome:
    """The outcome of one tool call."""
    call = tool_call(supervisor, name, arguments, **more)
    outcome: Outcome = await within(dispatch(supervisor)(call, back or FakeBack()))
    return outcome


def result(outcome: Outcome) -> dict[str, Any]:
    """The decoded result of an answer."""
    assert isinstance(outcome, Answer), outcome
    found: dict[str, Any] = json.loads(outcome.raw)
    return found


def text(outcome: Outcome) -> str:
    """The first text of a tool's answer."""
    return str(result(outcome)["content"][0]["text"])


def said(outcome: Outcome) -> Any:
    """The JSON value in the first text of a tool's answer."""
    return json.loads(text(outcome))


@asynccontextmanager
async def running(*specs: ServerSpec, **more: Any) -> AsyncIterator[Supervisor]:
    """All these servers, started and settled; nothing of them is left afterwards."""
    more.setdefault("startup_wait_s", DEADLINE)
    parts = {name: more.pop(name) for name in ServerSide.__struct_fields__ if name in more}
    supervisor = Supervisor(specs, info=INFO, side=ServerSide(**parts), **more)
    supervisor.start()
    try:
        await supervisor.settled()
        yield supervisor
    finally:
        await within(supervisor.close(1.0))


def alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
