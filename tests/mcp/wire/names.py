"""Ways to write a method so that a server which trims, folds, decodes or resolves reads it as the method."""

from __future__ import annotations

import html
import itertools
import random
import unicodedata
from collections.abc import Iterator
from urllib.parse import quote, unquote

__all__ = ["folded", "spellings"]

_BLANKS = (
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "\x0b",
    "\x1f",
    "\x7f",
    "\x85",
    "\xa0",
    "\u200b",
    "\u200e",
    "\u2060",
    "\u3000",
    "\ufeff",
    "\u00ad",
    "\u180e",
    "\U000e0020",
)
_SLASHES = (
    "//",
    "/./",
    "\\",
    "\\\\",
    "/\\",
    "\u2044",
    "\u2215",
    "\uff0f",
    "\u29f8",
    ".",
    ":",
    "::",
    "-",
    "_",
    "",
    "%2f",
    "%2F",
    "%252f",
    "%c0%af",
    "%C0%AF",
    "%e0%80%af",
    "&#47;",
    "&#x2f;",
    "&sol;",
    "\\u002f",
    "%u002f",
    "\\x2f",
    "/ ",
    " /",
    "/\0",
    "/\u200b",
    "|",
    ",",
    ";",
    "+",
    "~",
    "=",
)
_LOOKS = {
    "o": ("0", "\u043e", "\u03bf", "\uff4f", "\u00f6", "\u0585"),
    "l": ("1", "\u04cf", "\uff4c", "\u2113", "\U0001d5c5"),
    "a": ("\u0430", "\u03b1", "\uff41", "\u00e4", "\u0227"),
    "c": ("\u0441", "\u03f2", "\uff43", "\u00e7"),
    "s": ("\u0455", "\u017f", "\uff53", "\u015f"),
    "t": ("\u03c4", "\uff54", "\u0163"),
    "e": ("\u0435", "\uff45", "\u00e9"),
    "i": ("\u0456", "\u0131", "\u03b9"),
    "p": ("\u0440", "\u03c1"),
    "g": ("\u0261",),
    "k": ("\u212a", "\u03ba"),
}


def spellings(method: str, seed: int = 0, drawn: int = 400) -> Iterator[str]:
    """Each way by itself, everywhere it fits, and `drawn` ways at once."""
    yield from dict.fromkeys(_every(method))
    dice = random.Random(f"{method} {seed}")
    for _ in range(drawn):
        yield _drawn(method, dice)


def _every(method: str) -> Iterator[str]:
    yield from (method.upper(), method.title(), method.swapcase(), method.capitalize())
    yield from (
        f"/{method}",
        f"{method}/",
        f"//{method}",
        f"./{method}",
        f"x/../{method}",
        f"../{method}",
        f"{method}/.",
        f"{method}/x/..",
        f"a/b/../../{method}",
        f"{method}//",
        f"{method}.",
        f".{method}",
        f"{method}?",
        f"{method}#",
    )
    for blank in _BLANKS:
        yield from (
            method + blank,
            blank + method,
            method.replace("/", f"{blank}/"),
            method.replace("/", f"/{blank}"),
        )
        yield from (method[:n] + blank + method[n:] for n in range(1, len(method)))
    for slash in _SLASHES if "/" in method else ():
        yield method.replace("/", slash)
    for n, char in enumerate(method):
        yield from (method[:n] + other + method[n + 1 :] for other in _LOOKS.get(char, ()))
        yield method[:n] + f"%{ord(char):02x}" + method[n + 1 :]
        yield method[:n] + f"\\u{ord(char):04x}" + method[n + 1 :]
        yield method[:n] + f"&#{ord(char)};" + method[n + 1 :]
        yield method[:n] + chr(0xFEE0 + ord(char)) + method[n + 1 :]
        yield method[:n] + char + "\u0301" + method[n + 1 :]
    yield "".join(chr(0xFEE0 + ord(char)) for char in method)
    yield "".join(f"%{ord(char):02X}" for char in method)
    yield quote(quote(method, safe=""), safe="")
    yield from (method + " " * 500, " " * 500 + method, method.replace("/", "/" * 300))


def _drawn(method: str, dice: random.Random) -> str:
    found = []
    for char in method:
        way = dice.randrange(9)
        other = char
        if way == 0:
            other = char.upper()
        elif way == 1:
            other = dice.choice(_BLANKS) + char
        elif way == 2 and char == "/":
            other = dice.choice(_SLASHES)
        elif way == 3 and char in _LOOKS:
            other = dice.choice(_LOOKS[char][:2])
        elif way == 4:
            other = f"%{ord(char):02x}"
        found.append(other)
    text = "".join(found)
    return text if text != method else text + dice.choice(_BLANKS)


def folded(method: str) -> str:
    """What a server that does all of it takes a method for: nothing but letters and digits, after everything was read."""
    text = method
    for _ in range(3):
        for longer in ("%c0%af", "%C0%AF", "%e0%80%af"):
            text = text.replace(longer, "/")
        text = html.unescape(unquote(text))
        text = text.replace("%u", "\\u")
        for mark, digits in (("\\u", 4), ("\\x", 2)):
            while mark in text:
                before, _, after = text.partition(mark)
                try:
                    text = before + chr(int(after[:digits], 16)) + after[digits:]
                except ValueError:
                    text = before + after
    parts: list[str] = []
    for part in text.replace("\\", "/").split("/"):
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", "/".join(parts))).casefold()
    back = {look: char for char, looks in _LOOKS.items() for look in looks}
    back["\u03c3"] = "s"
    letters = (back.get(one, one) for one in text)
    return "".join(
        itertools.filterfalse(lambda one: not one.isascii() or not one.isalnum(), letters)
    )
