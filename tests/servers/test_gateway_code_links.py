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
    assert one == Kept(str(packages / "mine"), f"where the gateway would find its module mine, by {packages}", whole=True)  # fmt: skip
