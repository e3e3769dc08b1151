"""Which place keeps the secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from gatewright.config.keyring_secrets import KeyringSecrets
from gatewright.config.sealed_file import SealedFile
from gatewright.config.secrets import open_secrets
from gatewright.storage.errors import StoreError
from tests.audit.ring import use


@pytest.fixture(autouse=True)
def _ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = keyring.get_keyring()
    monkeypatch.setenv("TEST_RING", str(tmp_path / "ring.json"))
    use("file")
    yield
    keyring.set_keyring(before)


def test_a_keyring_is_preferred_and_the_sealed_file_is_there_without_one(tmp_path: Path) -> None:
    assert isinstance(open_secrets(tmp_path), KeyringSecrets)
    use("none")
    assert isinstance(open_secrets(tmp_path), SealedFile)


def test_what_the_first_secret_chose_stays_chosen(tmp_path: Path) -> None:
    use("none")
    open_secrets(tmp_path).put("token", "hunter2")
    use("file")
    assert open_secrets(tmp_path).get("token") == "hunter2"


def test_a_keyring_that_has_gone_is_an_error_and_no_empty_file(tmp_path: Path) -> None:
    open_secrets(tmp_path).put("token", "hunter2")
    use("none")
    with pytest.raises(StoreError, match="no keyring can be used here"):
        open_secrets(tmp_path)


def test_the_configuration_may_choose(tmp_path: Path) -> None:
    assert isinstance(open_secrets(tmp_path, "file"), SealedFile)
    assert isinstance(open_secrets(tmp_path, "keyring"), KeyringSecrets)
    use("none")
    with pytest.raises(StoreError, match="kept in the keyring"):
        open_secrets(tmp_path, "keyring")
