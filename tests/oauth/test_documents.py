"""What servers publish: challenges, places, documents, tokens; honest, broken and hostile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.oauth import documents
from gatewright.oauth.documents import (
    AuthServer,
    Challenge,
    Resource,
    Token,
    Unusable,
    challenge_of,
    read_resource,
    read_server,
    read_token,
    resource_urls,
    scopes_in,
    server_urls,
)
from tests.costs import lines_run

URL = "https://h.example/mcp"
ISSUER = "https://as.example"
SERVER = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "response_types_supported": ["code"],
    "code_challenge_methods_supported": ["plain", "S256"],
}


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


# -- challenges


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer", Challenge()),
        ("bearer", Challenge()),
        (
            'Bearer resource_metadata="https://h.example/.well-known/x", scope="a b"',
            Challenge("https://h.example/.well-known/x", ("a", "b")),
        ),
        (
            'BEARER error="insufficient_scope",SCOPE = a , resource_metadata=https://h.example/x',
            Challenge("https://h.example/x", ("a",), "insufficient_scope"),
        ),
        ('Bearer realm="a, Basic b=\\"c\\"", scope="x"', Challenge(None, ("x",))),
        ('Negotiate abc==, Bearer scope="x"', Challenge(None, ("x",))),
        ('Basic realm="scope=y", Bearer scope="x", Digest scope="z"', Challenge(None, ("x",))),
        ('Bearer scope="x", scope="y"', Challenge(None, ("x",))),
        ('Bearer scope="  a   b a "', Challenge(None, ("a", "b"))),
        ('Bearer scope="a\\"b c"', Challenge(None, ("c",))),
        ('Bearer scope=""', Challenge()),
        ('Bearer scope="never ends', Challenge()),
        ('Bearer error=x, ???, scope="y"', Challenge(error="x")),
    ],
)
def test_a_bearer_challenge_is_found_however_it_is_written(
    header: str, expected: Challenge
) -> None:
    assert challenge_of([header]) == expected


@pytest.mark.parametrize("header", ["", "Basic realm=x", "Bearers scope=x", '="x"', ",,, ,"])
def test_what_is_no_bearer_challenge_is_none(header: str) -> None:
    assert challenge_of([header]) is None


def test_each_challenge_may_be_a_header_of_its_own() -> None:
    assert challenge_of(["Basic realm=x", "Bearer scope=y"]) == Challenge(None, ("y",))
    assert challenge_of([]) is None


@given(st.text(alphabet='Bearer scope="\\, =a\t/é', max_size=80))
def test_any_text_can_be_a_challenge(header: str) -> None:
    found = challenge_of([header])
    assert found is None or isinstance(found, Challenge)


def test_a_long_challenge_is_read_in_no_time() -> None:
    assert challenge_of(["Bearer " + "a=" * 200_000]) is not None
    assert challenge_of(['Bearer a="' + "\\" * 400_000]) == Challenge()


@pytest.mark.parametrize("unit", ["a,", "a b=c,", 'a b="c" ', "a="])
def test_of_a_header_so_many_challenges_are_read_and_no_more(unit: str) -> None:
    """A server answers each call so, if it likes, with as much as a header may have."""

    def lines(number: int) -> int:
        header = f"Basic {unit * number}"
        return lines_run(documents, lambda: challenge_of([header] * 2))

    assert lines(7000) == lines(100) < 2000
    assert lines_run(documents, lambda: challenge_of(["Basic a"] * 5000)) < 2000


@pytest.mark.parametrize("word", ["a", "\u00fc", "s{}"])
def test_of_scopes_without_number_the_first_are_looked_at(word: str) -> None:
    """Introspection, answers with tokens and metadata have as many as they like, and most of them twice."""

    def lines(number: int) -> int:
        words = [word.format(one) for one in range(number)]
        text = " ".join(words)
        return lines_run(documents, lambda: (scopes_in(words), scopes_in(text)))

    assert lines(50_000) == lines(2000) < 10_000


def test_a_scope_is_whole_or_not_there() -> None:
    assert scopes_in(" ".join(["a"] * 999 + ["wide narrow"])) == ("a", "wide")


def test_scopes_are_bounded_and_each_is_there_once() -> None:
    assert scopes_in(None) == ()
    assert scopes_in(["a", "b", "a", "with blank", "ü", ""]) == ("a", "b")
    assert len(scopes_in([f"s{n}" for n in range(1000)])) == 100


# -- where to ask


def test_a_challenge_that_names_the_place_rules_out_every_other() -> None:
    there = Challenge("https://elsewhere.example/meta")
    assert resource_urls(URL, there) == ("https://elsewhere.example/meta",)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "https://h.example/a/mcp",
            [
                "/.well-known/oauth-protected-resource/a/mcp",
                "/.well-known/oauth-protected-resource",
            ],
        ),
        ("https://h.example/", ["/.well-known/oauth-protected-resource"]),
        ("https://h.example", ["/.well-known/oauth-protected-resource"]),
    ],
)
def test_resource_metadata_is_looked_for_by_path_and_then_at_the_root(
    url: str, expected: list[str]
) -> None:
    assert resource_urls(url, None) == tuple(f"https://h.example{path}" for path in expected)
    assert resource_urls(url, Challenge()) == resource_urls(url, None)


def test_an_issuer_without_path_is_asked_in_two_ways() -> None:
    expected = (
        "https://as.example:8443/.well-known/oauth-authorization-server",
        "https://as.example:8443/.well-known/openid-configuration",
    )
    assert server_urls("https://as.example:8443") == expected
    assert server_urls("https://as.example:8443/") == expected


def test_an_issuer_with_a_path_is_asked_in_three_ways_and_never_at_the_root() -> None:
    assert server_urls("https://as.example/tenant1") == (
        "https://as.example/.well-known/oauth-authorization-server/tenant1",
        "https://as.example/.well-known/openid-configuration/tenant1",
        "https://as.example/tenant1/.well-known/openid-configuration",
    )


# -- protected resource metadata


def test_resource_metadata_is_kept_as_it_was_published() -> None:
    published = {
        "resource": "https://h.example",
        "authorization_servers": [ISSUER, "https://second.example/"],
        "scopes_supported": ["a", "b"],
        "unknown": {"x": 1},
    }
    assert read_resource(body(published), URL, loopback=False) == Resource(
        "https://h.example", (ISSUER, "https://second.example/"), ("a", "b")
    )


@pytest.mark.parametrize(
    ("published", "why"),
    [
        ({"resource": "https://evil.example.com/mcp", "authorization_servers": [ISSUER]}, "about"),
        ({"resource": "https://h.example/mc", "authorization_servers": [ISSUER]}, "about"),
        ({"resource": "", "authorization_servers": [ISSUER]}, "about"),
        ({"resource": URL, "authorization_servers": ["http://as.example"]}, "only https"),
        ({"resource": URL, "authorization_servers": ["http://127.0.0.1:1"]}, "only https"),
        ({"resource": URL, "authorization_servers": ["file:///etc"]}, "not an HTTP URL"),
        ({"resource": URL, "authorization_servers": ISSUER}, "cannot be used"),
        ({"resource": URL, "authorization_servers": [1]}, "cannot be used"),
        ({"resource": None}, "cannot be used"),
        ({"authorization_servers": [ISSUER]}, "cannot be used"),
        ([], "cannot be used"),
        (5, "cannot be used"),
    ],
)
def test_resource_metadata_of_another_server_or_shape_is_not_used(published: Any, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        read_resource(body(published), URL, loopback=False)


@pytest.mark.parametrize("text", [b"", b"<html>", b"\xff", b"[" * 100_000, b'{"resource":'])
def test_what_is_no_json_is_not_used(text: bytes) -> None:
    with pytest.raises(Unusable, match="cannot be used"):
        read_resource(text, URL, loopback=False)
    with pytest.raises(Unusable, match="cannot be used"):
        read_server(text, ISSUER, loopback=False)


def test_a_resource_may_name_no_authorization_server() -> None:
    assert read_resource(body({"resource": URL}), URL, loopback=False) == Resource(URL)


# -- authorization server metadata


def test_server_metadata_is_read_with_its_defaults() -> None:
    assert read_server(body(SERVER), ISSUER, loopback=False) == AuthServer(
        ISSUER, f"{ISSUER}/authorize", f"{ISSUER}/token"
    )


def test_server_metadata_says_what_it_can() -> None:
    more = {
        "registration_endpoint": f"{ISSUER}/register",
        "scopes_supported": ["a", "offline_access"],
        "token_endpoint_auth_methods_supported": ["none"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }
    assert read_server(body(SERVER | more), ISSUER, loopback=False) == AuthServer(
        ISSUER,
        f"{ISSUER}/authorize",
        f"{ISSUER}/token",
        f"{ISSUER}/register",
        ("a", "offline_access"),
        ("none",),
        documents=True,
        sends_issuer=True,
    )


@pytest.mark.parametrize(
    "issuer",
    [
        "https://as.example/",
        "https://AS.example",
        "https://as.example:443",
        "http://as.example",
        "https://evil.example",
        "",
    ],
)
def test_an_issuer_that_differs_in_one_character_is_another(issuer: str) -> None:
    with pytest.raises(Unusable, match="is of issuer"):
        read_server(body(SERVER | {"issuer": issuer}), ISSUER, loopback=False)


@pytest.mark.parametrize(
    "methods", [None, [], ["plain"], ["s256"]], ids=["null", "none", "plain", "lower case"]
)
def test_a_server_without_s256_is_refused(methods: Any) -> None:
    with pytest.raises(Unusable, match="S256"):
        read_server(
            body(SERVER | {"code_challenge_methods_supported": methods}), ISSUER, loopback=False
        )


@pytest.mark.parametrize(
    "change",
    [
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://as.example/authorize"},
        {"token_endpoint": "http://169.254.169.254/token"},
        {"token_endpoint": "https://user@as.example/token"},
        {"registration_endpoint": "http://127.0.0.1/register"},
        {"token_endpoint": None},
        {"token_endpoint": ["https://as.example/token"]},
        {"scopes_supported": "a b"},
        {"client_id_metadata_document_supported": "yes"},
    ],
)
def test_one_bad_member_spoils_the_whole_document(change: dict[str, Any]) -> None:
    with pytest.raises(Unusable):
        read_server(body(SERVER | change), ISSUER, loopback=False)


def test_endpoints_on_this_machine_are_for_servers_on_this_machine() -> None:
    here = "http://127.0.0.1:9000"
    published = json.loads(body(SERVER).replace(ISSUER.encode(), here.encode()))
    assert read_server(body(published), here, loopback=True).issuer == here
    with pytest.raises(Unusable, match="only https"):
        read_server(body(published), here, loopback=False)


# -- tokens


def test_a_token_is_read_with_what_belongs_to_it() -> None:
    given_token = {
        "access_token": "abc",
        "token_type": "bEARER",
        "expires_in": 3600,
        "refresh_token": "def",
        "scope": "a b",
        "id_token": "ghi",
    }
    assert read_token(200, body(given_token)) == Token("abc", "def", 3600.0, ("a", "b"), "ghi")
    assert read_token(200, b'{"access_token":"abc","token_type":"Bearer"}') == Token("abc")


@pytest.mark.parametrize(
    ("lifetime", "expected"),
    [("3600", 3600.0), (0, 0.0), (-5, None), ("soon", None), ("nan", None), ("inf", None)],
)
def test_a_lifetime_that_makes_no_sense_counts_as_unsaid(
    lifetime: Any, expected: float | None
) -> None:
    given_token = {"access_token": "abc", "token_type": "Bearer", "expires_in": lifetime}
    assert read_token(200, body(given_token)).expires_in == expected


@pytest.mark.parametrize(
    ("status", "answer", "why"),
    [
        (200, {"access_token": "a", "token_type": "DPoP"}, "not Bearer"),
        (200, {"access_token": "a"}, "cannot be used"),
        (200, {"token_type": "Bearer"}, "cannot be used"),
        (200, {"access_token": "", "token_type": "Bearer"}, "characters"),
        (200, {"access_token": "a\r\nX: y", "token_type": "Bearer"}, "characters"),
        (200, {"access_token": "a b", "token_type": "Bearer"}, "characters"),
        (400, {"error": "invalid_grant", "error_description": "too late"}, "invalid_grant.*late"),
        (400, {"error": "invalid_grant", "error_description": 5}, "invalid_grant"),
        (401, [], "HTTP 401"),
        (302, {}, "HTTP 302"),
    ],
)
def test_an_answer_that_is_no_token_is_refused(status: int, answer: Any, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        read_token(status, body(answer))


def test_a_token_shows_nothing_of_itself() -> None:
    assert "s3cret" not in repr(Token("s3cret", "s3cret"))


def test_silence_about_pkce_will_do_where_it_is_said_so_and_another_method_never() -> None:
    published = {
        "issuer": "https://as.example",
        "authorization_endpoint": "https://as.example/authorize",
        "token_endpoint": "https://as.example/token",
    }

    def read(**more: object) -> str:
        body = json.dumps(published | more).encode()
        return read_server(body, "https://as.example", loopback=False, pkce_unsaid=True).issuer

    assert read() == "https://as.example"
    with pytest.raises(Unusable, match="PKCE"):
        read(code_challenge_methods_supported=["plain"])
    with pytest.raises(Unusable, match="PKCE"):
        read_server(json.dumps(published).encode(), "https://as.example", loopback=False)
