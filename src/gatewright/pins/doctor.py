"""`gatewright doctor` check: tools held back until an operator accepts their definition, one finding a server."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gatewright.cli.finding import Finding
from gatewright.cli.output import one_line
from gatewright.cli.state_access import seen
from gatewright.config import Settings
from gatewright.pins.store import Pin, Pins
from gatewright.servers.commands.held_tools import accepting, counted
from gatewright.storage.errors import StoreError

__all__ = ["check_pins"]

_NAMED = 5
_NAME_CHARS = 60


def check_pins(settings: Settings) -> Iterator[Finding]:
    """What is held back of each configured server, as the last gateway that ran here has left it. Nothing where pins are off."""
    folder = settings.storage.path
    try:
        with seen(folder) as state:
            found = Pins(state, clock=time.time).of()
    except StoreError:  # `check_store` says so
        return
    for server in settings.servers:
        held = [one for one in found if one.server == server.id and one.standing != "pinned"]
        if held and server.pin != "off":
            yield Finding(
                check="server",
                subject=server.id,
                level="warning",
                what=f"{counted(len(held), 'held_back')}: nobody sees or calls {'it' if len(held) == 1 else 'them'}",
                why=_which(held),
                fix=accepting(server.id),
            )


def _which(held: list[Pin]) -> str:
    shown = [
        f"{one_line(one.tool[:_NAME_CHARS])} ({one.standing}{one_line(f', {one.why}' if one.why else '')})"
        for one in held[:_NAMED]
    ]
    more = [f"{len(held) - _NAMED} more"] if len(held) > _NAMED else []
    return ", ".join([*shown, *more])
