"""ASGI application of an SDK server: checks Host, Origin and token, serves MCP at `/mcp` over Streamable HTTP and WebSocket."""

from __future__ import annotations

from typing import Any

from gatewright.call import Caller, Refusal
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.http_auth import bearer, refuse_caller, refuse_place
from gatewright.mcp.server.http_headers import headers_of
from gatewright.mcp.server.http_request import Connection, HttpRequest, Receive
from gatewright.mcp.server.http_responses import Send, Whole, send_plain
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.server.streamable_http import StreamableHttp
from gatewright.mcp.server.websocket import WebSocketEndpoint

__all__ = ["WebApp"]


class WebApp:
    """See the module's text. Host and Origin are judged first, then who asks."""

    # Asks our HTTP server for `whole`, its own form of the request; others do not know the attribute.
    takes_exchange = True

    def __init__(self, front: ServerContext, guard: Guard, path: str = "/mcp") -> None:
        self._front = front
        self._guard = guard
        self._path = path
        self._streamable = StreamableHttp(front)
        self._websocket = WebSocketEndpoint(front)

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send, whole: Whole | None = None
    ) -> None:
        """One ASGI connection; `whole` is there where our own HTTP server makes the call."""
        if scope["type"] == "http":
            await self._http(Connection(scope, receive, send, whole))
        elif scope["type"] == "websocket":
            await self._upgrade(scope, receive, send)

    async def _http(self, connection: Connection) -> None:
        scope, send = connection.scope, connection.send
        headers = headers_of(scope, connection.whole)
        # First of all: DNS rebinding leads a page of any origin to a local port (MCP, transports).
        flaw = self._guard.refuses(headers.values)
        if flaw:
            await refuse_place(
                send, flaw, "this Host or Origin is not served; see hosts and origins"
            )
            return
        if scope["path"] != self._path:
            text = f"nothing is here; the MCP endpoint is {self._path}\n"
            await send_plain(send, 404, text.encode())
            return
        caller = self._front.identify("http", headers.credential)
        if isinstance(caller, Refusal):
            await refuse_caller(send, caller)
            return
        request = HttpRequest(
            *connection,
            headers,
            caller,
            "",
            self._front.refused,
        )
        await self._streamable(request)

    async def _upgrade(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        credential = bearer(headers)
        flaw = self._guard.refuses_page(headers)
        caller: Caller | Refusal
        if flaw:
            caller = Refusal(flaw, "this Host or Origin is not served")
        elif scope["path"] != self._path:
            caller = Refusal("not_found", f"MCP over WebSocket is at {self._path}")
        else:
            caller = self._front.identify("websocket", credential)
        await self._websocket(
            scope, receive, send, caller=caller, credential=credential, profile=""
        )

    async def close(self) -> None:
        """Tell who listens goodbye, and end every session and connection."""
        for open_ in list(self._front.listening.values()):
            for one in list(open_):
                one.end()
        self._streamable.farewell()
        await self._streamable.sessions.close_all()
        await self._websocket.close()
