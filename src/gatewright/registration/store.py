"""`KeptServers`: stores persistent registered servers, and the owners of up to 1000 server ids, in the state database."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gatewright.call import Who
from gatewright.registration.registered import Registered
from gatewright.storage.documents import Documents
from gatewright.storage.errors import StoreError
from gatewright.storage.state import StateDatabase

__all__ = ["MOST_IDS", "Kept", "KeptServers"]

MOST_IDS = 1000
"""So many ids are remembered with who had them; then the oldest of whoever needs another one is forgotten."""


class Kept(msgspec.Struct, frozen=True):
    """What is known of one id: whose it is, and the server where it is there after a restart as well."""

    kind: str
    by: str
    server: Registered | None = None

    @property
    def who(self) -> Who:
        """Whose id it is."""
        return self.kind, self.by


class KeptServers:
    """Those in one state database. Only the running gateway writes them."""

    def __init__(
        self,
        state: StateDatabase,
        most: int = MOST_IDS,
        forgotten: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`forgotten` hears of each id that nobody is known to have had any more. Raises `StoreError`."""
        self._documents = Documents(state.section("servers", "the registered servers"))
        self._most, self._forgotten = most, forgotten
        try:
            self._kept = {
                name: msgspec.json.decode(body, type=Kept)
                for name, body in self._documents.all().items()
            }
        except msgspec.MsgspecError as problem:
            raise StoreError(f"a registered server cannot be read: {problem}") from problem

    @property
    def servers(self) -> list[Registered]:
        """Those that are there after a restart, in the order in which they came."""
        return [one.server for one in self._kept.values() if one.server is not None]

    def owner(self, server: str) -> Who | None:
        """Who has, or had last, a server of this id; None where nobody is known to."""
        found = self._kept.get(server)
        return None if found is None else found.who

    def named(self) -> dict[str, Who]:
        """Every id that is remembered, with whose it is."""
        return {name: one.who for name, one in self._kept.items()}

    def put(self, server: str, kept: Kept) -> None:
        """Keep what is known of an id. Raises `StoreError`, and then nothing has changed."""
        if self._kept.get(server) == kept:
            return
        rest = {name: one for name, one in self._kept.items() if name != server}
        gone = [name for name, one in rest.items() if one.server is None]
        # Its own first: nobody has another's id forgotten by using up ever new ones.
        gone.sort(key=lambda name: rest[name].who != kept.who)
        over = len(rest) + 1 - self._most
        if over > 0:
            for name in gone[:over]:
                del rest[name]
            now = {**rest, server: kept}
            self._documents.replace({name: _text(one) for name, one in now.items()})
            self._kept = now
            for name in gone[:over]:
                self._forgotten(name)
            return
        self._documents.put(server, _text(kept))
        self._kept = {**rest, server: kept}


def _text(kept: Kept) -> str:
    return msgspec.json.encode(kept).decode()
