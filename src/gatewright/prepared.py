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
from operator import call as ask
from operator import is_
from typing import Any, Literal, Protocol

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.call_policy import Policy
from gatewright.kernel_ends import after
from gatewright.standing import Rest, Standing

__all__ = ["KEPT", "Going", "Line", "Mode", "Prepared", "PreparedCalls", "Record", "Recorder"]

log = logging.getLogger("gatewright.kernel")

KEPT = 4096
"""So many are kept, of all sessions together; beyond that all are made anew, as they are needed."""
_SECOND = 2
_NAME_CHARS = 256

Mode = Literal["off", "on", "shadowed"]
"""`shadowed`: what would be done is compared with what the walk does (`prepared_shadow`)."""


class Record(Protocol):
    """The trail of a prepared call (`kernel.Trail`)."""

    spent_s: float | None

    def tell(self, whom: Going | None) -> None:
        """Who is told once the end is written; None: whoever awaits it."""

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        """As `kernel.Trail.close`."""

    def undo(self) -> None:
        """The call was not sent after all, and goes another way: nothing of it was recorded."""


class Recorder(Protocol):
    """Makes the records of calls that are alike."""

    rests: tuple[Rest, ...]

    def begin(self, call: Call) -> Record | None:
        """Note the intent of one call; None where that cannot be done at once."""


class Line(Protocol):
    """The way to a server, as it is now."""

    rests: tuple[Rest, ...]

    def send(self, going: Going) -> bool:
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
        *("_clear", "_ended", "_fits", "_kernel", "_most", "_questions", "_words"),
        *("_recorder", "caller", "client", "facts", "key", "line", "policy", "takes", "target", "tool"),
    )

    def __init__(
        self,
        kernel: PreparedCalls,
        policy: Policy,
        call: Call,
        words: Iterable[Standing],
        facts: Mapping[str, Any],
        line: Line,
        recorder: Recorder,
    ) -> None:
        """`words` are those of hooks, gates and filters, in order; `facts` what the gates add together."""
        self._kernel, self.policy, self.line, self._recorder = kernel, policy, line, recorder
        self.caller, self.client, self.tool, self.target = call.caller, call.client, call.tool, call.target
        self.key, self.facts = (call.session or "", call.name), dict(facts)
        words = tuple(words)
        rests = (*(one for word in words for one in word.rests), *line.rests, *recorder.rests)
        # Asked and compared without a step in Python for each.
        self._questions = tuple(question for question, _ in rests)
        self._words = tuple(word for _, word in rests)
        self._fits = tuple(word.fits for word in words if word.fits is not None)
        self.takes = tuple(word for word in words if word.takes is not None)
        self._clear = tuple(word.clear for word in words if word.clear is not None)
        self._most = min((word.most for word in words), default=0)
        self._ended = kernel.ended

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
        kernel, call = self._kernel, going.call
        if not all(map(is_, map(ask, self._questions), self._words)):
            kernel.drop(self)
            return False
        for fits in self._fits:
            if not fits(call):
                return False
        if kernel.compare is not None:
            kernel.compare(self, call)
            return False
        taken = 0
        for word in self.takes:
            if word.takes is not None and not word.takes(call):
                self._give_back(call, taken)
                return False
            taken += 1
        trail = self._recorder.begin(call)
        if trail is None:
            self._give_back(call, taken)
            return False
        going.trail = trail
        if not self.line.send(going):
            trail.undo()
            self._give_back(call, taken)
            return False
        trail.tell(going)
        kernel.began(going)
        return True

    def _give_back(self, call: Call, taken: int) -> None:
        for word in self.takes[:taken]:
            if word.gives_back is not None:
                word.gives_back(call)

    def answered(self, going: Going, raw: bytes) -> Outcome | None:
        """The end of a call, handed over to be recorded: what its caller may see then. None where the walk has to go on with it."""
        try:
            if not self.is_plain(raw):
                return None
        except Exception:  # whatever it is, the filter breaks once more, and then its call ends
            log.exception("whether the answer to call %s is plain cannot be told", going.call.id)
            return None
        self.line.over(going)
        kernel, call, outcome = self._kernel, going.call, Answer(raw)
        kernel.forwarded.discard(going)
        closed = going.trail.close(call, outcome)
        if closed is not outcome:
            closed = after(call, outcome, closed)
        spent_s = going.trail.spent_s
        for ended in self._ended:
            ended(call, closed, spent_s)
        return closed  # type: ignore[no-any-return]

    def gone(self) -> None:
        """A call is answered: nothing of it is left to do."""
        self._kernel.gone()

    def promoted(self, going: Going) -> None:
        """The walk goes on with a call."""
        self._kernel.going_on[going.call.id] = going
        going.trail.tell(None)


class _Counting(Protocol):
    in_flight: int


class _Hooks(Protocol):
    @property
    def stands(self) -> Sequence[Callable[[Call], Standing | None]]: ...

    @property
    def ended(self) -> Sequence[Callable[[Call, Outcome, float | None], object]]: ...


class PreparedCalls:
    """Those of one kernel."""

    mode: Mode = "on"

    def __init__(
        self,
        kernel: _Counting,
        forwarded: set[Any],
        recorder: Callable[[Call], Recorder | None],
        hooks: _Hooks,
    ) -> None:
        """`forwarded` are the kernel's calls that are with their owners."""
        self.forwarded = forwarded
        self.ended = tuple(hooks.ended)
        self.going_on: dict[str, Going] = {}
        """Calls that the walk is to go on with, and has not taken over yet, by their ids."""
        self.known: dict[tuple[str, str], Prepared] = {}
        """By session and the name under which the tool is called."""
        self.made = self.served = 0
        """How many were put together, and how many calls were sent by them."""
        self.compare: Callable[[Prepared, Call], object] | None = None
        """Where calls are only compared: takes each that would be sent."""
        self._kernel = kernel
        self._recorder = recorder
        self._hooks = tuple(hooks.stands)
        self._tried: dict[tuple[str, str], int] = {}

    def began(self, going: Going) -> None:
        """A call was sent."""
        self.forwarded.add(going)
        self.served += 1
        self._kernel.in_flight += 1

    def gone(self) -> None:
        """A call has ended, and that is recorded."""
        self._kernel.in_flight -= 1

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
        """A call has passed every gate without a wait. The second of its kind is taken for one of many."""
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
        if tried < _SECOND or tried & (tried - 1) or len(name) > _NAME_CHARS:
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
