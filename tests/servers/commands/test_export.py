"""`server export`."""

from __future__ import annotations

import tomllib
from typing import Any

from gatewright.config import load
from tests.cli.shell import Shell

FILE = """\
[gateway]
name = "my gateway"

[[servers]]
id = "a"
command = "x"
args = ["--token", "${secret:token}"]

[servers.env]
KEY = "${KEY}"

[servers.tools."read.it"]
enabled = false

[[servers]]
id = "b"
url = "http://127.0.0.1:1/mcp"
"""


def entry(text: str) -> Any:
    (found,) = tomllib.loads(text)["servers"]
    return found


def test_an_exported_server_is_equal_wherever_it_is_loaded(shell: Shell) -> None:
    """MGP-15.2-8"""
    file = shell.write("mgp.toml", FILE)
    (shell.folder / "elsewhere").mkdir()
    for name in ("a", "b"):
        done = shell.run("server", "export", name)
        there = shell.write("elsewhere/mgp.toml", done.out)
        environ = {"KEY": "k", "HOME": str(shell.folder)}
        ours, theirs = (load(path, environ=environ) for path in (file, there))
        (found,) = theirs.servers
        held = ours.server(name)
        assert held is not None
        for field in set(found.__struct_fields__) - {"origin", "problem", "cwd"}:
            assert getattr(found, field) == getattr(held, field), field
    assert entry(shell.run("server", "export", "a").out)["cwd"] == str(shell.folder)
    assert shell.run("server", "export", "a", "--json").document["env"] == {"KEY": "${KEY}"}


def test_the_gateway_itself_is_a_server_that_speaks_mgp(shell: Shell) -> None:
    """MGP-15.2-8"""
    file = shell.write("mgp.toml", FILE)
    found = entry(shell.run("server", "export").out)
    assert (found["id"], found["transport"]) == ("my-gateway", "stdio")
    assert found["args"][-3:] == ["bridge", "--config", str(file)]
    assert "security" in found["mgp"]["extensions"]


def test_an_unknown_server_is_named(shell: Shell) -> None:
    done = shell.run("server", "export", "nobody")
    assert (done.code, done.error["code"]) == (2, "not_found")
