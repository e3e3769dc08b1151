"""Mistakes in prepared calls, made by rule: something that a call rests on, or is asked, is taken for what it was whatever it is. A plugin
of pytest makes the one that `PREPARED_BLIND` names (`python -m pytest -p tests.prepared_blind`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from gatewright.prepared import Prepared

__all__ = ["blind", "names_of", "pytest_configure"]

_ASKED = "fits", "clear"
"""Of a prepared call: questions about a call, and about its result."""


def name_of(question: Callable[..., object]) -> str:
    """`Layer.changes` for an attribute, `Catalogue.tool` for a method, with what it is asked of first where that is a function of Python."""
    if not isinstance(question, partial):
        return question.__qualname__.replace(".<locals>", "").replace(".<lambda>", "")
    inner, arguments = question.func, question.args
    if inner is getattr:
        return f"{type(arguments[0]).__name__.lstrip('_')}.{arguments[1]}"
    return inner.__qualname__


def names_of(prepared: Prepared) -> list[str]:
    """All that a prepared call is asked before it is sent, and its result before it leaves."""
    rests = (question for question, _ in prepared.rests)
    every = [*rests, *(one for each in _ASKED for one in getattr(prepared, each))]
    return sorted({name_of(one) for one in every})


@contextmanager
def blind(name: str) -> Iterator[None]:
    """Prepared calls that are made inside do not look at this."""
    made: Any = Prepared.__init__

    def without(self: Any, *words: Any) -> None:
        made(self, *words)
        self.rests = tuple(rest for rest in self.rests if name_of(rest[0]) != name)
        for each in _ASKED:
            asked = getattr(self, each)
            setattr(self, each, tuple(one for one in asked if name_of(one) != name))
        self.compose()

    with mock.patch.object(Prepared, "__init__", without):
        yield


def pytest_configure(config: Any) -> None:
    """Pytest's: for the whole run."""
    one = blind(os.environ["PREPARED_BLIND"])
    one.__enter__()
    config.add_cleanup(partial(one.__exit__, None, None, None))
