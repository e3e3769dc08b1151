"""Which tests have prepared calls made, noted in a file (`--note-prepared=FILE`), and a run of those alone (`--noted-prepared=FILE`).

With prepared calls off, a test that has none made is the same test: a run without them need not repeat it. What is noted is what the switch acts
on (`preloaded.switch`): gateways in the processes of pytest, and those that its fork servers make.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.prepared import Prepared

__all__ = ["FILE", "OnlyNoted", "begin_to_note", "is_noted", "noted_in", "options"]

FILE = "GATEWRIGHT_TESTS_NOTE_PREPARED"
"""The variable that says where, to processes that are forked."""
_TEST = "PYTEST_CURRENT_TEST"
_OF_EVERY = frozenset(("_own_state_home",))


def options(parser: pytest.Parser) -> None:
    """Add both to those of pytest."""
    parser.addoption(
        "--note-prepared",
        metavar="FILE",
        help="note in FILE which tests have prepared calls made",
    )
    parser.addoption(
        "--noted-prepared", metavar="FILE", help="run only the tests that are noted in FILE"
    )


def begin_to_note() -> None:
    """From now on, in this process and in what it forks, where the variable asks for it."""
    if file := os.environ.get(FILE):
        Prepared.__init__ = _noted(Prepared.__init__, Path(file))  # type: ignore[method-assign]


def _noted(init: Callable[..., None], file: Path) -> Callable[..., None]:
    """Note the test as well. It is that in which the process was started, where that is not pytest's own."""

    def noted(self: Any, *given: Any) -> None:
        with file.open("a", encoding="utf-8") as notes:
            notes.write(f"{os.environ.get(_TEST, '')}\n")
        init(self, *given)

    return noted


class OnlyNoted:
    """A plugin of pytest: leave out every other test. Who takes a fixture of several files may have had any of its prepared calls made."""

    def __init__(self, noted: frozenset[str]) -> None:
        self._noted = noted

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Pytest's."""
        others = [
            one for one in items if not is_noted(one.nodeid, self._noted) and not _shares(one)
        ]
        config.hook.pytest_deselected(items=others)
        left = {id(one) for one in others}
        items[:] = [one for one in items if id(one) not in left]


def noted_in(file: Path) -> frozenset[str]:
    """Ids of tests, and files whose fixtures had some made: those may be of several tests. Raises `OSError`."""
    found = set()
    for line in file.read_text(encoding="utf-8").splitlines():
        test, _, phase = line.rpartition(" ")
        found.add(test if phase == "(call)" else test.partition("::")[0])
    return frozenset(found)


def is_noted(nodeid: str, noted: frozenset[str]) -> bool:
    """Whether a test is one of them, by itself or with its file. Each is where somebody did not know of which test it was."""
    return "" in noted or nodeid in noted or nodeid.partition("::")[0] in noted


def _shares(item: pytest.Item) -> bool:
    """Whether it takes a fixture of the whole run, other than those of every test."""
    known = getattr(item, "_fixtureinfo", None)
    every = known.name2fixturedefs.items() if known else ()
    return any(
        one.scope == "session" and one.baseid and name not in _OF_EVERY
        for name, each in every
        for one in each
    )
