"""Which server has a task, what it is called where, and whose it is."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection
from typing import Any

import pytest
from msgspec.structs import replace

import gatewright.servers.task_owners
from gatewright.call import ANONYMOUS, Caller, Target, UserContext
from gatewright.servers.task_owners import LASTS_S, MadeTasks, has, owner_of
from gatewright.servers.task_store import ServerTask
from tests.gate_parts import a_call

ANN, BOB = Caller("ann"), Caller("bob")


class Kept:
    """What outlives a process."""

    def __init__(self) -> None:
        self.rows: dict[str, ServerTask] = {}

    def all(self) -> list[ServerTask]:
        return [*self.rows.values()]

    async def add(self, one: ServerTask) -> None:
        self.rows[one.id] = one

    async def drop(self, ids: Collection[str]) -> None:
        for name in ids:
            del self.rows[name]


class Book(MadeTasks):
    """With a clock that is set by hand."""

    def __init__(self, kept: Kept | None = None) -> None:
        numbers = itertools.count()
        self.kept = kept or Kept()
        super().__init__(lambda: self.now, lambda n: next(numbers).to_bytes(n, "big"), self.kept)
        self.now = 1000.0


def about(task: Any = "", caller: Caller = ANN, session: str | None = None) -> Any:
    found = a_call("method", method="tasks/get", caller=caller, session=session)
    found.params["taskId"] = task
    return found


async def made(
    book: Book,
    task: str = "T-1",
    server: str = "one",
    on: str = "",
    lasts: float | None = None,
    told_on: int = 1,
    **whose: Any,
) -> str:
    found = await book.make(about(**whose), server, on, task, lasts, told_on)
    return "" if found is None else found.id


async def test_a_task_is_its_callers_under_an_id_that_no_server_chose() -> None:
    book = Book()
    name = await made(book)
    found = book.of(about(name))
    assert found is not None
    assert (found.of, found.task) == (Target("one", ""), "T-1")
    assert name != "T-1"
    assert len(name) == len("task_") + 32
    for stranger in (BOB, Caller("ann", "operator"), ANONYMOUS):
        assert book.of(about(name, stranger)) is None
    for unknown in ("T-1", "task_" + "0" * 31, 7, None, [name]):
        assert book.of(about(unknown)) is None


async def test_a_task_is_of_no_other_key_of_its_caller_with_other_limits() -> None:
    """Also after a restart, when no credential is known any more."""
    book = Book()
    ann = Caller("ann", "agent", "k1")
    less = replace(ann, key_id="k2", user=(UserContext(resources=("/srv",)),))
    hers = await made(book, caller=ann)
    for known in (book, Book(book.kept)):
        assert known.of(about(hers, less)) is None
        assert known.all_of(about(caller=less)) == []
        for key in (ann, replace(ann, key_id="k3")):
            found = known.of(about(hers, key))
            assert found is not None
            assert has(about(caller=key), found)
            assert not has(about(caller=less), found)
            assert known.all_of(about(caller=key)) == [found]
    assert await made(book, caller=less) == ""  # nor by being told the same name


async def test_one_name_on_two_servers_or_connections_is_two_tasks() -> None:
    book = Book()
    places = [("one", ""), ("two", ""), ("one", "s1#p.3"), ("one", "s1#p.4")]
    names = [
        await made(book, server=server, on=on, caller=who)
        for (server, on), who in zip(places, (ANN, BOB, BOB, ANN), strict=True)
    ]
    assert len({*names, ""}) == 5
    for (server, on), name in zip(places, names, strict=True):
        heard = book.heard(server, on, "T-1")
        assert heard is not None
        assert heard.id == name
    assert book.heard("one", "other", "T-1") is None
    assert book.heard("one", "", 7) is None


async def test_nobody_takes_over_a_task_while_it_is_somebodys() -> None:
    book = Book()
    hers = await made(book, lasts=10.0)
    assert await made(book, caller=BOB) == ""
    assert await made(book) == hers  # told twice
    book.now += 10.0
    his = await made(book, caller=BOB)
    assert his not in {"", hers}
    assert book.of(about(hers)) is None
    assert list(book.kept.rows) == [his]


async def test_without_a_session_a_name_that_is_given_again_is_nobodys() -> None:
    """The server may have begun to count anew between the two, and nothing would tell."""
    book = Book()
    hers = await made(book, told_on=0)
    assert await made(book, told_on=0) == hers
    assert await made(book, caller=BOB, told_on=0) == ""
    assert book.of(about(hers)) is None
    assert not book.kept.rows


async def test_callers_without_a_name_are_not_given_what_another_has() -> None:
    book = Book()
    first = await made(book, caller=ANONYMOUS, session=None)
    assert await made(book, caller=ANONYMOUS, session=None) == ""
    assert first


@pytest.mark.parametrize("restarted", [True, False], ids=["gateway too", "server alone"])
async def test_a_name_that_a_server_gives_to_another_in_a_new_session_is_nobodys(
    restarted: bool,
) -> None:
    before = Book()
    hers = await made(before, told_on=1)
    book = before
    if restarted:
        book = Book(before.kept)
    for _ in range(2):
        assert await made(book, caller=BOB, told_on=2) == ""
        assert await made(book, told_on=3) == "", "what is Bob's now would be read by Ann"
        assert book.of(about(hers)) is None
        heard = book.heard("one", "", "T-1")
        assert heard is None or heard.owner not in {owner_of(about()), owner_of(about(caller=BOB))}
    assert book.kept.rows == {}


async def test_a_task_that_its_caller_is_told_again_in_a_new_session_stays_its_own() -> None:
    book = Book()
    hers = await made(book, told_on=1)
    assert await made(book, told_on=2) == hers
    assert await made(book, caller=BOB, told_on=2) == ""
    assert book.of(about(hers)) is not None


async def test_of_two_callers_told_one_name_at_once_one_has_the_task() -> None:
    book = Book()
    keep = book.kept.add

    async def slowly(one: ServerTask) -> None:
        await asyncio.sleep(0)
        await keep(one)

    book.kept.add = slowly  # type: ignore[method-assign]
    anns, bobs = await asyncio.gather(made(book), made(book, caller=BOB))
    assert anns
    assert not bobs
    assert book.of(about(anns)) is not None


async def test_a_task_of_somebody_without_a_name_belongs_to_its_session() -> None:
    book = Book()
    name = await made(book, caller=ANONYMOUS, session="s1")
    assert book.of(about(name, ANONYMOUS, "s1")) is not None
    assert book.of(about(name, ANONYMOUS, "s2")) is None
    named = await made(book, "T-2", session="s1")
    assert book.of(about(named, session="s2")) is not None
    loose = await made(book, "T-3", caller=ANONYMOUS)
    assert book.of(about(loose, ANONYMOUS)) is not None
    assert book.all_of(about(caller=ANONYMOUS)) == []
    assert [one.id for one in book.all_of(about(caller=ANONYMOUS, session="s1"))] == [name]


async def test_what_was_kept_is_known_after_a_restart_with_its_owner() -> None:
    before = Book()
    name = await made(before)
    after = Book(before.kept)
    assert after.of(about(name)) is not None
    assert after.of(about(name, BOB)) is None
    assert after.of(about("task_" + "f" * 32)) is None


async def test_a_task_is_known_for_as_long_as_its_server_says_but_not_for_ever() -> None:
    book = Book()
    short, long, unsaid = (
        await made(book, "a", lasts=1.0),
        await made(book, "b", lasts=1e12),
        await made(book, "c"),
    )
    book.now += 1.0
    assert [one.id for one in book.all_of(about())] == [long, unsaid]
    assert book.of(about(short)) is None
    book.now += LASTS_S
    assert book.all_of(about()) == []


async def test_whoever_makes_tasks_without_end_pushes_out_only_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.servers.task_owners, "EACH", 3)
    monkeypatch.setattr(gatewright.servers.task_owners, "KEPT", 5)
    book = Book()
    hers = await made(book, "hers")
    his = [await made(book, f"b{number}", caller=BOB) for number in range(10)]
    assert book.of(about(hers)) is not None
    assert [one.id for one in book.all_of(about(caller=BOB))] == his[-3:]
    for number in range(10):
        await made(book, f"c{number}", caller=Caller(f"c{number}"))
    assert len(book._made) == len(book._known) == len(book.kept.rows) == 5
    assert sum(len(mine) for mine in book._of_owner.values()) == 5


async def test_what_is_forgotten_is_forgotten_everywhere_and_once() -> None:
    book = Book()
    found = book.of(about(await made(book)))
    assert found is not None
    await book.forget(found)
    await book.forget(found)
    assert book.heard("one", "", "T-1") is None
    assert book.kept.rows == {}


async def test_whoever_has_the_most_makes_room_and_of_its_sessions_the_one_with_the_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Callers without a name may have any number of sessions: together they are one caller."""
    monkeypatch.setattr(gatewright.servers.task_owners, "EACH", 4)
    monkeypatch.setattr(gatewright.servers.task_owners, "KEPT", 9)
    book = Book()
    hers = [await made(book, f"hers-{number}") for number in range(3)]
    modest = await made(book, "modest", caller=ANONYMOUS, session="modest")
    for session, number in itertools.product("abc", range(4)):
        await made(book, f"{session}{number}", caller=ANONYMOUS, session=session)
    assert [one.id for one in book.all_of(about())] == hers
    assert book.of(about(modest, ANONYMOUS, "modest")) is not None
    assert len(book._made) == len(book.kept.rows) == 9


async def test_callers_who_cannot_be_told_apart_do_not_share_what_each_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatewright.servers.task_owners, "EACH", 3)
    book = Book()
    first = await made(book, "first", caller=ANONYMOUS)
    for number in range(5):
        await made(book, f"t{number}", caller=ANONYMOUS)
    assert book.of(about(first, ANONYMOUS)) is not None


@pytest.mark.parametrize("elsewhere", [{"profile": "narrow"}, {"door": "websocket"}])
async def test_a_task_is_asked_about_where_it_was_made(elsewhere: dict[str, str]) -> None:
    """At another door or in another profile it is nobody's, also for its own caller."""
    book = Book()
    name = await made(book)
    assert book.of(about(name)) is not None
    assert book.of(replace(about(name), **elsewhere)) is None
    assert book.all_of(replace(about(), **elsewhere)) == []
