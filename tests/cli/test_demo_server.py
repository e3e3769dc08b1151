"""The tool server of the tour answers what it is asked."""

from pathlib import Path

from gatewright.cli.demo_server import Notes


def test_its_tools_change_what_they_say_they_change(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "says")
    said = [
        notes.answer("tools/call", {"name": name, "arguments": {"text": "x"}})
        for name in ("count_notes", "write_note", "delete_all_notes")
    ]
    texts = [one["content"][0]["text"] for one in said if one is not None]
    assert texts == ["2 notes", "3 notes", "0 notes"]


def test_what_one_tool_says_of_itself_is_the_text_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "says").write_text("Counts.")
    listed = Notes(tmp_path / "says").answer("tools/list", {})
    assert listed is not None
    assert [one["description"] for one in listed["tools"] if one["name"] == "count_notes"] == [
        "Counts."
    ]


def test_whoever_asks_whether_it_is_there_is_answered(tmp_path: Path) -> None:
    assert Notes(tmp_path).answer("ping", {}) == {}


def test_an_unknown_method_is_unknown(tmp_path: Path) -> None:
    assert Notes(tmp_path).answer("resources/list", {}) is None
