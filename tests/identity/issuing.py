"""A real authorization server whose tokens a gateway takes: it signs them, publishes its keys, and answers
when it is asked about one.

It does what `guarded.AuthorizationServer` does (registration, PKCE, refreshing) and gives out JWTs for the
resource that was asked for. `sign` makes a token of any claims, for what no client would get; `made` makes
those that an authorisation matrix needs.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import math
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
from aiohttp import web
from joserfc import jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, Key, KeyParameters, OctKey, OKPKey, RSAKey

from tests.servers.guarded import AuthorizationServer, serving

__all__ = ["CLIENT", "Issuing", "beside", "elsewhere", "forged", "issuing", "unsigned"]

CLIENT = ("gateway", "s+ecret/=")
"""Who may ask about tokens."""

_LIFETIME_S = 600.0


class Issuing(AuthorizationServer):
    """See the module's text. `keys` are what it publishes; it signs with the newest of them."""

    def __init__(self) -> None:
        super().__init__()
        self.subject = "alice"
        self.keys: dict[str, Key] = {}
        self.algorithm = "ES256"
        self.revoked: set[str] = set()
        self.broken: set[str] = set()
        """Paths that answer 503."""
        self.clock: Callable[[], float] = time.time
        self.ends: dict[str, float | None] = {}
        """When opaque tokens end, where that is said; None: the issuer names no end."""
        self.scopes = ""
        """Given to who asks for none."""
        self._kids = itertools.count(1)
        self._asked: dict[str, str] = {}
        self.rotate()

    def app(self) -> web.Application:
        """Its routes."""
        app = super().app()
        app.middlewares.append(self._breaks)
        app.router.add_get("/jwks", self._jwks)
        app.router.add_post("/introspect", self._introspect)
        return app

    def rotate(self, *, keep: bool = True) -> None:
        """Sign with a new key from now on; without `keep` the others are published no more."""
        kid = f"key-{next(self._kids)}"
        if not keep:
            self.keys.clear()
        parameters: KeyParameters = {"kid": kid, "use": "sig"}
        if self.algorithm.startswith(("RS", "PS")):
            self.keys[kid] = RSAKey.generate_key(2048, parameters)
        elif self.algorithm.startswith("Ed"):
            self.keys[kid] = OKPKey.generate_key("Ed25519", parameters)
        else:
            curve = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}[self.algorithm]
            self.keys[kid] = ECKey.generate_key(curve, parameters)

    def published(self) -> dict[str, Any]:
        """The key set."""
        return {"keys": [key.as_dict(private=False) for key in self.keys.values()]}

    def sign(self, audience: Any, *, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """A token for somebody; claims of None are left out."""
        kid, key = list(self.keys.items())[-1]
        now = time.time()
        said = {
            "iss": self.issuer,
            "sub": self.subject,
            "aud": audience,
            "iat": int(now),
            "exp": now + _LIFETIME_S,
            "client_id": "client-1",
            **claims,
        }
        plain = {name: value for name, value in said.items() if value is not None}
        head = {"alg": self.algorithm, "typ": "at+jwt", "kid": kid, **(header or {})}
        head = {name: value for name, value in head.items() if value is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # of the name EdDSA
            return jwt.encode(head, plain, key, [self.algorithm])

    def made(self, resource: str, other: Issuing) -> dict[str, str]:
        """Tokens that must let nobody in, by what is wrong with each. `other` is an issuer that nobody
        configured. One that is `revoked` is so for whoever asks about it."""
        good = self.sign(resource)
        gone = self.sign(resource, jti="gone")
        self.revoked.add(gone)
        return {
            "expired": self.sign(resource, exp=time.time() - 3600),
            "not yet valid": self.sign(resource, nbf=time.time() + 3600),
            "foreign audience": self.sign("https://elsewhere.example/mcp"),
            "no audience": self.sign(None),
            "foreign issuer": other.sign(resource),
            "another's key": other.sign(resource, iss=self.issuer),
            "no signature": unsigned(good),
            "secret for a key": forged(good, self),
            "changed": good[:-6] + ("aaaaaa" if not good.endswith("aaaaaa") else "bbbbbb"),
            "revoked": gone,
        }

    # -- what it answers

    @web.middleware
    async def _breaks(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path in self.broken:
            self.heard.append((request.path, {}))
            return web.Response(status=503)
        found: web.StreamResponse = await handler(request)
        return found

    async def _published(self, request: web.Request) -> web.Response:
        self.metadata = {
            "jwks_uri": f"{self.issuer}/jwks",
            "introspection_endpoint": f"{self.issuer}/introspect",
            "scopes_supported": self.scopes.split(),
            **self.metadata,
        }
        return await super()._published(request)

    async def _register(self, request: web.Request) -> web.Response:
        """With all that was registered, as RFC 7591 §3.2.1 has it."""
        answer = await super()._register(request)
        made = msgspec.json.decode(answer.body, type=dict[str, Any])  # type: ignore[arg-type]
        return web.json_response({**self.asked("/register"), **made}, status=201)

    async def _jwks(self, request: web.Request) -> web.Response:
        self.heard.append(("/jwks", {}))
        return web.json_response(self.published())

    async def _introspect(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.heard.append(("/introspect", form))
        basic = base64.b64decode(request.headers.get("Authorization", "")[6:]).decode()
        if basic != "gateway:s%2Becret%2F%3D":
            return web.Response(status=401)
        token = form["token"]
        claims = self._claims(token)
        if claims is None or token in self.revoked or claims.get("exp", math.inf) <= self.clock():
            return web.json_response({"active": False})
        return web.json_response({"active": True, **claims})

    def _claims(self, token: str) -> dict[str, Any] | None:
        if token in self.tokens:
            resource, scope = self._asked.get(token, ""), " ".join(sorted(self.tokens[token]))
            said = {"sub": self.subject, "aud": resource, "scope": scope}
            end = self.ends.get(token, time.time() + _LIFETIME_S)
            return said if end is None else {**said, "exp": end}
        parts = token.split(".")
        if len(parts) != 3:
            return None
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        found: dict[str, Any] = msgspec.json.decode(base64.urlsafe_b64decode(padded))
        return found

    def opaque(self, resource: str, scope: str = "") -> str:
        """A token that says nothing by itself."""
        token = f"opaque-{next(self._numbers)}"
        self.tokens[token] = set(scope.split())
        self._asked[token] = resource
        return token

    def _exchange(self, client: str, form: dict[str, str]) -> web.Response:
        self._resource = form.get("resource", "")
        return super()._exchange(client, form)

    def _give(self, client: str, scope: str) -> web.Response:
        found = super()._give(client, scope or self.scopes)
        answer = msgspec.json.decode(found.body, type=dict[str, Any])  # type: ignore[arg-type]
        token = self.sign(self._resource, client_id=client, scope=scope or self.scopes)
        self.tokens[token] = self.tokens.pop(answer["access_token"])
        return web.json_response({**answer, "access_token": token})


def unsigned(token: str) -> str:
    """The same with `alg` none, and no signature."""
    header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    return f"{header}.{token.split('.')[1]}."


def forged(token: str, issuer: Issuing) -> str:
    """The same signed by HMAC, with what the issuer publishes for a secret (algorithm confusion)."""
    import hmac  # noqa: PLC0415 - for this forgery alone

    key = list(issuer.keys.values())[-1]
    assert not isinstance(key, OctKey)
    secret = key.as_pem(private=False)
    head = msgspec.json.encode({"alg": "HS256", "typ": "JWT", "kid": key.kid})
    header = base64.urlsafe_b64encode(head).rstrip(b"=").decode()
    signed = f"{header}.{token.split('.')[1]}"
    mac = hmac.new(secret, signed.encode(), "sha256").digest()
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


@asynccontextmanager
async def issuing() -> AsyncIterator[Issuing]:
    """One, running on this loop."""
    issuer = Issuing()
    async with serving(issuer.app()) as origin:
        issuer.issuer = origin
        yield issuer


@contextmanager
def beside(app: web.Application) -> Iterator[str]:
    """The application on a loop of its own, for a gateway that is a process of its own; gives its origin."""
    ready: list[str] = []
    up, over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with serving(app) as origin:
            ready.append(origin)
            up.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert up.wait(20)
        yield ready[0]
    finally:
        over.set()
        thread.join(20)


@contextmanager
def elsewhere() -> Iterator[Issuing]:
    """An issuer on a loop of its own."""
    issuer = Issuing()
    with beside(issuer.app()) as origin:
        issuer.issuer = origin
        yield issuer
