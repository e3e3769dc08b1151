"""`Registry`: in-process server of shipped and registered tools: versions, names reserved for owners, listing, calls, output schema checks.

A tool is a name and a version (decision C-44): the same registration again changes nothing, another one of the
same name and version is a conflict, another version stands beside it. The newest version has the plain name;
each older one is a tool of its own, called `NAME.vVERSION`, so that gates judge exactly the version that runs.
All versions of a name are of one owner: nobody takes over the calls of another's tool with a newer one, nor its name while its owner
is not connected.
What the gateway ships is there without a registration, and gives way to the first one of its name and version, and comes back when that
goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from gatewright.call import SHIPPED, Answer, Back, Call, Failure, Outcome
from gatewright.dialects.groundhog.left_names import LeftNames
from gatewright.dialects.groundhog.name_owners import NameOwners
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import META_TOOL
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.schemas.output_filter import AT_ONCE
from gatewright.schemas.schema import CompiledSchema, TakesLongError, compile_schema
from gatewright.sdk.versions import precedence
from gatewright.servers.listing import Listing
from gatewright.servers.local import Function, LocalServer
from gatewright.servers.spec import ServerSpec
from gatewright.transport.slices import in_slices

__all__ = ["MOST_EACH", "Conflict", "Registered", "Registry", "TooMany"]


MOST_EACH = 1_000
"""So many tools, each version counted, one caller may answer for over its connections: all are listed anew with each."""
_ATTEMPTS = 3
"""How often what is listed is made ready anew because something changed meanwhile."""
_MOST_LEFT = 10_000
"""So many names of tools whose owners left are kept for them, until the gateway is started again."""


class Conflict(Exception):  # noqa: N818 - a verdict
    """There is another tool of this name and version, or another's of this name. `field` is what has to differ, `of` the server and the
    tool that the message is about (or "" for all of the server): words for those who may know of that."""

    def __init__(
        self, message: str, field: str = "version", of: tuple[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.field = field
        self.of = of


class TooMany(Exception):  # noqa: N818 - a verdict
    """Its owner answers for as many tools as one may."""


class Registered(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One tool in one version."""

    name: str
    version: str
    definition: Mapping[str, Any]
    """MCP's, without `name`."""
    run: Function
    fingerprint: str
    """Two registrations with the same one are the same registration."""
    owner: str = ""
    """Who answers for it over a connection; empty for what the gateway itself stands behind."""
    shipped: bool = False
    request: Mapping[str, Any] | None = None
    """What was sent to register it, where that is all that is needed to register it again."""


class _Made(msgspec.Struct, frozen=True, eq=False):
    """What is listed of one tool, under one name, and what its results are held against."""

    called: str
    of: Registered
    members: Mapping[str, msgspec.Raw]
    check: CompiledSchema | None


class Registry(LocalServer):
    """The tool server of what is shipped and registered; it calls Python functions in this process."""

    def __init__(self, *, hints: bool = True) -> None:
        """`hints` says whether annotations of what is registered ask for a person."""
        super().__init__(ServerSpec(id=SHIPPED, local=True, hints=hints), {})
        self._kept: dict[tuple[str, str], Registered] = {}
        self._shipped: dict[tuple[str, str], Registered] = {}
        self._checks: dict[str, CompiledSchema] = {}
        self._versions: dict[str, dict[str, Registered]] = {}
        """The same by name, then by version."""
        self._ranks: dict[tuple[str, str], Any] = {}
        """Name and version → its sort key: with each new version all of its name are sorted."""
        self._offered: dict[str, tuple[_Made, ...]] = {}
        """Name → what is listed of it: what did not change is not made again."""
        self._version = 0
        self._next: tuple[int, Registered, Listing] | None = None
        """What was prepared, of which version and with which tool."""
        self._left = LeftNames(_MOST_LEFT)
        """Of what is not offered any more."""
        self._names = NameOwners()
        """Of all that is offered, and of these."""
        self._leaving: dict[tuple[str, str], Registered] = {}
        """What is listed yet, and was left by its owner."""
        self._each: Counter[str] = Counter()
        """Owner → how many it answers for."""

    @property
    def tools(self) -> Sequence[Registered]:
        """Everything that is offered."""
        return tuple(self._kept.values())

    def get(self, name: str, version: str) -> Registered | None:
        """The tool of this name and version."""
        return self._kept.get((name, version))

    def has(self, name: str) -> bool:
        """Whether a tool of this name is offered, in whatever version."""
        return name in self._versions

    def reads_as(self, one: Registered) -> str:
        """Another's tool, there or away, that a reader takes a tool for; empty where there is none."""
        return self._names.alike(one.name, one.owner)

    def coming(self, one: Registered) -> Listing | None:
        """What will be listed once a tool is offered, if nothing else changes until then; None where it is there already. Raises like
        `add`."""
        if not self._may_come(one):
            return None
        group = self._group(one.name, {**self._versions.get(one.name, {}), one.version: one})
        listing = _listing({**self._offered, one.name: group})
        self._next = self._version, one, listing
        return listing

    def is_ready(self, one: Registered) -> bool:
        """Whether what `coming` said of this tool holds yet."""
        return self._next is not None and self._next[:2] == (self._version, one)

    def add(self, one: Registered) -> bool:
        """Offer a tool. False where it is there already. Raises `Conflict`, and `TooMany`."""
        if not self._may_come(one):
            return False
        key = one.name, one.version
        known = self._kept.get(key)
        self._each[one.owner] += 1
        if known is not None and self._leaving.pop(key, None) is None:
            self._each[known.owner] -= 1
        if one.shipped:
            self._shipped[key] = one
        self._keep(one)
        ready = self._next[2] if self._next is not None and self.is_ready(one) else None
        self._next = None
        self._offer([one.name], ready)
        return True

    def _keep(self, one: Registered) -> None:
        self._kept[one.name, one.version] = one
        self._versions.setdefault(one.name, {})[one.version] = one
        self._ranks[one.name, one.version] = self._rank(one)
        self._names.take(one.name, one.owner)

    def _may_come(self, one: Registered) -> bool:
        key = one.name, one.version
        if self._names.owner(one.name) not in (None, one.owner):
            away = "" if self.has(one.name) else ", who is not connected"
            what = f"{one.name} is a tool that somebody else answers for{away}"
            raise Conflict(what, "name", (SHIPPED, one.name))
        known = None if key in self._leaving else self._kept.get(key)
        if known is not None and not known.shipped:
            if known.fingerprint == one.fingerprint:
                return False
            raise Conflict(f"{one.name} {one.version} is registered already, and differs")
        if one.owner and self._each[one.owner] >= MOST_EACH:
            raise TooMany(
                f"{MOST_EACH} tools are registered by this caller, which is as many as may be: end connections that registered "
                "others, or register fewer"
            )
        return True

    def remove(self, *keys: tuple[str, str]) -> None:
        """Offer these no more, each a name and a version; without effect for those that are not there. What is shipped and gave
        way is back."""
        gone = [key for key in keys if key in self._kept]
        for key in gone:
            self._removed(key)
        if gone:
            self._offer(dict.fromkeys(name for name, _ in gone))

    def leave(
        self, keys: Sequence[tuple[str, str]], ahead: Callable[[Listing], Awaitable[None]]
    ) -> Coroutine[None, None, None]:
        """The same in slices, however many there are, and what is listed then is made ready by `ahead`. Until then it is listed what
        was, and runs; for whoever registers, these are gone at once, before what is returned is waited for."""
        going = {key: self._kept[key] for key in keys if key in self._kept}
        going = {key: one for key, one in going.items() if key not in self._leaving}
        self._leaving.update(going)
        for one in going.values():
            self._each[one.owner] -= 1
        return self._left_by(going, ahead)

    async def _left_by(
        self,
        going: Mapping[tuple[str, str], Registered],
        ahead: Callable[[Listing], Awaitable[None]],
    ) -> None:
        names = dict.fromkeys(name for name, _ in going)
        try:
            await in_slices(self._gone(going))
            for _ in range(_ATTEMPTS):
                version, groups = self._version, await in_slices(self._groups(names))
                listing = _listing({**self._offered, **groups})
                await ahead(listing)
                if version == self._version:
                    self._offer(names, listing, groups)
                    return
        except Exception:
            for _ in self._gone(going):
                pass
            self._offer(names)
            raise
        self._offer(names)

    def _gone(self, going: Mapping[tuple[str, str], Registered]) -> Generator[None, None, None]:
        """Only the books change: what a name runs changes together with what is listed of it, or gates would judge another version."""
        for key, one in going.items():
            yield
            if self._leaving.get(key) is one:  # else it was registered anew meanwhile
                self._removed(key)

    def _groups(
        self, names: Iterable[str]
    ) -> Generator[None, None, Mapping[str, tuple[_Made, ...]]]:
        """What will be listed of these names, once for each, however many of its versions went."""
        found = {}
        for name in names:
            yield
            found[name] = self._group(name, self._versions.get(name, {}))
        return found

    def _removed(self, key: tuple[str, str]) -> None:
        self._version += 1
        gone, shipped = self._kept.pop(key), self._shipped.get(key)
        if self._leaving.pop(key, None) is not None:
            self._each[gone.owner] += 1
        versions = self._versions[gone.name]
        del versions[gone.version], self._ranks[key]
        if not versions:
            del self._versions[gone.name]
        self._each[gone.owner] -= 1
        if not self._each[gone.owner]:
            del self._each[gone.owner]
        if gone.owner:
            self._freed(self._left.keep(gone.name, gone.owner))
        self._freed(gone.name)
        if shipped is not None:
            self._keep(shipped)
            self._each[shipped.owner] += 1

    def _freed(self, name: str) -> None:
        """A name may be nobody's now."""
        if not self.has(name) and self._left.owner(name) is None:
            self._names.free(name)

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Run one tool, and hold what it says against its output schema, as far as that takes no time."""
        outcome = await super().call(method, params, call, back)
        check = self._checks.get(str(params.get("name")))
        if check is None or not isinstance(outcome, Answer) or outcome.tool_error:
            return outcome
        found = jsonrpc.members_named(outcome.raw, "structuredContent").get("structuredContent")
        try:
            # What is large, or dear to check, the filter `output_schema` has checked beside the loop, by the same schema.
            if found is not None and len(found) > AT_ONCE:
                return outcome
            said = None if found is None else jsonrpc.decode(found)
            objection = check.objection(said, at_once=True)
        except TakesLongError:
            return outcome
        if objection is None:
            return outcome
        return Failure(
            "output_invalid",
            f"what {params['name']} returned does not fit its output schema at "
            f"{objection.path or '/'}: {objection.message}",
            {"path": objection.path, "rule": objection.rule},
        )

    def _group(self, name: str, versions: Mapping[str, Registered]) -> tuple[_Made, ...]:
        """What is listed of one name: the newest version under the plain one. What did not change is not made again."""
        known = {one.called: one for one in self._offered.get(name, ())}
        found = []
        newest = sorted(versions.values(), key=self._rank, reverse=True)
        for number, one in enumerate(newest):
            called = name if number == 0 else f"{name}.v{one.version}"
            made = known.get(called)
            found.append(made if made is not None and made.of is one else _made(called, one))
        return tuple(found)

    def _rank(self, one: Registered) -> Any:
        known = self._ranks.get((one.name, one.version))
        return precedence(one.version) if known is None else known

    def _offer(
        self,
        names: Iterable[str],
        ready: Listing | None = None,
        groups: Mapping[str, tuple[_Made, ...]] = MappingProxyType({}),
    ) -> None:
        """Offer what there is of these names now; `ready` is what will be listed and `groups` what of each name, where that is known."""
        for name in names:
            self._place(name, groups.get(name))
        self._tell(_listing(self._offered) if ready is None else ready)

    def _place(self, name: str, group: tuple[_Made, ...] | None = None) -> None:
        self._version += 1
        if group is None:
            group = self._group(name, self._versions.get(name, {}))
        known = {one.called: one for one in self._offered.get(name, ())}
        if group:
            self._offered[name] = group
        else:
            self._offered.pop(name, None)
        for made in group:
            if known.pop(made.called, None) is not made:
                self._checks.pop(made.called, None)
                self._put(made.called, made.of.run)
                if made.check is not None:
                    self._checks[made.called] = made.check
        for called in known:
            self._functions.pop(called, None)
            self._checks.pop(called, None)

    def _tell(self, listing: Listing) -> None:
        self.listing = listing
        self.changed.send(listing)


def _listing(offered: Mapping[str, Sequence[_Made]]) -> Listing:
    hello = Hello(LATEST_LEGACY, {"tools": {"listChanged": True}}, _INFO, None)
    return Listing(hello, {"tools": [one.members for some in offered.values() for one in some]})


_INFO = {"name": SHIPPED, "version": "1"}


def _made(called: str, one: Registered) -> _Made:
    schema = one.definition.get("outputSchema")
    members = jsonrpc.decode_members(jsonrpc.encode(_definition(called, one)))
    return _Made(called, one, members, None if schema is None else compile_schema(schema))


def _definition(called: str, one: Registered) -> dict[str, Any]:
    around = one.definition.get("_meta") or {}
    said = {**around.get(META_TOOL, {}), "name": one.name, "version": one.version}
    return {"name": called, **one.definition, "_meta": {**around, META_TOOL: said}}
