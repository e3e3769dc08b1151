"""The doctor warns of every address that carries keys in clear text, running or not."""

from pathlib import Path

import pytest

from gatewright.cli.checks.listeners import check_listeners, clear_text_finding
from gatewright.config import Settings
from gatewright.config.groundhog import Protocol, Tls, Transport
from gatewright.config.model import Gateway, Storage
from tests.cli.gateways import serving
from tests.cli.shell import Shell

STORAGE = Storage(path=Path("/nowhere"))
PLACES = [
    ("0.0.0.0", True),
    ("::", True),
    ("192.0.2.7", True),
    ("nobody-knows.invalid", True),
    ("127.0.0.1", False),
    ("::1", False),
    ("localhost", False),
]


@pytest.mark.parametrize(("host", "open_"), PLACES)
def test_each_listener_of_the_configuration_is_judged(host: str, open_: bool) -> None:
    plain = Settings(storage=STORAGE, gateway=Gateway(host=host, port=8420))
    protocol = Settings(
        storage=STORAGE, protocol=Protocol(transport=Transport(host=host, port=9000))
    )
    secured = Settings(
        storage=STORAGE, protocol=Protocol(transport=Transport(host=host, tls=Tls(enabled=True)))
    )
    assert [one.subject for one in check_listeners(plain)] == [f"{host}:8420"] * open_
    assert [one.subject for one in check_listeners(protocol)] == [f"{host}:9000"] * open_
    assert list(check_listeners(secured)) == []


def test_the_finding_says_what_travels_and_what_to_do() -> None:
    found = clear_text_finding("192.0.2.7:1")
    assert found.level == "warning"
    assert "keys, tokens" in found.why
    assert "TLS" in found.fix
    assert 'host = "127.0.0.1"' in found.fix


def test_serve_warns_on_standard_error_also_when_quiet_and_the_doctor_warns_of_the_command_line(
    shell: Shell,
) -> None:
    """No file says 0.0.0.0: the gateway that runs does."""
    with serving(shell, "--host", "0.0.0.0", "--quiet") as served:
        found = shell.run("doctor", "--no-servers", "--json").document["findings"]
        [one] = [one for one in found if "without TLS" in one["what"]]
        assert one["level"] == "warning"
        assert one["subject"].startswith("0.0.0.0:")
        _, _, err = served.stop()
    assert "WARNING: 0.0.0.0:" in err
    assert "keys, tokens, calls and results can be read" in err
