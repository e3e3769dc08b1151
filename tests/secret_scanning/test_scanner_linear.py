"""What redaction costs grows with the text and not faster, whatever the text holds : in one text, in the shapes of a result, in pieces."""

from __future__ import annotations

import base64
import random
from functools import partial

import pytest

from benchmarks.hostile_texts import in_json, names, text
from gatewright.secret_scanning import PERSONAL, Redactor, without_secrets
from gatewright.secret_scanning.patterns import Pattern, either
from gatewright.secret_scanning.scanner import scanner
from gatewright.secret_scanning.stream import WINDOW
from tests.costs import DOUBLED, cost, grows

REDACTOR = Redactor(b"k" * 32, personal=frozenset(PERSONAL), terms=("Kestrel",), hidden=True)
SMALL, LARGE = 16 * 1024, 64 * 1024

NAMED = (
    "word 'Cookie' joined by '=a=b; '",
    "word 'Cookie' joined by ': a '",
    "word 'Cookie' said, then 'a=b; '",
    "word 'Authorization: Digest' joined by '=a; '",
    "word 'token' joined by ': a '",
    "word 'token' joined by '='",
    "word 'token' joined by \"': '\"",
    "word 'key' joined by ','",
    "word 'mysql -u a' with others",
    "word 'openssl a' joined by ' '",
    "word 'zip a' joined by ' | '",
    "word '-----BEGIN RSA PRIVATE KEY-----' joined by ' '",
    "word '-----BEGIN ' then '-'",
    "word '[REDACTED:a' joined by ''",
    "word 'cGFzc3dvcmQ' joined by ','",
    "word 'https://a:' joined by ''",
    "word 'passphrase' then 'a-'",
    "word '4111 1111 ' joined by ''",
    "personal email whole joined by ''",
)


@pytest.fixture(autouse=True)
def compiled() -> None:
    """Nothing is left to compile."""
    REDACTOR.text("token: abcd1234 mysql -u a -phunter22 a@b.org")


def some(every: int) -> list[str]:
    return [*NAMED, *[name for number, name in enumerate(names()) if number % every == every // 2]]


def test_a_text_of_four_times_the_size_costs_four_times_as_much() -> None:
    found = {}
    for name in some(2500):
        small, large = text(name, SMALL), text(name, LARGE)
        found[name] = grows(partial(REDACTOR.text, small), partial(REDACTOR.text, large))
    assert {name: ratio for name, ratio in found.items() if ratio > DOUBLED**2} == {}


def test_a_result_of_four_times_the_size_costs_four_times_as_much() -> None:
    found = {}
    for name in (*NAMED[::2], *some(9000)):
        shapes = zip(
            in_json(text(name, 4096)), in_json(text(name, 4 * 4096), pieces=256), strict=True
        )
        for (shape, small), (_, large) in shapes:
            found[name, shape] = grows(partial(REDACTOR.json, small), partial(REDACTOR.json, large))
    assert {name: ratio for name, ratio in found.items() if ratio > DOUBLED**2} == {}


@pytest.mark.parametrize("member", ["cursor", "name", "password", "key", "d", "value", "env"])
def test_many_members_cost_what_their_number_says(member: str) -> None:
    def made(count: int) -> bytes:
        one = b'{"%s":"token: x1Y2z3W4v5","a":[1,2,{}]}' % member.encode()
        return b'{"a":[' + b",".join([one] * count) + b"]}"

    small, large = made(300), made(1200)
    assert grows(lambda: REDACTOR.json(small), lambda: REDACTOR.json(large)) <= DOUBLED**2


def test_a_line_that_is_nearly_json_is_read_once() -> None:
    def made(count: int) -> bytes:
        return b'{"password: ' + b'\\"token: a' * count

    assert (
        grows(lambda: without_secrets(made(2000)), lambda: without_secrets(made(8000)))
        <= DOUBLED**2
    )


@pytest.mark.parametrize("size", [1, 40])
@pytest.mark.parametrize(
    "name", ["word 'token' joined by ': a '", "word 'Cookie' then 'a'", *NAMED[:2]]
)
def test_a_text_in_pieces_costs_what_its_length_says(name: str, size: int) -> None:
    def fed(length: int) -> object:
        stream, said = REDACTOR.stream(), text(name, length)
        return [stream.feed(said[at : at + size]) for at in range(0, length, size)]

    most = DOUBLED**2 * 1.5
    assert grows(lambda: fed(4096 * 4), lambda: fed(4096 * 16), most) <= most


@pytest.mark.parametrize("size", [16, 1 << 20])
@pytest.mark.parametrize("opened", ["=value=", "='", ': "', "=value='", ":"])
@pytest.mark.parametrize("name", ["password", "value"])
def test_pieces_of_which_nothing_may_go_cost_what_their_length_says(
    name: str, opened: str, size: int
) -> None:
    """Each holds back all that came before it, which was looked at again with each."""

    def fed(length: int) -> object:
        stream, said = REDACTOR.stream(), (name + opened) * (length // len(name + opened))
        return [stream.feed(said[at : at + size]) for at in range(0, len(said), size)]

    # A whole piece has so much that some of it goes.
    small = 1800 if size < 1800 else 32 * 1024
    most = DOUBLED**2 * 1.5
    assert grows(lambda: fed(small), lambda: fed(small * 4), most) <= most


def test_pieces_of_a_hostile_text_wait_for_one_another_and_lose_nothing() -> None:
    stream, said = REDACTOR.stream(), "token: a " * 6_000
    pieces = [stream.feed(said[at : at + 3]) for at in range(0, len(said), 3)]
    assert "".join([*pieces, stream.end()]) == said
    assert stream._looked <= 20 * stream._fed + (1 << 20)
    assert max(map(len, pieces)) <= 3 * WINDOW


def test_random_letters_do_not_multiply_what_patterns_count() -> None:
    """An image in base64 held everybody up for two seconds: in one pattern the counts of all hints make new states at nearly each
    byte. Compared with that one pattern, in processor time."""
    made = scanner(secrets=True, personal=frozenset())
    apart = [one.text for one in made._quick._patterns]
    together = Pattern(either(apart))
    together.hits(b"")
    made.worth_a_look(b"")
    texts = [base64.b64encode(random.Random(seed).randbytes(12_000)) for seed in (1, 2)]
    whole = cost(lambda: together.hits(texts[0].replace(b"+", b"a")))
    parts = cost(lambda: made.worth_a_look(texts[1].replace(b"+", b"a")))
    assert parts * 2 < whole
