"""File of the accepted runtime registrations of tools (`registered-tools.json`), with the mark that the audit trail anchors.

One small file in the state folder, replaced as a whole, which counts its changes: a gateway whose file is older than its record,
or gone, does not start, because tools would go back to what they were without it. Only the running gateway writes it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from gatewright.stores.errors import StoreError
from gatewright.stores.private_file import replace_file

__all__ = ["FILE", "KeptRequests", "RegisteredRequests", "read_requests"]

FILE = "registered-tools.json"
"""Its name in the state folder."""


class KeptRequests(msgspec.Struct, frozen=True):
    """The file: its name among all such files, how often it was changed, and the requests."""

    mark: int
    steps: int
    requests: list[dict[str, Any]]


def read_requests(path: Path) -> KeptRequests:
    """The file, or nothing where there is none. Raises `OSError`, `ValueError`."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return KeptRequests(0, 0, [])
    try:
        return msgspec.json.decode(text, type=KeptRequests)
    except msgspec.ValidationError:  # of a gateway that did not count
        return KeptRequests(0, 0, msgspec.json.decode(text, type=list[dict[str, Any]]))


class RegisteredRequests:
    """The requests of one state folder."""

    def __init__(self, folder: Path) -> None:
        """Raises `StoreError`."""
        self._path = folder / FILE
        try:
            self._kept = read_requests(self._path)
        except OSError as problem:
            raise StoreError(f"{self._path} cannot be read: {problem}") from problem
        except ValueError:
            raise StoreError(
                f"{self._path} is damaged: restore it, or remove it and register again"
            ) from None

    @property
    def all(self) -> Sequence[dict[str, Any]]:
        """In the order in which they came."""
        return self._kept.requests

    def put(self, requests: Sequence[dict[str, Any]]) -> None:
        """Keep these in their place. Raises `OSError`, and then nothing has changed."""
        before = self._kept
        if not requests and not before.requests:
            return
        mark = before.mark or int.from_bytes(os.urandom(4)) >> 1 or 1
        after = KeptRequests(mark, before.steps + 1, list(requests))
        replace_file(self._path, msgspec.json.encode(after))
        self._kept = after
