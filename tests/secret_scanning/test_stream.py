"""Text in pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewright.secret_scanning import PERSONAL, Redactor, Stream
from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.scanner import Scanner, scanner

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "q7w2e9r4t1y8u3i6\n" * 40
    + "-----END RSA PRIVATE KEY-----"
)
REDACTOR = Redactor(b"key", personal=frozenset(PERSONAL), terms=("project zebra",))


PLAINLY = Redactor(b"key", personal=frozenset(PERSONAL))
"""Without what every piece is to be looked through for: most of them are passed on by a shorter way."""


def streamed(pieces: list[str]) -> str:
    stream = REDACTOR.stream()
    return "".join([*map(stream.feed, pieces), stream.end()])


SECRETS = [
    *(
        TOKEN,
        "hunter2!",
        "4111 1111 1111 1111",
        "GB82 WEST 1234 5698 7654 32",
        "+1 (415) 555-7134",
        "project zebra",
    ),
    KEY,
]
TEXT = (
    f"one {TOKEN} two\npassword: hunter2! paid with 4111 1111 1111 1111 and GB82 WEST 1234 5698 7654 32 or "
    f"+1 (415) 555-7134 of project zebra\n{KEY}\nend of it all, nothing else"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 61, 4096])
def test_a_secret_over_a_border_is_found_as_in_one_piece(size: int) -> None:
    found = streamed([TEXT[at : at + size] for at in range(0, len(TEXT), size)])
    assert [one for one in SECRETS if one in found] == []
    assert "q7w2e9r4" not in found
    assert found.startswith("one [REDACTED:github-token:")
    assert found.endswith("\nend of it all, nothing else")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, len(TEXT)), max_size=12).map(sorted))
def test_no_border_anywhere_lets_a_secret_through(cuts: list[int]) -> None:
    pieces = [TEXT[a:b] for a, b in zip([0, *cuts], [*cuts, len(TEXT)], strict=True)]
    found = streamed(pieces)
    assert [one for one in SECRETS if one in found] == []


@pytest.mark.parametrize("size", [1, 3, 8, 20])
@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ('{"password": "correct horse 7 battery staple 9x!", "a": 1} and on', "correct"),
        (
            "seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow\n",
            "legal",
        ),
        ('passphrase = "orbit kettle maple window ladder"', "orbit"),
        ('{"value": "q7w2e9r4t1y8u3i6o5p0", "name": "DB_PASSWORD"}', "q7w2e9r4"),
        ("- value: q7w2e9r4t1y8u3i6o5p0\n  name: DB_PASSWORD\n", "q7w2e9r4"),
        ('password = "q7w2e9r4\nt1y8u3i6"', "t1y8u3i6"),
        ("client_secret: '" + "q7w2e9r4t1y8u3i6\n" * 120 + "' and on", "q7w2e9r4"),
        ('[{"value": "' + "q7w2e9r4t1y8u3i6" * 60 + '", "name": "DB_PASSWORD"}]', "q7w2e9r4"),
        ('"value": "' + "q7w2" * 60 + '",\n' + " " * 40 + '"name": "DB_PASSWORD"', "q7w2"),
        (KEY, "q7w2e9r4"),
        (KEY.replace("q7w2", "t1y8u3i6o5p0" * 50 + "q7w2"), "q7w2e9r4"),
        (KEY.replace("N RSA", "N PGP").replace("-\n", "-\nVersion: 1 of it\n\n", 1), "q7w2e9r4"),
        ("Please use grauerIgel58 as the root password", "grauerIgel58"),
        ("echo 'grauerIgel58' | sudo -S ls", "grauerIgel58"),
    ],
)
def test_a_secret_of_several_words_or_before_its_name_is_found_as_in_one_piece(
    said: str, secret: str, size: int
) -> None:
    redactor = Redactor(b"key")
    text = f"First: {said}\nnothing else"
    stream = redactor.stream()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = "".join([*map(stream.feed, pieces), stream.end()])
    assert secret not in found
    assert found == redactor.text(text).text.decode()


def test_a_line_with_a_hint_is_not_held_for_ever() -> None:
    stream = REDACTOR.stream()
    said = [stream.feed("so the password: is a word ") for _ in range(100)]
    assert len("".join(said)) >= 100 * 27 - 600


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=20))
def test_text_without_secrets_comes_out_as_it_went_in(pieces: list[str]) -> None:
    text = "".join(pieces).encode("utf-8", "replace").decode()
    if not REDACTOR.worth_a_look(text.encode()):
        assert streamed(pieces) == text


def test_a_stream_stays_a_stream() -> None:
    stream = REDACTOR.stream()
    assert stream.feed("these words go on ") == "these words go on "
    assert stream.feed("and half of o") == "and half of "
    assert stream.feed("ne word\n") == "one word\n"
    assert stream.end() == ""


def test_a_stream_says_which_rules_found_something() -> None:
    stream = REDACTOR.stream()
    stream.feed(TEXT)
    stream.end()
    assert sorted(set(stream.rules)) == [
        "card",
        "github-token",
        "iban",
        "named",
        "phone",
        "private-key",
        "term",
    ]


def test_a_run_without_end_is_not_held_for_ever() -> None:
    stream = REDACTOR.stream()
    sent = sum(len(stream.feed("z" * 1000)) for _ in range(100))
    assert sent >= 80_000


@pytest.mark.parametrize("words", ["日本語の文章", "é", "😀x", "秘密計画", "한국어"])
@pytest.mark.parametrize("size", [1000, 8191, 30_000])
def test_text_without_spaces_is_cut_between_characters(words: str, size: int) -> None:
    """It goes on by its length alone, and a character has several bytes."""
    text = (words * 30_000)[:30_000]
    assert streamed([text[at : at + size] for at in range(0, len(text), size)]) == text


class Counting(Scanner):
    """A scanner that counts the bytes it is given."""

    def __init__(self) -> None:
        inner = scanner(secrets=True, personal=frozenset())
        self.seen = self.found = 0

        def worth(raw: bytes) -> bool:
            self.seen += len(raw)
            return inner.worth_a_look(raw)

        self.worth_a_look = self.plain_worth_a_look = worth
        self.worded = inner.worded
        self._find = inner.find

    def find(self, text: bytes) -> list[Finding]:
        self.found += len(text)
        return self._find(text)


@pytest.mark.parametrize("line", ["", "one line of many "])
def test_what_is_looked_at_for_a_piece_does_not_grow_with_the_line(line: str) -> None:
    counting = Counting()
    stream = Stream(counting, lambda rule, _: rule.encode())
    for at in range(2000):
        piece = f"{line}word {'' if line else chr(10) * (at % 9 == 0)}"
        assert stream.feed(piece) == piece
    assert counting.seen <= 2000 * 1024
    assert counting.found == 0


@pytest.mark.parametrize("between", ["\n", " "])
@pytest.mark.parametrize("size", [7, 48, 900])
def test_a_stream_full_of_hints_is_looked_at_a_bounded_number_of_times(
    between: str, size: int
) -> None:
    counting = Counting()
    stream = Stream(counting, lambda rule, _: rule.encode())
    text = (f"password: hunter2x9z!{between}" * 6000)[:120_000]
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
    assert counting.found <= 10 * len(text) + 64 * 1024


def test_one_place_costs_no_look_at_what_comes_long_after_it() -> None:
    counting = Counting()
    stream = Stream(counting, lambda rule, _: rule.encode())
    stream.feed("password: hunter2x9z!\n")
    for _ in range(400):
        stream.feed("plain words \n")
    assert counting.found <= 128 * 1024


@pytest.mark.parametrize("size", [1, 8, 100])
@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("mysql -u root " + "of a long line " * 80 + "-pq7w2e9r4t1y8 and on", "q7w2e9r4"),
        ("Cookie: a=1; " + "b=of-a-long-line; " * 80 + "token=q7w2e9r4t1y8u3i6", "q7w2e9r4"),
        (
            "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: a\nPublic-Lines: 60\n"
            + "AAAAB3NzaC1yc2E\n" * 60
            + "Private-Lines: 14\n"
            + f"{'q7w2e9r4t1y8u3i6' * 4}\n" * 14,
            "q7w2e9r4",
        ),
    ],
)
def test_what_stands_far_behind_its_hint_is_found(said: str, secret: str, size: int) -> None:
    redactor = Redactor(b"key")
    text = f"First: {said}\nnothing else"
    stream = redactor.stream()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = "".join([*map(stream.feed, pieces), stream.end()])
    assert secret in text
    assert (secret in found) == (secret in redactor.text(text).text.decode())


def test_a_key_is_looked_at_a_bounded_number_of_times() -> None:
    counting = Counting()
    stream = Stream(counting, lambda rule, _: rule.encode())
    text = KEY.replace("q7w2", "t1y8u3i6o5p0" * 40 + "q7w2", 40)
    said = "".join([*map(stream.feed, text), stream.end()])
    assert said == "private-key"
    assert counting.seen <= 64 * len(text)
    assert counting.found <= 8 * len(text)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
@pytest.mark.parametrize(
    "text",
    [
        f"one {TOKEN[:9]}\x1b[31m{TOKEN[9:]} two",
        f"one {TOKEN[:9]}\x1b]0;a title\x1b\\{TOKEN[9:]} two",
        f"one {TOKEN[:9]}\x1b(B\u200d{TOKEN[9:]} two",
        "\u2764\ufe0f and \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f of them",
        "ends in \x1b[3",
        "ends in \u200d",
    ],
)
def test_what_nobody_sees_is_taken_out_over_borders_as_in_one_piece(text: str, size: int) -> None:
    redactor = Redactor(b"key", hidden=True)
    stream = redactor.stream()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    found = "".join([*map(stream.feed, pieces), stream.end()])
    assert found == redactor.text(text).text.decode()


SAID = [
    *SECRETS[:5],
    "a name: value = 42, and then",
    '"value": "hunter2!", "name": "password"',
    "use hunter2 as the password",
    "mysql -u root --comment 'nothing to see here' -phunter2!",
    "postgres://app:hunter2!@db.example/x",
    "the words of a sentence that says nothing at all, and goes on for a while, ",
    "x1 y2 z3 and aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ= - done",
    "日本語の文章 é 😀 ",
    "\n",
    " ",
    "4111 1111 1111 ",
    "-----BEGIN RSA PRIVATE KEY-----\nq7w2e9r4t1y8u3i6\n",
    "-----END RSA PRIVATE KEY-----\n",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(SAID) | st.text(max_size=40), max_size=40),
    st.lists(st.integers(1, 90), min_size=1, max_size=6),
    st.booleans(),
)
def test_the_short_way_of_plain_pieces_says_what_the_long_way_says(
    said: list[str], sizes: list[int], personal: bool
) -> None:
    """Piece by piece, and with the same rules: what is held back, too, is the same."""
    redactor = PLAINLY if personal else Redactor(b"key")
    text, short, long = "".join(said), redactor.stream(), redactor.stream()
    long._simple = False
    at = number = 0
    while at < len(text):
        piece = text[at : at + sizes[number % len(sizes)]]
        assert short.feed(piece) == long.feed(piece)
        at, number = at + len(piece), number + 1
    assert short.end() == long.end()
    assert short.rules == long.rules


def test_plain_pieces_go_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, went = PLAINLY.stream(), list[str | None]()
    calm = stream._calm

    def counted(piece: bytes) -> str | None:
        went.append(calm(piece))
        return went[-1]

    monkeypatch.setattr(stream, "_calm", counted)
    for number in range(200):
        stream.feed(f"chunk {number} of a long answer, ")
    assert None not in went
    assert len(went) == 200


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, len(TEXT)), max_size=12).map(sorted))
def test_no_border_anywhere_lets_a_secret_through_on_the_short_way(cuts: list[int]) -> None:
    ends = [0, *cuts, len(TEXT)]
    pieces = [TEXT[start:end] for start, end in pairwise(ends)]
    stream = PLAINLY.stream()
    found = "".join([*map(stream.feed, pieces), stream.end()])
    assert [one for one in SECRETS if one in found and one != "project zebra"] == []
