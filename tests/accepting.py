"""What a person does once about a configuration that is found: accept it, and say which secrets it may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from gatewright.config import secret_users
from gatewright.config.documents import read
from gatewright.config.trust import accept

__all__ = ["accept_file", "allow_secret"]


def accept_file(path: Path, environ: Mapping[str, str]) -> None:
    """`gatewright config trust PATH`."""
    accept(read(path), environ)


def allow_secret(
    name: str, path: Path, store: Path, environ: Mapping[str, str]
) -> Callable[[], None]:
    """`gatewright secret allow NAME --config PATH`, where the state folder is `store`; what is returned takes it back."""
    return secret_users.allow(environ, store, name, [path])
