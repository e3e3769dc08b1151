"""Connects the `room` commands to a topic, maps their errors, and formats messages for a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.running import endpoint
from gatewright.command_text import to_type
from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.payload import Chat, Operation, Proposed, Requested, Responded, Said, Unfit
from gatewright.rooms.participants import (
    AnswerTimeoutError,
    CallError,
    GoneError,
    NotAllowedError,
    NotFulfillableError,
    Participant,
    RoomError,
    RoomRefusedError,
)
from gatewright.rooms.participants.dial import join
from gatewright.rooms.participants.participant import Heard
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.transport.websocket import CannotConnect

__all__ = ["cells", "one_line", "room", "run"]

_SHOWN = 120
_CODES: tuple[tuple[type[RoomError], str, int], ...] = (
    (NotAllowedError, "permission_denied", Exit.DENIED),
    (RoomRefusedError, "permission_denied", Exit.DENIED),
    (NotFulfillableError, "not_found", Exit.USAGE),
    (CallError, "tool_error", Exit.TOOL_ERROR),
    (AnswerTimeoutError, "timeout", Exit.UNREACHABLE),
    (GoneError, "gateway_unreachable", Exit.UNREACHABLE),
)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Do something in a room, with what can go wrong there as errors of the command."""
    try:
        asyncio.run(work)
    except RoomError as problem:
        for kind, code, exit_code in _CODES:
            if isinstance(problem, kind):
                raise CliError(str(problem), code=code, exit_code=exit_code) from None
        raise CliError(str(problem), code="room_error", exit_code=Exit.UNEXPECTED) from None


@asynccontextmanager
async def room(
    topic: str, *, config: Path | None, url: str | None, key: str | None, **options: Any
) -> AsyncIterator[Participant]:
    """A place in a topic of the gateway that runs here, or of the one at `url`. Raises `CliError`."""
    found = endpoint(config, url=url, key=key)
    parts = urlsplit(found.url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    address = urlunsplit((scheme, parts.netloc, "/ws", parts.query, ""))
    try:
        async with join(address, topic=topic, token=found.token or None, **options) as participant:
            yield participant
    except CannotConnect as problem:
        raise _not_let_in(problem) from None


def _not_let_in(problem: CannotConnect) -> CliError:
    if problem.status in (401, 403):
        return CliError(
            str(problem),
            code="auth_failed",
            exit_code=Exit.AUTHENTICATION,
            hint="pass the token of a participant with --key-file or GATEWRIGHT_KEY; see [rooms] in docs/configuration/rooms.md",
        )
    hint = "rooms are there where mgp.toml has a table [rooms]; see docs/rooms.md"
    if problem.status is None:
        hint = f"start the gateway with `{to_type('serve')}`"
    return CliError(str(problem), code="gateway_unreachable", exit_code=Exit.UNREACHABLE, hint=hint)


def one_line(text: bytes) -> str:
    """A message, which is JSON, in one line of what a terminal can show. White space between its members may be line
    ends, and what stands between two of them could be taken for a message of somebody else."""
    flat = text.decode("utf-8", "replace").replace("\r", " ").replace("\n", " ")
    return spelled(flat)  # control characters could repaint the terminal


def cells(heard: Heard) -> tuple[str, str, str, str]:
    """Id, who to whom, what it is, and what it says; for one row."""
    envelope = heard.envelope
    to = ",".join(envelope.to) or "all"
    what, said = _told(heard)
    return envelope.id, f"{envelope.sender} → {to}", what, said


def _told(heard: Heard) -> tuple[str, str]:
    content = heard.content
    if isinstance(content, Chat):
        return "says", content.text
    if isinstance(content, Proposed):
        return "proposes", _operation(content.operation)
    if isinstance(content, Requested):
        return ("fulfils" if heard.envelope.correlation_id else "asks"), _operation(
            content.operation
        )
    if isinstance(content, Responded):
        answer = content.error if content.error is not None else content.result
        return "answers", _short(answer)
    if isinstance(content, Said):
        return content.what, _system(content)
    if isinstance(content, Unfit):
        return "unfit", content.message
    return heard.envelope.kind, ""


def _system(said: Said) -> str:
    payload = said.payload
    if said.what == "presence":
        who = payload.get("participant")
        return f"{payload.get('event')} {who.get('id') if isinstance(who, dict) else ''}"
    return str(payload.get("message", "")) if said.what == "error" else ""


def _operation(operation: Operation) -> str:
    if operation.method != "tools/call":
        return f"{operation.method} {_short(operation.params)}"
    return f"{operation.context} {_short(operation.params.get('arguments', {}))}"


def _short(value: Any) -> str:
    text = jsonrpc.encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
