"""Writes the built tool index atomically to a file in the state folder; loads it where it is intact and made by the same program version.

A file has a first line, a digest of what made it, a digest of all that comes after, and the index. What made it are the lexicon, the word
vectors, the modules that read texts and what they stand on: an index of another version says other things of the same tools. Whether a server
still lists the same tools is for `ToolIndex.put` to ask.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import unicodedata
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from gatewright.discovery.index import ToolIndex
from gatewright.discovery.kept import Kept, KeptServer
from gatewright.discovery.postings import Lists
from gatewright.storage.private_file import replace_from_parts

__all__ = ["FILE", "load", "made_by", "store"]

FILE = "tool-index"

log = logging.getLogger("gatewright.discovery")

_HEAD = b"gatewright tool index 1\n"
_DIGEST = 32
_MOST_BYTES = 2**30
_MAKERS = (
    *("index.py", "kept.py", "postings.py", "query.py", "word_vectors.py", "vector_store.py"),
    *("words.py", "lexicon.py", "lexicon.txt", "vectors.npz"),
)
_Length = Annotated[int, msgspec.Meta(ge=0, le=_MOST_BYTES)]


@cache
def made_by() -> bytes:
    """A digest of what an index is made by."""
    beneath = f"{np.__version__} {unicodedata.unidata_version} {sys.byteorder}\n"
    digest = hashlib.blake2b(beneath.encode(), digest_size=_DIGEST)
    for name in _MAKERS:
        digest.update(resources.files("gatewright.discovery").joinpath(name).read_bytes())
    return digest.digest()


def load(file: Path) -> ToolIndex:
    """The index of a file; an empty one, and a line in the log, where the file is damaged, foreign or of another version."""
    try:
        # Also where there is no file: when one is written, those of the program may be of the version that is started next.
        made_by()
        if not file.exists():
            return ToolIndex()
        index = ToolIndex()
        index.take(_read(file))
    except (OSError, ValueError, IndexError) as problem:
        log.warning("the tool index is made anew: %s: %s", file, problem)
        return ToolIndex()
    return index


def store(file: Path, kept: Kept) -> None:
    """Write a file in the place of what is there. For a thread: no step of it is long. OSError."""
    parts = _parted(kept)
    lengths = msgspec.msgpack.encode([len(one) for one in parts])
    digest = _digest([lengths, *parts])
    replace_from_parts(file, [_HEAD, made_by(), digest, len(lengths).to_bytes(8), lengths, *parts])


def _read(file: Path) -> Kept:
    with file.open("rb") as content:
        size = os.fstat(content.fileno()).st_size
        if size > _MOST_BYTES:
            raise ValueError("it is longer than any index")
        if content.read(len(_HEAD)) != _HEAD:
            raise ValueError("it is no tool index of this form")
        if content.read(_DIGEST) != made_by():
            raise ValueError("another version has made it")
        digest = content.read(_DIGEST)
        lengths = content.read(min(int.from_bytes(content.read(8)), size))
        told = msgspec.msgpack.decode(lengths, type=list[_Length])
        if content.tell() + sum(told) != size:
            raise ValueError("it is not as long as it says")
        parts = [content.read(one) for one in told]
        if digest != _digest([lengths, *parts]) or content.read(1):
            raise ValueError("it is damaged")
    return _joined(parts)


def _parted(kept: Kept) -> list[bytes]:
    """Parts of which none takes long to read or write."""
    encode = msgspec.msgpack.encode
    parts = [encode([(one.server, one.digest, one.tools) for one in kept.servers])]
    parts += [one.entries for one in kept.servers]
    for lists in (kept.postings, kept.names, kept.spelling):
        parts += [encode(lists.texts), lists.lengths, lists.numbers]
    return [*parts, encode(kept.terms), *kept.vectors]


def _joined(parts: list[bytes]) -> Kept:
    """The same again, of parts whose digest is right."""
    decode, texts = msgspec.msgpack.decode, list[str]
    heads = decode(parts[0], type=list[tuple[str, bytes, int]])
    servers = [KeptServer(*head, part) for head, part in zip(heads, parts[1:], strict=False)]
    left = parts[1 + len(heads) :]
    held = [Lists(decode(left[at], type=texts), *left[at + 1 : at + 3]) for at in (0, 3, 6)]
    terms, (signs, codes, scales, rows) = decode(left[9], type=texts), left[10:]
    return Kept(servers, held[0], held[1], terms, held[2], (signs, codes, scales, rows))


def _digest(parts: list[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for one in parts:
        digest.update(one)
    return digest.digest()
