"""Errors of stores are of one kind."""

from __future__ import annotations

from gatewright.storage import errors


def test_every_error_of_a_store_is_a_store_error() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert len(kinds) == 4
    assert all(issubclass(kind, errors.StoreError) for kind in kinds)
