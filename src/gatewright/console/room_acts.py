"""What a console user does in rooms: approve or reject a proposal, stop an agent (out of all rooms, its keys revoked); reads learned rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gatewright.console.operations import ApiError
from gatewright.console.room_seats import digest_of, params_of
from gatewright.console.room_shapes import RoomDecision, RoomStop, Stopped
from gatewright.identity.keys import KeyStore
from gatewright.rooms.orchestrator_seat import RULES
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.participants.errors import RoomError
from gatewright.rooms.participants.participant import Participant
from gatewright.rooms.participants.proposals import Ledger, Proposal
from gatewright.rooms.participants.rules import RuleBook

__all__ = ["decide", "rules_of", "stop"]

_ANSWER_S = 60.0
_NONE = "nothing that is open was shown to you here by this id", "look at what is proposed now"
_OTHER = "what it asks for is not what was looked at", "look at it again"
_LONGER = (
    "what it asks for is longer than a page shows, and not all of it was shown to you",
    "read it page by page, to its end",
)


async def decide(
    me: Participant, given: RoomDecision, orchestrator: str, shown: Callable[[Proposal], bool]
) -> None:
    """Approve, by the orchestrator of this name, whose rules learn of it, or without one (it is empty); or reject. `shown` says of a proposal
    that is longer than a page whether all of it was shown; it is asked in a thread. Raises `ApiError`."""
    if given.do == "reject" and not given.reason.strip():
        raise ApiError(422, "no_reason", "a rejection needs a reason", "say why, in a sentence")
    if given.do == "approve":
        await _must_be_shown(me.proposals, given, shown)
    try:
        if given.do == "reject":
            me.decline(given.proposal, given.reason)
        elif orchestrator:
            params = {"name": "approve", "arguments": {"proposal": given.proposal}}
            said = await me.request(orchestrator, "tools/call", params, timeout_s=_ANSWER_S)
            if isinstance(said, dict) and said.get("isError"):
                raise ApiError(409, "room", _text_of(said))
        else:
            await me.fulfil(given.proposal, timeout_s=_ANSWER_S)
    except RoomError as problem:
        raise ApiError(409, "room", str(problem)) from None


async def _must_be_shown(
    known: Ledger, given: RoomDecision, shown: Callable[[Proposal], bool]
) -> None:
    found = known.find(given.proposal)
    if found is None or not known.is_open(found):
        # The orchestrator may have one by this id that nobody was shown here: this place may be younger, and remembers others.
        raise ApiError(409, "not_shown", *_NONE)
    # Beside the loop: what is asked for may be a megabyte, which is written out and gone through several times.
    problem = await asyncio.to_thread(_problem_of, found, given, shown)
    if known.find(given.proposal) is not found:
        problem = _OTHER  # it was forgotten meanwhile, and its id may have come again
    elif not known.is_open(found):
        problem = _NONE
    if problem is not None:
        raise ApiError(409, "not_shown", *problem)


def _problem_of(
    found: Proposal, given: RoomDecision, shown: Callable[[Proposal], bool]
) -> tuple[str, str] | None:
    """Why it may not be approved, and what to do."""
    if given.digest != digest_of(found):
        return _OTHER
    if not params_of(found)[1] and not shown(found):
        return _LONGER
    return None


def stop(callers: KeyStore, admin: ParticipantAdmin | None, given: RoomStop, by: str) -> Stopped:
    """Keep an agent out of every room, and end its keys: its sessions and what it runs end with them. Raises `ApiError`, `StoreError`,
    `Unrecorded`."""
    if not given.reason.strip():
        raise ApiError(
            422, "no_reason", "to stop an agent needs a reason", "say why, in a sentence"
        )
    places = 0
    if admin is not None:
        try:
            places = admin.block(given.agent, True, by=by, reason=given.reason)
        except ValueError as problem:
            raise ApiError(422, "invalid", str(problem)) from None
    every = callers.keys()
    keys = [one for one in every if one.name == given.agent and one.kind == "agent"]
    ended = [callers.revoke(one.id, by=by) for one in keys if one.revoked is None]
    return Stopped(given.agent, len(ended), places)


def rules_of(state: Path, topic: str) -> RuleBook:
    """The rules of a room's orchestrator; `state` is the state folder. Raises `ApiError`."""
    path = state / RULES / f"{quote(topic, safe='')}.json"
    try:
        return RuleBook(path.read_bytes()) if topic and path.exists() else RuleBook()
    except (OSError, ValueError) as problem:
        raise ApiError(503, "rules", f"the rules in {path} cannot be read: {problem}") from None


def _text_of(said: Mapping[str, Any]) -> str:
    content = said.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return str(first.get("text", "")) if isinstance(first, dict) else "the orchestrator refused"
