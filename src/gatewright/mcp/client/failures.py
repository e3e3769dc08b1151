"""`ServerFailed` and its kinds: what the gateway itself asked of a tool server did not come, was refused, or is too long to be read."""

from __future__ import annotations

from gatewright.mcp.protocol.mcp_client import code_of

__all__ = ["AnswerTooLong", "LinkClosed", "ServerFailed", "ServerRefused"]


class ServerFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """What the gateway itself asked for did not come. The text says why."""


class ServerRefused(ServerFailed):
    """The server said no to it, with this `error`, whose `code` counts however long it is."""

    def __init__(self, what: str, error: bytes) -> None:
        super().__init__(what + error[:500].decode(errors="replace"))
        self.code = code_of(error)


class LinkClosed(ServerFailed):
    """The connection ended before or while it was made."""


class AnswerTooLong(ServerFailed):
    """The server answered, and more than is read of such an answer."""
