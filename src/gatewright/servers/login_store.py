"""Store of OAuth tokens and client registrations for protected servers, as private files in the state folder.

Small files of their own in the state folder, mode 0600, replaced as a whole: the running gateway and
`gatewright server login` both write here, and each sees at once what the other wrote. A token is
given out only for the URL that it was fetched for, so a server whose address is changed in the
configuration gets none of the old one's.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from gatewright.oauth.client import Client, Grant
from gatewright.storage.errors import StoreError
from gatewright.storage.private_file import replace_file

__all__ = ["Kept", "Logins"]

T = TypeVar("T")


class Kept(msgspec.Struct, frozen=True):
    """What is kept of one server."""

    url: str
    grant: Grant | None = None
    wanted: tuple[str, ...] = ()
    """Scopes that the server asked for and nobody has granted yet; the next login asks for them."""


class Logins:
    """The files in `folder`, which is made when something is first kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "logins"

    def load(self, server: str, url: str) -> Kept:
        """What is kept of a server at this very URL. Raises `StoreError`."""
        found = self._read(self._of(server), Kept)
        return found if found is not None and found.url == url else Kept(url)

    def save(self, server: str, kept: Kept) -> None:
        """Keep it. What the operator's configuration already holds is not written down again.
        Raises `StoreError`."""
        grant = kept.grant
        if grant is not None and grant.client.origin == "configured":
            client = msgspec.structs.replace(grant.client, client_secret="")
            kept = msgspec.structs.replace(
                kept, grant=msgspec.structs.replace(grant, client=client)
            )
        self._write(self._of(server), kept)

    def client(self, issuer: str, redirect_uri: str) -> Client | None:
        """The registration with an issuer, made for this redirect URI. Raises `StoreError`."""
        found = self._read(self._at(issuer, redirect_uri), Client)
        same = found is not None and (found.issuer, found.redirect_uri) == (issuer, redirect_uri)
        return found if same else None

    def register(self, client: Client) -> None:
        """Keep a registration. Raises `StoreError`."""
        self._write(self._at(client.issuer, client.redirect_uri), client)

    def forget(self, server: str) -> bool:
        """Log out: True where there was something. Raises `StoreError`."""
        path = self._of(server)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as problem:
            raise StoreError(f"{path} cannot be removed: {problem}") from problem
        return True

    # -- files ---------------------------------------------------------------------------------------

    def _of(self, server: str) -> Path:
        return self._folder / f"server-{_digest(server)}.json"

    def _at(self, issuer: str, redirect_uri: str) -> Path:
        return self._folder / f"client-{_digest(f'{issuer} {redirect_uri}')}.json"

    def _read(self, path: Path, shape: type[T]) -> T | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=shape)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StoreError(f"{path} cannot be read: {problem}") from problem
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise StoreError(f"{path} is damaged: remove it, and log in again") from None

    def _write(self, path: Path, value: Kept | Client) -> None:
        try:
            replace_file(path, msgspec.json.encode(value))
        except OSError as problem:
            raise StoreError(f"{path} cannot be written: {problem}") from problem


def _digest(text: str) -> str:
    """A file name for any text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
