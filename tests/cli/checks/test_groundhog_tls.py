from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.cli.checks.groundhog_tls import check_protocol
from gatewright.config import Settings
from gatewright.config.groundhog import Protocol, Tls, Transport
from gatewright.config.model import Storage
from tests.transport.authority import Authority


def settings(folder: Path, tls: Tls, host: str = "localhost") -> Settings:
    protocol = Protocol(transport=Transport(host=host, tls=tls))
    return Settings(storage=Storage(path=folder), protocol=protocol)


def test_certificates_that_are_not_there_are_a_problem_that_names_them(tmp_path: Path) -> None:
    """GRH-cfg-4: what `serve` would end with."""
    missing = Tls(enabled=True, cert_file="/nowhere/server.crt", key_file="/nowhere/server.key")
    (found,) = check_protocol(settings(tmp_path, missing))
    assert found.level == "problem"
    assert "/nowhere/server.crt" in found.why
    assert found.fix


@pytest.mark.parametrize(("host", "level"), [("localhost", "warning"), ("0.0.0.0", "problem")])
def test_the_switch_for_development_makes_it_a_warning_on_loopback(
    tmp_path: Path, host: str, level: str
) -> None:
    missing = Tls(enabled=True, cert_file="/no.crt", key_file="/no.key", development=True)
    (found,) = check_protocol(settings(tmp_path, missing, host))
    assert found.level == level


def test_certificates_that_can_be_used_are_well(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    good = Tls(
        enabled=True,
        cert_file=str(certificate),
        key_file=str(key),
        ca_file=str(authority.certificate),
    )
    assert [one.level for one in check_protocol(settings(tmp_path, good))] == ["ok"]
    broken = tmp_path / "broken.crt"
    broken.write_text("no PEM")
    bad = Tls(enabled=True, cert_file=str(broken), key_file=str(key), development=True)
    assert [one.level for one in check_protocol(settings(tmp_path, bad))] == ["problem"]


def test_nothing_is_said_where_there_is_no_tls(tmp_path: Path) -> None:
    assert list(check_protocol(settings(tmp_path, Tls()))) == []
    assert list(check_protocol(Settings(storage=Storage(path=tmp_path)))) == []
