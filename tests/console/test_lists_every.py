"""Every list of the console: all that fits is on one of its pages, once, in each of its orders, whatever things are called; and every
operation that lists takes a page's shape."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatewright.call import Tool
from gatewright.console.agent_runs import Run
from gatewright.console.health import Thing
from gatewright.console.host_shapes import HOSTS
from gatewright.console.lists import Paged, Table
from gatewright.console.recent_calls import CallRow
from gatewright.console.room_shapes import RoomRow
from gatewright.console.running_calls import RunningCall
from gatewright.console.screens.limits import Limit
from gatewright.console.server_facts import ServerRow
from gatewright.console.server_history import Step, table_of
from gatewright.console.sign_in_sessions import SignedIn
from gatewright.hosts.offered import HostState
from gatewright.transport.slices import whole
from tests.console.in_process import Within, within
from tests.gate_parts import a_tool

ROWS: dict[str, type[Any]] = {
    "/sessions": Run,
    "/sessions/signed-in": SignedIn,
    "/live": CallRow,
    "/live/running": RunningCall,
    "/servers": ServerRow,
    "/servers/a%2Fb": Step,
    "/tools": Tool,
    "/rooms": RoomRow,
    "/limits": Limit,
    "/connect": HostState,
    "/health": Thing,
}
"""Path of each list → the shape of its rows."""
OTHERWISE = {
    "inbox.list": "requests of the state database, by its keyset: tests/approvals/test_lists.py, test_inbox_list.py",
    "access.grid": "two lists, one across: test_access_table.py",
    "audit.search": "records by their number: tests/audit/test_search.py",
    "sessions.run": "records by their number: test_agent_runs.py",
    "tools.search": "as an agent gets it, within a budget of tokens",
    "rooms.talk": "what was said since somebody came, and nothing before",
    "limits.consumers": "the ten who call most",
    "calls.traffic": "seconds of a chart",
    "audit.count": "slices of a chart",
}
"""Operations that list and are paged otherwise, or not at all, and why."""
_NAMES = [
    "",
    "!",
    "*",
    "a",
    "a/b",
    "a b",
    "b",
    "\u202e",
    "x" * 400,
    "x" * 400 + "y",
    "\x00" * 130,
    "é",
]


_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.sampled_from(_NAMES),
    bool: st.booleans(),
    int: st.sampled_from([0, 1, 2, -1]),
    float: st.sampled_from([0.0, 0.5, 1e300, -1.0]),
    type(None): st.none(),
    dict[str, str]: st.just({}),
    Tool: st.builds(a_tool, st.sampled_from(_NAMES), server=st.sampled_from(_NAMES)),
}


def _built(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that a row has."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(_built, args))
    if origin is tuple:
        return st.lists(_built(args[0]), min_size=1, max_size=3).map(tuple)
    if origin in (list, Sequence):
        return st.lists(_built(args[0]), max_size=2)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if origin is Literal:
        return st.sampled_from(args)
    return st.builds(kind, **{name: _built(one) for name, one in get_type_hints(kind).items()})


@pytest_asyncio.fixture
async def console(tmp_path: Path) -> AsyncIterator[Within]:
    async with within(tmp_path) as found:
        yield found


def _tables() -> dict[str, Table[Any]]:
    modules = [
        vars(one) for name, one in sys.modules.items() if name.startswith("gatewright.console")
    ]
    known = [one for names in modules for one in names.values() if isinstance(one, Table)]
    # A gateway that runs has put those out of sight that were there before it.
    made = [one for one in gc.get_objects() if isinstance(one, Table)]
    return {vars(one)["_path"]: one for one in (*known, *made, table_of("a/b"))}


async def test_the_lists_are_those_that_are_known_here(console: Within) -> None:
    known = {path for path in _tables() if not path.startswith(("/servers/", "/rows"))}
    assert known == set(ROWS) - {"/servers/a%2Fb"}
    assert HOSTS is _tables()["/connect"]


@pytest.mark.parametrize("path", ROWS)
async def test_every_row_is_on_one_page_in_each_order(console: Within, path: str) -> None:
    table = _tables()[path]
    parts = vars(table)
    asked_as: type[Paged] = parts["_asked"]
    rows_of = st.lists(_built(ROWS[path]), max_size=12, unique_by=parts["_ident"])
    sorts = sorted(parts["_by"])

    @settings(max_examples=30, suppress_health_check=[*HealthCheck], deadline=None)
    @given(rows_of, st.sampled_from(sorts), st.sampled_from([None, False, True]))
    def holds(rows: list[Any], sort: Any, desc: bool | None) -> None:
        asked: Any = asked_as(limit=2, desc=desc)
        asked = msgspec.structs.replace(asked, sort=sort)
        found: list[Any] = []
        while True:
            page = whole(table.steps(rows, asked))
            assert (page.total, len(page.rows) <= 2, len(page.next) <= 2000) == (
                len(rows),
                True,
                True,
            )
            found += page.rows
            if not page.next:
                break
            asked = msgspec.structs.replace(asked, after=page.next)
        ident = parts["_ident"]
        assert sorted(map(ident, found)) == sorted(map(ident, rows))

    holds()


async def test_what_lists_takes_the_shape_of_a_page(console: Within) -> None:
    """What shows one thing may have lists in it; what shows many is sorted, filtered and paged."""
    operations = [one for one in vars(console.site)["_operations"] if one.method == "GET"]
    lists = {one.name for one in operations if "{" not in one.path and _has_list(one.gives)}
    lists |= {one.name for one in operations if one.name.endswith((".list", ".history"))}
    of_one = {"access.cell", "servers.pin", "tools.show"}
    paged = {one.name for one in operations if issubclass(one.takes, Paged)}
    assert lists - paged - of_one == set(OTHERWISE)


def _has_list(gives: Any) -> bool:
    if get_origin(gives) in (list, Sequence):
        return True
    is_struct = isinstance(gives, type) and issubclass(gives, msgspec.Struct)
    return is_struct and any(
        get_origin(one) in (list, Sequence) for one in get_type_hints(gives).values()
    )
