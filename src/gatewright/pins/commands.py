"""`gatewright server pin`: lists tools held back for a changed or suspicious definition, shows the diff, accepts or forgets them.

The difference is shown line by line, with everything visible in it; whoever accepts it accepts exactly what was
shown. Straight in the store: a running gateway notices within a second.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText
from gatewright.cli.output import note, one_line, print_document, print_rows
from gatewright.cli.state_access import has_state, opened
from gatewright.cli.tool_names import no_server, seen_subject, spelled
from gatewright.command_text import to_type
from gatewright.config import Settings, load
from gatewright.pins.store import Pin, Pins
from gatewright.timestamps import as_shown

__all__ = ["pin"]

_COLUMNS = ("server", "tool", "standing", "since", "why")
_DIGEST_CHARS = 16


def pin(  # noqa: PLR0913, PLR0917 - one argument for each option
    id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="One server.", autocompletion=server_names),
    ] = None,
    tool: Annotated[
        str | None, typer.Argument(metavar="[TOOL]", help="One tool, by any of its names.")
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Rely on what it says now.")] = False,
    digest: Annotated[
        str | None,
        typer.Option(
            "--digest", metavar="HEX", help="Accept only the definition that was shown with it."
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Also the tools that are not held back.")
    ] = False,
    forget: Annotated[
        bool,
        typer.Option(
            "--forget", help="Forget a server's tools: what it says next counts as said first."
        ),
    ] = False,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the tools that are held back; with a tool, what has changed in it; with --accept, let it go on.

    With --accept and no TOOL every tool of the server that is held back is accepted as it is then. A server may change a
    tool once more after somebody has looked at it: --digest accepts what they saw and nothing else. --forget is for a
    server that has named more tools than are remembered; it shows what is forgotten.
    """
    settings = load(config)
    id, tool = _meant(settings, id, tool)
    if digest is not None and not accept:
        raise CliError(
            "--digest says what --accept is for",
            code="usage",
            exit_code=Exit.USAGE,
            hint=to_type("server pin ID TOOL --accept --digest HEX"),
        )
    with _store(settings.storage.path) as pins:
        if forget:
            only = id if not (tool or accept or digest) else None
            found = _forget(pins, only, lambda: require_operator(settings, key))
        else:
            found = _of(pins, id, tool, all_ and not accept)
        if accept and not forget:
            by = require_operator(settings, key)
            _check_digest(found, tool, digest)
            found = _accept(pins, found, id, by)
    if json:
        print_document(found)
        return
    if tool is not None and not accept:
        _show(found[0])
        return
    print_rows(
        _COLUMNS,
        [(one.server, one.tool, one.standing, as_shown(one.since), one.why) for one in found],
    )
    if not found:
        if id is not None and settings.server(id) is None:
            raise no_server(settings, id)
        note("nothing is held back")


def _meant(
    settings: Settings, server: str | None, tool: str | None
) -> tuple[str | None, str | None]:
    """Server and tool by their own names, of a tool that is named as lists show it, with its server before it or alone."""
    for text in (tool, server if tool is None else None):
        found = None if text is None else seen_subject(settings, text)
        if (
            found is not None
            and found.tool is not None
            and (tool is None or found.server == server)
        ):
            return found
    if server is not None and tool is not None:
        found = seen_subject(settings, spelled(server, tool))
        return (server, tool) if found is None or found.server != server else found
    return server, tool


def _of(pins: Pins, server: str | None, tool: str | None, all_: bool) -> list[Pin]:
    """One tool, or those that are held back, or all."""
    if tool is None:
        return [one for one in pins.of(server) if all_ or one.standing != "pinned"]
    found = [one for one in pins.of(server) if one.tool == tool]
    if not found:
        raise _unknown(spelled(str(server), tool))
    return found


def _forget(pins: Pins, server: str | None, by: Callable[[], str]) -> list[Pin]:
    """Let a server begin anew; what was known of its tools."""
    if server is None:
        raise CliError(
            "--forget takes one server and nothing else",
            code="usage",
            exit_code=Exit.USAGE,
            hint=to_type("server pin ID --forget"),
        )
    found = pins.of(server)
    if not found:
        raise _unknown(server)
    pins.forget(server, by=by())
    note(f"the tools of {server} are forgotten; what they say next counts as said first")
    return found


def _check_digest(found: list[Pin], tool: str | None, digest: str | None) -> None:
    """Only one tool has a digest that somebody saw, and it must still be that one."""
    if digest is None:
        return
    if tool is None or len(digest) < _DIGEST_CHARS:
        raise CliError(
            f"--digest takes the {_DIGEST_CHARS} digits that were shown, of one tool",
            code="usage",
            exit_code=Exit.USAGE,
            hint=f"`{to_type('server pin ID TOOL')}` shows them",
        )
    if not found[0].digest.startswith(digest.lower()):
        raise _conflict(
            f"{spelled(found[0].server, tool)} has changed again since it was looked at"
        )


def _conflict(what: str) -> CliError:
    return CliError(what, code="conflict", exit_code=Exit.UNEXPECTED, hint="look at it again")


def _accept(pins: Pins, found: list[Pin], server: str | None, by: str) -> list[Pin]:
    if server is None:
        raise CliError(
            "--accept needs a server",
            code="usage",
            exit_code=Exit.USAGE,
            hint=to_type("server pin ID --accept"),
        )
    try:
        # By the digest that was read above: a definition that the server changed meanwhile is not accepted.
        return pins.accept_all(found, by=by)
    except ValueError as problem:
        raise _conflict(str(problem)) from None
    except KeyError as problem:
        raise _conflict(
            f"{spelled(server, problem.args[0])} has been forgotten meanwhile"
        ) from None


@contextmanager
def _store(folder: Path) -> Iterator[Pins]:
    if not has_state(folder):
        raise CliError(
            f"no gateway has seen a tool yet in {folder}",
            code="not_found",
            exit_code=Exit.UNREACHABLE,
            hint=f"the gateway pins what it sees when it first runs: {to_type('serve')}",
        )
    with opened(folder) as state:
        yield Pins(state, clock=time.time)


def _unknown(name: str) -> CliError:
    return CliError(
        f"no gateway has seen a tool {name}",
        code="not_found",
        exit_code=Exit.USAGE,
        hint=f"`{to_type('server pin ID --all')}` shows those that it has seen",
    )


def _show(one: Pin) -> None:
    """What is different, line by line, as it would be read."""
    why = f", {one.why}" if one.why else ""
    note(one_line(f"{spelled(one.server, one.tool)}: {one.standing}{why}"))
    if one.standing != "pinned":
        accepts = to_type(
            "server pin {} {} --accept --digest {}",
            one.server,
            one.tool,
            one.digest[:_DIGEST_CHARS],
        )
        note(f"to accept exactly this: `{accepts}`")
    before, after = _lines(one.pinned), _lines(one.seen)
    if before == after:
        print("\n".join(after))
        return
    for line in difflib.unified_diff(before, after, "accepted", "now", lineterm="", n=2):
        print(line)


def _lines(definition: str) -> list[str]:
    if not definition:
        return []
    # Never read: two numbers may differ by digits that a float does not have.
    text = msgspec.json.format(definition, indent=2)
    return [one_line(line) for line in text.split("\n")]
