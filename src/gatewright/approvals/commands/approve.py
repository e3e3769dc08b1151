"""`gatewright approve`: lists or watches pending requests; approves one (for a time, for any or edited arguments), or asks about each.

Straight in the store: a running gateway notices within a second, and a call that waits goes on. A decision is
an operator's: see `cli.operators`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from gatewright.approvals.request import Approval, CannotDecideError, Scope, Voter
from gatewright.approvals.store import Approvals
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.operators import require_caller
from gatewright.cli.options import Config, Json, KeyText, group
from gatewright.cli.output import (
    is_terminal,
    note,
    one_line,
    print_document,
    print_json,
    print_rows,
    visible,
)
from gatewright.cli.running import settings_here
from gatewright.cli.state_access import has_state
from gatewright.cli.state_access import opened as opened_state
from gatewright.cli.timestamps import ahead
from gatewright.cli.tool_names import spelled
from gatewright.command_text import to_type
from gatewright.timestamps import as_shown

__all__ = ["Queue", "app", "approve", "decision", "opened"]

app = group("Say yes to what waits for a person.")

LOOK_S = 0.5
"""How often `--watch` looks."""

_COLUMNS = ("id", "agent", "tool", "risk", "since", "ends", "arguments")
_SHOWN = 60
_DIGEST = 16
"""So many characters of a digest are shown, and so many say which arguments are meant."""


class Queue(NamedTuple):
    """The store, and who decides."""

    store: Approvals
    by: Voter


@app.command()
def approve(  # noqa: PLR0913, PLR0917 - one argument for each option
    id: Annotated[
        str | None, typer.Argument(metavar="ID", help="One request; without it, all that wait.")
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Not once but for so long: 10m, 1h, 7d."),
    ] = None,
    any_arguments: Annotated[
        bool, typer.Option("--any-arguments", help="With --for: whatever the arguments are.")
    ] = False,
    arguments: Annotated[
        str | None,
        typer.Option("--arguments", metavar="JSON", help="Run it with these arguments instead."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option("--digest", metavar="SHA-256", help="Only with the arguments of this digest."),
    ] = None,
    comment: Annotated[str, typer.Option("--comment", help="For the record.")] = "",
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and ask about each new request.")
    ] = False,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Approve one request, or show what waits; at a terminal, decide on it one by one.

    One approval lets exactly this call pass, once, unless --for says otherwise. With --arguments another call runs in
    its place: it is judged like any other, and the record has both.
    """
    if any_arguments and for_ is None:
        raise _misuse("--any-arguments needs --for: an approval without an end is a grant")
    with opened(config, key) as queue:
        if id is not None:
            # A yes to any arguments, or to new ones, is to nothing that was shown.
            seen = None if any_arguments or arguments else _looked_at(queue.store, id, digest)
            scope: Scope = "once" if for_ is None else "tool" if any_arguments else "arguments"
            lasts_s = None if for_ is None else ahead(for_, now := time.time()) - now
            decided = decision(
                lambda: queue.store.approve(
                    id,
                    by=queue.by,
                    scope=scope,
                    lasts_s=lasts_s,
                    comment=comment,
                    edited=arguments or "",
                    seen=seen,
                )
            )
            _tell(queue.store, decided, json=json)
        elif watch:
            _watch(queue, json=json)
        elif json or not is_terminal(0):
            _show(queue.store.waiting(), json=json)
        else:
            _ask_all(queue, queue.store.waiting())


def _looked_at(store: Approvals, id: str, digest: str | None) -> str | None:
    """The arguments that a yes is to, as they are shown; None where nothing waits under that id.

    Raises `CliError` where they are not those of the digest, or nobody could look at all of them and no digest
    says that they are known.
    """
    one = store.get(id)
    if one is None:
        return None
    if digest is None and one.unseen:
        raise CliError(
            f"{id} is not approved: {one.unseen}",
            code="not_shown",
            exit_code=Exit.DENIED,
            hint=f"if you know them all, say so with --digest {one.runs[:_DIGEST]}",
        )
    if digest is not None and (len(digest) < _DIGEST or not one.runs.startswith(digest.lower())):
        raise CliError(
            f"{id} is not approved: its arguments have the digest {one.runs[:_DIGEST]}, not {digest[:64]}",
            code="not_shown",
            exit_code=Exit.DENIED,
            hint=f"look at it again: `{to_type('approve --json')}` shows its arguments",
        )
    return one.arguments


@contextmanager
def opened(config: Path | None, key: str | None) -> Iterator[Queue]:
    """The queue of the configured gateway, for an operator. Raises `CliError`."""
    settings = settings_here(config)
    folder = settings.storage.path
    if not has_state(folder):
        raise CliError(
            f"nothing has ever waited for a person in {folder}",
            code="not_found",
            exit_code=Exit.UNREACHABLE,
            hint=f"the gateway makes the queue when it first runs: {to_type('serve')}",
        )
    who = require_caller(settings, key)
    with opened_state(folder) as state:
        yield Queue(
            Approvals(state, clock=time.time, random=os.urandom), Voter(who.id, who.key_id or "")
        )


def decision(decide: Callable[[], Approval]) -> Approval:
    """What came of a decision, with what cannot be said as an error of the command."""
    try:
        return decide()
    except CannotDecideError as problem:
        denied = problem.why in ("own", "voted", "keyless")
        raise CliError(
            str(problem),
            code="permission_denied" if denied else "not_found",
            exit_code=Exit.DENIED if denied else Exit.USAGE,
            hint=f"`{to_type('approve')}` shows what waits",
        ) from None
    except ValueError as problem:
        raise _misuse(str(problem)) from None


def _tell(store: Approvals, decided: Approval, *, json: bool) -> None:
    if json:
        print_document(decided)
        return
    if decided.state == "pending":
        note(f"{decided.id} has your yes; it needs {decided.quorum} operators")
        for line in _voted(store, decided):
            note(one_line(line))
    else:
        note(one_line(f"{decided.id} is {decided.state}: {decided.who} may {decided.wish}"))
    if decided.scope == "tool":
        note("  arguments  any")
        return
    for line in _exactly(decided):
        note(one_line(line))


# -- the queue ----------------------------------------------------------------------------------------


def _show(waiting: list[Approval], *, json: bool) -> None:
    if json:
        print_document(waiting)
        return
    print_rows(_COLUMNS, [_row(one) for one in waiting])
    if not waiting:
        note("nothing waits")


def _row(one: Approval) -> tuple[str, ...]:
    arguments = one.arguments if len(one.arguments) <= _SHOWN else one.arguments[:_SHOWN] + "…"
    name = spelled(one.server, one.tool)
    if one.kind == "server":
        name, arguments = f"permission {one.tool}", ""
    return (
        one.id,
        one.agent,
        name,
        one.risk,
        as_shown(one.requested),
        as_shown(one.expires),
        arguments,
    )


def _ask_all(queue: Queue, waiting: list[Approval]) -> None:
    for number, one in enumerate(waiting, 1):
        if not _ask(queue, one, f"{number} of {len(waiting)}"):
            return
    if not waiting:
        note("nothing waits")


def _ask(queue: Queue, one: Approval, place: str) -> bool:
    """Put one request to the person at the terminal. False where they had enough."""
    lines = (
        "",
        f"{one.id}  ({place})",
        f"  {one.who} wants to {one.wish}: {one.reason}. Risk: {one.risk}.",
        *_exactly(one),
        *_voted(queue.store, one),
        f"  since      {as_shown(one.requested)}, ends {as_shown(one.expires)}",
    )
    for line in lines:
        note(one_line(line))
    what = "this permission" if one.kind == "server" else "this call once"
    may = "" if one.unseen else "[y]es, "
    while True:
        try:
            said = input(f"approve {what}? {may}[n]o, [s]kip, [q]uit: ")
        except EOFError:  # Ctrl-D: no word about it
            note("")
            return False
        answer = said.strip().lower()[:1]
        if answer == "y" and not may:
            known = to_type("approve {} --digest {}", one.id, one.runs[:_DIGEST])
            note(f"nobody was shown all of its arguments; who knows them says so with `{known}`")
        elif answer in {"y", "n"}:
            _decide(queue, one, yes=answer == "y")
            return True
        if answer in {"s", "q"}:
            return answer == "s"


def _decide(queue: Queue, one: Approval, *, yes: bool) -> None:
    """Do what the person said, and say what came of it."""
    store = queue.store
    try:
        if yes:
            decided = store.approve(one.id, by=queue.by, seen=one.arguments)
        else:
            decided = store.deny(one.id, by=queue.by.name)
        note(f"{one.id} is {decided.state}")
    except CannotDecideError as problem:
        note(visible(str(problem)))


def _exactly(one: Approval) -> tuple[str, ...]:
    """What an approval is bound to, where that is more than a name."""
    if one.kind == "server":
        return ()
    unseen = (f"  NOT SHOWN  {one.unseen}",) if one.unseen else ()
    return f"  arguments  {one.arguments}", f"  SHA-256    {one.runs[:_DIGEST]}", *unseen


def _voted(store: Approvals, one: Approval) -> list[str]:
    """Who has said yes, where several have to."""
    if one.quorum < 2:
        return []
    counted, dropped = store.votes(one.id)
    found = [f"  votes      {len(counted)} of {one.quorum}: {', '.join(counted)}".rstrip(": ")]
    if dropped:
        why = "no longer counted, as their keys have ended"
        found.append(f"             {why}: {', '.join(dropped)}")
    return found


def _watch(queue: Queue, *, json: bool) -> None:
    """Every request, as it comes, until somebody interrupts."""
    seen: set[str] = set()
    if not json:
        note("waiting for requests; Ctrl-C ends it")
    while True:
        for one in queue.store.waiting():
            if one.id in seen:
                continue
            seen.add(one.id)
            if json:
                print_json(msgspec.json.encode(one))
            elif is_terminal(0):
                if not _ask(queue, one, "new"):
                    return
            else:
                print_rows(_COLUMNS, [_row(one)])
        time.sleep(LOOK_S)


def _misuse(text: str) -> CliError:
    return CliError(text, code="usage", exit_code=Exit.USAGE, hint=to_type("approve --help"))
