"""`server.json`, package by package."""

from typing import Any

import pytest

from gatewright.hosts.entry import Entry
from gatewright.hosts.model import Refused, Server
from gatewright.hosts.server_json import is_described, read_described


def _read(**data: Any) -> Server:
    return read_described({"name": "io.example/x", **data}, Entry({}))


def _package(**data: Any) -> Server:
    return _read(packages=[{"identifier": "pkg", "version": "1.2.3", **data}])


@pytest.mark.parametrize(
    ("data", "command", "args"),
    [
        ({"registryType": "npm"}, "npx", ("-y", "pkg@1.2.3")),
        ({"registry_type": "pypi"}, "uvx", ("pkg==1.2.3",)),
        ({"registry_name": "npm", "identifier": None, "name": "old"}, "npx", ("-y", "old@1.2.3")),
        ({"registryType": "oci"}, "docker", ("run", "-i", "--rm", "pkg:1.2.3")),
        ({"registryType": "oci", "identifier": "p:9"}, "docker", ("run", "-i", "--rm", "p:9")),
        ({"registryType": "nuget"}, "dnx", ("--yes", "pkg@1.2.3")),
        ({"registryType": "npm", "runtimeHint": "bunx"}, "bunx", ("pkg@1.2.3",)),
    ],
)
def test_a_package_becomes_the_command_that_runs_it(
    data: dict[str, Any], command: str, args: tuple[str, ...]
) -> None:
    server = _package(**data)
    assert (server.command, server.args) == (command, args)


def test_arguments_of_the_runner_and_of_the_package_stand_on_their_sides() -> None:
    server = _package(
        registryType="nuget",
        runtimeArguments=[{"type": "named", "name": "--yes"}],
        packageArguments=[
            {"type": "positional", "value": "mcp"},
            {"type": "named", "name": "--key", "isSecret": True, "isRequired": True},
            {"type": "named", "name": "--left-out", "choices": ["a"]},
        ],
    )
    key = "${secret:x.key}"
    assert server.args == ("--yes", "pkg@1.2.3", "--", "mcp", "--key", key)


def test_of_two_ways_the_one_is_taken_that_runs_nothing_here() -> None:
    entry = Entry({})
    data = {
        "name": "a/b",
        "packages": [{"registryType": "npm", "identifier": "p"}],
        "remotes": [{"transport_type": "streamable", "url": "https://r.example/mcp"}],
    }
    assert read_described(data, entry).url == "https://r.example/mcp"
    assert [note.level for note in entry.notes] == ["warning"]


@pytest.mark.parametrize(
    "data",
    [
        {"packages": []},
        {"packages": [{"registryType": "mcpb", "identifier": "https://x/y.mcpb"}]},
        {"packages": [{"registryType": "npm"}]},
        {"packages": [{"registryType": "npm", "identifier": "--evil"}]},
        {"packages": [{"registryType": "npm", "identifier": "p", "transport": {"type": "sse"}}]},
        {"remotes": [{"type": "stdio", "url": "https://a"}]},
        {"remotes": [{"type": "sse", "url": "file:///etc"}]},
        {
            "remotes": [
                {"type": "sse", "url": "https://a", "headers": [{"name": "A B", "value": "x"}]}
            ]
        },
    ],
)
def test_what_cannot_be_run_or_reached_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        _read(**data)


def test_only_a_table_with_packages_or_remotes_is_described() -> None:
    assert is_described({"packages": []})
    assert not is_described({"packages": {}})
    assert not is_described([])
