"""Filter `output_schema`: replaces a tool's or task's result by a failure if `structuredContent` violates the `outputSchema`.

A result that does not fit is not passed on: its caller would act on fields that are not there, or are something else. What has
no structured content is not judged (a question, a task, a server that speaks a revision from before there was any), nor
is a result that says that the tool failed. Asked before anything is taken out, because marks do not fit a schema.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Generator

from msgspec import Raw

from gatewright.call import Answer, Call, Event, Failure, Outcome
from gatewright.chunk_way import TextStep, as_it_is
from gatewright.mcp.protocol.read_members import members_of
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.spellings import misread
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.objection import Objection
from gatewright.schemas.schema import TakesLongError
from gatewright.standing import NOTHING, Standing
from gatewright.transport.slices import in_slices, whole

__all__ = ["AT_ONCE", "JUDGED", "Fitting", "OutputSchema"]

AT_ONCE = 64 * 1024
"""Bytes of a result that is checked on the event loop, where its schema lets that be quick; else a worker checks it."""
JUDGED = frozenset(("structuredContent",))
"""The member that is judged: beside it nothing may stand that reads as it. No schema says anything of the others."""

Fitting = Callable[[Call, bytes, bytes, tuple[int, int]], Awaitable[Objection | None]]
"""Checks the structured content of a result against a schema (its text, and the bounds of `Compiled`) beside the loop."""


class OutputSchema:
    """Filter `output_schema`."""

    name = "output_schema"

    def __init__(
        self,
        compiled: Compiled,
        off: Container[str] = frozenset(),
        beside: Fitting | None = None,
    ) -> None:
        """`compiled` is what the gate `schema` has; `off` holds the servers whose schemas are not enforced; what is large is
        checked `beside` the loop, where somebody does that."""
        self._compiled = compiled
        self._off = off
        self._beside = beside

    def outcome(self, call: Call, outcome: Outcome) -> Outcome | Awaitable[Outcome]:
        """The outcome, or a failure in place of an answer that does not fit."""
        tool = call.tool or call.task_tool
        if tool is None or type(outcome) is not Answer or outcome.tool_error:
            return outcome
        output = tool.definition.get("outputSchema")
        if output is None or tool.target.server in self._off:
            return outcome
        if call.tool is None:
            return self._of_task(call, outcome, output)
        return self._of_call(call, outcome, output)

    def stands(self, call: Call) -> Standing | None:
        """Nothing is said of results of a tool that promises no structure, nor of small ones that are as promised."""
        tool = call.tool
        if tool is None:
            return None
        output = tool.definition.get("outputSchema")
        if output is None or tool.target.server in self._off:
            return NOTHING

        def clear(raw: bytes) -> bool:
            try:
                return self._judged(Answer(raw), output) is None
            except (ValueError, TakesLongError):
                return False

        return Standing(clear=clear, most=AT_ONCE)

    def _of_task(self, call: Call, outcome: Answer, output: Raw) -> Outcome | Awaitable[Outcome]:
        """What a task came to is the result of its call: all of `tasks/result`, or a member of `tasks/get`."""
        if len(outcome.raw) > AT_ONCE and self._beside is not None:
            return self._large_task(call, outcome, output, self._beside)
        try:
            result = whole(_result_in(call, outcome))
            fault = None if result is None else self._judged(result, output)
        except ValueError as problem:
            return _unfit("", "json", str(problem))
        except TakesLongError:
            if self._beside is None:
                raise
            return self._large_task(call, outcome, output, self._beside)
        return fault or outcome

    async def _large_task(
        self, call: Call, outcome: Answer, output: Raw, beside: Fitting
    ) -> Outcome:
        try:
            result = await in_slices(_result_in(call, outcome))
        except ValueError as problem:
            return _unfit("", "json", str(problem))
        if result is None:
            return outcome
        found = await self._large(call, result, output, beside)
        # Judged was the result inside of what is said of the task; what travels on is the whole.
        return outcome if found is result else found

    def _of_call(self, call: Call, outcome: Answer, output: Raw) -> Outcome | Awaitable[Outcome]:
        beside = self._beside
        if len(outcome.raw) > AT_ONCE and beside is not None:
            return self._large(call, outcome, output, beside)
        try:
            return self._judged(outcome, output) or outcome
        except ValueError as problem:
            return _unfit("", "json", str(problem))
        except TakesLongError:
            if beside is None:
                raise
            return self._large(call, outcome, output, beside)

    async def _large(self, call: Call, answer: Answer, output: Raw, beside: Fitting) -> Outcome:
        found = await beside(call, answer.raw, bytes(output), self._compiled.bounds)
        return answer if found is None else _unfitting(found)

    def _judged(self, answer: Answer, output: Raw) -> Failure | None:
        members = members_of(answer)
        # A client that minds no case would take the other member, which nobody has judged.
        twice = misread(members, JUDGED)
        if twice is not None:
            return _unfit("", "names", f"it has {twice[0]!a}, which reads as {twice[1]}")
        found = members.get("structuredContent")
        if found is None:
            return None
        compiled = self._compiled.of(output, jsonrpc.decode)
        if isinstance(compiled, str):
            return _unfit("", "schema", f"the schema {compiled}")
        objection = compiled.objection(jsonrpc.decode(found), at_once=self._beside is not None)
        return None if objection is None else _unfitting(objection)

    def event(self, call: Call, event: Event) -> Event | None:
        """Events have no schema."""
        return event

    def chunks(self, call: Call) -> TextStep:
        """Nor are chunks looked at."""
        return as_it_is


def _result_in(call: Call, answer: Answer) -> Generator[None, None, Answer | None]:
    """The result of its call in what is said of a task, where that is to be judged; a step each time that all of it is gone
    through. Raises `ValueError`."""
    yield
    raw, members = answer.raw, members_of(answer)
    if call.method == "tasks/get":
        raw = bytes(members.get("result", b"{}"))
        yield
        members = jsonrpc.decode_members(raw)
    # A tool's own error has no structure to promise.
    judged = "structuredContent" in members and bytes(members.get("isError", b"")) != b"true"
    return Answer(raw) if judged else None


def _unfitting(objection: Objection) -> Failure:
    where = "structuredContent" + objection.path
    return _unfit(objection.path, objection.rule, f"{where}: {objection.message}")


def _unfit(path: str, rule: str, what: str) -> Failure:
    return Failure(
        "output_invalid",
        f"the tool's result is not what its outputSchema says: {what} (rule: {rule})",
        {"path": path, "rule": rule},
    )
