"""What the gateway runs from, and what it trusts, is no server's to change; a project with its environment in it is the usual place to write in."""

from __future__ import annotations

import errno
import os
import site
import ssl
import sys
import zipfile
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

import gatewright
from gatewright.servers import gateway_code
from gatewright.servers.gateway_code import own_code, own_secrets, shadowing
from gatewright.transport.isolation.coverings import Coverings, Shown
from gatewright.transport.isolation.rules import CannotIsolate, Kept, real_path


def found() -> dict[str, Kept]:
    return {one.path: one for one in own_code()}


def said(monkeypatch: pytest.MonkeyPatch, **variables: str) -> dict[str, Kept]:
    """With these variables as the process began."""
    monkeypatch.setattr(gateway_code, "_ENVIRON", variables)
    return found()


def test_the_gateway_s_own_environment_is_kept(tmp_path: Path) -> None:
    kept = own_code()
    for code in (sys.prefix, sys.base_prefix, gatewright.__file__, msgspec.__file__):
        assert any(Path(code).is_relative_to(one.path) for one in kept), code
    assert all(Path(one.path).is_absolute() for one in kept)
    inside = [one for one in kept if one.whole and Path(msgspec.__file__).is_relative_to(one.path)]
    assert inside
    assert sys.executable in {one.path for one in kept}


def test_folders_stand_before_what_is_in_them() -> None:
    """Also one that is reached through a link; else all that is in it would be fixed one by one."""
    paths = [Path(one.path) for one in own_code()]
    places = [real_path(one.parent) / one.name for one in paths]
    for at, path in enumerate(places):
        assert not any(path in earlier.parents for earlier in places[:at]), path
    assert {*map(real_path, paths)} <= {*paths}


def test_what_this_user_cannot_look_at_is_kept_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def closed(*_: object, **__: object) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(gateway_code, "_PATH", ("/no/permission",))
    gateway_code._has_other_names.cache_clear()
    monkeypatch.setattr(os, "stat", closed)
    monkeypatch.setattr(os, "lstat", closed)
    assert "/no/permission" in found()
    gateway_code._has_other_names.cache_clear()


def test_an_environment_below_a_folder_of_modules_is_kept_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m gatewright` in a home: what may be written to lies between the two."""
    project = tmp_path / "proj"
    code = project / ".venv" / "lib"
    code.mkdir(parents=True)
    monkeypatch.setattr(gateway_code, "_PATH", (str(tmp_path),))
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    options = [*covered(project).options()]
    at = options.index(f"{project}/.venv")
    assert options[at - 1] == "--ro-bind"
    for place in (code, code.parent):
        with pytest.raises(CannotIsolate, match=r"packages of the gateway's|environment that the gat"):  # fmt: skip
            covered(place)


def covered(place: Path) -> Coverings:
    """The only place of a server that may write there."""
    found = Coverings([Shown(str(place), place, writable=True)])
    for one in own_code():
        found.keep(one)
    return found


def test_every_entry_of_the_path_of_modules_is_kept_there_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing folder is looked for again, and an archive can be replaced."""
    archive, gone = tmp_path / "vendor.zip", tmp_path / "plugins"
    archive.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gateway_code, "_PATH", (str(archive), str(gone), ""))
    kept = said(monkeypatch, PYTHONPATH=f"{gone}{os.pathsep}{archive}")
    for path in (archive, gone):
        assert kept[str(path)].why == "where the gateway looks for modules (PYTHONPATH)"
    assert kept[str(tmp_path)].why == "where the gateway looks for modules (its sys.path)"
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    assert found()[str(tmp_path / "compiled")].whole


def test_a_folder_that_has_the_name_of_a_module_of_the_gateway_is_no_place_to_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an `__init__.py` it came before that of Python; any other folder beside it holds data."""
    for name in ("html/pages", "data", "msgspec", "notes"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "json.py").touch()
    kept = Kept(str(tmp_path), "the path", modules=0)
    for name, entry in {
        "html/pages": "html",
        "msgspec": "msgspec",
        "json.py": "json.py",
        "data": "",
        "notes": "",
    }.items():
        found = [*shadowing([kept], [str(tmp_path / name)])]
        assert [one.path for one in found] == ([str(tmp_path / entry)] if entry else []), name
    assert found_by(kept, tmp_path / "html").why == (
        f"where the gateway would find its module html, by {tmp_path}"
    )
    (tmp_path / "email").symlink_to(tmp_path.parent)
    assert found_by(kept, tmp_path / "email").path == str(tmp_path / "email")
    assert [*shadowing([Kept(str(tmp_path))], [str(tmp_path / "html")])] == []
    (tmp_path / "email").unlink()
    assert [*shadowing([kept], [str(tmp_path), str(tmp_path.parent)])] == []
    with pytest.raises(CannotIsolate, match="its module html"):
        Coverings([Shown(str(tmp_path / "html" / "pages"), tmp_path / "html" / "pages", True)]).keep(found_by(kept, tmp_path / "html"))  # fmt: skip


def test_a_project_that_is_its_own_environment_is_searched_for_modules_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m venv .`, and `python -m gatewright` there: what it is as an environment hid that its `html` would be imported."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(gateway_code, "_PATH", (str(tmp_path), *gateway_code._PATH))
    (tmp_path / "html").mkdir()
    assert named_in(tmp_path, "html", "data") == {"html"}
    kept = found()[str(tmp_path)]
    assert (kept.why, kept.whole, kept.modules) == ("the environment that the gateway runs from", False, 0)  # fmt: skip


def named_in(folder: Path, *names: str) -> set[str]:
    """Of these places to write to, those with the name of a module of the gateway."""
    places = [str(folder / one) for one in names]
    return {Path(one.path).name for one in shadowing(own_code(), places)}


def test_one_folder_that_is_several_things_is_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of them is found first."""
    one, two = str(tmp_path), "why"
    parts = (Kept(one, two, modules=3), Kept(one, "code", whole=True), Kept(one, modules=1))
    for kept in (parts, parts[::-1]):
        for at, name in enumerate(("_installed", "_searched", "_plug_ins")):
            monkeypatch.setattr(gateway_code, name, lambda kept=kept, at=at: [kept[at]])
        assert found()[one] == Kept(one, "code", whole=True, modules=1)


def test_only_what_comes_before_a_module_can_stand_in_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that a file of paths names comes after all that is installed; a project in it has `docs`, `json` and `build`."""
    names = ("html", "json", "site", "msgspec", "docs", "code", "usercustomize", "org")
    for name in names:
        (tmp_path / name).mkdir()
    own = gateway_code._PATH
    monkeypatch.setattr(gateway_code, "_PATH", (*own, str(tmp_path)))
    assert named_in(tmp_path, *names) == {"usercustomize", "org"}
    monkeypatch.setattr(gateway_code, "_PATH", (str(tmp_path), *own))
    assert named_in(tmp_path, *names) == {*names} - {"site", "docs"}


def test_a_missing_folder_that_a_file_of_paths_names_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install -e` of a project whose `src` is gone: who makes it has the gateway import `sitecustomize` from there."""
    packages, mine = tmp_path / "site-packages", tmp_path / "proj"
    packages.mkdir()
    (packages / "__editable__.mine.pth").write_bytes(
        b"\xef\xbb\xbf"
        + f"{mine}/src\n# {mine}/no\n\nimport sys\nimport\tos\nbeside \r\nbad\0\n".encode()
    )
    (packages / "none.pth").symlink_to("none")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(packages)])
    monkeypatch.setattr(gateway_code, "_PATH", ("/first", str(packages)))
    kept = {path: one for path, one in found().items() if ".pth" in one.why}
    assert {*kept} == {f"{mine}/src", f"{packages}/beside"}
    assert {one.modules for one in kept.values()} == {2}
    assert kept[f"{mine}/src"].why == f"where the gateway looks for modules ({packages}/__editable__.mine.pth)"  # fmt: skip
    (mine / "lib").mkdir(parents=True)
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "a.pth").write_text(f"{mine}/own\n")
    assert found()[f"{mine}/own"].modules == 0
    (mine / "src").mkdir()
    with pytest.raises(CannotIsolate, match=r"mine\.pth"):
        covered(mine / "src")


def test_what_is_in_an_archive_is_kept_by_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A validator in it has a place in the archive, and a file on the way kept all servers of that project down."""
    archive = tmp_path / "proj" / "vendor.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("lib/zipped_words/__init__.py", "raise SystemExit('it was run')")
    points = {"a": EntryPoint("a", "zipped_words.deep:prepare", "gatewright.validators")}
    monkeypatch.setattr(gateway_code, "plugged", lambda: points)
    monkeypatch.setattr(sys, "path", [*sys.path, f"{archive}/lib"])
    monkeypatch.setattr(gateway_code, "_PATH", (f"{archive}/lib",))
    kept = found()[str(archive)]
    assert kept == Kept(str(archive), "the validator a, which runs inside the gateway", whole=True, modules=0)  # fmt: skip
    assert not [one for one in found() if one.startswith(f"{archive}/")]
    covered(archive.parent)


def found_by(kept: Kept, place: Path) -> Kept:
    [one] = shadowing([kept], [str(place)])
    return one


def test_where_users_put_modules_of_their_own_is_kept_there_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for on in (True, False):
        monkeypatch.setattr(site, "ENABLE_USER_SITE", on)
        monkeypatch.setattr(site, "getusersitepackages", lambda: "/home/me/site-packages")
        assert ("/home/me/site-packages" in found()) is on


def test_what_variables_have_the_loader_and_openssl_read_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = said(
        monkeypatch,
        SSL_CERT_FILE="/c/a:b.pem",
        SSL_CERT_DIR="/d/1:/d/2",
        OPENSSL_CONF="own.cnf",
        LD_LIBRARY_PATH="/libs;/more:",
        LD_PRELOAD="libplain.so /pre/one.so:/pre/two.so",
        HOME="/home/ann",
    )
    named = {path for path, one in kept.items() if one.why.endswith("names to the gateway")}
    assert named == {
        *("/c/a:b.pem", "/d/1", "/d/2", f"{tmp_path}/own.cnf"),
        *("/libs", "/more", "/pre/one.so", "/pre/two.so"),
    }
    assert kept[str(tmp_path)].why == (
        "what LD_LIBRARY_PATH names to the gateway: the folder that it started in, by an empty part (remove the colon that stands alone)"
    )
    assert kept["/d/2"].why == "what SSL_CERT_DIR names to the gateway"
    trusted = ssl.get_default_verify_paths()
    assert {trusted.openssl_cafile, trusted.openssl_capath} <= {*kept}


def test_a_validator_that_is_installed_from_elsewhere_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place is asked for without running any of it."""
    package = tmp_path / "elsewhere" / "strict_words"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('it was run')")
    (tmp_path / "elsewhere" / "one_file.py").touch()
    points = {
        name: EntryPoint(name, f"{module}:prepare", "gatewright.validators")
        for name, module in {"a": "strict_words.deep", "b": "one_file", "c": "no_such"}.items()
    }
    monkeypatch.setattr(gateway_code, "plugged", lambda: points)
    monkeypatch.setattr(sys, "path", [*sys.path, str(package.parent)])
    kept = found()
    assert kept[str(package)] == Kept(str(package), "the validator a, which runs inside the gateway", whole=True)  # fmt: skip
    assert str(package.parent / "one_file.py") in kept


def test_what_is_loaded_late_is_taken_by_no_place_to_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validators, and what keyring's file or variable names: as soon as there is an `__init__` a folder of the name comes before."""
    names = ("one_file", "from_hook", "by_file", "by_variable", "data")
    for name in names:
        (tmp_path / "proj" / name).mkdir(parents=True)
    (tmp_path / "proj" / "one_file.py").touch()
    points = {one: EntryPoint(one, f"{one}:prepare", "g") for one in ("one_file", "from_hook")}
    monkeypatch.setattr(gateway_code, "plugged", lambda: points)
    file = tmp_path / "python_keyring" / "keyringrc.cfg"
    file.parent.mkdir()
    file.write_text("[backend]\nkeyring-path = ~/proj\ndefault-keyring = by_file.deep.Keyring\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    variables = {"XDG_CONFIG_HOME": str(tmp_path), "PYTHON_KEYRING_BACKEND": "by_variable.Keyring"}
    monkeypatch.setattr(gateway_code, "_ENVIRON", variables)
    for path in ((str(tmp_path / "proj"), *gateway_code._PATH), gateway_code._PATH):
        monkeypatch.setattr(gateway_code, "_PATH", path)
        assert named_in(tmp_path / "proj", *names) == {*names} - {"data"}
    with pytest.raises(CannotIsolate, match="its module one_file"):
        covered(tmp_path / "proj" / "one_file").keep(
            found_by(found()[str(tmp_path / "proj")], tmp_path / "proj" / "one_file")
        )


def test_two_projects_that_files_of_paths_name_are_each_looked_at_for_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second was asked for its own package in itself, and not in the first, where modules of its names lie."""
    packages, one, two = tmp_path / "site-packages", tmp_path / "one" / "src", tmp_path / "two"
    for folder in (packages, one / "mine", two / "app" / "data", two / "mine"):
        folder.mkdir(parents=True)
    for package in (one / "mine", two / "app"):
        (package / "__init__.py").touch()
    (packages / "a.pth").write_text(f"{one}\n")
    (packages / "b.pth").write_text(f"{two}\n")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(packages)])
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    own = gateway_code._PATH
    monkeypatch.setattr(gateway_code, "_PATH", (*own, str(packages), str(one), str(two)))
    assert found()[str(two)].modules == len(own) + 2
    assert named_in(two, "app/data", "mine") == set()
    monkeypatch.setattr(gateway_code, "_PATH", (*own, str(packages), str(two), str(one)))
    assert named_in(two, "app/data", "mine") == {"mine"}
    file = tmp_path / "python_keyring" / "keyringrc.cfg"
    file.parent.mkdir()
    file.write_text(f"[backend]\nkeyring-path = {two}\n")
    said(monkeypatch, XDG_CONFIG_HOME=str(tmp_path))
    assert found()[str(two)].modules == 0
    assert named_in(two, "app/data", "mine") == {"mine"}


def test_a_cache_of_which_installed_files_are_hard_links_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, installed = tmp_path / "uv", tmp_path / "site-packages"
    file = installed / "one-1.dist-info" / "METADATA"
    file.parent.mkdir(parents=True)
    cache.mkdir()
    file.touch()
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(installed)])
    for linked, variables in (
        (False, {"XDG_CACHE_HOME": str(tmp_path)}),
        (True, {"XDG_CACHE_HOME": str(tmp_path)}),
        (True, {"UV_CACHE_DIR": str(cache)}),
        (None, {"UV_CACHE_DIR": str(tmp_path / "none")}),
    ):
        if linked and not (cache / "METADATA").exists():
            (cache / "METADATA").hardlink_to(file)
        gateway_code._has_other_names.cache_clear()
        assert (str(cache) in said(monkeypatch, **variables)) is bool(linked)
    gateway_code._has_other_names.cache_clear()


def test_files_of_keys_that_variables_name_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_code, "_ENVIRON", {})
    assert [*own_secrets()] == []
    monkeypatch.setattr(gateway_code, "_ENVIRON", {"SSLKEYLOGFILE": "/keys", "PGSSLKEY": "/p.key"})
    assert [*own_secrets()] == [Path("/keys"), Path("/p.key")]


def test_what_libraries_read_in_a_home_and_load_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """keyring imports the backend that its file names, from the folder that it names, inside the gateway."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".config" / "python_keyring" / "keyringrc.cfg"
    assert str(file) in said(monkeypatch)
    assert str(tmp_path / ".postgresql") not in found()
    (tmp_path / ".postgresql").mkdir()
    file.parent.mkdir(parents=True)
    file.write_text("[backend]\nkeyring-path = /own/backends\n")
    assert {str(tmp_path / ".postgresql"), "/own/backends"} <= {*found()}
    for text in ("[backend]\n", "no section", "\xff"):
        file.write_bytes(text.encode("latin-1"))
        assert str(file) in found()
    monkeypatch.setattr(gateway_code, "find_spec", lambda _: None)
    assert {str(file), str(tmp_path / ".postgresql")}.isdisjoint(found())
    assert str(tmp_path / "x") not in said(monkeypatch, XDG_CONFIG_HOME=str(tmp_path / "x"))
