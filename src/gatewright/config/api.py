"""Checks `openapi`, `base_url`, `credentials`, `auth` of `[[servers]]` for APIs that become tools; substitutes variables, resolves the path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gatewright.config.check import Report
from gatewright.config.file_tables import ServerTable
from gatewright.config.substitute import Undefined
from gatewright.config.toml_positions import KeyPath
from gatewright.patterns import Pattern

__all__ = ["check_api", "complete_api", "is_url"]

_VALUE = Pattern(r"[\x20-\x7e]+")


def is_url(text: str) -> bool:
    """Whether a document is fetched, and not read from a file."""
    return text.startswith(("http://", "https://"))


def check_api(table: ServerTable, path: KeyPath, report: Report) -> None:
    """Report what has no effect, or would have another than was meant."""
    if table.openapi is None:
        for key in ("base_url", "credentials"):
            if getattr(table, key):
                report.error(
                    (*path, key), "it belongs to an openapi document", 'write openapi = "api.json"'
                )
        return
    if table.auth is not None and table.auth.type not in (None, "bearer", "none"):
        report.error(
            (*path, "auth", "type"),
            "an API is not logged into",
            'write type = "bearer", or [servers.credentials] by security scheme',
        )


def complete_api(
    table: ServerTable, text: Callable[..., str], url: Callable[[str], str], folder: Path
) -> dict[str, Any]:
    """The members of the model, every variable replaced by `text`, which takes a key, what stands there,
    and the table it stands in. `url` judges a URL. Raises `Undefined`."""
    if table.openapi is None:
        return {}
    document = text("openapi", table.openapi)
    if is_url(document):
        url(document)
    elif "://" in document:
        raise Undefined(
            "a document is read from a file or over HTTP", 'write "https://…" or a path'
        )
    else:
        document = str(folder / Path(document).expanduser())
    base = text("base_url", table.base_url or "")
    credentials = {name: text(name, one, "credentials") for name, one in table.credentials.items()}
    if not all(map(_VALUE.fullmatch, credentials.values())):
        raise Undefined(
            "a credential is empty or has characters that no header carries", "check it"
        )
    return {
        "openapi": document,
        "base_url": url(base) if base else None,
        "credentials": credentials,
    }
