"""`Prepared`: what is decided about the calls of one session to one tool, put together once from THE list; `PreparedCalls` keeps them, bounded.

Theory (decision 0087). A call that every gate has let pass without a wait is asked about once more: what would each gate, filter and hook, the
dispatch and the record say of all calls like it (`standing`)? Where each has an answer, the calls that follow need no walk: what the answers
rest on is compared, what each call is still asked is asked, in the order of the list, and it is sent. Whoever has no answer
leaves the call to the walk, and so does whatever is out of the ordinary before a call is sent. What is refused is refused by the walk alone.

What happens to a call after that, other than a small plain answer, makes an ordinary call of it (`StraightCall.promote`): the walk goes on with
it where it stands, in a task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from operator import call as ask
from operator import is_
from typing import Any, Literal, Protocol

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.call_policy import Policy
from gatewright.standing import Rest, Standing

__all__ = ["KEPT", "Going", "Line", "Mode", "Prepared", "PreparedCalls", "Recorder"]

log = logging.getLogger("gatewright.kernel")

KEPT = 4096
"""So many are kept, of all sessions together; beyond that all are made anew, as they are needed."""
_NAME_CHARS = 256

Mode = Literal["off", "on", "shadowed"]
"""`shadowed`: what would be done is compared with what the walk does (`prepared_shadow`)."""


class Recorder(Protocol):
    """Writes the records of calls that are alike."""

    rests: tuple[Rest, ...]

    def begin(self, going: Any, call: Call) -> bool:
        """Note the intent of one call; False where that cannot be done at once, and nothing was done."""

    def undo(self, going: Any) -> None:
        """The call was not sent after all, and goes another way."""

    def answered(self, going: Any, call: Call, size: int) -> None:
        """Hand over the end of a call whose answer has so many bytes; it is told once that is written, perhaps at once."""

    def trail(self, going: Any) -> Any:
        """The trail of a call that goes on as any other (`kernel.Trail`)."""


class Line(Protocol):
    """The way to a server, as it is now."""

    rests: tuple[Rest, ...]

    most: int
    """The longest result that can be passed on as it is."""

    def send(self, going: Going, call: Call) -> bool:
        """Put a call on its way; False where it was not."""

    def is_plain(self, raw: bytes) -> bool:
        """Whether a result is passed on as it is."""

    def over(self, going: Going) -> None:
        """The call was answered."""

    def promote(self, going: Going, reply: Any) -> None:
        """From now on its answer, or this one, is awaited as those of other calls are."""

    async def came(self, going: Going, call: Call, back: Back) -> Outcome:
        """How a promoted call ends. Raises only the cancellation of its task."""


class Going(Protocol):
    """A prepared call on its way (`mcp.server.straight.StraightCall`)."""

    call: Call
    trail: Any
    answer: Outcome | None
    spent_s: float | None
    refusal: Refusal | None
    ident: int
    """Under which its server knows it."""
    due: float
    """When its time is over, in the loop's seconds."""

    @property
    def policy(self) -> Policy:
        """By what it was judged."""

    async def came(self, call: Call, back: Back) -> Outcome:
        """How it ends, once the walk goes on with it. Raises only the cancellation of its task."""


class Prepared:
    """See the module's text."""

    __slots__ = (
        *("_clear", "_ended", "_fits", "_gives_back", "_heard", "_kept", "_most"),
        *("_questions", "_takes", "_words"),
        *("caller", "client", "facts", "key", "line", "policy", "recorder", "target", "tool"),
    )

    def __init__(
        self,
        kept: PreparedCalls,
        policy: Policy,
        call: Call,
        words: Iterable[Standing],
        facts: Mapping[str, Any],
        line: Line,
        recorder: Recorder,
    ) -> None:
        """`words` are those of hooks, gates and filters, in order; `facts` what the gates add together."""
        self._kept, self.policy, self.line, self.recorder = kept, policy, line, recorder
        self.caller, self.client, self.tool, self.target = call.caller, call.client, call.tool, call.target
        self.key, self.facts = (call.session or "", call.name), dict(facts)
        words = tuple(words)
        rests = (*(one for word in words for one in word.rests), *line.rests, *recorder.rests)
        # Asked and compared without a step in Python for each.
        self._questions = tuple(question for question, _ in rests)
        self._words = tuple(word for _, word in rests)
        self._fits = tuple(word.fits for word in words if word.fits is not None)
        counting = [word for word in words if word.takes is not None]
        self._takes = tuple(word.takes for word in counting if word.takes is not None)
        self._gives_back = tuple(word.gives_back or _kept_back for word in counting)
        self._clear = (line.is_plain, *(word.clear for word in words if word.clear is not None))
        self._most = min((line.most, *(word.most for word in words)))
        short = dict(kept.answered)
        self._heard = tuple(short[one](call) for one in kept.ended if one in short)
        self._ended = tuple(one for one in kept.ended if one not in short)

    def holds(self) -> bool:
        """Whether everything is what it was."""
        return all(map(is_, map(ask, self._questions), self._words))

    def is_plain(self, raw: bytes) -> bool:
        """Whether this result travels back as it is."""
        return len(raw) <= self._most and all(map(ask, self._clear, repeat(raw)))

    def begin(self, going: Any, call: Call) -> bool:
        """Note the intent of one call; False where that cannot be done at once, and nothing was done."""

    def undo(self, going: Any) -> None:
        """The call was not sent after all, and goes another way."""

    def answered(self, going: Any, call: Call, size: int) -> None:
        """Hand over the end of a call whose answer has so many bytes; it is told once that is written, perhaps at once."""

    def trail(self, going: Any) -> Any:
        """The trail of a call that goes on as any other (`kernel.Trail`)."""


class Line(Protocol):
    """The way to a server, as it is now."""

    rests: tuple[Rest, ...]

    most: int
    """The longest result that can be passed on as it is."""

    def send(self, going: Going, call: Call) -> bool:
        """Put a call on its way; False where it was not."""

    def is_plain(self, raw: bytes) -> bool:
        """Whether a result is passed on as it is."""

    def over(self, going: Going) -> None:
        """The call was answered."""

    def promote(self, going: Going, reply: Any) -> None:
        """From now on its answer, or this one, is awaited as those of other calls are."""

    async def came(self, going: Going, call: Call, back: Back) -> Outcome:
        """How a promoted call ends. Raises only the cancellation of its task."""


class Going(Protocol):
    """A prepared call on its way (`mcp.server.straight.StraightCall`)."""

    call: Call
    trail: Any
    answer: Answer
    spent_s: float | None
    refusal: Refusal | None
    ident: int
    """Under which its server knows it."""
    due: float
    """When its time is over, in the loop's seconds."""

    @property
    def policy(self) -> Policy:
        """By what it was judged."""

    async def came(self, call: Call, back: Back) -> Outcome:
        """How it ends, once the walk goes on with it. Raises only the cancellation of its task."""


class Prepared:
    """See the module's text."""

    __slots__ = (
        *("_clear", "_ended", "_fits", "_gives_back", "_heard", "_kept", "_most"),
        *("_questions", "_takes", "_words"),
        *("caller", "client", "facts", "key", "line", "policy", "recorder", "target", "tool"),
    )

    def __init__(
        self,
        kept: PreparedCalls,
        policy: Policy,
        call: Call,
        words: Iterable[Standing],
        facts: Mapping[str, Any],
        line: Line,
        recorder: Recorder,
    ) -> None:
        """`words` are those of hooks, gates and filters, in order; `facts` what the gates add together."""
        self._kept, self.policy, self.line, self.recorder = kept, policy, line, recorder
        self.caller, self.client, self.tool, self.target = call.caller, call.client, call.tool, call.target
        self.key, self.facts = (call.session or "", call.name), dict(facts)
        words = tuple(words)
        rests = (*(one for word in words for one in word.rests), *line.rests, *recorder.rests)
        # Asked and compared without a step in Python for each.
        self._questions = tuple(question for question, _ in rests)
        self._words = tuple(word for _, word in rests)
        self._fits = tuple(word.fits for word in words if word.fits is not None)
        counting = [word for word in words if word.takes is not None]
        self._takes = tuple(word.takes for word in counting if word.takes is not None)
        self._gives_back = tuple(word.gives_back or _kept_back for word in counting)
        self._clear = (line.is_plain, *(word.clear for word in words if word.clear is not None))
        self._most = min((line.most, *(word.most for word in words)))
        short = dict(kept.answered)
        self._heard = tuple(short[one](call) for one in kept.ended if one in short)
        self._ended = tuple(one for one in kept.ended if one not in short)

    def holds(self) -> bool:
        """Whether everything is what it was."""
        return all(map(is_, map(ask, self._questions), self._words))

    def fits(self, call: Call) -> bool:
        """Whether every gate lets this call pass, adding nothing but `facts`."""
        for fits in self._fits:
            if not fits(call):
                return False
        return True

    def is_plain(self, raw: bytes) -> bool:
        """Whether this result travels back as it is."""
        if len(raw) > self._most or not self.line.is_plain(raw):
            return False
        for clear in self._clear:
            if not clear(raw):
                return False
        return True

    def begin(self, going: Going) -> bool:
        """Send a call; False where it has to take the walk, and then nothing was done."""
        kept, call, recorder = self._kept, going.call, self.recorder
        if not all(map(is_, map(ask, self._questions), self._words)):
            kept.drop(self)
            return False
        if not all(map(ask, self._fits, repeat(call))):
            return False
        if kept.compare is not None:
            kept.compare(self, call)
            return False
        taken = 0
        for takes in self._takes:
            if not takes(call):
                self._give_back(call, taken)
                return False
            taken += 1
        if not recorder.begin(going, call):
            self._give_back(call, taken)
            return False
        if not self.line.send(going, call):
            recorder.undo(going)
            self._give_back(call, taken)
            return False
        kept.forwarded.add(going)
        kept.served += 1
        kept.kernel.in_flight += 1
        return True

    def _give_back(self, call: Call, taken: int) -> None:
        for gives_back in self._gives_back[:taken]:
            gives_back(call)

    def answered(self, going: Going, raw: bytes) -> bool:
        """The end of a call, handed over to be recorded; `going` is told once that is done, perhaps at once. False where the walk has to go on
        with the call, and then nothing was done."""
        try:
            if len(raw) > self._most or not all(map(ask, self._clear, repeat(raw))):
                return False
        except Exception:  # whatever it is, the filter breaks once more, and then its call ends
            log.exception("whether the answer to call %s is plain cannot be told", going.call.id)
            return False
        call = going.call
        self.line.over(going)
        self._kept.forwarded.discard(going)
        going.answer = Answer(raw)
        self.recorder.answered(going, call, len(raw))
        spent_s = going.spent_s
        if spent_s is None:  # it could not be recorded
            for ended in self._kept.ended:
                ended(call, going.answer, spent_s)
            return True
        for heard in self._heard:
            heard(spent_s)
        for ended in self._ended:
            ended(call, going.answer, spent_s)
        return True

    def gone(self) -> None:
        """A call is answered: nothing of it is left to do."""
        self._kept.kernel.in_flight -= 1

    def promoted(self, going: Going) -> None:
        """The walk goes on with a call."""
        going.trail = self.recorder.trail(going)
        self._kept.going_on[going.call.id] = going


def _kept_back(call: Call) -> None:
    """What was counted stays counted."""


_Ended = Callable[[Call, Any, float | None], object]


class _Counting(Protocol):
    in_flight: int


class _Hooks(Protocol):
    @property
    def stands(self) -> Sequence[Callable[[Call], Standing | None]]: ...

    @property
    def ended(self) -> Sequence[_Ended]: ...

    @property
    def answered(self) -> Sequence[tuple[_Ended, Callable[[Call], Callable[[float], object]]]]: ...


class PreparedCalls:
    """Those of one kernel."""

    mode: Mode = "on"
    after = 2
    """After how many calls of a kind the next is taken for one of many."""

    def __init__(
        self,
        kernel: _Counting,
        forwarded: set[Any],
        recorder: Callable[[Call], Recorder | None],
        hooks: _Hooks,
    ) -> None:
        """`forwarded` are the kernel's calls that are with their owners."""
        self.forwarded = forwarded
        self.ended, self.answered = hooks.ended, hooks.answered
        self.going_on: dict[str, Going] = {}
        """Calls that the walk is to go on with, and has not taken over yet, by their ids."""
        self.known: dict[tuple[str, str], Prepared] = {}
        """By session and the name under which the tool is called."""
        self.made = self.served = 0
        """How many were put together, and how many calls were sent by them."""
        self.compare: Callable[[Prepared, Call], object] | None = None
        """Where calls are only compared: takes each that would be sent."""
        self.kernel = kernel
        self._recorder = recorder
        self._hooks = tuple(hooks.stands)
        self._tried: dict[tuple[str, str], int] = {}

    def taken(self, call: Call) -> Going | None:
        """The walk takes over a call that it is to go on with."""
        going = self.going_on.pop(call.id, None)
        self.forwarded.discard(going)
        return going

    def drop(self, one: Prepared) -> None:
        """Something that it rests on is different now."""
        self.known.pop(one.key, None)
        self._tried.pop(one.key, None)

    def clear(self) -> None:
        """Forget all: another configuration holds."""
        self.known.clear()
        self._tried.clear()

    def offer(self, policy: Policy, call: Call) -> None:
        """A call has passed every gate without a wait."""
        session, name = call.session, call.name
        if session is None or self.mode == "off" or call.door != "http":
            return
        key = session, name
        if key in self.known:
            return
        tried = self._tried.get(key, 0) + 1
        if len(self._tried) >= KEPT:
            self._tried.clear()
        self._tried[key] = tried
        # Of what cannot be prepared this is asked more and more seldom.
        if tried < self.after or tried & (tried - 1) or len(name) > _NAME_CHARS:
            return
        try:
            made = self._composed(policy, call)
        except Exception:  # the calls take the walk
            log.exception("calls of %s could not be prepared", name)
            return
        if made is not None:
            if len(self.known) >= KEPT:
                self.known.clear()
            self.known[key] = made
            self.made += 1

    def _composed(self, policy: Policy, call: Call) -> Prepared | None:
        """What is decided about all calls like this one; None where somebody has to be asked about each."""
        if policy.way is None or not call.params.keys() <= {"name", "arguments"}:
            return None
        hooks = [stands(call) for stands in self._hooks]
        if None in hooks:
            return None
        said: list[Standing] = [one for one in hooks if one is not None]
        facts: dict[str, Any] = {}
        for part in (*policy.gates, *policy.filters):
            stands = getattr(part, "stands", None)
            word = None if stands is None else stands(call)
            if word is None:
                return None
            said.append(word)
            facts.update(word.facts)
        line, recorder = policy.way(call), self._recorder(call)
        # In their order, as they are recorded.
        if line is None or recorder is None or list(facts.items()) != list(call.facts.items()):
            return None
        made = Prepared(self, policy, call, said, facts, line, recorder)
        return made if made.holds() else None
