"""What in a package is imported with it, and what may be data; the layouts of test_gateway_code_layouts.py ask the import system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gatewright.servers import package_code
from gatewright.servers.package_code import is_code, symlinks_in


def told(top: Path, *places: str, is_package: bool = True) -> list[str]:
    """Those of the places that are code."""
    return [one for one in places if is_code(top, Path(one).parts, is_package=is_package)]


def test_what_has_a_dot_in_its_name_is_imported_by_none(tmp_path: Path) -> None:
    (tmp_path / "v1.0" / "sub").mkdir(parents=True)
    for name in ("v1.0/mod.py", "v1.0/sub/__init__.py"):
        (tmp_path / name).touch()
    assert told(tmp_path, "v1.0", "v1.0/mod.py", "v1.0/sub", "notes.txt") == []
    # Of another Python than this one, which may be that of the next start.
    assert told(tmp_path, "late.cpython-399-x86_64-linux-gnu.so", "late.py")


def test_all_of_a_package_is_code_and_all_of_another_folder_is_not(tmp_path: Path) -> None:
    for is_package in (True, False):
        assert is_code(tmp_path, (), is_package=is_package) is is_package
        assert is_code(tmp_path, ("__pycache__", "x"), is_package=is_package)


def test_a_folder_is_looked_through_up_to_a_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large it is, and wherever links in it lead: what is nearest is looked at first, and each folder once."""
    scanned, asked = package_code._scanned, list[str]()

    def counted(folder: str, most: int | None = None) -> list[os.DirEntry[str]]:
        asked.append(folder)
        return scanned(folder, most)

    monkeypatch.setattr(package_code, "_scanned", counted)
    monkeypatch.setattr(package_code, "_ENTRIES", 50)
    (tmp_path / "data" / "a" / "b").mkdir(parents=True)
    (tmp_path / "data" / "round").symlink_to(tmp_path / "data")
    assert told(tmp_path, "data") == []
    assert [Path(one).name for one in asked] == ["data", "a", "b"]
    (tmp_path / "data" / "a" / "b" / "mod.py").touch()
    assert told(tmp_path, "data") == ["data"]
    for at in range(60):
        (tmp_path / "data" / f"{at:02}.txt").touch()
    assert told(tmp_path, "data") == []


def test_what_this_user_may_not_look_into_holds_no_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mod.py").touch()

    def closed(*_: object) -> list[str]:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", closed)
    monkeypatch.setattr(os, "scandir", closed)
    assert told(tmp_path, "data") == []
    assert told(tmp_path, "mod.py") == ["mod.py"]
    assert [*symlinks_in(tmp_path, set())] == []


def test_links_are_told_in_a_folder_and_in_its_packages(tmp_path: Path) -> None:
    """Where packages are installed the former alone: they are many."""
    for name in ("helper/sub/deep", "plain"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "helper" / "__init__.py").touch()
    for way in ("top", "helper/late.py", "helper/sub/deep/round", "plain/link"):
        (tmp_path / way).symlink_to(tmp_path)
    ways = {*map("/".join, symlinks_in(tmp_path, set()))}
    assert ways >= {"top", "helper/late.py", "helper/sub/deep/round"}
    assert "plain/link" not in ways
    for known in (tmp_path, tmp_path.parent, tmp_path / "helper"):
        assert [*symlinks_in(tmp_path, {known})] == [("top",)]


def test_what_a_server_may_write_to_is_not_gone_through_for_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its links, also to all there is, say nothing of others, and its files keep no other link from being seen."""
    for name in ("helper/data", "helper/sub/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "helper" / "__init__.py").touch()
    (tmp_path / "helper" / "data" / "all").symlink_to(tmp_path)
    (tmp_path / "helper" / "data" / "alias").symlink_to("../sub/deep")
    (tmp_path / "helper" / "sub" / "deep" / "late").symlink_to(tmp_path)
    for at in range(60):
        (tmp_path / "helper" / "data" / f"{at:02}").mkdir()
    monkeypatch.setattr(package_code, "_ENTRIES", 50)
    found = [*symlinks_in(tmp_path, set(), {tmp_path / "helper" / "data"})]
    assert found == [("helper", "sub", "deep", "late")]
    # A package that lies in such a place is one.
    monkeypatch.undo()
    ways = symlinks_in(tmp_path, set(), {tmp_path.parent})
    assert "late" in {way[-1] for way in ways}


def test_a_folder_with_very_many_files_is_listed_up_to_a_count(
    tmp_path: Path,
) -> None:
    for at in range(30):
        (tmp_path / f"{at:02}.txt").touch()
    assert len(package_code._scanned(str(tmp_path), 20)) == 20
    assert len(package_code._scanned(str(tmp_path))) == 30
