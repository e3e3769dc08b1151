"""`Screen`: base class of the console's screens: pages, API operations, navigation badge; `Page`: a route; `View`: its template and values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from gatewright.console.operations import Asking, Download, Nothing, Operation
from gatewright.console.people import Person, Power

__all__ = ["Badge", "Copies", "Page", "Screen", "View", "posted"]


class Copies(msgspec.Struct, frozen=True):
    """How the same is done elsewhere: a command of the terminal, a request to the API (`POST /api/v1/…`, with its body)."""

    command: str = ""
    call: str = ""


class View(msgspec.Struct, frozen=True):
    """A template below `templates/`, and what it shows. `status` is that of HTTP."""

    template: str
    values: Mapping[str, Any] = {}
    copies: Copies = Copies()
    status: int = 200
    location: str = ""
    """Where the browser goes instead."""
    shared: str = ""
    """Of a part that shows everybody of one role the same: whoever asks for the same template with this text soon after gets what was
    made. Its values are worked out by `later`."""
    later: Callable[[], Awaitable[Mapping[str, Any]]] | None = None
    """More values, worked out where they are needed."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """HTML at a path: a whole page, or a part of one that is fetched when it changes."""

    path: str
    """With `{name}` for what a request names."""
    run: Callable[[Asking], Awaitable[View | Download]]
    """Raises `ApiError`."""
    power: Power
    """What a person's role has to allow; of a page as of a form it is named, never taken for granted."""
    method: Literal["GET", "POST"] = "GET"
    takes: type[msgspec.Struct] = Nothing
    """Of GET: the query. Of POST: the fields of the form."""
    reads: bool = False
    """Whether it changes nothing although it is a form."""

    @property
    def in_turn(self) -> bool:
        """Whether one person has only some of them at once, as of operations."""
        return self.reads or self.method == "GET"


def posted(
    path: str,
    run: Callable[[Asking], Awaitable[View | Download]],
    takes: type[msgspec.Struct] = Nothing,
    power: Power = "change",
    *,
    reads: bool = False,
) -> Page:
    """What a form of a page has done, and answers with."""
    return Page(path=path, run=run, method="POST", power=power, takes=takes, reads=reads)


class Badge(msgspec.Struct, frozen=True):
    """What stands beside a screen's name: a number or a sign, its state, and what it means in words."""

    text: str
    state: Literal["ok", "warn", "bad"]
    title: str


class Screen:
    """One screen. It is made once, when the console is first asked for; a subclass has its pages and operations."""

    name = ""
    """Its path and its folder of templates: `inbox`."""
    title = ""
    key = ""
    """The letter that leads to it after `g`."""
    group = 0
    """Screens of one group stand together in the navigation."""
    pages: Sequence[Page] = ()
    operations: Sequence[Operation] = ()

    def badge(self, person: Person) -> Badge | None:
        """What stands beside its name; None for nothing. Called with every page, on the event loop."""
        return None
