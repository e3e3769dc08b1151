"""Links in folders of modules: who writes to what they lead to writes to what the gateway imports."""

from __future__ import annotations

import site
from pathlib import Path

import pytest

from gatewright.servers import gateway_code
from gatewright.servers.gateway_code import own_code, shadowing
from gatewright.transport.isolation.coverings import Coverings, Shown
from gatewright.transport.isolation.rules import CannotIsolate, Kept


def kept_at(path: Path) -> Kept:
    [one] = (one for one in own_code() if one.path == str(path))
    return one


def covered(place: Path) -> Coverings:
    """The only place of a server that may write there."""
    return Coverings([Shown(str(place), place, writable=True)])


def test_a_link_among_modules_leads_to_no_place_to_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes to `/srv/html` writes to the package that the gateway finds by `proj/html`."""
    project, served = tmp_path / "proj", tmp_path / "srv"
    for folder in (project, served / "html" / "pages", served / "data"):
        folder.mkdir(parents=True)
    for name in ("html", "data"):
        (project / name).symlink_to(served / name)
    monkeypatch.setattr(gateway_code, "_PATH", (str(project), *gateway_code._PATH))
    kept = kept_at(project)
    for place in (served / "html", served / "html" / "pages", served):
        [one] = shadowing([kept], [str(place)])
        assert one.path == str(project / "html")
    assert [*shadowing([kept], [str(served / "data")])] == []
    with pytest.raises(CannotIsolate, match="its module html"):
        covered(served / "html").keep(one)
    whole = covered(served)
    whole.keep(one)
    options = [*whole.options()]
    assert options[options.index(f"{served}/html") - 1] == "--ro-bind"


def test_a_link_where_packages_are_installed_leads_to_code_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`flit install --symlink` makes such a link to the folder of a project."""
    packages, mine = tmp_path / "site-packages", tmp_path / "proj" / "mine"
    for folder in (packages, mine):
        folder.mkdir(parents=True)
    (packages / "mine").symlink_to(mine)
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(packages)])
    monkeypatch.setattr(gateway_code, "_PATH", (*gateway_code._PATH, str(packages)))
    [one] = shadowing([kept_at(packages)], [str(mine.parent)])
    assert one == Kept(str(packages / "mine"), f"where the gateway would find its module mine, by {packages} (where {packages}/mine leads to {mine})", whole=True)  # fmt: skip


def test_every_link_on_the_way_to_a_module_is_out_of_a_server_s_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tomli` leads to a link in a place to write to, which leads out of it: who changes that link says what is imported."""
    project, written, code = tmp_path / "proj", tmp_path / "w", tmp_path / "opt" / "v1"
    for folder in (project, written / "inner", code):
        folder.mkdir(parents=True)
    (written / "current").symlink_to(code)
    (written / "round").symlink_to("round")
    monkeypatch.setattr(gateway_code, "_PATH", (str(project), *gateway_code._PATH))
    kept, link = kept_at(project), project / "tomli"
    for target in (written / "current", written / "inner" / ".." / ".." / "opt" / "v1"):
        link.symlink_to(target)
        [one] = shadowing([kept], [str(written)])
        assert one.path == str(link)
        assert [*shadowing([kept], [str(tmp_path / "data")])] == []
        link.unlink()
    link.symlink_to(written / "current")
    found = covered(written)
    found.keep(one)
    options = [*found.options()]
    assert options[options.index(str(written)) - 1] == "--tmpfs"
    # One that leads in a circle elsewhere is nobody's module.
    link.unlink()
    link.symlink_to(written / "round")
    assert [*shadowing([kept], [str(tmp_path / "data")])] == []


def test_a_package_that_lies_among_modules_is_no_place_to_write_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`helper` is found nowhere else, so no name tells that somebody imports it late; what it is does. Data in one stays data."""
    project, served = tmp_path / "proj", tmp_path / "srv"
    for folder in ("helper/data", "beside", "plain", "json", "data"):
        (project / folder).mkdir(parents=True)
    (served / "linked" / "data").mkdir(parents=True)
    (project / "linked").symlink_to(served / "linked")
    for file in ("helper/__init__.py", "beside.py", "json/__init__.py", "linked/__init__.py"):
        (project / file).touch()
    own = gateway_code._PATH
    monkeypatch.setattr(gateway_code, "_PATH", (*own, str(project)))
    kept = kept_at(project)
    for place in ("helper", "beside", "beside.py", "linked"):
        [one] = shadowing([kept], [str(project / place)])
        assert one.path == str(project / place)
        said = f"where the gateway would find its module {place.removesuffix('.py')}, by {project}"
        assert one.why.startswith(said)
    for target in (served / "linked", served):
        [one] = shadowing([kept], [str(target)])
        assert one.path == str(project / "linked")
    (project / "helper" / "sub").mkdir()
    (project / "helper" / "sub" / "__init__.py").touch()
    for code in ("__init__.py", "late.py", "__pycache__", "data/__pycache__/x", "sub"):
        [one] = shadowing([kept], [str(project / "helper" / code)])
        assert one.path == str(project / "helper" / code)
    # Python's own `json` comes before that of the folder.
    free = ("helper/data", "plain", "json", "data", "linked/data", "new.py")
    assert [*shadowing([kept], [str(project / one) for one in free])] == []
    [one] = shadowing([kept], [str(project / "helper")])
    with pytest.raises(CannotIsolate, match="its module helper"):
        covered(project / "helper").keep(one)


def test_who_is_refused_because_of_a_link_is_told_which_it_is_and_where_it_leads(
    tmp_path: Path,
) -> None:
    """`tools/root` leads around all of the project, so the folder to write to and the link are far from each other."""
    tools, data = tmp_path / "proj" / "tools", tmp_path / "proj" / "data"
    for folder in (tools, data):
        folder.mkdir(parents=True)
    (tools / "root").symlink_to("..")
    [one] = shadowing([Kept(str(tools), whole=True, modules=3)], [str(data)])
    with pytest.raises(CannotIsolate) as refused:
        covered(data).keep(one)
    assert str(refused.value) == (
        f"{data}, which `write` names, is in {tools}/root, where the gateway would find its module root, by {tools} "
        f"(where {tools}/root leads to {tools.parent}); name another folder, or keep that elsewhere"
    )


def test_a_link_in_a_package_that_is_reached_by_a_link_leads_to_no_place_to_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`proj/helper` leads to `srv/helper`, whose `sub` leads into a place: who writes there writes `helper.sub`."""
    project, served, written = tmp_path / "proj", tmp_path / "srv" / "helper", tmp_path / "w"
    for folder in (project, served, written / "sub", tmp_path / "opt"):
        folder.mkdir(parents=True)
    (served / "__init__.py").touch()
    (written / "current").symlink_to(tmp_path / "opt")
    (project / "helper").symlink_to(served)
    monkeypatch.setattr(gateway_code, "_PATH", (*gateway_code._PATH, str(project)))
    kept = kept_at(project)
    for target in (written / "sub", written / "current"):
        (target / "mod.py").touch()
        (served / "sub").symlink_to(target)
        assert [*shadowing([kept], [str(written)])] != [], target
        assert [*shadowing([kept], [str(tmp_path / "data")])] == []
        (served / "sub").unlink()


def test_links_of_one_server_keep_no_other_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by one that leads to all there is, behind another."""
    project, other = tmp_path / "proj", tmp_path / "other"
    for folder in (project / "helper" / "data", other, tmp_path / "far"):
        folder.mkdir(parents=True)
    (project / "helper" / "__init__.py").touch()
    (other / "mod.py").touch()
    (tmp_path / "far" / "root").symlink_to(tmp_path)
    (project / "helper" / "data" / "x").symlink_to(tmp_path / "far")
    monkeypatch.setattr(gateway_code, "_PATH", (*gateway_code._PATH, str(project)))
    data = str(project / "helper" / "data")
    kept = [*shadowing([kept_at(project)], [data, str(other)])]
    assert {one.path for one in kept} <= {data}, (
        "its own place alone: modules are in it, by its link"
    )
    covered(other).keep(kept[0])
