from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.sdk import REGISTRY, Registry, TimeLimits
from gatewright.sdk.discovery import Discovery, Found, Problem, is_folder

TOOL = """
from gatewright.sdk import mcp_tool

@mcp_tool{options}
def {name}(key: str) -> str:
    return key
"""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the module path whose modules are forgotten afterwards."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if not name.startswith(("gatewright", "docstring_parser")):
            del sys.modules[name]


def write(home: Path, module: str, name: str = "put", options: str = "", text: str = "") -> Path:
    path = home.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or TOOL.format(name=name, options=options), encoding="utf-8")
    return path


def package(home: Path, name: str) -> None:
    write(home, f"{name}.__init__", text="# a package\n")


def test_every_mcp_tools_module_is_found_and_nothing_else_is_imported(home: Path) -> None:
    """CDM-api-3, CDM-mod-8: names have the package as prefix; other modules stay unread."""
    package(home, "appa")
    package(home, "appa.memory")
    write(home, "appa.memory.mcp_tools", "put")
    write(home, "appa.loose.mcp_tools", "look")  # a folder without __init__
    write(home, "appa.memory.heavy", text="raise SystemExit('nobody may import this')\n")
    found = Discovery("appa").scan()
    assert [one.name for one in found.tools] == ["loose_look", "memory_put"]
    assert found.modules == ("appa", "appa.loose.mcp_tools", "appa.memory.mcp_tools")
    assert (found.problems, found.complete) == ((), True)
    assert "memory_put" not in REGISTRY


def test_a_module_that_breaks_half_way_gives_nothing_and_may_be_corrected(home: Path) -> None:
    """CDM-api-3, CDM-con-4: what it declared before it broke does not stand in its own way."""
    package(home, "apph")
    helper = TOOL.format(name="help", options="(name='help')")
    write(home, "apph.helper", text=helper)
    half = "import apph.helper\n" + TOOL.format(name="put", options="(name='put')")
    write(home, "apph.a.mcp_tools", text=half + "raise KeyError('settings')\n")
    discovery = Discovery("apph")
    assert [one.message for one in discovery.scan().problems] == ["KeyError: 'settings'"]
    assert [one.name for one in discovery.registry] == ["help"]  # its module is whole
    made = "for n in range(2):\n    mcp_tool(name=f'made_{n}')(lambda: None)\n"
    write(home, "apph.a.mcp_tools", text=half.replace("key: str)", "key: int)") + made)
    found = discovery.scan(refresh=True)
    assert found.problems == ()
    assert [one.name for one in found.tools] == ["put", "made_0", "made_1"]
    assert discovery.registry.get_tool_schema("put")["properties"]["key"] == {"type": "integer"}


def test_a_broken_module_is_reported_and_stops_nothing(home: Path) -> None:
    """CDM-api-3, CDM-con-4"""
    package(home, "appb")
    broken = write(home, "appb.a.mcp_tools", text="x = 1\nraise KeyError('settings')\n")
    wrong = write(home, "appb.b.mcp_tools", text="def f(:\n")
    write(home, "appb.c.mcp_tools", text="import sys\nsys.exit(3)\n")
    write(home, "appb.d.mcp_tools", "good")
    untyped = write(
        home, "appb.e.mcp_tools", text=TOOL.format(name="x", options="").replace(": str)", ")")
    )
    found = Discovery("appb").scan()
    assert [one.name for one in found.tools] == ["d_good"]
    problems = {one.module.split(".")[1]: one for one in found.problems}
    assert problems["a"] == Problem("appb.a.mcp_tools", "KeyError: 'settings'", f"{broken}:2")
    assert problems["b"].where == f"{wrong}:1"
    assert problems["c"].message == "SystemExit: 3"
    assert "parameter 'key' of x() has no type" in problems["e"].message
    assert str(untyped) in str(problems["e"])


def test_a_scan_is_valid_for_three_hundred_seconds(home: Path) -> None:
    """CDM-api-3, CDM-slo-10: a new module is seen after the TTL, or at once with a refresh."""
    package(home, "appc")
    write(home, "appc.a.mcp_tools", "one")
    clock = Clock()
    looking = Discovery("appc", clock=clock)
    assert len(looking.scan().tools) == 1
    write(home, "appc.b.mcp_tools", "two")
    clock.now = 299.9
    assert len(looking.scan().tools) == 1
    clock.now = 300.0
    assert len(looking.scan().tools) == 2
    write(home, "appc.c.mcp_tools", "three")
    assert len(looking.scan().tools) == 2
    assert len(looking.scan(refresh=True).tools) == 3
    assert [one.name for one in looking.registry.list()] == ["a_one", "b_two", "c_three"]


def test_the_shortest_cache_ttl_of_the_tools_holds(home: Path) -> None:
    """CDM-mod-7"""
    package(home, "appd")
    write(home, "appd.a.mcp_tools", "one", "(cache_ttl=10)")
    clock = Clock()
    looking = Discovery("appd", clock=clock)
    looking.scan()
    write(home, "appd.b.mcp_tools", "two")
    clock.now = 10.0
    assert len(looking.scan().tools) == 2


def test_a_module_that_was_broken_is_tried_again(home: Path) -> None:
    package(home, "appe")
    write(home, "appe.mcp_tools", text="raise OSError\n")
    looking = Discovery("appe")
    assert len(looking.scan().problems) == 1
    write(home, "appe.mcp_tools", "mended_by_a_longer_text")
    assert [one.name for one in looking.scan(refresh=True).tools] == [
        "appe_mended_by_a_longer_text"
    ]


def test_two_modules_with_one_name_are_a_conflict_that_names_both(home: Path) -> None:
    """CDM-err-7"""
    package(home, "appf")
    write(home, "appf.a.mcp_tools", "x", '(name="same")')
    write(home, "appf.b.mcp_tools", "x", '(name="same")')
    found = Discovery("appf").scan()
    assert len(found.tools) == 1
    assert "registered already by appf.a.mcp_tools, and now by appf.b" in found.problems[0].message


def test_a_folder_a_file_and_a_single_module_can_be_named(home: Path) -> None:
    folder = home / "elsewhere"
    write(folder, "pets.mcp_tools", "feed")
    single = write(home / "other", "onetool", "run")
    write(home, "plain", "go")
    assert [one.name for one in Discovery(str(folder)).scan().tools] == ["pets_feed"]
    assert [one.name for one in Discovery(str(single)).scan().tools] == ["onetool_run"]
    assert [one.name for one in Discovery("plain").scan().tools] == ["plain_go"]
    assert [is_folder(one) for one in ("./tools", "tools.py", ".", "tools", "a.tools")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_folder_cannot_stand_in_for_an_installed_module(home: Path) -> None:
    write(home / "shadow", "json.mcp_tools", "x")
    found = Discovery(str(home / "shadow")).scan()
    assert found.tools == ()
    assert "No module named 'json.mcp_tools'" in found.problems[0].message


def test_a_folder_that_cannot_be_searched_is_named_and_links_are_not_followed(home: Path) -> None:
    """CDM-con-4"""
    folder = home / "circle"
    write(folder, "appi.mcp_tools", "feed")
    (folder / "appi" / "again").symlink_to(folder)
    found = Discovery(str(folder)).scan()
    assert [one.name for one in found.tools] == ["appi_feed"]
    text = home / "text"
    text.write_text("no folder")
    (problem,) = Discovery(f"{text}/").scan().problems
    assert "cannot be searched" in problem.message


@pytest.mark.parametrize("where", ["no_such_package", "no.such.module", "./no/such/folder"])
def test_a_place_that_does_not_exist_is_reported(where: str) -> None:
    found = Discovery(where).scan()
    assert [one.module for one in found.problems] == [where]


def test_tools_of_one_package_do_not_reach_the_registry_of_another(home: Path) -> None:
    package(home, "appg")
    write(home, "appg.mcp_tools", "one")
    mine = Registry("mine")
    Discovery("appg", registry=mine).scan()
    again = Registry("again")
    Discovery("appg", registry=again).scan()
    assert "appg_one" in mine
    assert "appg_one" in again


async def test_whoever_cannot_wait_gets_what_is_known(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GGEN-to-3: past the limit the list is what is known; the search goes on for the next one."""
    package(home, "apph")
    write(home, "apph.a.mcp_tools", "one")
    slow = "import apph\napph.go_on.wait(60)\n"
    write(home, "apph.b.mcp_tools", text=slow + TOOL.format(name="two", options=""))
    import apph  # type: ignore[import-not-found]  # noqa: PLC0415 - it is made by this test

    go_on = threading.Event()
    monkeypatch.setattr(apph, "go_on", go_on, raising=False)
    looking = Discovery("apph", registry=Registry(limits=TimeLimits(discovery_s=1.0)))
    first: Found = await looking.find()
    try:
        assert not first.complete
        assert "did not end within 1 s and goes on" in first.problems[-1].message
        assert [one.name for one in first.tools] == ["a_one"]
    finally:
        go_on.set()
    async with asyncio.timeout(60):
        while not (second := await looking.find()).complete:
            await asyncio.sleep(0.01)
    assert [one.name for one in second.tools] == ["a_one", "b_two"]
    assert await looking.find() is second
    assert looking.found is second
