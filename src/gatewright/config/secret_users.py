"""Which configuration files may use a secret, in the user's trust store: check, allow, revoke; which of them keep the right to a new value.

Without this every file that names `${secret:NAME}` would get what another was trusted with, and could send it anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gatewright.command_text import to_type
from gatewright.config.trust import place_of, trust_of

__all__ = [
    "allow",
    "configurations",
    "disallow",
    "for_new_value",
    "is_for_alone",
    "refusal",
    "users",
]

_STDIN = Path("-")


def refusal(
    environ: Mapping[str, str], store: Path, name: str, file: Path
) -> tuple[str, str] | None:
    """Why a configuration may not use a secret of the state folder `store`, and what to do; None where it may.
    Raises `StoreError`."""
    known = users(environ, store, name)
    if str(_placed(file)) in known:
        return None
    named = "-" if file == _STDIN else str(file.absolute())
    instead = f"if it is meant: `{to_type('secret allow {} --config {}', name, named)}`"
    if not known:
        return f"the secret {name} was kept without saying which configuration may use it", instead
    others = ", ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")
    return f"the secret {name} was set for {others} and not for this configuration", instead


def configurations(files: Sequence[Path], config: Path | None) -> list[Path]:
    """The files that a secret is set for: the named one, else those in force here, else the one that `init` would write."""
    return [config] if config is not None else [*files] or [Path("mgp.toml")]


def users(environ: Mapping[str, str], store: Path, name: str) -> list[str]:
    """The configurations that may use it. Raises `StoreError`."""
    return trust_of(environ).users(_folder(store), name)


def is_for_alone(environ: Mapping[str, str], store: Path, name: str, file: Path) -> bool:
    """Whether this configuration may use it and no other may. Raises `StoreError`."""
    return users(environ, store, name) == [str(_placed(file))]


def allow(
    environ: Mapping[str, str], store: Path, name: str, files: Iterable[Path]
) -> Callable[[], None]:
    """Let configurations use it; what is returned takes that back from those that could not before. Raises `StoreError`."""
    trust, folder = trust_of(environ), _folder(store)
    new = trust.allow(folder, name, map(_placed, files))
    return partial(trust.disallow, folder, name, new)


@contextmanager
def for_new_value(
    environ: Mapping[str, str], store: Path, name: str, files: Iterable[Path]
) -> Iterator[None]:
    """Around the storing of a new value: `files` may use it afterwards. Configurations that could use the old value keep the
    right only if all of `files` had it too (they replaced a value in common); else it is taken from them. Raises `StoreError`."""
    trust, folder = trust_of(environ), _folder(store)
    placed = list(map(_placed, files))
    former = [Path(one) for one in trust.users(folder, name)]
    # Before the value is stored: in between it is nobody's, not a stranger's.
    if not set(placed) <= set(former):
        trust.disallow(folder, name)
    try:
        yield
    except BaseException:
        trust.allow(folder, name, former)
        raise
    trust.allow(folder, name, placed)


def disallow(environ: Mapping[str, str], store: Path, name: str) -> None:
    """No configuration may use it any more. Raises `StoreError`."""
    trust_of(environ).disallow(_folder(store), name)


def _placed(file: Path) -> Path:
    return file if file == _STDIN else place_of(file)


def _folder(store: Path) -> Path:
    return Path(os.path.realpath(store))
