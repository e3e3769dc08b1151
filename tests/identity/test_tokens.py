"""Tokens: looked at once in a while, believed for as long as they may be, and whom they make of their bearers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Caller, UserContext
from gatewright.identity.issuer import Introspection, Issuer, Trusted
from gatewright.identity.token_rules import Claims, TokenRefused
from gatewright.identity.tokens import Tokens, caller_of
from gatewright.mcp.wire.permissions import NOTHING
from gatewright.secret_scanning.invisible import hidden
from tests.identity.issuing import CLIENT, Issuing, issuing
from tests.servers.guarded import Clock

US = "http://127.0.0.1:8420/mcp"
ELSEWHERE = "http://127.0.0.1:8420/mcp/reader"


@pytest.fixture
async def server() -> AsyncIterator[Issuing]:
    async with issuing() as found:
        yield found


class House:
    """Tokens of one issuer, with clocks by hand."""

    def __init__(self, server: Issuing, **more: Any) -> None:
        self.now, self.later = Clock(), Clock()
        self.now.now = time.time()
        trusted = Trusted(name="corp", issuer=server.issuer, **more)
        self.issuer = Issuer(trusted, clock=self.now, monotonic=self.later)
        self.tokens = Tokens([self.issuer], clock=self.now, monotonic=self.later)

    async def reason(self, token: str, *places: str) -> str | None:
        """Why a token lets nobody in."""
        found = await self.tokens.look(token, places or (US,))
        return None if found is None else found.reason

    async def caller(self, token: str) -> Caller:
        """Whom it makes of its bearer."""
        assert await self.tokens.look(token) is None
        found = self.tokens.known(token)
        assert isinstance(found, Caller)
        return found


async def test_a_token_makes_a_caller_of_its_issuer(server: Issuing) -> None:
    house, token = House(server), server.sign(US)
    assert house.tokens.known(token) is None, "nobody has looked at it"
    found = await house.caller(token)
    assert (found.id, found.kind, found.key_id) == ("corp:alice", "agent", "oauth:client-1")
    assert found.token
    assert await house.caller(token) is found


async def test_a_token_is_fresh_where_a_look_at_it_asks_nobody(server: Issuing) -> None:
    house = House(server, leeway_s=0)
    token = server.sign(US, exp=house.now.now + 1_000_000)
    ending = server.sign(US, exp=house.now.now + 10)
    assert not house.tokens.fresh(token), "nobody has looked at it"
    for one in (token, ending):
        assert await house.reason(one) is None
        assert house.tokens.fresh(one)
    house.now.now += 10
    assert (house.tokens.fresh(token), house.tokens.fresh(ending)) == (True, False)
    house.later.now += 1_000_000
    assert not house.tokens.fresh(token), "its issuer's last word is believed no more"
    assert not house.tokens.fresh("a.b.c")


async def test_a_token_is_for_the_resource_that_it_names(server: Issuing) -> None:
    """RFC 8707: an audience that is somebody else lets nobody in, whatever was looked at before."""
    house, narrow = House(server), server.sign(ELSEWHERE + "/")
    assert await house.reason(narrow, ELSEWHERE) is None
    assert await house.reason(narrow, US) == "auth_failed"
    assert await house.reason(server.sign(["https://x.example", US])) is None
    assert await house.reason(server.sign("*")) == "auth_failed"
    client = House(server, audience=("our-client-id",))
    assert await client.reason(server.sign("our-client-id"), ELSEWHERE) is None
    assert await house.reason(server.sign("our-client-id")) == "auth_failed"


async def test_everything_that_is_wrong_with_a_token_is_answered_alike(server: Issuing) -> None:
    async with issuing() as other:
        house = House(server)
        found = {
            name: await house.tokens.look(token, [US])
            for name, token in server.made(US, other).items()
            if name != "revoked"  # which nobody can see who does not ask
        }
    reasons = {name: None if one is None else one.reason for name, one in found.items()}
    assert reasons.pop("expired") == "auth_expired"
    assert set(reasons.values()) == {"auth_failed"}
    assert len({one.message for one in found.values() if one and one.reason == "auth_failed"}) == 1
    assert not other.heard, "no token's word leads to anybody who is not configured"


async def test_a_token_ends_when_its_time_is_over(server: Issuing) -> None:
    house = House(server, leeway_s=0)
    token = server.sign(US, exp=house.now.now + 10)
    assert await house.reason(token) is None
    house.now.now += 10
    assert house.tokens.known(token) == "expired"
    assert await house.reason(token) == "auth_expired"


@pytest.mark.parametrize("recheck", [0.5, Trusted(name="", issuer="").recheck_s, 3600.0])
async def test_a_revoked_token_is_good_no_longer_than_is_said(
    server: Issuing, recheck: float
) -> None:
    house = House(server, introspection=Introspection(*CLIENT), recheck_s=recheck)
    token = server.opaque(US)
    assert await house.reason(token) is None
    assert await house.reason(token) is None
    assert server.count("/introspect") == 1
    server.revoked.add(token)
    house.later.now += recheck / 2
    assert await house.reason(token) is None
    house.later.now += recheck / 2
    assert await house.reason(token) == "auth_failed"
    assert house.tokens.known(token) is None


async def test_a_token_may_be_asked_about_every_time(server: Issuing) -> None:
    """`recheck_s = 0`: taken back is taken back."""
    house = House(server, introspection=Introspection(*CLIENT), recheck_s=0.0)
    token = server.opaque(US)
    for turn in range(1, 4):
        assert await house.reason(token) is None
        assert server.count("/introspect") == turn
        assert isinstance(house.tokens.known(token), Caller), "the gate has yet to look"
    server.revoked.add(token)
    assert await house.reason(token) == "auth_failed"


async def test_a_withdrawn_key_ends_what_was_signed_with_it(server: Issuing) -> None:
    """No later than the keys are too old: looking at a token does not lengthen that."""
    house = House(server, recheck_s=60.0, keys_max_age_s=100.0)
    token = server.sign(US)
    assert await house.reason(token) is None
    server.rotate(keep=False)
    for _ in range(2):
        house.later.now += 49.0
        assert await house.reason(token) is None
    house.later.now += 2.0
    assert await house.reason(token) == "auth_failed"


async def test_a_token_in_use_is_looked_at_in_good_time(server: Issuing) -> None:
    """So that an issuer which is away for a moment ends nothing, and one that stays away does."""
    house = House(server, introspection=Introspection(*CLIENT), recheck_s=40.0)
    token = server.opaque(US)
    assert house.tokens.is_due(token), "nobody has looked at it"
    assert await house.reason(token) is None
    assert not house.tokens.is_due(token)
    server.broken.add("/introspect")
    for after in (20.0, 10.0, 5.0, 2.5, 1.25):
        house.later.now += after
        assert house.tokens.is_due(token)
        assert await house.tokens.renew(token) is None
        assert not house.tokens.is_due(token)
        assert isinstance(house.tokens.known(token), Caller)
    house.later.now += 1.25
    assert house.tokens.is_due(token)
    gone = await house.tokens.renew(token)
    assert gone is not None
    assert (gone.reason, house.tokens.known(token)) == ("issuer_unavailable", None)
    server.broken.clear()
    assert await house.tokens.renew(token) is None
    house.later.now += 20.0
    server.revoked.add(token)
    refused = await house.tokens.renew(token)
    assert refused is not None
    assert (refused.reason, house.tokens.known(token)) == ("auth_failed", None)


async def test_nobody_asks_about_a_token_whose_time_is_over(server: Issuing) -> None:
    house = House(server, leeway_s=0, recheck_s=4.0)
    token = server.sign(US, exp=house.now.now + 10)
    assert await house.reason(token) is None
    house.later.now += 2
    assert house.tokens.is_due(token)
    house.now.now += 10
    assert not house.tokens.is_due(token)


async def test_a_flood_of_one_bad_token_is_one_question(server: Issuing) -> None:
    house = House(server, introspection=Introspection(*CLIENT))
    for _ in range(20):
        assert await house.reason("guess") == "auth_failed"
    assert server.count("/introspect") == 1


async def test_who_was_good_waits_behind_nobody_s_guesses(
    server: Issuing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also once its issuer was away, and when a token in use is looked at after a reload."""
    house = House(server, introspection=Introspection(*CLIENT), recheck_s=40.0)
    known: list[bool] = []
    check = Issuer.check

    async def watched(self: Issuer, token: str, seen: Any, **more: bool) -> Claims:
        known.append(more["known"])
        return await check(self, token, seen, **more)

    monkeypatch.setattr(Issuer, "check", watched)
    token = server.opaque(US)
    assert await house.reason(token) is None
    server.broken.add("/introspect")
    house.later.now += 40.0
    assert await house.reason(token) == "issuer_unavailable"
    server.broken.clear()
    house.later.now += 40.0
    assert await house.reason(token) is None
    assert known == [False, True, True]
    server.revoked.add(token)
    house.later.now += 40.0
    assert await house.reason(token) == "auth_failed"
    house.later.now += 40.0
    assert await house.reason(token) == "auth_failed"
    assert known == [False, True, True, True, False]
    assert await House(server, introspection=Introspection(*CLIENT)).tokens.renew(token) is not None
    assert known.pop() is True, "it is in use"


async def test_an_issuer_that_cannot_be_asked_has_a_reason_of_its_own(server: Issuing) -> None:
    server.broken.add("/jwks")
    assert await House(server).reason(server.sign(US)) == "issuer_unavailable"


async def test_a_token_without_a_scope_that_is_needed_names_all_of_them(server: Issuing) -> None:
    house = House(server, required_scopes=("mcp", "tools"))
    token = server.sign(US, scope="mcp other")
    found = await house.tokens.look(token, [US])
    assert found is not None
    assert (found.reason, found.details) == ("insufficient_scope", {"scope": "mcp other tools"})
    assert house.tokens.known(token) is None
    assert await house.reason(server.sign(US, scope="tools mcp")) is None


async def test_several_issuers_are_told_apart_by_their_own_word(server: Issuing) -> None:
    async with issuing() as second:
        now = Clock()
        both = [
            Issuer(Trusted(name=name, issuer=one.issuer), clock=time.time, monotonic=now)
            for name, one in (("a", server), ("b", second))
        ]
        tokens = Tokens(both, clock=time.time, monotonic=now)
        for name, one in (("a", server), ("b", second)):
            token = one.sign(US)
            assert await tokens.look(token, [US]) is None
            found = tokens.known(token)
            assert isinstance(found, Caller)
            assert found.id == f"{name}:alice"
        assert await tokens.look("opaque", [US]) is not None


def _claims(**more: Any) -> Claims:
    return Claims("alice", (US,), 10.0, "app", **more)


def _trusted(**more: Any) -> Trusted:
    return Trusted(name="corp", issuer="https://auth.example", **more)


def test_scopes_give_what_the_configuration_says() -> None:
    trusted = _trusted(
        permissions={
            "read": ("kernel.tools.list", "filesystem.read"),
            "call": ("kernel.tool.invoke:*",),
        },
        trust="community",
        role_claim="roles",
    )
    claims = _claims(scopes=("read", "unknown"), every={"roles": ["analyst", "x"]})
    (said,) = caller_of(trusted, claims).user
    assert said == UserContext(
        "analyst",
        "community",
        (),
        ("filesystem.read", "kernel.tools.list"),
        ("read", "unknown"),
        (("kernel.tool.invoke:*", "call"),),
    )
    both, reverse = (
        caller_of(trusted, _claims(scopes=scopes, every=claims.every))
        for scopes in (("call", "read"), ("read", "call"))
    )
    assert both == reverse
    (nothing,) = caller_of(trusted, _claims()).user
    assert nothing.permissions == (NOTHING,)


def test_without_a_word_about_scopes_grants_decide() -> None:
    (said,) = caller_of(_trusted(), _claims(scopes=("read",))).user
    assert (said.permissions, said.steps) == ((), ())
    assert caller_of(_trusted(), _claims()).user == ()


@pytest.mark.parametrize("name", ["", " a", "a\nb", "x" * 200, 7, None])
def test_what_is_no_name_names_nobody(name: object) -> None:
    with pytest.raises(TokenRefused, match="subject"):
        caller_of(_trusted(subject_claim="email"), _claims(every={"email": name}))


_CHARS = st.characters() | st.sampled_from(
    "\u3164\u2800\u034f\u200b\u202e\u00ad\ufe0f\x1b\n\x00 *:/"
)


@given(
    st.none()
    | st.booleans()
    | st.integers()
    | st.lists(st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=1)
    | st.text(_CHARS, max_size=140)
    | st.sampled_from(["local", "anonymous", "mgp", "gatewright", "*", "root", "operator"])
)
def test_whatever_a_claim_holds_the_caller_is_an_agent_of_its_issuer_with_a_visible_name(
    subject: Any,
) -> None:
    """No claim makes an owner or an operator, a name that others have, or one that people misread."""
    for trusted, claims in (
        (_trusted(), Claims(subject, (US,), 10.0, "app")),
        (_trusted(subject_claim="email"), _claims(every={"email": subject})),
    ):
        try:
            caller = caller_of(trusted, claims)
        except TokenRefused:
            continue
        assert caller.id == f"corp:{subject}"
        assert (caller.kind, caller.token) == ("agent", True)
        assert (caller.id.isprintable(), hidden(caller.id)) == (True, "")
        assert len(caller.id) <= 128


def test_the_client_in_the_record_is_one_visible_line() -> None:
    found = caller_of(_trusted(), Claims("a", (US,), 10.0, "x\n\x1b[31my"))
    assert found.key_id == "oauth:"
    assert caller_of(_trusted(), Claims("a", (US,), 10.0, "c" * 500)).key_id == "oauth:" + "c" * 128


def test_another_claim_may_name_the_caller() -> None:
    claims = _claims(every={"email": "ann@corp.example"})
    assert caller_of(_trusted(subject_claim="email"), claims).id == "corp:ann@corp.example"
