"""JSON bodies of the approvals webhook (generic, Slack, Teams, Discord): the console's URL for the request, never call arguments.

Chat programs read markup in texts. What agents and servers chose stands in plain text elements where there are some, and is escaped
where there are none; nobody is mentioned. The URL opens a page of the console, for whoever can sign in there: by itself it decides
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatewright.approvals.request import Approval
from gatewright.approvals.texts import visible
from gatewright.command_text import to_type
from gatewright.config.oversight import WebhookFormat
from gatewright.mcp.wire import jsonrpc

__all__ = ["body_of", "console_url"]

_MARKS = "\\`*_{}[]()<>#+-.!|~@:/"
"""What begins markup, a mention or a link of a bare address in Discord."""


def console_url(console: str, one: Approval) -> str:
    """Where a request is looked at; empty where no console is served."""
    return f"{console}/inbox/{one.id}" if console else ""


def body_of(form: WebhookFormat, one: Approval, console: str) -> bytes:
    """What is posted of a new request. `console` is the URL of the console without a path, empty for none."""
    return jsonrpc.encode(_FORMS[form](one, console_url(console, one)))


def _json(one: Approval, url: str) -> dict[str, Any]:
    """Everything that helps to decide whether to look at it, and no argument."""
    approval = {
        "id": one.id,
        "kind": one.kind,
        "agent": one.agent,
        "server": one.server,
        "tool": one.tool,
        "risk": one.risk,
        "reason": one.reason,
        "arguments_digest": one.arguments_digest,
        "requested": one.requested,
        "expires": one.expires,
        "quorum": one.quorum,
    }
    found = {
        "event": "approval.requested",
        "approval": approval,
        "decide": to_type("approve {}", one.id),
    }
    return {**found, "url": url} if url else found


def _title(one: Approval) -> str:
    return visible(f"{one.who} wants to {one.wish}")


def _facts(one: Approval) -> list[tuple[str, str]]:
    asks = [("Why", visible(one.reason)), ("Risk", one.risk), ("Request", one.id)]
    return [*asks, ("Needs", f"{one.quorum} operators")] if one.quorum > 1 else asks


def _how(one: Approval) -> str:
    return f"decide in the console, or with: {to_type('approve {}', one.id)}"


def _slack(one: Approval, url: str) -> dict[str, Any]:
    facts = [_plain(f"{name}: {said}") for name, said in _facts(one)]
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": _plain(_title(one))},
        {"type": "section", "fields": facts},
        {"type": "context", "elements": [_plain(_how(one))]},
    ]
    if url:
        button = {"type": "button", "text": _plain("Look at it"), "url": url}
        blocks.append({"type": "actions", "elements": [button]})
    # The text of notifications, which is read as markup.
    return {"text": f"A call waits for approval: {one.id}", "blocks": blocks}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _teams(one: Approval, url: str) -> dict[str, Any]:
    lines = [_title(one), *(f"{name}: {said}" for name, said in _facts(one)), _how(one)]
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        # Runs of a rich text are no Markdown, other than those of a text block.
        "body": [
            {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]}
            for line in lines
        ],
    }
    if url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Look at it", "url": url}]
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _discord(one: Approval, url: str) -> dict[str, Any]:
    embed: dict[str, Any] = {
        "title": "A call waits for approval",
        "description": _escaped(_title(one)),
        "fields": [
            {"name": name, "value": _escaped(said), "inline": name != "Why"}
            for name, said in _facts(one)
        ],
        "footer": {"text": _how(one)},
    }
    if url:
        embed["url"] = url
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in _MARKS else char for char in text)


_FORMS: Mapping[WebhookFormat, Callable[[Approval, str], dict[str, Any]]] = {
    "json": _json,
    "slack": _slack,
    "teams": _teams,
    "discord": _discord,
}
