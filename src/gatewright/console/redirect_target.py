"""Where a person goes after sign-in: the path in `next`, if it is one of this site; no open redirect to another."""

from __future__ import annotations

from starlette.requests import Request

__all__ = ["path_in", "way_on"]


def way_on(request: Request) -> str:
    """Where the person was going: a path of the console, whatever else was written there."""
    return path_in(request.query_params.get("next", ""))


def path_in(wanted: str) -> str:
    """The same path, where it is one of this site; the beginning for everything that leads elsewhere."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_path and wanted.isprintable() and wanted.isascii() else "/"
