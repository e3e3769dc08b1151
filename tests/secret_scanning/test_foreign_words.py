"""What secrets are called in other languages."""

from __future__ import annotations

import json

import pytest

from gatewright.secret_scanning.foreign_words import FOREIGN_HINT, FOREIGN_WORD, is_foreign_name
from gatewright.secret_scanning.patterns import Pattern


@pytest.mark.parametrize(
    "word", ["contraseña", "Пароль", "密码", "mật khẩu", "lösenord", "wachtwoord"]
)
def test_a_word_is_known_in_each_spelling_of_json(word: str) -> None:
    """GRH-out-1"""
    assert is_foreign_name(f"db_{word}")
    assert FOREIGN_WORD.fits(word)
    for raw in (json.dumps(word), json.dumps(word, ensure_ascii=False)):
        assert Pattern(FOREIGN_HINT).hits(raw.encode())


def test_other_words_are_none() -> None:
    """GRH-out-1"""
    assert not any(map(is_foreign_name, ("palabra clave", "password", "passage", "параметр")))
