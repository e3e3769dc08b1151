"""Prepares text of a configuration or host file for a message: masks secrets, escapes invisible characters, cuts it to 600 characters.

Every message about a host's file, an import or a configuration goes through here.
"""

from __future__ import annotations

from gatewright.secret_scanning.credentials import mask
from gatewright.secret_scanning.escape_invisible import Spelling
from gatewright.secret_scanning.invisible import hidden

__all__ = ["MOST", "shown"]

MOST = 600
"""Characters of one message."""


def shown(text: str, most: int = MOST, *, named: bool = True) -> str:
    """`text` for a message. `named`: what stands behind a name like `password=` is masked, whatever it looks like."""
    # Cut first: looking for secrets in megabytes takes seconds. The word at the cut goes, for half a secret is not known for one.
    head = text if len(text) <= 2 * most else " ".join(text[: 2 * most].rsplit(None, 1)[:-1]) + "…"
    # Before the spelling: escapes in it would hide a secret from the rules.
    whole = mask(head, named=named)
    if not (whole.isascii() and whole.isprintable()):
        whole = whole.translate(_SPELLED)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def _spelled(char: str) -> str:
    if char in "\n\r\t" or hidden(char) or not (char.isprintable() or char == " "):
        return f"\\u{{{ord(char):x}}}"
    return char


_SPELLED = Spelling(_spelled)
