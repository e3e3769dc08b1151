"""`gatewright deny ID`: denies a pending approval request, or withdraws an approval that was not used yet."""

from __future__ import annotations

from typing import Annotated

import typer

from gatewright.approvals.commands.approve import decision, opened
from gatewright.cli.options import Config, Json, KeyText, group
from gatewright.cli.output import note, print_document

__all__ = ["app", "deny"]

app = group("Say no to what waits for a person.")


@app.command()
def deny(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `gatewright approve` shows it.")],
    reason: Annotated[
        str, typer.Option("--reason", help="For the caller and for the record.")
    ] = "",
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Refuse a request. The same call is not put to anybody again before the request would have ended."""
    with opened(config, key) as queue:
        decided = decision(lambda: queue.store.deny(id, by=queue.by.name, comment=reason))
    if json:
        print_document(decided)
    else:
        note(f"{decided.id} is denied")
