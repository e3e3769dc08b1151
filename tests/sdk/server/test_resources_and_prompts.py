"""What is offered besides tools: finding it, and remembering what it said."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.sdk.errors import RegistrationError
from gatewright.sdk.server.resources_and_prompts import Offers


class Hand:
    """Time by hand, and what was told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.told: list[str] = []

    def changed(self, method: str, params: dict[str, Any]) -> None:
        self.told.append(method)

    def offers(self) -> Offers:
        return Offers(self.changed, lambda: self.now)


def one(path: str) -> str:
    """Read one."""
    return path


@pytest.mark.parametrize(
    ("template", "uri", "found"),
    [
        ("a://{path}", "a://b", "b"),
        ("a://{path}", "a://b%2Fc", "b/c"),
        ("a://{path}", "a://b/c", None),
        ("a://{path*}", "a://b/c", "b/c"),
        ("a://x.{path}", "a://xyb", None),
        ("a://{path}", "a://", None),
    ],
)
def test_a_template_stands_for_what_its_variables_may_be(
    template: str, uri: str, found: str | None
) -> None:
    offers = Hand().offers()
    offers.add_resource(one, template)
    match = offers.resource(uri)
    assert (match and match[1]["path"]) == found


def test_what_was_read_holds_for_its_time_and_no_longer() -> None:
    hand = Hand()
    offers = hand.offers()
    offers.keep("a://b", [{"uri": "a://b"}], 10, offers.changes)
    offers.keep("a://c", [], 0, offers.changes)
    kept = offers.cached("a://b")
    assert kept is not None
    hand.now = 4.0
    assert offers.left_ms(kept) == 6000
    assert offers.cached("a://c") is None
    offers.stale("a://b")
    assert offers.cached("a://b") is None
    offers.keep("a://b", [], 10, offers.changes)
    hand.now = 14.0
    assert offers.cached("a://b") is None


def test_what_is_remembered_is_bounded() -> None:
    offers = Hand().offers()
    for number in range(1500):
        offers.keep(f"a://{number}", [], 10, offers.changes)
    assert offers.cached("a://0") is None
    assert offers.cached("a://1499") is not None


def test_each_change_is_told_and_variables_have_to_be_the_functions() -> None:
    hand = Hand()
    offers = hand.offers()
    offers.add_resource(one, "a://{path}", name="n", description="d")
    assert offers.templates["a://{path}"].definition == {
        "uriTemplate": "a://{path}",
        "name": "n",
        "description": "d",
    }
    offers.add_prompt(one)
    assert offers.prompts["one"].definition["arguments"] == [{"name": "path", "required": True}]
    offers.remove("one")
    offers.remove("a://{path}")
    assert hand.told == [
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
    ]
    with pytest.raises(RegistrationError, match="path"):
        offers.add_resource(one, "a://{other}")


@pytest.mark.parametrize(
    ("template", "uri", "found"),
    [
        ("docs://{name}", "docs://..%2f..%2fetc%2fpasswd", None),
        ("docs://{name}", "docs://a%2Fb", "a/b"),
        ("docs://{name}", "docs://a%5C..%5Cb", None),
        ("docs://{name*}", "docs://a/../b", None),
        ("docs://{name*}", "docs://%2e%2e/b", None),
        ("docs://{name}", "docs://..", None),
        ("docs://{name}", "docs://%2e%2e", None),
        ("docs://{name}", "docs://a%00b", None),
        ("docs://{name*}", "docs://a%00b", None),
        ("docs://{name}", "docs://a%20b", "a b"),
        ("docs://{name}", "docs://a..b", "a..b"),
        ("docs://{name*}", "docs://a%2Fb", "a/b"),
    ],
)
def test_no_value_leads_upwards_however_it_is_written(
    template: str, uri: str, found: str | None
) -> None:
    offers = Offers(lambda *_: None, lambda: 0.0)
    offers.add_resource(lambda name: name, template)
    match = offers.resource(uri)
    assert (None if match is None else match[1]["name"]) == found


def test_what_was_begun_to_be_read_before_a_change_is_not_kept_after_it() -> None:
    offers = Offers(lambda *_: None, lambda: 0.0)
    since = offers.changes
    offers.stale("a://b")
    offers.keep("a://b", [], 10, since)
    assert offers.cached("a://b") is None
    offers.keep("a://b", [], 10, offers.changes)
    assert offers.cached("a://b") is not None
