"""Who may give a command that only operators may give, at a terminal and without one."""

import os
import pwd
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.operators import local_user, operator
from gatewright.identity.keys import KeyStore
from tests.storage.parts import state_in


@pytest.fixture
def callers(tmp_path: Path) -> Iterator[KeyStore]:
    made = KeyStore(state_in(tmp_path), clock=time.time, random=os.urandom)
    yield made
    made.close()


def test_the_key_of_an_operator_speaks_for_that_operator(callers: KeyStore, tmp_path: Path) -> None:
    _, secret = callers.create("olga", kind="operator", by="test")
    assert operator(callers, secret, tmp_path) == "olga"


@pytest.mark.parametrize("key", ["agent", "unknown"])
def test_any_other_key_is_refused(callers: KeyStore, tmp_path: Path, key: str) -> None:
    _, secret = callers.create("bot", by="test")
    with pytest.raises(CliError, match="not the key of an operator") as caught:
        operator(callers, secret if key == "agent" else "gw_no", tmp_path)
    assert caught.value.exit_code == Exit.DENIED


def test_without_a_terminal_and_a_key_nobody_is_an_operator(
    callers: KeyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.cli.operators.is_terminal", lambda _: False)
    with pytest.raises(CliError, match="without a terminal") as caught:
        operator(callers, None, tmp_path)
    assert caught.value.exit_code == Exit.DENIED
    assert operator(callers, None, tmp_path, fresh=True)


@pytest.mark.parametrize("name", ["LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"])
def test_whoever_sits_at_a_terminal_is_the_user_of_the_process_and_no_other(
    callers: KeyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """No variable makes another operator of the same user, and the name is none that a key can have."""
    monkeypatch.setattr("gatewright.cli.operators.is_terminal", lambda _: True)
    monkeypatch.setenv(name, "olga")
    known = pwd.getpwuid(os.getuid()).pw_name
    assert operator(callers, None, tmp_path) == f"local:{known}"
    with pytest.raises(ValueError, match="no colon"):
        callers.create(f"local:{known}", kind="operator", by="test")


def test_a_user_without_a_name_is_known_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    assert local_user() == "local:4000000"
