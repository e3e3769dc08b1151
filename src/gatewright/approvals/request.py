"""Types of a request for approval: what it is bound to, its state, scope, steps for the audit trail; `Voter`, `CannotDecideError`."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec

from gatewright.approvals.shown_arguments import unseen

__all__ = [
    "Approval",
    "ApprovalChange",
    "Asked",
    "Asker",
    "CannotDecideError",
    "Scope",
    "State",
    "Voter",
    "approval_of",
]

State = Literal["pending", "approved", "denied", "used", "expired"]
Scope = Literal["once", "arguments", "tool"]
"""What one approval lets pass: one call; these arguments again and again; the tool with any arguments."""

Asker = Literal["agent", "owner", "operator", "anonymous", "server"]
"""What kind of principal asks: one of `call.Caller.kind`, or a server that asks for a permission."""


class Voter(NamedTuple):
    """Who decides, and by which key."""

    name: str
    key: str = ""
    """Its id; empty of who has shown none (`vote_rules.by_key`)."""


class CannotDecideError(ValueError):
    """A decision that cannot be: the message says why. `why` is one word for programs."""

    def __init__(
        self,
        why: Literal["unknown", "own", "over", "voted", "edited", "keyless"],
        message: str,
    ) -> None:
        super().__init__(message)
        self.why = why


class Asked(msgspec.Struct, frozen=True):
    """What somebody wants to do, as far as an approval is bound to it."""

    agent: str
    """The id of who asks."""
    server: str
    tool: str
    """Where a server asks: the permission."""
    arguments_digest: str = ""
    definition_digest: str = ""
    policy: str = ""
    kind: Asker = "agent"
    session: str = ""
    """SHA-256 of the session of a caller without a name, which alone tells it from others; empty of everybody else, and where it has none."""


class Approval(Asked, frozen=True, kw_only=True):
    """One request for approval. Times are Unix seconds."""

    id: str
    arguments: str
    """JSON text to look at; empty once the request is over."""
    risk: str
    reason: str
    """Why a person is asked."""
    quorum: int
    requested: float
    expires: float
    """When it ends undecided or unused; for the scopes beyond `once`, how long it holds."""
    state: State = "pending"
    scope: Scope = "once"
    decided: float | None = None
    by: str = ""
    comment: str = ""
    uses: int = 0
    edited: str = ""
    """The arguments with which it runs instead, canonical JSON, where an operator changed them."""

    @property
    def runs(self) -> str:
        """The SHA-256 of the arguments with which it would run now."""
        return sha256(self.edited.encode()).hexdigest() if self.edited else self.arguments_digest

    @property
    def unseen(self) -> str:
        """What of the arguments nobody can look at here, for a person; empty where they are whole."""
        return unseen(self.arguments)

    @property
    def who(self) -> str:
        """Who asks, for a person."""
        return f"the server {self.server}" if self.kind == "server" else self.agent

    @property
    def wish(self) -> str:
        """What they want to do, for a person."""
        if self.kind == "server":
            return f"have the permission {self.tool}"
        return f"run {self.server}/{self.tool}"


def approval_of(row: Sequence[Any]) -> Approval:
    """A request out of its row, whose columns are its members in their order."""
    said = dict(zip(Approval.__struct_fields__, row, strict=True))
    # Requests from before it was kept have none.
    return Approval(**said | {"session": said["session"] or ""})


class ApprovalChange(msgspec.Struct, frozen=True):
    """One step that the audit trail does not have yet."""

    number: int
    time: float
    action: Literal[
        "requested",
        "approved",
        "denied",
        "used",
        "expired",
        "voted",
        "unvoted",
        "withdrawn",
        "lapsed",
    ]
    """`unvoted` and `lapsed`: the yes of `by`, or the approval that rested on it, counts no more."""
    by: str
    approval: Approval
