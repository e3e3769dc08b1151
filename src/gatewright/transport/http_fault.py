"""Exception of a failed HTTP client request, internal to the client; `http_client` turns it into its public errors."""

from __future__ import annotations

from typing import Literal

__all__ = ["Fault", "FaultKind"]

FaultKind = Literal["unreachable", "broken", "bad", "too large"]


class Fault(Exception):  # noqa: N818 - the server's, mostly
    """No usable answer. `kind` says which of the errors of `http_client` it is, whose text and `not_sent` these are; `here` where the trouble is on
    this side of the network, and says nothing of the server."""

    def __init__(
        self, kind: FaultKind, text: str, *, not_sent: bool | None = False, here: bool = False
    ) -> None:
        super().__init__(text)
        self.kind: FaultKind = kind
        self.not_sent = not_sent
        self.here = here
