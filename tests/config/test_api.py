"""`openapi = …`: what may stand in the file, and what becomes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatewright.config.api import is_url
from gatewright.config.problems import Problem
from tests.config.test_servers import problem, server


def down(text: str) -> str:
    """Why a server stays down."""
    found = server(text).problem
    assert isinstance(found, Problem)
    return str(found)


def test_a_document_makes_a_server_of_its_own_kind() -> None:
    found = server(
        'id = "pets"\nopenapi = "api/pets.yaml"\nbase_url = "http://10.0.0.5:8080/v1"\n'
        'credentials = {key = "${KEY}", basic = "me:pass"}\n',
        KEY="k",
    )
    assert found.transport == "openapi"
    assert found.openapi == str(Path("/project/api/pets.yaml"))
    assert found.base_url == "http://10.0.0.5:8080/v1"
    assert found.credentials == {"key": "k", "basic": "me:pass"}
    assert found.written == {"credentials.key": "${KEY}"}
    assert "pass" not in repr(found)


def test_a_document_may_be_fetched_and_say_itself_where_calls_go() -> None:
    found = server('id = "pets"\nopenapi = "https://pets.example/openapi.json"')
    assert (found.openapi, found.base_url, found.url) == (
        "https://pets.example/openapi.json",
        None,
        "",
    )
    assert is_url(found.openapi or "")
    assert not is_url("/project/api.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('openapi = "a.json"\nurl = "http://x/mcp"', "both url and openapi are given"),
        ('openapi = "a.json"\ncommand = "python3"', "both command and openapi are given"),
        ('transport = "openapi"', "needs a openapi"),
        ('url = "http://x/mcp"\nbase_url = "http://x"', "belongs to an openapi document"),
        ('command = "x"\ncredentials = {a = "b"}', "belongs to an openapi document"),
        ('openapi = "a.json"\nauth = {type = "oauth"}', "is not logged into"),
    ],
)
def test_what_cannot_be_meant_is_an_error(text: str, words: str) -> None:
    assert words in problem(f'[[servers]]\nid = "pets"\n{text}')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('openapi = "ftp://x/a.json"', "from a file or over HTTP"),
        ('openapi = "https://"', "not an HTTP URL"),
        ('openapi = "a.json"\nbase_url = "pets.example"', "not an HTTP URL"),
        ('openapi = "a.json"\ncredentials = {key = "${NOWHERE}"}', "NOWHERE"),
        ('openapi = "a.json"\ncredentials = {key = ""}', "empty"),
    ],
)
def test_what_cannot_be_used_keeps_that_server_down(text: str, words: str) -> None:
    assert words in down(f'id = "pets"\n{text}')


def test_the_example_of_its_page_is_a_server() -> None:
    page = (Path(__file__).parents[2] / "docs" / "openapi-import.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n\[\[servers\]\]\n(.*?)```", page, re.DOTALL)
    found = server(block)
    assert (found.transport, found.id) == ("openapi", "tickets")
    assert found.problem is not None  # the secret is not there, and nothing else is wrong
    assert "tickets-key" in str(found.problem)
