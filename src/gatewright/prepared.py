"""`Prepared`: gates' and filters' decisions reused for equal calls of a session, with the checks left per call; cache `PreparedCalls`.

Theory (decision 0090). A call that every gate has let pass without a wait is asked about once more: what would each gate, filter and hook, the
dispatch and the record say of all calls like it (`standing`)? Where each has an answer, the calls that follow need no walk: what the answers
rest on is compared, what each call is still asked is asked, in the order of the list, and it is sent. Whoever has no answer
leaves the call to the walk, and so does whatever is out of the ordinary before a call is sent. What is refused is refused by the walk alone.

What happens to a call after that, other than a small plain answer, makes an ordinary call of it (`StraightCall.promote`): the walk goes on with
it where it stands, in a task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import call as ask
from operator import is_
from typing import Any, Literal, NamedTuple, Protocol

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.call_policy import Policy
from gatewright.standing import Rest, Standing

__all__ = ["KEPT", "Going", "Line", "Mode", "Prepared", "PreparedCalls", "Recorder"]

log = logging.getLogger("gatewright.kernel")

KEPT = 2048
"""So many are kept, of all sessions together, some 10 KB each; beyond that all are made anew, as they are needed."""
_NAME_CHARS = 256
_PLAIN = frozenset(("name", "arguments"))

Mode = Literal["off", "on", "shadowed"]
"""`shadowed`: what would be done is compared with what the walk does (`prepared_shadow`)."""


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

    rest: Any
    """What is left to do with it, once the walk goes on with it."""

    @property
    def policy(self) -> Policy:
        """By what it was judged."""

    async def came(self, call: Call, back: Back) -> Outcome:
        """How it ends then. Raises only the cancellation of its task."""


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

    def send(self, going: Any, call: Call) -> bool:
        """Put a call on its way; False where it was not."""

    def is_plain(self, raw: bytes) -> bool:
        """Whether a result is passed on as it is."""

    def over(self, going: Any) -> None:
        """The call was answered."""


class _Word(NamedTuple):
    """What all who were asked say together."""

    policy: Policy
    standing: Sequence[Standing]
    """Of hooks, gates and filters, in order."""
    facts: Mapping[str, Any]
    line: Line
    recorder: Recorder


class Prepared:
    """See the module's text."""

    __slots__ = (
        *("_clear", "_ended", "_fits", "_gives_back", "_heard", "_kept", "_most"),
        *("_questions", "_takes", "_words"),
        *("caller", "client", "facts", "key", "line", "policy", "recorder", "target", "tool"),
    )

    def __init__(self, kept: PreparedCalls, call: Call, word: _Word) -> None:
        """`call` is one of those that it is for."""
        self._kept = kept
        self.policy, self.line, self.recorder = word.policy, word.line, word.recorder
        self.caller, self.client = call.caller, call.client
        self.tool, self.target = call.tool, call.target
        self.key, self.facts = (call.session or "", call.name), dict(word.facts)
        said, line = word.standing, word.line
        rests = [*(rest for one in said for rest in one.rests), *line.rests, *word.recorder.rests]
        self._questions = tuple(question for question, _ in rests)
        self._words = tuple(answer for _, answer in rests)
        self._fits = tuple(one.fits for one in said if one.fits is not None)
        counting = [one for one in said if one.takes is not None]
        self._takes = tuple(one.takes for one in counting if one.takes is not None)
        self._gives_back = tuple(one.gives_back or _stays for one in counting)
        self._clear = (line.is_plain, *(one.clear for one in said if one.clear is not None))
        self._most = min((line.most, *(one.most for one in said)))
        short = dict(kept.answered)
        self._heard = tuple(short[one](call) for one in kept.ended if one in short)
        self._ended = tuple(one for one in kept.ended if one not in short)

    # Questions are asked, and their answers compared, without a step in Python for each.

    def holds(self) -> bool:
        """Whether everything is what it was."""
        return all(map(is_, map(ask, self._questions), self._words))

    def is_plain(self, raw: bytes) -> bool:
        """Whether this result travels back as it is."""
        return len(raw) <= self._most and all(map(ask, self._clear, repeat(raw)))

    def begin(self, going: Going) -> bool:
        """Send a call; False where it has to take the walk, and then nothing was done."""
        kept, call = self._kept, going.call
        if not all(map(is_, map(ask, self._questions), self._words)):
            kept.drop(self)
            return False
        if not self._fitting(call):
            return False
        if kept.compare is not None:
            kept.compare(self, call)
            return False
        taken = 0
        for takes in self._takes:
            if not takes(call):
                return self._not_sent(call, taken)
            taken += 1
        recorder = self.recorder
        if not self._noted(going, call):
            return self._not_sent(call, taken)
        if not self._sent(going, call):
            recorder.undo(going)
            return self._not_sent(call, taken)
        kept.forwarded.add(going)
        kept.served += 1
        kept.kernel.in_flight += 1
        return True

    def _fitting(self, call: Call) -> bool:
        try:
            return all(map(ask, self._fits, repeat(call)))
        except Exception:  # noqa: BLE001 - the walk finds it, and says it
            return False

    def _noted(self, going: Going, call: Call) -> bool:
        try:
            return self.recorder.begin(going, call)
        except Exception:  # the walk finds it once more, and ends the call
            log.exception("the intent of call %s could not be noted", call.id)
            return False

    def _sent(self, going: Going, call: Call) -> bool:
        try:
            return self.line.send(going, call)
        except Exception:  # it was sent where its server knows it
            log.exception("call %s could not be sent at once", call.id)
            return going.ident != 0

    def _not_sent(self, call: Call, taken: int) -> bool:
        for gives_back in self._gives_back[:taken]:
            gives_back(call)
        return False

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
        self.tell(call, going.answer, going.spent_s)
        return True

    def tell(self, call: Call, answer: Any, spent_s: float | None) -> None:
        """Tell all who hear of the ends of calls; None for one that could not be recorded. Whoever breaks at that changes nothing."""
        try:
            if spent_s is not None:
                for heard in self._heard:
                    heard(spent_s)
            for ended in self._kept.ended if spent_s is None else self._ended:
                ended(call, answer, spent_s)
        except Exception:
            log.exception("the end of call %s could not be told to all", call.id)

    def forget(self) -> None:
        """It is for nobody any more."""
        self._kept.drop(self)

    def gone(self) -> None:
        """A call is answered: nothing of it is left to do."""
        self._kept.kernel.in_flight -= 1

    def promoted(self, going: Going) -> None:
        """The walk goes on with a call."""
        going.trail, going.rest = self.recorder.trail(going), self.policy.rest(going.came)
        self._kept.going_on[going.call.id] = going


def _stays(call: Call) -> None:
    """What was counted stays counted."""


_Ended = Callable[[Call, Any, float | None], object]


class _Counting(Protocol):
    in_flight: int

    @property
    def policy(self) -> Policy: ...


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

    def taken(self, call: Call) -> tuple[Policy, Any] | None:
        """The walk takes over a call that it is to go on with: what is left to do with it, and its trail."""
        going = self.going_on.pop(call.id, None)
        if going is None:
            return None
        self.forwarded.discard(going)
        rest, going.rest = going.rest, None  # which has it: no collector is to be needed
        return rest, going.trail

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
        if (
            session is None
            or policy.way is None
            or call.door != "http"
            or self.mode == "off"
            or policy is not self.kernel.policy  # there was a reload since
        ):
            return
        key = session, name
        if key in self.known or len(name) > _NAME_CHARS:
            return
        if len(self._tried) >= KEPT:
            self._tried.clear()
        self._tried[key] = tried = self._tried.get(key, 0) + 1
        # Of what cannot be prepared this is asked more and more seldom.
        if tried < self.after or tried & (tried - 1):
            return
        try:
            made = self._composed(policy, call)
        except Exception:  # the calls take the walk
            log.exception("calls of %s could not be prepared", name)
            return
        if made is not None and made.holds():
            if len(self.known) >= KEPT:
                self.drop(
                    next(iter(self.known.values()))
                )  # the oldest: who has many takes nothing from all at once
            self.known[key] = made
            self.made += 1

    def _composed(self, policy: Policy, call: Call) -> Prepared | None:
        """What is decided about all calls like this one; None where somebody has to be asked about each."""
        if policy.way is None or call.kind != "tool" or not call.params.keys() <= _PLAIN:
            return None
        if any(
            one is not None for one in (call.deadline, call.requested, call.touches, call.listen)
        ):
            return None
        said: list[Standing] = []
        facts: dict[str, Any] = {}
        every = [getattr(one, "stands", None) for one in (*policy.gates, *policy.filters)]
        for stands in (*self._hooks, *every):
            word = None if stands is None else stands(call)
            if word is None:
                return None
            said.append(word)
            facts.update(word.facts)
        line, recorder = policy.way(call), self._recorder(call)
        # In their order, as they are recorded.
        if line is None or recorder is None or [*facts.items()] != [*call.facts.items()]:
            return None
        return Prepared(self, call, _Word(policy, said, facts, line, recorder))
