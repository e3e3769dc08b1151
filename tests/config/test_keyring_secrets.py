"""Secrets in a keyring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from gatewright.config.keyring_secrets import KeyringSecrets, is_usable
from gatewright.storage.errors import StoreError
from tests.audit.ring import use


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A keyring that works; its file."""
    before = keyring.get_keyring()
    monkeypatch.setenv("TEST_RING", str(tmp_path / "ring.json"))
    use("file")
    yield tmp_path / "ring.json"
    keyring.set_keyring(before)


def test_the_keyring_has_the_value_and_the_folder_the_name_alone(
    ring: Path, tmp_path: Path
) -> None:
    held = KeyringSecrets(tmp_path / "state")
    held.put("token", "hunter2")
    assert "hunter2" in ring.read_text()
    written = [path.read_bytes() for path in (tmp_path / "state").iterdir()]
    assert not any(b"hunter2" in content for content in written)
    again = KeyringSecrets(tmp_path / "state")
    assert (again.names(), again.get("token"), again.get("other")) == (["token"], "hunter2", None)


def test_two_folders_do_not_see_each_other(ring: Path, tmp_path: Path) -> None:
    KeyringSecrets(tmp_path / "one").put("token", "first")
    KeyringSecrets(tmp_path / "two").put("token", "second")
    assert KeyringSecrets(tmp_path / "one").get("token") == "first"
    assert ring.exists()


def test_a_removed_secret_leaves_the_keyring(ring: Path, tmp_path: Path) -> None:
    held = KeyringSecrets(tmp_path)
    held.put("token", "hunter2")
    assert [held.remove("token"), held.remove("token")] == [True, False]
    assert ("hunter2" in ring.read_text(), held.names()) == (False, [])


def test_a_value_that_somebody_else_removed_can_be_forgotten(ring: Path, tmp_path: Path) -> None:
    held = KeyringSecrets(tmp_path)
    held.put("token", "hunter2")
    ring.unlink()
    assert held.get("token") is None
    assert held.remove("token")


@pytest.mark.usefixtures("ring")
def test_a_keyring_that_fails_is_an_error_with_a_way_out_and_without_its_words(
    tmp_path: Path,
) -> None:
    KeyringSecrets(tmp_path).put("token", "hunter2")
    use("locked")
    with pytest.raises(StoreError, match=r"KeyringLocked.*unlock it") as found:
        KeyringSecrets(tmp_path).get("token")
    assert "hunter2" not in str(found.value)


@pytest.mark.usefixtures("ring")
def test_only_a_keyring_that_keeps_things_counts() -> None:
    assert is_usable()
    use("none")
    assert not is_usable()
    use("forgets")
    assert not is_usable()


def test_damaged_names_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "secrets.names").write_text("{")
    with pytest.raises(StoreError, match=r"secrets.names cannot be read"):
        KeyringSecrets(tmp_path).names()
