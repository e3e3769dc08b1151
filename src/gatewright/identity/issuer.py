"""Client of one OAuth authorization server: discovers metadata, caches its keys (JWKS), verifies or introspects tokens.

Theory: keys change, networks fail, and anybody may send a token with a key id that nobody has. So a key set
is fetched when it is needed and not at the start, once at a time, again when it has become old or when a token
names a key that is not in it, and never more often than every few seconds. A set that is too old
(`Trusted.keys_max_age_s`) and cannot be fetched is not used: a key may have been withdrawn. Then the answer is `Unreachable`, and nobody is let in.
Where tokens are introspected, the same holds for what is published about where: an endpoint may have moved.

Questions about tokens that were good before never wait behind those about others: anybody may send any number of made-up
tokens, and what runs for callers who are known would end when nobody gets to ask about theirs. Those who show one token at
the same time share one question, so that a client with many requests at once takes one place.

Everything is asked through `transport.safe_fetch`: small answers, no redirects, a deadline. An issuer on the
public internet cannot send us into our own network.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from urllib.parse import quote, urlencode

import msgspec

from gatewright.call import Trust
from gatewright.identity import token_rules
from gatewright.identity.token_rules import Claims, Keys, Peek, Published, TokenRefused
from gatewright.oauth.documents import ALGORITHMS, Unusable, server_urls
from gatewright.transport.safe_fetch import Egress, EgressFailed, is_outside
from gatewright.transport.slices import in_slices
from gatewright.web.urls import is_loopback

__all__ = ["MOST_WAITING", "PAUSE_S", "Introspection", "Issuer", "Trusted", "Unreachable"]

PAUSE_S = 10.0
"""A key set is fetched no more often, whatever tokens come, unless it may not become so old; a failure is believed
for so long."""

_SECONDS = 5.0
_AT_ONCE = 8
"""So many questions about tokens at once; as many again about those that were good before."""

MOST_WAITING = 64
"""So many unknown tokens may wait until they are asked about; more are refused at once, so that waiting has an end."""

_FORM = "application/x-www-form-urlencoded"
_OK = 200

log = logging.getLogger("gatewright.identity")


class Unreachable(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """Whether a token is good cannot be known now. The text says why, for the log."""


class Introspection(msgspec.Struct, frozen=True):
    """Tokens are not read but asked about (RFC 7662), by this client."""

    client_id: str
    client_secret: str
    url: str = ""
    """Empty: what the issuer publishes."""

    def __repr__(self) -> str:
        """Without the secret: a repr ends in logs."""
        return f"Introspection(client_id={self.client_id!r})"


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator says of one issuer. `name` stands before its subjects: `corp:alice`."""

    name: str
    issuer: str
    jwks_uri: str = ""
    """Empty: what the issuer publishes."""
    algorithms: tuple[str, ...] = ALGORITHMS
    audience: tuple[str, ...] = ()
    """What counts as us besides our own URLs."""
    leeway_s: float = 30.0
    recheck_s: float = 30.0
    """How long what was found out about a token is believed."""
    keys_max_age_s: float = 300.0
    """How old a key set may become, and what was published about where it is. At least a second: anybody's token
    may be what it is fetched for."""
    introspection: Introspection | None = None
    problem: str = ""
    """Why it cannot be used; then nobody with a token of it is let in."""
    subject_claim: str = ""
    """Empty: `sub`, else the client."""
    role_claim: str = ""
    trust: Trust | None = None
    required_scopes: tuple[str, ...] = ()
    permissions: Mapping[str, tuple[str, ...]] | None = None
    """Scope → what it gives, in canonical spelling. None: scopes say nothing of permissions."""


class Issuer:
    """One of them. To be used on one loop."""

    def __init__(
        self,
        trusted: Trusted,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        egress: Egress | None = None,
    ) -> None:
        """`clock` gives Unix seconds, `monotonic` seconds that only grow."""
        self.trusted = trusted
        self._clock = clock
        self._monotonic = monotonic
        self._egress = egress or Egress(seconds=_SECONDS)
        self._lock = asyncio.Lock()
        self._asking = asyncio.Semaphore(_AT_ONCE)
        self._asking_again = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._shared: dict[tuple[bytes, bool], _Shared] = {}
        self._busy_at: float | None = None
        self._published: Published | None = None
        self._keys: Keys = {}
        self._fetched_at: float | None = None
        """When the keys, or where to introspect, came."""
        self._tried_at: float | None = None
        self._failed = ""

    async def check(self, token: str, seen: Peek | None, *, known: bool = False) -> Claims:
        """What the issuer says with a token; `seen` is what the token says of itself, if it is a JWT. `known`: it was good
        before. Raises `TokenRefused` and `Unreachable`."""
        trusted = self.trusted
        if trusted.problem:
            raise Unreachable(trusted.problem)
        if trusted.introspection is not None:
            return await self._together(token, trusted.introspection, known)
        if seen is None:
            raise TokenRefused("malformed")
        if seen.algorithm not in trusted.algorithms:
            raise TokenRefused("algorithm")
        return token_rules.read_jwt(
            token,
            await self._keys_with(seen.key_id),
            issuer=trusted.issuer,
            algorithms=trusted.algorithms,
            now=self._clock(),
            leeway_s=trusted.leeway_s,
            subject_claim=trusted.subject_claim,
        )

    def believed_until(self) -> float:
        """How long what `check` has just said may be believed, in monotonic seconds."""
        until, trusted = self._monotonic() + self.trusted.recheck_s, self.trusted
        if trusted.introspection is not None or self._fetched_at is None:
            return until
        # A withdrawn key ends what it signed no later than the set is fetched again: the two times are not added.
        return min(until, self._fetched_at + trusted.keys_max_age_s)

    async def reach(self) -> None:
        """Ask for what tokens will need, for whoever wants to know whether that works. Raises
        `Unreachable`."""
        if self.trusted.problem:
            raise Unreachable(self.trusted.problem)
        try:
            if self.trusted.introspection is None:
                await self._fetch()
            else:
                await self._introspection_url(self.trusted.introspection)
        except (Unusable, EgressFailed) as problem:
            raise Unreachable(str(problem)) from None

    # -- keys, or where to introspect

    async def _keys_with(self, key_id: str) -> Keys:
        await self._have(lambda: key_id in self._keys)
        return self._keys

    async def _have(self, enough: Callable[[], bool]) -> None:
        """Fetch what tokens need where that is too old, or not `enough`. Raises `Unreachable` where it stays too old."""
        if self._are_fresh() and enough():
            return
        async with self._lock:
            # Whoever held the lock may have fetched it.
            if self._are_fresh() and enough():
                return
            now = self._monotonic()
            # What has just become too old is fetched at once: the pause is against made-up key ids and failures.
            old = not self._are_fresh() and not self._failed
            if self._tried_at is None or old or now - self._tried_at >= PAUSE_S:
                self._tried_at = now
                await self._renew()
        if not self._are_fresh():
            raise Unreachable(self._failed or "its keys could not be fetched")

    def _are_fresh(self) -> bool:
        age = self.trusted.keys_max_age_s
        return self._fetched_at is not None and self._monotonic() - self._fetched_at < age

    async def _renew(self) -> None:
        try:
            if self.trusted.introspection is None:
                self._keys = await self._fetch()
            else:
                self._published = await self._discovered()
        except (Unusable, EgressFailed) as problem:
            self._failed = str(problem)
            log.warning("what issuer %s publishes: %s", self.trusted.name, problem)
            return
        self._failed, self._fetched_at = "", self._monotonic()

    async def _fetch(self) -> Keys:
        url = self.trusted.jwks_uri or (await self._discovered()).jwks_uri
        if not url:
            raise Unusable("the issuer publishes no jwks_uri: write it into the configuration")
        status, body = await self._ask(url)
        if status != _OK:
            raise Unusable(f"the key set was answered with HTTP {status}")
        return await in_slices(token_rules.read_keys(body))

    async def _discovered(self) -> Published:
        """What the issuer publishes now. Asked for with each key set: a key set may move."""
        issuer = self.trusted.issuer
        failed = ""
        for url in server_urls(issuer):
            status, body = await self._ask(url)
            if status == _OK:
                loopback = is_loopback(issuer)
                return token_rules.read_published(body, issuer, loopback=loopback)
            failed = failed or f"{url} was answered with HTTP {status}"
        raise Unusable(failed)

    async def _ask(
        self, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, bytes]:
        # SSRF: an issuer on the internet may publish URLs, but none that lead into our own network.
        outside = await is_outside(self.trusted.issuer)
        return await self._egress.ask(url, headers, body, outside=outside)

    # -- introspection

    async def _together(self, token: str, who: Introspection, known: bool) -> Claims:
        """Ask once for all who show this token now. Whoever leaves ends the question only where nobody else waits for it."""
        # By `known` as well: what is in use does not wait in the place of one that was not known yet.
        key = sha256(token.encode("utf-8", "surrogatepass")).digest(), known
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = _Shared(
                asyncio.ensure_future(self._introspect(token, who, known))
            )
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.asking)
        finally:
            shared.waiting -= 1
            # The last one, and whoever comes after a question has ended asks anew.
            if (shared.asking.done() or not shared.waiting) and self._shared.get(key) is shared:
                del self._shared[key]
                shared.asking.cancel()

    async def _introspect(self, token: str, who: Introspection, known: bool) -> Claims:
        form = urlencode({"token": token, "token_type_hint": "access_token"}).encode()
        # RFC 6749 §2.3.1 wants both form-encoded before they are joined.
        pair = f"{quote(who.client_id, safe='')}:{quote(who.client_secret, safe='')}"
        headers = {
            "Content-Type": _FORM,
            "Authorization": "Basic " + b64encode(pair.encode()).decode(),
        }
        try:
            async with self._turn(known):
                url = await self._introspection_url(who)
                status, body = await self._ask(url, headers, form)
            if status != _OK:
                raise Unusable(f"the introspection was answered with HTTP {status}")
            return token_rules.read_introspection(
                body,
                issuer=self.trusted.issuer,
                now=self._clock(),
                leeway_s=self.trusted.leeway_s,
                subject_claim=self.trusted.subject_claim,
            )
        except (Unusable, EgressFailed) as problem:
            log.warning("the introspection of issuer %s: %s", self.trusted.name, problem)
            raise Unreachable(str(problem)) from None

    @asynccontextmanager
    async def _turn(self, known: bool) -> AsyncIterator[None]:
        """Wait until a question may be asked. Raises `Unreachable` where too many unknown tokens wait, or for too long."""
        if known:
            async with self._asking_again:
                yield
            return
        if self._waiting >= MOST_WAITING:
            raise self._busy()
        self._waiting += 1
        try:
            async with asyncio.timeout(_SECONDS):
                await self._asking.acquire()
        except TimeoutError:
            raise self._busy() from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._asking.release()

    def _busy(self) -> Unreachable:
        now, said = self._monotonic(), "more unknown tokens come than it can be asked about"
        if self._busy_at is None or now - self._busy_at >= PAUSE_S:  # once, and not for each token
            self._busy_at = now
            log.warning("the introspection of issuer %s: %s", self.trusted.name, said)
        return Unreachable(said)

    async def _introspection_url(self, who: Introspection) -> str:
        if who.url:
            return who.url
        await self._have(lambda: True)
        url = self._published.introspection_endpoint if self._published is not None else ""
        if not url:
            raise Unusable(
                "the issuer publishes no introspection_endpoint: write introspection_url"
            )
        return url


class _Shared:
    """A question about one token, and how many wait for its answer."""

    __slots__ = ("asking", "waiting")

    def __init__(self, asking: asyncio.Future[Claims]) -> None:
        self.asking = asking
        self.waiting = 0
