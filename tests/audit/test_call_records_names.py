"""Names that somebody chose, in the record: no more of them is looked through than is kept."""

from __future__ import annotations

from hashlib import sha256

import pytest

from gatewright.audit import call_records
from gatewright.audit.call_records import end_text, intent_text, told_of
from gatewright.call import Call, Client, Target
from gatewright.secret_scanning import without_secrets
from gatewright.secret_scanning.held import Held
from tests.audit.parts import ANSWER, STAMP, a_call, a_tool


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


def test_how_much_of_a_name_is_looked_at_does_not_grow_with_the_secrets_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A caller may name a thousand such a second, and each place in which one may stand is looked at by itself."""
    looked: list[int] = []

    def counted(text: bytes) -> bytes:
        looked.append(text.count(b"token"))
        return without_secrets(text)

    monkeypatch.setattr(call_records, "without_secrets", counted)
    few, many = (f"wish://{'token: abcd1234 ' * count}{'x ' * 200}" for count in (3, 100))
    assert "abcd1234" not in call_records._chosen(few)
    assert call_records._chosen(few).startswith("wish://")
    said = call_records._chosen(many)
    digest = sha256(many.encode()).hexdigest()
    assert said == f"… ({len(many)} characters, SHA-256 {digest})"
    assert max(looked) <= 16


def test_a_name_of_ordinary_length_is_recorded_whole() -> None:
    for size in (10, 256, 257, 2048):
        assert call_records._chosen("n" * size) == "n" * size


def test_what_becomes_a_secret_is_recorded_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it stands in a record, and although it was recorded before."""
    held = Held()
    held.version = 1 << 40  # what is remembered of this one is nobody else's
    monkeypatch.setattr(call_records, "HELD", held)
    monkeypatch.setattr(call_records, "without_secrets", lambda text: _without(held, text))
    word = "correct-horse-battery"
    client = Client("2025-11-25", info={"name": word, "version": f"{word}-1"})
    calls = [
        a_call(1, a_tool(), client=client),
        a_call(2, None, target=Target("files", word), client=client),
        a_call(3, None, kind="prompt", name=word, target=Target("files", word), client=client),
    ]
    assert all(word in _recorded(call) for call in calls)
    held.hold("sink", [word])
    assert not any(word in _recorded(call) for call in calls)


def _without(held: Held, text: bytes) -> bytes:
    for value in held.values:
        text = text.replace(value.encode(), b"[redacted]")
    return text


def _recorded(call: Call) -> str:
    """Both records of a call."""
    told = told_of(call)
    end = end_text(call, ANSWER, STAMP, told, forwarded=True, duration_ms=1.0)
    return (intent_text(call, STAMP, told) + end).decode()
