"""Tracks files that a shell line writes or downloads (redirection, tee, curl), and which programs may run later in the same line.

Nobody has seen such a file as code. Whatever may take it for code, settings or a list of what to install, under any name, waits for
another line. Logs alone are let be, for as long as nothing moves them.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.validators.shell_programs import program_rule
from gatewright.validators.shell_syntax import Word
from gatewright.validators.shell_workspace import option_values

__all__ = ["made_rule", "note_made", "note_written"]

_PASSING = frozenset(
    """
    git rm rmdir unlink shred rimraf mkdir mkdirp touch tee truncate sponge mv ln cp install ditto rsync chmod chown chgrp sed gsed tar bsdtar zip unzip gzip
    gunzip bzip2 bunzip2 xz unxz zstd unzstd yq sort set find xargs curl wget http https xh httpie curlie gh cd pushd popd echo printf true false
    """.split()
)
"""These run nothing of what lies in the workspace."""
_MOVING = frozenset(
    "mv ln cp install ditto rsync tar bsdtar unzip gzip gunzip bunzip2 unxz unzstd xz bzip2 zstd".split()
)
_PUTTING = frozenset({"tee", "sponge"})


def note_made(made: set[str], path: str) -> None:
    """Keeps a file that a line makes, by its path and by its name alone, as it is called behind `cd`."""
    made.update({path.removeprefix("./"), path.rpartition("/")[2]} - {""})


def note_written(name: str, texts: Sequence[str], made: set[str]) -> None:
    """Keeps the files that a program writes what it gets into, or moves what was made to."""
    if name in _PUTTING or (made and name in _MOVING):
        for text in texts:
            if not text.startswith("-") and text != "/dev/null":
                note_made(made, text)


def made_rule(name: str, words: Sequence[Word], made: set[str]) -> str | None:
    """What speaks against a program behind what the line has made: a rule's name, or None."""
    if not made or name in _PASSING or program_rule(list(words)) is None:
        return None
    values = {one.rpartition("/")[2] for word in words for one in option_values(word.text)}
    only_logs = all(one.endswith(".log") for one in made)
    return None if only_logs and made.isdisjoint(values) else "program_name"
