"""`AskedCalls`: in memory, bounded: the call behind each approval request (session, program, rule, gate facts); which calls wait for it.

A request in the state database is bound to what was asked, and says no more. Whoever decides wants to know more of the call behind
it, which a restart takes away together with the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from gatewright.approvals.texts import rule_of
from gatewright.call import Call, Tool, Who

__all__ = ["KEPT", "AskedCall", "AskedCalls"]

KEPT = 10_000
"""So many; of more, the oldest goes first."""
_NAME_CHARS = 200


_Asker = tuple[Who, str, str]


class AskedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call that asked last for one approval."""

    id: str
    trace_id: str
    door: str
    session: str
    profile: str
    program: str
    """What the caller's program calls itself; it proves nothing."""
    key_id: str
    roles: tuple[str, ...]
    rule: str
    """Why a person is asked, as what says so: a key of the configuration, or a default."""
    facts: Mapping[str, Any]
    """What the gates before `confirm` wrote down."""


class AskedCalls:
    """Those of one gateway process."""

    def __init__(self) -> None:
        self._kept: dict[str, AskedCall] = {}
        self._askers: dict[str, _Asker] = {}
        """Who alone has asked for each. Of what an earlier process made nobody knows it."""
        self._waiting: dict[str, str] = {}
        """By the id of each call that waits now: its request. Several may wait for one."""

    @contextmanager
    def waiting(self, approval: str, call: Call, tool: Tool) -> Iterator[None]:
        """While inside, this call waits for that approval."""
        self.note(approval, call, tool)
        self._waiting[call.id] = approval
        try:
            yield
        finally:
            self._waiting.pop(call.id, None)

    def began(self, approval: str, call: Call) -> None:
        """The request was made for this call."""
        asker = _asker(call)
        if asker is not None:
            self._askers[approval] = asker
        if len(self._askers) > KEPT:
            del self._askers[next(iter(self._askers))]

    def note(self, approval: str, call: Call, tool: Tool) -> None:
        """This call asks for that approval."""
        self._kept.pop(approval, None)  # to the end: the first is the oldest
        self._kept[approval] = AskedCall(
            id=call.id,
            trace_id=call.trace_id,
            door=call.door,
            session=call.session or "",
            profile=call.profile,
            program=_program(call),
            key_id=call.caller.key_id or "",
            roles=tuple(one.role for one in call.caller.user if one.role),
            rule=rule_of(call, tool),
            facts=dict(call.facts),
        )
        if self._askers.get(approval) != _asker(call):
            self._askers.pop(approval, None)
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def left(self, call: str) -> str:
        """This call waits no longer: the request for which it did where no other call waits for that one, else empty."""
        approval = self._waiting.pop(call, "")
        return "" if approval in self._waiting.values() else approval

    def alone(self, approval: str, call: Call) -> bool:
        """Whether nobody but the caller of this has asked for that approval, and with no other limits: others come back for the decision."""
        asker = _asker(call)
        return asker is not None and self._askers.get(approval) == asker

    def of(self, approval: str) -> AskedCall | None:
        """The call behind a request; None where this process has not seen it."""
        return self._kept.get(approval)


def _asker(call: Call) -> _Asker | None:
    """Whose request it is. Callers without a name are told apart by their sessions; without those, each is anybody."""
    caller = call.caller
    if caller.kind != "anonymous":
        return caller.who, caller.limits, ""
    return (caller.who, caller.limits, call.session) if call.session else None


def _program(call: Call) -> str:
    said = (call.client.info.get(name) for name in ("name", "version"))
    return " ".join(one[:_NAME_CHARS] for one in said if isinstance(one, str))
