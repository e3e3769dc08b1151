"""`OwnPlaces`: paths of this user's gateway configuration, accepted files and state, existing or not, that sandboxed servers are denied.

Whoever may put a file in one of these places says what a gateway runs, at once or at its next start. No isolated server may
(`servers.gateway_files`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import platformdirs

from gatewright.config.trust import trust_of

__all__ = ["OwnPlaces", "own_places", "user_files"]


class OwnPlaces(msgspec.Struct, frozen=True):
    """All paths are absolute. That something is named here does not say that it is there."""

    files: tuple[Path, ...] = ()
    """Files that count as configuration where they are there, the user's own among them, also where another one was named."""
    folders: tuple[Path, ...] = ()
    """The folder of `trust.json`, and the state folder of a gateway that is not told another one."""


def own_places(
    environ: Mapping[str, str], state: Path, files: Iterable[Path] = (), cwd: Path | None = None
) -> OwnPlaces:
    """Those of a gateway with these variables, for which these files count; relative ones are in `cwd`."""
    here = Path.cwd() if cwd is None else cwd
    every = [here.absolute() / one for one in (*files, *user_files(environ))]
    folders = [trust_of(environ).file.parent.absolute(), state.absolute()]
    return OwnPlaces(tuple(dict.fromkeys(every)), tuple(dict.fromkeys(folders)))


def user_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the user's own configuration may be, highest first."""
    # MGP §15.2 names `~/.config/mgp` on every platform; the platform's own place comes after it.
    home = environ.get("HOME")
    yield (Path(home) if home else Path.home()) / ".config" / "mgp" / "servers.toml"
    yield platformdirs.user_config_path("mgp") / "servers.toml"
