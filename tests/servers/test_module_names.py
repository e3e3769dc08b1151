"""Names that a folder on the path of modules could take from a module of the gateway: those it looks for, and finds nowhere before."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache, partial
from importlib.machinery import ModuleSpec
from importlib.metadata import distribution, distributions, metadata, packages_distributions
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gatewright
from gatewright.servers import module_names
from gatewright.servers.module_names import (
    is_namespace,
    is_sought,
    is_there,
    listed,
    module_name,
    offered,
)
from tests.servers.reached import required, sought_in_vain

EXTRAS = ("embeddings", "keyring", "otel", "postgres")
LATE = [
    *("asyncpg", "keyring.backend", "onnxruntime", "opentelemetry.sdk.trace", "tokenizers"),
    *("uvloop", "typer.rich_utils", "rich.markdown", "anyio._backends._trio"),
    *(f"opentelemetry.exporter.otlp.proto.http.{one}_exporter" for one in ("metric", "trace")),
]
"""Modules that are imported in functions, or by names that are put together."""
SOUGHT = """
import sys
names = set()
class Asked:
    def find_spec(self, name, path=None, target=None):
        if path is None:
            names.add(name.partition(".")[0])
sys.meta_path.insert(0, Asked())
import contextlib, importlib, json, pkgutil
import gatewright
late = [one for one in sys.argv[1:] if not one.endswith("_trio")]
modules = [one.name for one in pkgutil.walk_packages(gatewright.__path__, "gatewright.")]
for name in [*(one for one in modules if not one.endswith("__main__")), *late]:
    importlib.import_module(name)
print(json.dumps(sorted(names)))
"""
"""All that is looked for at the top, by the gateway, its libraries and its extras."""


@lru_cache(maxsize=1)
def comes() -> frozenset[str]:
    """The distributions that come with the gateway and with its extras."""
    known = set[tuple[str, str]]()
    for extra in ("", *EXTRAS):
        required("gatewright", extra, known)
    return frozenset(one for one, _ in known)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of packages, by one of which the environment says what is installed."""
    folder = tmp_path / "installed"
    for file in ("deep/one.py", "ns/part/__init__.py", "stray/conf.py", "stray/data/x.txt"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    (folder / "one-1.dist-info").mkdir()
    (folder / "alone.py").touch()
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").touch()
    return folder


def sought(
    names: Sequence[str], path: Sequence[object], position: int, folder: object = None
) -> set[str]:
    """In the entry of the path that has the position, or in none of them."""
    if folder is None:
        folder = path[position] if position < len(path) else "/none"
    return {one for one in names if is_sought(one, str(folder), [*map(str, path)], position)}


def test_what_is_found_before_cannot_be_taken(tmp_path: Path, installed: Path) -> None:
    names = ("alone", "package", "ns", "stray", "deep", "html", "usercustomize", "other")
    standard = next(one for one in sys.path if (Path(one) / "html").is_dir())
    path = [standard, installed]
    # Whoever is behind a namespace can still be a package, which a namespace is not.
    assert sought(names, path, 2) == {"ns", "usercustomize"}
    data = next(one.stem for one in Path(os.__file__).parent.glob("_sysconfigdata_*"))
    assert sought((data,), [tmp_path, *path], 0) == {data}
    assert sought(names, [tmp_path, *path], 0) == {
        "alone",
        "package",
        "ns",
        "html",
        "usercustomize",
    }
    assert sought(names, [standard, tmp_path, installed], 1) == {
        "alone",
        "package",
        "ns",
        "usercustomize",
    }
    assert sought(names, path, sys.maxsize) == {"ns", "usercustomize"}


def test_a_folder_is_left_out_by_what_it_is_and_not_by_its_position(tmp_path: Path) -> None:
    """It may not be on the path yet, stand there twice, or under another name: then others are looked at all the same."""
    first, src, link = tmp_path / "first", tmp_path / "src", tmp_path / "link"
    for folder in (first, src / "lazy"):
        folder.mkdir(parents=True)
    (src / "lazy" / "__init__.py").touch()
    link.symlink_to(src)
    names = ("lazy",)
    assert sought(names, [first, src], 1, tmp_path / "new") == {"lazy"}
    assert sought(names, [first, src], sys.maxsize, tmp_path / "new") == set()
    assert sought(names, [src, first, link], 0, src) == set()
    assert sought(names, [src, first, link], 0, link) == set()
    assert sought(names, [first, src], 0, first) == {"lazy"}


def test_what_only_a_hook_of_an_editable_installation_finds_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path comes before such hooks; one that fails hides nothing that the next one knows."""

    class Hook:
        def __init__(self, *names: str) -> None:
            self.names = names

        def find_spec(self, name: str, path: object) -> object:
            return (ModuleSpec(name, None) if name in self.names else None) if self.names else 1 / 0

    monkeypatch.setattr(module_names, "_HOOKS", [Hook(), Hook("edited")])
    assert sought(("edited", "data"), [tmp_path], 0) == {"edited"}


def test_what_a_hook_finds_in_the_very_entry_is_nothing_else_to_stand_in_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project without `src` that is installed editable has data in its packages; a namespace may be taken in whatever folder of it."""
    file = tmp_path / "flat" / "__init__.py"
    file.parent.mkdir()
    file.touch()

    class Hook:
        def find_spec(self, name: str, path: object) -> ModuleSpec | None:
            if name in {"flat", "beside"}:
                place = file if name == "flat" else tmp_path / "beside.py"
                return spec_from_file_location(name, place)
            return ModuleSpec(name, None, is_package=True) if name == "space" else None

    monkeypatch.setattr(module_names, "_HOOKS", [Hook()])
    names = ("flat", "beside", "space", "data")
    (tmp_path / "link").symlink_to(tmp_path)
    for folder in (tmp_path, tmp_path / "link"):
        assert sought(names, [folder], 0) == {"beside", "space"}
    assert sought(names, [tmp_path / "other"], 0) == {"flat", "beside", "space"}


def test_what_distributions_offer_as_plug_ins_is_known_by_its_module() -> None:
    """keyring and others load all of it, late; commands are started for themselves."""
    assert {"keyring", "opentelemetry"} <= offered()
    assert "pip" not in offered()
    assert all(one and "." not in one and ":" not in one for one in offered())


def test_a_folder_that_says_what_is_installed_is_looked_for_in_every_folder_of_modules(
    tmp_path: Path,
) -> None:
    """Its entry points name validators."""
    # Where a file system has one name for both, capitals are no other name.
    names = ("new-1.dist-info", "new.egg-info", "new-2.DIST-INFO", "new.Egg-Info", "EGG-INFO")
    assert sought([*names, "new.info"], [*sys.path, tmp_path], len(sys.path)) == {*names}


def test_what_comes_before_all_that_is_found_on_the_path_is_never_taken() -> None:
    """Built into the interpreter, or frozen."""
    assert sought(("sys", "site", "os", "codecs", "json"), [], 0) == {"json"}


def test_a_package_that_is_installed_editable_and_a_package_of_a_project(tmp_path: Path) -> None:
    """The folder of a project has packages of its own, which the gateway does not import; those of another entry it may."""
    (tmp_path / "project" / "app").mkdir(parents=True)
    (tmp_path / "project" / "app" / "__init__.py").touch()
    (tmp_path / "project" / "src" / "inner").mkdir(parents=True)
    (tmp_path / "project" / "src" / "inner" / "__init__.py").touch()
    project, src = tmp_path / "project", tmp_path / "project" / "src"
    assert sought(("app", "inner", "src"), [project, src], 0) == {"inner"}
    assert sought(("app", "gatewright"), [project], 0) == {"gatewright"}


def test_a_module_that_lies_in_a_folder_is_told_from_data_and_from_what_others_hide(
    tmp_path: Path, installed: Path
) -> None:
    """A file or a folder of its name is one and the same for imports."""
    for file in ("mine/__init__.py", "package/__init__.py", "single.py", "data/x.txt"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    names = ("mine", "mine.py", "package", "single", "single.py", "data", "x.txt", "sys")
    path = [str(installed), str(tmp_path)]
    found = {one for one in names if is_there(one, path[1], path, 1)}
    assert found == {"mine", "mine.py", "single", "single.py"}
    assert is_there("package", path[1], path, 0)


def test_a_folder_is_a_namespace_where_no_folder_of_the_path_has_a_module_of_its_name(
    tmp_path: Path, installed: Path
) -> None:
    """Later ones, too: any module comes before all namespaces."""
    for folder in ("plain", "package", "json", "v1.0", "own"):
        (tmp_path / folder).mkdir()
    (tmp_path / "own" / "__init__.py").touch()
    path = [str(tmp_path), str(installed), *sys.path]
    names = ("plain", "plain.py", "package", "json", "v1.0", "own", "none")
    assert {one for one in names if is_namespace(one, path[0], path)} == {"plain", "plain.py"}


def test_a_vendored_package_is_one_of_the_gateway(installed: Path) -> None:
    assert sought(("package", "ns", "stray"), [installed], 0) == {"package", "ns"}


def test_a_namespace_is_told_from_a_stray_folder_by_what_was_installed(
    tmp_path: Path, installed: Path
) -> None:
    """Its packages may lie deeper, or be plain or compiled modules; documents that came along by mistake are none."""
    files = {
        "cloud/deep/er/__init__.py": "cloud",
        "plain/one.py": "plain",
        "fast/one.abi3.so": "fast",
        '"odd, name/one.py"': "odd, name",
        "docs/conf.py": "docs",
        "docs/__pycache__/conf.cpython-311.pyc": "docs",
        "text/one.txt": "text",
    }
    for file, folder in files.items():
        (installed / folder).mkdir(exist_ok=True)
        assert file.strip('"').startswith(f"{folder}/")
    record = "".join(f"{one},sha256=abc,1\n" for one in files) + "alone.py,,\n"
    (installed / "one-1.dist-info" / "RECORD").write_text(record)
    names = {*files.values()}
    assert sought([*names, "stray"], [tmp_path, installed], 0) == names - {"docs", "text"}


def test_a_distribution_whose_files_cannot_be_read_hides_nothing_of_the_others(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of which one record is no UTF-8, and whose entry points are no pairs."""
    for name, record in (("bad", b"\xff/one.py,,\n"), ("good", b"cloud/deep/er/__init__.py,,\n")):
        folder = installed / f"{name}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (folder / "RECORD").write_bytes(record)
        points = "no pair" if name == "bad" else "one = late_module.deep:prepare"
        (folder / "entry_points.txt").write_text(f"[group]\n{points}\n")
    (installed / "cloud").mkdir()
    assert sought(("cloud", "stray"), [tmp_path, installed], 0) == {"cloud"}
    found = partial(distributions, path=[str(installed)])
    monkeypatch.setattr(module_names, "distributions", found)
    assert offered.__wrapped__() == {"late_module"}


def test_a_folder_that_nobody_may_look_into_has_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others' folders may be on the path as well; nothing of the rest is less kept."""
    (tmp_path / "a").touch()
    monkeypatch.chdir(tmp_path)
    assert listed("") == ["a"]
    assert listed(f"{tmp_path}/a") == listed("/no/such") == []

    def closed(*_: object, **__: object) -> list[str]:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", closed)
    assert sought(("html", "other"), ["/closed"], 0) == {"html"}


def test_extras_that_are_not_installed_are_looked_for() -> None:
    """Each distribution that an extra says, by the name that it begins with; and no name is left over."""
    assert {*EXTRAS, "dev"} == {*(metadata("gatewright").get_all("Provides-Extra") or ())}
    said = [Requirement(one) for one in distribution("gatewright").requires or ()]
    names = {one.name for one in said if one.marker and any(one.marker.evaluate({"extra": extra}) for extra in EXTRAS)}  # fmt: skip
    names |= {one.name for one in said if one.name == "uvloop"}  # not on every system
    assert {one.partition("-")[0] for one in names} == {*module_names._EXTRAS}
    assert sought(module_names._EXTRAS, (), 0) == {*module_names._EXTRAS}


@pytest.mark.parametrize(
    ("entry", "module"),
    {
        "html": "html",
        "json.py": "json",
        "json.pyc": "json",
        "json.abi3.so": "json",
        "json.d": "json.d",
        "json.txt": "json.txt",
    }.items(),
)
def test_a_file_is_a_module_by_how_it_ends(entry: str, module: str) -> None:
    assert module_name(entry) == module
    assert is_sought(entry, "/none", (), 0) is (module in {"html", "json"})


def test_compiled_modules_are_those_of_the_modules_beside_them() -> None:
    assert is_sought("__pycache__", "/none", sys.path, sys.maxsize)


def unknown(names: set[str]) -> set[str]:
    """Of names that are looked for those that nobody knows, and that nothing has which comes with the gateway."""
    installed = {one for one, whose in packages_distributions().items() if not comes().isdisjoint(map(canonicalize_name, whose))}  # fmt: skip
    sought = {*module_names._IN_VAIN, *module_names._REMOVED, *module_names._EXTRAS, "gatewright"}
    known = {*sys.stdlib_module_names, *sought}
    standard = {*map(module_name, listed(str(Path(os.__file__).parent)))}
    return names - installed - known - standard


def test_all_that_the_gateway_and_its_libraries_look_for_in_vain_is_known() -> None:
    """Another library may try more: each such name belongs to `_IN_VAIN`, whoever has it here for developers alone."""
    done = subprocess.run(
        [sys.executable, "-c", SOUGHT, *LATE], capture_output=True, check=True, cwd="/"
    )
    names = {*json.loads(done.stdout)}
    assert {"brotli", "linkify_it"} <= names
    assert unknown(names) == set()


def test_what_is_imported_in_functions_that_are_never_called_here_is_known_as_well() -> None:
    """By what the code of all that can be reached says."""
    import keyring.backends  # noqa: PLC0415 - else the gateway's tests would run without the extra

    folders = {one.__name__: one.__path__ for one in (gatewright, keyring.backends)}
    starts = [one.name for name, path in folders.items() for one in pkgutil.walk_packages(path, f"{name}.")]  # fmt: skip
    points = (point for one in comes() for point in distribution(one).entry_points)
    starts += [one.module for one in points if not one.group.endswith("_scripts")]
    # On another kind of machine, which has no isolation.
    names = sought_in_vain([*starts, *LATE], comes(), without="urllib3.contrib.emscripten")
    assert {"linkify_it", "trio", "dotenv", "h2"} <= {*names}
    found = unknown({*names})
    assert {one: names[one] for one in found} == {}
