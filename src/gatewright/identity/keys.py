"""`KeyStore`: API keys as SHA-256 digests in the state database: verify in memory, create, rotate, revoke, last use; audit outbox.

A key is `gw_`, eight characters that name it, `_`, and 256 random bits. Only the SHA-256 of the
whole text is stored, so the text is shown once and never again. A random key of that length cannot
be guessed, which is why a slow password hash would buy nothing here. In memory, where each of its connections
has it anyway, a key that was shown and fits stays as it was shown until it is shown after its end, or the keys are read
again, as after each revocation (`_proved`).

A key may say more of whom it speaks for: role, trust, resources, permissions (`UserContext`). That is part of
the key from its making to its end; who is to have other rights gets another key.

A key that is replaced may go on for a while beside its successor, so that its owner can change over without
a gap (`rotate`).

`verify` touches no database. What another process changes meanwhile (`gatewright key revoke`) is read when the state database is
looked at, at least twice a second. Each change leaves a row in `key_changes` in the same transaction, until the gateway has put
it into the audit trail (`changes`, `recorded`): also a change made while no gateway ran gets there.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from gatewright.call import Caller, UserContext
from gatewright.identity.key_names import key_name
from gatewright.schemas.lookalikes import spellings
from gatewright.storage.changes import Changes
from gatewright.storage.state import StateDatabase
from gatewright.storage.try_write import changed_aside

__all__ = ["Key", "KeyChange", "KeyKind", "KeyStore", "NameTaken", "Rejected", "saved_beside"]

KeyKind = Literal["agent", "operator"]
Rejected = Literal["unknown", "expired", "revoked"]
"""Why a credential is no good. For the record: a caller is told the same in all three cases."""

_PREFIX = "gw_"
_NAME_CHARS = 8
_ID = slice(len(_PREFIX), len(_PREFIX) + _NAME_CHARS)
_SECRET_BYTES = 32
_SECRET_CHARS = 43  # 62 ** 43 is just above 2 ** 256
_NOBODY = (bytes(32), None, None)
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_COLUMNS = "digest, id, name, kind, created, expires, revoked, last_used, said, replaced_by"
_NOTHING_SAID = UserContext()


class Key(msgspec.Struct, frozen=True):
    """One key without its secret. Times are Unix seconds."""

    id: str
    name: str
    """The agent or operator that the key speaks for."""
    kind: KeyKind
    created: float
    expires: float | None = None
    revoked: float | None = None
    last_used: float | None = None
    user: UserContext = UserContext()
    """What it says of whom it speaks for."""
    replaced_by: str | None = None
    """The id of its successor."""
    key_hash: str = ""
    """SHA-256 of the secret, in hexadecimal: all that is kept of it."""


class KeyChange(msgspec.Struct, frozen=True):
    """One change of the keys that the audit trail does not have yet."""

    number: int
    time: float
    action: Literal["created", "revoked", "replaced"]
    key_id: str
    name: str
    kind: KeyKind
    by: str


class NameTaken(ValueError):  # noqa: N818 - what is the case, not what is wrong with us
    """The name has keys in force: `keys`."""

    def __init__(self, name: str, keys: Sequence[Key]) -> None:
        super().__init__(f"{name} has a key in force")
        self.keys = tuple(keys)


class KeyStore:
    """The keys in one state database. Use it from one thread at a time."""

    def __init__(
        self, state: StateDatabase, *, clock: Callable[[], float], random: Callable[[int], bytes]
    ) -> None:
        """`clock` gives Unix seconds, `random(n)` n bytes fit for secrets. Raises `StoreError`."""
        self._keys = state.section("keys", "the keys")
        self._changes = Changes(
            self._keys, "key_changes", ("time", "action", "key_id", "name", "kind", "who")
        )
        self._clock = clock
        self._random = random
        self._known: dict[str, tuple[bytes, Key | None, Caller | None]] = {}
        self._proved: dict[str, tuple[bytes, Key | None, Caller | None]] = {}
        """What was shown and fits → the very entry of `_known` that it fits: of another entry it proves nothing."""
        self._used: dict[str, float] = {}
        self.loads = 0
        """Grows whenever the keys may have changed."""
        self._keys.listen(self._load, rereads=True)
        self._load()

    def verify(self, credential: str) -> Caller | Rejected:
        """Who presents `credential`? Touches no database."""
        # The id in the key finds the row; what is compared is the digest, in constant time.
        entry = self._known.get(credential[_ID], _NOBODY)
        expected, key, caller = entry
        if key is None or caller is None or self._proved.get(credential) is not entry:
            digest = sha256(credential.encode("utf-8", "surrogatepass")).digest()
            if not hmac.compare_digest(expected, digest) or key is None or caller is None:
                return "unknown"
            self._proved[credential] = entry  # good ones alone, so no more than there are keys
        now = self._clock()
        if key.revoked is not None:
            del self._proved[credential]
            return "revoked"
        if key.expires is not None and key.expires <= now:
            del self._proved[credential]
            return "expired"
        self._used[key.id] = now
        return caller

    def create(
        self,
        name: str,
        *,
        kind: KeyKind = "agent",
        expires: float | None = None,
        user: UserContext = _NOTHING_SAID,
        by: str,
        another: bool = True,
        hosts: Iterable[str] = (),
    ) -> tuple[Key, str]:
        """Make a key for the agent or operator `name`. The second value is the secret, shown once.

        `user` is what else the key says, `by` says who did it, for the record; `hosts` are the names of hosts, which a key may have but not
        resemble. Raises `NameTaken` where the name has a key
        in force and this is not to be `another`, `ValueError` for a name, an expiry or rights that cannot be, `StoreError`
        when the database does not take it.
        """
        now = self._clock()
        _check(kind, expires, now, user)
        with self._keys.changing():
            name = key_name(name, (*(key.name for key in self._in_force(None, now)), *hosts))
            # Inside the transaction: of two commands at once the second one sees the key of the first.
            if not another and (held := self._in_force(name, now)):
                raise NameTaken(name, held)
            made = self._insert(name, kind, now, expires, user, by)
        self._load()
        return made

    def rotate(
        self, id: str, *, expires: float | None = None, overlap_s: float = 0.0, by: str
    ) -> tuple[Key, str]:
        """Make a key that says the same as another one, which ends in `overlap_s` seconds, or when it
        would have ended before; without any overlap it is revoked.

        Raises `KeyError` for an unknown id, `ValueError` for a key that has ended or was replaced already
        and for what cannot be, `StoreError` when the database does not take it.
        """
        now = self._clock()
        with self._keys.changing():
            old = self._read(id)
            if old.revoked is not None or (old.expires is not None and old.expires <= now):
                raise ValueError(f"key {id} has ended already")
            if old.replaced_by is not None:
                raise ValueError(f"key {id} has been replaced by {old.replaced_by} already")
            _check(old.kind, expires, now, old.user)
            made = self._insert(old.name, old.kind, now, expires, old.user, by)
            column = "expires" if overlap_s > 0 else "revoked"
            # An overlap never prolongs a key.
            ends = min(now + overlap_s, old.expires or now + overlap_s)
            self._keys.execute(
                f"UPDATE keys SET {column} = ?, replaced_by = ? WHERE id = ?",  # noqa: S608 - constants
                (ends, made[0].id, id),
            )
            self._note("replaced" if overlap_s > 0 else "revoked", old, now, by)
        self._load()
        return made

    def held(self, word: str) -> list[Key]:
        """The keys in force of a name, oldest first; the key alone where `word` is the id of one."""
        with self._keys.reading():
            return [key for key in self.keys() if key.id == word] or self._in_force(
                word, self._clock()
            )

    def _in_force(self, name: str | None, now: float) -> list[Key]:
        """Of a name, in whatever Unicode form, or of all."""
        rows = self._keys.execute(
            f"SELECT {_COLUMNS} FROM keys WHERE revoked IS NULL "  # noqa: S608 - a constant
            "AND (expires IS NULL OR expires > ?) ORDER BY created, id",
            (now,),
        ).fetchall()
        forms = () if name is None else spellings(name)
        return [key for key in map(_key, rows) if name is None or key.name in forms]

    def _insert(
        self,
        name: str,
        kind: KeyKind,
        now: float,
        expires: float | None,
        user: UserContext,
        by: str,
    ) -> tuple[Key, str]:
        while (id := _base62(self._random(_NAME_CHARS), _NAME_CHARS)) in self._known:
            pass
        secret = f"{_PREFIX}{id}_{_base62(self._random(_SECRET_BYTES), _SECRET_CHARS)}"
        digest = sha256(secret.encode()).digest()
        key = Key(id, name, kind, now, expires, user=user, key_hash=digest.hex())
        self._keys.execute(
            "INSERT INTO keys (id, digest, name, kind, created, expires, said) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (id, digest, name, kind, now, expires, _spelled(user)),
        )
        self._note("created", key, now, by)
        return key, secret

    def revoke(self, id: str, *, by: str) -> Key:
        """End a key now; one that has ended already stays as it is.

        Raises `KeyError` for an unknown id, `StoreError` when the database does not take it.
        """
        now = self._clock()
        with self._keys.changing():
            changed = self._keys.execute(
                "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (now, id)
            ).rowcount
            key = self._read(id)
            if changed:
                self._note("revoked", key, now, by)
        self._load()
        return key

    def keys(self) -> list[Key]:
        """Every key, oldest first, ended ones included."""
        with self._keys.reading():
            rows = self._keys.rows(
                f"SELECT {_COLUMNS} FROM keys ORDER BY created, id"  # noqa: S608 - a constant
            )
            keys = [_key(row) for row in rows]
        return [
            msgspec.structs.replace(key, last_used=self._used.get(key.id, key.last_used))
            for key in keys
        ]

    def refresh_if_changed(self) -> bool:
        """Look whether another process has changed the keys; then they are read again. A few microseconds if not.

        Raises `StoreError`.
        """
        before = self.loads
        self._keys.look()
        return self.loads != before

    def is_current(self) -> bool:
        """Whether what is in memory is what the database had at the last look."""
        return self._keys.is_current()

    def save_last_used(self) -> None:
        """Write down when each key was last used. Raises `StoreError`."""
        if not self._used:
            return
        with self._keys.tidying():
            for statement in _last_used(self._used):
                self._keys.execute(*statement)
        self._used.clear()

    def take_used(self) -> dict[str, float]:
        """When each key was last used, to be written down by somebody else (`saved_beside`)."""
        used, self._used = self._used, {}
        return used

    def keep_used(self, used: Mapping[str, float]) -> None:
        """Take back times that could not be written down, to be saved later."""
        self._used = {**used, **self._used}  # what was used meanwhile is newer

    def changes(self) -> list[KeyChange]:
        """Changes that the audit trail does not have yet, oldest first. Raises `StoreError`."""
        return [KeyChange(*row) for row in self._changes.waiting()]

    def recorded(self, number: int) -> None:
        """The audit trail has every change up to `number`. Raises `StoreError`."""
        self._changes.recorded(number)

    def close(self) -> None:
        """Save the times of last use; nothing is followed any more."""
        try:
            self.save_last_used()
        finally:
            self._keys.close()

    def _load(self) -> None:
        with self._keys.reading():
            rows = self._keys.rows(f"SELECT {_COLUMNS} FROM keys")  # noqa: S608 - a constant
            keys = [(row[0], _key(row)) for row in rows]
        self._keys.read()
        self._known = {key.id: (digest, key, _caller(key)) for digest, key in keys}
        self._proved = {}
        self.loads += 1

    def named(self, name: str) -> Caller | None:
        """Whom the keys of that name speak for: an agent rather than an operator, whether they are still
        good or not. None where there are none. Touches no database."""
        forms = spellings(name)
        found = [caller for _, _, caller in self._known.values() if caller and caller.id in forms]
        return min(found, key=lambda one: one.kind != "agent", default=None)

    def _read(self, id: str) -> Key:
        row = self._keys.execute(
            f"SELECT {_COLUMNS} FROM keys WHERE id = ?",  # noqa: S608 - a constant
            (id,),
        ).fetchone()
        if row is None:
            raise KeyError(id)
        return _key(row)

    def _note(self, action: str, key: Key, now: float, by: str) -> None:
        self._changes.add(now, action, key.id, key.name, key.kind, by)


def _check(kind: str, expires: float | None, now: float, user: UserContext) -> None:
    if kind not in get_args(KeyKind):
        raise ValueError(f"a key is for an agent or an operator, not for {kind!r}")
    if kind == "operator" and user != _NOTHING_SAID:
        raise ValueError("an operator may do everything: rights and limits are for agents")
    if expires is not None and expires <= now:
        raise ValueError("the key would have expired before it was made")


def saved_beside(folder: Path, used: Mapping[str, float]) -> bool:
    """Write down when keys were last used, in any thread. False where that cannot be done just now."""
    return changed_aside(folder, _last_used(used))


def _last_used(used: Mapping[str, float]) -> list[tuple[str, tuple[float, str]]]:
    return [("UPDATE keys SET last_used = ? WHERE id = ?", (at, id)) for id, at in used.items()]


def _spelled(user: UserContext) -> str | None:
    return None if user == _NOTHING_SAID else msgspec.json.encode(user).decode()


def _key(row: Sequence[Any]) -> Key:
    user = _NOTHING_SAID if row[-2] is None else msgspec.json.decode(row[-2], type=UserContext)
    return Key(*row[1:-2], user, row[-1], row[0].hex())  # type: ignore[call-arg]


def _caller(key: Key) -> Caller:
    said = () if key.user == _NOTHING_SAID else (key.user,)
    return Caller(key.name, key.kind, key.id, user=said)


def _base62(data: bytes, length: int) -> str:
    number = int.from_bytes(data, "big")
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(digits)
