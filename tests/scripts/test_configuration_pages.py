"""`scripts/docs configuration`: the pages are what it writes, text by hand stays, every table has an example, links lead somewhere."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.config.schema import FILE, TABLES
from scripts.configuration_pages import (
    INDEX,
    anchor,
    filled,
    heading,
    main,
    names_in,
    page_of,
    pages,
    section,
)
from tests.config.examples import EXAMPLES, PAGES

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
NAMED = {"servers.tools", "profiles", "agents", "rooms.topics"}
"""Tables whose keys are names of tables."""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A root with the pages and the schema."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    schema = tmp_path / FILE.relative_to(ROOT)
    schema.parent.mkdir(parents=True)
    shutil.copy(FILE, schema)
    return tmp_path


@pytest.fixture(scope="module")
def written() -> dict[Path, bytes]:
    """File → what the command writes."""
    return dict(pages())


@pytest.mark.parametrize("path", [*PAGES, FILE], ids=lambda path: path.stem)
def test_every_page_is_what_the_command_writes(path: Path, written: dict[Path, bytes]) -> None:
    assert path.read_bytes() == written[path], "run: scripts/docs configuration"


def test_there_are_no_pages_but_those_of_the_tables() -> None:
    assert {one.relative_to(ROOT) for one in PAGES} == {INDEX, *map(page_of, TABLES)}


def test_a_page_that_differs_is_named_and_written_anew(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = copied / page_of("storage")
    right = page.read_text(encoding="utf-8")
    page.write_text(right.replace("string, not empty", "integer") + "By hand.\n", encoding="utf-8")
    assert main(["--check"], copied) == 1
    assert capsys.readouterr().out == f"{page_of('storage')}\n"
    assert "integer" in page.read_text(encoding="utf-8")
    assert main([], copied) == 0
    assert page.read_text(encoding="utf-8") == right + "By hand.\n"
    assert main(["--check"], copied) == 0


def test_a_page_that_is_missing_is_made_with_all_of_its_tables(copied: Path) -> None:
    page = copied / page_of("limits.calls")
    page.unlink()
    assert main([], copied) == 0
    text = page.read_text(encoding="utf-8")
    for name in ("limits", "limits.calls", "limits.calls.caller"):
        assert section(name) in text


def test_only_the_parts_of_a_page_are_filled() -> None:
    text = (
        "a\n<!-- begin x: text -->\nold\n<!-- end x -->\nb\n<!-- begin y -->\n<!-- end y -->\nc\n"
    )
    assert filled(text, lambda name: f"{name}!\n") == (
        "a\n<!-- begin x: text -->\nx!\n<!-- end x -->\nb\n<!-- begin y -->\ny!\n<!-- end y -->\nc\n"
    )


def test_a_section_has_the_table_its_keys_and_when_a_change_counts() -> None:
    assert section("builtin.directory_list") == (
        "## `[builtin.directory_list]`\n"
        "\n"
        "`directory_list`, which lists what is in a folder.\n"
        "\n"
        "| key | type | default | meaning |\n"
        "| --- | --- | --- | --- |\n"
        "| `roots` | array of string, 1 to 4096 characters | `[]` | The folders that it may list, relative to the folder"
        " of this file. A relative path of a caller begins at the first. Without any the tool is not offered. |\n"
        "\n"
        "A change of any key takes effect when the gateway is started again.\n"
    )


@pytest.mark.parametrize(
    ("table", "key", "change"),
    [
        ("gateway", "port", "restart"),
        ("gateway", "name", "reload"),
        ("limits", "connections", "restart"),
        ("limits", "depth", "reload"),
        ("mcp.protocol", "rate_limits", "reload"),
        ("mcp.protocol", "security", "restart"),
    ],
)
def test_a_key_says_whether_a_reload_takes_it_over(table: str, key: str, change: str) -> None:
    (row,) = [line for line in section(table).splitlines() if line.startswith(f"| `{key}` |")]
    assert f" | {change} | " in row


@pytest.mark.parametrize(
    ("table", "shown", "place"),
    [
        ("servers", "[[servers]]", "servers"),
        ("servers.auth", "[servers.auth]", "serversauth"),
        ("oauth.issuers", "[[oauth.issuers]]", "oauthissuers"),
        ("servers.mgp.restart_policy", "[servers.mgp.restart_policy]", "serversmgprestart_policy"),
        ("agents.NAME", "[agents.NAME]", "agentsname"),
    ],
)
def test_a_table_is_headed_as_a_file_begins_it(table: str, shown: str, place: str) -> None:
    assert heading(table) == shown
    assert anchor(table) == place


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_an_example_on_its_page(table: str) -> None:
    texts = [text for page, text in EXAMPLES if page == page_of(table).stem]
    assert table in {name for text in texts for name in _tables(tomllib.loads(text), "")}
    assert table in names_in(page_of(table))


def _tables(value: Any, name: str) -> Iterator[str]:
    """The tables of a document, as the reference calls them."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield name
            for key, inner in one.items():
                step = "NAME" if name in NAMED else key
                yield from _tables(inner, f"{name}.{step}".removeprefix("."))


def test_every_link_to_and_from_the_reference_leads_somewhere() -> None:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    checked = 0
    for page in documents:
        for target, place in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" in target or (page not in PAGES and "configuration" not in target):
                continue
            to = (page.parent / target).resolve() if target else page
            assert to.exists(), (page, target)
            assert not place or place[1:] in _anchors(to), (page, target, place)
            checked += 1
    assert checked > 100


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub calls them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in found}
