"""Exceptions of stores: `StoreError` (unusable) and its kinds busy, too new, damaged. Classes alone; who raises them words the message."""

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
