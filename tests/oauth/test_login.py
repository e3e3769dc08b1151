"""The machine between a refused request and a token."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.oauth.client import Client, Form, Grant, Identity, redirect_uri_at
from gatewright.oauth.documents import Challenge
from gatewright.oauth.login import Get, Granted, Login, Step, Stopped
from tests.oauth.logins import (
    BACK,
    CALLBACK,
    ISSUER,
    OURS,
    TOKEN,
    URL,
    after_metadata,
    form,
    grant,
    login,
    metadata,
    query,
    resource,
)


def test_a_login_goes_from_discovery_to_a_token() -> None:
    machine = login(challenge=Challenge("https://h.example/meta", ("a",)))
    steps: list[Step] = [machine.start()]
    steps.append(machine.replied(200, resource(), 0))
    steps.append(machine.replied(200, metadata(), 0))
    steps.append(machine.replied(201, b'{"client_id":"id"}', 0))
    steps.append(machine.returned(f"{BACK}?code=c&state={0:043d}&iss={ISSUER}"))
    done = machine.replied(200, TOKEN, 1000)
    assert steps[:2] == [
        Get("https://h.example/meta"),
        Get(f"{ISSUER}/.well-known/oauth-authorization-server"),
    ]
    assert isinstance(steps[2], Form)
    assert steps[2].url == f"{ISSUER}/register"
    asked = query(steps[3])
    assert (asked["scope"], asked["resource"], asked["client_id"]) == ("a", URL, "id")
    assert form(steps[4])["code_verifier"] == f"{1:043d}"
    expected = Grant(URL, URL, OURS, "new", "next", 1060, ("a",))
    assert (done, machine.stage) == (Granted(expected, asked=True), "over")


def test_state_and_verifier_are_minted_anew_for_each_visit() -> None:
    known = {"known": lambda *_: OURS}
    first = query(after_metadata(login(**known)))
    assert first["state"] != first["code_challenge"]
    minted = iter("ab")
    machine = Login(
        URL, Identity(), mint=lambda: next(minted) * 43, callback=CALLBACK, known=lambda *_: OURS
    )
    assert query(after_metadata(machine))["state"] == "a" * 43
    assert next(minted, None) is None


def test_absent_documents_are_looked_for_in_the_next_place() -> None:
    machine = login()
    assert machine.start() == Get("https://h.example/.well-known/oauth-protected-resource/mcp")
    root = machine.replied(404, b"", 0)
    assert root == Get("https://h.example/.well-known/oauth-protected-resource")
    issuer = f"{ISSUER}/tenant1"
    first = machine.replied(200, resource(authorization_servers=[issuer]), 0)
    assert first == Get(f"{ISSUER}/.well-known/oauth-authorization-server/tenant1")
    second = machine.replied(405, b"", 0)
    assert second == Get(f"{ISSUER}/.well-known/openid-configuration/tenant1")
    third = machine.replied(404, b"", 0)
    assert third == Get(f"{issuer}/.well-known/openid-configuration")
    stopped = machine.replied(404, b"", 0)
    assert isinstance(stopped, Stopped)
    assert "publishes no metadata" in stopped.reason


def test_a_named_place_that_has_nothing_is_not_replaced_by_a_guess() -> None:
    machine = login(challenge=Challenge("https://h.example/meta"))
    machine.start()
    stopped = machine.replied(404, b"", 0)
    assert isinstance(stopped, Stopped)
    assert "[servers.auth]" in stopped.reason


def test_an_issuer_named_by_the_operator_stands_in_for_a_silent_server() -> None:
    machine = login(identity=Identity("id", "", ISSUER))
    machine.start()
    machine.replied(404, b"", 0)
    found = machine.replied(404, b"", 0)
    assert found == Get(f"{ISSUER}/.well-known/oauth-authorization-server")
    assert query(machine.replied(200, metadata(), 0))["resource"] == URL


def test_of_several_issuers_the_operators_is_taken() -> None:
    several = resource(authorization_servers=["https://first.example", ISSUER])
    chosen = login(identity=Identity("id", "", ISSUER))
    chosen.start()
    expected = Get(f"{ISSUER}/.well-known/oauth-authorization-server")
    assert chosen.replied(200, several, 0) == expected
    plain = login()
    plain.start()
    first = Get("https://first.example/.well-known/oauth-authorization-server")
    assert plain.replied(200, several, 0) == first


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("http://169.254.169.254/latest/meta-data", "only https"),
        ("http://127.0.0.1:8080/x", "only https"),
        ("file:///etc/passwd", "not an HTTP URL"),
        ("https://user:pw@h.example/x", "user name"),
    ],
)
def test_a_challenge_cannot_point_into_the_operators_network(place: str, why: str) -> None:
    stopped = login(challenge=Challenge(place)).start()
    assert isinstance(stopped, Stopped)
    assert why in stopped.reason


def test_no_token_is_fetched_for_a_server_on_plain_http() -> None:
    for url in ("http://h.example/mcp", "HTTP://h.example/mcp", "http://10.0.0.1/mcp"):
        stopped = Login(url, Identity(), mint=lambda: "x" * 43, callback=CALLBACK).start()
        assert isinstance(stopped, Stopped)
        assert "plain http" in stopped.reason
    here = Login("http://localhost:9/mcp", Identity(), mint=lambda: "x" * 43, callback=CALLBACK)
    assert isinstance(here.start(), Get)


def test_metadata_of_another_server_stops_before_anybody_is_asked() -> None:
    machine = login()
    machine.start()
    stopped = machine.replied(200, resource(resource="https://evil.example.com/mcp"), 0)
    assert isinstance(stopped, Stopped)
    assert "evil.example.com" in stopped.reason


def test_metadata_of_another_issuer_is_not_replaced_by_guessed_endpoints() -> None:
    machine = login()
    machine.start()
    machine.replied(200, resource(), 0)
    stopped = machine.replied(200, metadata("https://evil.example"), 0)
    assert isinstance(stopped, Stopped)
    assert "issuer" in stopped.reason
    assert machine.stage == "over"


@pytest.mark.parametrize("status", [200, 301, 302, 500, 503])
def test_a_document_that_cannot_be_had_stops_the_login(status: int) -> None:
    machine = login()
    machine.start()
    stopped = machine.replied(status, b"<html>", 0)
    assert isinstance(stopped, Stopped)
    assert stopped.temporary == (status >= 500)


def test_a_known_registration_is_used_again_and_one_of_another_issuer_is_not() -> None:
    assert query(after_metadata(login(known=lambda *_: OURS)))["client_id"] == "id"
    other = Client("https://other.example", "id", redirect_uri=BACK)
    step = after_metadata(login(known=lambda *_: other))
    assert isinstance(step, Form)
    assert step.url == f"{ISSUER}/register"


def test_the_metadata_document_comes_before_a_registration() -> None:
    machine = login(
        identity=Identity(metadata_url="https://me.example/c.json"), known=lambda *_: OURS
    )
    step = after_metadata(
        machine,
        client_id_metadata_document_supported=True,
        authorization_response_iss_parameter_supported=True,
    )
    assert query(step)["client_id"] == "https://me.example/c.json"


def test_without_a_browser_nothing_is_registered_and_a_login_is_called_for() -> None:
    stopped = after_metadata(login(callback=""))
    assert stopped == Stopped("nobody has logged in", login=True)


def test_a_response_with_the_wrong_issuer_makes_no_token_request() -> None:
    machine = login(known=lambda *_: OURS)
    after_metadata(machine)
    stopped = machine.returned(f"{BACK}?code=c&state={0:043d}&iss={ISSUER}/")
    assert isinstance(stopped, Stopped)
    assert machine.stage == "over"


@pytest.mark.parametrize("place", [CALLBACK, redirect_uri_at(CALLBACK, "https://other.example")])
def test_a_response_that_came_to_another_redirect_uri_makes_no_token_request(place: str) -> None:
    machine = login(known=lambda *_: OURS)
    assert query(after_metadata(machine))["redirect_uri"] == BACK
    stopped = machine.returned(f"{place}?code=c&state={0:043d}&iss={ISSUER}")
    assert isinstance(stopped, Stopped)
    assert "redirect URI of this login" in stopped.reason


def test_a_registered_redirect_uri_is_used_with_its_issuer_alone() -> None:
    fixed = Identity("ours", "", ISSUER, redirect_uri=CALLBACK)
    machine = login(identity=fixed)
    assert query(after_metadata(machine))["redirect_uri"] == CALLBACK
    assert form(machine.returned(f"{CALLBACK}?code=c&state={0:043d}"))["redirect_uri"] == CALLBACK
    other = "https://other.example"
    machine = login(identity=fixed)
    machine.start()
    machine.replied(200, resource(authorization_servers=[other]), 0)
    step = machine.replied(200, metadata(other), 0)
    assert isinstance(step, Form)
    assert json.loads(step.body)["redirect_uris"] == [redirect_uri_at(CALLBACK, other)]


def test_a_response_nobody_waits_for_is_not_taken() -> None:
    machine = login()
    machine.start()
    stopped = machine.returned(f"{BACK}?code=c&state=s")
    assert isinstance(stopped, Stopped)


# -- with a grant


def test_a_refresh_token_is_used_after_asking_who_is_in_charge() -> None:
    machine = login(callback="", grant=grant())
    assert form(after_metadata(machine)) == {
        "grant_type": "refresh_token",
        "refresh_token": "again",
        "resource": URL,
        "client_id": "id",
    }
    done = machine.replied(200, b'{"access_token":"new","token_type":"Bearer"}', 5)
    assert done == Granted(grant(access_token="new"), asked=False)


def test_a_refresh_token_is_replaced_by_the_one_that_came_with_the_answer() -> None:
    machine = login(grant=grant())
    after_metadata(machine)
    done = machine.replied(200, TOKEN, 1000)
    assert isinstance(done, Granted)
    assert (done.grant.refresh_token, done.grant.expires_at) == ("next", 1060)


def test_a_new_issuer_is_shown_nothing_of_the_old_one() -> None:
    other = "https://other.example"
    machine = login(grant=grant(), asked=("basic", "write"), known=lambda *_: OURS)
    machine.start()
    machine.replied(200, resource(authorization_servers=[other]), 0)
    step = machine.replied(200, metadata(other), 0)
    assert isinstance(step, Form)
    assert step.url == f"{other}/register"
    asked = query(machine.replied(201, b'{"client_id":"theirs"}', 0))
    assert (asked["client_id"], asked["scope"]) == ("theirs", "all")
    token = form(machine.returned(f"{redirect_uri_at(CALLBACK, other)}?code=c&state={0:043d}"))
    assert "again" not in token.values()


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://h.example/other"},
        {"resource": "https://h.example"},
        {"scopes": ()},
        {"client": Client(ISSUER, "gone", "", "none", "configured")},
    ],
)
def test_a_grant_that_does_not_fit_any_more_is_not_refreshed(change: dict[str, Any]) -> None:
    machine = login(grant=grant(**change), challenge=Challenge(None, ("basic",)), callback="")
    machine.start()
    machine.replied(404, b"", 0)
    machine.replied(200, resource(), 0)
    assert machine.replied(200, metadata(), 0) == Stopped("nobody has logged in", login=True)


def test_credentials_of_the_operator_are_taken_from_the_configuration_of_today() -> None:
    kept = grant(client=Client(ISSUER, "id", "", "client_secret_post", "configured"))
    machine = login(grant=kept, identity=Identity("id", "today", ISSUER), callback="")
    step = after_metadata(machine, token_endpoint_auth_methods_supported=["client_secret_post"])
    assert form(step)["client_secret"] == "today"


def test_a_step_up_asks_for_the_union() -> None:
    machine = login(
        grant=grant(),
        asked=("more",),
        challenge=Challenge("https://h.example/meta", ("write",), "insufficient_scope"),
        known=lambda *_: OURS,
    )
    assert query(after_metadata(machine))["scope"] == "basic more write"


def test_a_token_that_names_fewer_scopes_does_not_shrink_what_was_asked_for() -> None:
    machine = login(known=lambda *_: OURS, challenge=Challenge(URL, ("a", "b")))
    after_metadata(machine)
    machine.returned(f"{BACK}?code=c&state={0:043d}")
    done = machine.replied(200, b'{"access_token":"n","token_type":"Bearer","scope":"a"}', 0)
    assert isinstance(done, Granted)
    assert done.grant.scopes == ("a", "b")


def drive(feed: Callable[[Login], Step]) -> Step:
    machine = login(known=lambda *_: OURS)
    after_metadata(machine)
    return feed(machine)


@pytest.mark.parametrize(
    "feed",
    [
        lambda machine: machine.replied(200, TOKEN, 0),
        lambda machine: machine.replied(200, b"", 0),
    ],
)
def test_an_answer_nobody_waits_for_gives_no_token(feed: Callable[[Login], Step]) -> None:
    assert isinstance(drive(feed), Stopped)
