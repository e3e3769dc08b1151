"""A protected server and an authorization server, small but real: they check what they are sent.

The authorization server keeps codes, tokens and registrations, verifies PKCE, redirect URI, resource
and client authentication, and says no with OAuth's own words. The protected server asks it about
each token. Both live on the test's own loop, on loopback.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import unquote_plus, urlencode

import aiohttp
from aiohttp import web

from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers.authorize import OAuth

__all__ = [
    "BACK",
    "AuthorizationServer",
    "Clock",
    "Make",
    "Pair",
    "ProtectedServer",
    "never",
    "protected",
    "request",
    "serving",
    "user",
]

BACK = "http://127.0.0.1:8425/callback"


class Clock:
    """Wall clock by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    """The application on a free port; gives its origin."""
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


async def user(url: str) -> str:
    """A person who agrees to everything at once, and does not follow the way back."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, allow_redirects=False) as answer,
    ):
        assert answer.status == 302, await answer.text()
        return answer.headers["Location"]


async def never(url: str) -> str:
    """A person who must not be asked."""
    raise AssertionError(f"nobody should have been asked: {url}")


async def request(auth: Authorizer, url: str, need: str = "") -> int:
    """What a link does: ask, be refused, ask again. The last status."""
    turn = 0
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):
        while True:
            used = await auth.authorization()
            headers = {"X-Need": need} | ({} if used is None else {"Authorization": used})
            async with session.post(url, headers=headers) as answer:
                challenges = answer.headers.getall("WWW-Authenticate", [])
                status = answer.status
            if not await auth.challenged(turn, status, challenges, used):
                return status
            turn += 1


def _made(what: str) -> str:
    """What nobody guesses, always the same."""
    return hashlib.sha256(what.encode()).hexdigest()


class AuthorizationServer:
    """Set what it does by its attributes before it is asked."""

    def __init__(self) -> None:
        self.issuer = ""
        self.metadata: dict[str, Any] = {}
        self.method = "none"
        self.expires_in: int | None = 3600
        self.gives_refresh = True
        self.response: dict[str, str] = {}
        self.status: int | None = None
        """That of every answer of the token endpoint, which is `said`."""
        self.said: dict[str, Any] = {}
        self.clients: dict[str, str] = {}
        self.tokens: dict[str, set[str]] = {}
        self.refreshers: dict[str, tuple[str, str]] = {}
        self.heard: list[tuple[str, dict[str, str]]] = []
        self._codes: dict[str, dict[str, str]] = {}
        self._numbers = itertools.count(1)

    def app(self) -> web.Application:
        """Its routes."""
        app = web.Application()
        for kind in ("oauth-authorization-server", "openid-configuration"):
            app.router.add_get(f"/.well-known/{kind}", self._published)
        app.router.add_get("/authorize", self._authorize)
        app.router.add_post("/token", self._token)
        app.router.add_post("/register", self._register)
        return app

    def count(self, path: str) -> int:
        """How often a path was asked."""
        return sum(1 for one, _ in self.heard if one == path)

    def asked(self, path: str) -> dict[str, str]:
        """The last that was asked of a path."""
        return next(form for one, form in reversed(self.heard) if one == path)

    async def _published(self, request: web.Request) -> web.Response:
        self.heard.append((request.path, {}))
        published = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": [self.method],
        }
        return web.json_response(published | self.metadata)

    async def _register(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.heard.append(("/register", body))
        client = f"client-{next(self._numbers)}"
        secret = "" if self.method == "none" else f"s+{_made(client)}/="
        self.clients[client] = secret
        answer = {"client_id": client, **({"client_secret": secret} if secret else {})}
        return web.json_response(answer, status=201)

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        self.heard.append(("/authorize", asked))
        if asked["client_id"] not in self.clients:
            return web.Response(status=400, text="unknown client")
        code = f"code-{next(self._numbers)}"
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], **self.response}
        return web.Response(
            status=302, headers={"Location": f"{asked['redirect_uri']}?{urlencode(back)}"}
        )

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.heard.append(("/token", form))
        if self.status is not None:
            return web.json_response(self.said, status=self.status)
        client = self._client(request, form)
        if client is None:
            return web.json_response({"error": "invalid_client"}, status=401)
        if form["grant_type"] == "refresh_token":
            return self._refresh(client, form)
        return self._exchange(client, form)

    def _client(self, request: web.Request, form: dict[str, str]) -> str | None:
        header = request.headers.get("Authorization", "")
        client, secret = form.get("client_id", ""), form.get("client_secret", "")
        if self.method == "client_secret_basic":
            plain = base64.b64decode(header.removeprefix("Basic ")).decode()
            client, secret = (unquote_plus(part) for part in plain.split(":"))
        elif header:
            return None
        known = self.clients.get(client)
        return client if known == secret else None

    def _exchange(self, client: str, form: dict[str, str]) -> web.Response:
        asked = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        good = (
            asked is not None
            and asked["client_id"] == client
            and asked["code_challenge"] == challenge
            and asked["redirect_uri"] == form["redirect_uri"]
            and asked["resource"] == form["resource"]
        )
        if not good or asked is None:
            return web.json_response({"error": "invalid_grant"}, status=400)
        return self._give(client, asked.get("scope", ""))

    def _refresh(self, client: str, form: dict[str, str]) -> web.Response:
        owner, scope = self.refreshers.pop(form["refresh_token"], ("", ""))
        if owner != client:
            return web.json_response({"error": "invalid_grant"}, status=400)
        return self._give(client, scope)

    def _give(self, client: str, scope: str) -> web.Response:
        number = next(self._numbers)
        self.tokens[f"token-{number}"] = set(scope.split())
        answer: dict[str, Any] = {"access_token": f"token-{number}", "token_type": "Bearer"}
        if self.expires_in is not None:
            answer["expires_in"] = self.expires_in
        if self.gives_refresh:
            made = _made(f"refresh {number}")
            self.refreshers[f"refresh-{made}"] = (client, scope)
            answer["refresh_token"] = f"refresh-{made}"
        return web.json_response(answer)


class ProtectedServer:
    """Takes the tokens of `issuer`. `X-Need` names scopes that a request needs, and so does `needs`
    for a method; what is in `open_methods` is for everybody."""

    def __init__(self, issuer: AuthorizationServer) -> None:
        self.issuer = issuer
        self.url = ""
        self.published: dict[str, Any] = {}
        self.scope = "basic"
        self.refuses: int | None = None
        self.open_methods: set[str] = set()
        self.needs: dict[str, set[str]] = {}
        self.heard: list[str | None] = []
        self.metadata_asked = 0

    def app(self) -> web.Application:
        """Its routes."""
        app = web.Application()
        app.router.add_post("/mcp", self._mcp)
        app.router.add_get("/.well-known/oauth-protected-resource/mcp", self._metadata)
        return app

    async def _metadata(self, _: web.Request) -> web.Response:
        self.metadata_asked += 1
        published = {"resource": self.url, "authorization_servers": [self.issuer.issuer]}
        return web.json_response(published | self.published)

    async def _mcp(self, request: web.Request) -> web.Response:
        header = request.headers.get("Authorization")
        self.heard.append(header)
        message = await request.json() if request.can_read_body else {}
        method = message.get("method", "")
        if method in self.open_methods:
            return self._answer(message)
        need = set(request.headers.get("X-Need", "").split()) | self.needs.get(method, set())
        scopes = self.issuer.tokens.get((header or "").removeprefix("Bearer "))
        if scopes is None or self.refuses == 401:
            return self._refusal(401, f'Bearer scope="{self.scope}"')
        if not need <= scopes or self.refuses == 403:
            wanted = " ".join(sorted(need)) or self.scope
            return self._refusal(403, f'Bearer error="insufficient_scope", scope="{wanted}"')
        return self._answer(message)

    @staticmethod
    def _answer(message: dict[str, Any]) -> web.Response:
        """MCP 2026-07-28 with one tool; anything else is let in as well."""
        results: dict[str, dict[str, Any]] = {
            "server/discover": {
                "supportedVersions": [LATEST_MODERN],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
            },
            "tools/list": {
                "tools": [{"name": "knock", "inputSchema": {"type": "object"}}],
                "ttlMs": 0,
                "cacheScope": "private",
            },
            "tools/call": {"content": [{"type": "text", "text": "in"}]},
        }
        result = results.get(message.get("method", ""))
        if result is None:
            return web.Response(text="in")
        result = {"resultType": "complete", **result}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})

    @staticmethod
    def _refusal(status: int, challenge: str) -> web.Response:
        return web.Response(status=status, headers={"WWW-Authenticate": challenge})


@asynccontextmanager
async def protected() -> AsyncIterator[tuple[ProtectedServer, AuthorizationServer]]:
    """Both, running."""
    async with AsyncExitStack() as stack:
        issuer = AuthorizationServer()
        issuer.issuer = await stack.enter_async_context(serving(issuer.app()))
        server = ProtectedServer(issuer)
        server.url = await stack.enter_async_context(serving(server.app())) + "/mcp"
        yield server, issuer


Pair = tuple[ProtectedServer, AuthorizationServer]
Make = Callable[..., OAuth]
