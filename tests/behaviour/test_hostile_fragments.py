"""No text makes a validator slow: what its patterns look for, repeated in every combination of two, up to the length that it reads.

A pattern that tries one thing in two ways takes twice as long with each repetition, and never ends at forty: 45 quotes did that
to the one for backslashes in SQL, forty bracket expressions to those of `sed` and `awk`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from types import FrameType
from typing import Any

import pytest

from gatewright.validators import checks_for, code_source, network, path_forms, paths, sql_reading
from gatewright.validators.sandbox import Sandbox
from gatewright.validators.shell.sed_awk_scripts import awk_rule, sed_rule
from gatewright.validators.shell_strict import strict
from tests.costs import DOUBLED, MEASURABLE_S, cost, grows

LONGEST_S = 5
ENDS = ("", "'", "\\", "#", "]", "/", ")", "\n")

SCRIPT = (
    *("s/", "y,", "/", "[]a]", "[^]]", "[[:alpha:]]", "[", "]", "\\", "\\.", "a", "1,", "$", "~2", "!", ";"),
    *("{", "}", " ", "p;", ":x", "ti", "#x\n", '"', "(", "++", "é", "e\n", "x="),
)  # fmt: skip
PATH = (
    *("a", "..", "/", "./", "../", "%2e", "%25", "%zz", "%", "$", "{,", "}", "0x2e", " ", ";x", "?", "+AC4-", "*"),
    *("[", "\u2024", "\u2215", "&#46;", "C:", "é"),
)  # fmt: skip
URL = (
    *("http://", "a", ".", "@", ":", "/", "?", "#", "[", "]", "127.0.0.1", "0x7f", "%2e", "é", "xn--", " ", ",", "="),
    *("localhost", "://"),
)  # fmt: skip
SQL = (
    *("''", "'", '"', "`", "\\", "-", "/", "*", "/*", "*/", "#", "(", "a", " ", "$", "$a", "%", "explain "),
    *("analyze ", "(analyze ", "verbose, ", "pragma ", "show ", ".", ";", "format = x ", "wal wal ", "/*+ ", "/*! ", "set("),
)  # fmt: skip
LINE = (
    *("ls ", "a", "|", "'", '"', "\\", "$", "$'", "\\n", "{a,b}", "{1..3}", "{", ",", "*", "[", "-x", "=", "a=b "),
    *("secret,", "awk ", "sed ", "program ", "load(", "é"),
)  # fmt: skip
AT_ONCE = Sandbox.at_once
"""Of longer command lines the grammar's parser takes the square, and workers judge them."""
CODE = (
    "'",
    '"',
    "'''",
    '"""',
    "f'",
    "\\",
    "\n",
    "#",
    "a",
    "eval(",
    "def ",
    "(",
    "[",
    "]",
    " ",
    ".",
)


def scanned(text: str) -> None:
    """All that is asked of a text before the SQL parser is, which is bounded by its own process."""
    sql_reading._CONTROL.within(text)
    sql_reading._is_ambiguous(text, "")
    sql_reading._PRAGMA.fullmatch(text)
    sql_reading._EXPLAIN.match(text)
    sql_reading._SHOW.fits(text)
    sql_reading._TOP.begins(text)


def judged(name: str, member: str, **options: str) -> Callable[[str], object]:
    checks: Any = checks_for(name, {name: options}, {}, "x")
    return lambda text: checks.objection({member: text})


WORK: dict[str, tuple[tuple[str, ...], int, Callable[[str], object]]] = {
    "sed": (SCRIPT, 2000, sed_rule),
    "awk": (SCRIPT, 2000, awk_rule),
    "path": (PATH, 4000, lambda text: paths.path_rule(text, "/srv", lambda _: None)),
    "path readings": (PATH, 4000, path_forms.readings),
    "path by form": (PATH, 4000, lambda text: path_forms.names_path("zz", text)),
    "url": (URL, 8000, network.url_rule),
    "url in a text": (URL, 8000, judged("network_restricted", "note")),
    "sql": (SQL, 4000, scanned),
    "command": (LINE, AT_ONCE, judged("sandbox", "command")),
    "command, deny-list": (LINE, AT_ONCE, judged("sandbox", "command", mode="deny-list")),
    "value": (LINE, 8000, judged("sandbox", "note")),
    "strict": (LINE, 8000, strict),
    "literals": (CODE, 20_000, code_source.blanked),
}


def texts(fragments: tuple[str, ...], size: int, parts: int = 1) -> Iterator[tuple[str, str]]:
    """Every third combination of two, which meets every fragment in both places. In one of two `parts` each stands half as often, and an even
    number of times as well: quotes that are open to the end are read otherwise."""
    for number, (one, other) in enumerate(product(fragments, repeat=2)):
        if number % 3 == 0:
            unit, end = one + other, ENDS[number // 3 % len(ENDS)]
            yield (
                f"{unit!r} then {end!r}",
                unit * (size // len(unit.encode()) // 4 * 4 // parts) + end,
            )


@pytest.fixture
def alarm() -> Iterator[None]:
    """What takes too long is ended: patterns of `re` look for signals."""

    def rung(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {LONGEST_S} s of this process")

    before = signal.signal(signal.SIGVTALRM, rung)
    yield
    _alarm(0)
    signal.signal(signal.SIGVTALRM, before)


def _alarm(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


@pytest.mark.parametrize("name", WORK)
@pytest.mark.usefixtures("alarm")
def test_no_repetition_takes_longer_than_its_length(name: str) -> None:
    fragments, size, work = WORK[name]
    halves = dict(texts(fragments, size, 2))
    slow: dict[str, float] = {}
    for called, text in texts(fragments, size):
        _alarm(LONGEST_S)
        spent = cost(partial(work, text))
        _alarm(0)
        if spent >= MEASURABLE_S / 2:
            ratio = grows(partial(work, halves[called]), partial(work, text), DOUBLED)
            slow |= {called: ratio} if ratio > DOUBLED else {}
    assert slow == {}


@pytest.mark.parametrize(
    ("work", "begin", "unit", "count", "end"),
    [
        (sed_rule, "s/", "[]a]", 400, ""),
        (sed_rule, "/", "[^]b]", 400, ""),
        (awk_rule, "/", "[]a]", 400, ""),
        (scanned, "", "''", 44, "\\"),
        (scanned, "explain (", "wal ", 900, ""),
    ],
)
@pytest.mark.usefixtures("alarm")
def test_what_never_ended_ends(
    work: Callable[[str], object], begin: str, unit: str, count: int, end: str
) -> None:
    whole, half = (begin + unit * (count // part) + end for part in (1, 2))
    _alarm(LONGEST_S)
    work(whole)
    _alarm(0)
    assert grows(partial(work, half), partial(work, whole), DOUBLED) <= DOUBLED
