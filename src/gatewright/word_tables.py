"""Reads TOML files of words and patterns beside a module, the data by which validators and the secret scanner judge; a text is its words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["tables", "words"]


def tables(module: str, name: str) -> dict[str, Any]:
    """The file of that name beside a module, which gives its `__file__`. The file belongs to the package, so one that cannot be read is a
    fault of the installation."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def words(value: Any) -> Any:
    """The words of a text in their order, the texts of a list as they are; of a table its values so, by their keys."""
    if isinstance(value, dict):
        return {key: words(one) for key, one in value.items()}
    return tuple(value.split() if isinstance(value, str) else value)
