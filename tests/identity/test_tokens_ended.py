"""Tokens that come to their end while they are in use: of issuers that are asked, which then say what they say of those taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from gatewright.call import Refusal
from gatewright.identity.issuer import Introspection, Issuer, Trusted
from gatewright.identity.token_rules import Claims
from gatewright.identity.tokens import Tokens
from tests.identity.issuing import CLIENT, Issuing, issuing
from tests.identity.test_tokens import US, House


@pytest.fixture
async def server() -> AsyncIterator[Issuing]:
    async with issuing() as found:
        yield found


class Passing(House):
    """Time passes for it, and it is configured anew."""

    def reload(self, *issuers: Issuer) -> None:
        """What else is written about issuers is another now."""
        kept = issuers or (self.issuer,)
        clocks: dict[str, Any] = {"clock": self.now, "monotonic": self.later}
        self.tokens = Tokens(kept, before=self.tokens, **clocks)

    def pass_by(self, seconds: float) -> None:
        """Time passes, by both clocks."""
        self.now.now += seconds
        self.later.now += seconds

    async def follow(self, token: str) -> Refusal | None:
        """What whoever follows tokens in use does every half a second."""
        return await self.tokens.renew(token) if self.tokens.is_due(token) else None


class Opaque(Passing):
    """The issuer is asked, by the same clock; `token` ends after 100 seconds."""

    def __init__(self, server: Issuing, **more: Any) -> None:
        super().__init__(server, introspection=Introspection(*CLIENT), **more)
        server.clock = self.now
        self.token = server.opaque(US)
        server.ends[self.token] = self.now.now + 100


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("away", [False, True])
async def test_an_opaque_token_that_ends_is_asked_about_no_more_and_refuses_no_call_that_runs(
    server: Issuing, shown: bool, away: bool
) -> None:
    """From its end on an issuer calls it inactive, as one that was taken back. Whoever shows it again changes nothing of that."""
    house = Opaque(server)
    assert await house.reason(house.token) is None
    for _ in range(198):
        house.pass_by(0.5)
        assert await house.follow(house.token) is None
    asked = server.count("/introspect")
    assert asked < 10
    if away:
        server.broken.add("/introspect")
    for turn in range(400):
        house.pass_by(0.5)
        if shown and turn % 20 == 19:
            await house.reason(house.token)
        refused = await house.follow(house.token)
        assert refused is None or refused.reason == "auth_expired"  # which ends no call
        assert house.tokens.lapsed(house.token) is None or house.now.now < server.ends[house.token]  # type: ignore[operator]
    assert server.count("/introspect") - asked <= (21 if shown else 1)
    if not away:
        assert await house.reason(house.token) == "auth_expired"
        assert house.tokens.known(house.token) == "expired"


async def test_a_token_that_ends_while_its_issuer_is_asked_has_ended(
    server: Issuing, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = Opaque(server)
    assert await house.reason(house.token) is None
    house.pass_by(99.9)
    assert house.tokens.is_due(house.token)
    check = Issuer.check

    async def slow(self: Issuer, token: str, seen: Any, **more: bool) -> Claims:
        house.now.now += 0.2
        return await check(self, token, seen, **more)

    monkeypatch.setattr(Issuer, "check", slow)
    refused = await house.tokens.renew(house.token)
    assert refused is not None
    assert refused.reason == "auth_expired"
    assert not house.tokens.is_due(house.token)
    house = Opaque(server)
    assert await house.reason(house.token) is None
    house.pass_by(99.9)
    server.broken.add("/introspect")
    refused = await house.tokens.renew(house.token)
    assert refused is not None
    assert refused.reason == "auth_expired", "and not that its issuer is away"


@pytest.mark.parametrize("seconds", [16, 50, 99.9])
async def test_an_opaque_token_that_is_taken_back_before_its_end_is_refused(
    server: Issuing, seconds: float
) -> None:
    house = Opaque(server)
    assert await house.reason(house.token) is None
    house.pass_by(seconds)
    server.revoked.add(house.token)
    refused = await house.follow(house.token)
    assert refused is not None
    assert refused.reason == "auth_failed"
    house.pass_by(100)
    assert await house.reason(house.token) == "auth_failed", "its end is no excuse"


async def test_what_is_known_of_the_end_of_a_token_outlives_a_reload_while_its_issuer_is_trusted(
    server: Issuing,
) -> None:
    house = Opaque(server)
    assert await house.reason(house.token) is None
    house.pass_by(101)
    asked = server.count("/introspect")
    house.reload()
    for _ in range(3):
        refused = await house.follow(house.token)
        assert refused is None or refused.reason == "auth_expired"
    assert not house.tokens.is_due(house.token)
    assert server.count("/introspect") == asked
    other = Trusted(name="other", issuer="https://elsewhere.example")
    house.reload(Issuer(other, clock=house.now, monotonic=house.later))
    refused = await house.follow(house.token)
    assert refused is not None
    assert refused.reason == "auth_failed"


async def test_a_token_within_its_leeway_goes_on_after_a_reload_though_nobody_asks_about_it(
    server: Issuing,
) -> None:
    """Only what runs is told that it has ended, which ends no call."""
    house = Passing(server)
    token = server.sign(US, exp=house.now.now + 5)
    assert await house.reason(token) is None
    house.pass_by(10)
    house.reload()
    refused = await house.follow(token)
    assert refused is not None
    assert refused.reason == "auth_expired"
    assert house.tokens.known(token) != "expired"
    assert not house.tokens.is_due(token)
    assert await house.reason(token) is None
    house.pass_by(25)
    assert house.tokens.known(token) == "expired"
    assert await house.reason(token) == "auth_expired"


async def test_an_issuer_that_names_no_end_is_asked_again_and_a_signature_without_one_is_no_use(
    server: Issuing, caplog: pytest.LogCaptureFixture
) -> None:
    """RFC 7662 §2.2, RFC 9068 §2.2."""
    house = Opaque(server)
    server.ends[house.token] = None
    assert await house.reason(house.token) is None
    house.pass_by(1_000_000)
    assert await house.reason(house.token) is None
    assert server.count("/introspect") == 2
    server.revoked.add(house.token)
    house.pass_by(30)
    assert await house.reason(house.token) == "auth_failed"
    caplog.set_level("INFO", "gatewright.identity")
    assert await House(server).reason(server.sign(US, exp=None)) == "auth_failed"
    assert "no exp" in caplog.text
