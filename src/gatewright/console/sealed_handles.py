"""`SealedHandles`: signed, unencrypted, single-use state in a browser's cookie, and secrets derived from it; the server stores used ones only."""

from __future__ import annotations

import heapq
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from secrets import token_bytes, token_urlsafe
from urllib.parse import parse_qsl, urlencode

__all__ = ["SealedHandles"]

_USED = 10_000
"""So many of those that were used are remembered at most; while there are so many whose time lasts, none is good."""
_FIELDS = 20


class SealedHandles:
    """Of one process: another one, or the next, opens none of them. What a handle says can be read by whoever has it."""

    def __init__(self, clock: Callable[[], float], lasts_s: float) -> None:
        """`clock` gives Unix seconds; a handle is good for `lasts_s` seconds."""
        self._clock = clock
        self._lasts_s = lasts_s
        self._key = token_bytes(32)
        self._used: set[str] = set()
        """Seals of those that were used up and whose time lasts."""
        self._held: set[str] = set()
        """Of those that somebody uses now."""
        self._ends: list[tuple[float, str]] = []
        """A heap: when the time of each of them is over."""

    def made(self, said: Mapping[str, str]) -> str:
        """A new one, of letters, digits, `-`, `_` and `.`."""
        until = self._clock() + self._lasts_s
        text = urlencode({**said, "": f"{token_urlsafe(16)} {until!r}"})
        body = urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return f"{body}.{self.secret('seal', body)}"

    def secret(self, of: str, handle: str) -> str:
        """A secret of a handle, of 43 letters, digits, `-` and `_`, that does not follow from it: another one for each `of`."""
        digest = hmac.digest(self._key, f"{of}\n{handle}".encode("utf-8", "replace"), "sha256")
        return urlsafe_b64encode(digest).decode().rstrip("=")

    def read(self, handle: str) -> Mapping[str, str] | None:
        """What it says, which does not use it up; None for one that is none, is over or was used already, and while too many were."""
        found = self._read(handle)
        return None if found is None else found[0]

    @contextmanager
    def using(self, handle: str) -> Iterator[Callable[[], None]]:
        """While inside nobody else uses it; what is given uses it up. Raises `KeyError` for one that cannot be used: also while somebody
        does."""
        found = self._read(handle)
        if found is None:
            raise KeyError(handle)
        _, seal, until = found

        def use_up() -> None:
            self._used.add(seal)
            heapq.heappush(self._ends, (until, seal))

        self._held.add(seal)
        try:
            yield use_up
        finally:
            self._held.discard(seal)

    def _read(self, handle: str) -> tuple[Mapping[str, str], str, float] | None:
        body, _, seal = handle.partition(".")
        if not hmac.compare_digest(
            seal.encode("utf-8", "replace"), self.secret("seal", body).encode()
        ):
            return None
        text = urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()
        said = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS))
        now, until = self._clock(), float(said.pop("").rpartition(" ")[2])
        while self._ends and now >= self._ends[0][0]:
            self._used.discard(heapq.heappop(self._ends)[1])
        # None is forgotten before its time: it would open a second time.
        full = len(self._used) + len(self._held) >= _USED
        if seal in self._used or seal in self._held or now >= until or full:
            return None
        return said, seal, until
