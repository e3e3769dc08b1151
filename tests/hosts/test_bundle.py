"""Bundles: a hostile zip is refused before anything of it is unpacked."""

import io
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.hosts import bundle
from gatewright.hosts.bundle import MAX_MANIFEST, manifest_of, read_manifest, unpack
from gatewright.hosts.entry import Entry
from gatewright.hosts.model import CannotRead, Refused
from tests.hosts.sample import zipped


def _special(name: str, mode: int, content: bytes = b"x") -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("manifest.json", "{}")
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        made.writestr(info, content)
    return held.getvalue()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "above": lambda: zipped({"manifest.json": "{}", "../evil": "x"}),
    "deep above": lambda: zipped({"manifest.json": "{}", "a/../../evil": "x"}),
    "absolute": lambda: zipped({"manifest.json": "{}", "/etc/evil": "x"}),
    "drive": lambda: zipped({"manifest.json": "{}", "C:evil": "x"}),
    "backslash": lambda: zipped({"manifest.json": "{}", "a\\..\\evil": "x"}),
    "link": lambda: _special("link", stat.S_IFLNK | 0o777, b"/etc/passwd"),
    "device": lambda: _special("device", stat.S_IFCHR | 0o666),
    "ratio": lambda: _special("zeros", stat.S_IFREG | 0o644, b"\0" * 30_000_000),
    "cut": lambda: zipped({"manifest.json": "{}"})[:-30],
    "no zip": lambda: b"PK\x03\x04nothing",
    "no manifest": lambda: zipped({"a": "x"}),
    "long manifest": lambda: zipped({"manifest.json": " " * (MAX_MANIFEST + 1)}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_bundle_is_refused_and_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    with pytest.raises(CannotRead) as found:
        manifest_of(HOSTILE[name]())
    assert found.value.kind == "bundle"
    if "manifest" not in name:
        with pytest.raises(CannotRead):
            unpack(HOSTILE[name](), tmp_path / "in" / "bundle")
    assert [one for one in tmp_path.rglob("*") if one.name != "in"] == []


def test_too_many_files_and_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = zipped({"manifest.json": "{}", "a": "x" * 100, "b": "x"})
    assert manifest_of(content) == b"{}"
    monkeypatch.setattr(bundle, "MAX_FILES", 2)
    with pytest.raises(CannotRead, match="more than 2 files"):
        manifest_of(content)
    monkeypatch.setattr(bundle, "MAX_FILES", 3)
    monkeypatch.setattr(bundle, "MAX_UNPACKED", 102)
    with pytest.raises(CannotRead, match="unpacks to more"):
        manifest_of(content)


def test_a_file_that_is_longer_than_it_says_is_refused(tmp_path: Path) -> None:
    content = bytearray(zipped({"manifest.json": "{}", "a": "x" * 100}))
    # The size in the list of contents, as the last entry has it.
    at = content.rindex(b"PK\x01\x02") + 24
    content[at : at + 4] = (50).to_bytes(4, "little")
    with pytest.raises(CannotRead):
        unpack(bytes(content), tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


def test_an_honest_bundle_is_unpacked_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "one"
    unpack(_special("server/run.sh", stat.S_IFREG | 0o755, b"echo"), folder)
    run = folder / "server/run.sh"
    assert run.read_bytes() == b"echo"
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "manifest.json").stat().st_mode) == 0o600
    assert [one.name for one in folder.parent.iterdir()] == ["one"]


def _server(**server: Any) -> Any:
    data = {"name": "n", "server": server}
    return read_manifest(data, Entry({}), folder="/b", platform="linux")


@pytest.mark.parametrize(
    ("server", "command", "args"),
    [
        ({"type": "node", "entry_point": "a.js"}, "node", ("/b/a.js",)),
        ({"type": "python", "entry_point": "a.py"}, "python3", ("/b/a.py",)),
        ({"type": "binary", "entry_point": "bin/a"}, "/b/bin/a", ()),
        ({"type": "uv", "entry_point": "a.py"}, "uv", ("run", "--directory", "/b", "/b/a.py")),
    ],
)
def test_a_bundle_that_does_not_say_how_it_is_started_is_started_by_its_type(
    server: dict[str, Any], command: str, args: tuple[str, ...]
) -> None:
    found = _server(**server)
    assert (found.command, found.args, found.cwd) == (command, args, "/b")


def test_a_bundle_for_other_systems_or_without_a_server_is_refused() -> None:
    for data in (
        {"name": "n"},
        {"name": "n", "server": {}},
        {
            "name": "n",
            "server": {"type": "node", "entry_point": "a"},
            "compatibility": {"platforms": ["win32"]},
        },
    ):
        with pytest.raises(Refused):
            read_manifest(data, Entry({}), folder="/b", platform="linux")


def test_a_manifest_that_names_no_folder_stays_what_it_is() -> None:
    text = json.dumps({"command": "${cmd: id}"})
    with pytest.raises(Refused, match="would run a program"):
        _server(mcp_config=json.loads(text))
