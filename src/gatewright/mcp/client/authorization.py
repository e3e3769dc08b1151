"""Interface through which an HTTP client connection gets its OAuth token and reports `WWW-Authenticate` challenges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gatewright.mcp.client.link import ServerFailed

__all__ = ["Authorizer", "NotAuthorized"]


class NotAuthorized(ServerFailed):
    """The server wants authorization that there is not. The text says what to do. `altogether` is
    False where only this request needs more than there is."""

    def __init__(self, text: str, *, altogether: bool = True) -> None:
        super().__init__(text)
        self.altogether = altogether


class Authorizer(Protocol):
    """Where a client connection gets its token. One for each tool server, shared by its connections."""

    async def authorization(self) -> str | None:
        """The value of `Authorization` for the next request, or None for none."""

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """A request was answered with `status`. True: send it again, with what `authorization`
        gives now. False: the status is none of our business. `turn` counts from 0 for each request,
        `challenges` are its `WWW-Authenticate` headers, `used` is what it carried.

        A 401 or 403 was not processed, so a request may be repeated, unless it is answered in the same breath: then what is
        returned does not count, and the token is for later ones. Raises `NotAuthorized`.
        """
