"""Filter `flow`: marks a session as tainted when it receives results or events of tools that read untrusted or private data.

A task is read when its caller asks for it. It is noted before the caller has the text, and also where the tool failed: an error
has text as well.
"""

from __future__ import annotations

from collections.abc import Callable

from gatewright.call import Answer, Call, Event, Failure, Outcome, Tool
from gatewright.flow.taints import Holder, Taints
from gatewright.standing import NOTHING, Standing

__all__ = ["Flow"]

_READ = frozenset({"untrusted", "private"})


class Flow:
    """Filter `flow`. It changes nothing."""

    name = "flow"

    def __init__(self, taints: Taints, holder: Callable[[Call], Holder], *, idle: bool) -> None:
        """`holder` says whose reading a call adds to."""
        self._taints = taints
        self._holder = holder
        self.idle = idle

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        """The outcome, noted where it says something of the owner's."""
        tool = call.tool or call.task_tool
        if tool is not None and tool.security.flow:
            # A failure without the server's own error is worded by the gateway: nothing was read.
            spoke = type(outcome) is Answer or (type(outcome) is Failure and bool(outcome.error))
            if spoke:
                self._note(call, tool)
        return outcome

    def event(self, call: Call, event: Event) -> Event | None:
        """The event, noted."""
        tool = call.tool or call.task_tool
        if tool is not None and tool.security.flow:
            self._note(call, tool)
        return event

    def stands(self, call: Call) -> Standing | None:
        """There is nothing to note of a tool that reads nothing which counts."""
        tool = call.tool
        reads = tool is None or any(one in _READ for one in tool.security.flow)
        return None if reads else NOTHING

    def _note(self, call: Call, tool: Tool) -> None:
        marks = [one for one in tool.security.flow if one in _READ]
        if marks:
            self._taints.add(self._holder(call), marks, tool.exposed)
