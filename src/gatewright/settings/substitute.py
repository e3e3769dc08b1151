"""`${VAR}` in values: one pass, no nesting, no command, and never the literal text passed through.

`${VAR}` and `${env:VAR}` are the same; `${VAR:-default}` gives the default when the variable is
unset or empty, as a shell does; `$${` is a plain `${`. Everything else that begins with `${` is
refused by name rather than handed to a server that would take it for a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["Undefined", "substitute"]

_PATTERN = re.compile(r"\$\$\{|\$\{([^}]*)\}|\$\{")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?", re.DOTALL)


class Undefined(Exception):  # noqa: N818 - says what the variable is
    """A value cannot be completed. `what` and `instead` are for people."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}; {instead}")
        self.what = what
        self.instead = instead


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """`text` with every variable replaced. Raises `Undefined`."""

    def replaced(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        variable = _VARIABLE.fullmatch(found[1]) if found[1] is not None else None
        if variable is None:
            raise Undefined(
                f"{found[0]} is not a substitution", "write ${VAR}, ${VAR:-default} or $${ for ${"
            )
        name, default = variable.groups()
        value = variables.get(name)
        if default is not None:
            return value or default
        if value is None:
            raise Undefined(
                f"the environment variable {name} is not set",
                f"set {name}, or write ${{{name}:-default}}",
            )
        return value

    return _PATTERN.sub(replaced, text)
