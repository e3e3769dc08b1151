"""`gatewright policy simulate FILE`: judges recorded calls by a changed configuration's access rules; lists decisions that differ."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gatewright.access.commands.grant import words_of
from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.timestamps import ago
from gatewright.config import load
from gatewright.timestamps import as_recorded

if TYPE_CHECKING:
    from gatewright.access.simulate import Finding, Simulation

__all__ = ["simulated"]

_COLUMNS = ("agent", "server", "tool", "calls", "was", "now", "why")


def simulated(  # noqa: PLR0917 - one argument for each option
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The changed configuration.", exists=True)
    ],
    since: Annotated[
        str | None, typer.Option("--since", help="Calls not before: 2h, 7d ago, or a date.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="The last so many records, at most.")
    ] = 100_000,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what would stay as it was.")
    ] = False,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Replay recorded calls on a changed configuration; show what would now be allowed or refused.

    Arguments are not on record, so access is judged and nothing that depends on them.
    Columns: agent, server, tool, calls, was, now, why.
    """
    # Only who simulates pays for the gates.
    from gatewright.access.simulate import JUDGED, simulate  # noqa: PLC0415
    from gatewright.pipeline import Gates  # noqa: PLC0415

    running = load(config)
    folder = running.storage.path
    require_operator(running, key)
    asked = Query(
        since=None if since is None else as_recorded(ago(since, time.time())), limit=limit
    )
    # Those of the running configuration's files are what is to be changed; what operators issued stays.
    issued = [word.grant for word in words_of(running) if word.origin == "issued"]
    found = simulate(load(file), issued, AuditReader(folder).query(asked))
    not_judged = [name for name in Gates._fields if name not in JUDGED]
    shown = [one for one in found.findings if everything or one.was != one.now]
    if json:
        print_document(
            {
                "judged": found.judged,
                "unjudged": found.unjudged,
                "not_judged_gates": not_judged,
                "findings": shown,
            }
        )
        return
    print_rows(_COLUMNS, [_row(one) for one in shown])
    _sum_up(found, shown)
    note(f"not judged, because what they go by is not on record: {', '.join(not_judged)}")


def _row(one: Finding) -> tuple[object, ...]:
    return one.agent, one.server, one.tool, one.calls, one.was, one.now, one.why


def _sum_up(found: Simulation, shown: Sequence[Finding]) -> None:
    lost = sum(one.calls for one in shown if (one.was, one.now) == ("allowed", "refused"))
    won = sum(one.calls for one in shown if (one.was, one.now) == ("refused", "allowed"))
    note(
        f"of {found.judged} calls {lost} would now be refused and {won} now be allowed; "
        f"{found.unjudged} cannot be judged"
    )
