"""Exceptions of stores: unusable, busy, too new, damaged. Every message says what the operator can do."""

from __future__ import annotations

__all__ = ["StoreBusyError", "StoreDamagedError", "StoreError", "StoreTooNewError"]


class StoreError(Exception):
    """A store cannot be opened, read or written."""


class StoreBusyError(StoreError):
    """Another gateway holds the state folder, or another process a file in it."""


class StoreTooNewError(StoreError):
    """A newer Gatewright wrote this store; this one would not understand it."""


class StoreDamagedError(StoreError):
    """What is stored contradicts itself: records that were written are gone or changed."""
