"""`AskedCalls`: what gates found out about calls that wait for an operator, by approval id: session, program, rule, facts; in memory, bounded.

A request in the state database is bound to what was asked, and says no more. Whoever decides wants to know more of the call behind
it, which a restart takes away together with the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.approvals.texts import rule_of
from gatewright.call import Call, Tool

__all__ = ["KEPT", "AskedCall", "AskedCalls"]

KEPT = 10_000
"""So many; of more, the oldest goes first."""
_NAME_CHARS = 200


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

    def note(self, approval: str, call: Call, tool: Tool) -> None:
        """This call waits for that approval."""
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
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def approval_of(self, call: str) -> str:
        """The request for which a call waits, or waited; empty where there is none."""
        found = (id for id, one in reversed(self._kept.items()) if one.id == call)
        return next(found, "")

    def of(self, approval: str) -> AskedCall | None:
        """The call behind a request; None where this process has not seen it."""
        return self._kept.get(approval)


def _program(call: Call) -> str:
    said = (call.client.info.get(name) for name in ("name", "version"))
    return " ".join(one[:_NAME_CHARS] for one in said if isinstance(one, str))
