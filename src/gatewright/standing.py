"""`Standing`: decision of a gate, filter or hook, valid for equal calls while its `rests` are unchanged; `holding` compiles that check.

Theory (decision 0090). Most of what is decided about a call follows from caller, session, tool and configuration. Who decides may say so once,
by `stands(call)` of a call that it has just let pass: the word holds as long as everything it `rests` on is what it was, and adds the same
`facts`. What depends on the call itself is asked of each call (`fits`), and what counts it counts each (`counts`). None, or no `stands` at all,
means: ask me about every call.

Nothing has to be told of a change. What a word rests on is looked at with every call: attributes of living objects, or a question that costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gatewright.call import Call

__all__ = ["NOTHING", "Rest", "Standing", "Stands", "attribute", "holding"]

Rest = tuple[Callable[[], object], object]
"""A question, and what it was answered when the word was given. The word holds as long as the answer is that very object."""


class Standing(NamedTuple):
    """See the module's text."""

    rests: tuple[Rest, ...] = ()
    facts: Mapping[str, Any] = {}
    """What a gate adds to each of the calls."""
    fits: Callable[[Call], bool] | None = None
    """Whether it would let a call pass and add nothing else. Changes nothing; False, or any exception: it is asked the long way."""
    counts: tuple[Callable[[Call], bool], Callable[[Call], object]] | None = None
    """Counts a call, or says that there is no room and counts nothing, asked once all others have let it pass; and hears that the one which
    was counted last was not made."""
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


def holding(
    rests: Sequence[Rest],
    fits: Sequence[Callable[[Any], bool]] = (),
    most: int | None = None,
) -> Callable[..., bool]:
    """One question: whether each answer is the very object that it was, and whether one thing, a call or a result, has no more than `most`
    bytes and all say so of it, in order; the first that does not is the last that is asked."""
    # Compiled once for all that have the same shape: attributes are then looked up and compared in a seventh of the time that it takes to
    # ask one question after the other.
    given: dict[str, Any] = {"most": most}
    asked = [] if most is None else ["len(one) <= most"]
    for at, (question, word) in enumerate(rests):
        owner: object = question
        how = "()"
        if isinstance(question, partial) and question.func is getattr:
            owner, name = question.args
            how = f".{name}"
            if not name.isidentifier():
                raise ValueError(f"{name!r} is no attribute")
        given |= {f"o{at}": owner, f"w{at}": word}
        asked.append(f"o{at}{how} is w{at}")
    for at, says in enumerate(fits):
        given[f"f{at}"] = says
        asked.append(f"f{at}(one)")
    made = _compiled(f"lambda {', '.join(given)}: lambda one=None: {' and '.join(asked) or True}")
    found: Callable[..., bool] = made(**given)
    return found


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    code = compile(text, __file__, "eval")
    return eval(code, {})  # noqa: S307 - of names of our own attributes, and numbers
