"""The vocabulary of validators, and what judges the calls of one tool."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.schemas.json_pointers import Place
from gatewright.schemas.objection import Objection
from gatewright.schemas.value_weight import light_text
from gatewright.validators import registry
from gatewright.validators.registry import (
    BUILT_IN,
    GROUP,
    Checks,
    available,
    checks_for,
    plugged,
    preparer,
)


class Shouting:
    """A plug-in: capital letters are refused."""

    def judge(self, value: Any) -> Objection | None:
        return Objection("", "shouting", "shouts") if str(value).isupper() else None

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        yield Place(None, "text"), arguments.get("text", "")


def shouting(options: Mapping[str, Any], tool: str) -> Shouting:
    del options, tool
    return Shouting()


@pytest.fixture
def _plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = EntryPoints(
        [
            EntryPoint("shouting", f"{__name__}:shouting", GROUP),
            EntryPoint("sandbox", f"{__name__}:shouting", GROUP),
            EntryPoint("broken", "no.such.module:x", GROUP),
        ]
    )
    monkeypatch.setattr(registry, "entry_points", points.select)
    preparer.cache_clear()
    plugged.cache_clear()
    yield
    preparer.cache_clear()
    plugged.cache_clear()


def checks(names: str, options: Any = None, pointers: Any = None, tool: str = "tool") -> Checks:
    found = checks_for(names, options or {}, pointers or {}, tool)
    assert isinstance(found, Checks)
    return found


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_validator_can_be_made(name: str) -> None:
    """MGP-4.3-4"""
    assert checks(name).objection({}) is None
    assert name in available()


def test_none_judges_nothing() -> None:
    """MGP-4.5-5"""
    assert checks("none").objection({"command": "rm -rf /"}) is None
    assert "none" in available()


@pytest.mark.parametrize(
    "names", ["regex", "Sandbox", "", "sandbox+", "sandbox+regex", "none+x", "sandbox "]
)
def test_an_unknown_name_is_a_sentence_instead_of_checks(names: str) -> None:
    found = checks_for(names, {}, {}, "tool")
    assert isinstance(found, str)
    assert "is not available; there are code_safety, network_restricted, none, paths" in found


def test_options_that_cannot_be_used_are_a_sentence_instead_of_checks() -> None:
    found = checks_for("paths", {"paths": {"root": 3}}, {}, "tool")
    assert isinstance(found, str)
    assert "the options of the validator paths cannot be used" in found


def test_all_named_validators_judge_and_the_first_objection_counts() -> None:
    both = checks("none+sandbox+paths")
    name, found = both.objection({"path": "../x"}) or ("", None)
    assert (name, found and (found.path, found.rule)) == ("paths", ("/path", "outside"))
    name, found = both.objection({"command": "ls; id"}) or ("", None)
    assert (name, found and (found.path, found.rule)) == ("sandbox", ("/command", "list"))


def test_only_declared_arguments_are_judged() -> None:
    pointed = checks("sandbox", None, {"sandbox": ["/run/0", "/a~1b", "/all"]})
    assert pointed.objection({"command": "rm -rf /", "run": ["ls", "rm -rf /"], "a/b": 3}) is None
    places = [
        ({"run": ["ls; id"]}, "/run/0"),
        ({"a/b": "ls; id"}, "/a~1b"),
        ({"all": {"x": "ls; id"}}, "/all/x"),
        ({"all": [1, {"x": "ls; id"}]}, "/all/1/x"),
        ({"all": ["rm", "x y"]}, "/all"),
    ]
    for arguments, where in places:
        _, found = pointed.objection(arguments) or ("", None)
        assert found is not None
        assert found.path == where


@pytest.mark.parametrize(
    "arguments", [{}, [], None, 3, "x", {"run": {}}, {"run": []}, {"run": "x"}]
)
def test_declared_arguments_that_are_absent_are_harmless(arguments: Any) -> None:
    assert checks("sandbox", None, {"sandbox": ["/run/0", "/run/x"]}).objection(arguments) is None


def test_hosts_to_look_up_come_with_their_places() -> None:
    found = checks("sandbox+network_restricted").hosts({"deep": [{"url": "https://example.net/"}]})
    assert list(found) == [("network_restricted", "/deep/0/url", "example.net")]


@pytest.mark.usefixtures("_plugged")
def test_another_package_can_offer_a_validator() -> None:
    plugged = checks("shouting")
    assert plugged.objection({"text": "hello"}) is None
    assert plugged.objection({"text": "HELLO"}) == (
        "shouting",
        Objection("/text", "shouting", "shouts"),
    )
    assert "shouting" in available()


@pytest.mark.usefixtures("_plugged")
def test_a_plug_in_cannot_take_a_built_in_name_or_fail_open() -> None:
    _, found = checks("sandbox").objection({"command": "ls; id"}) or ("", None)
    assert found is not None
    assert isinstance(checks_for("broken", {}, {}, "tool"), str)


@pytest.mark.usefixtures("_plugged")
def test_a_list_is_given_text_by_text_to_who_does_not_take_words() -> None:
    pointed = checks("shouting", None, {"shouting": ["/list"]})
    assert pointed.objection({"list": ["calm", "calm"]}) is None
    assert pointed.objection({"list": ["calm", "LOUD"]}) == (
        "shouting",
        Objection("/list/1", "shouting", "shouts"),
    )


@pytest.mark.parametrize("pointers", [{}, {"sandbox": ["/a"]}, {"sandbox": ["/a"] * 8}])
def test_how_long_a_text_is_never_hides_what_takes_long(pointers: dict[str, list[str]]) -> None:
    """Each pointer has its value judged once, the same value as often as they lead to it."""
    checks = checks_for("sandbox", {}, pointers, "tool")
    assert isinstance(checks, Checks)
    for count in range(0, light_text(4096), 50):
        arguments = {"a": "x" * count}
        size = len(jsonrpc.encode({"name": "t", "arguments": arguments}))
        assert checks.takes_long(arguments, size) == checks.takes_long(arguments)


def test_plug_ins_are_looked_for_once_whatever_names_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []

    def points(group: str) -> EntryPoints:
        looked.append(group)
        return EntryPoints([])

    monkeypatch.setattr(registry, "entry_points", points)
    plugged.cache_clear()
    for number in range(200):
        assert "is not available" in str(checks_for(f"unknown{number}", {}, {}, "t"))
    plugged.cache_clear()
    assert looked == [GROUP]


def test_a_distribution_whose_entry_points_cannot_be_read_hides_no_plug_in_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line without a value is an error for whoever asks for all of them."""
    for name, line in {"bad": "no pair", "good": "loud = some.where:prepare"}.items():
        folder = tmp_path / f"{name}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[{GROUP}]\n{line}\n[other]\nfar = no:no\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    plugged.cache_clear()
    assert plugged()["loud"].value == "some.where:prepare"
    assert "far" not in plugged()
    plugged.cache_clear()


def test_a_short_text_whose_characters_stand_for_many_takes_long() -> None:
    """U+FDFA is eighteen characters in NFKC: four thousand of them kept everybody waiting for 25 ms."""
    checks = checks_for("network_restricted", {}, {}, "t")
    assert isinstance(checks, Checks)
    assert not checks.takes_long({"a": "a" * 4000})
    assert not checks.takes_long({"a": "\ufdfa" * 1000})
    assert checks.takes_long({"a": "\ufdfa" * 1400})
