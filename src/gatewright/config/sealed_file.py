"""`SealedFile`: secret store in one file, encrypted with AES-256-GCM under a key generated into another file; locked against other processes.

What that protects from: the file alone gives nothing away, so it may lie in a backup, a volume or a
support bundle without its key, and one that was changed is refused. It does not protect from
whoever can read the key as well: the same user, root, or a copy of the whole folder. For those, put
the key elsewhere (`[secrets] key_file`) or use a keyring.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatewright.config.secret_rules import check_name, check_value
from gatewright.storage.errors import StoreDamagedError, StoreError
from gatewright.storage.private_file import alone, replace_file

__all__ = ["SealedFile"]

_HEAD = b"gatewright secrets 1\n"
_NONCE = 12
_KEY = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SealedFile:
    """`secrets.sealed` in a folder. Several processes may use it at once."""

    def __init__(self, folder: Path, key_file: Path | None = None) -> None:
        self._path = folder / "secrets.sealed"
        self._lock = folder / "secrets.lock"
        self._key_path = key_file or folder / "secrets.key"

    @property
    def where(self) -> str:
        """For people: the file."""
        return str(self._path)

    def exists(self) -> bool:
        """Whether something was ever kept here."""
        return self._path.exists()

    def names(self) -> list[str]:
        """What there is, sorted. Raises `StoreError`."""
        return sorted(self._load())

    def get(self, name: str) -> str | None:
        """The value, None where there is none. Raises `StoreError`."""
        return self._load().get(name)

    def put(self, name: str, value: str) -> None:
        """Keep a value, over the one before it. Raises `ValueError` and `StoreError`."""
        check_name(name)
        check_value(value)
        with self._locked():
            self._save(self._load() | {name: value})

    def remove(self, name: str) -> bool:
        """Forget a value: True where there was one. Raises `StoreError`."""
        if not self.exists():
            return False
        with self._locked():
            held = self._load()
            if held.pop(name, None) is None:
                return False
            self._save(held)
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else changes the file meanwhile."""
        try:
            with alone(self._lock):
                yield
        except OSError as problem:
            raise StoreError(f"{self._lock} cannot be used: {problem.strerror}") from problem

    def _load(self) -> dict[str, str]:
        content = self._read(self._path)
        if content is None:
            return {}
        key = self._key()
        if key is None:
            raise StoreError(
                f"the key {self._key_path} is gone, so {self._path} cannot be opened: bring it "
                f"back, or remove {self._path.name} and set the secrets again"
            )
        return self._open(content, key)

    def _open(self, content: bytes, key: bytes) -> dict[str, str]:
        sealed = content[len(_HEAD) :]
        try:
            if not content.startswith(_HEAD):
                raise InvalidTag
            plain = AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], _HEAD)
            return msgspec.json.decode(plain, type=dict[str, str])
        except (InvalidTag, ValueError):
            raise StoreDamagedError(
                f"{self._path} is not what was written with the key {self._key_path}: bring both "
                f"back from one backup, or remove {self._path.name} and set the secrets again"
            ) from None

    def _save(self, held: dict[str, str]) -> None:
        """Call it inside `_locked` only: else two processes would make a key each."""
        # A store without its key was refused by `_load` before: a new key is made for the first secret alone.
        key = self._key() or self._made_key()
        # A fresh one for each write: a nonce used twice with one key breaks GCM (NIST SP 800-38D §8).
        nonce = os.urandom(_NONCE)
        # The head is authenticated too: the version in it cannot be changed.
        sealed = AESGCM(key).encrypt(nonce, msgspec.json.encode(held), _HEAD)
        self._write(self._path, _HEAD + nonce + sealed)

    def _made_key(self) -> bytes:
        key = AESGCM.generate_key(8 * _KEY)
        self._write(self._key_path, key.hex().encode() + b"\n")
        return key

    def _key(self) -> bytes | None:
        text = self._read(self._key_path, private=True)
        if text is None:
            return None
        try:
            key = bytes.fromhex(text.decode("ascii"))
        except ValueError:
            key = b""
        if len(key) != _KEY:
            raise StoreDamagedError(f"{self._key_path} is no key: bring it back from a backup")
        return key

    def _read(self, path: Path, *, private: bool = False) -> bytes | None:
        try:
            with path.open("rb") as file:
                if private:
                    # Of the open file, which no name can exchange any more.
                    _check_private(path, os.fstat(file.fileno()))
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StoreError(f"{path} cannot be read: {problem.strerror}") from problem

    def _write(self, path: Path, content: bytes) -> None:
        try:
            replace_file(path, content)
        except OSError as problem:
            raise StoreError(f"{path} cannot be written: {problem.strerror}") from problem


def _check_private(path: Path, found: os.stat_result) -> None:
    """A key that others can read is no key."""
    if found.st_mode & _OTHERS:
        raise StoreError(f"others can read the key {path}: run `chmod 600 {path}`")
    if found.st_uid not in {0, os.getuid()}:
        raise StoreError(
            f"the key {path} belongs to somebody else: run `chown {os.getuid()} {path}`"
        )
