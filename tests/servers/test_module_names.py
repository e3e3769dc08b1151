"""Names that a folder on the path of modules could take from a module of the gateway: those it looks for, and finds nowhere before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gatewright.servers import module_names
from gatewright.servers.module_names import is_sought, listed, module_name

SOUGHT = """
import sys
names = set()
class Asked:
    def find_spec(self, name, path=None, target=None):
        if path is None:
            names.add(name.partition(".")[0])
sys.meta_path.insert(0, Asked())
import contextlib, importlib, json, pkgutil
from importlib.metadata import packages_distributions
import gatewright
def run(modules):
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    found = sorted(names)
    names.clear()
    return found
modules = [one.name for one in pkgutil.walk_packages(gatewright.__path__, "gatewright.")]
own = run(one for one in modules if not one.endswith("__main__"))
extras = ["asyncpg", "keyring.backend", "onnxruntime", "opentelemetry.sdk.trace", "tokenizers", "uvloop"]
extras += [f"opentelemetry.exporter.otlp.proto.http.{one}_exporter" for one in ("metric", "trace")]
print(json.dumps([own, run(extras), packages_distributions()]))
"""
"""All that is looked for at the top, by the gateway and then by its extras; what is installed comes from which distributions."""


def required(name: str, extra: str = "", known: set[str] | None = None) -> set[str]:
    """The distributions that come with one."""
    known = set() if known is None else known
    if name not in known:
        known.add(name)
        for said in requires(name) or ():
            one = Requirement(said)
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                required(canonicalize_name(one.name), next(iter(one.extras), ""), known)
    return known


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


def sought(names: Sequence[str], path: Sequence[object], position: int) -> set[str]:
    return {one for one in names if is_sought(one, [*map(str, path)], position)}


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


def test_a_vendored_package_is_one_of_the_gateway(installed: Path) -> None:
    assert sought(("package", "ns", "stray"), [installed], 0) == {"package", "ns"}


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
    extras = ("asyncpg", "keyring", "onnxruntime", "opentelemetry", "tokenizers", "uvloop")
    assert {*extras} == {*module_names._EXTRAS}
    assert sought(extras, (), 0) == {*extras}


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
    assert is_sought(entry, (), 0) is (module in {"html", "json"})


def test_compiled_modules_are_those_of_the_modules_beside_them() -> None:
    assert is_sought("__pycache__", sys.path, sys.maxsize)


def test_all_that_the_gateway_and_its_libraries_look_for_in_vain_is_known() -> None:
    """Another library may try more: each such name belongs to `_IN_VAIN`, and so does what is here for developers alone."""
    done = subprocess.run([sys.executable, "-c", SOUGHT], capture_output=True, check=True, cwd="/")
    own, extras, installed = json.loads(done.stdout)
    comes = required("gatewright")
    there = {one for one, whose in installed.items() if not comes.isdisjoint(map(canonicalize_name, whose))}  # fmt: skip
    vain = {*own} - there | {*extras} - {*installed}
    assert "brotli" in vain
    known = {*sys.stdlib_module_names, *module_names._IN_VAIN, *module_names._EXTRAS, "gatewright"}
    standard = {*map(module_name, listed(str(Path(os.__file__).parent)))}
    assert vain - known - standard == set()
