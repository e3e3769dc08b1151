"""Types of calls, for all parts: `Call`, `Caller`, `Client`, `Tool`, outcomes, `Event`, `Question`; interfaces `Gate`, `Filter`, `Back`.

Every request, at whichever endpoint it arrives, becomes one `Call`. The kernel walks it through the gates, hands it to its owner,
cleans what comes back with the filters, and returns one `Outcome`. Nothing here knows a transport, a protocol revision or a clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Protocol, cast

import msgspec

__all__ = [
    "ANONYMOUS",
    "KERNEL",
    "RECONNECT",
    "SHIPPED",
    "Answer",
    "Back",
    "Call",
    "Caller",
    "CannotAsk",
    "Client",
    "Event",
    "Failure",
    "Filter",
    "Gate",
    "Kind",
    "Mgp",
    "Outcome",
    "Question",
    "Refusal",
    "Security",
    "Target",
    "Tool",
    "Trust",
    "Unrecorded",
    "UserContext",
    "Who",
    "verdict_of",
]

Kind = Literal["tool", "prompt", "resource", "list", "method"]
"""What a call is about. `list` covers every catalogue question, `method` everything else."""


Trust = Literal["untrusted", "community", "verified", "system"]
"""How far a user is trusted, lowest first (decision C-57: the trust of a tool or a server is another)."""


class UserContext(msgspec.Struct, frozen=True):
    """Limits on a caller from one source: its key, an `[agents]` entry of the configuration, or its token. A member that is
    empty limits nothing."""

    role: str = ""
    """A word for people and for the record. Nothing follows from it."""
    trust: Trust | None = None
    """Not said: `verified`."""
    resources: tuple[str, ...] = ()
    """Patterns of paths and URIs, the only ones it may touch; empty: any."""
    permissions: tuple[str, ...] = ()
    """What it holds, in the spelling of `mcp.wire.permissions`; empty: what grants give."""
    scopes: tuple[str, ...] = ()
    """Of a token: those that it has."""
    steps: tuple[tuple[str, str], ...] = ()
    """Of a token: permissions that it lacks, each with a scope that would give it."""


@lru_cache(maxsize=1024)
def _digest(limits: tuple[UserContext, ...]) -> str:
    return hashlib.blake2b(msgspec.json.encode(limits), digest_size=16).hexdigest()


Who = tuple[str, str]
"""Kind and id of a caller."""


# gc=False, here and elsewhere: such structs are part of no cycle, so the collector need not look at them (decision 0036).
class Caller(msgspec.Struct, frozen=True, gc=False):
    """Who asks, as authentication established it; never taken from arguments (decision C-17)."""

    id: str
    kind: Literal["agent", "owner", "operator", "anonymous"] = "agent"
    """`owner` is the host of whoever started the process: an agent to which everything that the
    configuration offers is open. `operator` may also use what only operators may."""
    key_id: str | None = None
    token: bool = False
    """Whether it showed an access token of an OAuth issuer, and no key of the gateway's."""
    user: tuple[UserContext, ...] = ()
    """Its limits, one entry a source, the nearest source first. All of them hold; they are not merged (decision 0023)."""

    @property
    def who(self) -> Who:
        """What tells callers apart. The id alone does not: a key may be named as a host of this machine is."""
        return self.kind, self.id

    @property
    def limits(self) -> str:
        """A digest of its limits: keys of one caller with the same may see the same."""
        return _digest(self.user)

    def party(self, session: str) -> str:
        """Who shares what is asked and said in a session: all keys of one caller with equal limits (decision 0119)."""
        return f"{session} {_digest(self.user)}"


ANONYMOUS = Caller("anonymous", "anonymous")

KERNEL = "mgp"
"""The gateway itself, as the owner of tools. No server may be called so."""

SHIPPED = "gatewright"
"""The gateway as the owner of tools for agents: those that it ships and those that are registered with it
while it runs. No configured server may be called so."""


class Mgp(msgspec.Struct, frozen=True):
    """What MGP negotiation (§2) agreed with one peer.

    `place` is where the peer offered it, and so where the reply belongs:
    `mgp`, `experimental` or `extensions` (decision C-50).
    """

    version: str
    extensions: tuple[str, ...]
    place: Literal["mgp", "experimental", "extensions"] = "mgp"


class Client(msgspec.Struct, frozen=True):
    """How the caller's program speaks: MCP revision, what it can do, what it calls itself."""

    revision: str
    capabilities: Mapping[str, Any] = {}
    info: Mapping[str, Any] = {}
    mgp: Mgp | None = None
    log_level: str | None = None
    mgp_problem: str = ""
    """Why its offer of MGP does not count; plain MCP goes on without it."""


class Security(msgspec.Struct, frozen=True):
    """A tool's effective security metadata (MGP §4.3), after the operator's word was added."""

    risk_level: Literal["safe", "moderate", "dangerous"] = "moderate"
    permissions_required: tuple[str, ...] = ()
    validator: str = "none"
    confirmation_required: bool = False
    declared: bool = False
    """Whether the server or the operator said any of this; plain MCP tools say nothing."""
    validator_args: Mapping[str, tuple[str, ...]] = {}
    """Validator → JSON pointers of the arguments that it judges; without any it chooses by itself."""
    validator_options: Mapping[str, Mapping[str, Any]] = {}
    """Validator → its options."""
    flow: tuple[Literal["untrusted", "private", "outbound"], ...] = ()
    """Which way data flows through it (`servers/data_flow.py`)."""
    hints: tuple[Literal["destructive", "open_world"], ...] = ()
    """What its server's annotations say, where no operator vouched for it (`servers/tool_hints.py`)."""


class Target(msgspec.Struct, frozen=True, gc=False):
    """The canonical id of what is called: the server that owns it and its own name there."""

    server: str
    name: str


class Tool(msgspec.Struct, frozen=True):
    """A tool as the catalogue holds it. `definition` is the server's own JSON, member by member."""

    target: Target
    exposed: str
    definition: Mapping[str, msgspec.Raw]
    schema: Any = None
    """The decoded `inputSchema`, or None where the tool declares none."""
    security: Security = Security()
    headers: Mapping[tuple[str, ...], str] = {}
    """`x-mcp-header` annotations: argument path → header name part (MCP 2026-07-28)."""
    repeatable: bool = False
    """The operator's word (`[servers.tools.NAME] repeatable`) that a second call does no more than one. What a server says
    of its own tools (`readOnlyHint`, `idempotentHint`) is no such word."""
    as_task: bool = False
    """Whether hosts are told that a call of it may be a task of the gateway's: it may wait for an operator."""


class Call(msgspec.Struct, frozen=True):
    """One request on its way through the kernel.

    `params` is the decoded `params` object, unknown members included: it is what the gates judge
    and, re-encoded, what the owner receives. `deadline` is monotonic seconds. `facts` only grows:
    gates add what they found out (the deciding grant, the validator applied), for the record.
    """

    id: str
    door: str
    kind: Kind
    method: str
    name: str
    params: dict[str, Any]
    caller: Caller
    client: Client
    trace_id: str
    session: str | None = None
    profile: str = ""
    deadline: float | None = None
    target: Target | None = None
    tool: Tool | None = None
    credential: str | None = None
    """What the caller presented, before `authenticate` turned it into a `Caller`."""
    facts: dict[str, Any] = {}
    doubt: Refusal | None = None
    """Why the endpoint would refuse the call. The gate `session` refuses it with this, so that the refusal is recorded as all
    others are."""
    task_tool: Tool | None = None
    """Of a call about a task of a server: the tool whose call that is, as it is offered now. `target` is that tool's then."""
    requested: frozenset[str] | None = None
    """The permissions that the caller wants to use of those that it holds; None: all of them."""
    request: bytes = b""
    """The id (JSON text) under which its client waits for the answer; empty where it has none."""
    listen: str | None = None
    """The open `subscriptions/listen` that it belongs to."""
    size: int = 0
    """Bytes of the JSON text that the arguments were read from with all other params; 0 where nobody knows, or they were changed since."""
    touches: tuple[Any, Sequence[Any]] | None = None
    """The arguments that `access` has looked through in slices, and what they name that may be limited. So nobody who asks again
    about a running call goes through all of its texts at once."""

    @property
    def payer(self) -> Hashable:
        """Whose share of the workers it takes: its caller's, or of who wants to know what would become of it (the fact `asked_by`)."""
        return cast("Hashable", self.facts.get("asked_by", self.caller.who))

    @property
    def party(self) -> str:
        """Whose exchange with a server it is: the session's and its limits', or the call's own where there are no sessions."""
        return self.id if self.session is None else self.caller.party(self.session)

    @property
    def holder(self) -> str | None:
        """The key of a subscription that it makes: the open `subscriptions/listen`, else the session; None without both."""
        return self.session if self.listen is None else self.listen

    @property
    def speaker(self) -> Target | None:
        """Who wrote the text that comes back: the tool, also where the call asks about a task of it (the fact `task_of`, whose
        tool is empty where it is not known); else the target."""
        return self.facts.get("task_of", self.target) if self.tool is None else self.tool.target

    @property
    def of_tool(self) -> bool:
        """Whether a tool wrote the text that comes back."""
        return self.kind == "tool" or "task_of" in self.facts

    @property
    def repeatable(self) -> bool:
        """Whether making it twice surely does no more than making it once: what only reads by its method, or by the operator's word."""
        if self.kind in ("list", "prompt", "resource"):
            return True
        return self.tool is not None and self.tool.repeatable

    @property
    def arguments(self) -> Any:
        """The `arguments` of a tool or prompt call; an empty object when there are none."""
        found = self.params.get("arguments")
        return {} if found is None else found


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The owner answered. `raw` is the JSON text of the result object, untouched unless a filter changed it."""

    raw: bytes
    tool_error: bool = False
    """True where a tool result carries `isError: true`: the tool ran and says that it failed."""
    modern: bool = False
    """True where `raw` is in the form of MCP 2026-07-28 (`resultType` and caching members present)."""
    own: bool = False
    """True for text of the gateway's own making: an object with members, none of which an era or MGP
    adds or takes away, so that nobody has to look into it again."""
    once: bool = False
    """Of a tool that says that it failed: see `Failure.once`."""
    read: tuple[bytes, Mapping[str, msgspec.Raw]] | None = None
    """Of a large text its members, which are those of `raw` where that is the very text beside them (`mcp.protocol.read_members`)."""


class Refusal(msgspec.Struct, frozen=True):
    """Policy said no. `reason` is a key of the table in `mcp/wire/codes.py`."""

    reason: str
    message: str
    details: Mapping[str, Any] = {}
    retry_after_ms: int | None = None
    gate: str = ""
    once: bool = False
    """See `Failure.once`; True where policy spoke after the call had been handed to its owner."""


class Failure(msgspec.Struct, frozen=True):
    """Something broke on the way. `error` is the owner's own JSON-RPC error object, passed on intact."""

    reason: str
    message: str = ""
    details: Mapping[str, Any] = {}
    retry_after_ms: int | None = None
    error: bytes | None = None
    once: bool = False
    """True where the call may have been carried out and the operator did not declare the tool `repeatable`: then no endpoint
    says that it can be repeated (decision 0039). Set by `mcp.protocol.ended_calls.marked`."""
    mgp: bool = False
    """Of an owner's own error: True where MGP was negotiated with it, so that its code means what MGP's table says (0117)."""


Outcome = Answer | Refusal | Failure


class Event(msgspec.Struct, frozen=True):
    """A notification that belongs to a running call: progress, a log line, a stream chunk, anything unknown."""

    method: str
    params: dict[str, Any]


RECONNECT = "gatewright/reconnect"
"""The method of the event by which an owner says that it closed its stream on purpose and will answer a
client that comes back after `params["retry_ms"]` milliseconds (MCP 2025-11-25, SSE polling). Only the
Streamable HTTP endpoint can pass that on; it is never sent as a message."""


class Question(msgspec.Struct, frozen=True):
    """What a tool server asks its caller in the middle of a call: elicitation, sampling, roots, or unknown."""

    method: str
    params: dict[str, Any] | None = None
    key: str = ""
    """What a modern caller's answer is called; empty where nobody minds."""
    progress: Callable[[dict[str, Any]], None] | None = None
    """Tells whoever asks how far the caller is, where it wants to know: takes the params of `notifications/progress`."""
    server: str = ""
    """The server that asks, where that is known."""


class CannotAsk(Exception):  # noqa: N818 - a verdict, not a malfunction
    """The caller cannot be asked: no channel, no such capability, or it went away.

    `code` and `data` are the JSON-RPC error members to hand to whoever asked.
    """

    def __init__(self, message: str, code: int = -32601, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data = data


class Unrecorded(Exception):  # noqa: N818 - the promise it names: no record, no call
    """The audit trail cannot be written, so the call may not go on."""

    ran = True
    """Whether the call may have been carried out: only its trail knows that it was not."""


class Back(Protocol):
    """What may travel back to the caller while its call runs."""

    def emit(self, event: Event) -> None:
        """Send one event. Never blocks; a caller that does not read loses its stream, not the kernel."""

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller and wait for the result object. Raises `CannotAsk`."""


class Gate(Protocol):
    """One policy question. It may refuse, or return the call with more facts; nothing else. (The gate `sanitize`
    may also take out of the arguments what nobody sees, before anybody judges them.)"""

    name: str

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        """The call, with more facts or as it was, or why it may not pass. To be awaited only where the gate has to wait
        for somebody: most know at once."""


async def verdict_of(gate: Gate, call: Call, back: Back) -> Call | Refusal:
    """What a gate says of a call, whether it has to wait or not."""
    verdict = gate(call, back)
    return verdict if isinstance(verdict, Call | Refusal) else await verdict


class Filter(Protocol):
    """What may travel back: each outcome and each event passes every filter. To be awaited only where it is too large to be
    looked through at once; events and outcome keep their order."""

    name: str

    def outcome(self, call: Call, outcome: Outcome) -> Outcome | Awaitable[Outcome]:
        """The outcome as the caller may see it."""

    def event(self, call: Call, event: Event) -> Event | Awaitable[Event | None] | None:
        """The event as the caller may see it, or None where it may not. A server's question is one, too."""
