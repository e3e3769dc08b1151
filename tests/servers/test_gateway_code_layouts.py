"""Layouts of packages beside modules, and places to write to in them: what a server wrote there is never what an import finds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path

import pytest

from gatewright.servers import gateway_code
from gatewright.servers.gateway_code import shadowing
from gatewright.transport.isolation.coverings import Coverings, Shown
from gatewright.transport.isolation.rules import CannotIsolate, Kept, real_path

NATIVE = EXTENSION_SUFFIXES[0]
FILES = (
    *("__init__.py", "late.py", f"native{NATIVE}", "stable.abi3.so", "compiled.pyc"),
    *("sub/__init__.py", "sub/mod.py", "sub/data/notes.txt", f"alone/__init__{NATIVE}"),
    *("bare/mod.py", "deep/er/mod.py", "around/inner/__init__.py"),
    *("data/notes.txt", "data/own.pth", "texts/v1.0/mod.py", "texts/a.cpython-311.pyc"),
)
"""Of a package."""
NAMES = (
    *("late", "native", "stable", "compiled", "sub", "sub.mod", "alone", "bare.mod"),
    *("deep.er.mod", "around.inner"),
)
"""What can be imported from it."""
CODE = (
    *(one for one in FILES if not one.startswith(("data/", "sub/data/", "texts/"))),
    *("sub", "alone", "bare", "deep", "deep/er", "around", "around/inner", "__pycache__"),
    *("sub/__pycache__", "bare/__pycache__", "late", "native", "stable", "compiled", "sub/mod"),
    *("bare/mod", "deep/er/mod", f"late{NATIVE}", "late.abi3.so", f"sub/mod{NATIVE}", "sub.py"),
    *(f"sub{NATIVE}", "bare.py", "around/inner.py", "unknown.py", "compiled.so"),
)
DATA = (
    *("data", "data/notes.txt", "data/own.pth", "sub/data", "texts", "texts/v1.0", "new"),
    *("texts/v1.0/mod.py", "own.pth", "late/x", "notes.txt", "sub/data/notes.txt"),
)
SUSPECTED = ("unknown.py", "sub.py", f"sub{NATIVE}", "around/inner.py")
"""Code, too, that nothing is known to import: a package may look for it in vain, or its folder may go."""
STRAY = ("unknown.py", "bare", "around", "deep", "deep/er")
"""In a folder that is no package: it may be anybody's, until there is one."""


def laid_out(folder: Path, *files: str) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("before")
    return folder


def refused(project: Path, *places: Path) -> list[Kept]:
    return [*shadowing([Kept(str(project), modules=0)], [str(one) for one in places])]


def read_by(project: Path, name: str) -> Iterator[Path]:
    """The files that an import would run, as the import system finds them, which runs none."""
    path = [str(project)]
    for part in name.split("."):
        spec = PathFinder.find_spec(part, path)
        if spec is None:
            return
        if spec.has_location and spec.origin:
            yield real_path(spec.origin)
            if spec.cached:
                yield real_path(spec.cached)
        # Those of a namespace are looked for anew in `sys.path` when it is asked.
        folders = spec.submodule_search_locations or ()
        path = [*getattr(folders, "_path", folders)]


def written(place: Path) -> None:
    """Whatever a server could do there."""
    target = real_path(place)
    if target.is_dir() or not target.suffix:
        laid_out(target, "__init__.py")
        for file in [one for one in target.rglob("*") if one.is_file()]:
            file.write_text("after")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("after")


def is_run(project: Path, place: Path, *names: str) -> bool:
    written(place)
    for one in [one for one in sys.path_importer_cache if one.startswith(str(project.parent))]:
        del sys.path_importer_cache[one]  # what was listed before
    target = real_path(place)
    files = [file for name in names for file in read_by(project, name)]
    return any(target == one or target in one.parents for one in files)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "proj"
    found.mkdir()
    monkeypatch.setattr(gateway_code, "_PATH", (str(found),))
    monkeypatch.setattr(gateway_code, "plugged", dict)  # each time it asks all that is installed
    return found


@pytest.mark.parametrize("place", [*CODE, *DATA])
@pytest.mark.parametrize("layout", ["plain", "linked", "by the link", "in a namespace", "nested"])
def test_no_place_in_a_package_has_a_server_write_what_is_imported(
    project: Path, layout: str, place: str
) -> None:
    within = {"in a namespace": "space.helper", "nested": "outer.helper"}.get(layout, "helper")
    package = project / within.replace(".", "/")
    if "link" in layout:
        package = laid_out(project.parent / "srv" / "helper", *FILES)
        (project / "helper").symlink_to(package)
    else:
        laid_out(package, *FILES)
    if layout == "nested":
        laid_out(project / "outer", "__init__.py")
    if layout == "by the link":
        package = project / "helper"
    found = refused(project, package / place)
    assert bool(found) is (place in CODE)
    for one in found:
        assert real_path(one.path) == real_path(package / place)
        with pytest.raises(CannotIsolate, match=r"module (helper|space|outer), by"):
            Coverings([Shown(str(package / place), real_path(package / place), writable=True)]).keep(one)  # fmt: skip
    names = within, *(f"{within}.{one}" for one in NAMES)
    assert is_run(project, package / place, *names) is (bool(found) and place not in SUSPECTED)


@pytest.mark.parametrize("place", [*CODE[1:], *DATA])
def test_in_a_folder_that_is_no_package_what_is_a_module_or_a_package_already_is_code(
    project: Path, place: str
) -> None:
    laid_out(project / "space", *FILES[1:])
    found = refused(project, project / "space" / place)
    assert bool(found) is (place in CODE and place not in STRAY)
    # A folder of modules is told from a folder of scripts by nothing.
    if place not in STRAY:
        written_and_run = is_run(project, project / "space" / place, *(f"space.{one}" for one in NAMES))  # fmt: skip
        assert written_and_run is (bool(found) and place not in SUSPECTED)
    # One of a name that the gateway knows is a package all the same.
    [one] = shadowing([Kept(str(project), modules=0)], [f"{project}/space/{place}"], {"space"})
    assert one == Kept(f"{project}/space", f"where the gateway would find its module space, by {project}", whole=True)  # fmt: skip


def test_a_module_beside_a_folder_of_its_name_would_come_before_what_is_in_that(
    project: Path,
) -> None:
    laid_out(project / "space", "mod.py")
    for place in ("space.py", f"space{NATIVE}"):
        assert refused(project, project / place), place
    for place in ("space", "other.py", "other"):
        assert not refused(project, project / place), place


@pytest.mark.parametrize("module", ["one.py", f"one{NATIVE}", "one.pyc"])
def test_a_module_that_a_link_leads_to_is_no_place_to_write_to(project: Path, module: str) -> None:
    served = laid_out(project.parent / "srv", module, "data/notes.txt")
    (project / module).symlink_to(served / module)
    for place in (served / module, served, project / module, project / "one", project / "one.abi3.so"):  # fmt: skip
        assert refused(project, place), place
    for place in (served / "data", project / "data", served / "other.py"):
        assert not refused(project, place), place


def test_a_place_that_is_named_by_a_link_in_a_package_is_in_that_package(project: Path) -> None:
    """`helper/sub` leads to `/srv/sub`, and `helper/sub/mod.py` is imported from there."""
    laid_out(project / "helper", "__init__.py")
    served = laid_out(project.parent / "srv", "sub/mod.py", "data/notes.txt")
    for name in ("sub", "data"):
        (project / "helper" / name).symlink_to(served / name)
    for place in ("sub", "sub/mod.py", "sub/__pycache__", "data/late.py"):
        assert refused(project, project / "helper" / place), place
    for place in ("data", "data/notes.txt", "sub/../data", "../data"):
        assert not refused(project, project / "helper" / place), place


def test_another_server_s_word_takes_no_data_of_a_package_away(project: Path) -> None:
    """What one server may not write to is kept from all, and no more than that: who has the folder beside it is not kept down for it."""
    package = laid_out(project / "helper", *FILES)
    for place in (package, *(package / one for one in CODE)):
        data = package / "data"
        server = Coverings([Shown(str(data), data, writable=True)])
        for one in refused(project, place, data):
            server.keep(one)
        options = [*server.options()]
        assert options[options.index(str(data)) - 1] == "--bind"
    with pytest.raises(CannotIsolate, match="name folders in it"):
        Coverings([Shown(str(package), package, writable=True)]).keep(*refused(project, package))
    late = package / "late.py"
    with pytest.raises(CannotIsolate, match="name another folder"):
        Coverings([Shown(str(late), late, writable=True)]).keep(*refused(project, late))


def test_who_may_write_around_a_linked_package_takes_no_data_in_it_from_others(
    project: Path,
) -> None:
    """And what is in it is looked at for each place."""
    served = laid_out(project.parent / "srv", *(f"linked/{one}" for one in FILES))
    (project / "linked").symlink_to(served / "linked")
    data = served / "linked" / "data"
    found = refused(project, served, served.joinpath("linked", "late.py"), data)
    assert [one.path for one in found] == [f"{project}/linked", f"{project}/linked/late.py"]
    whole = Coverings([Shown(str(one), one, writable=True) for one in (served, data)])
    for one in found:
        whole.keep(one)
    options = [*whole.options()]
    for place, option in ((served, "--bind"), (served / "linked", "--ro-bind"), (data, "--bind")):
        assert options[options.index(str(place)) - 1] == option


def test_a_link_in_a_package_leads_to_what_is_imported_with_it(project: Path) -> None:
    """Whoever made it: `helper/sub` is what lies in `/srv/sub`. Data that it leads to stays data, but in a package that the gateway knows by name."""
    served = laid_out(project.parent / "srv", "sub/mod.py", "one.py", "data/notes.txt", "sub/own/x.txt")  # fmt: skip
    for package in ("helper", "html"):
        laid_out(project / package, "__init__.py", "deep/x.txt")
        for link, target in {"sub": "sub", "deep/late.py": "one.py", "data": "data"}.items():
            (project / package / link).symlink_to(served / target)
    for place in ("sub", "one.py", "sub/mod.py", "sub/__pycache__", "."):
        found = {*refused(project, served / place)}
        assert {Path(one.path).relative_to(project).parts[0] for one in found} == {"helper", "html"}
        server = Coverings([Shown(str(served / place), served / place, writable=True)])
        if place == ".":
            for one in found:
                server.keep(one)
            kept = {Path(one).relative_to(served).as_posix() for one in server.fixed if one.startswith(str(served))}  # fmt: skip
            assert kept == {"sub", "one.py", "data"}
            continue
        for one in (one for one in found if Path(one.path).name != "html"):
            with pytest.raises(CannotIsolate, match="its module h"):
                server.keep(one)
    for place in ("data", "sub/own"):
        names = {Path(one.path).relative_to(project).parts[0] for one in refused(project, served / place)}  # fmt: skip
        assert names == {"html"}


def test_a_link_that_a_server_made_in_its_data_keeps_no_other_down(project: Path) -> None:
    """Only one that lies in no place to write to says what is imported; whoever may write around all of the package changes nothing in it."""
    laid_out(project / "helper", "__init__.py", "data/notes.txt", "sub/notes.txt")
    other = laid_out(project.parent / "srv" / "other", "mod.py")
    for name in ("data/x", "data/late.py"):
        (project / "helper" / name).symlink_to(other)
    data = project / "helper" / "data"
    assert {one.path for one in refused(project, data, other)} == {str(data)}
    for around in (project, project.parent, project / "helper"):
        found = {one.path for one in refused(project, around, other)}
        assert found >= {f"{data}/x", f"{data}/late.py"}, around
    [one] = (one for one in refused(project, other) if one.path == f"{data}/x")
    with pytest.raises(CannotIsolate, match=r"helper/data/x leads to .*; name folders in it"):
        Coverings([Shown(str(other), other, writable=True)]).keep(one)
