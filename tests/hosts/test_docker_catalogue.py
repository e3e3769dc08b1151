"""Docker's catalogue entries as the commands they amount to."""

from typing import Any

import pytest

from gatewright.hosts.docker_catalogue import (
    catalogue_entries,
    is_entry,
    read_catalogued,
    template_meaning,
)
from gatewright.hosts.entry import Entry
from gatewright.hosts.model import Refused


def _read(data: dict[str, Any]) -> Any:
    entry = Entry(data, syntaxes=("mustache",), meaning=template_meaning(data))
    return read_catalogued(entry, "x")


def test_no_value_of_the_environment_stands_on_the_command_line() -> None:
    data = {
        "image": "i",
        "env": [{"name": "A", "value": "{{x.key}}"}],
        "secrets": [{"name": "x.key", "env": "B"}],
        "oauth": {"providers": [{"provider": "p", "secret": "x.oauth", "env": "C"}]},
    }
    server = _read(data)
    assert server.args == tuple("run --rm -i --init -e A -e B -e C i".split())
    assert server.env == {"A": "${X_KEY}", "B": "${secret:x.key}", "C": "${secret:x.oauth}"}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"image": "--privileged"},
        {"type": "poci", "tools": []},
        {"type": "remote", "remote": {}},
        {"remote": {"url": "https://a", "transport_type": "stdio"}},
        {"image": "i", "command": ["{{args|into}}"]},
        {"image": "i", "env": [{"name": "A B", "value": "x"}]},
    ],
)
def test_entries_without_a_server_are_refused(data: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        _read(data)


def test_an_older_remote_has_its_address_beside_it() -> None:
    server = _read({"sseEndpoint": "https://a.example/sse"})
    assert (server.transport, server.url) == ("sse", "https://a.example/sse")


def test_entries_are_found_in_all_three_kinds_of_file() -> None:
    entry = {"name": "n", "type": "server", "image": "i"}
    assert list(catalogue_entries({"registry": {"a": entry}})) == [("registry.a", "a", entry)]
    assert list(catalogue_entries({"servers": [{"snapshot": {"server": entry}}]})) == [
        ("servers.0", "n", entry)
    ]
    assert list(catalogue_entries(entry)) == [("", "n", entry)]
    assert list(catalogue_entries({"other": 1})) == []
    assert is_entry(entry)
    assert not is_entry({"type": "stdio", "name": "n"})
