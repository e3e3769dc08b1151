"""Changes of hosts' files as they are shown: whole, but without the secrets around them."""

from pathlib import Path

import pytest

from gatewright.hosts.commands.changes import Change, masked, show
from gatewright.hosts.entry_splices import Record
from gatewright.hosts.host_table import HOSTS

CURSOR = HOSTS["cursor"]


def change(before: str | None, after: str | None) -> Change:
    record = Record(host="cursor", file="mcp.json")
    return Change(host=CURSOR, file=Path("mcp.json"), before=before, after=after, record=record)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('"GITHUB_TOKEN": "abc",', '"GITHUB_TOKEN": "***",'),
        ('"Authorization": "Bearer abcdef",', '"Authorization": "Bearer ***",'),
        ('"Authorization": "Bearer ${TOKEN}",', '"Authorization": "Bearer ${TOKEN}",'),
        ('"Authorization": "Bearer {env:TOKEN}",', '"Authorization": "Bearer {env:TOKEN}",'),
        ('bearer_token_env_var = "MY_KEY"', 'bearer_token_env_var = "MY_KEY"'),
        ("+API_KEY = 'abc'", "+API_KEY = '***'"),
        (" password: hunter two", " password: ***"),
        ('"args": ["-y", "ghp_abcdefghij1234567890"]', '"args": ["-y", "***"]'),
        ('"url": "https://u:secret@h/x"', '"url": "https://u:***@h/x"'),
        ('"command": "npx"', '"command": "npx"'),
        ('env = {A_SECRET = "x", B = "y"}', 'env = {A_SECRET = "***", B = "y"}'),
    ],
)
def test_secrets_of_a_line_are_not_shown(line: str, shown: str) -> None:
    assert masked(line) == shown


def test_a_change_is_a_unified_diff() -> None:
    assert show(change('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n')) == (
        '--- mcp.json\n+++ mcp.json\n@@ -1,3 +1,4 @@\n {\n-  "a": 1\n+  "a": 1,\n+  "b": 2\n }\n'
    )
    assert show(change(None, "{}\n")).startswith("--- /dev/null\n+++ mcp.json\n")
    assert show(change("{}\n", None)).startswith("--- mcp.json\n+++ /dev/null\n")
    assert show(change("{}", "{}")) == ""


def test_of_a_long_line_the_change_alone_is_shown() -> None:
    around = '"pad": "' + "x y " * 200 + '"'
    before = "{" + around + ', "PASSWORD": "hunter2"}'
    shown = show(change(before, before[:-1] + ', "b": 1}'))
    assert '+, "b": 1' in shown
    assert len(shown) < 300
    assert "hunter2" not in shown


def test_a_change_knows_what_it_does() -> None:
    pairs = [("a", "a"), (None, "a"), ("a", None), ("a", "b"), (None, None)]
    actions = [change(before, after).action for before, after in pairs]
    assert actions == ["unchanged", "created", "removed", "changed", "unchanged"]


def test_of_a_file_with_many_lines_the_change_alone_is_shown() -> None:
    """A diff of lines that are alike would take the square of them."""
    lines = "".join(f"{n % 200}\n" for n in range(20_001))
    shown = show(change(lines, lines + "last\n"))
    assert "+last" in shown
    assert len(shown) < 300
