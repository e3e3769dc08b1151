"""`doctor` about tools that are held back: which, why, and how to go on."""

from pathlib import Path

from gatewright.cli.checks.state import check_store
from gatewright.config import Settings, load
from gatewright.pins.doctor import check_pins
from gatewright.pins.store import Pins, Seen
from tests.storage.parts import state_in


def configured(folder: Path, **more: str) -> Settings:
    write = folder / "mgp.toml"
    pin = f'pin = "{more["pin"]}"' if more else ""
    write.write_text(f"""
[storage]
path = {str(folder)!r}
[[servers]]
id = "files"
command = "true"
{pin}
[[servers]]
id = "web"
command = "true"
""")
    return load(write)


def held(folder: Path, server: str, *tools: str) -> None:
    pins = Pins(state_in(folder), clock=lambda: 1.0)
    seen = [Seen(tool, "{}", tool * 9, "it has hidden text") for tool in tools]
    pins.judge(server, seen, ask_first=False)
    pins.close()


def test_held_back_tools_are_one_warning_a_server_with_the_way_on(tmp_path: Path) -> None:
    held(tmp_path, "files", "wipe", "a\nb")
    held(tmp_path, "gone", "old")
    (found,) = check_pins(configured(tmp_path))
    assert (found.level, found.subject) == ("warning", "files")
    assert found.what == "2 tools are held back: nobody sees or calls them"
    hidden = "(suspicious, it has hidden text)"
    assert found.why == f"a\\u{{a}}b {hidden}, wipe {hidden}"
    assert "gatewright server pin files" in found.fix


def test_where_pins_are_off_or_nothing_was_seen_nothing_is_said(tmp_path: Path) -> None:
    assert list(check_pins(configured(tmp_path))) == []
    held(tmp_path, "files", "wipe")
    assert list(check_pins(configured(tmp_path, pin="off"))) == []


def test_many_held_back_tools_are_counted(tmp_path: Path) -> None:
    held(tmp_path, "web", *(f"t{number}" for number in range(9)))
    (found,) = check_pins(configured(tmp_path))
    assert found.what.startswith("9 tools are held back")
    assert found.why.endswith(", 4 more")


def test_a_store_that_is_no_database_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"no database at all" * 100)
    assert list(check_pins(configured(tmp_path))) == []
    (found,) = check_store(tmp_path)
    assert (found.level, found.check) == ("problem", "store")
