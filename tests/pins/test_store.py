"""What a tool said when it was accepted, and what happens to one that says something else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.pins.store import Pins, Seen, Standing
from gatewright.storage.errors import StoreError
from tests.storage.parts import NO_DATABASE, look, state_in


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Pins]:
    made = Pins(state_in(tmp_path), clock=lambda: 100.0)
    yield made
    made.close()


def seen(tool: str = "wipe", says: str = "one", why: str = "") -> Seen:
    return Seen(tool, f'{{"description":"{says}"}}', f"digest of {says}", why)


def judge(
    pins: Pins, *tools: Seen, ask_first: bool = False, server: str = "files"
) -> list[Standing]:
    found = pins.judge(server, tools, ask_first=ask_first)
    return [found[one.tool] for one in tools]


def test_what_is_seen_first_is_pinned_and_stays_so(pins: Pins) -> None:
    assert judge(pins, seen(), seen("read")) == ["pinned", "pinned"]
    assert judge(pins, seen(), seen("read")) == ["pinned", "pinned"]
    assert [(one.action, one.tool, one.by) for one in pins.changes()] == [
        ("pinned", "wipe", "first use"),
        ("pinned", "read", "first use"),
    ]


def test_a_tool_that_says_something_else_is_held_and_the_others_are_not(pins: Pins) -> None:
    judge(pins, seen(), seen("read"))
    assert judge(pins, seen(says="two"), seen("read")) == ["changed", "pinned"]
    assert judge(pins, seen(says="two"), seen("read")) == ["changed", "pinned"]
    assert [one.action for one in pins.changes()][2:] == ["held"]
    (wipe,) = [one for one in pins.of("files") if one.tool == "wipe"]
    assert (wipe.pinned, wipe.seen) == ('{"description":"one"}', '{"description":"two"}')


def test_a_tool_that_says_again_what_was_accepted_is_free_again(pins: Pins) -> None:
    judge(pins, seen())
    judge(pins, seen(says="two"))
    assert judge(pins, seen()) == ["pinned"]
    assert [one.action for one in pins.changes()] == ["pinned", "held", "restored"]


def test_an_operator_accepts_what_was_looked_at_and_nothing_newer(pins: Pins) -> None:
    judge(pins, seen())
    judge(pins, seen(says="two"))
    judge(pins, seen(says="three"))
    with pytest.raises(ValueError, match="changed again"):
        pins.accept("files", "wipe", digest="digest of two", by="olga")
    assert judge(pins, seen(says="three")) == ["changed"]
    accepted = pins.accept("files", "wipe", digest="digest of three", by="olga")
    assert (accepted.standing, accepted.pinned, accepted.by) == (
        "pinned",
        '{"description":"three"}',
        "olga",
    )
    assert judge(pins, seen(says="three")) == ["pinned"]
    assert pins.changes()[-1].by == "olga"


def test_to_accept_a_tool_no_other_one_is_read(pins: Pins, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server decides how many it has and how large they are, and all of them may be accepted one after the other."""
    tools = [Seen(f"tool-{number}", "{}", "digest", "odd") for number in range(50)]
    pins.judge("files", tools, ask_first=False)
    read: list[int] = []
    rows = type(pins._rows).rows

    def counted(self: Any, *asked: Any) -> list[Any]:
        found = rows(self, *asked)
        read.append(len(found))
        return found

    monkeypatch.setattr(type(pins._rows), "rows", counted)
    for one in tools:
        assert pins.accept("files", one.tool, digest="digest", by="olga").standing == "pinned"
    assert sum(read) == 2 * len(tools)


def test_a_change_after_an_acceptance_is_a_change_again(pins: Pins) -> None:
    judge(pins, seen())
    judge(pins, seen(says="two"))
    pins.accept("files", "wipe", digest="digest of two", by="olga")
    assert judge(pins, seen()) == ["changed"]


def test_where_an_operator_wants_to_see_first_a_new_tool_waits(pins: Pins) -> None:
    assert judge(pins, seen(), ask_first=True) == ["new"]
    pins.accept("files", "wipe", digest="digest of one", by="olga")
    assert judge(pins, seen(), ask_first=True) == ["pinned"]


def test_a_suspicious_tool_waits_whatever_the_rule(pins: Pins) -> None:
    assert judge(pins, seen(why="it speaks to the model")) == ["suspicious"]
    assert pins.of("files")[0].why == "it speaks to the model"
    pins.accept("files", "wipe", digest="digest of one", by="olga")
    assert judge(pins, seen(why="it speaks to the model")) == ["pinned"]


def test_servers_do_not_know_each_other(pins: Pins) -> None:
    judge(pins, seen())
    assert judge(pins, seen(says="two"), server="other") == ["pinned"]
    assert pins.forget("other", by="olga") == 1
    assert [one.server for one in pins.of()] == ["files"]


def test_a_tool_that_nobody_has_seen_cannot_be_accepted(pins: Pins) -> None:
    with pytest.raises(KeyError):
        pins.accept("files", "wipe", digest="", by="olga")


def test_many_tools_are_judged_like_few(pins: Pins) -> None:
    many = [seen(f"t{number}") for number in range(500)]
    assert set(judge(pins, *many)) == {"pinned"}
    assert judge(pins, *many[:-1], seen("t499", "two"))[-2:] == ["pinned", "changed"]


def test_pins_survive_their_process_and_another_one_notices_an_acceptance(tmp_path: Path) -> None:
    first = Pins(state_in(tmp_path), clock=lambda: 1.0)
    judge(first, seen())
    judge(first, seen(says="two"))
    assert not look(first).changed()
    other = Pins(state_in(tmp_path), clock=lambda: 2.0)
    other.accept("files", "wipe", digest="digest of two", by="olga")
    other.close()
    assert look(first).changed()
    assert judge(first, seen(says="two")) == ["pinned"]
    first.close()


def test_steps_are_told_until_they_are_recorded(pins: Pins) -> None:
    judge(pins, seen(), seen("read"))
    first, second = pins.changes()
    pins.recorded(first.number)
    assert pins.changes() == [second]


def test_a_damaged_file_is_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(NO_DATABASE)
    with pytest.raises(StoreError, match=r"state\.db"):
        Pins(state_in(tmp_path), clock=lambda: 1.0)


def test_to_forget_is_a_step_of_an_operator(pins: Pins) -> None:
    judge(pins, seen())
    assert pins.forget("nobody", by="olga") == 0
    assert pins.forget("files", by="olga") == 1
    assert [(one.action, one.server, one.tool, one.by) for one in pins.changes()][1:] == [
        ("forgotten", "files", "", "olga")
    ]
    assert judge(pins, seen(says="two")) == ["pinned"]


def test_more_tools_than_are_remembered_are_held_and_push_nothing_out(tmp_path: Path) -> None:
    pins = Pins(state_in(tmp_path), clock=lambda: 100.0, most_tools=3)
    assert judge(pins, seen("a"), seen("b")) == ["pinned", "pinned"]
    names = [f"junk{number}" for number in range(50)]
    standing = [judge(pins, seen(name))[0] for name in names]
    assert standing == ["pinned"] + ["crowded"] * 49
    assert len(pins.of()) == 3
    assert judge(pins, seen("a", "two"), seen("b")) == ["changed", "pinned"]
    assert judge(pins, seen("a"), server="other") == ["pinned"]
    pins.forget("files", by="olga")
    assert judge(pins, seen("junk49")) == ["pinned"]
    pins.close()


def test_longer_definitions_than_are_remembered_are_held(tmp_path: Path) -> None:
    pins = Pins(state_in(tmp_path), clock=lambda: 100.0, most_bytes=370)
    assert judge(pins, seen("a")) == ["pinned"]
    assert judge(pins, seen("a", "x" * 1000)) == ["crowded"]
    assert judge(pins, seen("b", "x" * 300)) == ["crowded"]
    assert judge(pins, seen("a", "x" * 300)) == ["changed"]
    assert judge(pins, seen("b")) == ["crowded"]
    assert judge(pins, seen("a")) == ["pinned"]
    assert judge(pins, seen("b")) == ["pinned"]
    pins.close()


def test_what_tools_are_called_is_kept_whether_they_are_pinned_or_not(tmp_path: Path) -> None:
    pins = Pins(state_in(tmp_path), clock=lambda: 100.0)
    judge(pins, seen("old"), server="a")
    assert pins.names() == {"a": ["old"]}
    judge(pins, seen("old"), server="b")
    pins.keep_names("b", ["two", "\ud800", "ö"])
    pins.keep_names("b", ["one", "\ud800"])
    pins.keep_names("c", ["x"])
    pins.close()
    again = Pins(state_in(tmp_path), clock=lambda: 100.0)
    assert again.names() == {"a": ["old"], "b": ["one", "\ud800"], "c": ["x"]}
    again.forget("b", by="operator")
    assert again.names() == {"a": ["old"], "c": ["x"]}
    again.close()
