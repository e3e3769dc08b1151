"""Connect and disconnect as text edits: in our entry alone, and back byte for byte."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatewright.hosts.edit import entries, same_but
from gatewright.hosts.entries import local_entry, remote_entry
from gatewright.hosts.entry_splices import Record, apply, digest, take_back
from gatewright.hosts.host_table import HOSTS, Host
from tests.hosts.documents import documents
from tests.hosts.samples import samples

NAME = "gatewright"
CASES = samples()
IDS = [f"{host.id}: {what}" for host, what, _ in CASES]


def ways(host: Host) -> list[dict[str, Any]]:
    local = local_entry(host, NAME, ["/opt/x/gatewright", "bridge"], {"A": "1"})
    if host.remote is None:
        return [local]
    return [local, remote_entry(host, NAME, "http://127.0.0.1:8420/mcp", key="gw_1")]


def record(host: Host, *steps: Any) -> Record:
    return Record(host=host.id, file="somewhere", steps=steps)


@pytest.mark.parametrize(("host", "what", "text"), CASES, ids=IDS)
def test_every_file_gets_our_entry_alone_and_comes_back(host: Host, what: str, text: str) -> None:
    for entry in ways(host):
        after, step = apply(host, text, NAME, entry)
        assert entries(host, after) == {**entries(host, text), NAME: entry}
        found, left = take_back(host, after, record(host, step), NAME)
        assert (found, left.steps) == (text, ())


@pytest.mark.parametrize(("host", "what", "text"), CASES, ids=IDS)
def test_what_is_inserted_leaves_every_line_of_the_file(host: Host, what: str, text: str) -> None:
    after, _ = apply(host, text, NAME, ways(host)[-1])
    rest = iter(after)
    assert all(letter in rest for letter in text), "a character has gone"


@pytest.mark.parametrize(("host", "what", "text"), CASES, ids=IDS)
def test_the_ends_of_lines_stay_of_one_kind(host: Host, what: str, text: str) -> None:
    after, _ = apply(host, text, NAME, ways(host)[-1])
    if "\r\n" in text:
        assert after.count("\n") == after.count("\r\n")
    else:
        assert "\r" not in after
    if text:
        assert after.endswith("\n") == text.endswith("\n") or "\n" not in text.strip()


@pytest.mark.parametrize(("host", "what", "text"), CASES, ids=IDS)
def test_a_file_that_was_edited_since_loses_our_entry_alone(
    host: Host, what: str, text: str
) -> None:
    after, step = apply(host, text, NAME, ways(host)[0])
    comment = "\n// later\n" if host.syntax in {"json", "jsonc"} else "\n# later\n"
    found, left = take_back(host, after + comment, record(host, step), NAME)
    assert found == text + comment
    assert left.steps == ()


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_a_file_that_was_not_there_goes_again(host: Host) -> None:
    for entry in ways(host):
        after, step = apply(host, None, NAME, entry)
        assert step.before == ""
        found, left = take_back(host, after, record(host, step), NAME)
        assert (found, left.steps) == (None, ())


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_two_entries_of_ours_go_in_any_order(host: Host) -> None:
    text, first = apply(host, None, "one", local_entry(host, "one", ["/a", "b"]))
    text, second = apply(host, text, "two", local_entry(host, "two", ["/a", "c"]))
    both = record(host, first, second)
    alone, left = take_back(host, text, both, "one")
    assert alone is not None
    assert list(entries(host, alone)) == ["two"]
    assert take_back(host, alone, left, "two")[0] is None
    alone, left = take_back(host, text, both, "two")
    assert alone is not None
    assert take_back(host, alone, left, "one")[0] is None


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_originals_that_were_taken_out_come_back(host: Host) -> None:
    text, _ = apply(host, None, "files", local_entry(host, "files", ["npx", "-y", "files"]))
    text, _ = apply(host, text, "mail", local_entry(host, "mail", ["npx", "-y", "mail"]))
    entry = ways(host)[0]
    after, step = apply(host, text, NAME, entry, taken=["files", "mail"])
    assert entries(host, after) == {NAME: entry}
    assert take_back(host, after, record(host, step), NAME)[0] == text
    changed, _ = apply(host, after, "new", local_entry(host, "new", ["/new", "x"]))
    found, _ = take_back(host, changed, record(host, step), NAME)
    assert found is not None
    expected = {**entries(host, text), "new": local_entry(host, "new", ["/new", "x"])}
    assert entries(host, found) == expected


def test_an_entry_that_was_edited_is_taken_out_by_its_name() -> None:
    host = HOSTS["cursor"]
    after, step = apply(host, '{\n  "a": 1\n}\n', NAME, {"url": "http://x/mcp"})
    changed = after.replace("http://x/mcp", "http://y/mcp")
    assert take_back(host, changed, record(host, step), NAME)[0] == '{\n  "a": 1\n}\n'


def test_an_entry_that_is_gone_leaves_the_file_as_it_is() -> None:
    host = HOSTS["cursor"]
    _, step = apply(host, '{"a": 1}', NAME, {"url": "http://x/mcp"})
    assert take_back(host, '{"b": 1}', record(host, step), NAME)[0] == '{"b": 1}'


def test_without_a_record_the_entry_is_taken_out_by_its_name() -> None:
    host = HOSTS["cursor"]
    after, _ = apply(host, '{\n  "mcpServers": {}\n}\n', NAME, {"url": "http://x/mcp"})
    found, left = take_back(host, after, record(host), NAME)
    assert (found, left.steps) == ('{\n  "mcpServers": {}\n}\n', ())


def test_a_file_that_was_not_there_goes_although_its_entry_was_edited() -> None:
    host = HOSTS["cursor"]
    after, step = apply(host, None, NAME, {"url": "http://x/mcp"})
    changed = after.replace("http://x/mcp", "http://y/mcp")
    assert take_back(host, changed, record(host, step), NAME)[0] is None


def test_no_file_and_an_empty_file_are_told_apart() -> None:
    assert digest(None) == ""
    assert len(digest("")) == 64


@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents())
def test_any_json_comes_back_byte_for_byte(text: str) -> None:
    host = HOSTS["cursor"]
    entry = {"url": "http://127.0.0.1:8420/mcp", "headers": {"Authorization": "Bearer x"}}
    after, step = apply(host, text, NAME, entry)
    assert entries(host, after) == {**entries(host, text), NAME: entry}
    rest = iter(after)
    assert all(letter in rest for letter in text), "a character has gone"
    assert take_back(host, after, record(host, step), NAME) == (text, record(host))
    edited, expected = after + "\n// since\n", text + "\n// since\n"
    assert take_back(host, edited, record(host, step), NAME) == (expected, record(host))


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents(), more=st.sampled_from(["a", "zz"]))
def test_any_json_without_a_record_loses_our_entry_alone(text: str, more: str) -> None:
    host = HOSTS["cursor"]
    if more not in entries(host, text):
        text, _ = apply(host, text, more, {"command": "x"})
    after, _ = apply(host, text, NAME, {"url": "http://127.0.0.1:8420/mcp"})
    found, _ = take_back(host, after, record(host), NAME)
    assert found is not None
    assert same_but(host, found, text, ())
    assert entries(host, found) == entries(host, text)


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents())
def test_originals_of_any_json_come_back_byte_for_byte(text: str) -> None:
    host = HOSTS["cursor"]
    taken = list(entries(host, text))
    after, step = apply(host, text, NAME, {"url": "x"}, taken)
    assert entries(host, after) == {NAME: {"url": "x"}}
    assert take_back(host, after, record(host, step), NAME)[0] == text
