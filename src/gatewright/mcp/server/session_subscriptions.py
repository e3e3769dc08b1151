"""`Subscribed`: tracks which resources one client session subscribes to: requested, granted, being ended; whether its limit is reached.

An answer settles its own request and no other: who asks for what it has, and is refused, has it still. A resource that the host wants no
more counts as its own until a request to end it was answered: until then the server may tell of it, and keep it.
"""

from __future__ import annotations

__all__ = ["Subscribed"]


class Subscribed:
    """See the module's text."""

    __slots__ = ("_asked", "_granted", "_leaving")

    def __init__(self) -> None:
        self._granted: set[str] = set()
        self._asked: dict[str, list[bytes]] = {}
        self._leaving: set[str] = set()

    def __contains__(self, uri: object) -> bool:
        return uri in self._granted or uri in self._asked

    def __len__(self) -> int:
        return len(self._granted.union(self._asked, self._leaving))

    def full(self, uri: str, most: int) -> bool:
        """Whether a resource would be one too many."""
        # What is being ended counts: a host that subscribes and unsubscribes in turn could have any number at its server.
        return len(self) >= most and uri not in self and uri not in self._leaving

    def ask(self, uri: str, by: bytes) -> None:
        """A request for a resource has come."""
        self._asked.setdefault(uri, []).append(by)

    def settle(self, uri: str, by: bytes, *, granted: bool) -> None:
        """A request was answered; one after which the host did not want the resource any more changes nothing."""
        asked = self._asked.get(uri, [])
        if by not in asked:
            return
        asked.remove(by)
        if not asked:
            del self._asked[uri]
        if granted:
            self._granted.add(uri)

    def end(self, uri: str) -> None:
        """The host does not want to hear of a resource any more."""
        if uri in self:
            self._leaving.add(uri)
        self._granted.discard(uri)
        self._asked.pop(uri, None)

    def left(self, uri: str) -> None:
        """A request to end it was answered."""
        self._leaving.discard(uri)
