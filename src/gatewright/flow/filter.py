"""Filter `flow`: marks a session as tainted by results and events of tools that read untrusted or private data, or with prompt injection.

A task is read when its caller asks for it. It is noted before the caller has the text, and also where the tool failed: an error
has text as well. What the filter `injection` has found to speak to the model (the fact of that name) is text of strangers, whatever the
tool is said to read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gatewright.call import Answer, Call, Event, Failure, Outcome
from gatewright.chunk_way import TextStep, as_it_is
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
        marks = self._marks(call)
        if marks:
            # A failure without the server's own error is worded by the gateway: nothing was read.
            spoke = type(outcome) is Answer or (type(outcome) is Failure and bool(outcome.error))
            if spoke:
                self._taints.add(self._holder(call), marks, _source(call))
        return outcome

    def event(self, call: Call, event: Event) -> Event | None:
        """The event, noted."""
        marks = self._marks(call)
        if marks:
            self._taints.add(self._holder(call), marks, _source(call))
        return event

    def chunks(self, call: Call) -> TextStep | None:
        """There is nothing to note of a tool that reads nothing which counts."""
        return None if self._marks(call) else as_it_is

    def stands(self, call: Call) -> Standing | None:
        """What is noted of a result is the tool's, and there is nothing to note of one that reads nothing which counts."""
        tool = call.tool
        if tool is None:
            return None
        marks, source = tuple(one for one in tool.security.flow if one in _READ), tool.exposed

        def notes(call: Call) -> None:
            self._taints.add(self._holder(call), marks, source)

        return Standing(notes=notes) if marks else NOTHING

    @staticmethod
    def _marks(call: Call) -> Sequence[str]:
        tool = call.tool or call.task_tool
        if (tool is None or not tool.security.flow) and "injection" not in call.facts:
            return ()
        marks = () if tool is None else tuple(one for one in tool.security.flow if one in _READ)
        return (*marks, "untrusted") if "injection" in call.facts else marks


def _source(call: Call) -> str:
    tool = call.tool or call.task_tool
    if tool is not None:
        return tool.exposed
    return "a resource" if call.speaker is None else f"a resource of {call.speaker.server}"
