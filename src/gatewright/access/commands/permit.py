"""`gatewright server permit ID`: approves, denies or shows the permissions of a tool server (MGP §3), in the state database.

Straight in the store: a running gateway notices within a second, connects a server that waited, and ends what is not allowed
any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from gatewright.access.permissions import Permissions, Word
from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.state_access import has_state, opened
from gatewright.cli.timestamps import ahead
from gatewright.cli.tool_names import no_server, registered_ids
from gatewright.command_text import to_type
from gatewright.config import Settings, load
from gatewright.mcp.wire.permissions import declared_permissions, permission_risk
from gatewright.timestamps import as_shown

__all__ = ["permit"]

_COLUMNS = ("permission", "risk", "value", "by", "since", "ends", "comment")


def permit(  # noqa: PLR0917 - one argument for each option
    id: Annotated[
        str, typer.Argument(metavar="ID", help="As listed.", autocompletion=server_names)
    ],
    permissions: Annotated[
        list[str] | None, typer.Argument(metavar="[PERMISSION]...", help="Such as filesystem.read.")
    ] = None,
    deny: Annotated[
        bool, typer.Option("--deny", help="Say no, also to what was approved before.")
    ] = False,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Only for so long: 10m, 1h, 7d.")
    ] = None,
    comment: Annotated[str, typer.Option("--comment", help="For the record.")] = "",
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Approve permissions of a server; with --deny, refuse them or take them back; without any, show what was said.

    Columns: permission, risk, value, by whom, since when, until when, comment.
    """
    settings = load(config)
    _check(settings, id)
    with _store(settings.storage.path, id, new=bool(permissions)) as store:
        if permissions:
            by = require_operator(settings, key)
            value: Literal["approved", "denied"] = "denied" if deny else "approved"
            ends = None if for_ is None else ahead(for_, time.time())
            names = _canonical(permissions)
            store.put(*(Word(id, one, value, by, expires=ends, comment=comment) for one in names))
        found = store.of(id)
    if json:
        print_document(found)
        return
    print_rows(_COLUMNS, [_row(one) for one in found])
    if not found:
        note(f"no operator has said anything about it; `{to_type('approve')}` shows what waits")


def _row(one: Word) -> tuple[str, ...]:
    ends = "" if one.expires is None else as_shown(one.expires)
    risk = permission_risk(one.permission)
    return one.permission, risk, one.value, one.by, as_shown(one.decided), ends, one.comment


def _canonical(names: list[str]) -> tuple[str, ...]:
    try:
        return declared_permissions(names)
    except ValueError as problem:
        raise CliError(
            str(problem), code="usage", exit_code=Exit.USAGE, hint=to_type("server permit --help")
        ) from None


def _check(settings: Settings, id: str) -> None:
    if settings.server(id) is None and id not in registered_ids(settings):
        raise no_server(settings, id)


@contextmanager
def _store(folder: Path, server: str, *, new: bool) -> Iterator[Permissions]:
    """The store; where there is none yet, only a decision makes one."""
    if not new and not has_state(folder):
        raise CliError(
            f"no operator has said anything about permissions yet in {folder}",
            code="not_found",
            exit_code=Exit.UNREACHABLE,
            hint=to_type("server permit {} PERMISSION", server),
        )
    with opened(folder) as state:
        yield Permissions(state, clock=time.time)
