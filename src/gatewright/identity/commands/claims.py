"""Decorator: key commands' `--permission`, `--role`, `--trust`, `--resource` as `UserContext`; shows it; detects rights to call, not list.

They make one value, so a command takes one: `takes_rights` gives it the four options, and the function
behind it a `UserContext` as `user`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, cast, get_args, get_type_hints

import typer

from gatewright.call import Trust, UserContext
from gatewright.cli.errors import CliError, Exit
from gatewright.mcp.wire.permissions import INVOKE, LIST_ALL, READ, ggen_permission, held_permission
from gatewright.validators.resources import flaw_of_pattern

__all__ = ["as_document", "as_text", "calls_blindly", "takes_rights"]

_LEVELS = ", ".join(get_args(Trust))
_OPTIONS: Mapping[str, Any] = {
    "permission": Annotated[
        list[str] | None,
        typer.Option(
            "--permission",
            help="What it holds, and no more: ToolInvoke(files/*), ToolRead(files/*), ToolsListAll, "
            "AdminRead, AdminWrite, filesystem.read, read:filesystem … May be repeated.",
        ),
    ],
    "role": Annotated[str | None, typer.Option("--role", help="A word for people and the record.")],
    "trust": Annotated[str | None, typer.Option("--trust", help=f"{_LEVELS}; else verified.")],
    "resource": Annotated[
        list[str] | None,
        typer.Option(
            "--resource",
            help="The only paths and URIs it may touch: /srv/data/**, https://api.example/v1/* … "
            "May be repeated.",
        ),
    ],
}


def takes_rights(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the four options in the place of its parameter `user`."""

    @wraps(command)
    def run(**given: Any) -> None:
        said = {name: given.pop(name) for name in _OPTIONS}
        command(**given, user=_rights(**said))

    signature = inspect.signature(command)
    # Typer reads the signature: annotations are texts here (`from __future__`), so they are resolved before they are copied.
    hints = get_type_hints(command, include_extras=True)
    kept = [
        one.replace(annotation=hints[one.name])
        for one in signature.parameters.values()
        if one.name != "user"
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    run.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in [*kept, *added]}
    return run


def _rights(
    permission: Sequence[str] | None,
    role: str | None,
    trust: str | None,
    resource: Sequence[str] | None,
) -> UserContext:
    if trust is not None and trust not in get_args(Trust):
        raise _misuse(f"{trust!r} is no trust level", f"write one of {_LEVELS}")
    for flaw in filter(None, map(flaw_of_pattern, resource or ())):
        raise _misuse(flaw, "write whole paths and URIs: /srv/data/**, https://api.example/v1/*")
    return UserContext(
        role or "",
        cast("Trust | None", trust),
        tuple(resource or ()),
        tuple(dict.fromkeys(map(_held, permission or ()))),
    )


def calls_blindly(user: UserContext) -> bool:
    """Whether somebody may call tools and see none of them."""
    held = user.permissions
    reads = any(one == LIST_ALL or one.startswith(READ) for one in held)
    return not reads and any(one.startswith(INVOKE) for one in held)


def as_document(user: UserContext) -> dict[str, Any]:
    """The members for a JSON document."""
    return {
        "role": user.role,
        "trust_level": user.trust,
        "allowed_resources": list(user.resources),
        "permissions": [ggen_permission(one) for one in user.permissions],
    }


def as_text(user: UserContext) -> str:
    """The same for one cell of a table."""
    held = ", ".join(map(ggen_permission, user.permissions))
    said = (user.role, user.trust, held, ", ".join(user.resources))
    return "; ".join(one for one in said if one)


def _held(name: str) -> str:
    found = held_permission(name)
    if found is None:
        raise _misuse(
            f"{name!r} is no permission", "write ToolInvoke(files/read), filesystem.read …"
        )
    return found


def _misuse(message: str, hint: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=hint)
