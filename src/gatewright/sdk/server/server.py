"""`Server`: an MCP server of Python functions, all revisions and MGP: on stdio or HTTP, as an ASGI app, or in memory for a client.

    server = Server("weather")

    @server.tool
    def forecast(city: str) -> str:
        \"\"\"Tomorrow's weather.\"\"\"
        return f"{city}: sunny"

    server.run()                        # stdio, for whoever starts the program
    server.run_http(port=8000)          # or http://127.0.0.1:8000/mcp

What is checked (arguments, output, time limits, the trust gateway) is checked by the registry, whichever way a call comes. Plain
functions run in threads, coroutine functions on the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, Unpack, overload

from gatewright.call import ANONYMOUS, Caller, Refusal
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.protocol.request_state import Sealer
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire.methods import flaw_of
from gatewright.sdk.capabilities import ServerCapabilities, server_capabilities
from gatewright.sdk.decorator import Declaration, mcp_tool
from gatewright.sdk.errors import RegistrationError
from gatewright.sdk.registry import REGISTRY, Registry
from gatewright.sdk.server.handler import Handler, Method
from gatewright.sdk.server.resources_and_prompts import Offers
from gatewright.sdk.server.served_registry import ServedRegistry
from gatewright.transport.base import FROM_SERVERS, Limits, Pipe, Receiver

__all__ = ["MGP_EXTENSIONS", "Served", "Server", "serve"]

F = TypeVar("F", bound=Callable[..., Any])

MGP_EXTENSIONS = ("security", "streaming")
"""What a server made with the SDK does of MGP by itself: negotiation and security metadata (MGP §8.1), streams (§12)."""

STOP_S = 5.0
"""How long requests may go on when an HTTP server is told to stop."""

_LOCAL = Caller("local", "owner")
_OWNED = ("stdio", "memory")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Server:
    """See the module's text.

    `registry` holds the tools; a new one where none is given. `instructions` tell a model how to use the server. `face` says what is
    offered of MGP, and as whom. `tokens` are bearer tokens and the caller that each stands for; without any, HTTP callers are
    anonymous. `clock` gives monotonic seconds, for what resources say of their age.
    """

    def __init__(
        self,
        name: str = "gatewright-server",
        version: str = "1.0.0",
        *,
        registry: Registry | None = None,
        instructions: str = "",
        face: Face | None = None,
        tokens: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.version = version
        self.registry = registry if registry is not None else Registry(name)
        self._methods: dict[str, Method] = {}
        self._tokens = dict(tokens or {})
        self._heard: Callable[[str, dict[str, Any], str], None] | None = None
        self._offers = Offers(self._changed, clock)
        self._handler = Handler(self.registry, self._offers, self._methods, self._notified)
        self._behind = ServedRegistry(self.registry, self._capabilities, instructions)
        self._front = ServerContext(
            kernel=self._handler,
            upstream=self._behind,
            identify=self._identify,
            face=face or Face(MGP_EXTENSIONS),
            info={"name": name, "version": version},
            # A new key with each start: no state of a request outlives the process that issued it.
            sealer=Sealer(os.urandom(32)),
            counts=self._counts,
        )
        self.registry.subscribe(self._tools_changed)

    # -- offering

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, /, **options: Unpack[Declaration]) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """`@server.tool` or `@server.tool(destructive=True)`: as `mcp_tool`, in this server's registry, and named as the function is
        unless `name` or `prefix` says otherwise. Raises `RegistrationError`."""
        options.setdefault("prefix", "")
        decorate = mcp_tool(registry=self.registry, **options)
        return decorate if function is None else decorate(function)

    def resource(
        self,
        uri: str,
        *,
        name: str = "",
        description: str = "",
        mime_type: str = "",
        ttl_s: float = 0.0,
    ) -> Callable[[F], F]:
        """`@server.resource("config://app")`, or a template as `user://{id}`. What the function returns holds for `ttl_s` seconds: it
        is not called again before, and callers are told. Raises `RegistrationError`."""

        def register(function: F) -> F:
            self._offers.add_resource(
                function,
                uri,
                name=name,
                description=description,
                mime_type=mime_type,
                ttl_s=ttl_s,
            )
            return function

        return register

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(
        self, /, *, name: str = "", title: str = "", description: str = ""
    ) -> Callable[[F], F]: ...

    def prompt(
        self, function: Any = None, /, *, name: str = "", title: str = "", description: str = ""
    ) -> Any:
        """`@server.prompt`: the parameters are the prompt's arguments, and what is returned its messages: a text, a content block,
        or a list of them and of `{"role": …, "content": …}`. Raises `RegistrationError`."""

        def register(target: F) -> F:
            self._offers.add_prompt(target, name=name, title=title, description=description)
            return target

        return register if function is None else register(function)

    def completion(self, of: str, argument: str) -> Callable[[F], F]:
        """`@server.completion("greet", "name")`: the function takes the text typed so far, and perhaps the arguments settled
        already, and returns proposals. `of` is a prompt's name or a template's URI."""

        def register(function: F) -> F:
            self._offers.completions[of, argument] = function
            return function

        return register

    def method(self, name: str) -> Callable[[F], F]:
        """`@server.method("com.example/thing")`: a method of one's own; the function takes `params` and the context and returns the
        result object. Raises `RegistrationError` for a name that MCP has taken."""

        def register(function: F) -> F:
            if name in self._methods or name.partition("/")[0] in _TAKEN or flaw_of(name):
                raise RegistrationError(
                    f"{name} is no method to give out{_because(flaw_of(name))}",
                    advice="Choose another name",
                )
            self._methods[name] = function
            return function

        return register

    def remove(self, name: str) -> None:
        """Offer a prompt (by name) or a resource (by URI) no more; tools go with `registry.unregister`."""
        self._offers.remove(name)

    def resource_changed(self, uri: str) -> None:
        """Tell who subscribed that a resource is not what it was. Any thread may."""
        self._offers.stale(uri)
        self._behind.tell("notifications/resources/updated", {"uri": uri})

    def on_notification(self, take: Callable[[str, dict[str, Any], str], None]) -> None:
        """Have `take` told of clients' notifications: method, params and who."""
        self._heard = take

    # -- serving

    def run(self) -> None:
        """Serve whoever started this program, over standard input and output, until they close it. What is printed goes to
        standard error."""
        _run(self.serve_stdio())

    def run_http(self, host: str = "127.0.0.1", port: int = 8000, **options: Any) -> None:
        """Serve at `http://host:port/mcp` until SIGINT or SIGTERM. Options as for `serve_http`."""
        _run(self._until_told(host, port, options))

    async def serve_stdio(self) -> str:
        """The same as `run` on a loop that runs already; returns why it ended."""
        from gatewright.mcp.server.stdio import serve_stdio

        return await serve_stdio(self._front)

    async def serve_http(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        hosts: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        certificate: str | None = None,
        key: str | None = None,
        anonymous: bool = False,
    ) -> Served:
        """Listen, and return at once. Port 0 takes a free one. `hosts` and `origins` are allowed besides this machine's own names
        (a page of another origin must not reach a local port). `certificate` and `key` are PEM files.

        Raises `ValueError` for an address that others can reach while callers need no token; `anonymous=True` says
        that this is meant. Raises `OSError` where nobody can listen there.
        """
        from gatewright.transport.http_server import serve as listen

        if not (self._tokens or anonymous or host in _LOOPBACK):
            raise ValueError(
                f"{host} can be reached by others, and no caller needs a token: give the server tokens, or pass anonymous=True"
            )
        app = self.app(hosts=hosts, origins=origins)
        server = await listen(app, host=host, port=port, certificate=certificate, key=key)
        return Served(server, app)

    def app(self, *, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> Any:
        """The ASGI application, with MCP at `/mcp`, for another HTTP server. To be made on the running loop."""
        from gatewright.mcp.server.guard import Guard
        from gatewright.sdk.server.web import WebApp

        return WebApp(self._front, Guard(hosts, origins))

    def attach(self, receiver: Receiver, limits: Limits = FROM_SERVERS) -> Pipe:
        """A connection in memory, as a client in the same process wants it: `Client(server)`. `limits` are those of what
        the client takes; what it sends is as long as it makes it, because it could fill our memory anyway."""
        from gatewright.mcp.server.duplex import Duplex
        from gatewright.transport.memory import pair

        # Whoever runs code in this process needs no token.
        host = Duplex(self._front, _LOCAL, door="memory", credential=None, profile="")
        theirs, ours = pair(receiver, host, limits, FROM_SERVERS)
        host.attach(ours)
        return theirs

    async def _until_told(self, host: str, port: int, options: dict[str, Any]) -> None:
        running = await self.serve_http(host, port, **options)
        told = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told.set)
        print(f"{self.name} listens at {running.url}", flush=True)  # noqa: T201 - for who started it
        await told.wait()
        await running.stop()

    def described(self) -> ServerCapabilities:
        """What the server is and how much it has, in one object; the counts also stand in `_meta` of `initialize`."""
        counts = self._counts()
        return server_capabilities(
            self.name,
            self.version,
            tools=counts["tools_count"],
            resources=counts["resources_count"],
            prompts=counts["prompts_count"],
            subscribes=True,
        )

    # -- inside

    def _counts(self) -> dict[str, int]:
        offers = self._offers
        return {
            "tools_count": len(self.registry),
            "resources_count": len(offers.resources) + len(offers.templates),
            "prompts_count": len(offers.prompts),
        }

    def _identify(self, door: str, credential: str | None) -> Caller | Refusal:
        if door in _OWNED:
            return _LOCAL
        if credential is None:
            return (
                Refusal("auth_required", "a bearer token is needed") if self._tokens else ANONYMOUS
            )
        found = ""
        for token, who in self._tokens.items():  # all of them: how long it takes says nothing
            if hmac.compare_digest(token.encode(), credential.encode()):
                found = who
        return Caller(found) if found else Refusal("auth_failed", "this token is not known here")

    def _capabilities(self) -> dict[str, Any]:
        offers = self._offers
        found: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}}
        if offers.prompts:
            found["prompts"] = {"listChanged": True}
        if offers.resources or offers.templates:
            found["resources"] = {"subscribe": True, "listChanged": True}
        if offers.completions:
            found["completions"] = {}
        return found

    def _tools_changed(self) -> None:
        self._behind.forget_tools()
        self._changed("notifications/tools/list_changed", {})

    def _changed(self, method: str, params: dict[str, Any]) -> None:
        self._handler.forget_lists()
        self._behind.tell(method, params)

    def _notified(self, method: str, params: dict[str, Any], caller: Caller) -> None:
        if self._heard is not None:
            self._heard(method, params, caller.id)


def _because(flaw: str) -> str:
    return f": {flaw}" if flaw else ""


class Served:
    """A server that listens. Made by `Server.serve_http`."""

    def __init__(self, server: Any, app: Any) -> None:
        self._server = server
        self._app = app
        self.port: int = server.port
        self.url: str = f"{server.url}/mcp"
        """The MCP endpoint."""

    async def stop(self, grace_s: float = STOP_S) -> None:
        """Accept no more, give running requests `grace_s` seconds, and end."""
        await self._app.close()
        await self._server.stop(grace_s)


def serve(name: str = "gatewright-server", version: str = "1.0.0", **options: Any) -> None:
    """Serve the tools that `@mcp_tool` registered in this process, over standard input and output. Options as for `Server`."""
    Server(name, version, registry=REGISTRY, **options).run()


# First segments of MCP's own methods.
_TAKEN = frozenset(
    {
        "tools",
        "prompts",
        "resources",
        "completion",
        "logging",
        "initialize",
        "ping",
        "server",
        "subscriptions",
        "notifications",
        "sampling",
        "elicitation",
        "roots",
    }
)


def _run(work: Coroutine[Any, Any, object]) -> None:
    """Run to the end on the quickest loop there is; Ctrl-C ends it without a traceback."""
    from gatewright.transport.stdio import fill_missing_streams

    fill_missing_streams()
    with contextlib.suppress(KeyboardInterrupt):
        try:
            import uvloop
        except ImportError:
            asyncio.run(work)
        else:
            uvloop.run(work)
