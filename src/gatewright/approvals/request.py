"""Approval request types (`Asked`, `Approval`, `ApprovalChange`); redacts, cuts arguments; merges votes; tells which voters used an API key."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal

import msgspec

from gatewright.command_text import to_type
from gatewright.secret_scanning import without_secrets

__all__ = [
    "SHOWN_CHARS",
    "Approval",
    "ApprovalChange",
    "Asked",
    "Asker",
    "CannotDecideError",
    "Scope",
    "State",
    "agreed_on",
    "approval_of",
    "by_key",
    "canonical",
    "is_own",
    "needs_keys",
    "shown",
]

SHOWN_CHARS = 16 * 1024
"""How much of the arguments is kept for a person to look at. What is longer is cut, and says so."""
_CUT, _BEGINS = "… ({} characters)", "… ("
_UNDECIDED = 8 * 1024
"""How much more of longer ones is looked through and not kept: a secret that begins in what is kept ends there, or is one by its
beginning."""
_ESCAPE = 6
_OTHERS = ("owner", "server")
"""Who is somebody else than an operator of the same name: the host of whoever runs the gateway, and a server."""

State = Literal["pending", "approved", "denied", "used", "expired"]
Scope = Literal["once", "arguments", "tool"]
"""What one approval lets pass: one call; these arguments again and again; the tool with any arguments."""
_WIDER: tuple[Scope, ...] = ("once", "arguments", "tool")

Asker = Literal["agent", "owner", "operator", "anonymous", "server"]
"""What kind of principal asks: one of `call.Caller.kind`, or a server that asks for a permission."""


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
        # Whole ones are a JSON object, and end like one.
        kept, cut, of = self.arguments.rpartition(_BEGINS)
        if not cut or not of.endswith("characters)"):
            return ""
        return f"of {of[:-1]} of arguments the first {len(kept)} are kept here; nobody was shown the rest"

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
    return Approval(**dict(zip(Approval.__struct_fields__, row, strict=True)))


class ApprovalChange(msgspec.Struct, frozen=True):
    """One step that the audit trail does not have yet."""

    number: int
    time: float
    action: Literal["requested", "approved", "denied", "used", "expired", "voted", "withdrawn"]
    by: str
    approval: Approval


def shown(arguments: str) -> str:
    """Arguments as they are kept to be looked at: without secrets, and no more of them looked through than is kept, and a
    little behind it, in which one may end."""
    most = SHOWN_CHARS + _UNDECIDED
    if len(arguments) <= most:
        clean = _clean(arguments)
        return clean if len(clean) <= SHOWN_CHARS else _cut(clean, SHOWN_CHARS, arguments)
    clean = _clean(_closed(arguments[:most]))
    return _cut(clean, min(SHOWN_CHARS, max(0, len(clean) - _UNDECIDED)), arguments)


def _clean(text: str) -> str:
    return without_secrets(text.encode("utf-8", "replace")).decode()


def _cut(clean: str, at: int, whole: str) -> str:
    return clean[:at] + _CUT.format(len(whole))


def _closed(head: str) -> str:
    """The beginning of a JSON text with the end of the string in which it was cut: what is in no string is not looked through."""
    plain = head.replace("\\\\", "..").replace('\\"', "..")
    if not plain.count('"') % 2:
        return head
    escape = head.rfind("\\", len(head) - _ESCAPE)
    return (head if escape < 0 else head[:escape].rstrip("\\")) + '"'


def is_own(kind: str, agent: str, by: str) -> bool:
    """Whether an operator (`by`) would decide on what they asked for themselves, by the request's kind and its agent."""
    return agent == by and kind not in _OTHERS


def by_key(operator: str) -> bool:
    """Whether who decides has shown a key. The user of a terminal (`local:NAME`) and the token of the running gateway
    (`local`) have not: nobody knows how many people they are. Nor has who signed in to the console by an issuer (`oidc:NAME`), who
    may have a key besides. No key is called so (`identity/keys.py`)."""
    return operator.partition(":")[0] not in ("local", "oidc")


def needs_keys(one: Approval) -> str:
    """What somebody hears whose yes does not count."""
    return (
        f"{one.id} needs the yes of {one.quorum} operators, and only keys tell one from another: each makes one with "
        f"`{to_type('key create NAME --operator')}` and passes it in GATEWRIGHT_KEY"
    )


def agreed_on(votes: Sequence[tuple[Scope | None, float]], once: float) -> tuple[Scope, float]:
    """What several operators said yes to, each for a scope and until a time: the narrowest scope, and the earliest end. `once` is
    when an approval of one call ends."""
    # A vote from before they were asked for what is for one call.
    scope = min((scope or "once" for scope, _ in votes), key=_WIDER.index)
    return scope, once if scope == "once" else min(ends for _, ends in votes)


def canonical(arguments: str) -> str:
    """Arguments that somebody wrote, as JSON in its one form. Raises `ValueError` for what cannot be the arguments of a call."""
    try:
        found = msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.DecodeError as problem:
        raise ValueError(f"the arguments of a call are a JSON object: {problem}") from None
    return msgspec.json.encode(found, order="deterministic").decode()
