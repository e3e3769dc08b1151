"""`Operation` of the console's JSON API, declared by power (`see`, `decide`, `change`): path, types, handler; parses input; `ApiError`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from gatewright.console.people import Person, Power

__all__ = [
    "ApiError",
    "Asking",
    "Download",
    "Nothing",
    "Operation",
    "change",
    "decide",
    "read",
    "see",
]


Method = Literal["GET", "POST", "PUT", "DELETE"]


class Nothing(msgspec.Struct, frozen=True):
    """No members."""


class Download(msgspec.Struct, frozen=True):
    """What an operation gives that answers with a file, piece by piece, each made in a thread."""

    name: str
    media_type: str
    pieces: Iterator[bytes]
    done: Callable[[], object] = lambda: None
    """Called once, when all is sent, or whoever asked has gone."""


class ApiError(Exception):
    """What is answered in place of a result. `message` says what is wrong, `hint` what to do."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint


class Asking(msgspec.Struct, frozen=True):
    """One request: who asks, the names in the path, and what is given, of the operation's shape `takes`."""

    person: Person
    path: Mapping[str, str] = {}
    given: Any = Nothing()


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation below `/api/v1`. A page does what its form asks for by the same operation."""

    name: str
    """Its id in the OpenAPI document: `inbox.approve`."""
    method: Method
    path: str
    """Below `/api/v1`, with `{name}` for what a request names."""
    power: Power
    summary: str
    """What it does, as a phrase that begins with a verb."""
    run: Callable[[Asking], Awaitable[Any]]
    """Answers with what fits `gives`. Raises `ApiError`."""
    takes: type[msgspec.Struct] = Nothing
    """Of GET: the query. Of others: the body, JSON."""
    gives: Any = Nothing
    """The type of the answer; `Download` for a file."""
    reads: bool = False
    """Whether it changes nothing although it is no GET: what it is about does not fit into a URL."""

    @property
    def in_turn(self) -> bool:
        """Whether one person has only some of them at once: what changes something may wait for another person."""
        return self.reads or self.method == "GET"


class _Declaring:
    """Declares operations that take one power: `see("servers.list", "/servers", "List tool servers", self.listed, gives=…)`."""

    def __init__(self, power: Power, method: Method) -> None:
        self._power = power
        self._method = method

    def __call__(
        self,
        name: str,
        path: str,
        summary: str,
        run: Callable[[Asking], Awaitable[Any]],
        *,
        takes: type[msgspec.Struct] = Nothing,
        gives: Any = Nothing,
        method: Method | None = None,
        reads: bool = False,
    ) -> Operation:
        return Operation(
            name=name,
            method=method or self._method,
            path=path,
            power=self._power,
            summary=summary,
            run=run,
            takes=takes,
            gives=gives,
            reads=reads,
        )


see = _Declaring("see", "GET")
decide = _Declaring("decide", "POST")
change = _Declaring("change", "POST")


@lru_cache(maxsize=256)
def _optional(takes: type[msgspec.Struct]) -> frozenset[str]:
    """Its members that may be left out: to look at a shape takes longer than to read what was given."""
    return frozenset(one.encode_name for one in msgspec.structs.fields(takes) if not one.required)


def read(takes: type[msgspec.Struct], given: Mapping[str, Any], *, texts: bool) -> Any:
    """What was given, in its shape; with `texts` numbers and switches are texts, as in queries and forms, where an empty text
    of a member that may be left out counts as left out. Raises `ApiError`."""
    if texts:
        optional = _optional(takes)
        given = {key: value for key, value in given.items() if value or key not in optional}
    try:
        return msgspec.convert(given, takes, strict=not texts)
    except msgspec.ValidationError as problem:
        raise ApiError(422, "invalid", str(problem)) from None
