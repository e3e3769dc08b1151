from __future__ import annotations

import pytest

from gatewright.discovery.lexicon import Lexicon, lexicon
from gatewright.discovery.words import fold, stem

SMALL = Lexicon(
    "# verbs\ndelete remove|lösch|borr||消す|删除\nweather|wetter|||天気|天气\nforecast|vorhersag||||"
)


def concepts(held: Lexicon, word: str) -> tuple[str, ...]:
    return held(fold(word), stem(fold(word)))


@pytest.mark.parametrize("word", ["delete", "removed", "Löschen", "borrar", "消す", "消", "删除"])
def test_words_of_all_languages_mean_the_same(word: str) -> None:
    assert concepts(SMALL, word) == ("#0",)


def test_a_compound_means_its_parts() -> None:
    assert set(concepts(SMALL, "Wettervorhersage")) == {"#1", "#2"}


@pytest.mark.parametrize("word", ["zebra", "lo", "losgelassenheit", "天"])
def test_other_words_mean_nothing(word: str) -> None:
    assert concepts(SMALL, word) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("Datei", "file"), ("archivos", "file"), ("fichier", "file"), ("ファイル", "file"), ("文件", "file"),
     ("suchen", "search"), ("buscar", "search"), ("chercher", "search"), ("検索", "search"), ("搜索", "search"),
     ("erstelle", "create"), ("crear", "create"), ("créer", "create"), ("作成", "create"), ("创建", "create")],
)  # fmt: skip
def test_the_lexicon_of_the_package_knows_what_tools_are_about(one: str, other: str) -> None:
    assert set(concepts(lexicon(), one)) & set(concepts(lexicon(), other))


def test_no_word_means_too_much() -> None:
    assert len(concepts(lexicon(), "index")) <= 4
