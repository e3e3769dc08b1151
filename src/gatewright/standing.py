"""`Standing`: a decision of a gate, filter or hook reused for equal calls: the values it depends on, and the check left for each call.

Theory (decision 0090). Most of what is decided about a call follows from caller, session, tool and configuration. Who decides may say so once,
by `stands(call)` of a call that it has just let pass: the word holds as long as everything it `rests` on is what it was, and adds the same
`facts`. What depends on the call itself is asked of each call (`fits`), and what counts it is counted for each (`takes`). None, or no `stands` at all,
means: ask me about every call.

Nothing has to be told of a change. What a word rests on is looked at with every call: attributes of living objects, or a question that costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gatewright.call import Back, Call, Outcome, Refusal

__all__ = ["NOTHING", "Going", "Line", "Recorder", "Rest", "Standing", "Stands", "attribute"]

Rest = tuple[Callable[[], object], object]
"""A question, and what it was answered when the word was given. The word holds as long as the answer is that very object."""


class Standing(NamedTuple):
    """See the module's text."""

    rests: tuple[Rest, ...] = ()
    facts: Mapping[str, Any] = {}
    """What a gate adds to each of the calls."""
    fits: Callable[[Call], bool] | None = None
    """Whether it would let a call pass and add nothing else. Changes nothing; False, or any exception: it is asked the long way."""
    takes: Callable[[Call], bool] | None = None
    """Counts a call, or says that there is no room and counts nothing. Asked once all others have let it pass."""
    gives_back: Callable[[Call], object] | None = None
    """The call that was counted last was not made."""
    sent: Callable[[Call], object] | None = None
    """Is told of each call that was sent, before its server has it."""
    clear: Callable[[bytes], bool] | None = None
    """Of a filter: whether it would pass on a result of this JSON text as it is, and do nothing else."""
    notes: Callable[[Call], object] | None = None
    """Of a filter: what it notes of each call whose result passes on as it is, before anybody sees that."""
    most: int = 2**62
    """Of a filter: the longest result of which that can be said."""


NOTHING = Standing()
"""The word of whoever has nothing to say of such calls, whatever happens."""


@runtime_checkable
class Stands(Protocol):
    """A gate, filter or hook that may have a standing word."""

    def stands(self, call: Call) -> Standing | None:
        """What it says of all calls with this caller, client, session, profile, endpoint and tool, and params without members besides
        `name` and `arguments`. `call` is one that has passed all gates. None: nothing that holds for more than one call."""


def attribute(owner: object, name: str) -> Rest:
    """A word rests on this attribute, as it is now."""
    return partial(getattr, owner, name), getattr(owner, name)


class Going(Protocol):
    """A prepared call on its way (`mcp.server.straight_call.StraightCall`): to the kernel, to its server, and to the record."""

    call: Call
    ident: int
    """Under which its server knows it."""
    due: float
    """When its time is over, in the loop's seconds."""
    answer: Outcome | None
    refusal: Refusal | None
    slot: int
    """Where its intent is noted."""
    started: float
    asked: tuple[str, int]
    """The digest of its arguments, and how many bytes they have."""
    spent_s: float | None
    trail: Any
    rest: Any
    """What is left to do with it, once the walk goes on with it."""

    @property
    def policy(self) -> Any:
        """By what it was judged."""

    def came(self, call: Call, back: Back) -> Coroutine[Any, Any, Outcome]:
        """How it ends then. Raises only the cancellation of its task."""

    def written(self, number: int) -> Callable[[], object] | None:
        """Its end is in the trail (`turn_writes.Waiter`)."""

    def failed(self, problem: Any) -> None:
        """It could not be written."""


class Recorder(Protocol):
    """Writes the records of calls that are alike (`audit.prepared_trail`)."""

    rests: tuple[Rest, ...]
    leave: Callable[[int], None]
    """The end of a call is in the trail: its intent in this slot is taken back."""

    def begin(self, going: Going, call: Call) -> bool:
        """Note the intent of one call; False where that cannot be done at once, and nothing was done."""

    def undo(self, going: Going) -> None:
        """The call was not sent after all, and goes another way: nothing of it was recorded."""

    def answered(self, going: Going, call: Call, size: int) -> None:
        """Hand over the end of a call whose answer has so many bytes; it is told once that is written, perhaps at once."""

    def lost(self, going: Going) -> None:
        """The end could not be written."""

    def trail(self, going: Going) -> Any:
        """The trail of a call that goes on as any other (`kernel.Trail`)."""


class Line(Protocol):
    """The way to a server, as it is now (`servers.straight_line`)."""

    rests: tuple[Rest, ...]
    most: int
    """The longest result that can be passed on as it is."""

    def send(self, going: Going, call: Call) -> bool:
        """Put a call on its way; False where it was not."""

    def is_plain(self, raw: bytes) -> bool:
        """Whether a result is passed on as it is."""

    def over(self, going: Going) -> None:
        """The call was answered."""

    def promote(self, going: Going, reply: Any) -> Any:
        """From now on its answer, or this one, is awaited as those of other calls are."""

    def came(
        self, going: Going, exchange: Any, call: Call, back: Back
    ) -> Coroutine[Any, Any, Outcome]:
        """How a promoted call ends. Raises only the cancellation of its task."""
