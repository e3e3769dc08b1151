"""The gate `authenticate`: a credential becomes a caller, or the call ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from gatewright.call import ANONYMOUS, Call, Caller, Refusal, UserContext, verdict_of
from gatewright.identity.gate import LOCAL, Authenticate
from gatewright.identity.keys import KeyStore
from tests.gate_parts import Mute, a_call
from tests.storage.parts import state_in

RUNTIME = Caller("cli", "operator")


class Clock:
    """Unix seconds that only the test moves."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock at a fixed time."""
    return Clock()


@pytest.fixture
def keys(tmp_path: Path, clock: Clock) -> Iterator[KeyStore]:
    """A real key store."""
    store = KeyStore(state_in(tmp_path), clock=clock, random=os.urandom)
    yield store
    store.close()


def _reason(found: object) -> str:
    assert isinstance(found, Refusal)
    return found.reason


async def test_a_valid_key_makes_its_owner_the_caller(keys: KeyStore) -> None:
    key, secret = keys.create("agent.one", by="test")
    gate = Authenticate(keys)
    call = await verdict_of(gate, a_call(caller=ANONYMOUS, credential=secret), Mute())
    assert isinstance(call, Call)
    assert call.caller == Caller("agent.one", "agent", key.id)


async def test_a_call_whose_caller_is_known_already_is_handed_on_as_it_is(keys: KeyStore) -> None:
    _, secret = keys.create("agent.one", by="test")
    gate = Authenticate(keys)
    caller = gate.identify("http", secret)
    assert isinstance(caller, Caller)
    call = a_call(caller=caller, credential=secret)
    assert await verdict_of(gate, call, Mute()) is call


async def test_what_a_door_believed_is_not_believed_again(keys: KeyStore) -> None:
    """MGP-5.5-3: whoever the call says it is from, the credential decides."""
    _, secret = keys.create("agent.one", by="test")
    call = await verdict_of(Authenticate(keys), a_call(caller=LOCAL, credential=secret), Mute())
    assert isinstance(call, Call)
    assert call.caller.id == "agent.one"
    assert (
        _reason(await verdict_of(Authenticate(keys), a_call(caller=LOCAL), Mute()))
        == "auth_required"
    )


def test_without_a_credential_authentication_is_required(keys: KeyStore) -> None:
    """MGP-14.3-3"""
    assert _reason(Authenticate(keys).identify("http", None)) == "auth_required"


@pytest.mark.parametrize(
    "credential", ["", "nonsense", "gw_12345678_" + "0" * 43, "\ud800", "é" * 9]
)
def test_a_wrong_credential_is_refused(keys: KeyStore, credential: str) -> None:
    assert _reason(Authenticate(keys).identify("http", credential)) == "auth_failed"


def test_a_wrong_credential_does_not_make_an_anonymous_caller(keys: KeyStore) -> None:
    gate = Authenticate(keys, anonymous=True)
    assert gate.identify("http", None) == ANONYMOUS
    assert _reason(gate.identify("http", "nonsense")) == "auth_failed"


def test_a_key_is_refused_from_the_moment_it_expires(keys: KeyStore, clock: Clock) -> None:
    """MGP-14.3-4"""
    _, secret = keys.create("agent.one", expires=clock.now + 10, by="test")
    gate = Authenticate(keys)
    assert isinstance(gate.identify("http", secret), Caller)
    clock.now += 10
    assert _reason(gate.identify("http", secret)) == "auth_expired"


def test_a_revoked_key_is_refused_at_once(keys: KeyStore) -> None:
    key, secret = keys.create("agent.one", by="test")
    gate = Authenticate(keys)
    assert isinstance(gate.identify("http", secret), Caller)
    keys.revoke(key.id, by="test")
    assert _reason(gate.identify("http", secret)) == "auth_failed"


def test_a_fixed_token_speaks_for_whom_it_was_made(keys: KeyStore) -> None:
    gate = Authenticate(keys, tokens={"runtime-token": RUNTIME})
    assert gate.identify("http", "runtime-token") == RUNTIME
    assert _reason(gate.identify("http", "runtime-toke")) == "auth_failed"


def test_the_pipes_of_the_process_belong_to_its_owner(keys: KeyStore) -> None:
    assert Authenticate(keys).identify("stdio", None) is LOCAL


def test_what_is_shown_on_the_pipes_of_the_process_counts_as_anywhere(keys: KeyStore) -> None:
    cursor = Caller("cursor", "owner")
    gate = Authenticate(keys, tokens={"t~cursor": cursor})
    assert gate.identify("stdio", "t~cursor") is cursor
    assert _reason(gate.identify("stdio", "t~nobody")) == "auth_failed"
    assert _reason(gate.identify("stdio", "")) == "auth_failed"


@pytest.mark.parametrize("door", ["http", "websocket", "sse", "STDIO", ""])
def test_no_other_door_is_owned_by_anybody(keys: KeyStore, door: str) -> None:
    assert _reason(Authenticate(keys).identify(door, None)) == "auth_required"


async def test_a_refusal_never_repeats_the_credential(keys: KeyStore) -> None:
    found = await verdict_of(Authenticate(keys), a_call(credential="gw_secret"), Mute())
    assert isinstance(found, Refusal)
    assert "gw_secret" not in f"{found.message}{found.details}"


async def test_a_call_that_runs_is_judged_by_what_its_key_is_worth_now(
    keys: KeyStore, clock: Clock
) -> None:
    key, secret = keys.create("bot", expires=clock.now + 10, by="test")
    gate = Authenticate(keys)
    call = a_call(credential=secret)
    assert gate.judge(call) is None
    clock.now += 10
    assert gate.judge(call) is None  # it began before its key came to its end
    keys.revoke(key.id, by="test")
    found = gate.judge(call)
    assert found is not None
    assert found.reason == "auth_failed"


async def test_who_is_meant_to_call_in_a_rehearsal_needs_no_credential(keys: KeyStore) -> None:
    call = a_call(caller=Caller("bot"))
    assert await Authenticate(keys).rehearse(call) is call


USERS = {"ann": UserContext("analyst"), "*": UserContext(trust="community")}


def test_what_the_configuration_says_of_a_caller_stands_beside_its_key(keys: KeyStore) -> None:
    """GRH-sec-3"""
    limited = UserContext(resources=("/srv/**",))
    _, secret = keys.create("ann", user=limited, by="test")
    gate = Authenticate(keys, users=USERS)
    found = gate.identify("http", secret)
    assert isinstance(found, Caller)
    assert found.user == (limited, USERS["ann"], USERS["*"])
    assert gate.identify("http", secret) is found
    plain = Authenticate(keys).identify("http", secret)
    assert isinstance(plain, Caller)
    assert plain.user == (limited,)


@pytest.mark.parametrize(
    ("key", "said"), [("Jos\u00e9", "Jose\u0301"), ("Jose\u0301", "Jos\u00e9")]
)
def test_what_is_said_of_a_name_is_said_of_it_in_every_unicode_form(
    keys: KeyStore, key: str, said: str
) -> None:
    _, secret = keys.create(key, by="test")
    found = Authenticate(keys, users={said: USERS["ann"]}).identify("http", secret)
    assert isinstance(found, Caller)
    assert found.user == (USERS["ann"],)


def test_everybody_is_said_of_the_host_and_of_those_without_a_key(keys: KeyStore) -> None:
    gate = Authenticate(keys, users=USERS, anonymous=True)
    for found in (gate.identify("stdio", None), gate.identify("http", None)):
        assert isinstance(found, Caller)
        assert found.user == (USERS["*"],)


def test_of_an_operator_nothing_is_said(keys: KeyStore) -> None:
    _, secret = keys.create("ann", kind="operator", by="test")
    found = Authenticate(keys, users=USERS).identify("http", secret)
    assert isinstance(found, Caller)
    assert (found.kind, found.user) == ("operator", ())


BEARER = Caller("corp:alice", token=True)


class Tokens:
    """One token that was looked at; `refusal` is what a closer look comes to."""

    def __init__(self) -> None:
        self.found: Caller | Literal["expired"] | None = BEARER
        self.refusal: Refusal | None = None
        self.lately = False
        self.looked = 0
        self.seen: list[str] = []

    def known(self, credential: str) -> Caller | Literal["expired"] | None:
        return self.found if credential == "a.b.c" else None

    def fresh(self, credential: str) -> bool:
        return self.lately

    async def look(self, credential: str) -> Refusal | None:
        self.looked += 1
        self.seen.append(credential)
        return self.refusal


async def test_a_token_that_was_looked_at_is_looked_at_again_for_each_call(keys: KeyStore) -> None:
    tokens = Tokens()
    gate = Authenticate(keys, bearers=tokens, users={"corp:alice": UserContext("analyst")})
    caller = gate.bearer("a.b.c")
    assert isinstance(caller, Caller)
    assert caller.user == (UserContext("analyst"),)
    call = a_call(caller=caller, credential="a.b.c")
    assert await verdict_of(gate, call, Mute()) is call
    assert tokens.seen == ["a.b.c"]
    tokens.refusal = Refusal("auth_failed", "revoked meanwhile")
    assert await verdict_of(gate, call, Mute()) is tokens.refusal


def test_a_token_that_was_looked_at_a_moment_ago_makes_no_call_wait(keys: KeyStore) -> None:
    """A call that waits in a gate is asked about by all of them once more."""
    tokens = Tokens()
    gate = Authenticate(keys, bearers=tokens)
    call = a_call(caller=BEARER, credential="a.b.c")
    tokens.lately = True
    assert gate(call, Mute()) is call
    tokens.found = None
    assert _reason(gate(call, Mute())) == "auth_failed"
    assert tokens.looked == 0


async def test_a_token_that_is_not_known_or_over_lets_nobody_in(keys: KeyStore) -> None:
    tokens = Tokens()
    gate = Authenticate(keys, bearers=tokens)
    assert _reason(gate.bearer("x.y.z")) == "auth_failed"
    assert _reason(Authenticate(keys).bearer("a.b.c")) == "auth_failed"
    tokens.found = "expired"
    assert _reason(gate.bearer("a.b.c")) == "auth_expired"


def test_a_token_decides_nothing_of_a_call_that_runs_but_by_those_who_look_at_it(
    keys: KeyStore,
) -> None:
    """Another configuration knows no tokens yet, and one that ends ends no call; where no tokens are taken any more, it does."""
    tokens = Tokens()
    gate = Authenticate(keys, bearers=tokens, users={"corp:alice": UserContext("analyst")})
    call = a_call(caller=BEARER, credential="a.b.c")
    now = gate.standing(call)
    assert isinstance(now, Caller)
    assert now.user == (UserContext("analyst"),)
    for found in (None, "expired"):
        tokens.found = found
        assert gate.standing(call) is BEARER
        assert gate.judge(call) is None
    assert _reason(Authenticate(keys).standing(call)) == "auth_failed"
    assert Authenticate(keys).judge(call) is not None


def test_no_token_leads_in_where_nobody_looks_at_what_it_was_made_for(keys: KeyStore) -> None:
    """A door that only identifies takes no tokens, even those that another door has let in."""
    gate = Authenticate(keys, bearers=Tokens())
    assert isinstance(gate.bearer("a.b.c"), Caller)
    assert _reason(gate.identify("groundhog", "a.b.c")) == "auth_failed"


async def test_nobody_looks_at_a_key_as_at_a_token(keys: KeyStore) -> None:
    _, secret = keys.create("ann", by="test")
    tokens = Tokens()
    gate = Authenticate(keys, bearers=tokens)
    caller = gate.identify("http", secret)
    assert isinstance(caller, Caller)
    call = a_call(caller=caller, credential=secret)
    assert await verdict_of(gate, call, Mute()) is call
    assert tokens.looked == 0


async def test_a_call_by_token_that_shows_none_is_nobodys(keys: KeyStore) -> None:
    tokens = Tokens()
    gate = Authenticate(keys, bearers=tokens)
    assert _reason(await verdict_of(gate, a_call(caller=BEARER), Mute())) == "auth_failed"
    assert tokens.seen == [""]
    assert gate.judge(a_call(caller=BEARER, credential="a.b.c")) is None


def test_what_is_said_of_everybody_makes_nobody_of_a_wrong_credential(keys: KeyStore) -> None:
    gate = Authenticate(keys, users=USERS)
    assert _reason(gate.identify("http", "nonsense")) == "auth_failed"
    assert _reason(gate.identify("http", None)) == "auth_required"
    assert _reason(gate.bearer("x.y.z")) == "auth_failed"
