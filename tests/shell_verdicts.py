"""What two presets say of the effects that `shell_reading` finds, written for itself: word by word, from what stands in its list of words."""

from __future__ import annotations

from collections.abc import Mapping

from tests.shell_reading import WORDS, WORKSPACE, Effect, No, Reading, Unread, resolved
from tests.shell_table import Program

__all__ = ["allows"]

_INSIDE_ONLY = frozenset(
    "writes deletes run runs code project writes_here unpacks fetches module setting settings sends secrets publishes unseen acts".split()
)
"""What `inspect` refuses whatever is named."""
_ASKED = frozenset({"network", "environment", "endless"})
_STREAMS = frozenset({"-"})
_TO_OUTPUT = frozenset("curl wget tar gtar bsdtar openssl iconv pandoc gpg zip gzip bzip2 xz zstd lz4 brotli pigz uniq guniq xxd pdftotext".split())  # fmt: skip
"""Programs that take a dash for their output where they would write a file."""
_OUT = ("/srv/", "/etc/", "/tmp/", "/home/", "~/", "../")
_NO_LISTS = frozenset("ls cat head tail wc find tree grep rg bat diff stat file du cp mv mkdir rm touch".split())  # fmt: skip
_OWN_GOALS = frozenset("make gmake just task npm pnpm yarn bun invoke".split())


def allows(known: Mapping[str, Program], words: list[str], preset: str) -> bool:
    """Whether a preset allows a command. Raises `Unread` where nothing is said of it."""
    reading = Reading(known)
    try:
        reading.read(words)
    except No:
        return False
    kinds = {one.kind for one in reading.effects}
    judge = _Judge(preset, "writes_here" in kinds, "project" in kinds, reading.bounded)
    return all(map(judge.passes, reading.effects))


class _Judge:
    def __init__(self, preset: str, builds: bool, project: bool, bounded: bool) -> None:
        self.develops, self.builds, self.project, self.bounded = preset == "develop", builds, project, bounded  # fmt: skip

    def passes(self, effect: Effect) -> bool:
        kind, word = effect.kind, effect.word
        if kind in _ASKED:
            return self._asked(kind, effect)
        if not self.develops and kind in _INSIDE_ONLY:
            return kind == "writes" and word == "-" and effect.of.split(" ")[0] in _TO_OUTPUT
        return bool(getattr(self, f"_{kind}")(effect))

    def _asked(self, kind: str, effect: Effect) -> bool:
        if kind == "endless" and self.bounded:
            return True
        if kind == "environment":
            return self.develops and effect.of.startswith(("docker", "podman", "nerdctl", "systemctl", "envsubst"))  # fmt: skip
        return self.develops

    # What is read.

    def _reads(self, effect: Effect) -> bool:
        word = effect.word
        says = _says(word)
        if word in _STREAMS or word.isalnum():
            return True
        if "secret" in says:
            return False
        if "url" in says:
            return self.develops and not (self.builds or self.project)
        if "at" in says:
            return effect.of in _NO_LISTS
        if self.develops and "others" in says:
            return False
        takes = self.project or (self.builds and effect.by[0] == "-")
        return not takes or _inside(effect) or "system" in says or "system" in says

    def _reads_below(self, effect: Effect) -> bool:
        return self._reads(effect) and "below" not in _says(effect.word)

    def _lists(self, effect: Effect) -> bool:
        says = _says(effect.word)
        return effect.word in _STREAMS or not ("secret" in says or (self.develops and "others" in says))  # fmt: skip

    def _lists_below(self, effect: Effect) -> bool:
        return self._lists(effect) and "below" not in _says(effect.word)

    def _names(self, effect: Effect) -> bool:
        return "secret" not in _says(effect.word)

    def _enters(self, effect: Effect) -> bool:
        says = _says(effect.word)
        if effect.word == "-" or "://" in effect.word or "secret" in says:
            return False
        return _inside(effect) or (self.develops and _temporary(effect))

    def _repository(self, effect: Effect) -> bool:
        return _inside(effect)

    # What is changed.

    def _writes(self, effect: Effect) -> bool:
        if {"secret", "kept"} & _says(effect.word) or _is_kept(
            resolved(effect.word, effect.folder)
        ):
            return False
        return _inside(effect) or _temporary(effect)

    def _deletes(self, effect: Effect) -> bool:
        whole = resolved(effect.word, effect.folder) in {WORKSPACE, "/tmp"}
        return self._writes(effect) and not whole

    def _writes_here(self, effect: Effect) -> bool:
        return effect.folder.startswith((WORKSPACE, "/tmp/")) and not _is_kept(effect.folder)

    _unpacks = _fetches = _writes_here

    def _acts(self, effect: Effect) -> bool:
        return True

    def _project(self, effect: Effect) -> bool:
        return effect.folder.startswith(WORKSPACE)

    def _run(self, effect: Effect) -> bool:
        says = _says(effect.word)
        fetched = effect.of.startswith("go ") and "@" in effect.word
        return _inside(effect) and not fetched and not says & {"kept", "secret", "url", "colon"}

    def _runs(self, effect: Effect) -> bool:
        if effect.word and effect.word not in WORDS:
            raise Unread  # letters before a word make another one
        return "file" in _says(effect.word)

    # What goes elsewhere, or comes from there.

    def _host(self, effect: Effect) -> bool:
        return self.develops and effect.word[0] not in "/~."

    def _package(self, effect: Effect) -> bool:
        if not self.develops or not effect.word:
            return True
        raise Unread

    def _target(self, effect: Effect) -> bool:
        says = _says(effect.word)
        if effect.word[0] == "-":
            raise Unread  # an option behind `--`: whether its name publishes is not told here
        if "url" in says or effect.word.startswith("../") or "odd" in says:
            return False
        if self.develops and "publishes" in says and effect.of.split(" ")[0] not in _OWN_GOALS:
            return False
        return self._value(effect)

    def _text(self, effect: Effect) -> bool:
        if "colon" in _says(effect.word) and effect.of.startswith("git "):
            return self._argument(effect)
        if "@" in effect.word and effect.of.startswith("go "):
            return False
        return self._value(effect)

    def _value(self, effect: Effect) -> bool:
        if not (self.project or self.builds):
            return True
        word = effect.word
        pieces = (word, word.rpartition("=")[2], word[2:] if word[0] == "-" else "")
        return all(_inside(effect._replace(word=one)) for one in pieces if one.startswith(_OUT) or (one == "~" and one is not pieces[2]))  # fmt: skip

    def _argument(self, effect: Effect) -> bool:
        word = effect.word
        pieces = [word, *word.split("="), *word.split(":"), *word.split("@"), *([word[2:]] if word[0] == "-" else [])]  # fmt: skip
        hidden = word.endswith(("~/.ssh/id_rsa", "/.env"))
        return not hidden and not any("secret" in _says(one) for one in pieces)

    def _never(self, effect: Effect) -> bool:
        return False

    _sends = _secrets = _publishes = _code = _settings = _never

    def _module(self, effect: Effect) -> bool:
        raise Unread

    _setting = _module


def _says(word: str) -> set[str]:
    """What a word is; of an option, or the name of a program, nothing."""
    if word.endswith("~/.ssh/id_rsa"):
        return {"secret", "leads"}
    return set(WORDS.get(word, "").split())


def _is_kept(path: str) -> bool:
    return "/.git/" in f"{path}/" or "/.bashrc/" in f"{path}/"


def _inside(effect: Effect) -> bool:
    path = resolved(effect.word, effect.folder)
    return path == WORKSPACE or path.startswith(f"{WORKSPACE}/")


def _temporary(effect: Effect) -> bool:
    return resolved(effect.word, effect.folder).startswith("/tmp/")
