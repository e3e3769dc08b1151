"""`Admission`: holds a server after its `initialize` answer until its permissions are decided (MGP §3.4); answers permission requests.

Theory: a server that needs permissions is connected in steps: its answer to `initialize`, the policy's word, the decision,
then `notifications/initialized` and the lists (decision C-10). Where an operator has to decide, the connection stays as
it is meanwhile: the server is up, was told that it waits, and is asked nothing. What a server says about its own
permissions is taken as a request and never as a decision (C-08).

Who decides is not known here: `Permits` does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from gatewright.call import CannotAsk
from gatewright.command_text import to_type
from gatewright.mcp.client.link import Link, LinkClosed, ServerFailed
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import reason_of
from gatewright.mcp.wire.permissions import MOST, REQUEST, Value, declared_permissions
from gatewright.mcp.wire.timestamps import moment_text
from gatewright.servers.spec import ServerSpec

__all__ = [
    "Admission",
    "NotPermitted",
    "Permits",
    "Standing",
    "TooManyPermissions",
    "decision",
    "request_of",
]

log = logging.getLogger("gatewright.servers")

_IDENT_CHARS = 256
_TOLD_S = 10.0
"""How long a server may take to say that it knows."""


class NotPermitted(ServerFailed):
    """A permission that the server declares was denied. Trying again makes no sense before that changes."""


class TooManyPermissions(Exception):  # noqa: N818 - what is refused
    """A server asks about more permissions than anybody could look through."""

    def __init__(self) -> None:
        super().__init__(
            f"a server may ask for {MOST} permissions at most, all its requests together; "
            "list those that it needs in permissions_required, and ask for no others"
        )


class Standing(msgspec.Struct, frozen=True):
    """How one permission of one server stands. `by` is who or what decided; `expires_at` is in Unix seconds."""

    value: Value
    by: str = ""
    expires_at: float | None = None


class Permits(Protocol):
    """Who decides."""

    hold_s: float
    """How long a question of a server waits for an operator."""

    def declared(self, server: str, permissions: Sequence[str]) -> Mapping[str, Standing]:
        """How everything stands that a server declares as it connects; what waits for an operator is put to
        them. Raises `TooManyPermissions`, `Unrecorded`, `StoreError`."""

    def asked(self, server: str, permissions: Sequence[str]) -> Mapping[str, Standing]:
        """The same for what a server asks for while it runs."""

    def of(self, server: str) -> Mapping[str, Standing]:
        """Everything that is known of a server's permissions."""

    def named(self, server: str, ident: str) -> None:
        """A request between a server and us, in whichever direction, has this id."""

    def turn(self) -> asyncio.Future[None]:
        """What is done when anything stands differently."""


class Admission:
    """Lets the connections of one server in. `spec` gives its present configuration."""

    def __init__(self, spec: Callable[[], ServerSpec], permits: Permits) -> None:
        self._spec = spec
        self._permits = permits
        self._told = 0
        self._telling: set[asyncio.Task[None]] = set()

    async def admit(self, link: Link, hold: Callable[[str], AbstractContextManager[None]]) -> None:
        """Return once the server behind `link`, which has said hello, may go on. Inside `hold(reason)` nobody waits
        for it. Raises `NotPermitted`, `LinkClosed`."""
        hello = link.hello
        if hello is None or not (hello.permissions or self._spec().asked):
            return
        try:
            needs = declared_permissions([*hello.permissions, *self._spec().asked])
        except ValueError as problem:
            raise NotPermitted(f"it declares what is no permission: {problem}") from None
        told = False
        while True:
            turn = self._permits.turn()
            try:
                # After `turn`: a decision that comes between the two must not be missed.
                found = self._permits.declared(self._spec().id, needs)
            except TooManyPermissions as problem:
                raise NotPermitted(str(problem)) from None
            waiting = [name for name, one in found.items() if one.value == "deferred"]
            if waiting and not told:
                told = True
                self._tell(link, waiting)
            if self._spec().degrades or self._clear(found):
                return
            with hold(_waits(waiting)):
                await _first(turn, link)

    def _clear(self, found: Mapping[str, Standing]) -> bool:
        denied = [name for name, one in found.items() if one.value == "denied"]
        if denied:
            raise NotPermitted(
                f"it needs {', '.join(denied)}, which was denied; `{to_type('server permit {}' + ' {}' * len(denied), self._spec().id, *denied)}` changes that"
            )
        return all(one.value == "approved" for one in found.values())

    def _tell(self, link: Link, waiting: Sequence[str]) -> None:
        """Tell the server that it waits. Whatever it answers decides nothing."""
        if _speaks(link):
            task = asyncio.ensure_future(self._announce(link, waiting))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _announce(self, link: Link, waiting: Sequence[str]) -> None:
        self._told += 1
        ident = f"{self._spec().id}-{self._told}"
        self._permits.named(self._spec().id, ident)
        params = {
            "request_id": ident,
            "permissions": list(waiting),
            "policy": "interactive",
            "message": "Waiting for operator approval",
        }
        try:
            await link.fetch(REQUEST, params, _TOLD_S)
        except ServerFailed as problem:
            log.debug("server %s was told that it waits: %s", self._spec().id, problem)

    async def answer(self, link: Link, params: Any) -> dict[str, Any]:
        """How a server stands that asks for permissions, in the words of MGP §3.6. What an operator has to decide is
        waited for a while. Raises `CannotAsk`."""
        if not _speaks(link):
            raise CannotAsk("Method not found", jsonrpc.METHOD_NOT_FOUND)
        request = request_of(params)
        if isinstance(request, str):
            raise CannotAsk(request, jsonrpc.INVALID_PARAMS)
        ident, needs = request
        self._permits.named(self._spec().id, ident)
        try:
            found = await self._decided(needs)
        except TooManyPermissions as problem:
            row = reason_of("resource_exhausted")
            raise CannotAsk(str(problem), row.mgp_code, {"reason": row.name}) from None
        return decision(ident, found)

    async def _decided(self, needs: Sequence[str]) -> Mapping[str, Standing]:
        """How these stand once an operator has decided, or when that takes too long. Raises `TooManyPermissions`."""
        try:
            async with asyncio.timeout(self._permits.hold_s):
                while True:
                    turn = self._permits.turn()
                    found = self._permits.asked(self._spec().id, needs)
                    if all(one.value != "deferred" for one in found.values()):
                        return found
                    await asyncio.wait([turn])
        except TimeoutError:
            # What still waits is answered as `deferred` (MGP §3.6).
            return self._permits.asked(self._spec().id, needs)


def _speaks(link: Link) -> bool:
    """Permissions are part of the extension `security` (decision C-13)."""
    mgp = None if link.hello is None else link.hello.mgp
    return mgp is not None and "security" in mgp.extensions


def request_of(params: Any) -> tuple[str, tuple[str, ...]] | str:
    """The id and the canonical permissions of a request (§3.5), or what is wrong with it."""
    ident = params.get("request_id") if isinstance(params, dict) else None
    names = params.get("permissions") if isinstance(params, dict) else None
    if not isinstance(ident, str) or not 1 <= len(ident) <= _IDENT_CHARS:
        return f"params.request_id must be a string of 1 to {_IDENT_CHARS} characters"
    if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
        return "params.permissions must be an array of permission names"
    try:
        return ident, declared_permissions(names)
    except ValueError as problem:
        return f"params.permissions: {problem}"


def decision(ident: str, found: Mapping[str, Standing]) -> dict[str, Any]:
    """How things stand, in the words of §3.6."""
    ends = [one.expires_at for one in found.values() if one.expires_at is not None]
    return {
        "request_id": ident,
        "grants": {name: one.value for name, one in found.items()},
        "approved_by": ", ".join(dict.fromkeys(one.by for one in found.values() if one.by)),
        "expires_at": moment_text(min(ends)) if ends else None,
    }


def _waits(names: Sequence[str]) -> str:
    return (
        f"waits for an operator to approve {', '.join(names)}; "
        f"`{to_type('approve')}` shows what waits"
    )


async def _first(turn: asyncio.Future[None], link: Link) -> None:
    """Wait for news. Raises `LinkClosed` where the server goes away meanwhile."""
    gone = asyncio.ensure_future(link.wait_closed())
    try:
        both: list[asyncio.Future[Any]] = [turn, gone]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise LinkClosed(gone.result())
    finally:
        gone.cancel()
