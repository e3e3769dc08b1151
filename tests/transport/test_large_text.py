"""Large texts are looked through in pieces, with the same answer as at once."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewright.transport import large_text
from gatewright.transport.large_text import holds_any, is_utf8


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_text, "_PIECE", 4)


@settings(max_examples=40)
@given(
    text=st.binary(max_size=40),
    marks=st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=3),
)
async def test_a_mark_is_found_wherever_it_stands(text: bytes, marks: list[bytes]) -> None:
    assert await holds_any(text, marks) == any(one in text for one in marks)
    for at in range(len(text)):
        assert await holds_any(text[:at] + marks[0] + text[at:], marks)


@settings(max_examples=40)
@given(text=st.text(max_size=20), broken=st.binary(max_size=6))
async def test_utf8_is_judged_as_by_python(text: str, broken: bytes) -> None:
    assert await is_utf8(text.encode("utf-8", "replace"))
    mixed = text.encode("utf-8", "replace") + broken + text.encode("utf-8", "replace")
    try:
        mixed.decode()
        good = True
    except UnicodeDecodeError:
        good = False
    assert await is_utf8(mixed) == good


@pytest.mark.parametrize("look", [lambda text: holds_any(text, [b"!"]), is_utf8])
async def test_others_have_a_turn_between_two_pieces(look: object) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await look(b"a" * 400)  # type: ignore[operator]
    task.cancel()
    assert turns >= 100
