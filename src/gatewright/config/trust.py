"""Trust check: refuses a configuration file found in or above the working directory and not accepted as it is now; records acceptance.

A file that is merely found may have come with a foreign project. It names
programs that are started, modules that are imported and addresses that secrets are sent to, so nothing of it is used until
the user has accepted it; what was accepted is remembered in the user's own state folder (decision 0048).
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from gatewright.command_text import to_type
from gatewright.config.documents import Document
from gatewright.config.problems import Origin, Problem, SettingsError
from gatewright.config.review import Entry, changes, contents, digests, effects, entries
from gatewright.config.trust_store import Accepted, Trust
from gatewright.storage.errors import StoreError

__all__ = ["NotAccepted", "accept", "check_accepted", "is_accepted", "place_of", "trust_of"]

_SHOWN_IN_ONE_LINE = 12


class NotAccepted(SettingsError):  # noqa: N818 - says what the file is
    """A configuration was found that nobody accepted as it is. `lines` say what it would do, or what changed."""

    def __init__(self, document: Document, lines: list[str], *, changed: bool) -> None:
        self.document = document
        self.lines = lines
        self.changed = changed
        path = document.path.absolute()
        self.what = (
            "this configuration has changed since it was accepted"
            if changed
            else "this configuration was found here and never accepted"
        )
        self.instead = (
            f"read it, then `{to_type('config trust {}', str(path))}`; "
            "--config FILE uses one without asking"
        )
        said = "; ".join(lines[:_SHOWN_IN_ONE_LINE])
        rest = len(lines) - _SHOWN_IN_ONE_LINE
        said += f"; and {rest} more" if rest > 0 else ""
        whole = f"{self.what}, so nothing of it is used. It says: {said or 'nothing that counts'}"
        super().__init__([Problem(Origin(path), "", whole, self.instead)])


def trust_of(environ: Mapping[str, str]) -> Trust:
    """What this user trusts. Neither `GATEWRIGHT_STATE` nor a configuration moves it: several gateways of one user have it in common."""
    named, home = environ.get("XDG_STATE_HOME"), environ.get("HOME")
    # A relative one would be another folder wherever this runs (XDG Base Directory: to be ignored).
    if named and Path(named).is_absolute():
        return Trust(Path(named) / "gatewright")
    if home and sys.platform not in {"darwin", "win32"}:
        return Trust(Path(home) / ".local" / "state" / "gatewright")
    return Trust(platformdirs.user_state_path("gatewright"))


def place_of(path: Path) -> Path:
    """A file by its folder's real path and its own name: what it names is looked for from that folder, so a link in
    another folder is another configuration."""
    return Path(os.path.realpath(path.absolute().parent)) / path.name


def check_accepted(document: Document, environ: Mapping[str, str]) -> dict[str, str]:
    """The files that were accepted with it, by their path: SHA-256 of the content in hex. Raises `NotAccepted` for a file that
    was not accepted as it is now."""
    try:
        accepted = trust_of(environ).accepted(place_of(document.path))
    except StoreError as problem:
        raise SettingsError(
            [Problem(Origin(document.path), "", str(problem), "or name the file: --config FILE")]
        ) from None
    if accepted is None:
        raise NotAccepted(document, effects(document), changed=False)
    # Files that it names are opened only for somebody who once said yes to it.
    found = entries(document)
    if said := changes(found, accepted.salt, accepted.entries):
        raise NotAccepted(document, said, changed=True)
    return contents(document, found)


def is_accepted(document: Document, environ: Mapping[str, str]) -> bool:
    """Whether a file was accepted as it is now."""
    try:
        check_accepted(document, environ)
    except SettingsError:
        return False
    return True


def accept(document: Document, environ: Mapping[str, str]) -> None:
    """Remember that the user accepted a file as it was read; nothing is written where it was accepted so before: gateways look
    anew whenever it is. Raises `StoreError`."""
    if is_accepted(document, environ):
        return
    salt = secrets.token_hex(16)
    found: list[Entry] = entries(document)
    trust_of(environ).accept(place_of(document.path), Accepted(salt, digests(found, salt)))
