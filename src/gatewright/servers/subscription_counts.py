"""`WishCounts`: refuses resource subscriptions beyond a caller's 1,000 at one server, nameless callers share 10,000; survives reloads.

Callers without a name are told apart by their sessions, which share one room: the more of them there are the less has each, and
whoever has most is the first to get no more.
"""

from __future__ import annotations

from collections.abc import Callable

from gatewright.call import Call, Refusal
from gatewright.servers.resource_subscriptions import SEVERAL

__all__ = ["NAMELESS_LEAST", "NAMELESS_MOST", "WISHES_EACH", "WishCounts"]

WISHES_EACH = 1000
"""How many resources of one server one caller may wait to hear of."""

NAMELESS_MOST = 10_000
"""The room that callers without a name share."""

NAMELESS_LEAST = 16
"""So many each of them may have, however many they are."""

_NAMELESS = "anonymous"

_Party = tuple[str, str]


class WishCounts:
    """Whose each holder is. `number(holder, session)` says how many wishes it has."""

    def __init__(self, number: Callable[[str, str | None], int]) -> None:
        self._number = number
        self._whose: dict[str, tuple[_Party, str | None]] = {}
        self._parties: dict[str, str] = {}
        """With whom servers speak for each (`Call.party`)."""
        self._holders: dict[str, dict[_Party, set[str]]] = {}
        """By kind of caller."""

    def whose(self, holder: str) -> _Party:
        """Whose a holder is; its own where nobody said."""
        found = self._whose.get(holder)
        return ("", holder) if found is None else found[0]

    def party(self, holder: str) -> str:
        """For whom its server speaks of what a holder wants: the session with the limits of whoever asked, `SEVERAL` where those differ;
        itself where nobody said."""
        return self._parties.get(holder, holder)

    def session(self, holder: str) -> str | None:
        """The session in which a holder asked; None where there is none, or nobody said."""
        found = self._whose.get(holder)
        return None if found is None else found[1]

    def refusal(self, call: Call) -> Refusal | None:
        """Why one wish more is too many, where it is."""
        kind, *_ = party = _party_of(call)
        every = self._holders.get(kind, {})
        most = WISHES_EACH
        if kind == _NAMELESS:
            # One more nameless client makes everybody's share smaller: nobody takes the whole room by coming first.
            share = NAMELESS_MOST // max(1, len({*every, party}))
            most = min(most, max(NAMELESS_LEAST, share))
        if sum(map(self._of, every.get(party, ()))) < most:
            return None
        said = f"one caller may wait to hear of at most {most} resources of a server"
        return Refusal("resource_exhausted", said)

    def _of(self, holder: str) -> int:
        return self._number(holder, self._whose[holder][1])

    def add(self, holder: str, call: Call) -> None:
        """A holder asks for something."""
        self._add(holder, _party_of(call), call.session)
        if call.session is not None and call.session == holder:
            before = self._parties.get(holder, call.party)
            self._parties[holder] = call.party if before == call.party else SEVERAL

    def _add(self, holder: str, party: _Party, session: str | None) -> None:
        self._whose[holder] = party, session
        self._holders.setdefault(party[0], {}).setdefault(party, set()).add(holder)

    def settle(self, holder: str) -> None:
        """Something has come of a wish, or it has ended: who has none is not remembered."""
        if holder in self._whose and not self._of(holder):
            self.forget(holder)

    def forget(self, holder: str) -> None:
        """A session or a listening is over."""
        found = self._whose.pop(holder, None)
        self._parties.pop(holder, None)
        if found is None:
            return
        party, _ = found
        every = self._holders[party[0]]
        every[party].remove(holder)
        if not every[party]:
            del every[party]

    def follow(self, before: WishCounts) -> None:
        """Know what is known of the server in whose place this one is."""
        for holder, found in before._whose.items():
            self._add(holder, *found)
        self._parties |= before._parties


def _party_of(call: Call) -> _Party:
    """For whom wishes are counted."""
    kind, ident = call.caller.who
    return (kind, call.session or call.holder or "") if kind == _NAMELESS else (kind, ident)
