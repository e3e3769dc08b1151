"""Words by which a text asks for a secret."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers import secret_words
from gatewright.servers.secret_words import speaks_as_us, wants_secret
from tests.servers.form_texts import ASKING, ASKING_TOO, HONEST, HONEST_TOO

_ASKS_ELSEWHERE = (
    "API-Schlüssel",
    "Ihr privater Schlüssel",
    "Zugangstoken",
    "Kreditkarte",
    "PUK",
    "Clave de API",
    "Código de verificación",
    "Número de tarjeta",
    "Clé secrète",
    "Jeton d\u2019accès",
    "Carte bancaire",
    "Chave da API",
    "Código de segurança",
    "Chiave API",
    "Codice di accesso",
    "API-sleutel",
    "Klucz API",
    "API-\u043a\u043b\u044e\u0447",
    "\u0422\u043e\u043a\u0435\u043d \u0434\u043e\u0441\u0442\u0443\u043f\u0430",
    "\u041a\u043e\u0434 \u0438\u0437 \u0421\u041c\u0421",
    "私钥",
    "秘密鍵",
    "アクセストークン",
    "APIキー",
    "액세스 토큰",
    "Bearer",
    "recovery words",
    "id_rsa",
    "JSESSIONID",
    "lozinka",
    "passord",
)
_HONEST_ELSEWHERE = (
    "Spalte für den Fremdschlüssel",
    "Codename",
    "Clave del proyecto",
    "Código postal",
    "Carte du réseau",
    "Mots clés",
    "Chave primária",
    "Chiave di lettura",
    "Sleutelwoorden",
    "Klucz tematyczny",
    "\u041c\u0430\u043a\u0441\u0438\u043c\u0443\u043c \u0442\u043e\u043a\u0435\u043d\u043e\u0432",
    "\u041a\u043b\u044e\u0447\u0435\u0432\u044b\u0435 \u0441\u043b\u043e\u0432\u0430",
    "最大トークン数",
    "シークレットモード",
    "최대 토큰 수",
    "Bearing of the ship",
    "Passau",
    "User passes per day",
    "Accessoires",
    "Zugang",
)


def test_keys_tokens_codes_and_cards_are_noticed_in_other_languages_too() -> None:
    """Passwords were; of these none was."""
    assert [one for one in _ASKS_ELSEWHERE if not wants_secret(one)] == []
    assert [one for one in _HONEST_ELSEWHERE if wants_secret(one)] == []


@given(st.text(max_size=300))
def test_looking_for_secrets_never_fails(text: str) -> None:
    assert wants_secret(text) in (True, False)


@given(st.text(max_size=300))
def test_looking_for_our_name_never_fails(text: str) -> None:
    assert speaks_as_us(f"{text} Gate-Wright") is True
    assert speaks_as_us(text) in (True, False)


def test_what_asks_for_a_secret_is_noticed_and_what_does_not_is_let_be() -> None:
    """Sixty texts each, of which 29 were noticed and one was taken for a secret by passwords and tokens alone."""
    assert (len(ASKING), len(HONEST)) == (60, 60)
    assert [one for one in ASKING if not wants_secret(one)] == []
    assert [one for one in HONEST if wants_secret(one)] == []


def test_texts_that_no_word_was_chosen_for() -> None:
    missed = [one for one in ASKING_TOO if not wants_secret(one)]
    taken = [one for one in HONEST_TOO if wants_secret(one)]
    assert missed == [
        "Enter the key you got from Mistral",
        "Login + pass",
        "BIP39 words",
    ]
    assert taken == ["Public SSH key", "Pin colour on the map"]


@pytest.mark.parametrize("word", ["key", "token", "code"])
def test_one_word_that_names_nothing_asks_for_nothing_without_others(word: str) -> None:
    assert wants_secret(word) == (word == "token")
    assert wants_secret(f"your OpenAI {word}") == (word != "code")
    assert wants_secret(f"backup {word}")


@pytest.mark.parametrize(
    "text",
    ["GitHub token, max 40 characters", "OTP (max 6 digits)", "PIN number", "secret, any number"],
)
def test_what_bounds_a_secret_does_not_make_it_a_number(text: str) -> None:
    assert wants_secret(text)


def test_small_letters_of_an_abbreviation_mean_something_else() -> None:
    assert [wants_secret(one) for one in ("PAT", "TAN", "tan lines", "expat")] == [
        True,
        True,
        False,
        False,
    ]


class Counting(frozenset[str]):
    """Counts the words that are looked up."""

    looked = 0

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        found = list(other)
        Counting.looked += len(found)
        return super().isdisjoint(found)


class Compared(str):
    """Counts with how many words it is compared."""

    __slots__ = ()
    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("words", ["code number", "cookie jar", "public my key", "number token"])
def test_a_text_takes_time_in_proportion_to_its_length(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may write as many words as it likes that count by what stands around them."""
    for name in ("_WITH_CODES", "_OF_BROWSERS", "_BEFORE_CODES", "_COUNTING", "_COUNTED"):
        monkeypatch.setattr(secret_words, name, Counting(getattr(secret_words, name)))
    monkeypatch.setattr(secret_words, "_PUBLIC", Compared(secret_words._PUBLIC))
    Counting.looked = Compared.times = 0
    text = f"{words} " * 2000
    assert not wants_secret(text)
    assert Counting.looked + Compared.times <= 8 * len(text.split())
