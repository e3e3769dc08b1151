"""`Standing`: a decision of a gate, filter or hook reused for equal calls: the values it depends on, and the check left for each call.

Theory (decision 0090). Most of what is decided about a call follows from caller, session, tool and configuration. Who decides may say so once,
by `stands(call)` of a call that it has just let pass: the word holds as long as everything it `rests` on is what it was, and adds the same
`facts`. What depends on the call itself is asked of each call (`fits`), and what counts it is counted for each (`takes`). None, or no `stands` at all,
means: ask me about every call.

Nothing has to be told of a change. What a word rests on is looked at with every call: attributes of living objects, or a question that costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

from gatewright.call import Back, Call, Outcome, Refusal

__all__ = [
    "NOTHING",
    "Going",
    "Line",
    "Recorder",
    "Rest",
    "Standing",
    "Stands",
    "all_of",
    "attribute",
    "each_of",
    "holding",
]

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


# What is asked with every call is one function, compiled once for all that have the same shape: attributes are then looked up and compared
# in a seventh of the time that it takes to ask one question after the other.


def holding(rests: Sequence[Rest]) -> Callable[[], bool]:
    """Whether each answer is the very object that it was."""
    questions = [question for question, _ in rests]
    asked = " and ".join(f"{_spelled(one, at)} is w{at}" for at, one in enumerate(questions))
    owners = [one.args[0] if _is_attribute(one) else one for one in questions]
    names = [*(f"o{at}" for at in range(len(rests))), *(f"w{at}" for at in range(len(rests)))]
    made = _compiled(f"lambda {', '.join(names)}: lambda: {asked or True}")
    found: Callable[[], bool] = made(*owners, *(word for _, word in rests))
    return found


def all_of(questions: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    """Whether all say so of something. The first that does not is the last that is asked."""
    found: Callable[[Any], bool] = _of_one(questions, " and ", "True")
    return found


def each_of(told: Sequence[Callable[[Any], object]]) -> Callable[[Any], object]:
    """Tells all of something."""
    found: Callable[[Any], object] = _of_one(told, ", ", "None")
    return found


def _of_one(functions: Sequence[Callable[[Any], object]], between: str, none: str) -> Any:
    names = [f"f{at}" for at in range(len(functions))]
    said = between.join(f"{one}(one)" for one in names) or none
    return _compiled(f"lambda {', '.join(names)}: lambda one: ({said})")(*functions)


def _is_attribute(question: Callable[[], object]) -> TypeGuard[partial[Any]]:
    return isinstance(question, partial) and question.func is getattr and len(question.args) == 2


def _spelled(question: Callable[[], object], at: int) -> str:
    if not _is_attribute(question):
        return f"o{at}()"
    name = question.args[1]
    if not name.isidentifier():
        raise ValueError(f"{name!r} is no attribute")
    return f"o{at}.{name}"


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    code = compile(text, __file__, "eval")
    return eval(code, {})  # noqa: S307 - of names of our own attributes, and numbers


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
