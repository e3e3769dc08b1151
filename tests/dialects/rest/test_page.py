"""The page of the API loads nothing, runs nothing of a tool's, and works without its script."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from gatewright.dialects.rest.page import api_page

HOSTILE = {
    "name": "</summary><script>alert(1)</script>",
    "description": '"><img src=x onerror=alert(2)> {style}',
    "inputSchema": {"title": "</pre><style>*{}</style>"},
}


class Seen(HTMLParser):
    """The elements of a page, and what each one loads."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "action")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def seen(body: bytes) -> Seen:
    found = Seen()
    found.feed(body.decode())
    return found


def test_nothing_is_loaded_from_anywhere() -> None:
    body, _ = api_page([HOSTILE], known=True)
    assert seen(body).loads == ["openapi.json"]


def test_what_a_tool_says_stays_text() -> None:
    body, _ = api_page([HOSTILE], known=True)
    found = seen(body)
    assert found.elements.count("script") == 1
    assert found.elements.count("style") == 1
    assert "img" not in found.elements
    assert found.handlers == []


def test_the_policy_names_the_style_and_the_script_that_stand_in_the_page() -> None:
    body, headers = api_page([], known=False)
    policy = dict(headers)[b"content-security-policy"].decode()
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    for kind in ("style", "script"):
        (inner,) = re.findall(rf"<{kind}>(.*?)</{kind}>", body.decode(), re.DOTALL)
        digest = b64encode(sha256(inner.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_the_script_writes_text_only() -> None:
    body, _ = api_page([], known=True)
    for dangerous in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert dangerous not in body.decode()
    assert "localStorage" not in body.decode()


def test_without_the_script_each_tool_shows_its_schema_and_how_to_call_it() -> None:
    tool = {"name": "echo", "description": "Says it", "inputSchema": {"type": "object"}}
    body = api_page([tool], known=True)[0].decode()
    assert "<summary>echo</summary>" in body
    assert "curl" in body
    assert "&quot;object&quot;" in body
    assert "1 tools" in body
