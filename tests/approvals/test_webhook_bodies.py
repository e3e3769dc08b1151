"""What is posted of a new request: in generic JSON, and as Slack, Teams and Discord take it."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from gatewright.approvals.request import Approval
from gatewright.approvals.webhook_bodies import body_of, console_url
from gatewright.config.oversight import WebhookFormat

FORMS = get_args(WebhookFormat)
CONSOLE = "https://console.example"


def an_approval(**more: Any) -> Approval:
    said: dict[str, Any] = {
        "agent": "ann",
        "server": "files",
        "tool": "wipe",
        "id": "ap_1",
        "arguments": '{"k":"secret-value"}',
        "risk": "dangerous",
        "reason": "it is dangerous",
        "quorum": 1,
        "requested": 1.0,
        "expires": 2.0,
    }
    return Approval(**(said | more))


def texts_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_of(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_of(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("form", FORMS)
def test_each_form_says_who_wants_what_and_where_to_look_and_no_argument(form: Any) -> None:
    said = json.loads(body_of(form, an_approval(), CONSOLE))
    whole = " ".join(texts_of(said)).replace("\\", "")
    for part in ("ann", "files", "wipe", "it is dangerous", f"{CONSOLE}/inbox/ap_1"):
        assert part in whole
    assert "secret-value" not in whole
    assert "/approve" not in whole  # nothing that decides by being opened


@pytest.mark.parametrize("form", FORMS)
def test_without_a_console_there_is_no_url(form: Any) -> None:
    said = body_of(form, an_approval(), "")
    assert b"http" not in said.replace(b"http://adaptivecards.io/schemas/", b"")
    assert console_url("", an_approval()) == ""


HOSTILE = "<!channel> @everyone [x](https://evil.example) <https://evil.example|ok> *b*\u202e\n# h"


def markup_of(form: str, said: Any) -> list[str]:
    """The texts of a message that its program reads as markup."""
    if form == "slack":
        blocks = said["blocks"]
        kinds = [
            one["type"]
            for one in _objects(blocks)
            if "text" in one and isinstance(one["text"], str)
        ]
        assert set(kinds) == {"plain_text"}
        return [said["text"]]
    if form == "teams":
        (card,) = said["attachments"]
        assert {one["type"] for one in card["content"]["body"]} == {"RichTextBlock"}
        return []
    (embed,) = said["embeds"]
    return [embed["title"], embed["description"], *(one["value"] for one in embed["fields"])]


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for one in value for found in _objects(one)]
    if not isinstance(value, dict):
        return []
    return [value, *(found for one in value.values() for found in _objects(one))]


@pytest.mark.parametrize("form", ["slack", "teams", "discord"])
def test_nothing_that_an_agent_or_a_server_chose_is_markup(form: Any) -> None:
    """No mention, no link, no hidden character, in whichever member it stands."""
    one = an_approval(agent=HOSTILE, tool=HOSTILE, reason=HOSTILE)
    said = json.loads(body_of(form, one, CONSOLE))
    for text in markup_of(form, said):
        bare = text.replace("\\\\", "")
        for mark in ("<", ">", "@", "[", "](", "*", "#", "://"):
            at = bare.find(mark)
            assert at < 0 or bare[at - 1] == "\\", (mark, text)
    assert all("\u202e" not in text and "\n" not in text for text in texts_of(said))
    if form == "discord":
        assert said["allowed_mentions"] == {"parse": []}
