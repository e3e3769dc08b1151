"""Substitutes `${VAR}`, `${secret:NAME}`, `${file:PATH}` in configuration values; registers secrets and file contents for redaction.

`${VAR}` and `${env:VAR}` are the same; `${VAR:-default}` gives the default when the variable is
unset or empty, as a shell does; `${secret:NAME}` comes from the secret store and `${file:PATH}` is the
content of a file beside the configuration; `$${` is a plain `${`. Everything else that begins with
`${` is refused by name rather than handed to a server that would take it for a secret. What comes in
is not looked at again: a secret with a `${` in it stays as it is. Whatever came from the secret store or a file is
held as a secret from then on (`secret_scanning.HELD`).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

from gatewright.command_text import to_type
from gatewright.config.secret_rules import NAME
from gatewright.config.secrets import Secrets
from gatewright.secret_scanning import HELD
from gatewright.storage.errors import StoreError

__all__ = ["MAX_FILE_BYTES", "Sources", "Undefined", "hides", "substitute"]

MAX_FILE_BYTES = 64 * 1024

# The last alternative is a `${` without its brace, which is refused by name.
_PATTERN = re.compile(r"\$\$\{|\$\{([^}]*)\}|\$\{")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?", re.DOTALL)
_HOLDER, _MOST = "configuration", 256
_FORMS = "write ${VAR}, ${VAR:-default}, ${secret:NAME}, ${file:PATH}, or $${ for ${"


class Undefined(Exception):  # noqa: N818 - says what the variable is
    """A value cannot be completed. `what` and `instead` are for people."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}; {instead}")
        self.what = what
        self.instead = instead


class Sources:
    """Where values of one configuration file come from. The store of secrets is opened when the first one is needed, and
    gives a secret only to a file that may use it."""

    def __init__(
        self,
        variables: Mapping[str, str],
        secrets: Callable[[], Secrets],
        *,
        store: Path,
        file: Path = Path("-"),
        accepted: Mapping[str, str] | None = None,
    ) -> None:
        """`accepted` are the files that may be read, where not all may: path → SHA-256 of the content in hex."""
        self._variables = variables
        self._open = secrets
        self._store = store
        self._file = file
        self._accepted = accepted

    def of(self, file: Path, accepted: Mapping[str, str] | None = None) -> Sources:
        """The same for another configuration file."""
        return Sources(self._variables, self._open, store=self._store, file=file, accepted=accepted)

    def check(self, path: Path, content: bytes) -> None:
        """Raises `Undefined` for the content of a file that is not the one that was accepted."""
        if self._accepted is None:
            return
        if self._accepted.get(str(path)) != hashlib.sha256(content).hexdigest():
            raise Undefined(
                f"{path} has changed since it was looked at",
                f"`{to_type('config trust')}` shows what it says now",
            )

    def variable(self, name: str, default: str | None) -> str:
        """Of the environment. Raises `Undefined`."""
        value = self._variables.get(name)
        if default is not None:
            return value or default
        if value is None:
            raise Undefined(
                f"the environment variable {name} is not set",
                f"set {name}, or write ${{{name}:-default}}",
            )
        return value

    def secret(self, name: str) -> str:
        """Of the store. Raises `Undefined`."""
        if not NAME.fullmatch(name):
            raise Undefined(f"{name!r} is no name of a secret", "use letters, digits, '.', _ and -")
        # Only who uses a secret pays for looking up who may.
        from gatewright.config.secret_users import refusal  # noqa: PLC0415

        try:
            value = self._open().get(name)
            if value is not None and (
                why := refusal(self._variables, self._store, name, self._file)
            ):
                raise Undefined(*why)
        except StoreError as problem:
            raise Undefined(
                f"the secret {name} cannot be read: {problem}",
                f"`{to_type('secret test {}', name)}` tries it",
            ) from None
        if value is None:
            raise Undefined(
                f"the secret {name} is not set", f"keep it with `{to_type('secret set {}', name)}`"
            )
        HELD.hold(_HOLDER, [value], _MOST)
        return value


def substitute(text: str, sources: Sources, folder: Path) -> str:
    """`text` with everything replaced. `folder` is that of the configuration: no file outside it is
    read. Raises `Undefined`."""

    def replaced(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        if found[1] is None:
            raise Undefined(f"{found[0]} has no end", "write } behind it, or $${ for a plain ${")
        kind, _, rest = found[1].partition(":")
        if kind == "secret":
            return sources.secret(rest)
        if kind == "file":
            return _content(rest, folder, sources)
        variable = _VARIABLE.fullmatch(found[1])
        if variable is None:
            raise Undefined(f"{found[0]} is not a substitution", _FORMS)
        return sources.variable(*variable.groups())

    return _PATTERN.sub(replaced, text)


def hides(text: str) -> bool:
    """Whether something may come into this text that is not to be shown."""
    return any(found[0] != "$${" for found in _PATTERN.finditer(text))


def _content(name: str, folder: Path, sources: Sources) -> str:
    """A file below `folder`, without the line end that editors put last."""
    instead = "name a file below the folder of the configuration, without a link out of it"
    written = PurePath(name)
    if not name or written.is_absolute() or ".." in written.parts:
        raise Undefined(f"${{file:{name}}} is not below the configuration", instead)
    try:
        root = folder.resolve()
        target = (root / written).resolve()
        if not target.is_relative_to(root):
            raise Undefined(f"${{file:{name}}} leads out of the configuration's folder", instead)
        read = _read(target, name)
        sources.check(folder / name, read)
        content = read.decode().removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise Undefined(f"the file {name} cannot be read: {why}", "check it") from None
    HELD.hold(_HOLDER, [content], _MOST)
    return content


def _read(path: Path, name: str) -> bytes:
    # The path was resolved: a link there now was put there since. Opening a pipe must not wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Undefined(f"{name} is no regular file", "name a file")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise Undefined(f"the file {name} has more than {MAX_FILE_BYTES} bytes", "name a short one")
    if b"\0" in content:
        raise Undefined(f"the file {name} has a NUL character", "name a text file")
    return content
