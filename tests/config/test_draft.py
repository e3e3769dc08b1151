"""Changes that keep what a hand wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.config.draft import Draft
from gatewright.config.problems import SettingsError

FILE = Path("mgp.toml")

TEXT = """\
#:schema somewhere.json
# The head of the file.

[gateway]
port = 9000   # ours

# The first one.
[[servers]]
id = "a"
command = "x"     # why
# belongs to a

[servers.env]
A = "1"

# Who may call what.
[[grants]]
agent = "bot"
server = "a"

[[servers]]
id = "b"
url = "http://127.0.0.1:1/mcp"
tools.read.enabled = true
"""


def draft(text: str = TEXT) -> Draft:
    return Draft(text, FILE)


def lines_lost(before: str, after: str) -> list[str]:
    kept = after.splitlines()
    return [line for line in before.splitlines() if line not in kept]


def test_a_new_table_comes_last_with_its_comment_and_nothing_else_moves() -> None:
    ours = draft()
    ours.append("servers", {"id": "c", "env": {"K": "v"}, "args": ["-y"]}, "imported")
    assert ours.text == TEXT + (
        '\n# imported\n[[servers]]\nid = "c"\nargs = ["-y"]\n\n[servers.env]\nK = "v"\n'
    )


def test_a_table_begins_an_empty_text() -> None:
    ours = draft("")
    ours.append("servers", {"id": "c"})
    assert ours.text == '[[servers]]\nid = "c"\n'


def test_a_removed_table_takes_its_comments_along_and_leaves_those_of_others() -> None:
    ours = draft()
    ours.remove("servers", 0)
    assert lines_lost(TEXT, ours.text) == [
        "# The first one.",
        'id = "a"',
        'command = "x"     # why',
        "# belongs to a",
        "[servers.env]",
        'A = "1"',
    ]
    assert "\n\n\n" not in ours.text


def test_the_last_table_can_be_removed() -> None:
    ours = draft('# head\n\n[[servers]]\nid = "a"\n')
    ours.remove("servers", 0)
    assert ours.text == "# head\n"


def test_what_speaks_to_editors_is_never_removed() -> None:
    ours = draft('#:schema x\n[[servers]]\nid = "a"\n')
    ours.remove("servers", 0)
    assert ours.text == "#:schema x\n"


def test_a_table_is_replaced_where_it_stands() -> None:
    ours = draft()
    ours.replace("servers", 0, {"id": "a", "command": "y"})
    assert ours.text.index('command = "y"') < ours.text.index("# Who may call what.")
    assert [one["id"] for one in ours.data["servers"]] == ["a", "b"]
    assert "env" not in ours.data["servers"][0]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("gateway", "port"), 1, "port = 1   # ours"),
        (("gateway", "name"), "n", 'name = "n"'),
        (("servers", 0, "command"), "y", 'command = "y"     # why'),
        (("servers", 0, "enabled"), False, "enabled = false"),
        (("servers", 1, "tools", "read", "enabled"), False, "tools.read.enabled = false"),
        (("servers", 1, "tools", "w.x", "enabled"), False, 'tools."w.x".enabled = false'),
        (("servers", 0, "tools", "w.x", "enabled"), False, '[servers.tools."w.x"]'),
        (("limits", "depth"), 5, "[limits]"),
    ],
)
def test_a_value_is_changed_in_its_line_or_gets_one(path: Any, value: Any, line: str) -> None:
    ours = draft()
    ours.put(path, value)
    found: Any = ours.data
    for key in path:
        found = found[key]
    assert found == value
    assert line in ours.text.splitlines()
    assert len(lines_lost(TEXT, ours.text)) <= 1
    assert ours.text.count("#") == TEXT.count("#")


def test_a_value_that_is_there_already_changes_nothing() -> None:
    ours = draft()
    ours.put(("gateway", "port"), 9000)
    assert ours.text == TEXT


def test_one_element_of_a_list_over_many_lines_keeps_the_comments_beside_it() -> None:
    ours = draft('[[servers]]\nid = "a"\nargs = [\n  "--token", # which\n  "hunter2", # what\n]\n')
    ours.put(("servers", 0, "args", 1), "${secret:t}")
    assert ours.text.splitlines()[3:5] == ['  "--token", # which', '  "${secret:t}", # what']


def test_tables_on_one_line_are_changed_on_that_line() -> None:
    text = 'servers = [{ id = "a", env = { K = "v" } }] # all\nlast = 1\n'
    ours = draft(text)
    ours.put(("servers", 0, "env", "K"), "w")
    ours.put(("servers", 0, "tools", "x", "enabled"), False)
    ours.append("servers", {"id": "b", "env": {"L": "v"}})
    ours.replace("servers", 1, {"id": "c"})
    assert ours.data == {
        "servers": [
            {"id": "a", "env": {"K": "w"}, "tools": {"x": {"enabled": False}}},
            {"id": "c"},
        ],
        "last": 1,
    }
    ours.remove("servers", 0)
    assert ours.data["servers"] == [{"id": "c"}]
    assert ours.text.endswith("# all\nlast = 1\n")


def test_what_cannot_be_kept_is_refused_with_its_line() -> None:
    ours = draft('[[servers]]\nid = "a"\nenv = "text"\n')
    with pytest.raises(SettingsError, match=r"mgp.toml:3.*in an editor"):
        ours.put(("servers", 0, "env", "K"), "v")
    assert ours.text == '[[servers]]\nid = "a"\nenv = "text"\n'


_KEY = st.sampled_from(["id", "command", "x y", "enabled", "ü"])
_PIECES = st.lists(
    st.sampled_from(
        [
            "# a comment\n",
            "\n",
            '[[servers]]\nid = "a"\n',
            "[[servers]]\nenv = { A = 1 } # e\n",
            "[[servers]]\n  args = [ # deep\n    'x',\n  ]\n",
            "[[grants]]\nagent = '''\n[[servers]]\n'''\n",
            '[servers.env]\n"a b" = "1"\n',
            "  [servers.tools.read]\n  enabled = true\n",
            "[gateway]\nport = 1",
            "[limits]\n# none\n",
        ]
    ),
    max_size=9,
)
_TABLE = st.dictionaries(
    _KEY, st.one_of(st.booleans(), st.text(max_size=9), st.dictionaries(_KEY, st.booleans()))
)


def _change(held: list[Any], ours: Draft, table: dict[str, Any], number: int, what: str) -> None:
    """The change to the data, and the same change to the text."""
    if what == "append":
        held.append(table)
        ours.append("servers", table)
    elif what == "remove":
        del held[number]
        ours.remove("servers", number)
    elif what == "replace":
        held[number] = table
        ours.replace("servers", number, table)
    else:
        held[number].setdefault("tools", {}).setdefault("read", {})["enabled"] = False
        ours.put(("servers", number, "tools", "read", "enabled"), False)


@given(_PIECES, _TABLE, st.integers(0, 3), st.sampled_from(["append", "remove", "replace", "put"]))
def test_a_change_does_what_it_says_to_whatever_file_or_refuses(
    pieces: list[str], table: dict[str, Any], number: int, what: str
) -> None:
    text = "".join(piece if piece.endswith("\n") else piece + "\n" for piece in pieces)
    try:
        wanted: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    held = wanted.setdefault("servers", [])
    if not isinstance(held, list) or (number >= len(held) and what != "append"):
        return
    ours = draft(text)
    try:
        _change(held, ours, table, number, what)
    except SettingsError:
        assert ours.text == text
        return
    assert tomllib.loads(ours.text) == {key: one for key, one in wanted.items() if one != []}
    if what in {"append", "put"}:
        assert ours.text.count("# ") >= text.count("# ")


def test_a_table_where_an_array_belongs_is_refused() -> None:
    for change in (
        lambda ours: ours.append("servers", {"id": "a"}),
        lambda ours: ours.remove("servers", 0),
        lambda ours: ours.replace("servers", 0, {}),
        lambda ours: ours.put(("servers", 0, "enabled"), False),
    ):
        with pytest.raises(SettingsError, match=r"mgp.toml:1: servers"):
            change(draft("[servers]\nid = 1\n"))  # type: ignore[no-untyped-call]
