"""Finds secrets in Terraform files: the `default` value of a `variable` block whose name is that of a secret."""

from __future__ import annotations

from collections.abc import Iterator

from gatewright.secret_scanning.names import is_secret_name, may_be_secret
from gatewright.secret_scanning.patterns import Pattern

__all__ = ["DEFAULT", "defaults"]

DEFAULT = (
    r"variable[ \t]{1,8}\\?\"([\w-]{1,64})\\?\"\s{0,8}\{[^{}]{0,160}?default\s{0,8}=\s{0,8}"
    r"\\?\"([^\"\\\r\n]{4,256})"
)
"""`variable "name" { … default = "value"`, also inside of a JSON string."""
_default = Pattern(DEFAULT, captures=True, bounded=True)


def defaults(text: bytes) -> Iterator[tuple[int, int, str]]:
    """(start, end, rule) of every such value."""
    for spans in _default.all(text):
        name, value = (text[slice(*span)].decode("utf-8", "replace") for span in spans[1:3])
        if is_secret_name(name) and may_be_secret(value, quoted=True):
            yield *spans[2], "named"
