"""`OAuth`: supplies, renews and stores a protected server's tokens, answers its challenges, logs in by browser; `Bearer`: a configured token.

The client connection asks before each request and again after each refusal; everything between the two is here.
The gateway has nobody in front of a browser: it uses what a login left, refreshes it, and otherwise
says what to type. `gatewright server login` is the same code with a browser.

A caller's own credentials never come near this: what goes to a server is the gateway's, made for it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from gatewright.command_text import to_type
from gatewright.mcp.client.authorization import Authorizer, NotAuthorized
from gatewright.oauth.client import Form, Grant, Identity
from gatewright.oauth.documents import Challenge, challenge_of, scopes_in
from gatewright.oauth.login import Get, Granted, Login, Stopped, Visit
from gatewright.secret_scanning import HELD, without_secrets
from gatewright.servers.login_store import Kept, Logins
from gatewright.servers.spec import ServerSpec
from gatewright.storage.errors import StoreError
from gatewright.transport.safe_fetch import Egress, EgressFailed, is_outside
from gatewright.web.urls import origin_of

__all__ = [
    "MOST_TURNS",
    "Bearer",
    "Browser",
    "OAuth",
    "OpenUrl",
    "authorizer_for",
]

_REASON_CHARS = 2000

log = logging.getLogger("gatewright.servers")

MOST_TURNS = 3
"""So many times one request may be refused and repeated; then the refusal stands."""

EARLY_S = 30.0
"""A token that ends so soon is renewed before it is used."""


PAUSE_S = 5.0
"""How long a failure to get a token is believed before another attempt is made."""


DOUBT_S = 600.0
"""For how long an authorization server may answer a refresh token with what is neither a token nor a refusal: after that a person
is asked for, and it is tried so often only."""

RECHECK_S = 1.0
"""How old what is known of the logins in the state folder may be: people log in and out beside us."""


OpenUrl = Callable[[str], Awaitable[str]]
"""Shows a URL to a person, and returns the URL (or its query) that their browser was sent to."""


class Browser(msgspec.Struct, frozen=True):
    """A person who can be asked. `callback` is where their browser comes back, without the issuer's part of the path."""

    open_url: OpenUrl
    callback: str


class Bearer:
    """A token that the operator configured."""

    def __init__(self, token: str) -> None:
        self._value = f"Bearer {token}"

    async def authorization(self) -> str | None:
        """Always the same."""
        return self._value

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """Nothing can be done about a refusal but to say whose token it was."""
        if status == 401:
            raise NotAuthorized(
                "the server refused the token that [servers.auth] bearer gives (HTTP 401); "
                "put a valid one there and restart"
            )
        return False


class OAuth:
    """The tokens of one upstream. Silent until the server asks for them.

    `relogin` has a person log in at the first refusal, whatever an earlier login left.
    """

    def __init__(
        self,
        server: str,
        url: str,
        identity: Identity,
        logins: Logins,
        *,
        browser: Browser | None = None,
        relogin: bool = False,
        clock: Callable[[], float] = time.time,
        mint: Callable[[], str] = lambda: secrets.token_urlsafe(32),
    ) -> None:
        self._server = server
        self._url = url
        self._identity = identity
        self._logins = logins
        self._browser = browser
        self._relogin = relogin
        self._clock = clock
        self._mint = mint
        self._egress = Egress()
        self._lock = asyncio.Lock()
        self._kept: Kept | None = None
        self._loaded_at = 0.0
        self._runs = 0
        self._failed = ""
        self._failed_until = 0.0
        self._doubtful_since: float | None = None
        self._fresh: dict[str, bool] = {}
        """The newest token → whether a person gave it; the others were refreshed."""

    # -- what links ask ------------------------------------------------------------------------------

    async def authorization(self) -> str | None:
        """The token, renewed if it is about to end and can be."""
        grant = self._load().grant
        if grant is None or self._relogin:
            return None
        ends = grant.expires_at
        if ends is not None and grant.refresh_token and ends - EARLY_S <= self._clock():
            try:
                await self._renewed(None, _value(grant))
            except NotAuthorized as problem:
                # The server decides whether the old one still counts.
                log.warning("server %s: the token was not renewed: %s", self._server, problem)
            grant = self._load().grant or grant
        return _value(grant)

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """See `Authorizer`."""
        challenge = challenge_of(challenges)
        if not self._concerns(status, challenge):
            return False
        if turn >= MOST_TURNS:
            why = f"the server refused {MOST_TURNS + 1} times (HTTP {status})"
            raise NotAuthorized(self._told(why), altogether=status == 401)
        if turn and used is not None and self._fresh.get(used) and self._vain(status, challenge):
            why = f"the server refuses the token made for it (HTTP {status})"
            raise NotAuthorized(self._told(why), altogether=status == 401)
        if status == 401:
            await self._renewed(challenge, used, again=bool(turn))
            return True
        if challenge is not None:
            self._want(challenge)
        try:
            await self._renewed(challenge, used, again=bool(turn))
        except NotAuthorized as problem:
            raise NotAuthorized(str(problem), altogether=False) from None
        return True

    async def login(self) -> None:
        """Have a person log in although the server has refused nothing. Raises `NotAuthorized`."""
        await self._renewed(None, None)

    @property
    def pending(self) -> bool:
        """Whether the login that `relogin` asked for has not been made yet."""
        return self._relogin

    @property
    def grant(self) -> Grant | None:
        """What there is."""
        return self._load().grant

    def _concerns(self, status: int, challenge: Challenge | None) -> bool:
        if status == 403:
            return challenge is not None and challenge.error == "insufficient_scope"
        if status != 401:
            return False
        # One that does not say how to get in is taken for OAuth where we know it to be.
        known = self._browser is not None or self._load().grant is not None
        return challenge is not None or known

    def _vain(self, status: int, challenge: Challenge | None) -> bool:
        """Whether nothing that could be asked for was not asked for just now."""
        grant = self._load().grant
        asked = set(grant.scopes) if grant is not None else set()
        return status == 401 or challenge is None or set(challenge.scopes) <= asked

    def _want(self, challenge: Challenge) -> None:
        """Remember what a step up needs, for the login that will give it."""
        kept = self._load()
        have = kept.grant.scopes if kept.grant is not None else ()
        new = (one for one in challenge.scopes if one not in have)
        wanted = scopes_in([*kept.wanted, *new])
        # There are at most so many, and a server may ask for others with each call: what changes nothing is not written.
        if wanted != kept.wanted:
            self._save(msgspec.structs.replace(kept, wanted=wanted))

    # -- one at a time -------------------------------------------------------------------------------

    async def _renewed(
        self, challenge: Challenge | None, used: str | None, *, again: bool = False
    ) -> None:
        """See to it that there is another token than `used`; whoever comes second gets what the
        first one got, be it a token or a refusal."""
        # Counted before the lock: whoever waited while another one tried takes what came of that.
        runs = self._runs
        async with self._lock:
            kept = self._load(anew=True)
            grant = kept.grant
            if grant is not None and _value(grant) != used and not self._relogin:
                return
            if self._failed and (self._runs != runs or self._clock() < self._failed_until):
                raise NotAuthorized(self._failed)
            if grant is not None and (self._relogin or (again and used in self._fresh)):
                # Not wanted, or refreshed a moment ago without any help.
                grant = msgspec.structs.replace(grant, refresh_token=None)
            self._runs += 1
            self._failed = ""
            try:
                await self._run(challenge, kept, grant)
            except NotAuthorized as problem:
                self._failed = str(problem)
                self._failed_until = self._clock() + (DOUBT_S if self._in_doubt() else PAUSE_S)
                raise

    async def _run(self, challenge: Challenge | None, kept: Kept, grant: Grant | None) -> None:
        if self._browser is None and (grant is None or not grant.refresh_token):
            raise self._needed(kept)
        machine = Login(
            self._url,
            self._identity,
            mint=self._mint,
            known=self._logins.client,
            challenge=challenge,
            callback=self._browser.callback if self._browser is not None else "",
            grant=grant,
            asked=kept.wanted,
        )
        # Before it is sent: an authorization server may repeat it in its error.
        HELD.hold(f"client {self._server}", [self._identity.client_secret])
        outside = await is_outside(self._url)
        step = machine.start()
        while not isinstance(step, Granted | Stopped):
            if isinstance(step, Visit):
                step = machine.returned(await self._visited(step.url))
            else:
                status, body = await self._asked(step, outside)
                step = machine.replied(status, body, self._clock())
        if isinstance(step, Granted):
            self._keep(step)
        elif not self._renewed_elsewhere(kept):
            raise self._given_up(step, kept)

    def _renewed_elsewhere(self, kept: Kept) -> bool:
        """Whether another process (`server login`, `server check`, `doctor`) has a new grant by now: it may have used the
        refresh token that was refused here, and what it keeps is not to be written over."""
        now = self._load(anew=True).grant
        return now is not None and now != kept.grant and now.refresh_token is not None

    async def _visited(self, url: str) -> str:
        if self._browser is None:
            raise self._needed(self._load())
        return await self._browser.open_url(url)

    async def _asked(self, step: Get | Form, outside: bool) -> tuple[int, bytes]:
        """Ask, and only where strangers may send us: what the operator named may be anywhere."""
        named = {origin_of(self._url)}
        if self._identity.issuer:
            named.add(origin_of(self._identity.issuer))
        # The server's metadata names these URLs: one outside must not send us to addresses inside (SSRF).
        guarded = outside and origin_of(step.url) not in named
        try:
            if isinstance(step, Get):
                return await self._egress.ask(step.url, outside=guarded)
            return await self._egress.ask(step.url, step.headers, step.body, outside=guarded)
        except EgressFailed as problem:
            raise self._stopped(str(problem)) from None

    # -- what is kept --------------------------------------------------------------------------------

    def _load(self, *, anew: bool = False) -> Kept:
        now = self._clock()
        # The clock is wall time, which may be set back.
        if self._kept is None or anew or abs(now - self._loaded_at) >= RECHECK_S:
            self._loaded_at = now
            try:
                kept = self._logins.load(self._server, self._url)
            except StoreError as problem:
                raise NotAuthorized(str(problem)) from None
            if kept != self._kept:
                self._hold(kept.grant)
            self._kept = kept
        return self._kept

    def _hold(self, grant: Grant | None, *more: str | None) -> None:
        """Have the tokens of a grant known as secrets, whoever says them back."""
        if grant is not None:
            tokens = (grant.access_token, grant.refresh_token, grant.client.client_secret)
            HELD.hold(f"login {self._server}", [*tokens, *more], foreign=True)

    def _save(self, kept: Kept) -> None:
        self._kept = kept
        try:
            self._logins.save(self._server, kept)
        except StoreError as problem:
            raise NotAuthorized(str(problem)) from None

    def _keep(self, granted: Granted) -> None:
        grant = granted.grant
        self._hold(grant, granted.id_token)
        self._fresh = {_value(grant): granted.asked}
        self._relogin, self._doubtful_since = False, None
        wanted = tuple(one for one in self._load().wanted if one not in grant.scopes)
        self._save(Kept(self._url, grant, wanted))
        if granted.asked and grant.client.origin == "registered":
            try:
                self._logins.register(grant.client)
            except StoreError as problem:
                raise NotAuthorized(str(problem)) from None
        how = "logged in" if granted.asked else "token refreshed"
        log.info("server %s: %s at %s", self._server, how, grant.client.issuer)

    # -- what is said --------------------------------------------------------------------------------

    def _given_up(self, stopped: Stopped, kept: Kept) -> NotAuthorized:
        if stopped.spent and kept.grant is not None:
            # Refused once is refused for good; the authorization server is not to be asked again.
            spent = msgspec.structs.replace(kept.grant, refresh_token=None)
            self._save(msgspec.structs.replace(kept, grant=spent))
        if stopped.login:
            return self._needed(kept)
        if stopped.unrenewed and self._doubtful_since is None:
            self._doubtful_since = self._clock()
        if stopped.unrenewed and self._in_doubt():
            asked = f"{stopped.reason}, for {DOUBT_S / 60:g} minutes: the login may be over"
            return self._stopped(f"{asked}; run: {to_type('server login {}', self._server)}")
        return self._stopped(
            f"{stopped.reason}; it is asked again later" if stopped.temporary else stopped.reason
        )

    def _in_doubt(self) -> bool:
        """Whether nobody has said for long whether the refresh token is still good."""
        since = self._doubtful_since
        # The clock is wall time, which may be set back.
        return since is not None and abs(self._clock() - since) >= DOUBT_S

    def _needed(self, kept: Kept) -> NotAuthorized:
        why = "a login is wanted"
        if kept.grant is not None:
            why = "the login is over"
        if kept.wanted:
            why = f"more is wanted than was granted ({' '.join(kept.wanted)})"
        return NotAuthorized(f"{why}; run: {to_type('server login {}', self._server)}")

    def _stopped(self, reason: str) -> NotAuthorized:
        return NotAuthorized(self._told(reason))

    def _told(self, reason: str) -> str:
        """What an authorization server says may repeat what it was sent."""
        clean = without_secrets(reason[: 2 * _REASON_CHARS].encode(errors="replace")).decode()
        return f"no authorization for server {self._server}: {clean[:_REASON_CHARS]}"


def _value(grant: Grant) -> str:
    return f"Bearer {grant.access_token}"


def authorizer_for(spec: ServerSpec, logins: Logins) -> Authorizer | None:
    """What the links of a server ask; None where there is nothing to ask."""
    if spec.transport in {"stdio", "python"} or spec.auth.type == "none":
        return None
    if spec.auth.type == "bearer":
        return Bearer(spec.auth.bearer)
    if spec.transport == "openapi":
        return None  # no MCP server: nobody says where its tokens come from
    return OAuth(spec.id, spec.url, spec.auth.identity, logins)
