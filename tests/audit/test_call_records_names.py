"""Names that somebody chose, in the record: no more of them is looked through than is kept."""

from __future__ import annotations

from hashlib import sha256

import pytest

from gatewright.audit import call_records
from gatewright.secret_scanning import without_secrets


@pytest.mark.parametrize("size", [2049, 100_000, 1_000_000])
@pytest.mark.parametrize("unit", ["password=abcd1234; ", "x"])
def test_no_more_of_a_name_is_looked_through_than_is_recorded_and_a_little(
    size: int, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def counted(text: bytes) -> bytes:
        looked.append(len(text))
        return without_secrets(text)

    monkeypatch.setattr(call_records, "without_secrets", counted)
    name = (unit * size)[:size]
    said = call_records._chosen(name)
    assert sum(looked) <= 2048 + 512
    assert len(said) < 2048 + 120
    assert "abcd1234" not in said
    digest = sha256(name.encode()).hexdigest()
    assert said.endswith(f"… ({size} characters, SHA-256 {digest})")


def test_no_half_of_a_secret_is_recorded_at_the_end_of_a_name() -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    for before in range(1900, 2600, 7):
        assert token[:8] not in call_records._chosen("x " * (before // 2) + token + " y" * 3000)


def test_a_name_of_ordinary_length_is_recorded_whole() -> None:
    for size in (10, 256, 257, 2048):
        assert call_records._chosen("n" * size) == "n" * size
