"""Registry of tools by name and version: registers, lists, validates and invokes them, counts usage, notifies listeners; thread-safe.

Registering is idempotent: the same declaration of the same name and version changes nothing, another one is an
error, another version stands beside it and the newest is what a plain name means (decision C-44). Changes wait for a
lock, at most `lock_s`; reading waits for nothing.

A registry needs no server. What serves it only turns messages into `invoke` and results into messages.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gatewright.schemas.nearest import NAME_CHARS, closest
from gatewright.sdk.errors import RegistrationError, TimeoutError, ToolNotFoundError
from gatewright.sdk.limits import TimeLimits
from gatewright.sdk.tool import Tool, Validator
from gatewright.sdk.trust import TrustGateway
from gatewright.sdk.usage import Usage
from gatewright.sdk.versions import precedence

if TYPE_CHECKING:
    from gatewright.sdk.context import Context
    from gatewright.sdk.result import Result

__all__ = ["REGISTRY", "Registry", "get_tool_schema", "list_registered_tools"]

_UPSTREAM = "codomyrmex."
"""A name may be written with this in front, as in that system's own servers (decision C-52)."""

_NEAR = 2000
"""Up to so many tools, a name that is not found is compared with all of them."""

Listener = Callable[[], None]

# Inside the class, `list` is the operation of that name.
_Tools = list[Tool]
_Texts = list[str]
_Entries = list[dict[str, Any]]
_Judges = list[Validator]


class Registry:
    """Tools by name and version. Safe to use from several threads."""

    def __init__(
        self,
        name: str = "gatewright",
        *,
        limits: TimeLimits | None = None,
        trust: TrustGateway | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` gives monotonic seconds, for the figures of `usage`."""
        self.name = name
        self.limits = limits or TimeLimits()
        self.trust = trust or TrustGateway()
        self.usage = Usage()
        self._clock = clock
        self._lock = threading.Lock()
        # Written under the lock, read without: each change is one operation on a dict.
        self._versions: dict[str, dict[str, Tool]] = {}
        self._newest: dict[str, Tool] = {}
        self._entries: dict[str, dict[str, Any]] = {}
        self._listeners: dict[int, Listener] = {}
        self._numbers = itertools.count()
        self._validators: dict[str, tuple[Validator, frozenset[str] | None]] = {}

    def register(self, tool: Tool) -> Tool:
        """Keep a tool; returns the one that is kept, which is the first of two equal ones.

        Raises `RegistrationError` where the name and version stand for another declaration, or for a tool of
        another module; `TimeoutError` where another change took longer than `lock_s`.
        """
        with self._changing():
            kept = self.kept(tool)
            if kept is not None:
                return kept
            self._versions.setdefault(tool.name, {})[tool.version] = tool
            self._choose(tool.name)
        self._tell()
        return tool

    def kept(self, tool: Tool) -> Tool | None:
        """The tool that is here already under this name and version. Raises what `register` raises where it is
        another one."""
        kept = self._find(tool.name, tool.version)
        if kept is not None:
            _same_or_raise(kept, tool)
        return kept

    def unregister(self, name: str, version: str | None = None) -> None:
        """Forget a tool, in one version or in all. Raises `ToolNotFoundError`."""
        with self._changing():
            versions = self._versions.get(name)
            if versions is None or (version is not None and version not in versions):
                raise self._unknown(name, version)
            if version is None:
                versions.clear()
            else:
                del versions[version]
            self._choose(name)
        self._tell()

    def get(self, name: str, version: str | None = None) -> Tool:
        """The tool of a name: its newest version, or the one that is asked for. Raises `ToolNotFoundError`."""
        found = self._find(name, version)
        # A tool that is really called so comes first.
        if found is None and name.startswith(_UPSTREAM):
            found = self._find(name.removeprefix(_UPSTREAM), version)
        if found is None:
            raise self._unknown(name, version)
        return found

    def list(self) -> _Tools:
        """The newest version of every tool, in the order of registration."""
        return list(self._newest.values())

    def versions(self, name: str) -> _Texts:
        """The versions of a tool, oldest first. Raises `ToolNotFoundError`."""
        self.get(name)
        return sorted(self._versions.get(name, ()), key=precedence)

    def list_registered_tools(self) -> _Entries:
        """The registration entry of every tool: name, description, inputSchema, metadata.

        The entries are those that the registry keeps: read them, do not write into them.
        """
        return list(self._entries.values())

    def get_tool_schema(self, name: str) -> dict[str, Any]:
        """The input schema of a tool (JSON Schema). Raises `ToolNotFoundError`."""
        return self.get(name).input_schema

    def __len__(self) -> int:
        return len(self._newest)

    def __contains__(self, name: object) -> bool:
        return name in self._newest

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.list())

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called after each change of what is listed; returns what ends that, however often it is called.

        It is called in the thread that made the change, and must not block.
        """
        number = next(self._numbers)
        self._listeners[number] = listener

        def end() -> None:
            self._listeners.pop(number, None)

        return end

    def add_validator(
        self, name: str, validator: Validator, *, tools: frozenset[str] | None = None
    ) -> None:
        """Have a plug-in judge the arguments of the named tools, or of all. Raises `RegistrationError`."""
        with self._changing():
            if name in self._validators:
                raise RegistrationError(f"there is a validator {name!r} already")
            if not callable(validator):
                raise RegistrationError(f"validator {name!r} cannot be called")
            self._validators = {**self._validators, name: (validator, tools)}

    async def validate(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, version: str | None = None
    ) -> None:
        """Whether a call would be let in by schema and validators, without running the tool.

        Raises `ToolNotFoundError`, `SchemaError`, `TimeoutError`.
        """
        from gatewright.sdk import dispatch

        tool = self.get(name, version)
        found = dispatch.checked_arguments(tool, arguments)
        await dispatch.validate(tool, found, self._judges(tool.name), self.limits.validation_s)

    async def invoke(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        version: str | None = None,
        limit_s: float | None = None,
        context: Context | None = None,
        trust: TrustGateway | None = None,
    ) -> Result:
        """Call a tool: gate, schema, validators, the function, its output.

        The least of `limit_s`, the tool's own and the registry's limit holds, in seconds. `trust` replaces the
        registry's gateway for this call. Raises `ToolNotFoundError`, `AccessError`, `SchemaError`, `TimeoutError`,
        `SerializationError`; a tool that ran and failed is a result with `is_error`.
        """
        from gatewright.sdk import dispatch

        tool = self.get(name, version)
        begun = self._clock()
        # What is counted if neither branch below is reached: CancelledError is no Exception.
        error = "cancelled"
        try:
            (trust or self.trust).admit(tool)
            found = dispatch.checked_arguments(tool, arguments)
            await dispatch.validate(tool, found, self._judges(tool.name), self.limits.validation_s)
            limits = (limit_s, tool.timeout_s, self.limits.tool_s)
            least = min(one for one in limits if one is not None)
            result = await dispatch.run_tool(tool, found, least, context)
            error = "isError" if result.is_error else ""
            return result
        except Exception as problem:
            error = type(problem).__name__
            raise
        finally:
            self.usage.add(tool.name, self._clock() - begun, error)

    def invoke_sync(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> Result:
        """`invoke` where no event loop runs, with its options and errors."""
        import asyncio

        return asyncio.run(self.invoke(name, arguments, **options))

    def _judges(self, tool: str) -> _Judges:
        known = self._validators.values()
        return [one for one, tools in known if tools is None or tool in tools]

    def _find(self, name: str, version: str | None) -> Tool | None:
        if version is None:
            return self._newest.get(name)
        return self._versions.get(name, {}).get(version)

    def _choose(self, name: str) -> None:
        """Let the newest version be what the name means. Under the lock."""
        versions = self._versions[name]
        if not versions:
            del self._versions[name], self._newest[name], self._entries[name]
            return
        newest = max(versions.values(), key=lambda one: precedence(one.version))
        self._newest[name] = newest
        self._entries[name] = newest.entry()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        limit = self.limits.lock_s
        if not self._lock.acquire(timeout=limit):
            raise TimeoutError(
                f"the registry {self.name} was busy with another change for {limit:g} s",
                reason="resource_exhausted",
                details={"timeout_ms": round(limit * 1000)},
                advice="Try again",
            )
        try:
            yield
        finally:
            self._lock.release()

    def _tell(self) -> None:
        # After the lock was released: a listener may read or change the registry.
        for listener in tuple(self._listeners.values()):
            listener()

    def _unknown(self, name: str, version: str | None) -> ToolNotFoundError:
        # A caller's word, and it may be a megabyte of it.
        shown = name[:NAME_CHARS]
        which = shown if version is None else f"{shown} in version {version[:NAME_CHARS]}"
        versions = sorted(self._versions.get(name, ()), key=precedence)
        near = [] if versions or len(self._newest) > _NEAR else self._near(name)
        hint = f" (there are {', '.join(versions)})" if versions else ""
        hint = f" (did you mean {near[0]}?)" if near else hint
        return ToolNotFoundError(
            f"no tool is called {which}{hint}", details={"tool_name": shown, "similar": near}
        )

    def _near(self, name: str) -> _Texts:
        return closest(name, self._newest)


def _same_or_raise(kept: Tool, tool: Tool) -> None:
    if kept.fingerprint != tool.fingerprint:
        what = "another schema" if _schemas(kept) != _schemas(tool) else "other security metadata"
        raise RegistrationError(
            f"tool {tool.name} {tool.version} is registered already with {what}",
            details={"tool_name": tool.name, "version": tool.version, "module": kept.module},
            advice="Give the new one another version or another name, or unregister the first",
        )
    if kept.module and tool.module and kept.module != tool.module:
        raise RegistrationError(
            f"tool {tool.name} {tool.version} is registered already by {kept.module}, and now by {tool.module}",
            details={"tool_name": tool.name, "version": tool.version, "module": kept.module},
            advice="Give one of them another name or a prefix",
        )


def _schemas(tool: Tool) -> tuple[Any, Any]:
    return tool.input_schema, tool.output_schema


REGISTRY = Registry("default")
"""Where `@mcp_tool` registers unless it is told otherwise."""


def list_registered_tools() -> list[dict[str, Any]]:
    """The registration entry of every tool of this process (`Registry.list_registered_tools`)."""
    return REGISTRY.list_registered_tools()


def get_tool_schema(name: str) -> dict[str, Any]:
    """The input schema of a tool of this process. Raises `ToolNotFoundError`."""
    return REGISTRY.get_tool_schema(name)
