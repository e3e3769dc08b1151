"""`Standing`: a decision of a gate, filter or hook reused for equal calls: the values it depends on, and the check left for each call.

Theory (decision 0090). Most of what is decided about a call follows from caller, session, tool and configuration. Who decides may say so once,
by `stands(call)` of a call that it has just let pass: the word holds as long as everything it `rests` on is what it was, and adds the same
`facts`. What depends on the call itself is asked of each call (`fits`), and what counts it is counted for each (`takes`). None, or no `stands` at all,
means: ask me about every call.

Nothing has to be told of a change. What a word rests on is looked at with every call: attributes of living objects, or a question that costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gatewright.call import Call

__all__ = ["NOTHING", "Rest", "Standing", "Stands", "attribute"]

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
