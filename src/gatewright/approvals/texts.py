"""Approval texts: the question to the caller's user (MCP elicitation), whether its answer is a yes, why a person is asked, refusals, progress.

Text that comes from elsewhere is made visible and short in whatever somebody is to read.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from gatewright.approvals.request import Approval
from gatewright.call import Call, Event, Question, Refusal, Tool
from gatewright.command_text import to_type
from gatewright.mcp.wire.jsonrpc import decode, encode
from gatewright.secret_scanning.escape_invisible import spelled

__all__ = [
    "agreed",
    "because",
    "crowded",
    "lasts",
    "news",
    "question",
    "reason",
    "refused",
    "rule_of",
    "undecided",
    "visible",
]

_SHOWN = 600
_MEMBERS = 24
_ENDS = 160


def news(made: Approval, step: int, steps: int) -> Event:
    """The `step`-th of `steps` signs of life of a request that waits."""
    decides = to_type("approve {}", made.id)
    text = f"waiting for an operator's approval ({made.id}), who decides with `{decides}`"
    return Event("notifications/progress", {"progress": step, "total": steps, "message": text})


def because(tool: Tool) -> str:
    """Why somebody is asked about a tool, as the second half of a sentence."""
    security = tool.security
    if security.confirmation_required:
        return "this tool always asks"
    if security.risk_level == "dangerous":
        return "it is dangerous"
    if "destructive" in security.hints:
        return "its server says that it can destroy or overwrite (destructiveHint), and nobody vouched for it"
    return "its server says that it reaches out into the open world (openWorldHint), and nobody vouched for it"


def rule_of(call: Call, tool: Tool) -> str:
    """Which rule wants a person to agree to a call, as what an operator finds in the configuration."""
    security = tool.security
    if "flow" in call.facts:
        return '[flow] then = "ask"'
    if security.confirmation_required:
        return f"confirmation_required of {tool.target.server}/{tool.target.name}"
    if security.risk_level == "dangerous":
        return "dangerous tools ask a person, unless a grant names the tool (default)"
    hint = "destructiveHint" if "destructive" in security.hints else "openWorldHint"
    return f'[approvals] hints = "ask", for {hint}'


def lasts(call: Call, tool: Tool) -> bool:
    """Whether somebody was asked for nothing but that the tool reaches out, so that a yes is to the tool and not to the call."""
    security = tool.security
    asked = security.confirmation_required or security.risk_level == "dangerous"
    return security.hints == ("open_world",) and not asked and "flow" not in call.facts


def crowded(call: Call, tool: Tool) -> Refusal:
    """What a caller is told of whose requests too many wait already."""
    return Refusal(
        "resource_exhausted",
        f"{tool.exposed} needs an operator's approval, and too many requests of {call.caller.id} wait "
        f"for one already; `{to_type('approve')}` lists them",
        {"missing": "approval"},
    )


def undecided(call: Call, tool: Tool, made: Approval) -> Refusal:
    """What a caller is told whose request was denied, or waits on."""
    if made.state == "denied":
        because = f": {visible(made.comment)}" if made.comment else ""
        return Refusal(
            "permission_denied",
            f"an operator ({made.by}) denied this call of {tool.exposed}{because}",
            {"missing": "approval", "approval_id": made.id},
        )
    id = made.id
    return Refusal(
        "permission_deferred",
        f"{tool.exposed} waits for an operator's approval ({id}){_because(call)}. Nothing was run. Repeat exactly the same call "
        f"later: it runs once it has been approved. An operator decides with `{to_type('approve {}', id)}`",
        {"status": "pending_approval", "approval_id": id, "missing": "approval"},
    )


def reason(call: Call, tool: Tool, open_world_s: float = 0.0) -> str:
    """Why a person is asked about this call, for that person, and what a yes lets pass besides it."""
    if "flow" in call.facts:
        return _flow(call)
    if open_world_s > 0 and lasts(call, tool):
        further = f"a yes holds for all its calls by {call.caller.id} for {_span(open_world_s)}"
        return f"{because(tool)}; {further}"
    return because(tool)


def _flow(call: Call) -> str:
    """What the gate `flow` found out, as a sentence's second half."""
    brought = call.facts["flow"]
    return (
        "it sends data out after the session has read what strangers wrote "
        f"({brought['untrusted']}) and private data ({brought['private']})"
    )


def _because(call: Call) -> str:
    return f", because {_flow(call)}," if "flow" in call.facts else ""


def agreed(answer: Any) -> bool:
    """Whether what a caller answered is a yes; anything but a plain one is none."""
    if not isinstance(answer, dict) or answer.get("action") != "accept":
        return False
    content = answer.get("content")
    # `accept` alone is no yes: a host may accept forms by itself, and the field is False unless somebody sets it.
    return isinstance(content, dict) and content.get("confirm") is True


def refused(call: Call, tool: Tool, why: str) -> Refusal:
    """The end of a call to which nobody could be brought to say anything, and what to do about it."""
    exit_ = "call it from a client that answers elicitation"
    if not (tool.security.confirmation_required or "flow" in call.facts):
        target = tool.target
        granted = to_type("grant add {} {}", call.caller.id, f"{target.server}/{target.name}")
        exit_ += f", or an operator grants this very tool to the caller: `{granted}`"
    return Refusal(
        "confirmation_required",
        f"{tool.exposed} needs confirmation{_because(call)} and {why}: {exit_}",
        {"missing": "confirmation", "risk_level": tool.security.risk_level},
    )


def question(call: Call, tool: Tool, open_world_s: float = 0.0) -> Question:
    """What the user of the calling host is asked. A yes to a tool that only reaches out holds for `open_world_s`."""
    target = tool.target
    lines = (
        f"{call.caller.id} asks to run the tool {target.name} of the server {target.server}.",
        f"Risk: {tool.security.risk_level}{_reversible(tool)}.",
        *_arguments(call),
        *_why(call, tool),
    )
    return Question(
        "elicitation/create",
        {
            "mode": "form",
            "message": "\n".join(visible(line) for line in lines),
            "requestedSchema": _schema(_lasting(call, tool, open_world_s)),
        },
    )


def _why(call: Call, tool: Tool) -> list[str]:
    if "flow" in call.facts:
        return [f"You are asked because {_flow(call)}."]
    return [f"You are asked because {because(tool)}."] if tool.security.hints else []


def _lasting(call: Call, tool: Tool, open_world_s: float) -> str:
    """What a yes to this call lets pass besides it, as the end of a sentence."""
    if open_world_s <= 0 or not lasts(call, tool):
        return "exactly this call once."
    return f"this call, and for {_span(open_world_s)} further calls of this tool without asking."


def _span(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def _schema(lets: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "confirm": {
                "type": "boolean",
                "title": "Run it",
                "description": f"Yes runs {lets}",
                "default": False,
            }
        },
        "required": ["confirm"],
    }


def _arguments(call: Call) -> list[str]:
    """The arguments, line by line: whole where they are short, else each with its middle left out, so that a long one does
    not push another out of sight."""
    text = encode(call.arguments)
    said = f"Arguments (SHA-256 {sha256(text).hexdigest()[:16]})"
    whole = f"{said}: {text.decode()}"
    if len(whole) <= _SHOWN:
        return [whole]
    if not isinstance(call.arguments, dict):
        return [f"{said}: {_ends(text.decode())}"]
    members = list(call.arguments.items())[:_MEMBERS]
    more = len(call.arguments) - len(members)
    return [
        f"{said}, {len(text)} bytes, shortened:",
        # In quotes, so that no name makes a line that looks like one of ours.
        *(
            f"- {_ends(encode(name).decode())}: {_ends(encode(one).decode())}"
            for name, one in members
        ),
        *([f"and {more} more"] if more else []),
    ]


def _ends(text: str) -> str:
    """The text, or how it begins and how it ends."""
    if len(text) <= _ENDS and len(shown := spelled(text)) <= _ENDS:
        return shown
    head, tail = spelled(text[:_ENDS])[: _ENDS // 2], spelled(text[-_ENDS:])[-_ENDS // 2 :]
    return f"{head}… ({len(text)} characters) …{tail}"


def _reversible(tool: Tool) -> str:
    """What the server says about undoing it (MGP §4.3)."""
    try:
        declared = decode(tool.definition.get("security", b"null"))
    except ValueError:
        return ""
    said = declared.get("reversible") if isinstance(declared, dict) else None
    if said is True:
        return ", can be undone"
    return ", cannot be undone" if said is False else ""


def visible(line: str) -> str:
    """One line in which nothing is hidden: control, invisible and direction characters are spelled."""
    shown = spelled(line[: _SHOWN + 1])
    return shown if len(line) <= _SHOWN else f"{shown[:_SHOWN]}… ({len(line)} characters)"
