"""Sends `list_changed` when grants, expiry or a reload change what a client may see; remembers the last lists of each listener.

What servers change is told as they change it (`hub`), and what another configuration changes is told at once. This is looked at
several times a second and does nothing as long as nobody may see anything else than before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from hashlib import sha256

from gatewright.call import Caller
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.notifications import ANNOUNCED, ServerNotifications
from gatewright.transport.large_text import LARGE
from gatewright.transport.slices import in_slices

__all__ = ["Visibility"]

_Listener = tuple[Caller, str]


class Visibility:
    """`catalogue` gives the present one."""

    def __init__(self, hub: ServerNotifications, catalogue: Callable[[], Catalogue]) -> None:
        self._hub = hub
        self._catalogue = catalogue
        self._shown: dict[_Listener, dict[str, bytes]] = {}
        self._seen: tuple[Hashable, ...] = ()
        self._sight: Hashable = None

    async def look(self) -> None:
        """Tell everybody who may see other things than at the last look."""
        catalogue = self._catalogue()
        audience = self._hub.audience()
        sight = catalogue.sight.version()
        # Before the lists are made: what changes meanwhile is seen at the next look.
        seen = (id(catalogue), catalogue.version, sight)
        # Only where rights changed: what servers change is told by whoever takes their lists.
        tell = self._sight not in (None, sight)
        if seen != self._seen:
            before, self._shown = self._shown, {}
        else:
            before, present = self._shown, set(audience)
            self._shown = {one: shown for one, shown in before.items() if one in present}
        self._seen, self._sight = seen, sight
        for listener in audience:
            if listener in self._shown:
                continue
            if catalogue.sight.version() != sight:
                # The next look takes it from here, and asks what these saw before.
                self._shown = {one: before[one] for one in audience if one in before} | self._shown
                break
            self._shown[listener] = now = await _all_lists(catalogue, *listener)
            if tell:
                self._tell(listener, before.get(listener), now)
            await asyncio.sleep(0)  # calls go before

    async def differences(self, before: Catalogue) -> None:
        """Tell those who listen which of their lists are others than in the catalogue before, with the rights that they had
        then."""
        after = self._catalogue()
        for former, caller, profile in await in_slices(self._hub.renewed()):
            changed = {
                notification
                for method, notification in ANNOUNCED.items()
                if await before.shown(method, profile, former)
                != await after.shown(method, profile, caller)
            }
            self._hub.tell_audience(caller, profile, sorted(changed))
            await asyncio.sleep(0)  # calls go before

    def _tell(
        self, listener: _Listener, before: dict[str, bytes] | None, now: dict[str, bytes]
    ) -> None:
        """Whoever came since the last look may have seen either, and is told of all."""
        changed = {
            ANNOUNCED[method]
            for method, text in now.items()
            if before is None or before[method] != text
        }
        self._hub.tell_audience(*listener, sorted(changed))


async def _all_lists(catalogue: Catalogue, caller: Caller, profile: str) -> dict[str, bytes]:
    """Digests: a text may have megabytes, and each listener would hold its own."""
    return {
        method: await _digest(await catalogue.shown(method, profile, caller))
        for method in ANNOUNCED
    }


async def _digest(text: bytes) -> bytes:
    made = sha256(text) if len(text) <= LARGE else await asyncio.to_thread(sha256, text)
    return made.digest()
