"""`FileSource`: loads the configuration files; detects by stat when they, or the secret, value and trust files they use, have changed.

Files are told apart by what the file system says of them, never by their content: to look costs a few
system calls. Files that are not there yet count as well, because they would, and so do those whose
content stands for a value (`${file:PATH}`, `${secret:NAME}`), and what says which of them were accepted.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path

from gatewright.config.build import override
from gatewright.config.documents import Document
from gatewright.config.lookup import STDIN, candidates, groups, load
from gatewright.config.model import Settings
from gatewright.config.redaction_rules import files_of
from gatewright.config.secrets import CHANGED
from gatewright.config.trust import trust_of
from gatewright.patterns import Pattern

__all__ = ["FileSource", "named_files", "value_files"]

_FILE = Pattern(r"\$\{file:([^}]*)\}")


class FileSource:
    """The files that `load` would read, with what the command line says over them. The working directory
    and the environment are those of the start."""

    def __init__(
        self,
        config: Path | None = None,
        *,
        host: str | None = None,
        port: int | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._config = config
        self._host = host
        self._port = port
        self._environ = dict(os.environ if environ is None else environ)
        self._cwd = Path.cwd() if cwd is None else cwd
        self._given: Settings | None = None
        self._values: tuple[Path, ...] = ()
        self._kept: dict[Path, Document] = {}
        """The files that were accepted, as they were then."""
        self._loaded = False
        self.used: Hashable = None
        """The stamp from before the last `load`."""

    def load(self) -> Settings:
        """Read everything; standard input but once. Raises `SettingsError`. Once there is a configuration, a file that nobody has
        accepted is left out, with a warning, or counts as it was accepted last."""
        if self._given is not None:
            return self._given
        # Stamped before it is read: a change in between is then one more change, and not missed.
        before = self._places()
        values = {path: _stamp(path) for path in self._values}
        self.used = (*before, *values.values())
        config, environ, cwd = self._config, self._environ, self._cwd
        found = load(config, environ=environ, cwd=cwd, kept=self._kept, again=self._loaded)
        self._loaded = True
        self._values = tuple(value_files(found))
        # One that changes while it is read is not the one that was read.
        self.used = (*before, *(values.get(path, _stamp(path)) for path in self._values))
        settings = override(found, host=self._host, port=self._port)
        self._given = settings if self._config == STDIN else None
        return settings

    def stamp(self) -> Hashable:
        """Differs from the one before where a file that counts may have changed, came or went."""
        return (*self._places(), *map(_stamp, self._values))

    def follows(self) -> list[list[Path]]:
        """The files, absolute, in groups: of each the first that is there counts."""
        found = groups(self._config, environ=self._environ, cwd=self._cwd)
        return [[one if one == STDIN else self._cwd / one for one in group] for group in found]

    def _places(self) -> list[Hashable]:
        places = candidates(self._config, environ=self._environ, cwd=self._cwd)
        return [*map(_stamp, places), _stamp(trust_of(self._environ).file)]


def value_files(settings: Settings) -> Iterator[Path]:
    """The files whose content stands for a value, absolute: rules of redaction, `${file:PATH}`, what was accepted, secrets."""
    yield from files_of(settings)
    for server in settings.servers:
        folder = server.origin.file.absolute().parent
        for text in server.written.values():
            yield from (folder / name for name in _FILE.findall(text))
        if server.accepted:
            yield Path(server.openapi or "")
    if any("${secret:" in text for one in settings.servers for text in one.written.values()):
        yield from (settings.storage.path / name for name in CHANGED)


def named_files(settings: Settings) -> Iterator[Path]:
    """What any table of the configuration files names as `${file:PATH}`, absolute, as they are written now."""
    for file in settings.files:
        try:
            text = file.read_text(encoding="utf-8", errors="replace") if file != STDIN else ""
        except OSError:  # it is replaced, and what comes is loaded anew
            continue
        if "${file:" in text:
            yield from (file.absolute().parent / name for name in _FILE.findall(text))


def _stamp(path: Path) -> tuple[Path, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return path, found.st_mtime_ns, found.st_size, found.st_ino
