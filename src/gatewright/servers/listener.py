"""`Listener`: a client session or `subscriptions/listen` that takes notifications, its caller with present rights, and what it may own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from gatewright.call import Caller, Refusal, Who
from gatewright.servers.task_owners import Owner, place_of

__all__ = ["OPERATORS", "Listener", "Still", "Take"]

log = logging.getLogger("gatewright.servers")

OPERATORS = "operators"
"""Those who hear of all that is recorded."""

Take = Callable[[str, str, dict[str, Any]], None]
"""Server id, method and params of one notification. Must not block, and must not change `params`."""

Still = Callable[[], Caller | Refusal]
"""Who somebody is now, or why nobody any more."""


class Listener(msgspec.Struct, eq=False):
    """Somebody who wants to hear things. `audit`: also what is recorded about them (MGP §6)."""

    caller: Caller
    """As whom they were shown what they know."""
    profile: str
    session: str | None
    take: Take
    audit: bool = False
    door: str = ""
    holder: str | None = None
    """For whom the resources are kept that they subscribed to; else the session."""
    still: Still | None = None
    """Who they are now; else the same as ever."""

    def now(self) -> Caller | None:
        """As whom they hear things from now on: with the rights that they have today. None where they are nobody any more."""
        found = self.caller if self.still is None else self.still()
        return found if isinstance(found, Caller) and found.who == self.caller.who else None

    def hears(self) -> tuple[Who | str, ...]:
        """Of whose records they may want to know: by whose they are, as an `OPERATORS`, and who has no name by session."""
        who = self.caller.who
        if not self.audit:
            return ()
        if self.caller.kind == "anonymous":  # who may be anybody
            return (self.session,) if self.session else ()
        return (who, OPERATORS) if self.caller.kind == "operator" else (who,)

    def owns(self, owner: Owner) -> bool:
        """Whether what has this owner is theirs."""
        kind, id, place = owner
        who = self.caller
        if who.who != (kind, id):
            return False
        return place_of(who, self.door, self.profile, self.session) == place

    def tell(self, server: str, method: str, params: dict[str, Any]) -> None:
        """Tell them. Never raises: the others are told in any case."""
        try:
            self.take(server, method, params)
        except Exception:
            log.exception("a listener failed to take %s of server %s", method, server)
