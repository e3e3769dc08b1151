"""`@mcp_tool`: makes a tool of a function's type hints and options; registers it process-wide, or in the registry set by `collecting`.

The decorated function stays what it was: it can be called, typed and tested as before. The tool is registered at
once in the registry of this process, or in the one that is being filled (`collecting`), which is how discovery
keeps the tools of one package apart from those of another.
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypedDict, TypeVar, Unpack, overload

from gatewright.sdk.errors import RegistrationError
from gatewright.sdk.function_schema import fits, read_signature, words_of
from gatewright.sdk.signature import Signature
from gatewright.sdk.tool import Tool, ToolSecurity, Validator

__all__ = [
    "MARK",
    "MODULE",
    "Declaration",
    "ToolOptions",
    "ToolTarget",
    "collecting",
    "mcp_tool",
    "tool_from_function",
    "tool_name",
]

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__mcp_tool__"
"""The attribute of a decorated function that holds its `Tool`."""

MODULE = "mcp_tools"
"""The module name that says nothing: such a module speaks for the package that it stands in."""


class ToolOptions(TypedDict, total=False):
    """What can be said of a tool besides its name and schema; each is the member of `Tool` of that name."""

    version: str
    title: str | None
    category: str
    examples: Sequence[Mapping[str, Any]]
    deprecated_in: str | None
    author: str
    destructive: bool
    read_only: bool
    idempotent: bool
    security: ToolSecurity | None
    timeout_s: float | None
    validators: Sequence[Validator]
    cache_ttl: int
    module: str


class Declaration(ToolOptions, total=False):
    """All that `@mcp_tool` takes."""

    name: str | None
    prefix: str | None
    description: str | None
    input_schema: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | None
    signature: Signature | None
    tags: Iterable[str]


class ToolTarget(Protocol):
    """Where tools are registered."""

    def register(self, tool: Tool) -> Tool:
        """Keep a tool."""


# No global: discovery imports modules in a thread, while another thread may declare tools.
_keeper: contextvars.ContextVar[ToolTarget | None] = contextvars.ContextVar("keeper", default=None)


@contextmanager
def collecting(keeper: ToolTarget) -> Iterator[None]:
    """Within this, `@mcp_tool` registers with `keeper` instead of the registry of the process."""
    token = _keeper.set(keeper)
    try:
        yield
    finally:
        _keeper.reset(token)


@overload
def mcp_tool(function: F, /) -> F: ...


@overload
def mcp_tool(
    *,
    registry: ToolTarget | None = None,
    **options: Unpack[Declaration],
) -> Callable[[F], F]: ...


def mcp_tool(function: Any = None, /, *, registry: ToolTarget | None = None, **options: Any) -> Any:
    """Register a function as a tool, with or without options: `@mcp_tool` or `@mcp_tool(destructive=True)`.

    The name is the module's plus the function's (`memory_put` for `put` in `memory`), unless `name` or `prefix`
    says otherwise. The schema is that of the type hints, of `input_schema`, or of `signature`. All other options
    are members of `Tool`. Raises `RegistrationError`.
    """

    def register(target: F) -> F:
        tool = tool_from_function(target, **options)
        _target(registry).register(tool)
        if inspect.isfunction(target):
            setattr(target, MARK, tool)
        return target

    if function is None:
        return register
    return register(function)


def _target(registry: ToolTarget | None) -> ToolTarget:
    if registry is not None:
        return registry
    found = _keeper.get()
    if found is None:
        from gatewright.sdk.registry import REGISTRY

        return REGISTRY
    return found


def tool_from_function(
    function: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    prefix: str | None = None,
    description: str | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    signature: Signature | None = None,
    tags: Iterable[str] = (),
    **more: Unpack[ToolOptions],
) -> Tool:
    """The tool of a function, registered nowhere. Options as for `mcp_tool`. Raises `RegistrationError`."""
    if isinstance(function, type) or not callable(function):
        raise RegistrationError(
            f"{function!r} is no function",
            advice="Put @mcp_tool over a def, or write @mcp_tool(name=…) with the name as keyword",
        )
    if isinstance(tags, str):
        raise RegistrationError(f"tags is one text, {tags!r}", advice=f"Write tags=[{tags!r}]")
    if signature is not None:
        name = name or signature.name
        description = description or signature.description
        input_schema, output_schema = signature.to_json_schema(), signature.output_schema()
    words = words_of(function)
    module = getattr(function, "__module__", "") or ""
    chosen = name or tool_name(function, module, prefix)
    if input_schema is not None:
        fits(chosen, function, input_schema)
        read: dict[str, Any] = {"input_schema": input_schema, "output_schema": output_schema}
    else:
        read = read_signature(chosen, function, words)._asdict()
        if output_schema is not None:
            read |= {"output_schema": output_schema, "wraps_result": False}
    _known_options(chosen, more)
    return Tool(
        name=chosen,
        description=words.summary if description is None else description,
        function=function,
        tags=tuple(tags),
        **{"module": module, **read, **more},
    )


def _known_options(tool: str, options: Iterable[str]) -> None:
    known = sorted(ToolOptions.__annotations__)
    for one in options:
        if one in known:
            continue
        import difflib

        near = difflib.get_close_matches(one, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}"
        raise RegistrationError(f"tool {tool}: there is no option {one!r}", advice=hint)


def tool_name(function: Callable[..., Any], module: str, prefix: str | None = None) -> str:
    """Module prefix and function name: `memory_put` for `put` in `memory`, `app.memory.mcp_tools` or the like.

    A function whose name begins with the prefix keeps it as it is; what runs as `__main__` has none.
    """
    own = getattr(function, "__name__", "") or type(function).__name__
    if prefix is None:
        parts = [one for one in module.split(".") if one not in {MODULE, "__main__", "__init__"}]
        prefix = parts[-1] if parts else ""
    if not prefix or own == prefix or own.startswith(f"{prefix}_"):
        return own
    return f"{prefix}_{own}"
