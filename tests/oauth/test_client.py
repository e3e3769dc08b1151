"""Who we are to an issuer, what we ask of it, and what its answers must say."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import msgspec
import pytest

from gatewright.oauth.client import (
    CLIENT_NAME,
    Client,
    Form,
    Grant,
    Identity,
    authorization_url,
    code_from,
    code_request,
    configured_client,
    read_registration,
    refresh_request,
    registration,
    scopes_to_ask,
)
from gatewright.oauth.documents import AuthServer, Challenge, Resource, Unusable

ISSUER = "https://as.example"
BACK = "http://127.0.0.1:8425/callback"
SERVER = AuthServer(
    ISSUER, f"{ISSUER}/authorize", f"{ISSUER}/token", f"{ISSUER}/register", documents=True
)
VERIFIER = "v" * 43


def server(**changes: Any) -> AuthServer:
    return msgspec.structs.replace(SERVER, **changes)


def form(request: Form) -> dict[str, str]:
    pairs = parse_qsl(request.body.decode(), keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs), "a parameter is there twice"
    return dict(pairs)


# -- who we are


def test_credentials_of_the_operator_come_before_a_metadata_document() -> None:
    ours = Identity("id", "secret", ISSUER, "https://me.example/client.json")
    expected = Client(ISSUER, "id", "secret", "client_secret_basic", "configured")
    assert configured_client(SERVER, ours) == expected


@pytest.mark.parametrize(
    "issuer", ["https://other.example", "https://as.example/", "https://AS.example", ""]
)
def test_credentials_of_the_operator_are_for_their_own_issuer_only(issuer: str) -> None:
    assert configured_client(SERVER, Identity("id", "secret", issuer)) is None


def test_a_metadata_document_is_used_where_the_issuer_takes_it_and_promises_iss() -> None:
    ours = Identity(metadata_url="https://me.example/client.json")
    expected = Client(ISSUER, "https://me.example/client.json", "", "none", "document")
    promising = server(sends_issuer=True)
    assert configured_client(promising, ours) == expected
    assert configured_client(SERVER, ours) is None
    assert configured_client(server(sends_issuer=True, documents=False), ours) is None
    assert configured_client(promising, Identity()) is None


@pytest.mark.parametrize(
    ("offered", "secret", "expected"),
    [
        (("client_secret_post", "client_secret_basic", "none"), "s", "client_secret_basic"),
        (("none", "client_secret_post"), "s", "client_secret_post"),
        (("none",), "s", "none"),
        (("client_secret_basic", "none"), "", "none"),
        (("client_secret_basic",), "", "none"),
        (("private_key_jwt", "client_secret_post"), "s", "client_secret_post"),
    ],
)
def test_we_prove_who_we_are_in_the_first_way_both_know(
    offered: tuple[str, ...], secret: str, expected: str
) -> None:
    found = configured_client(server(auth_methods=offered), Identity("id", secret, ISSUER))
    assert found is not None
    assert found.method == expected


@pytest.mark.parametrize("secret", ["", "s"])
def test_an_issuer_that_wants_another_proof_is_refused_by_name(secret: str) -> None:
    with pytest.raises(Unusable, match="private_key_jwt"):
        configured_client(server(auth_methods=("private_key_jwt",)), Identity("id", secret, ISSUER))


# -- registration


def test_a_registration_says_everything_that_is_asked_for() -> None:
    found = registration(server(auth_methods=("client_secret_post", "none")), BACK)
    assert (found.url, found.headers["Content-Type"]) == (f"{ISSUER}/register", "application/json")
    assert json.loads(found.body) == {
        "client_name": CLIENT_NAME,
        "redirect_uris": [BACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }


def test_an_issuer_that_registers_nobody_leaves_it_to_the_operator() -> None:
    with pytest.raises(Unusable, match=r"client_id, issuer.*\[servers.auth\]"):
        registration(server(registration_endpoint=None), BACK)


@pytest.mark.parametrize(
    ("answer", "methods", "expected"),
    [
        ({"client_id": "i"}, ("none",), Client(ISSUER, "i", redirect_uri=BACK)),
        (
            {"client_id": "i", "client_secret": "s"},
            ("none",),
            Client(ISSUER, "i", "", "none", redirect_uri=BACK),
        ),
        (
            {"client_id": "i", "client_secret": "s"},
            ("client_secret_basic",),
            Client(ISSUER, "i", "s", "client_secret_basic", redirect_uri=BACK),
        ),
        (
            {
                "client_id": "i",
                "client_secret": "s",
                "token_endpoint_auth_method": "client_secret_post",
            },
            ("client_secret_basic", "client_secret_post"),
            Client(ISSUER, "i", "s", "client_secret_post", redirect_uri=BACK),
        ),
        (
            {"client_id": "i", "client_secret": "s", "token_endpoint_auth_method": "none"},
            ("client_secret_basic",),
            Client(ISSUER, "i", "", "none", redirect_uri=BACK),
        ),
    ],
)
def test_what_a_registration_says_decides_how_we_prove_who_we_are(
    answer: Any, methods: tuple[str, ...], expected: Client
) -> None:
    body = json.dumps(answer).encode()
    assert read_registration(201, body, server(auth_methods=methods), BACK) == expected


@pytest.mark.parametrize(
    ("status", "body"), [(400, b'{"client_id":"i"}'), (201, b"{}"), (201, b""), (302, b"")]
)
def test_a_registration_that_failed_gives_no_client(status: int, body: bytes) -> None:
    with pytest.raises(Unusable):
        read_registration(status, body, SERVER, BACK)


# -- scopes


@pytest.mark.parametrize(
    ("challenged", "configured", "published", "before", "expected"),
    [
        (("a",), ("b",), ("c", "d"), (), ("a",)),
        ((), ("b",), ("c", "d"), (), ("b",)),
        ((), (), ("c", "d"), (), ("c", "d")),
        ((), (), (), (), ()),
        (("write",), (), ("c",), ("basic",), ("basic", "write")),
        (("a",), (), (), ("a", "b"), ("a", "b")),
        ((), (), (), ("a",), ("a",)),
    ],
)
def test_the_challenge_decides_the_scopes_and_nothing_is_taken_away(
    challenged: tuple[str, ...],
    configured: tuple[str, ...],
    published: tuple[str, ...],
    before: tuple[str, ...],
    expected: tuple[str, ...],
) -> None:
    ours = Identity(scopes=configured)
    challenge = Challenge(None, challenged)
    resource = Resource("https://h.example", (), published)
    assert scopes_to_ask(challenge, resource, SERVER, ours, before) == expected


def test_offline_access_is_asked_for_where_it_is_offered_and_scopes_are_asked_for() -> None:
    offering = server(scopes_supported=("a", "offline_access"))
    resource = Resource("https://h.example", (), ("a",))
    assert scopes_to_ask(None, resource, offering, Identity(), ()) == ("a", "offline_access")
    assert scopes_to_ask(None, resource, SERVER, Identity(), ()) == ("a",)
    assert scopes_to_ask(None, Resource(""), offering, Identity(), ()) == ()


# -- the authorization request


def test_the_authorization_url_says_everything_once() -> None:
    client = Client(ISSUER, "https://me.example/client.json")
    url = authorization_url(
        server(authorization_endpoint=f"{ISSUER}/authorize?tenant=1"),
        client,
        resource="https://h.example",
        scopes=("a", "b"),
        redirect_uri=BACK,
        state="st&te",
        verifier=VERIFIER,
    )
    parts = urlsplit(url)
    digest = hashlib.sha256(VERIFIER.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{ISSUER}/authorize"
    assert parse_qs(parts.query) == {
        "tenant": ["1"],
        "response_type": ["code"],
        "client_id": ["https://me.example/client.json"],
        "redirect_uri": [BACK],
        "scope": ["a b"],
        "state": ["st&te"],
        "code_challenge": [challenge],
        "code_challenge_method": ["S256"],
        "resource": ["https://h.example"],
    }


def test_without_scopes_there_is_no_scope_parameter() -> None:
    url = authorization_url(
        SERVER,
        Client(ISSUER, "i"),
        resource="https://h.example/mcp",
        scopes=(),
        redirect_uri=BACK,
        state="s",
        verifier=VERIFIER,
    )
    assert "scope" not in parse_qs(urlsplit(url).query, keep_blank_values=True)


# -- the authorization response


def code(response: str, of: AuthServer | None = None) -> str:
    return code_from(response, state="s", server=of or SERVER, redirect_uri=BACK)


@pytest.mark.parametrize(
    ("response", "sends"),
    [
        (f"{BACK}?code=c&state=s&iss=https%3A%2F%2Fas.example", True),
        (f"{BACK}?code=c&state=s&iss=https://as.example", False),
        (f"{BACK}?state=s&code=c", False),
        ("code=c&state=s&iss=https://as.example", False),
        ("?code=c&state=s&iss=https://as.example", False),
        (f"{BACK}?code=c&state=s#_=_", False),
    ],
)
def test_a_response_that_says_the_right_things_gives_its_code(response: str, sends: bool) -> None:
    assert code(response, server(sends_issuer=sends)) == "c"


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (f"{BACK}?code=c&state=other", "state"),
        (f"{BACK}?code=c&state=s%C3%A9", "state"),
        (f"{BACK}?code=c", "state"),
        (f"{BACK}?code=c&state=s&iss=https://evil.example.com", "issuer"),
        (f"{BACK}?code=c&state=s&iss=https://as.example/", "issuer"),
        (f"{BACK}?code=c&state=s&iss=", "issuer"),
        (f"{BACK}?code=c&state=s&iss=https://as.example&iss=https://evil.example", "twice"),
        (f"{BACK}?code=c&state=s&state=t", "twice"),
        (f"{BACK}?code=c&state=s&code=d", "twice"),
        (f"{BACK}?state=s&error=access_denied&error_description=no", "access_denied.*no"),
        (f"{BACK}?state=s", "no code"),
        (f"{BACK}?state=s&code=", "no code"),
        (f"{BACK}?" + "&".join(f"a{n}=1" for n in range(60)), "cannot be read"),
        (BACK, "state"),
        (f"{BACK}/more?code=c&state=s", "redirect URI of this login"),
        (f"{BACK}x?code=c&state=s&iss=https://as.example", "redirect URI of this login"),
        ("http://127.0.0.1:8426/callback?code=c&state=s", "redirect URI of this login"),
        ("code=c&state=s", "whole address"),
        ("?code=c&state=s", "whole address"),
    ],
)
def test_a_response_that_fails_a_check_gives_nothing(response: str, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        code(response)


def test_an_issuer_that_always_names_itself_must_do_so() -> None:
    with pytest.raises(Unusable, match="names no issuer"):
        code(f"{BACK}?code=c&state=s", server(sends_issuer=True))


def test_the_error_of_a_response_from_somebody_else_is_not_repeated() -> None:
    stranger = f"{BACK}?state=s&iss=https://evil.example&error=call+this+number"
    with pytest.raises(Unusable, match="evil") as problem:
        code(stranger)
    assert "call" not in str(problem.value)


# -- token requests

EXCHANGE = {
    "grant_type": "authorization_code",
    "code": "c",
    "redirect_uri": BACK,
    "code_verifier": VERIFIER,
    "resource": "https://h.example",
}


def exchange(client: Client) -> Form:
    return code_request(
        SERVER,
        client,
        code="c",
        resource="https://h.example",
        redirect_uri=BACK,
        verifier=VERIFIER,
    )


def test_a_public_client_names_itself_in_the_body() -> None:
    found = exchange(Client(ISSUER, "i"))
    assert form(found) == EXCHANGE | {"client_id": "i"}
    assert "Authorization" not in found.headers
    assert found.headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_a_secret_in_the_header_is_not_in_the_body_as_well() -> None:
    found = exchange(Client(ISSUER, "i:d ü", "s/+&%", "client_secret_basic"))
    assert form(found) == EXCHANGE
    scheme, _, value = found.headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(value)) == ("Basic", b"i%3Ad+%C3%BC:s%2F%2B%26%25")


def test_a_secret_in_the_body_is_not_in_the_header_as_well() -> None:
    found = exchange(Client(ISSUER, "i", "s&x", "client_secret_post"))
    assert form(found) == EXCHANGE | {"client_id": "i", "client_secret": "s&x"}
    assert "Authorization" not in found.headers


def test_a_refresh_names_the_resource_again() -> None:
    grant = Grant("https://h.example/mcp", "https://h.example", Client(ISSUER, "i"), "a", "r&t")
    assert form(refresh_request(SERVER, grant, grant.client)) == {
        "grant_type": "refresh_token",
        "refresh_token": "r&t",
        "resource": "https://h.example",
        "client_id": "i",
    }


def test_credentials_go_to_no_issuer_but_their_own() -> None:
    with pytest.raises(Unusable, match="not for"):
        exchange(Client("https://as.example/", "i", "s", "client_secret_post"))


def test_nothing_secret_is_in_any_representation() -> None:
    client = Client(ISSUER, "i", "s3cret", "client_secret_basic")
    grant = Grant("https://h.example", "https://h.example", client, "s3cret", "s3cret")
    shown = f"{client!r} {grant!r} {exchange(client)!r} {Identity('i', 's3cret', ISSUER)!r}"
    assert "s3cret" not in shown
    assert base64.b64encode(b"i:s3cret").decode() not in shown
