"""`[servers.auth]`: what it may say, and what its absence means."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import Auth, Server, Settings, SettingsError
from gatewright.config.build import build
from gatewright.config.documents import parse

HEAD = '[[servers]]\nid = "a"\nurl = "https://h.example/mcp"\n'
AUTH = f"{HEAD}[servers.auth]\n"


def settings(text: str, **variables: str) -> Settings:
    return build([parse(text, Path("/project/mgp.toml"))], variables, Path("/state"))


def server(text: str, **variables: str) -> Server:
    (found,) = settings(text, **variables).servers
    return found


def problem(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        settings(text)
    (found,) = caught.value.problems
    return str(found)


def test_a_server_without_the_table_is_ready_for_oauth() -> None:
    assert server(HEAD).auth == Auth()
    assert server(AUTH).auth == Auth()


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
def test_a_server_with_a_header_of_its_own_is_left_alone(name: str) -> None:
    assert server(f'{HEAD}headers = {{ {name} = "Bearer x" }}\n').auth == Auth(type="none")


def test_everything_can_be_said_and_variables_are_replaced() -> None:
    found = server(
        AUTH
        + 'client_id = "${ID}"\nclient_secret = "${SECRET}"\nissuer = "https://as.example/t/"\n'
        'client_metadata_url = "https://me.example/client.json"\nscopes = ["read", "a:b"]\n',
        ID="me",
        SECRET="s3cret",
    )
    assert found.auth == Auth(
        type="oauth",
        client_id="me",
        client_secret="s3cret",
        issuer="https://as.example/t/",
        client_metadata_url="https://me.example/client.json",
        scopes=("read", "a:b"),
    )
    assert "s3cret" not in repr(found.auth) + repr(found)


@pytest.mark.parametrize("word", ["", 'type = "bearer"\n'])
def test_a_bearer_makes_the_type_bearer(word: str) -> None:
    found = server(f'{AUTH}{word}bearer = "${{TOKEN}}"\n', TOKEN="s3cret")
    assert found.auth == Auth(type="bearer", bearer="s3cret")
    assert "s3cret" not in repr(found.auth)


def test_oauth_can_be_switched_off() -> None:
    assert server(f'{AUTH}type = "none"\n').auth == Auth(type="none")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('type = "basic"', 'one of "oauth", "bearer", "none"'),
        ('type = "bearer"', 'write bearer = "${TOKEN}"'),
        ('type = "oauth"\nbearer = "x"', 'write type = "bearer"'),
        ('bearer = "x"\nscopes = ["a"]', "no effect beside a bearer"),
        ('client_secret = "x"', 'write client_id = "…"'),
        ('client_id = "x"', 'write issuer = "https://…"'),
        ('scopes = ["a b"]', "is no scope"),
        ("scopes = [1]", "does not fit"),
        ('client_id = ""', "does not fit"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_way_out(text: str, told: str) -> None:
    assert told in problem(f"{AUTH}{text}\n")


def test_one_request_carries_one_authorization() -> None:
    text = f'{HEAD}headers = {{ Authorization = "x" }}\n[servers.auth]\nbearer = "y"\n'
    assert "headers has an Authorization as well" in problem(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('bearer = "${TOKEN}"', "TOKEN is not set"),
        ('bearer = "${BROKEN}"', "a header cannot carry"),
        ('client_id = "x"\nissuer = "${TOKEN}"', "TOKEN is not set"),
        ('issuer = "http://as.example"', "only https"),
        ('client_metadata_url = "https://me.example"', "needs a path"),
        ('client_metadata_url = "file:///x"', "not an HTTP URL"),
    ],
)
def test_what_only_the_values_show_keeps_the_server_down(text: str, told: str) -> None:
    found = server(f"{AUTH}{text}\n", BROKEN="a\r\nb")
    assert found.problem is not None
    assert told in str(found.problem)
    assert "servers.a.auth." in str(found.problem)


def test_an_issuer_on_this_machine_is_for_trying_things_out() -> None:
    assert server(f'{AUTH}issuer = "http://127.0.0.1:9000"\n').problem is None


def test_a_stdio_server_has_no_use_for_it() -> None:
    found = settings('[[servers]]\nid = "a"\ncommand = "x"\n[servers.auth]\nscopes = ["a"]\n')
    (warning,) = found.warnings
    assert "a stdio server does not use it" in str(warning)


CLIENT = 'client_id = "i"\nissuer = "https://as.example"\n'


def test_a_redirect_uri_that_is_registered_is_taken_for_its_client() -> None:
    found = server(f'{AUTH}{CLIENT}redirect_uri = "http://127.0.0.1:8425/callback"\n')
    assert found.auth.redirect_uri == "http://127.0.0.1:8425/callback"


def test_a_redirect_uri_belongs_to_a_client_of_an_issuer() -> None:
    told = problem(f'{AUTH}redirect_uri = "http://127.0.0.1:8425/callback"\n')
    assert "write issuer and client_id" in told


@pytest.mark.parametrize(
    "url",
    [
        "https://me.example/callback",
        "http://127.0.0.1/callback",
        "http://127.0.0.1:8425",
        "http://127.0.0.1:8425/c?x=1",
        "http://192.0.2.1:8425/callback",
        "callback",
    ],
)
def test_a_redirect_uri_at_which_no_login_could_wait_keeps_the_server_down(url: str) -> None:
    found = server(f'{AUTH}{CLIENT}redirect_uri = "{url}"\n').problem
    assert found is not None
    assert "http://127.0.0.1:PORT/PATH" in found.instead


def test_one_redirect_uri_is_not_for_two_issuers() -> None:
    one = f'{AUTH}{CLIENT}redirect_uri = "http://127.0.0.1:8425/callback"\n'
    same = one.replace('id = "a"', 'id = "b"', 1)
    assert len(settings(one + same).servers) == 2
    told = problem(one + same.replace("as.example", "other.example"))
    assert "could reach the other" in told
    assert "gatewright server login" in told
