"""One test for a table of rows: `parametrize` over a function that takes nothing else is run as a loop, and every row that fails is named.

A test costs a millisecond or two before it compares anything: it is collected in each process of xdist, ordered, set up, reported. Tables
of lines, names and codes have thousands of rows, each of which needs far less. `--each-row`, or a row that is asked for by its id, has
each run as a test of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn

import pytest

__all__ = ["gather", "gathered", "rows_of"]

_ENDS: tuple[type[BaseException], ...] = (Exception, *pytest.fail.Exception.__mro__[1:2])
"""How a row may end the test: by an error, or by what `Failed` is, and `Skipped` as well. The rows behind one that skips are tried."""
Row = tuple[str, Mapping[str, Any]]
"""Its id, and what the function takes."""

_SHOWN = 20
"""Of so many rows the whole error is shown; all are named."""
_OF_THE_RUN = frozenset(
    "_own_state_home _no_thread_is_stopped_while_measured event_loop_policy tmp_path_factory request".split()
)
"""Fixtures of every test (tests/conftest.py, pytest-asyncio) and what they take: none that tells one row from the next."""
_tables: dict[str, list[Row]] = {}
"""Rows of functions whose items are being made."""


def gather(metafunc: pytest.Metafunc) -> None:
    """Leave the first call of a table, and keep its rows for `gathered`: of eighty thousand items, which each process of xdist would
    make, three quarters would be thrown away again."""
    made: Any = metafunc
    calls = made._calls
    if len(calls) < 2 or any(one.marks for one in calls):
        return
    definition, function = made.definition, metafunc.function
    if metafunc.cls or not _takes_rows_alone(definition, function, {*calls[0].params}):
        return
    _tables[definition.nodeid] = [(one.id, one.params) for one in calls]
    del calls[1:]


def gathered(items: Sequence[pytest.Item], between: Callable[[], object]) -> list[pytest.Item]:
    """The items of one function, or in place of its first call a test of all its rows; `between` is done after each."""
    first = items[0] if len(items) == 1 else None
    if not isinstance(first, pytest.Function) or first.parent is None:
        return list(items)
    rows = _tables.pop(f"{first.parent.nodeid}::{first.originalname}", None)
    if rows is None:
        return list(items)
    table = _table(first.function, rows, between)
    return [pytest.Function.from_parent(first.parent, name=first.originalname, callobj=table)]


def rows_of(item: pytest.Item) -> int:
    """How many rows a test has; 0 where it is no table of them."""
    return getattr(getattr(item, "function", None), "rows", 0)


def _takes_rows_alone(
    definition: pytest.Function, function: Callable[..., object], given: set[str]
) -> bool:
    """Not where it is asynchronous, or wants fixtures or examples by chance: each row needs its own loop, folder or seed then."""
    if inspect.iscoroutinefunction(function) or hasattr(function, "is_hypothesis_test"):
        return False
    tables = list(definition.iter_markers("parametrize"))
    if any(one.kwargs.get("indirect") or one.kwargs.get("scope") for one in tables):
        return False
    named = {name for one in tables for name in _names(one)}
    fixtures = {*definition.fixturenames} - given
    taken = {*inspect.signature(function).parameters}
    return given == named and taken <= given and fixtures <= _OF_THE_RUN


def _names(table: pytest.Mark) -> Sequence[str]:
    names = table.args[0] if table.args else table.kwargs["argnames"]
    return [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)


def _table(function: Callable[..., object], rows: list[Row], between: Callable[[], object]) -> Any:
    taken = frozenset(inspect.signature(function).parameters)

    @wraps(function)
    def every_row() -> None:
        failed: list[tuple[str, BaseException]] = []
        for name, given in rows:
            try:
                _done(function(**{key: one for key, one in given.items() if key in taken}))
            except _ENDS as problem:  # told below, all of them
                failed.append((name, problem))
            between()
        if failed:
            _fail(failed, len(rows))

    every_row.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
    marks = getattr(function, "pytestmark", [])
    every_row.pytestmark = [one for one in marks if one.name != "parametrize"]  # type: ignore[attr-defined]
    every_row.rows = len(rows)  # type: ignore[attr-defined]
    return every_row


def _done(returned: object) -> None:
    """As pytest has it of a test alone, where warnings are errors: what is returned is compared with nothing, and a coroutine is not run."""
    if returned is not None:
        close = getattr(returned, "close", None)
        if inspect.iscoroutine(returned) and close is not None:
            close()
        pytest.fail(f"it returns {returned!r}, at which nobody looks")


def _fail(failed: list[tuple[str, BaseException]], count: int) -> NoReturn:
    for name, problem in failed:
        problem.add_note(f"in the row [{name}]")
    if len(failed) == 1:
        raise failed[0][1]
    names = "".join(f"\n  [{name}]" for name, _ in failed)
    more = f", the first {_SHOWN} of them" if len(failed) > _SHOWN else ""
    raise BaseExceptionGroup(
        f"{len(failed)} of {count} rows failed:{names}\nTheir errors{more}",
        [problem for _, problem in failed[:_SHOWN]],
    )
