"""Loads signals of tool poisoning from TOML: phrase patterns, word groups per sentence, and those for results of tools.

Results of tools have signals of their own, in `results.toml`, which also says what of the other two files counts there, and for how
much. The files say how they are written. Each signal has an id, points, and texts in which a test looks for it. What is loaded is
read once in a process, when the first definition or result is read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

__all__ = ["DYNAMIC", "Group", "Kind", "Signal", "Signals", "load"]

DYNAMIC = frozenset({"own_parameter", "other_tool"})
"""Groups that depend on the definition."""

Kind = Literal["definitions", "results"]
"""What is read: a text is spoken of otherwise where it says what a tool does than where a tool brings it."""


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a definition speaks to the model: patterns (`any`), or groups of words that meet (`all`, `none`)."""

    id: str
    says: str
    points: int
    found: tuple[str, ...]
    plain: tuple[str, ...]
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    where: Literal["text", "raw", "sentence", "parameter", "name"] = "sentence"
    sentences: int = 1
    """In how many sentences, one after the other, the groups may stand."""
    declared: bool = False
    """Whether it counts although the definition declares what it takes."""
    advice: bool = False
    """Whether an honest warning or comparison may say it in nearly the same words."""
    covers: tuple[str, ...] = ()
    """Signals that say the same of the same words, and are not counted beside it."""
    covers_one: tuple[str, ...] = ()
    """The same, of which only the first that is found is not counted."""

    @property
    def needed(self) -> frozenset[str]:
        """The groups that are the same for all definitions."""
        return frozenset(self.all) - DYNAMIC


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words that mean the same to a signal."""

    whole: tuple[str, ...] = ()
    part: tuple[str, ...] = ()
    declared: bool = False
    late: bool = False
    """Whether it is looked for only where all others of a signal stand, because that takes long."""
    unsaid: bool = False
    """Whether its words are an address, an amount or a name, and a finding says only that the group stands there."""

    def pattern(self) -> str:
        """The group as one pattern of RE2, with boundaries that hold in every script."""
        ways = list(self.part)
        if self.whole:
            ways.append(rf"(?:^|[^\pL\pN_])(?:{'|'.join(self.whole)})(?:$|[^\pL\pN_])")
        return "|".join(ways)


class Signals(msgspec.Struct, frozen=True):
    """All signals and groups."""

    phrases: Sequence[Signal]
    spoken: Sequence[Signal]
    groups: Mapping[str, Group]
    declares: Collection[str]
    """Words in a parameter's name by which it says that it takes something private."""
    aliases: Mapping[str, str]
    """Short words in names by the words that they declare."""


@cache
def load(of: Kind = "definitions") -> Signals:
    """The files for one kind. They belong to the package, so one that cannot be read is a fault of the installation."""
    here = Path(__file__)
    phrases = _read(here.with_name("phrases.toml"))
    speech = _read(here.with_name("speech.toml"))
    found = Signals(
        _phrased(phrases),
        [msgspec.convert(one, Signal, strict=False) for one in speech["signal"]],
        msgspec.convert(speech["words"], dict[str, Group]),
        frozenset(speech["declares"].split()),
        dict(one.split("=") for one in speech["aliases"].split()),
    )
    return (
        found if of == "definitions" else _of_results(found, _read(here.with_name("results.toml")))
    )


def _phrased(said: Mapping[str, Any]) -> list[Signal]:
    return [
        msgspec.convert({"where": "text", **one}, Signal, strict=False)
        for one in said.get("phrase", said.get("signal", ()))
    ]


def _of_results(of: Signals, said: Mapping[str, Any]) -> Signals:
    """Of the signals of definitions those that the file counts, for as much as it says, and its own."""
    counted: Mapping[str, int] = said["counts"]
    spoken = [msgspec.convert(one, Signal, strict=False) for one in said["signal"]]
    own = msgspec.convert(said["words"], dict[str, Group])
    return replace(
        of,
        phrases=[*_counted(of.phrases, counted), *_phrased({"phrase": said["phrase"]})],
        spoken=[*_counted(of.spoken, counted), *spoken],
        groups={**of.groups, **own},
    )


def _counted(some: Sequence[Signal], points: Mapping[str, int]) -> list[Signal]:
    return [replace(one, points=points[one.id]) for one in some if one.id in points]


def _read(path: Path) -> Any:
    return tomllib.loads(path.read_text(encoding="utf-8"))
