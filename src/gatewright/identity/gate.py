"""Gate `authenticate`: identifies the caller by API key, OAuth token or local endpoint, adds configured claims, rechecks running calls.

Theory: identity is decided by the endpoint a call came through and by the credential it carries, never
by anything the call says about itself (decision C-17). The question is asked for every call and not
once a connection, so that a revoked or expired key ends a running session with its next call.
Endpoints ask `identify` too, before they look up a session: both get their answer from the same place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from hashlib import sha256
from typing import Literal, Protocol

from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Back, Call, Caller, Refusal, UserContext
from gatewright.command_text import to_type
from gatewright.schemas.lookalikes import spellings
from gatewright.standing import Standing

__all__ = ["LOCAL", "Authenticate", "Bearers", "Keys"]

LOCAL = Caller("local", "owner")
"""The host of whoever started the process, over its own pipes. It runs agents, so it is no operator:
who may use a tool must not thereby be able to grant it."""

_KEPT = 65_536

_OWNED_DOORS = frozenset({"stdio"})


def _required() -> Refusal:
    return Refusal(
        "auth_required",
        "authentication is required: send the header `Authorization: Bearer KEY`; "
        f"`{to_type('key create NAME', known=False)}` makes a key",
    )


def _failed() -> Refusal:
    return Refusal(
        "auth_failed",
        "the credential is not valid here: check the key, or make a new one with "
        f"`{to_type('key create NAME', known=False)}`",
    )


def _expired() -> Refusal:
    return Refusal(
        "auth_expired",
        f"the key has expired: make a new one with `{to_type('key create NAME', known=False)}`",
    )


class Keys(Protocol):
    """Where API keys are looked up. Exact and current: a revoked key is refused at once."""

    def verify(self, credential: str) -> Caller | str:
        """The key's owner, or in one word why there is none: `expired`, or anything else."""


class Bearers(Protocol):
    """Where access tokens are known that somebody else gave out."""

    def known(self, credential: str) -> Caller | Literal["expired"] | None:
        """Whom a token that was looked at makes of its bearer."""

    def fresh(self, credential: str) -> bool:
        """Whether `look` would let its bearer in, and would have to wait for nobody to say so."""

    async def look(self, credential: str) -> Refusal | None:
        """Look at a token, unless that was done a moment ago: why it lets nobody in, or None."""


class Authenticate:
    """Gate `authenticate`."""

    name = "authenticate"

    def __init__(
        self,
        keys: Keys,
        *,
        tokens: Mapping[str, Caller] | None = None,
        anonymous: bool = False,
        users: Mapping[str, UserContext] | None = None,
        bearers: Bearers | None = None,
    ) -> None:
        """`tokens` are fixed credentials of this process's own making. `anonymous` lets callers
        without a credential in; one with a wrong credential never becomes anonymous. `users` is what
        the configuration says of callers by their ids, under `*` of all; `bearers` knows the access
        tokens of OAuth issuers, where there are any."""
        self._keys = keys
        # By digest, so that how long a look-up takes says nothing about how much of a guess was right.
        self._tokens = {_digest(token): caller for token, caller in (tokens or {}).items()}
        self._nobody: Caller | None = ANONYMOUS if anonymous else None
        self._users = users or {}
        self._bearers = bearers
        self._known: dict[Caller, Caller] = {}
        # Who comes without a credential, as `identify` says; nothing that it follows from changes.
        self._bare = self._nobody and (
            self.completed(self._nobody) if self._users else self._nobody
        )

    def identify(self, door: str, credential: str | None) -> Caller | Refusal:
        """Who presents `credential` at `door`, or why nobody does."""
        found: Caller | Refusal
        if door in _OWNED_DOORS and credential is None:  # whoever has the pipe started this process
            found = LOCAL
        elif credential is None:
            found = self._nobody or _required()  # worded for whoever hears it
        else:
            verified = self._keys.verify(credential)
            # A wrong credential never falls back to anonymous, or a revoked key would still let its owner in.
            found = verified if type(verified) is Caller else self._fixed(credential, verified)
        return self.completed(found) if self._users and type(found) is Caller else found

    def _fixed(self, credential: str, why: object) -> Caller | Refusal:
        """Whose fixed token it is, where it is no key: `why`."""
        found = self._tokens.get(_digest(credential))
        if found is not None:
            return found
        return _expired() if why == "expired" else _failed()

    def bearer(self, credential: str) -> Caller | Refusal:
        """Who shows an access token that a door has looked at, for the place where it is shown. No other way
        leads in with one: `identify` does not know for what a token was made."""
        found = None if self._bearers is None else self._bearers.known(credential)
        if type(found) is Caller:
            return self.completed(found) if self._users else found
        return _expired() if found == "expired" else _failed()

    def who(self, call: Call) -> Caller | Refusal:
        """Who makes a call, by what holds now."""
        if call.caller.token:
            return self.bearer(call.credential or "")
        return self.identify(call.door, call.credential)

    def standing(self, call: Call) -> Caller | Refusal:
        """Who makes a call that runs already. A token that nobody has looked at under this configuration, or that has come
        to its end, decides nothing here: tokens in use are looked at by whoever follows them (`identity.recheck`)."""
        if call.caller.token and self._bearers is not None:
            known = self._bearers.known(call.credential or "")
            if type(known) is not Caller:
                return call.caller
        found = self.who(call)
        ended = type(found) is Refusal and found.reason == "auth_expired"
        return (
            call.caller if ended else found
        )  # a key that has come to its end ends no call that began before

    def completed(self, caller: Caller) -> Caller:
        """The caller with what the configuration says of it. Of operators it says nothing."""
        if caller.kind == "operator":
            return caller
        known = self._known.get(caller)
        if known is None:
            names = (*spellings(caller.id), "*")
            said = tuple(self._users[one] for one in names if one in self._users)
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = replace(caller, user=caller.user + said) if said else caller
            self._known[caller] = known
        return known

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        # Anonymous, and known as such: asked of every call of many gateways.
        if call.credential is None and call.caller is self._bare and call.door not in _OWNED_DOORS:
            return call
        # Where it needs no wait: a call that has waited is asked about once more.
        bearers = self._bearers if call.caller.token else None
        if bearers is None or bearers.fresh(call.credential or ""):
            return self._known_by(call)
        return self._looked_at(call, bearers)

    async def _looked_at(self, call: Call, bearers: Bearers) -> Call | Refusal:
        """What only its issuer can judge may have been taken back since the connection was made."""
        return await bearers.look(call.credential or "") or self._known_by(call)

    def _known_by(self, call: Call) -> Call | Refusal:
        found = self.who(call)
        if found is call.caller:  # remembered objects, so nearly always
            return call
        if type(found) is Refusal:
            return found
        return call if found == call.caller else replace(call, caller=found)

    def stands(self, call: Call) -> Standing | None:
        """It is asked about each call: a key may be revoked or come to its end at any time. Tokens may have to be looked at."""
        return None if call.caller.token else Standing(fits=self._is_still)

    def _is_still(self, call: Call) -> bool:
        if call.credential is None and call.caller is self._bare and call.door not in _OWNED_DOORS:
            return True
        return not call.caller.token and self._known_by(call) is call

    def judge(self, call: Call) -> Refusal | None:
        """Why the call's credential is not good any more; None where it is."""
        found = self.standing(call)
        return found if type(found) is Refusal else None

    async def rehearse(self, call: Call) -> Call | Refusal:
        """Who is meant to call is who calls: a call that is not made has no credential."""
        return call


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
