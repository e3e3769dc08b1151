"""`Tokens`: verifies access tokens with their issuers, caches good and refused ones by SHA-256, rechecks them, makes callers of them.

A token is looked at when it is first shown and again after a while (`Trusted.recheck_s`, and no later than the keys
are fetched again that it was signed with), not for each call: in between, what is known of it is a look-up by its SHA-256.
The token itself is kept nowhere, and goes nowhere but to the issuer that is asked about it.

To an issuer a token that has ended and one that was taken back are the same: both are inactive. So nobody is asked about one in use from its end on
(`exp`), and what was found out about that end is not forgotten, neither by another look nor by a reload.

Nobody shows a token again while a call of theirs runs, or while they listen. Such tokens are looked at by whoever knows
of them (`renew`), in good time, so that an issuer that is away for a moment ends nothing.

The caller is called `NAME:SUBJECT`, with the name that the configuration gives the issuer. Neither that name nor the
name of a key (`identity/keys.py`) has a colon, so nobody's subject can be somebody else's API key, nor `local`, nor `*`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import inf
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from gatewright.call import Caller, Refusal, UserContext
from gatewright.identity.issuer import Issuer, Trusted, Unreachable
from gatewright.identity.token_rules import MOST_CHARS, Claims, TokenRefused, Why, peek
from gatewright.mcp.wire.permissions import NOTHING
from gatewright.secret_scanning.invisible import hidden

__all__ = ["Tokens", "caller_of"]

_REFUSED_S = 5.0
"""How long a token stays refused without being looked at again: a flood of one must not become a flood of
questions to its issuer."""

_AGAIN_S = 1.0
"""After how long at least an issuer is asked again that could not be asked about a token in use."""

_KEPT = 10_000
_T = TypeVar("_T")
_MOST_NAME = 128

_FAILED = Refusal(
    "auth_failed",
    "the access token is not valid here: get one from an authorization server that "
    "/.well-known/oauth-protected-resource names, for the resource that it names",
)
_EXPIRED = Refusal("auth_expired", "the access token has expired: get a new one")
_UNAVAILABLE = Refusal(
    "issuer_unavailable",
    "whether the access token is good cannot be known now, because its authorization server cannot be "
    "asked: try again later; the gateway's log says why",
)

_SAID: Mapping[str, str] = {
    "endless": "it has no exp, which a signed token needs (RFC 9068): let the issuer set one, or have its tokens introspected"
}
"""What is no mistake of whoever shows the token, in words for the operator."""

log = logging.getLogger("gatewright.identity")


class _Good(msgspec.Struct, frozen=True):
    """A token that is good, and lets somebody in who has what all need. `ends` and `expires` are Unix seconds, its end as its
    `issuer` says it and with the leeway of clocks; the other two are monotonic ones: until when that is believed, and when it is
    time to look again at a token in use."""

    until: float
    ahead: float
    issuer: str
    ends: float
    expires: float
    caller: Caller
    audience: frozenset[str]
    anywhere: bool
    """It was made for something that counts as all of us."""
    lacking: Refusal | None = None


class Tokens:
    """The access tokens of all issuers, by their SHA-256: which are good, until when, and whom each makes of its bearer."""

    def __init__(
        self,
        issuers: Sequence[Issuer],
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        before: Tokens | None = None,
    ) -> None:
        """`clock` gives Unix seconds, `monotonic` seconds that only grow. At most one of the issuers is
        asked about tokens that do not say whose they are. `before` are those of the configuration before: of them is known when they end."""
        self._by_url = {one.trusted.issuer: one for one in issuers}
        asked = [one for one in issuers if one.trusted.introspection is not None]
        # With several, asking each would show the token of one issuer to the others.
        self._of_opaque = asked[0] if len(asked) == 1 else None
        self._clock = clock
        self._monotonic = monotonic
        self._good: OrderedDict[bytes, _Good] = OrderedDict()
        # By itself, so that nobody's guesses make us forget the tokens of others.
        self._bad: OrderedDict[bytes, tuple[float, Refusal]] = OrderedDict()
        # Those that were good when their issuer could last be asked: they wait behind nobody's guesses.
        self._known: OrderedDict[bytes, bool] = OrderedDict()
        # Of those that were good: whose they are, and when they end.
        self._ends: OrderedDict[bytes, tuple[str, float]] = (
            OrderedDict() if before is None else before._ends
        )
        # Those that have ended since, and from when on they let nobody in: with the leeway.
        self._over: OrderedDict[bytes, float] = OrderedDict()

    def known(self, credential: str) -> Caller | Literal["expired"] | None:
        """Whom a token that was looked at makes of its bearer; None for every other text."""
        digest = _digest(credential)
        found = self._good.get(digest)
        if found is None and self._clock() >= self._over.get(digest, inf):
            return "expired"
        if found is None or found.lacking is not None:
            return None
        return found.caller if self._clock() < found.expires else "expired"

    def fresh(self, credential: str) -> bool:
        """Whether a token was found good a moment ago, and its time is not over: `look` would wait for nobody and let it in."""
        found = self._good.get(_digest(credential))
        if found is None or found.lacking is not None or self._monotonic() >= found.until:
            return False
        return self._clock() < found.expires

    async def look(self, credential: str, places: Iterable[str] | None = None) -> Refusal | None:
        """Look at a token, unless that was done a moment ago: why it lets nobody in, or None. `places` are
        the resources for one of which it has to have been made."""
        digest, now = _digest(credential), self._monotonic()
        found = self._good.get(digest)
        if found is None or now >= found.until:
            until, refusal = self._bad.get(digest, (now, _FAILED))
            if now < until:
                return refusal
            fresh = self._kept(digest, await self._looked(credential, digest in self._known))
            if isinstance(fresh, Refusal):
                return fresh
            found = fresh
        if self._clock() >= found.expires:
            return _EXPIRED
        if places is None or found.anywhere or not found.audience.isdisjoint(map(_bare, places)):
            return found.lacking  # told to those alone whose token is for us
        log.info("a token was refused: audience")
        return _FAILED

    def is_due(self, credential: str) -> bool:
        """Whether it is time to look again at a token that is in use. One whose time is over is asked about no more:
        its issuer could not tell that from its being taken back."""
        digest = _digest(credential)
        found = self._good.get(digest)
        if found is None:
            return digest not in self._over
        return self._monotonic() >= found.ahead and self._clock() < found.ends

    async def renew(self, credential: str) -> Refusal | None:
        """Look again at a token that is in use: why it lets nobody in any more, or None. As long as the issuer's last word
        is believed, it changes nothing that it cannot be asked."""
        digest = _digest(credential)
        issuer = self._issuer_of(credential)
        fresh = None if self._has_ended(digest, issuer) else await self._looked(credential, True)
        # It may have ended while its issuer was asked.
        if fresh is None or (fresh is _UNAVAILABLE and self._has_ended(digest, issuer)):
            leeway_s = 0.0 if issuer is None else issuer.trusted.leeway_s
            _keep(self._over, digest, self._ends[digest][1] + leeway_s)
            return _EXPIRED
        found, now = self._good.get(digest), self._monotonic()
        if fresh is _UNAVAILABLE and found is not None and now < found.until:
            later = now + max(_AGAIN_S, (found.until - now) / 2)
            # Half of what is left each time: more often towards the end, when it begins to matter.
            self._good[digest] = replace(found, ahead=min(later, found.until))
            return None
        kept = self._kept(digest, fresh)
        return kept if isinstance(kept, Refusal) else kept.lacking

    def lapsed(self, credential: str) -> Refusal | None:
        """The refusal where the last word about a token is believed no more."""
        digest = _digest(credential)
        if digest in self._over or self._has_ended(digest, self._issuer_of(credential)):
            return None
        found = self._good.get(digest)
        return _UNAVAILABLE if found is None or self._monotonic() >= found.until else None

    def _kept(self, digest: bytes, fresh: _Good | Refusal) -> _Good | Refusal:
        if isinstance(fresh, Refusal):
            found = self._good.get(digest)
            if fresh is _UNAVAILABLE and found is not None and self._monotonic() < found.until:
                return fresh  # another look has found it good meanwhile, and is believed as long as it said
            self._good.pop(digest, None)
            if fresh is not _UNAVAILABLE:
                self._known.pop(digest, None)
            if fresh is _EXPIRED:
                _keep(self._over, digest, -inf)
            elif fresh is not _UNAVAILABLE:
                self._ends.pop(digest, None)
            _keep(self._bad, digest, (self._monotonic() + _REFUSED_S, fresh))
        else:
            _keep(self._good, digest, fresh)
            _keep(self._known, digest, True)
            _keep(self._ends, digest, (fresh.issuer, fresh.ends))
            self._over.pop(digest, None)
        return fresh

    def _issuer_of(self, credential: str) -> Issuer | None:
        seen = peek(credential)
        return self._of_opaque if seen is None else self._by_url.get(seen.issuer)

    def _has_ended(self, digest: bytes, issuer: Issuer | None) -> bool:
        """Whether a token that was good has come to its end. Only what its own issuer said counts, and only while that one is trusted."""
        whose, ends = self._ends.get(digest, ("", inf))
        if issuer is None or issuer.trusted.problem or issuer.trusted.issuer != whose:
            return False
        return self._clock() >= ends

    async def _looked(self, credential: str, known: bool) -> _Good | Refusal:
        seen, issuer = peek(credential), self._issuer_of(credential)
        try:
            if issuer is None or len(credential) > MOST_CHARS:
                raise TokenRefused("malformed" if seen is None else "issuer")
            claims = await issuer.check(credential, seen, known=known)
            caller = caller_of(issuer.trusted, claims)
        except TokenRefused as problem:
            gone = problem.why == "inactive" and self._has_ended(_digest(credential), issuer)
            return self._refused("expired" if gone else problem.why, issuer)
        except Unreachable:
            return _UNAVAILABLE
        trusted, now, until = issuer.trusted, self._monotonic(), issuer.believed_until()
        lacking = [one for one in trusted.required_scopes if one not in claims.scopes]
        return _Good(
            until,
            (now + until) / 2,
            trusted.issuer,
            claims.expires,
            claims.expires + trusted.leeway_s,
            caller,
            frozenset(map(_bare, claims.audience)),
            not set(trusted.audience).isdisjoint(claims.audience),
            _lacks(trusted, claims, lacking) if lacking else None,
        )

    def _refused(self, why: Why, issuer: Issuer | None) -> Refusal:
        name = "no issuer that is configured" if issuer is None else issuer.trusted.name
        log.info("a token of %s was refused: %s", name, _SAID.get(why, why))
        return _EXPIRED if why == "expired" else _FAILED


def caller_of(trusted: Trusted, claims: Claims) -> Caller:
    """Whom a token makes of its bearer. Raises `TokenRefused` where it says nothing that could be a name."""
    subject = claims.every.get(trusted.subject_claim) if trusted.subject_claim else claims.subject
    if not isinstance(subject, str) or subject != subject.strip():
        raise TokenRefused("subject")
    if not subject.isprintable() or hidden(subject):  # the record and grants are read by people
        raise TokenRefused("subject")
    name = f"{trusted.name}:{subject}"
    if not subject or len(name) > _MOST_NAME:
        raise TokenRefused("subject")
    said = UserContext(
        _text(claims.every.get(trusted.role_claim)) if trusted.role_claim else "",
        trusted.trust,
        (),
        _permissions(trusted, claims),
        tuple(sorted(claims.scopes)),  # a token that is renewed may name them in another order
        _steps(trusted, claims),
    )
    user = () if said == UserContext() else (said,)
    client = f"oauth:{_text(claims.client)}" if claims.client else None
    return Caller(name, "agent", client, token=True, user=user)


def _permissions(trusted: Trusted, claims: Claims) -> tuple[str, ...]:
    if trusted.permissions is None:
        return ()
    given = (one for scope in claims.scopes for one in trusted.permissions.get(scope, ()))
    return tuple(sorted(set(given))) or (NOTHING,)


def _steps(trusted: Trusted, claims: Claims) -> tuple[tuple[str, str], ...]:
    """Which scope would give what the token does not."""
    return tuple(
        (permission, scope)
        for scope, permissions in (trusted.permissions or {}).items()
        for permission in permissions
        if scope not in claims.scopes
    )


def _lacks(trusted: Trusted, claims: Claims, lacking: Sequence[str]) -> Refusal:
    """The challenge names all that a token needs, and what this one has: a client asks for just that."""
    wanted = dict.fromkeys((*claims.scopes, *trusted.required_scopes))
    return Refusal(
        "insufficient_scope",
        f"the access token lacks the scope {' '.join(lacking)}",
        {"scope": " ".join(wanted)},
    )


def _keep(kept: OrderedDict[bytes, _T], digest: bytes, value: _T) -> None:
    kept[digest] = value
    kept.move_to_end(digest)
    if len(kept) > _KEPT:
        kept.popitem(last=False)


def _text(value: Any) -> str:
    """A claim as one word; of several the first."""
    found = value[0] if isinstance(value, list) and value else value
    return found[:_MOST_NAME] if isinstance(found, str) and found.isprintable() else ""


def _bare(url: str) -> str:
    return url.rstrip("/")


def _digest(credential: str) -> bytes:
    return sha256(credential.encode("utf-8", "surrogatepass")).digest()
