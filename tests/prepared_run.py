"""A run of tests with prepared calls off, on or shadowed (`PREPARED_CALLS`): a difference that the shadow finds in this process fails its test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from gatewright.prepared import PreparedCalls
from tests.preloaded import switch
from tests.prepared_shadow import Shadow

__all__ = ["PreparedRun"]

_CHOOSE = "test_prepared", "test_straight"
"""Tests that are about prepared calls say themselves how they want them."""
_LIST_GATES = frozenset(("test_kernel.py", "test_rehearsal.py", "test_explain.py"))
"""Tests that list all that a kernel has, where the shadow would be one gate more."""


class PreparedRun:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._usual = PreparedCalls.mode, PreparedCalls.after
        differs = Shadow.differs

        def noted(shadow: Shadow, what: str) -> None:
            self._found.append(what)
            differs(shadow, what)

        mock.patch.object(Shadow, "differs", noted).start()  # until the run ends

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        """Pytest's."""
        self._found.clear()
        if _chooses(item):
            PreparedCalls.mode, PreparedCalls.after = self._usual
        else:
            switch()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Pytest's."""
        yield
        if self._found and not _chooses(item):
            pytest.fail(f"prepared and walked calls differ: {self._found}")


def _chooses(item: Any) -> bool:
    return item.path.name.startswith(_CHOOSE) or item.path.name in _LIST_GATES
