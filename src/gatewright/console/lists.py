"""`Table`: sorts, filters, keyset-paginates a console list by its declared columns; its URLs; forms that carry the list's query along."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from gatewright.console.operations import read
from gatewright.console.paging import Key, page_of, url_of, usual_of
from gatewright.transport.slices import in_slices

__all__ = ["Column", "Head", "Paged", "Rows", "Shown", "Table", "place_in", "placed", "shown_of"]

T = TypeVar("T")
A = TypeVar("A", bound=msgspec.Struct)
_PLACE = ("sort", "desc", "after", "limit")


class Paged(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a list. Each list adds `sort`, the names of the columns that it is sorted by, and what it is filtered by."""

    desc: bool | None = None
    """Unless said as one reads the column that it is sorted by: names from A on, the largest numbers first."""
    after: Annotated[str, Meta(max_length=2000)] = ""
    """Where the page before ended: its `next`."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class Column(msgspec.Struct, frozen=True):
    """One column. `key` gives what its list is sorted by: a text, or a number; None where it is not."""

    title: str
    name: str = ""
    """What `sort` calls it."""
    key: Callable[[Any], int | float | str] | None = None
    numeric: bool = False
    """Numbers stand at the right, and the largest come first."""
    falls: bool = False
    """Whether the greatest come first where they do not stand at the right: the newest."""

    turned: bool = False
    """Whether what its head says falls as its key grows: how long something has been so, sorted by since when."""

    @property
    def first_desc(self) -> bool:
        """Whether the greatest come first unless it is said."""
        return self.numeric or self.falls


class Head(NamedTuple):
    """The head of one column on a page."""

    title: str
    url: str
    """Where the list is sorted by it, or the other way round; empty where it is not."""
    sorted: str
    """`ascending`, `descending` or empty."""
    numeric: bool


class Rows(NamedTuple, Generic[T]):
    """One page."""

    rows: list[T]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where there is none."""


class Shown(NamedTuple):
    """What `templates/lists.html` draws around the rows."""

    heads: Sequence[Head]
    part: str
    """The URL of the part of the page that has the list."""
    first: str
    """Of the first page; empty on it."""
    next: str
    whole: str
    """Without a filter."""
    place: str
    """The query of the URL of the list as it was asked for: what a form sends along that is answered with the list."""
    filtered: bool
    kept: Mapping[str, str]
    """Fields that a form of filters sends along, so that the order stays."""


class Table(Generic[T]):
    """One list. Raises `ValueError` where its columns are not those that `asked`, its shape, is sorted by."""

    def __init__(
        self,
        path: str,
        asked: type[Paged],
        columns: Sequence[Column],
        ident: Callable[[T], str | tuple[str, ...]],
        fits: Callable[[T, Any], bool] = lambda row, asked: True,
    ) -> None:
        """`path` is that of the page, below which `/list` is the part. `ident` tells rows apart, a tuple where it takes several
        texts to do so; `fits` says whether one is as asked."""
        self._path = path
        self._asked = asked
        self._columns = columns
        self._ident = ident
        self._fits = fits
        self._by = {one.name: (one, one.key) for one in columns if one.key is not None}
        sorts = get_args(get_type_hints(asked)["sort"])
        if set(sorts) != set(self._by):
            raise ValueError(f"{path} is sorted by {sorts}, and has columns {[*self._by]}")

    async def page(self, items: Iterable[T], asked: Any) -> Rows[T]:
        """Those that fit, sorted, one page of them; in slices. Raises `ApiError`."""
        return await in_slices(self.steps(items, asked))

    def steps(self, items: Iterable[T], asked: Any) -> Generator[None, None, Rows[T]]:
        """The same in steps."""
        (column, key), ident, fits = self._by[asked.sort], self._ident, self._fits

        def place(row: T) -> Key:
            told = ident(row)
            return key(row), told if isinstance(told, str) else msgspec.json.encode(told).decode()

        desc = column.first_desc if asked.desc is None else asked.desc
        page = page_of(
            items,
            place,
            after=asked.after,
            limit=asked.limit,
            descending=desc,
            fits=lambda row: fits(row, asked),
        )
        rows, more, total = yield from page
        return Rows(rows, total, more)

    def shown(self, asked: Paged, more: str) -> Shown:
        """What is drawn around a page; `more` is the `after` of the next one."""
        return shown_of(self._path, asked, more, self._columns)


def shown_of(path: str, asked: msgspec.Struct, more: str, columns: Sequence[Column] = ()) -> Shown:
    """The same for a list that is sorted elsewhere."""
    said: Any = asked
    usual = usual_of(type(asked))
    first = {"after": usual["after"]}
    filters = {name: value for name, value in usual.items() if name not in _PLACE}
    return Shown(
        heads=[_head(path, said, one, first) for one in columns],
        part=url_of(f"{path}/list", asked),
        first=url_of(path, asked, **first) if said.after else "",
        next=url_of(path, asked, after=more) if more else "",
        whole=url_of(path, asked, **filters, **first),
        place=url_of("", asked),
        filtered=any(getattr(said, name) != value for name, value in filters.items()),
        kept={
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name in ("sort", "desc", "limit")
            if name in usual and (value := getattr(said, name)) != usual[name]
        },
    )


def placed(form: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The shape of a form that is answered with a list: it says as well which part of that it was sent from."""
    members: Any = [("place", Annotated[str, Meta(max_length=4000)], "")]
    name = f"{form.__name__}OnPage"
    return msgspec.defstruct(name, members, bases=(form,), frozen=True, kw_only=True)


def place_in(given: Any, takes: type[A]) -> A:
    """The list that such a form was sent from, by the query of its URL. Raises `ApiError`."""
    found: A = read(takes, dict(parse_qsl(given.place.removeprefix("?"))), texts=True)
    return found


def _head(path: str, asked: Any, column: Column, first: Mapping[str, Any]) -> Head:
    if column.key is None:
        return Head(column.title, "", "", column.numeric)
    here = asked.sort == column.name
    now = column.first_desc if asked.desc is None else asked.desc
    turned = None if not here or now != column.first_desc else not now
    url = url_of(path, asked, sort=column.name, desc=turned, **first)
    order = ("descending" if now != column.turned else "ascending") if here else ""
    return Head(column.title, url, order, column.numeric)
