"""Gate `resolve`: maps a call's name to a server's tool, prompt, resource or method; refuses unknown names, suggesting visible ones.

Theory: from here on nobody reads the caller's spelling any more: whatever name led here (exposed,
canonical or dotted), policy decides about one subject. What is not found is answered with names that
come close, and only with names that this caller may see: a suggestion must not tell what a list hides. Nor must the answer
itself: to a caller from whom something is hidden, what there is not is refused like what it may not use.

A server that is down or restarting does not matter here, because dispatch waits for it where waiting
has a prospect; only the catalogue knows why a name is missing that may yet appear, and says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable
from functools import partial
from itertools import islice
from typing import Protocol

from msgspec.structs import replace

from gatewright.access.grants import no_grant
from gatewright.call import KERNEL, Back, Call, Caller, Refusal, Target, Tool
from gatewright.identity.rights import rights_of
from gatewright.schemas.nearest import NAME_CHARS, closest_in_steps
from gatewright.standing import Standing
from gatewright.transport.slices import in_slices

__all__ = ["Catalogue", "Resolve"]

_LOOKED_AT = 5000
"""So many tools, however many there are: a caller may misspell as often as it likes."""


class Catalogue(Protocol):
    """What can be called, by the names of one profile. Look-ups in memory, never I/O."""

    def making(self, profile: str) -> Awaitable[None] | None:
        """What to wait for before any name is looked up; None where all of them are known."""

    def seen_tool(self, profile: str, name: str) -> Tool | None:
        """The same as `tool` where all of them are known, else None."""

    def tool(self, profile: str, name: str) -> Tool | None:
        """The tool of that name."""

    def prompt(self, profile: str, name: str, caller: Caller) -> Target | None:
        """Whose prompt that is, under the server's own name; None where the caller may not see that server."""

    def resource(self, profile: str, uri: str, caller: Caller) -> Target | None:
        """Whose resource that is, under the server's own URI. Several servers may have one of that
        name, so only those count that the caller may see."""

    def led(self, call: Call) -> Call | None:
        """A call of a method that the gateway answers or leads itself, with whom and what it means; else None."""

    def method(self, call: Call) -> Target | Refusal:
        """Which server a `method` was declared for."""

    def tools(self, profile: str) -> Iterable[Tool]:
        """Everything that `tool` finds, once, for suggestions."""

    def absent(self, call: Call, *, made: bool) -> Refusal | None:
        """Why a name is missing although a server claims it: not ready, draining, disabled. `made`: the call is no rehearsal, so that a
        server which gave up may be tried again for it."""


class Resolve:
    """Gate `resolve`."""

    name = "resolve"

    def __init__(
        self,
        catalogue: Catalogue,
        may_see: Callable[[Caller, Tool], bool],
        may_use: Callable[[Caller, Tool], bool] | None = None,
    ) -> None:
        """`may_see` says what is listed, `may_use` is the access gate's; without it they are one."""
        self._catalogue = catalogue
        self._may_see = may_see
        self._may_use = may_use or may_see

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        making = self._catalogue.making(call.profile)
        if making is not None:
            return self._later(making, call, made=True)
        return self._resolved(call, made=True)

    async def rehearse(self, call: Call) -> Call | Refusal:
        """What would be said; no server is started for that."""
        making = self._catalogue.making(call.profile)
        return await self._later(making or _nothing(), call, made=False)

    async def _later(self, making: Awaitable[None], call: Call, *, made: bool) -> Call | Refusal:
        await making
        found = self._resolved(call, made=made)
        return found if isinstance(found, Call | Refusal) else await found

    def _resolved(self, call: Call, *, made: bool) -> Call | Refusal | Awaitable[Refusal]:
        if call.kind == "tool":
            tool = self._catalogue.tool(call.profile, call.name)
            if tool is None:
                return self._no_tool(call, made=made)
            return replace(call, target=tool.target, tool=tool)
        if call.kind == "list":
            return call
        return self._other(call, made=made)

    def stands(self, call: Call) -> Standing | None:
        """The name means this tool as long as the catalogue has it under this name."""
        if call.kind != "tool" or call.tool is None:
            return None
        return Standing(((partial(self._catalogue.seen_tool, call.profile, call.name), call.tool),))

    def _other(self, call: Call, *, made: bool) -> Call | Refusal:
        if call.kind == "prompt":
            target = self._catalogue.prompt(call.profile, call.name, call.caller)
        elif call.kind == "resource":
            target = self._catalogue.resource(call.profile, call.name, call.caller)
        else:
            known = self._catalogue.led(call)
            if known is not None:
                return known
            found = self._catalogue.method(call)
            if isinstance(found, Refusal):
                return found
            return replace(call, target=found, name=found.name)
        if target is None:
            return self._catalogue.absent(call, made=made) or Refusal(
                "not_found", f"there is no {call.kind} {call.name[:NAME_CHARS]!r}"
            )
        return replace(call, target=target)

    def _no_tool(self, call: Call, *, made: bool) -> Refusal | Awaitable[Refusal]:
        # Before the search: a name that its server may yet claim is no misspelling.
        return self._catalogue.absent(call, made=made) or in_slices(self._unknown(call))

    def _unknown(self, call: Call) -> Generator[None, None, Refusal]:
        """What is said of a name that nothing has; one tool a step: rights are asked about thousands, which
        may have changed since they were asked about last."""
        if (yield from self._keeps_secrets(call)):
            return no_grant(call)
        visible: dict[str, Tool] = {}
        for tool in islice(self._catalogue.tools(call.profile), _LOOKED_AT):
            yield
            if self._may_see(call.caller, tool):
                visible[tool.exposed] = tool
        near = yield from closest_in_steps(call.name, visible)
        # Rights may have changed while it was looked for.
        close = [one for one in near if self._may_see(call.caller, visible[one])]
        name = call.name[:NAME_CHARS]
        hint = (
            f"; did you mean {', '.join(close)}?" if close else "; tools/list shows what there is"
        )
        return Refusal("tool_not_found", f"there is no tool {name!r}{hint}", {"suggestions": close})

    def _keeps_secrets(self, call: Call) -> Generator[None, None, bool]:
        """Whether there are tools that this caller may not know of: then what there is not has to sound like them.
        Whose rights name single tools hears which right it lacks anyway, and the gateway's own tools are no secret."""
        user = call.caller.user
        if user and rights_of(user).names_tools:
            return False
        tools = iter(self._catalogue.tools(call.profile))
        for tool in islice(tools, _LOOKED_AT):
            yield
            if tool.target.server != KERNEL and not self._may_use(call.caller, tool):
                return True
        # Behind those that were looked at there may be one. Operators may know of all there is.
        return call.caller.kind != "operator" and next(tools, None) is not None


async def _nothing() -> None:
    """Nothing has to be waited for."""
