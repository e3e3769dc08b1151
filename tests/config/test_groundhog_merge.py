from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import Settings, SettingsError
from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.config.groundhog_merge import DOOR
from gatewright.config.oversight import AuditSink
from tests.config.groundhog_seed import SEED

ALERTS = AuditSink(name="groundhog-alerts", type="alert", format="groundhog", classes=("critical",))
EVERY = ("performance_events", "protocol_errors", "security_events", "tool_invocations")


def loaded(text: str, folder: Path = Path("/srv")) -> Settings:
    return build([parse(text, folder / "mgp.toml")], {}, folder / "state")


def sinks(text: str) -> dict[str, AuditSink]:
    return {one.name: one for one in loaded(text).audit.sinks}


def test_the_sinks_of_the_specification_are_sinks_of_the_record() -> None:
    """GRH-cfg-11, GRH-cfg-12 and GRH-cfg-13."""
    found = sinks(SEED)
    assert set(found) == {"groundhog-alerts", "groundhog-file", "groundhog-database"}
    assert found["groundhog-alerts"] == ALERTS
    file, database = found["groundhog-file"], found["groundhog-database"]
    assert (file.type, file.path) == ("file", "/var/log/groundhog/mcp-audit.log")
    assert (file.format, file.classes) == ("groundhog", EVERY)
    assert (database.type, database.dsn, database.retention_days) == (
        "postgres",
        "postgresql://user:pass@localhost/groundhog",
        90,
    )
    remote = sinks(SEED.replace("remote_sink = false", "remote_sink = true"))["groundhog-remote"]
    assert (remote.type, remote.url) == ("http", "https://audit.example.com/api/events")


def test_a_database_may_be_a_file() -> None:
    """GRH-cfg-12 (decision C-37)."""
    url = "postgresql://user:pass@localhost/groundhog"
    for given, place in (("sqlite:///audit.db", "audit.db"), ("sqlite:////var/a.db", "/var/a.db")):
        found = sinks(SEED.replace(url, given))["groundhog-database"]
        assert (found.type, found.path) == ("sqlite", place)


def test_nothing_goes_out_where_the_audit_is_off() -> None:
    """GRH-cfg-9: the gateway's own record is not the protocol's to switch off."""
    assert sinks(SEED.replace("[mcp.protocol.audit]\n", "[mcp.protocol.audit]\n#", 1)) != {}
    off = SEED.replace("# Enable audit logging\nenabled = true", "enabled = false")
    assert sinks(off) == {}


def test_sinks_of_our_own_stay_beside_them() -> None:
    own = '[[audit.sinks]]\nname = "siem"\ntype = "http"\nurl = "http://x"\n'
    assert {"siem", "groundhog-file"} <= set(sinks(own + SEED))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("", 90),
        ("[mcp.protocol.audit]\nretention_days = 7\n", 7),
        ("[audit]\nretention_days = 30\n[mcp.protocol.audit]\nretention_days = 7\n", 30),
        ("[audit]\nretention_days = 30\n[mcp.protocol]\n", 30),
    ],
)
def test_how_long_the_record_is_kept_is_said_by_our_table_first(text: str, days: int) -> None:
    """GRH-cfg-10."""
    assert loaded(text).audit.retention_days == days


def test_rate_limits_are_those_of_its_door() -> None:
    """GRH-rate-1, GRH-rate-2, GRH-rate-3, GRH-rate-4, GRH-rate-5 and GRH-rate-6."""
    text = SEED.replace("user_requests_per_second = 10", "user_requests_per_second = 77")
    calls = loaded(text).limits.doors[DOOR]
    assert calls.total is not None
    assert calls.caller is not None
    assert calls.tool is not None
    assert (calls.total.per_second, calls.total.per_minute) == (1000, 60_000)
    assert (calls.caller.per_second, calls.caller.per_minute) == (77, 600)
    assert (calls.tool.per_second, calls.tool.per_minute) == (5, 300)
    ours = "[limits.doors.groundhog.caller]\nper_second = 3\n"
    found = loaded(ours + SEED).limits.doors[DOOR]
    assert found.caller is not None
    assert (found.caller.per_second, found.tool) == (3, None)


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("/var/log/groundhog/mcp-audit.log", "", "audit.sinks.file_path"),
        ("postgresql://user:pass@localhost/groundhog", "", "audit.sinks.database_url"),
        ("postgresql://", "mysql://", "audit.sinks.database_url"),
        ("/etc/groundhog/certs/server.key", "", "transport.tls"),
        (
            "require_authentication = true",
            "require_authentication = false",
            "security.require_authentication",
        ),
        (
            'remote_sink = false\nremote_endpoint = "https://',
            'remote_sink = true\nremote_endpoint = "ftp://',
            "audit.sinks.remote_endpoint",
        ),
    ],
)
def test_what_cannot_work_is_said_when_it_is_read(before: str, after: str, key: str) -> None:
    assert before in SEED
    with pytest.raises(SettingsError) as caught:
        loaded(SEED.replace(before, after))
    assert [one.key for one in caught.value.problems] == [f"mcp.protocol.{key}"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[gateway]\nanonymous = "allow"\n', "gateway.anonymous"),
        ('[rooms]\nanonymous_profile = "response-only"\n', "rooms.anonymous_profile"),
    ],
)
def test_nobody_unknown_is_let_in_by_the_address_of_the_protocol(text: str, key: str) -> None:
    """GRH-cfg-5: the whole gateway is served there, so what holds for its own address holds for this one."""
    open_ = text + '[mcp.protocol.transport]\nhost = "0.0.0.0"\n'
    with pytest.raises(SettingsError) as caught:
        loaded(open_)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert "0.0.0.0" in problem.what
    assert 'host = "localhost" in [mcp.protocol.transport]' in problem.instead
    assert loaded(open_.replace("0.0.0.0", "localhost")).protocol is not None


def test_callers_without_a_key_are_let_in_where_the_gateway_does() -> None:
    """GRH-cfg-5."""
    text = SEED.replace("require_authentication = true", "require_authentication = false")
    found = loaded('[gateway]\nanonymous = "allow"\n' + text)
    assert found.protocol is not None
    assert not found.protocol.security.require_authentication


def test_certificates_are_looked_for_from_the_folder_of_their_configuration() -> None:
    """As every other file that it names: what was accepted is what lies there."""
    text = SEED.replace("/etc/groundhog/certs/ca.crt", "certs/ca.crt")
    protocol = loaded(text, Path("/srv/house")).protocol
    assert protocol is not None
    tls = protocol.transport.tls
    assert (tls.ca_file, tls.cert_file) == (
        "/srv/house/certs/ca.crt",
        "/etc/groundhog/certs/server.crt",
    )
    bare = loaded("[mcp.protocol]\n").protocol
    assert bare is not None
    assert bare.transport.tls.ca_file == ""
