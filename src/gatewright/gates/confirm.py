"""Does somebody agree to this very call? Asked last, because a person's attention is the dearest thing here.

Theory: a tool that asks for confirmation is confirmed call by call; a dangerous one as well, unless a
grant names this tool for this caller (MGP §4.4: confirmation or permission). A grant of the whole
server does not: whoever gave it did not have this tool in mind. So is a call of which the gate `flow` says that it would
send out what the session has read, whatever was granted.

Who is asked is a rule of the configuration. `caller`: the caller's own client is asked, and a caller that
cannot be asked, does not answer or answers anything but yes is refused. A host may answer by itself, so this is
the consent of its user and not the word of an operator. `operator`: the call goes into the queue of what waits
for a person; it waits there for a while, and where nobody decides in that time its caller is told to repeat the
same call later, which then uses the approval up. `either`: the caller where it can be asked, else the queue.

What is shown in a question has text that comes from elsewhere made visible and short. While somebody thought, a
grant may have been revoked: access is asked once more afterwards. The time they took is not the tool's, so a
deadline moves by as much.

An operator may change the arguments before agreeing. The call that then runs is another one: it is judged once more, and the
record has the digests of both. A client that can show its user a page is given one on which an operator decides
(MCP elicitation, mode `url`); whoever opens it still has to be an operator.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from gatewright.call import Back, Call, CannotAsk, Event, Gate, Question, Refusal, Target, Tool
from gatewright.stores.approval import Approval, Asked
from gatewright.validators.definition import canonical, definition_digest
from gatewright.wire.jsonrpc import decode, encode
from gatewright.wire.visible import spelled

__all__ = ["Confirm", "Desk", "Queue", "Rule"]

_NEWS_EVERY_S = 5.0
"""How often a caller that waits for an operator hears that it does."""

_SHOWN = 600

_SCHEMA = {
    "type": "object",
    "properties": {
        "confirm": {
            "type": "boolean",
            "title": "Run it",
            "description": "Yes runs exactly this call once.",
            "default": False,
        }
    },
    "required": ["confirm"],
}


class Rule(msgspec.Struct, frozen=True):
    """Who has to agree to the calls of a tool, and how many of them where they are operators."""

    approver: Literal["caller", "operator", "either"] = "caller"
    quorum: int = 1


class Desk(Protocol):
    """The queue of what waits for a person."""

    def redeem(self, asked: Asked) -> Approval | None:
        """Use an approval of this very question up, where there is one."""

    def ask(
        self, asked: Asked, *, arguments: str, risk: str, reason: str, quorum: int
    ) -> Approval | None:
        """The request for this question. None where its caller has too many waiting."""

    @property
    def page(self) -> Callable[[Approval], str]:
        """Gives the URL of a page on which an operator decides; empty where there is none."""

    async def decided(self, id: str) -> None:
        """Wait until a request is no longer undecided."""


class Queue(NamedTuple):
    """What the gate needs in order to ask operators. `policy` is the version of the policy in force, to which an
    approval is bound; `hold_s` is how long a call waits before its caller is told to come back."""

    desk: Desk
    policy: str
    hold_s: float


_CALLER = Rule()


class Confirm:
    """Gate `confirm`. Writes who agreed into the fact `confirmed_by`, and the approval into `approval`."""

    name = "confirm"

    def __init__(
        self,
        access: Gate,
        clock: Callable[[], float],
        *,
        patience_s: float = 120.0,
        queue: Queue | None = None,
        rule: Callable[[Target], Rule] = lambda _: _CALLER,
        again: Sequence[Gate] = (),
        redeemed: Callable[[Call], None] = lambda _: None,
    ) -> None:
        """`access` is asked again after the wait; `clock` gives monotonic seconds; `rule` says who has to agree to
        the calls of a tool. Without a `queue` a rule that wants an operator refuses. `again` are the gates that judge
        arguments, for those that an operator changed; `redeemed` hears of a call that was asked before."""
        self._access = access
        self._again, self._redeemed = again, redeemed
        self._clock = clock
        self._patience_s = patience_s
        self._queue = queue
        self._rule = rule

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = _to_confirm(call)
        return call if tool is None else await self._confirm(call, tool, back)

    async def rehearse(self, call: Call) -> Call | Refusal:
        """Whether somebody would be asked. Nobody is."""
        tool = _to_confirm(call)
        if tool is None:
            return call
        who = {"caller": "the caller", "operator": "an operator"}
        approver = self._agreeing(call, tool).approver
        asked = who.get(approver, "the caller, or else an operator,")
        return Refusal(
            "confirmation_required",
            f"{asked} would be asked to agree to this very call of {tool.exposed}",
            {"approver": approver, "risk_level": tool.security.risk_level},
        )

    def _agreeing(self, call: Call, tool: Tool) -> Rule:
        """Who has to agree. Where the flow of data asks for a person, an operator does where the caller cannot."""
        rule = self._rule(tool.target)
        if "flow" in call.facts and rule.approver == "caller":
            return replace(rule, approver="either")
        return rule

    async def _confirm(self, call: Call, tool: Tool, back: Back) -> Call | Refusal:
        began = self._clock()
        rule = self._agreeing(call, tool)
        found = None if rule.approver == "operator" else await self._ask_caller(call, tool, back)
        unasked = isinstance(found, Refusal) and found.reason == "confirmation_required"
        if found is None or (rule.approver == "either" and unasked):
            found = await self._ask_operators(call, tool, back, rule.quorum)
        if isinstance(found, Refusal):
            return found
        call.facts["confirmed_by"] = found.by
        call.facts["waited_ms"] = round((self._clock() - began) * 1000, 3)
        if found.approval:
            call.facts["approval"] = found.approval
        if call.deadline is not None:
            call = replace(call, deadline=call.deadline + self._clock() - began)
        if found.edited:
            edited = await self._edited(call, found.edited, back)
            if isinstance(edited, Refusal):
                return edited
            call = edited
        return await self._access(call, back)

    async def _edited(self, call: Call, arguments: str, back: Back) -> Call | Refusal:
        """The call with other arguments, if it may pass like that."""
        call.facts["edited_from"] = sha256(canonical(call.arguments)).hexdigest()
        call = replace(call, params={**call.params, "arguments": decode(arguments.encode())})
        for gate in self._again:
            verdict = await gate(call, back)
            if isinstance(verdict, Refusal):
                said = f"an operator changed the arguments, and then: {verdict.message}"
                return replace(verdict, message=said, gate=verdict.gate or gate.name)
            call = verdict
        return call

    async def _ask_caller(self, call: Call, tool: Tool, back: Back) -> _Agreed | Refusal:
        try:
            async with asyncio.timeout(self._patience_s):
                answer = await back.ask(_question(call, tool))
        except CannotAsk as problem:
            return _refuse(call, tool, f"the caller cannot be asked ({problem.message[:200]})")
        except TimeoutError:
            return _refuse(call, tool, f"nobody answered within {self._patience_s:g} s")
        if _agreed(answer):
            return _Agreed(call.caller.id)
        return Refusal(
            "permission_denied",
            f"{tool.exposed} was not confirmed by the caller, so it was not run",
            {"missing": "confirmation"},
        )

    # -- operators -----------------------------------------------------------------------------------

    async def _ask_operators(
        self, call: Call, tool: Tool, back: Back, quorum: int
    ) -> _Agreed | Refusal:
        queue = self._queue
        if queue is None:
            return _refuse(call, tool, "there is no queue in which it could wait for an operator")
        try:
            asked, arguments = _asked(call, tool, queue.policy)
        except ValueError as problem:
            return _refuse(call, tool, f"it cannot be put to an operator: {problem}")
        used = queue.desk.redeem(asked)
        if used is not None:
            self._redeemed(call)
            return _Agreed(used.by, used.id, used.edited)
        risk = tool.security.risk_level
        made = queue.desk.ask(
            asked, arguments=arguments, risk=risk, reason=_why(call, tool), quorum=quorum
        )
        if made is None:
            return Refusal(
                "resource_exhausted",
                f"{tool.exposed} needs an operator's approval, and too many requests of {call.caller.id} wait "
                "for one already; `gatewright approve` lists them",
                {"missing": "approval"},
            )
        if made.state == "pending":
            await _held(queue, made, call, back)
            used = queue.desk.redeem(asked)
            if used is not None:
                return _Agreed(used.by, used.id, used.edited)
            made = queue.desk.ask(
                asked, arguments=arguments, risk=risk, reason=_why(call, tool), quorum=quorum
            )
        return _undecided(call, tool, made)


class _Agreed(NamedTuple):
    """Who agreed, and by which approval where there is one."""

    by: str
    approval: str = ""
    edited: str = ""


async def _held(queue: Queue, made: Approval, call: Call, back: Back) -> None:
    """Wait for a decision for as long as a call may wait, and let the caller know that it does."""
    waiting = asyncio.ensure_future(queue.desk.decided(made.id))
    showing = asyncio.ensure_future(_show(queue, made, call, back))
    try:
        steps = max(1, int(queue.hold_s / _NEWS_EVERY_S))
        for step in range(steps if queue.hold_s > 0 else 0):
            back.emit(_news(made, step, steps))
            done, _ = await asyncio.wait([waiting], timeout=queue.hold_s / steps)
            if done:
                return
    finally:
        waiting.cancel()
        showing.cancel()


async def _show(queue: Queue, made: Approval, call: Call, back: Back) -> None:
    """Give a caller that can show pages the one of this request. What its user does with it decides nothing."""
    can = call.client.capabilities.get("elicitation")
    if queue.hold_s <= 0 or not isinstance(can, dict) or not isinstance(can.get("url"), dict):
        return
    url = queue.desk.page(made)
    if url:
        words = f"{made.who} wants to {made.wish}. An operator decides on it on this page."
        params = {"mode": "url", "elicitationId": made.id, "url": url, "message": _visible(words)}
        with contextlib.suppress(CannotAsk):
            await back.ask(Question("elicitation/create", params))


def _news(made: Approval, step: int, steps: int) -> Event:
    text = f"waiting for an operator's approval ({made.id})"
    return Event("notifications/progress", {"progress": step, "total": steps, "message": text})


def _undecided(call: Call, tool: Tool, made: Approval | None) -> Refusal:
    if made is not None and made.state == "denied":
        because = f": {_visible(made.comment)}" if made.comment else ""
        return Refusal(
            "permission_denied",
            f"an operator ({made.by}) denied this call of {tool.exposed}{because}",
            {"missing": "approval", "approval_id": made.id},
        )
    id = made.id if made is not None else ""
    return Refusal(
        "permission_deferred",
        f"{tool.exposed} waits for an operator's approval ({id}){_because(call)}. Nothing was run. Repeat exactly the same call "
        f"later: it runs once it has been approved. An operator decides with `gatewright approve {id}`",
        {"status": "pending_approval", "approval_id": id, "missing": "approval"},
    )


def _asked(call: Call, tool: Tool, policy: str) -> tuple[Asked, str]:
    """What an approval is bound to, and the arguments as text. Raises `ValueError`."""
    arguments = canonical(call.arguments)
    asked = Asked(
        agent=call.caller.id,
        server=tool.target.server,
        tool=tool.target.name,
        arguments_digest=sha256(arguments).hexdigest(),
        definition_digest=definition_digest(tool.definition),
        policy=policy,
        kind=call.caller.kind,
    )
    return asked, arguments.decode()


def _why(call: Call, tool: Tool) -> str:
    if "flow" in call.facts:
        return _flow(call)
    return "it asks for confirmation" if tool.security.confirmation_required else "it is dangerous"


def _flow(call: Call) -> str:
    """What the gate `flow` found out, as a sentence's second half."""
    brought = call.facts["flow"]
    return (
        "it sends data out after the session has read what strangers wrote "
        f"({brought['untrusted']}) and private data ({brought['private']})"
    )


def _because(call: Call) -> str:
    return f", because {_flow(call)}," if "flow" in call.facts else ""


def _to_confirm(call: Call) -> Tool | None:
    """The tool whose call needs somebody's word."""
    tool = call.tool
    if tool is None:
        return None
    security = tool.security
    if security.confirmation_required or "flow" in call.facts:
        return tool
    dangerous = security.risk_level == "dangerous" and call.facts.get("access") != "tool_grant"
    return tool if dangerous else None


def _agreed(answer: Any) -> bool:
    if not isinstance(answer, dict) or answer.get("action") != "accept":
        return False
    content = answer.get("content")
    return isinstance(content, dict) and content.get("confirm") is True


def _refuse(call: Call, tool: Tool, why: str) -> Refusal:
    exit_ = (
        "call it from a client that answers elicitation"
        if tool.security.confirmation_required or "flow" in call.facts
        else "call it from a client that answers elicitation, or let the operator grant this tool "
        f"(server {tool.target.server!r}, tool {tool.target.name!r}) to the caller in mgp.toml"
    )
    return Refusal(
        "confirmation_required",
        f"{tool.exposed} needs confirmation{_because(call)} and {why}: {exit_}",
        {"missing": "confirmation", "risk_level": tool.security.risk_level},
    )


def _question(call: Call, tool: Tool) -> Question:
    arguments = encode(call.arguments)
    digest = sha256(arguments).hexdigest()[:16]
    target = tool.target
    lines = (
        f"{call.caller.id} asks to run the tool {target.name} of the server {target.server}.",
        f"Risk: {tool.security.risk_level}{_reversible(tool)}.",
        f"Arguments (SHA-256 {digest}): {arguments.decode()}",
        *([f"You are asked because {_flow(call)}."] if "flow" in call.facts else []),
    )
    return Question(
        "elicitation/create",
        {
            "mode": "form",
            "message": "\n".join(_visible(line) for line in lines),
            "requestedSchema": _SCHEMA,
        },
    )


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


def _visible(line: str) -> str:
    """One line in which nothing is hidden: control, invisible and direction characters are spelled."""
    shown = spelled(line[: _SHOWN + 1])
    return shown if len(line) <= _SHOWN else f"{shown[:_SHOWN]}… ({len(line)} characters)"
