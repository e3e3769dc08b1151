"""OAuth protected resource (RFC 9728): metadata document of each endpoint, token audience check, and challenge headers.

A client without a token is refused with the place of a document (RFC 9728) that names the resource and who
gives out tokens for it; a client whose token is not enough, with the scopes that would be. Every endpoint is a
resource of its own below the gateway's public URL: a token that was made for `…/mcp/reader` opens that
profile and nothing else, one for `…/mcp` opens what stands below it (and not `/rpc`, `/tools` or `/sse`), and one for the URL itself
every endpoint. `/messages` is where a client of `/sse` posts, and takes the tokens of that.

Source: MCP 2025-11-25 and 2026-07-28, basic/authorization; RFC 9728, 8707, 6750.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from gatewright.call import Refusal
from gatewright.mcp.server.http_responses import Send
from gatewright.mcp.wire import jsonrpc

__all__ = ["WELL_KNOWN", "Bearers", "Protected"]

WELL_KNOWN = "/.well-known/oauth-protected-resource"

_POSTED = {"/messages": "/sse"}
"""Endpoints that are a part of another one."""

_UNAUTHORIZED, _FORBIDDEN = 401, 403
_OURS = ("gw_", "gwt_")
"""How credentials of our own making begin. They are nobody else's tokens, so nobody is asked about them."""


class Bearers(Protocol):
    """Who knows tokens that somebody else gave out."""

    async def look(self, credential: str, places: Iterable[str] | None = None) -> Refusal | None:
        """Why a token lets nobody in, or not at these resources; None where it does."""


class Protected:
    """See the module's text. `base` is the public URL of the gateway, without a path of its own."""

    def __init__(
        self,
        base: str,
        bearers: Bearers,
        *,
        name: str,
        issuers: Sequence[str],
        required: Sequence[str] = (),
        scopes: Sequence[str] = (),
    ) -> None:
        """`issuers` are the authorization servers, `required` the scopes without which no token is enough,
        `scopes` all that mean something here."""
        self._base = base.rstrip("/")
        self._bearers = bearers
        self._published: dict[str, Any] = {
            "resource": "",
            "resource_name": name,
            "authorization_servers": list(issuers),
            "bearer_methods_supported": ["header"],
            **({"scopes_supported": list(scopes)} if scopes else {}),
        }
        self._scope = f', scope="{" ".join(required)}"'.encode() if required else b""

    def is_foreign(self, credential: str) -> bool:
        """Whether a credential may be somebody else's token."""
        return not credential.startswith(_OURS)

    async def look(self, credential: str, path: str) -> Refusal | None:
        """Why a token lets nobody in at this path; None where it does."""
        return await self._bearers.look(credential, self._places(path))

    def document(self, path: str) -> bytes:
        """What is published about the resource with this path; of the empty one, about all of them."""
        return jsonrpc.encode({**self._published, "resource": self._base + path})

    def telling(self, send: Send, path: str) -> Send:
        """The same way back, with the place of the document in each challenge that goes it."""

        # Challenges are made where nobody knows the path (`http_responses.challenge`); it is added as they leave.
        async def tell(message: dict[str, Any]) -> None:
            status = message.get("status")
            if status in (_UNAUTHORIZED, _FORBIDDEN) and message["type"].endswith("response.start"):
                message["headers"] = [
                    (
                        name,
                        self._told(value, path, status) if name == b"www-authenticate" else value,
                    )
                    for name, value in message.get("headers", ())
                ]
            await send(message)

        return tell

    def _told(self, challenge: bytes, path: str, status: int) -> bytes:
        place = f', resource_metadata="{self._base}{WELL_KNOWN}{path}"'.encode()
        return challenge + place + (self._scope if status == _UNAUTHORIZED else b"")

    def _places(self, path: str) -> list[str]:
        """The resources that a request to this path is for: its own, and those above it."""
        above = "/" + path[1:].partition("/")[0]
        # An audience has to equal one of these: a token for one profile is none for `/mcp`, and one for `/mcp` none for `/rpc` (RFC 8707).
        return [
            self._base,
            *(f"{self._base}{one}" for one in (above, path, _POSTED.get(path, path))),
        ]
