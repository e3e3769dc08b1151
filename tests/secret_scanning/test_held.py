"""What this process holds is found by its exact value, in every spelling, for as long as it is known."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning import Redactor, without_secrets
from gatewright.secret_scanning.exact import OWN, is_telling
from gatewright.secret_scanning.held import (
    EACH,
    HELD,
    LONGEST,
    LONGEST_FOREIGN,
    MOST,
    PROCESS,
    Held,
    WithHeld,
    passwords_in,
)
from gatewright.secret_scanning.names import looks_issued
from gatewright.secret_scanning.patterns import Pattern
from gatewright.secret_scanning.scanner import scanner
from tests.costs import DOUBLED, grows

KEY = b"k" * 32
VALUES = (
    "opaque-token-8271",
    'pa/ss "wörd"\\+42',
    "three words here 9",
    "eyJ" + "Zm9vYmFy" * 300 + ".tail-" + "Q7" * 40,
    "aB3d" * 4000,
)


def redactor(held: Held) -> Redactor:
    return Redactor(KEY, held=held)


def knowing(*values: str) -> Held:
    held = Held()
    held.hold("somebody", values)
    return held


def spellings(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield json.dumps(json.dumps(secret))[1:-1]
    yield quote(secret, safe="")
    yield quote(secret)
    for before in range(3):
        encoded = base64.b64encode(b"x" * before + secret.encode() + b"yz").decode()
        yield encoded
        yield encoded.replace("+", "-").replace("/", "_")


@pytest.mark.parametrize("secret", VALUES, ids=range(len(VALUES)))
def test_a_held_value_is_taken_out_in_every_spelling(secret: str) -> None:
    one = redactor(knowing("another-value-1", secret, "one-more-value-2"))
    for said in spellings(secret):
        text = f"see {said} there"
        assert one.worth_a_look(text.encode())
        assert said not in one.text(text).text.decode()
        raw = json.dumps({"content": [{"text": text}], said: 1}).encode()
        clean = one.json(raw).text
        assert said not in json.loads(clean)["content"][0]["text"]
        assert said not in json.loads(clean) or not looks_issued(said)
        stream = one.stream()
        told = "".join(
            [*(stream.feed(text[at : at + 7]) for at in range(0, len(text), 7)), stream.end()]
        )
        assert said not in told or len(said) > 8192


def test_nothing_is_found_or_looked_for_where_nothing_is_held() -> None:
    one = redactor(Held())
    raw = b'{"a":"opaque-token-8271"}'
    assert not one.worth_a_look(raw)
    assert one.json(raw).text is raw


def test_a_value_is_known_from_the_moment_it_is_held_and_an_old_one_for_a_while() -> None:
    held = Held()
    one = redactor(held)
    assert one.text("token-number-0").rules == []
    for number in range(EACH + 3):
        held.hold("login files", [f"token-number-{number}"])
        assert one.text(f"token-number-{number}").rules == ["own-secret"]
    known = [n for n in range(EACH + 3) if one.text(f"token-number-{n} ").rules]
    assert len(known) == EACH
    assert known[-1] == EACH + 2


def test_one_holder_displaces_its_own_values_alone_and_all_are_bounded() -> None:
    held = Held()
    held.hold("honest", ["a-value-that-stays"])
    for number in range(10_000):
        held.hold("greedy", [f"greedy-value-{number}"])
    assert "a-value-that-stays" in held.values
    assert len(held.values) == EACH + 1
    for number in range(3 * MOST):
        held.hold(f"holder-{number}", [f"one-value-of-{number}"])
    assert len(held.values) == MOST


def test_many_authorization_servers_displace_nothing_that_the_operator_or_the_gateway_has() -> None:
    held = Held()
    own = [f"token-of-the-gateway-{number}" for number in range(3)]
    operators = [f"secret-of-the-operator-{number}" for number in range(MOST // 2)]
    held.hold(PROCESS, own)
    held.hold("configuration", operators, MOST)
    for number in range(40 * EACH):
        token = hashlib.sha256(b"%d" % number).hexdigest()
        held.hold(f"login {number % 40}", [token], foreign=True)
        assert token in held.values
    assert {*own, *operators} <= {*held.values}
    assert len(held.values) == MOST
    for number in range(3 * MOST):
        held.hold(f"server {number % 9}", [f"other-secret-{number}"], MOST)
    assert {*own} <= {*held.values}
    assert token in held.values
    assert len(held.values) == MOST


def test_the_same_value_of_two_holders_stays_while_one_has_it() -> None:
    held = Held()
    held.hold("one", ["shared-value-77"])
    held.hold("two", ["shared-value-77"])
    for number in range(EACH):
        held.hold("one", [f"newer-value-{number}"])
    assert redactor(held).text("shared-value-77").rules == ["own-secret"]


def test_the_version_changes_with_what_is_known_and_with_nothing_else() -> None:
    held = knowing("some-value-123")
    before = held.version
    held.hold("somebody", ["some-value-123", "", None, "short", "aaaaaaaaaaaa"])
    assert held.version == before
    held.hold("somebody", ["some-value-124"])
    assert held.version != before
    held.clear()
    assert held.values == ()


def test_another_thread_may_hold_and_forget_while_one_looks() -> None:
    held, stopped = Held(), threading.Event()

    def changing() -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            held.hold(f"somebody {number % 9}", [f"value-number-{number}"])
            if not number % 50:
                held.clear()

    thread = threading.Thread(target=changing)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        ends = time.monotonic() + 0.5
        while time.monotonic() < ends:
            assert len(held.values) <= MOST
    finally:
        stopped.set()
        thread.join()
        sys.setswitchinterval(before)


def test_what_looks_is_there_although_something_else_is_held_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Releasing:
        """A lock behind whose release another thread comes at once."""

        def __init__(self) -> None:
            self.after: list[Callable[[], None]] = []

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            while self.after:
                self.after.pop()()

    held = knowing("some-value-123")
    lock = Releasing()
    monkeypatch.setattr(held, "_lock", lock)
    lock.after.append(lambda: held.hold("another", ["another-value-456"]))
    looking = held.looking()
    assert looking is not None
    assert looking.find(b"some-value-123")
    assert held.looking() is not looking


def test_of_a_very_long_value_the_last_part_is_known() -> None:
    value = "".join(random.Random(1).choices("abcdefghij0123456789", k=LONGEST + 500))
    clean = redactor(knowing(value)).text(f"see {value} there").text.decode()
    assert value[-LONGEST:] not in clean
    held = Held()
    held.hold("login evil", [value], foreign=True)
    assert held.values == (value[-LONGEST_FOREIGN:],)
    assert value[-64:] not in redactor(held).text(f"see {value} there").text.decode()


def test_of_what_others_chose_only_what_is_made_as_tokens_are_is_held() -> None:
    words = ["structuredContent", "event_type", "inputSchema", "get_weather_of_city", "2026-11-23"]
    tokens = ["f3a9c07be2d1485096c7d1e4", "secret_MYeyEp62368NxoPAExY7HkLBTM"]
    held = Held()
    ends = [tokens[0] + " " * LONGEST_FOREIGN + "structuredContent", " " * 99 + "inputSchema"]
    held.hold("login evil", [*words, *ends, *tokens], foreign=True)
    assert {*held.values} == {*tokens}


def test_the_name_of_a_member_stays_where_it_is_a_word() -> None:
    token = "Zk3Vq9Lx0Tb5Rw7N-8271"
    HELD.hold("an operator", ["event_type", token])
    raw = b'{"event_type":"call","%s":"event_type"}' % token.encode()
    clean = json.loads(without_secrets(raw))
    assert clean == {"event_type": "call", "[REDACTED:own-secret]": "[REDACTED:own-secret]"}


def test_a_policy_without_secrets_looks_for_none() -> None:
    one = Redactor(KEY, secrets=False, held=knowing("opaque-token-8271"))
    assert one.text("opaque-token-8271").rules == []


def test_lines_of_logs_and_records_are_without_what_is_held() -> None:
    HELD.hold("a test", ["opaque-token-8271"])
    assert without_secrets(b"got opaque-token-8271") == b"got [REDACTED:own-secret]"
    assert b"8271" not in without_secrets(b'{"a":"opaque-token-8271"}')


@given(
    st.lists(st.text(min_size=8, max_size=24).filter(is_telling), min_size=1, max_size=5), st.data()
)
def test_no_telling_value_is_left_in_any_text(values: list[str], data: st.DataObject) -> None:
    said = data.draw(st.lists(st.one_of(st.text(max_size=9), st.sampled_from(values)), max_size=12))
    text = "".join(said)
    clean = redactor(knowing(*values)).text(text).text.decode()
    assert not [one for one in values if one.strip() in clean]


def _periodic(size: int) -> bytes:
    return (b"abcd" * size)[:size]


def _pieces(size: int) -> bytes:
    return (b"xyz-tail-of-it." * size)[:size]


def _nothing(size: int) -> bytes:
    return (b"lorem ipsum dolor " * size)[:size]


@pytest.mark.parametrize("made", [_periodic, _pieces, _nothing])
@pytest.mark.parametrize(
    "held", [("abcd" * 2000,), ("q1w2e3r4" * 900 + "xyz-tail-of-it.",) * 1, VALUES]
)
def test_the_cost_grows_as_the_text_does(
    made: Callable[[int], bytes], held: tuple[str, ...]
) -> None:
    """An authorization server chooses its tokens, and a server that it knows chooses the text."""
    looking = knowing(*held).looking()
    assert looking is not None

    small, large = made(128 * 1024), made(512 * 1024)
    looking.find(large)
    most = 4 * DOUBLED
    assert grows(lambda: looking.find(small), lambda: looking.find(large), most) <= most


def test_what_is_held_is_not_searched_for_again_however_much_else_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each search may read all of the text."""
    searched: Counter[Pattern] = Counter()
    after = Pattern.after

    def counted(pattern: Pattern, *asked: Any) -> Any:
        searched[pattern] += asked[0] is raw
        return after(pattern, *asked)

    held = knowing("opaque-token-8271")
    one, looking = redactor(held), held.looking()
    assert looking is not None
    raw = b'["' + b'","'.join([b"\\u0041"] * 500) + b'","opaque-token-8271"]'
    monkeypatch.setattr(Pattern, "after", counted)
    assert list(one.json(raw).rules) == [OWN]
    assert searched[looking.hints] == 2
    assert max(searched.values()) <= 500 + 2


@pytest.mark.parametrize(
    ("url", "passwords"),
    [
        ("postgres://u:p%40ssword@h/db", ("p%40ssword", "p@ssword")),
        ("postgres://u@h/db?password=a%20b&sslmode=on", ("a%20b", "a b")),
        ("https://h/x?api_key=k1", ("k1",)),
        ("https://h/x", ()),
        ("no url at all", ()),
        ("http://[::1", ()),
    ],
)
def test_the_passwords_of_a_url_are_found_as_written_and_as_meant(
    url: str, passwords: tuple[str, ...]
) -> None:
    assert passwords_in(url) == passwords


@given(
    st.lists(
        st.sampled_from(
            ["correct-horse-battery", "gwt_1a2b3c4d5e6f7a8b", "a/b\\\\c1d2e3f4g5", "Q" * 20 + "7"]
        ),
        max_size=2,
    ),
    st.text(st.sampled_from("aQ7 -"), max_size=30),
    st.integers(0, 40),
)
def test_what_is_held_is_seen_in_short_texts_as_in_long_ones(
    values: list[str], around: str, cut: int
) -> None:
    """Short ones are known at a glance not to hold what has a letter beside a digit."""
    found = redactor(knowing(*values))
    for value in (*values, "nothing of it"):
        text = (around + value[:cut] + around).encode()
        assert found.worth_a_look(text) == found.worth_a_look(b" " * 300 + text)


def test_what_only_looks_like_a_secret_is_not_held() -> None:
    held = Held()
    knowing = WithHeld(scanner(secrets=True, personal=frozenset()), held)
    looks = b"gh" + b"p_" + b"a1B2c3D4e5F6" * 3
    value = "opaque-5512-Zk3Vq9Lx0Tb5Rw7N"
    assert not knowing.holds(value.encode())
    held.hold("a test", [value])
    assert knowing.holds(b"x " + value.encode())
    assert not knowing.holds(looks)
    assert WithHeld(knowing, Held()).holds(value.encode())
