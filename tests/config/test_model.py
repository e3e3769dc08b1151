"""The values that others see: defaults, prefixes, and no secret in a printed server."""

from pathlib import Path

from gatewright.config import Audit, Gateway, Limits, Origin, Restart, Server, Settings
from gatewright.config.build import build

ORIGIN = Origin(Path("mgp.toml"), 1)


def settings() -> Settings:
    return build([], {}, Path("/state"))


def test_without_a_file_everything_has_the_documented_default() -> None:
    found = settings()
    assert found.gateway == Gateway(
        name="gatewright",
        host="127.0.0.1",
        port=8420,
        unprefixed=False,
        anonymous="deny",
        allowed_origins=(),
        allowed_hosts=(),
        startup_wait_s=10.0,
    )
    assert found.limits == Limits(
        frame_bytes=1048576,
        server_frame_bytes=12582912,
        depth=64,
        keys=10000,
        values=50000,
        batch=50,
        header_bytes=32768,
        id_chars=128,
        connections_per_s=500,
        connections=None,
        connections_per_address=None,
        in_flight_per_server=1024,
        queue_bytes=262144,
        subscriptions_per_client=100,
        call_timeout_s=30.0,
        stall_ms=100,
        schema_depth=32,
        subschemas=1000,
        description_bytes=16384,
        tools_per_server=500,
        calls_per_minute=None,
    )
    assert found.audit == Audit(sync="process")
    assert (found.storage.path, found.servers, found.grants, found.profiles) == (
        Path("/state"),
        (),
        (),
        {},
    )


def test_the_restart_rule_has_the_defaults_of_the_specification() -> None:
    """MGP-11.5-4"""
    assert Restart() == Restart(
        policy="on_failure",
        max_restarts=5,
        restart_window_secs=300,
        backoff_base_ms=1000,
        backoff_max_ms=30000,
    )


def test_a_printed_server_shows_no_secret() -> None:
    server = Server(
        id="a",
        transport="http",
        url="http://h/hunter2",
        headers={"K": "hunter2"},
        env={"K": "hunter2"},
        origin=ORIGIN,
    )
    assert "hunter2" not in repr(server)
    assert "hunter2" not in f"{server} {[server]}"


def test_the_prefix_is_the_id_unless_another_one_is_written() -> None:
    assert Server(id="a.b", transport="stdio", origin=ORIGIN).prefix == "a.b"
    assert Server(id="a.b", transport="stdio", tool_prefix="ab", origin=ORIGIN).prefix == "ab"


def test_a_server_is_found_by_its_id() -> None:
    one = Server(id="one", transport="stdio", origin=ORIGIN)
    found = Settings(storage=settings().storage, servers=(one,))
    assert found.server("one") is one
    assert found.server("two") is None
