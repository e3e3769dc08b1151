"""The configuration of the specification, as it is printed there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from gatewright.config import SettingsError
from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.config.groundhog import Protocol
from tests.config.groundhog_seed import SEED


def loaded(text: str, folder: Path) -> Protocol:
    found = build([parse(text, folder / "mgp.toml")], {}, folder / "state").protocol
    assert found is not None
    return found


def test_the_whole_file_of_the_specification_loads_unchanged(tmp_path: Path) -> None:
    """GRH-cfg-14: what it says is what holds, value by value, without a word of doubt."""
    settings = build([parse(SEED, tmp_path / "mgp.toml")], {}, tmp_path / "state")
    assert settings.warnings == ()
    held = msgspec.to_builtins(settings.protocol)
    written = tomllib.loads(SEED)["mcp"]["protocol"]

    def holds(said: object, found: object, where: str) -> None:
        if isinstance(said, dict):
            assert isinstance(found, dict)
            for key, value in said.items():
                holds(value, found[key], f"{where}.{key}")
        else:
            assert said == found, where

    holds(written, held, "mcp.protocol")


def test_every_value_knows_where_it_was_written(tmp_path: Path) -> None:
    """GRH-cfg-14."""
    settings = build([parse(SEED, tmp_path / "mgp.toml")], {}, tmp_path / "state")
    lines = SEED.splitlines()
    for key in ("version", "transport.port", "transport.tls.ca_file", "audit.sinks.remote_sink"):
        origin = settings.origins[f"mcp.protocol.{key}"]
        assert origin.file == tmp_path / "mgp.toml"
        assert lines[origin.line - 1].startswith(key.split(".")[-1])


def test_what_is_not_written_is_the_specifications_value(tmp_path: Path) -> None:
    """GRH-cfg-1, GRH-cfg-3, GRH-cfg-5, GRH-cfg-6, GRH-cfg-7, GRH-cfg-8 and GRH-cfg-10."""
    found = loaded("[mcp.protocol]\n", tmp_path)
    assert found == Protocol()
    assert found.version == "1.0.0"
    transport = found.transport
    assert (transport.type, transport.host, transport.port, transport.path) == (
        "websocket",
        "localhost",
        8080,
        "/mcp",
    )
    security = found.security
    assert security.require_authentication is True
    assert security.authentication_timeout == 30
    assert security.session_timeout == 3600
    assert security.max_concurrent_sessions == 100
    assert found.audit.retention_days == 90


def test_no_table_is_no_protocol_of_its_own(tmp_path: Path) -> None:
    assert build([parse("", tmp_path / "mgp.toml")], {}, tmp_path).protocol is None


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('[mcp.protocol.transport]\ntype = "pigeon"', "mcp.protocol.transport.type"),
        ("[mcp.protocol.transport]\nport = 70000", "mcp.protocol.transport.port"),
        ('[mcp.protocol.transport]\npath = "mcp"', "mcp.protocol.transport.path"),
        ("[mcp.protocol.security]\nsession_timeout = 0", "mcp.protocol.security.session_timeout"),
        (
            "[mcp.protocol.security]\nmax_concurrent_sessions = 0",
            "mcp.protocol.security.max_concurrent_sessions",
        ),
        (
            "[mcp.protocol.rate_limits]\nuser_requests_per_second = 0",
            "mcp.protocol.rate_limits.user_requests_per_second",
        ),
        ("[mcp.protocol.audit]\nretention_days = -1", "mcp.protocol.audit.retention_days"),
        (
            "[mcp.protocol.performance]\nexecution_time_warning = 0",
            "mcp.protocol.performance.execution_time_warning",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_line(
    tmp_path: Path, table: str, key: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        loaded(table + "\n", tmp_path)
    (problem,) = caught.value.problems
    assert (problem.key, problem.origin.line) == (key, 2)


def test_switches_say_which_classes_of_events_go_out(tmp_path: Path) -> None:
    """GRH-cfg-9."""
    every = ("performance_events", "protocol_errors", "security_events", "tool_invocations")
    assert loaded("[mcp.protocol]\n", tmp_path).audit.classes == every
    for name in every:
        text = f"[mcp.protocol.audit]\nlog_{name} = false\n"
        assert loaded(text, tmp_path).audit.classes == tuple(one for one in every if one != name)
    off = "[mcp.protocol.audit]\nenabled = false\n"
    assert loaded(off, tmp_path).audit.classes == ()


def test_a_repr_tells_no_password() -> None:
    found = loaded(SEED, Path("/nowhere"))
    assert "user:pass" not in repr(found.audit.sinks)
