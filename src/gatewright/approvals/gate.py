"""Gate `confirm`: holds risky or data-exporting calls until caller or operator agrees, remembers some agreements, re-checks edited arguments.

Theory: a tool that asks for confirmation is confirmed call by call; a dangerous one as well, unless a
grant names this tool for this caller (MGP §4.4: confirmation or permission). A grant of the whole
server does not: whoever gave it did not have this tool in mind. The same holds for a tool of which its server's
annotations say that it destroys, or reaches out into the open world, where no operator said how dangerous it is; of those that only
reach out, a yes holds for a while. So is a call of which the gate `flow` says that it would
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
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from gatewright.approvals import texts
from gatewright.approvals.agreements import Agreements
from gatewright.approvals.operators import Agreed, Operators
from gatewright.call import Back, Call, CannotAsk, Gate, Refusal, Target, Tool, verdict_of
from gatewright.mcp.wire.jsonrpc import decode
from gatewright.servers.definition_digest import canonical_steps
from gatewright.standing import NOTHING, Standing
from gatewright.transport.slices import in_slices

__all__ = ["Confirm", "OpenWorld", "Rule", "asks_about"]


class Rule(msgspec.Struct, frozen=True):
    """Who has to agree to the calls of a tool, and how many of them where they are operators."""

    approver: Literal["caller", "operator", "either"] = "caller"
    quorum: int = 1


_CALLER = Rule()


class OpenWorld(NamedTuple):
    """Yeses to tools that only reach out, and for how long each holds."""

    agreements: Agreements
    lasts_s: float
    origin: Callable[[str], str] = lambda _: ""
    """What stands behind a server's id (`servers.origin`)."""


def asks_about(tool: Tool, access: Any) -> bool:
    """Whether somebody's word may be needed for calls of a tool that were let in by this level of access, whatever a session has read."""
    security = tool.security
    if security.confirmation_required:
        return True
    if access == "tool_grant":
        return False
    return security.risk_level == "dangerous" or bool(security.hints)


class Confirm:
    """Gate `confirm`. Writes who agreed into the fact `confirmed_by`, and the approval into `approval`."""

    name = "confirm"

    def __init__(
        self,
        access: Gate,
        clock: Callable[[], float],
        *,
        patience_s: float = 120.0,
        operators: Operators | None = None,
        rule: Callable[[Target], Rule] = lambda _: _CALLER,
        again: Sequence[Gate] = (),
        open_world: OpenWorld | None = None,
    ) -> None:
        """`access` is asked again after the wait; `clock` gives monotonic seconds; `rule` says who has to agree to
        the calls of a tool. Without `operators` a rule that wants one refuses. `again` are the gates that judge
        arguments, for those that an operator changed. Without `open_world` tools that only reach out are asked about each time."""
        self._access = access
        self._open_world = open_world
        self._lasts_s = 0.0 if open_world is None else open_world.lasts_s
        self._again = again
        self._clock = clock
        self._patience_s = patience_s
        self._operators = operators
        self._rule = rule

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        tool = call.tool
        if tool is not None:
            security = tool.security
            # What `asks_about` and `_to_confirm` look at; most tools have nothing of it.
            if (
                security.risk_level == "dangerous"
                or security.hints
                or security.confirmation_required
                or "flow" in call.facts
            ):
                tool = self._to_confirm(call)
                if tool is not None:
                    return self._confirmed(call, tool, back)
            if self._operators is not None:
                self._operators.passed(call)
        return call

    def stands(self, call: Call) -> Standing | None:
        """Nobody is asked about a tool of which nothing says that somebody may have to be."""
        tool = call.tool
        if tool is None or "flow" in call.facts:
            return None
        security = tool.security
        risky = security.risk_level == "dangerous" or security.confirmation_required
        return None if risky or security.hints else NOTHING

    async def _confirmed(self, call: Call, tool: Tool, back: Back) -> Call | Refusal:
        verdict = await self._confirm(call, tool, back)
        if self._operators is not None and isinstance(verdict, Call):
            self._operators.passed(call)
        return verdict

    async def rehearse(self, call: Call) -> Call | Refusal:
        """Whether somebody would be asked. Nobody is."""
        tool = self._to_confirm(call)
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

    def _to_confirm(self, call: Call) -> Tool | None:
        """The tool whose call needs somebody's word."""
        tool = call.tool
        if tool is None:
            return None
        if "flow" in call.facts:  # whatever was granted
            return tool
        if not asks_about(tool, call.facts.get("access")):
            return None
        security = tool.security
        always = security.confirmation_required or security.risk_level == "dangerous"
        if always or "destructive" in security.hints:
            return tool
        return None if self._agreed_before(call, tool) else tool

    def _agreed_before(self, call: Call, tool: Tool) -> bool:
        known = self._open_world
        if known is None:
            return False
        origin = known.origin(tool.target.server)
        return known.agreements.holds(call, tool, self._lasts_s, origin)

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
        # Nobody was reached. A caller that said no has another reason, and is not overruled by the queue.
        unasked = isinstance(found, Refusal) and found.reason == "confirmation_required"
        if found is None or (rule.approver == "either" and unasked):
            found = await self._ask_operators(call, tool, back, rule.quorum)
        if isinstance(found, Refusal):
            return found
        # An operator who changed the arguments did not agree to the tool as the caller uses it.
        if self._open_world is not None and texts.lasts(call, tool) and not found.edited:
            known = self._open_world
            known.agreements.add(call, tool, found.approval, known.origin(tool.target.server))
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
        # A grant may have gone while somebody thought.
        return await verdict_of(self._access, call, back)

    async def _edited(self, call: Call, arguments: str, back: Back) -> Call | Refusal:
        """The call with other arguments, if it may pass like that."""
        before = await in_slices(canonical_steps(call.arguments))
        call.facts["edited_from"] = sha256(before).hexdigest()
        params = {**call.params, "arguments": decode(arguments.encode())}
        call = replace(call, params=params, size=0)
        for gate in self._again:
            verdict = await verdict_of(gate, call, back)
            if isinstance(verdict, Refusal):
                said = f"an operator changed the arguments, and then: {verdict.message}"
                return replace(verdict, message=said, gate=verdict.gate or gate.name)
            call = verdict
        return call

    async def _ask_operators(
        self, call: Call, tool: Tool, back: Back, quorum: int
    ) -> Agreed | Refusal:
        if self._operators is None:
            why = "there is no queue in which it could wait for an operator"
            return texts.refused(call, tool, why)
        why = texts.reason(call, tool, self._lasts_s)
        return await self._operators.ask(call, tool, back, quorum, why)

    async def _ask_caller(self, call: Call, tool: Tool, back: Back) -> Agreed | Refusal:
        try:
            async with asyncio.timeout(self._patience_s):
                answer = await back.ask(texts.question(call, tool, self._lasts_s))
        except CannotAsk as problem:
            return texts.refused(
                call, tool, f"the caller cannot be asked ({problem.message[:200]})"
            )
        except TimeoutError:
            return texts.refused(call, tool, f"nobody answered within {self._patience_s:g} s")
        if texts.agreed(answer):
            return Agreed(call.caller.id)
        return Refusal(
            "permission_denied",
            f"{tool.exposed} was not confirmed by the caller, so it was not run",
            {"missing": "confirmation"},
        )
