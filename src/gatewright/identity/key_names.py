"""Names of API keys: the Unicode form in which they are kept (NFC), characters and reserved names refused, names that read like another's.

Theory. People see a name and decide by it: in `key list`, in an approval, in a grant. So there is one name for what looks like one: what is
composed and what is decomposed are the same name, no character in it shows nothing, and nobody is called like somebody else but for case
or width. Keys that were made before this was asked go on under the name that they have; what is said of one form of it holds
for the other (`schemas.lookalikes.spellings`), and the two are one person where somebody decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from gatewright.schemas.lookalikes import caseless, composed
from gatewright.secret_scanning.invisible import hidden

__all__ = ["TAKEN", "key_name", "read_alike"]

TAKEN = frozenset({"*", "anonymous", "local"})
"""Names that mean somebody without a key."""


def key_name(name: str, others: Iterable[str]) -> str:
    """The name as it is kept. `others` are called something else, in exactly their spelling: keys in force, and hosts, whose own name a
    key may have. Raises `ValueError`."""
    if not 1 <= len(name) <= 128 or not name.isprintable() or name != name.strip():
        raise ValueError("the name of a key's agent is 1 to 128 printable characters")
    if unseen := hidden(name):
        raise ValueError(f"the name has a character that nobody sees: {unseen}")
    kept = composed(name)
    if ":" in caseless(kept):
        raise ValueError("NAME:SUBJECT is a caller with an access token: a key's name has no colon")
    if caseless(kept) in TAKEN:
        raise ValueError(f"{name!r} means somebody else; choose another name")
    return _as_others(kept, others)


def _as_others(name: str, others: Iterable[str]) -> str:
    alike = read_alike(name, others)
    if name in alike or not alike:
        return name
    # Made before names were composed: it is the same one, and goes on as it was.
    for other in alike:
        if composed(other) == name:
            return other
    raise ValueError(
        f"{name!r} reads like {alike[0]!r}: choose another name, or use exactly that one"
    )


def read_alike(name: str, names: Iterable[str]) -> list[str]:
    """Those of these names that are this one but for case, width and Unicode form, itself included."""
    word = caseless(name)
    return [one for one in dict.fromkeys(names) if caseless(one) == word]
