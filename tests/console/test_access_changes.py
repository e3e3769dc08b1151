"""A change of access: its plan, what it writes, the conflict of two who change, and its undoing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from gatewright.access.authority import Authority
from gatewright.access.grants import Grant
from gatewright.audit.records import Actor, Subject
from gatewright.config import load
from gatewright.console import access_changes
from gatewright.console.access_changes import AccessChanges
from gatewright.console.access_shapes import AccessChange
from gatewright.console.access_table import AccessTable
from gatewright.console.config_edits import edit as real
from gatewright.console.operations import ApiError
from gatewright.storage.errors import StoreError
from tests.console.in_process import Within, within
from tests.console.running import DEMO

DENIED = '[[grants]]\nagent = "ann"\nserver = "demo"\ntool = "echo"\npermission = "deny"\n'


@pytest_asyncio.fixture
async def console(tmp_path: Path) -> AsyncIterator[Within]:
    """The demo server, open to everybody, but one tool closed to ann."""
    async with within(tmp_path, DEMO + DENIED) as found:
        yield found


def _parts(console: Within) -> tuple[AccessChanges, AccessTable]:
    ground = console.parts.ground
    authority = ground.of(Authority)
    assert authority is not None
    made: Any = (ground, authority, console.clock)
    return AccessChanges(*made), AccessTable(*made)


def _change(changes: AccessChanges, **more: Any) -> AccessChange:
    said = {"agent": "ann", "server": "demo", "tool": "add", "why": "a test"}
    return AccessChange(**{**said, "version": changes.version, **more})


def _record(console: Within, tool: str, count: int) -> None:
    for _ in range(count):
        console.parts.ground.audit.event(
            "TOOL_EXECUTED", actor=Actor("agent", "ann"), target=Subject("demo", tool), details={}
        )


async def test_a_plan_shows_the_word_and_the_calls_that_would_end_otherwise(
    console: Within,
) -> None:
    changes, table = _parts(console)
    _record(console, "add", 5)
    _record(console, "now", 3)
    before = changes.version
    plan = await changes.plan(_change(changes, do="deny"))
    assert plan.lines == ["+ ann may not use demo/add, issued by you: a test"]
    assert (plan.replayed.judged, plan.replayed.refused, plan.replayed.allowed) == (5, 5, 0)
    whole = await changes.plan(_change(changes, do="deny", tool=""))
    assert [(one.tool, one.calls) for one in whole.replayed.effects] == [("add", 5), ("now", 3)]
    assert changes.version == before
    assert table.cell("ann", "demo", "add").word == "allow"


async def test_what_is_saved_holds_at_once_and_is_undone(console: Within) -> None:
    changes, table = _parts(console)
    assert changes.undoable("me") == ""
    await changes.save(_change(changes, do="deny", expires="1h"), "me")
    cell = table.cell("ann", "demo", "add")
    assert (cell.word, cell.by, cell.inherited, cell.granted_by) == (
        "deny",
        "tool_grant",
        False,
        "me",
    )
    assert cell.expires is not None
    assert changes.undoable("me") == "ann may not use demo/add"
    assert changes.undoable("you") == ""
    await changes.undo("me")
    assert table.cell("ann", "demo", "add").word == "allow"
    assert changes.undoable("me") == ""


async def test_nobody_undoes_another_change_than_the_page_shows(console: Within) -> None:
    """Whoever is signed in twice may have another page, which is behind."""
    changes, table = _parts(console)
    assert changes.undo_of("me") == ""
    await changes.save(_change(changes, do="deny"), "me")
    shown = changes.undo_of("me")
    await changes.save(_change(changes, do="deny", tool="now"), "me")
    with pytest.raises(ApiError) as caught:
        await changes.undo("me", shown)
    assert (caught.value.code, "ann may not use demo/now" in str(caught.value)) == (
        "conflict",
        True,
    )
    assert [table.cell("ann", "demo", one).word for one in ("add", "now")] == ["deny", "deny"]
    await changes.undo("me", changes.undo_of("me"))
    assert [table.cell("ann", "demo", one).word for one in ("add", "now")] == ["deny", "allow"]
    assert changes.undo_of("me") == ""


async def test_the_second_of_two_sees_the_conflict(console: Within) -> None:
    changes, table = _parts(console)
    mine, other = _change(changes, do="deny"), _change(changes, do="deny", tool="now")
    await changes.save(mine, "me")
    with pytest.raises(ApiError) as caught:
        await changes.save(other, "you")
    assert (caught.value.status, caught.value.code) == (409, "conflict")
    assert table.cell("ann", "demo", "now").word == "allow"
    await changes.save(_change(changes, do="deny", tool="now"), "you")
    with pytest.raises(ApiError):
        await changes.undo("me")


async def test_what_the_file_denies_goes_out_of_the_file_and_comes_back(
    console: Within, tmp_path: Path
) -> None:
    changes, table = _parts(console)
    file = tmp_path / "mgp.toml"
    assert table.cell("ann", "demo", "echo").word == "deny"
    change = _change(changes, tool="echo", do="allow")
    plan = await changes.plan(change)
    assert '-permission = "deny"' in plan.lines
    assert plan.lines[-1].startswith("+ ann may use demo/echo")
    text = file.read_text()
    await changes.save(change, "me")
    assert DENIED not in file.read_text()
    await console.gateway.adopt(load(file, environ={"HOME": str(tmp_path)}))
    assert table.cell("ann", "demo", "echo").word == "allow"
    assert changes.undoable("me") != ""
    await changes.undo("me")
    assert load(file, environ={"HOME": str(tmp_path)}).grants[-1].permission == "deny"
    assert len(file.read_text()) >= len(text.strip())


async def test_what_the_file_allows_beside_stays_there(console: Within, tmp_path: Path) -> None:
    """Nothing else goes than the diff shows, and undoing it puts all of it back."""
    changes, _ = _parts(console)
    file = tmp_path / "mgp.toml"
    file.write_text(file.read_text() + DENIED.replace("deny", "allow"))

    async def adopted() -> list[str]:
        await console.gateway.adopt(load(file, environ={"HOME": str(tmp_path)}))
        grants = console.parts.ground.now.settings.grants
        return sorted(one.permission for one in grants if one.tool == "echo")

    assert await adopted() == ["allow", "deny"]
    change = _change(changes, tool="echo", do="allow")
    plan = await changes.plan(change)
    assert [one for one in plan.lines if one.startswith("-permission")] == ['-permission = "deny"']
    await changes.save(change, "me")
    assert await adopted() == ["allow"]
    assert changes.undoable("me") != ""
    await changes.undo("me")
    assert await adopted() == ["allow", "deny"]


async def test_nothing_is_taken_back_where_nothing_was_said(console: Within) -> None:
    changes, _ = _parts(console)
    with pytest.raises(ApiError) as caught:
        await changes.plan(_change(changes, do="revoke"))
    assert "inherited" in caught.value.message


@pytest.mark.parametrize(
    "more", [{"why": " "}, {"expires": "soon"}, {"expires": "2001-01-01"}, {"server": "none"}]
)
async def test_what_cannot_be_is_refused_and_changes_nothing(
    console: Within, more: dict[str, str]
) -> None:
    changes, _ = _parts(console)
    before = changes.version
    with pytest.raises(ApiError) as caught:
        await changes.save(_change(changes, do="deny", **more), "me")
    assert caught.value.status == 422
    assert changes.version == before


def _authority(console: Within) -> Authority:
    found = console.parts.ground.of(Authority)
    assert found is not None
    return found


async def test_of_two_who_save_at_once_one_sees_the_conflict(console: Within) -> None:
    """The first is in its file when the second comes, with the version that both looked at."""
    changes, table = _parts(console)
    allow = _change(changes, tool="echo", do="allow")
    deny = _change(changes, tool="echo", do="deny")
    said = await asyncio.gather(
        changes.save(allow, "me"), changes.save(deny, "you"), return_exceptions=True
    )
    assert said[0] == "ann may use demo/echo"
    assert isinstance(said[1], ApiError)
    assert said[1].code == "conflict"
    issued = _authority(console).layer.get(allow.key, console.clock())
    assert issued is not None
    assert issued.permission == "allow"
    assert table.cell("ann", "demo", "now").word == "allow"


@pytest.mark.parametrize("tool", ["echo", "now"])
async def test_a_word_that_is_given_elsewhere_meanwhile_is_a_conflict_and_the_file_stays(
    console: Within, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    changes, _ = _parts(console)
    before = load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)}).grants
    other = Grant("ann", "demo", tool, "deny", "you", console.clock(), None, "no")
    _during(monkeypatch, lambda: _authority(console).issue_by("you", other))
    with pytest.raises(ApiError) as caught:
        await changes.save(_change(changes, tool="echo", do="allow"), "me")
    assert caught.value.code == "conflict"
    assert _authority(console).layer.get(other.key, console.clock()) is not None
    _same(tmp_path, before)


async def test_what_cannot_be_stored_leaves_the_file_as_it_was(
    console: Within, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, _ = _parts(console)
    before = load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)}).grants

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Authority, "issue_by", full)
        with pytest.raises(StoreError):
            await changes.save(_change(changes, tool="echo", do="allow"), "me")
    _same(tmp_path, before)
    assert changes.undoable("me") == ""


async def test_what_cannot_be_undone_may_be_undone_later(
    console: Within, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, table = _parts(console)
    await changes.save(_change(changes, do="deny"), "me")

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Authority, "take_back_by", full)
        with pytest.raises(StoreError):
            await changes.undo("me")
    assert changes.undoable("me") != ""
    await changes.undo("me")
    assert table.cell("ann", "demo", "add").word == "allow"


async def test_a_change_whose_asker_has_gone_is_made_to_its_end(
    console: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, _ = _parts(console)
    change = _change(changes, tool="echo", do="allow")
    saving = asyncio.create_task(changes.save(change, "me"))
    _during(monkeypatch, saving.cancel)
    with pytest.raises(asyncio.CancelledError):
        await saving
    async with asyncio.timeout(10):
        while not vars(changes)["_undo"]:
            await asyncio.sleep(0.01)
    assert _authority(console).layer.get(change.key, console.clock()) is not None


async def test_undoing_gives_no_more_than_there_was(console: Within) -> None:
    """What allowed a tool as it was once does not allow it as it is now, which nobody has agreed to."""
    changes, table = _parts(console)
    authority = _authority(console)
    made = authority.issue_by("you", Grant("ann", "demo", "add", "allow", "you", 0.0, None, "once"))
    earlier = msgspec.structs.replace(made, tool_digest="0" * 64)
    vars(authority)["_issued"].grant(earlier, by="you")
    assert table.cell("ann", "demo", "add").by != "tool_grant"
    await changes.save(_change(changes, do="deny"), "me")
    await changes.undo("me")
    found = authority.layer.get(earlier.key, console.clock())
    assert found is not None
    assert (found.permission, found.tool_digest, found.granted_by) == ("allow", "0" * 64, "you")
    assert table.cell("ann", "demo", "add").by != "tool_grant"


async def test_a_word_that_has_ended_meanwhile_stays_ended(console: Within) -> None:
    changes, _ = _parts(console)
    authority = _authority(console)
    ends = console.clock() + 60
    authority.issue_by("you", Grant("ann", "demo", "add", "allow", "you", 0.0, ends, "a minute"))
    change = _change(changes, do="deny")
    await changes.save(change, "me")
    console.ahead += 120
    await changes.undo("me")
    assert authority.layer.get(change.key, console.clock()) is None


async def test_what_cannot_be_issued_any_more_is_said(tmp_path: Path) -> None:
    """The server was taken out of the file meanwhile: there is nothing to go back to."""
    async with within(tmp_path, DEMO.partition("[[grants]]")[0]) as console:
        changes, _ = _parts(console)
        once = Grant("ann", "demo", "add", "allow", "you", 0.0, None, "once")
        _authority(console).issue_by("you", once)
        await changes.save(_change(changes, do="deny"), "me")
        file = tmp_path / "mgp.toml"
        file.write_text(f'[storage]\npath = "{tmp_path}/state"\n')
        await console.gateway.adopt(load(file, environ={"HOME": str(tmp_path)}))
        with pytest.raises(ApiError) as caught:
            await changes.undo("me")
        assert (caught.value.status, "no server" in caught.value.message) == (422, True)


async def test_the_version_is_made_out_once_for_all_who_look(
    console: Within, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be thousands of grants, and each page asks for it."""
    changes, _ = _parts(console)
    found = changes.version

    def never(*_: object) -> None:
        raise AssertionError("all grants were looked at")

    with monkeypatch.context() as patched:
        patched.setattr(access_changes, "members", never)
        assert (changes.version, changes.undoable("me")) == (found, "")
    await changes.save(_change(changes, do="deny"), "me")
    saved = changes.version
    file = tmp_path / "mgp.toml"
    file.write_text(file.read_text().replace(DENIED, ""))
    await console.gateway.adopt(load(file, environ={"HOME": str(tmp_path)}))
    assert len({found, saved, changes.version}) == 3


def _during(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Do something once the next edit of the file is made, before whoever made it goes on."""

    async def edit(*given: Any) -> None:
        await real(*given)
        monkeypatch.setattr("gatewright.console.grants_file.edit", real)
        act()
        await asyncio.sleep(0)

    monkeypatch.setattr("gatewright.console.grants_file.edit", edit)


def _same(folder: Path, before: Any) -> None:
    """The file says what it said, if not on the same lines."""
    after = load(folder / "mgp.toml", environ={"HOME": str(folder)}).grants
    said = [
        [(one.agent, one.server, one.tool, one.permission) for one in x] for x in (before, after)
    ]
    assert said[0] == said[1]
    assert ("ann", "demo", "echo", "deny") in said[1]


async def test_plans_are_made_one_after_the_other_and_few_may_wait(
    console: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads the records of a week, in a thread."""
    changes, _ = _parts(console)
    running, most, go_on = 0, 0, threading.Event()
    replay = AccessChanges._replay

    def slow(*given: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        go_on.wait(20)
        running -= 1
        return replay(*given)

    monkeypatch.setattr(AccessChanges, "_replay", slow)
    asked = [asyncio.create_task(changes.plan(_change(changes, do="deny"))) for _ in range(8)]
    await asyncio.sleep(0.1)
    go_on.set()
    found = await asyncio.gather(*asked, return_exceptions=True)
    refused = [one.status for one in found if isinstance(one, ApiError)]
    assert (most, refused) == (1, [503] * 3)
    assert (await changes.plan(_change(changes, do="deny"))).lines
