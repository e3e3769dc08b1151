"""Runs several functions, all of them even where some fail, and then raises the first exception.

A look at what operators changed has many parts. A store that cannot be written, or a record that takes nothing just now, must not
keep a revoked key's calls alive.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["run_each"]


def run_each(*steps: Callable[[], object]) -> None:
    """Run all of them, in their order. Raises what the first one raised that failed."""
    failed: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as problem:  # noqa: BLE001 - the others are run first
            failed = failed or problem
    if failed is not None:
        raise failed
