"""Held back definitions as the API shows them: what has changed, accepted as it was shown, or refused for a reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.console import held_definitions
from gatewright.console.held_definitions import HeldAsked, HeldDefinition, Looked, held_id
from gatewright.console.operations import ApiError
from gatewright.console.whole_texts import MOST_CHARS
from gatewright.pins.store import Seen
from tests.console.inbox_parts import World

ID = held_id("files", "read")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.list_tool("one")
    made.list_tool("two")
    yield made
    made.close()


async def status_of(coroutine: Any) -> int:
    with pytest.raises(ApiError) as caught:
        await coroutine
    return caught.value.status


async def test_what_has_changed_is_shown_line_by_line(world: World) -> None:
    (one,) = (await world.held.all(world.asking("", HeldAsked()))).definitions
    assert (one.id, one.standing, one.digest, world.held.waiting) == (
        ID,
        "changed",
        "digest of two",
        1,
    )
    found = await world.held.show(world.asking(ID))
    changed = [(line.kind, line.text.strip()) for line in found.lines if line.kind != "same"]
    assert changed == [("removed", '"description": "one"'), ("added", '"description": "two"')]


async def test_it_is_accepted_as_it_was_shown_and_not_otherwise(world: World) -> None:
    old = Looked(digest="digest of one")
    assert await status_of(world.held.accept(world.asking(ID, old))) == 409
    done = await world.held.accept(world.asking(ID, Looked(digest="digest of two")))
    assert (done.standing, world.held.waiting, world.pins.changed()) == ("pinned", 0, True)
    assert await status_of(world.held.show(world.asking(ID))) == 404


async def test_a_refusal_needs_a_reason_and_takes_it_out_of_the_list(world: World) -> None:
    assert (
        await status_of(world.held.refuse(world.asking(ID, Looked(digest="digest of two")))) == 422
    )
    given = Looked(digest="digest of two", comment="it sends everything out")
    assert (await world.held.refuse(world.asking(ID, given))).standing == "changed"
    assert (world.held.waiting, world.held.page(HeldAsked()).definitions) == (0, [])
    world.list_tool("three")
    assert [one.digest for one in world.held.page(HeldAsked()).definitions] == ["digest of three"]


def test_names_that_look_alike_in_one_text_have_ids_of_their_own() -> None:
    """Also those that are no Unicode."""
    names = [("a", "b"), ("a\nb", ""), ("", "a\nb"), ("a", "b\ud800")]
    assert len({held_id(*one) for one in names}) == 4
    assert held_id("a", "b/c?#").isidentifier()


@pytest.mark.parametrize("desc", [None, True])
def test_every_definition_is_on_one_page_whatever_it_is_called(
    world: World, desc: bool | None
) -> None:
    """Also those of one moment, and names that no URL has room for."""
    names = [
        "a",
        "a/b",
        "!",
        "\u202e",
        "\x01" * 600,
        *(f"{'x' * 5000}{number}" for number in range(4)),
        *(f"tool {number}" for number in range(60)),
    ]
    seen = [Seen(name, "{}", f"digest of {name}") for name in names]
    world.pins.judge("files", seen, ask_first=True)
    world.pins.judge("mail", seen[:3], ask_first=True)
    for server, there in (("", len(names) + 4), ("files", len(names) + 1), ("mail", 3), ("x", 0)):
        found: list[HeldDefinition] = []
        after = ""
        while True:
            page = world.held.page(HeldAsked(server=server, limit=3, after=after, desc=desc))
            found += page.definitions
            assert page.total == there
            after = page.next
            assert len(after) <= 2000
            if not after:
                break
        assert len(found) == len({one.id for one in found}) == there
        moments = [one.since for one in found]
        assert moments == sorted(moments, reverse=bool(desc))


def test_a_definition_on_a_later_page_can_be_decided_on(world: World) -> None:
    seen = [Seen(f"t{number:03}", "{}", f"digest of {number}") for number in range(70)]
    world.pins.judge("files", seen, ask_first=True)
    first = world.held.page(HeldAsked())
    last = world.held.page(HeldAsked(after=first.next)).definitions[-1]
    assert (world.held.became(last.id)[1], last.tool) == ("", "t069")
    with pytest.raises(ApiError):
        world.held.page(HeldAsked(after='[1,"a"]'))


async def test_whoever_has_an_id_from_anywhere_can_decide(world: World) -> None:
    """Those that were listed long ago, and those that this process has never listed, were said to be decided on already."""
    count = held_definitions._KNOWN + 400
    names = [f"tool {number:05}" for number in range(count)]
    world.pins.judge("mail", [Seen(one, "{}", "a digest") for one in names], ask_first=True)
    ids = [held_id("mail", one) for one in names]
    for at in (0, count // 2, count - 1):
        assert (await world.held.show(world.asking(ids[at]))).definition.tool == names[at]
    after, listed = "", list[HeldDefinition]()
    while after or not listed:
        page = await world.held.all(world.asking("", HeldAsked(after=after, limit=200)))
        listed += page.definitions
        after = page.next
    assert len(listed) == count + 1
    for one in listed[1:400:100]:
        given = Looked(digest=one.digest, comment="no")
        assert (await world.held.refuse(world.asking(one.id, given))).tool == one.tool
    assert await status_of(world.held.show(world.asking(held_id("mail", "another")))) == 404
    assert len(vars(world.held)["_listed"]) <= held_definitions._KNOWN


async def test_what_is_longer_than_a_page_shows_is_not_accepted_unread(world: World) -> None:
    """What stands behind the part that is shown would be relied on as well."""
    says = "two, and " + "x" * MOST_CHARS
    world.list_tool(says)
    found = await world.held.show(world.asking(ID))
    digest = f"digest of {says}"
    assert (found.whole, found.definition.digest) == (False, digest)
    with pytest.raises(ApiError) as caught:
        await world.held.accept(world.asking(ID, Looked(digest=digest)))
    assert (caught.value.status, caught.value.code) == (422, "not_shown")
    assert "page by page" in caught.value.hint
    assert world.held.waiting == 1
    refused = Looked(digest=digest, comment="nobody reads that")
    assert (await world.held.refuse(world.asking(ID, refused))).digest == digest
