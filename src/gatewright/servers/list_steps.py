"""`seen_items`, `made_list`: makes the JSON of one list (`tools/list`, …) in steps: first which items a caller may see, then their text."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from gatewright.servers.view import LISTS, Item, readings

__all__ = ["made_list", "seen_items"]


def seen_items(
    items: Sequence[Item],
    sees: Callable[[Item], bool],
    reads: Callable[[Item, tuple[int, int]], int],
    count: int,
) -> Generator[None, None, frozenset[int] | None]:
    """The numbers of the items that somebody `sees`, one a step, each as `reads` has it of so many (`view.readings`); None: all of them
    as they stand."""
    seen: list[int] = []
    plain = True
    for n, item in enumerate(items):
        yield
        if sees(item):
            number = reads(item, (n, count))
            plain = plain and number == n
            seen.append(number)
    return None if plain and len(seen) == len(items) else frozenset(seen)


def made_list(
    method: str, items: Sequence[Item], visible: frozenset[int] | None, mgp: bool
) -> Generator[None, None, bytes]:
    """The text of a list of those that are `visible`, one a step; with `mgp`, for a client that negotiated `security`."""
    texts: list[bytes] = []
    for n, item in enumerate(items):
        for shown in readings(item, n, len(items), visible):
            yield
            texts.append(shown.text(mgp))
    return b'{"%s":[%s]}' % (LISTS[method].encode(), b",".join(texts))
