"""What the machine makes of refusals: which of them take a refresh token away, and which pass."""

from __future__ import annotations

import pytest

from gatewright.oauth.client import Identity
from gatewright.oauth.login import Stopped, Visit
from tests.oauth.logins import (
    CALLBACK,
    ISSUER,
    OURS,
    after_metadata,
    grant,
    login,
    query,
    resource,
)


def test_a_refused_refresh_leads_to_a_person_or_is_spent() -> None:
    machine = login(grant=grant(), known=lambda *_: OURS)
    after_metadata(machine)
    assert query(machine.replied(400, b'{"error":"invalid_grant"}', 0))["scope"] == "basic all"
    alone = login(grant=grant(), callback="")
    after_metadata(alone)
    stopped = alone.replied(400, b'{"error":"invalid_grant"}', 0)
    assert stopped == Stopped("nobody has logged in", login=True, spent=True)


@pytest.mark.parametrize("callback", ["", CALLBACK])
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (302, b""),
        (307, b""),
        (400, b"<html>"),
        (401, b""),
        (403, b"<html>a firewall"),
        (403, b'{"error":"invalid_grant"}'),
        (404, b"{}"),
        (408, b""),
        (421, b""),
    ],
)
def test_an_answer_that_is_no_issuers_spends_no_refresh_token(
    status: int, body: bytes, callback: str
) -> None:
    """RFC 6749 §5.2: nothing but `invalid_grant` speaks of the refresh token."""
    machine = login(grant=grant(), callback=callback)
    after_metadata(machine)
    stopped = machine.replied(status, body, 0)
    assert isinstance(stopped, Stopped)
    assert (stopped.temporary, stopped.spent, stopped.login) == (True, False, False)
    assert f"HTTP {status}" in stopped.reason


@pytest.mark.parametrize("error", ["invalid_client", "unauthorized_client", "invalid_scope"])
def test_an_error_of_another_kind_is_told_and_spends_nothing(error: str) -> None:
    alone = login(grant=grant(), callback="")
    after_metadata(alone)
    stopped = alone.replied(401, b'{"error":"%b"}' % error.encode(), 0)
    assert stopped == Stopped(f"the token endpoint refused: {error!r}", unrenewed=True)
    machine = login(grant=grant(), known=lambda *_: OURS)
    after_metadata(machine)
    assert isinstance(machine.replied(400, b'{"error":"%b"}' % error.encode(), 0), Visit)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
@pytest.mark.parametrize("stage", ["resource", "server"])
def test_a_document_that_comes_later_is_not_taken_for_absent(status: int, stage: str) -> None:
    """Else a token would be asked for another resource, or nobody's login be called for."""
    machine = login(identity=Identity(issuer=ISSUER), grant=grant(), callback="")
    machine.start()
    if stage == "server":
        machine.replied(200, resource(), 0)
    stopped = machine.replied(status, b"", 0)
    assert isinstance(stopped, Stopped)
    assert (stopped.temporary, stopped.login) == (True, False)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_an_issuer_in_trouble_spends_no_refresh_token(status: int) -> None:
    machine = login(grant=grant(), callback="")
    after_metadata(machine)
    stopped = machine.replied(status, b"", 0)
    assert isinstance(stopped, Stopped)
    assert (stopped.temporary, stopped.spent) == (True, False)


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<html>"), (200, b"{}"), (403, b"<html>"), (503, b"")]
)
def test_what_says_nothing_of_a_refresh_token_is_told_apart(status: int, body: bytes) -> None:
    """So that whoever asks again and again can tell that it stays so."""
    machine = login(grant=grant(), callback="")
    after_metadata(machine)
    stopped = machine.replied(status, body, 0)
    assert isinstance(stopped, Stopped)
    assert (stopped.unrenewed, stopped.spent) == (True, False)
    before = login(grant=grant(), callback="")
    before.start()
    found = before.replied(503, b"", 0)
    assert isinstance(found, Stopped)
    assert not found.unrenewed, "nobody was shown it"
