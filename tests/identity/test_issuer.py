"""One issuer: its keys are fetched when they are needed, and never believed longer than they may be."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping

import pytest

from gatewright.identity import issuer as module
from gatewright.identity.issuer import (
    MOST_WAITING,
    PAUSE_S,
    Introspection,
    Issuer,
    Trusted,
    Unreachable,
)
from gatewright.identity.token_rules import Claims, TokenRefused, peek
from gatewright.transport.safe_fetch import Egress
from tests.identity.issuing import CLIENT, Issuing, issuing
from tests.servers.guarded import Clock

US = "http://127.0.0.1:8420/mcp"
KEPT_S = Trusted(name="", issuer="").keys_max_age_s


@pytest.fixture
async def server() -> AsyncIterator[Issuing]:
    async with issuing() as found:
        yield found


@pytest.fixture
def now() -> Clock:
    """Monotonic seconds by hand."""
    return Clock()


def _issuer(server: Issuing, now: Clock, **more: object) -> Issuer:
    trusted = Trusted(name="corp", issuer=server.issuer, **more)  # type: ignore[arg-type]
    return Issuer(trusted, clock=time.time, monotonic=now)


async def _subject(issuer: Issuer, token: str) -> str:
    return (await issuer.check(token, peek(token))).subject


async def _why(issuer: Issuer, token: str) -> str:
    with pytest.raises(TokenRefused) as caught:
        await issuer.check(token, peek(token))
    return caught.value.why


async def test_keys_are_found_by_discovery_and_fetched_once(server: Issuing, now: Clock) -> None:
    issuer = _issuer(server, now)
    found = await asyncio.gather(*(_subject(issuer, server.sign(US)) for _ in range(20)))
    assert set(found) == {"alice"}
    assert server.count("/jwks") == 1
    assert server.count("/.well-known/oauth-authorization-server") == 1


async def test_keys_whose_place_is_configured_need_no_discovery(
    server: Issuing, now: Clock
) -> None:
    issuer = _issuer(server, now, jwks_uri=f"{server.issuer}/jwks")
    assert await _subject(issuer, server.sign(US)) == "alice"
    assert [path for path, _ in server.heard] == ["/jwks"]


async def test_openid_s_document_does_where_oauth_s_is_missing(server: Issuing, now: Clock) -> None:
    server.broken.add("/.well-known/oauth-authorization-server")
    assert await _subject(_issuer(server, now), server.sign(US)) == "alice"
    assert server.count("/.well-known/openid-configuration") == 1


async def test_a_new_key_is_fetched_when_a_token_names_it(server: Issuing, now: Clock) -> None:
    issuer = _issuer(server, now)
    before = server.sign(US)
    assert await _subject(issuer, before) == "alice"
    server.rotate()
    now.now += PAUSE_S
    assert await _subject(issuer, server.sign(US)) == "alice"
    assert await _subject(issuer, before) == "alice"
    assert server.count("/jwks") == 2


async def test_names_of_keys_that_nobody_has_cause_no_flood(server: Issuing, now: Clock) -> None:
    issuer = _issuer(server, now)
    for number in range(50):
        token = server.sign(US, header={"kid": f"no-{number}"})
        assert await _why(issuer, token) == "key"
    assert server.count("/jwks") == 1
    now.now += PAUSE_S
    assert await _why(issuer, server.sign(US, header={"kid": "no"})) == "key"
    assert server.count("/jwks") == 2


async def test_a_key_that_was_withdrawn_is_good_no_longer_than_keys_are_kept(
    server: Issuing, now: Clock
) -> None:
    issuer = _issuer(server, now)
    before = server.sign(US)
    assert await _subject(issuer, before) == "alice"
    server.rotate(keep=False)
    now.now += KEPT_S
    assert await _why(issuer, before) == "key"
    assert await _subject(issuer, server.sign(US)) == "alice"


@pytest.mark.parametrize("age", [1.0, PAUSE_S - 1, PAUSE_S + 1, 3600.0])
async def test_how_old_keys_may_become_is_a_setting(
    server: Issuing, now: Clock, age: float
) -> None:
    """And holds to the second, also where it is less than the pause between two fetches for other reasons."""
    issuer = _issuer(server, now, keys_max_age_s=age, recheck_s=7200.0)
    before = server.sign(US)
    for turn in range(1, 4):
        assert await _subject(issuer, before) == "alice"
        assert issuer.believed_until() == now.now + age
        assert server.count("/jwks") == turn
        now.now += age
    await _subject(issuer, before)
    server.rotate(keep=False)
    now.now += age - 0.5
    assert await _subject(issuer, before) == "alice"
    assert issuer.believed_until() == now.now + 0.5
    now.now += 0.5
    assert await _why(issuer, before) == "key"


async def test_without_keys_that_are_fresh_nobody_is_let_in(server: Issuing, now: Clock) -> None:
    issuer, token = _issuer(server, now), server.sign(US)
    assert await _subject(issuer, token) == "alice"
    server.broken.add("/jwks")
    now.now += KEPT_S
    with pytest.raises(Unreachable, match="503"):
        await _subject(issuer, token)
    asked = server.count("/jwks")
    with pytest.raises(Unreachable):
        await _subject(issuer, token)
    assert server.count("/jwks") == asked, "a failure is believed for a while"
    server.broken.clear()
    now.now += PAUSE_S
    assert await _subject(issuer, token) == "alice"


async def test_an_issuer_that_is_not_there_lets_nobody_in(server: Issuing, now: Clock) -> None:
    issuer = Issuer(
        Trusted(name="gone", issuer="http://127.0.0.1:9"), clock=time.time, monotonic=now
    )
    with pytest.raises(Unreachable):
        await issuer.reach()
    token = server.sign(US)
    with pytest.raises(Unreachable):
        await issuer.check(token, peek(token))
    broken = _issuer(server, now, problem="there is no secret")
    for work in (broken.reach(), broken.check(token, peek(token))):
        with pytest.raises(Unreachable, match="no secret"):
            await work


async def test_metadata_of_another_issuer_is_not_used(server: Issuing, now: Clock) -> None:
    server.metadata["issuer"] = "https://elsewhere.example"
    with pytest.raises(Unreachable, match="elsewhere"):
        await _subject(_issuer(server, now), server.sign(US))


async def test_an_issuer_that_publishes_no_keys_says_so(server: Issuing, now: Clock) -> None:
    server.metadata["jwks_uri"] = None
    with pytest.raises(Unreachable, match="jwks_uri"):
        await _issuer(server, now).reach()


async def test_only_configured_algorithms_count(server: Issuing, now: Clock) -> None:
    issuer = _issuer(server, now, algorithms=("RS256",))
    assert await _why(issuer, server.sign(US)) == "algorithm"
    assert not server.heard


ASKING = {"introspection": Introspection(*CLIENT)}


async def test_an_opaque_token_is_asked_about(server: Issuing, now: Clock) -> None:
    """RFC 7662"""
    issuer, token = _issuer(server, now, **ASKING), server.opaque(US, "read")
    found = await issuer.check(token, None)
    assert (found.subject, found.audience, found.scopes) == ("alice", (US,), ("read",))
    assert server.asked("/introspect") == {"token": token, "token_type_hint": "access_token"}
    server.revoked.add(token)
    with pytest.raises(TokenRefused) as caught:
        await issuer.check(token, None)
    assert caught.value.why == "inactive"
    await issuer.reach()


async def test_an_issuer_that_does_not_answer_about_a_token_lets_nobody_in(
    server: Issuing, now: Clock
) -> None:
    token = server.opaque(US)
    wrong = _issuer(server, now, introspection=Introspection("gateway", "wrong"))
    with pytest.raises(Unreachable, match="401"):
        await wrong.check(token, None)
    server.metadata["introspection_endpoint"] = None
    with pytest.raises(Unreachable, match="introspection_endpoint"):
        await _issuer(server, now, **ASKING).check(token, None)
    placed = Introspection(*CLIENT, f"{server.issuer}/introspect")
    assert (await _issuer(server, now, introspection=placed).check(token, None)).subject == "alice"


async def test_a_text_that_is_no_token_is_no_question_for_an_issuer_of_signed_ones(
    server: Issuing, now: Clock
) -> None:
    assert await _why(_issuer(server, now), "opaque") == "malformed"
    assert "secret" not in repr(Introspection("a", "secret"))


class Slow(Egress):
    """An issuer that answers about a token called `good` (and lets in all that are not made up) and keeps everybody else waiting until it is `let`."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.asked = self.left = 0

    async def ask(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        *,
        outside: bool,
    ) -> tuple[int, bytes]:
        """Introspection."""
        assert body is not None
        self.asked += 1
        if b"token=good" not in body:
            try:
                await self.let.wait()
            except asyncio.CancelledError:
                self.left += 1
                raise
        if b"token=made-up" in body:
            return 200, b'{"active":false}'
        said = {"active": True, "sub": "alice", "aud": US, "exp": time.time() + 600}
        return 200, json.dumps(said).encode()


AT = Introspection(*CLIENT, "http://127.0.0.1:9/introspect")


def _slow(now: Clock) -> tuple[Slow, Issuer]:
    slow = Slow()
    trusted = Trusted(name="corp", issuer="http://127.0.0.1:9", introspection=AT)
    return slow, Issuer(trusted, clock=time.time, monotonic=now, egress=slow)


async def _flooded(issuer: Issuer, count: int) -> list[asyncio.Task[Claims]]:
    """So many made-up tokens, all of which wait."""
    tasks = [asyncio.create_task(issuer.check(f"made-up-{one}", None)) for one in range(count)]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


async def test_made_up_tokens_keep_nobody_from_being_asked_about_who_was_known(now: Clock) -> None:
    slow, issuer = _slow(now)
    tasks = await _flooded(issuer, MOST_WAITING + 8)
    assert slow.asked == 8
    assert not any(one.done() for one in tasks)
    assert (await issuer.check("good", None, known=True)).subject == "alice"
    slow.let.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in found] == [TokenRefused] * (MOST_WAITING + 8)
    assert (await issuer.check("good", None)).subject == "alice"


async def test_only_so_many_unknown_tokens_wait_and_the_log_says_it_once(
    now: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    slow, issuer = _slow(now)
    tasks = await _flooded(issuer, MOST_WAITING + 50)
    refused = [one for one in tasks if one.done()]
    assert len(refused) == 42
    assert {type(one.exception()) for one in refused} == {Unreachable}
    assert len(caplog.records) == 1
    slow.let.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (await issuer.check("good", None)).subject == "alice"


async def test_an_unknown_token_waits_no_longer_than_that(
    now: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.01)
    slow, issuer = _slow(now)
    tasks = await _flooded(issuer, 9)
    with pytest.raises(Unreachable, match="unknown tokens"):
        await tasks[8]
    slow.let.set()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_many_requests_with_one_token_are_one_question(now: Clock) -> None:
    """As after a restart, when nothing is known of any token: places are taken by tokens, not by requests."""
    slow, issuer = _slow(now)
    tokens = ["mine"] * 200 + ["yours"] * 200
    tasks = [asyncio.create_task(issuer.check(one, None)) for one in tokens]
    await asyncio.sleep(0.01)
    assert slow.asked == 2
    leaving, *others = tasks
    leaving.cancel()
    await asyncio.wait([leaving])
    slow.let.set()
    assert {one.subject for one in await asyncio.gather(*others)} == {"alice"}
    assert (leaving.cancelled(), slow.asked, slow.left) == (True, 2, 0), "nobody else's answer ends"
    await issuer.check("mine", None)
    assert slow.asked == 3, "an answer is for those who waited for it"


async def test_a_question_ends_when_nobody_waits_for_it_any_more(now: Clock) -> None:
    """Else whoever connects and leaves would leave questions behind, each in a place of its own."""
    slow, issuer = _slow(now)
    tasks = [asyncio.create_task(issuer.check("mine", None)) for _ in range(2)]
    used = asyncio.create_task(issuer.check("mine", None, known=True))
    await asyncio.sleep(0.01)
    assert slow.asked == 2, "what is in use waits behind no stranger's question"
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await asyncio.sleep(0)
    assert slow.left == 1
    slow.let.set()
    assert (await issuer.check("mine", None)).subject == (await used).subject == "alice"


async def test_an_endpoint_that_moves_is_found_and_the_old_one_told_nothing(
    server: Issuing, now: Clock
) -> None:
    issuer, token = _issuer(server, now, **ASKING), server.opaque(US)
    place = "/.well-known/oauth-authorization-server"
    for _ in range(3):
        assert (await issuer.check(token, None)).subject == "alice"
    assert server.count(place) == 1
    server.metadata["introspection_endpoint"] = f"{server.issuer}/elsewhere"
    now.now += KEPT_S
    with pytest.raises(Unreachable, match="404"):
        await issuer.check(token, None)
    assert (server.count("/introspect"), server.count(place)) == (3, 2)
    server.metadata["introspection_endpoint"] = f"{server.issuer}/introspect"
    now.now += KEPT_S
    assert (await issuer.check(token, None)).subject == "alice"


async def test_where_to_introspect_is_believed_no_longer_than_that(
    server: Issuing, now: Clock
) -> None:
    issuer, token = _issuer(server, now, **ASKING), server.opaque(US)
    assert (await issuer.check(token, None)).subject == "alice"
    place = "/.well-known/oauth-authorization-server"
    server.broken |= {place, "/.well-known/openid-configuration"}
    now.now += KEPT_S
    for _ in range(3):
        with pytest.raises(Unreachable, match="503"):
            await issuer.check(token, None)
    assert (server.count("/introspect"), server.count(place)) == (1, 2), "not for each token"
    server.broken.clear()
    now.now += PAUSE_S
    assert (await issuer.check(token, None)).subject == "alice"
