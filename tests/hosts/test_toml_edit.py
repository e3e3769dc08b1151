"""A table more in a TOML text: at the end, or inside where the container does not allow that."""

import pytest

from gatewright.hosts.toml_edit import add, parse, remove
from gatewright.hosts.whole_file import CannotEdit, Unreadable

KEY = ("mcp_servers",)
ENTRY = {"url": "http://x/mcp", "http_headers": {"A": "b"}}
TABLE = '[mcp_servers.gw]\nurl = "http://x/mcp"\nhttp_headers = {A = "b"}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{TABLE}\n"),
        ("a = 1\n", f"a = 1\n\n{TABLE}\n"),
        ("a = 1", f"a = 1\n\n{TABLE}"),
        ("a = 1\r\n", "a = 1\r\n\r\n" + TABLE.replace("\n", "\r\n") + "\r\n"),
        (
            "mcp_servers = { a = { url = 'x' } } # c\n",
            'mcp_servers = { a = { url = \'x\' }, gw = {url = "http://x/mcp", http_headers = {A = "b"}}} # c\n',
        ),
    ],
)
def test_a_table_is_written_where_it_may_stand(before: str, after: str) -> None:
    found = add(before, KEY, "gw", ENTRY)
    assert found == after
    assert parse(found)["mcp_servers"]["gw"] == ENTRY


def test_a_table_goes_by_its_name() -> None:
    text = f'# mine\n[mcp_servers.a]\nurl = "x" # a\n\n{TABLE}\n\n[tui]\nb = 1\n'
    left = remove(text, KEY, "gw", emptied=False)
    assert left == '# mine\n[mcp_servers.a]\nurl = "x" # a\n\n[tui]\nb = 1\n'


def test_a_container_that_is_empty_then_goes_where_that_is_wanted() -> None:
    assert remove(f"\ufeffa = 1\n{TABLE}\n", KEY, "gw", emptied=True) == "\ufeffa = 1\n"


def test_what_stands_in_the_way_is_named() -> None:
    with pytest.raises(CannotEdit, match="`mcp_servers` is not a table"):
        add("mcp_servers = 3\n", KEY, "gw", ENTRY)
    with pytest.raises(CannotEdit, match=r"`mcp_servers\.gw` cannot be taken out"):
        remove("a = 1\n", KEY, "gw", emptied=False)


def test_a_text_that_cannot_be_read_names_its_line() -> None:
    with pytest.raises(Unreadable) as problem:
        parse("a = 1\nb =\n")
    assert problem.value.line == 2
    assert parse("# c\n") is None
