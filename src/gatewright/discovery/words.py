"""Splits texts into words: camel and snake case, accents, English stems, runs of CJK; `Words`: each one's concepts and vector row.

Every word is looked at once: `Words.of` remembers, up to a bound, what a word stands for: its stem, the concepts of the
lexicon (`lexicon`) and its row in the table of word vectors.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

import msgspec

from gatewright.patterns import Pattern
from gatewright.secret_scanning.unicode_forms import normal

__all__ = ["STOP", "Word", "Words", "bigrams", "fold", "parts", "split", "stem"]

_HUMP = Pattern(r"([a-z0-9])([A-Z])")
_CJK = Pattern(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]+")
_WORD = Pattern(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]+|\p{Hangul}+|[0-9]+|[\p{L}\p{M}]+")
_PUNCTUATION = (
    (0xA0, 0xBF),
    (0x2010, 0x2027),
    (0x2190, 0x21FF),
    (0x3000, 0x3003),
    (0x3008, 0x3011),
    (0xFF01, 0xFF0F),
    (0xFF1A, 0xFF20),
)
"""Latin, general, arrows, CJK and full width."""
_SPACES = {
    **{code: " " for code in range(128) if not chr(code).isalnum()},
    **{code: " " for start, end in _PUNCTUATION for code in range(start, end + 1)},
}
_REMEMBERED = 100_000
_REMEMBERED_CHARS = 32
_REMEMBERED_PARTS = 8
"""Of what is longer, or stands for more, nothing is remembered: anybody can ask for as much of it as he likes."""
_LONGEST = 40
_WRITTEN = 200

STOP = frozenset(
    """
    a an the and or of to in on at for from by with into as is are was were be been it its this that these those
    i me my we our you your he she they them his her their who whom which what how when where why do does did
    can could will would shall should may might must have has had not no if then than so but about please want need
    there here am just any some also using use used via s t d ll re ve let us im
    der die das den dem des ein eine einen einem einer und oder von zu zum zur im in mit fur auf ist sind mir mich ich
    wie was wer welche welcher welches bitte kannst du uber bei nach aus
    el la los las un una unos unas y o de del al en con por para es son me mi que como cual cuales quiero necesito
    le les des du et ou dans sur avec pour est sont je moi quel quelle quels quelles
    """.split()
)
"""Words of questions in English, German, Spanish and French, folded, that say nothing about a tool."""


class Word(msgspec.Struct, frozen=True):
    """What a word stands for. `row` is that of the table of vectors, -1 where it has none; `weight` is how much it says (0 to 1)."""

    term: str
    concepts: tuple[str, ...]
    row: int
    weight: float


def fold(text: str) -> str:
    """Without case and accents: `Fläche` and `flache` are one."""
    if text.isascii():
        return text.casefold()
    said = normal("NFKC", text).casefold()
    parts = normal("NFD", said)
    # The voicing marks of kana are part of the letter.
    kept = "".join(
        one for one in parts if not unicodedata.combining(one) or "\u3040" <= one <= "\u30ff"
    )
    return normal("NFC", kept)


def split(text: str, most: int) -> list[str]:
    """The words of the first `most` characters in their order, as they are written: `readFile` is one, for `Words.of` to take apart."""
    return text[:most].translate(_SPACES).split()


def parts(written: str) -> list[str]:
    """The parts of one of `split`, in lower case, accents kept: at humps, between letters and digits, around CJK script."""
    said = _HUMP.sub(lambda found: f"{found[1]} {found[2]}", written)
    if not said.isascii():
        said = _CJK.sub(lambda found: f" {found[0]} ", said)
    return [one.lower() for one in _WORD.findall(said)]


def bigrams(run: str) -> list[str]:
    """The pairs of neighbours in a run of script without spaces; the run itself where it has one character."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def stem(word: str) -> str:
    """An English word without its ending: `translation`, `translate` and `translated` are one. For folded words."""
    if len(word) <= 3 or not word.isascii():
        return word
    for ending, shorter in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: len(word) - len(ending)] + shorter
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
        word = word[:-1]
    for ending in ("ation", "ion", "or", "er"):
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= 4
            and (ending != "ion" or word[-4] in "ts")
        ):
            return word[: len(word) - len(ending)] + ("at" if ending == "ation" else "")
    return word.removesuffix("e") if len(word) > 4 else word


_ENDINGS = (
    ("sses", "ss"),
    ("ies", "y"),
    ("ations", "ation"),
    ("ions", "ion"),
    ("ers", "er"),
    ("ors", "or"),
    ("ings", ""),
    ("ing", ""),
    ("ied", "y"),
    ("ed", ""),
    ("ss", "ss"),
    ("us", "us"),
    ("is", "is"),
    ("s", ""),
)


class Words:
    """What words stand for, remembered. `concepts` and `row` are asked once for a word."""

    def __init__(
        self,
        concepts: Callable[[str, str], tuple[str, ...]],
        row: Callable[[str], tuple[int, float]],
        longest: Callable[[str], int] = lambda letter: 8,
    ) -> None:
        """`concepts` takes a folded word and its stem; `row` takes a word in lower case, and says row and weight; `longest` says
        how long a word of a script without spaces that begins with this letter is at most."""
        self._longest = longest
        self._concepts = concepts
        self._row = row
        self._known: dict[str, tuple[Word, ...]] = {}

    def of(self, written: str) -> tuple[Word, ...]:
        """What one word of `split` stands for; `readFile` and a run of CJK script stand for several."""
        known = self._known.get(written)
        if known is None:
            known = tuple(one for part in parts(written[:_WRITTEN]) for one in self._look(part))
            if len(written) <= _REMEMBERED_CHARS and len(known) <= _REMEMBERED_PARTS:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[written] = known
        return known

    def all_of(self, texts: Iterable[str]) -> list[Word]:
        """What many words of `split` stand for, in a row."""
        found: list[Word] = []
        known, look = self._known, self.of
        for written in texts:
            found += known.get(written) or look(written)
        return found

    def _look(self, word: str) -> tuple[Word, ...]:
        if word[0] > "\u2e7f" and not word[0] >= "\uac00":
            return self._run(word)
        folded = fold(word)[:_LONGEST]
        row, weight = self._row(word)
        if row < 0 and folded != word:
            row, weight = self._row(folded)
        if not folded or folded in STOP:  # nothing is left of an accent that stands alone
            return (Word("", (), row, weight),)
        root = stem(folded)
        return (Word(root, self._concepts(folded, root), row, weight),)

    def _run(self, run: str) -> tuple[Word, ...]:
        """Pairs of neighbours, to be found as they are; and the longest parts of it that mean something."""
        found = [Word(pair, (), -1, 0.0) for pair in bigrams(run)]
        at = 0
        while at < len(run):
            for end in range(min(len(run), at + self._longest(run[at])), at, -1):
                part = run[at:end]
                concepts = self._concepts(part, part)
                row, weight = self._row(part)
                if concepts or (row >= 0 and end - at > 1):
                    found.append(Word("", concepts, row, weight))
                    at = end
                    break
            else:
                at += 1
        return tuple(found)
