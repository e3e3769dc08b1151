"""Commands that are shown lead to this very program, state and configuration when they are copied."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gatewright.command_text import Typed, line_to_type, program, to_type, typed_as, typed_here

FOLDER = Path(sys.executable).absolute().parent


@pytest.fixture(autouse=True)
def plainly() -> Iterator[None]:
    typed_as(Typed())
    yield
    typed_as(Typed())


def version(shown: str) -> str:
    """What the program says that was shown, asked through a shell."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"{shown} version"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        timeout=60,
    )
    return done.stdout


def test_where_the_shell_finds_us_the_name_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(FOLDER), prepend=":")
    assert program() == "gatewright"


def test_where_the_shell_finds_another_or_none_it_is_the_whole_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "gatewright"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.chdir(FOLDER.parent)
    for path in (tmp_path, tmp_path / "nothing"):
        monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
        assert program() == str(FOLDER / "gatewright")
        assert version(program())


def test_a_program_without_a_script_is_a_module_and_spaces_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare = tmp_path / "two words" / "python"
    bare.parent.mkdir()
    bare.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(bare))
    assert program() == f"'{bare}' -P -m gatewright"


@pytest.mark.parametrize("name", ["a -- b", "a --config b", "a --help"])
def test_nothing_in_a_name_moves_or_suppresses_the_configuration(name: str) -> None:
    typed_as(Typed(file="/c {x}/mgp.toml"))
    end = "--config '/c {x}/mgp.toml'"
    assert to_type("server rm {}", name) == f"gatewright server rm '{name}' {end}"
    assert line_to_type("connect", name, "{}") == f"gatewright connect '{name}' '{{}}' {end}"


@given(name=some.text())
def test_a_name_from_elsewhere_is_one_word_of_a_shell_in_which_nothing_is_hidden(name: str) -> None:
    shown = to_type("server pin {} --accept", name)
    words = shlex.split(shown)
    assert (words[:3], words.count("--accept")) == (
        ["gatewright", "server", "pin"],
        1 + (name == "--accept"),
    )
    assert len(words) == (6 if name.startswith("-") else 5)
    assert shown.isprintable()


@pytest.mark.parametrize("name", ["--accept", "-rf", "--config", "--", "-"])
def test_a_name_that_begins_with_a_dash_is_no_option(name: str) -> None:
    """A tool that is called `--accept` must not be accepted by whoever looks at it."""
    assert to_type("server pin {} {}", "srv", name) == f"gatewright server pin -- srv {name}"
    accepted = to_type("server pin {} {} --accept", "srv", name)
    assert accepted == f"gatewright server pin --accept -- srv {name}"
    typed_as(Typed(file="/c"))
    granted = to_type("grant add {} {} --permission {}", name, "a/b", "camera")
    assert granted == f"gatewright grant add --permission=camera --config /c -- {name} a/b"
    allowed = to_type("secret allow {} --config {}", name, "/d")
    assert allowed == f"gatewright secret allow --config=/d -- {name}"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("approve ap_1", "gatewright approve ap_1 --config '/a b/mgp.toml'"),
        (
            "server add X -- COMMAND ARGS",
            "gatewright server add X --config '/a b/mgp.toml' -- COMMAND ARGS",
        ),
        ("key create --help", "gatewright key create --help"),
        ("completion bash", "gatewright completion bash"),
        ("connect x --config /c", "gatewright connect x --config /c"),
    ],
)
def test_a_configuration_that_was_named_is_named_again(words: str, shown: str) -> None:
    typed_as(Typed(file="/a b/mgp.toml"))
    assert to_type(words) == shown


def test_what_the_state_folder_is_enough_for_needs_no_configuration() -> None:
    typed_as(Typed(variables="GATEWRIGHT_STATE=/s ", file="/c/mgp.toml", always=False))
    assert to_type("approve {}", "ap_1") == "GATEWRIGHT_STATE=/s gatewright approve ap_1"
    assert to_type("secret set {}", "a").endswith(" gatewright secret set a --config /c/mgp.toml")
    other = to_type("tool list", file=Path("/d/mgp.toml"))
    assert other == "GATEWRIGHT_STATE=/s gatewright tool list --config /d/mgp.toml"


def test_strangers_from_elsewhere_are_not_told_about_folders() -> None:
    typed_as(Typed(variables="GATEWRIGHT_STATE=/s ", local=False))
    assert to_type("key create NAME", known=False) == "gatewright key create NAME"
    assert to_type("approve").startswith("GATEWRIGHT_STATE=/s ")
    typed_as(Typed(variables="GATEWRIGHT_STATE=/s "))
    assert to_type("key create NAME", known=False).startswith("GATEWRIGHT_STATE=/s ")


def test_variables_that_stood_in_front_of_a_command_stand_in_front_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = typed_here("", {"GATEWRIGHT_STATE": "a state", "MGP_CONFIG_PATH": "/c"})
    front = f"GATEWRIGHT_STATE='{tmp_path}/a state' MGP_CONFIG_PATH=/c {program()}"
    assert typed.shown("approve") == f"{front} approve"
    assert typed_here("/d", {}).shown("approve") == f"{program()} approve --config /d"


async def test_two_gateways_in_one_process_show_each_its_own() -> None:
    async def one(name: str) -> str:
        typed_as(Typed(name))
        await asyncio.sleep(0)
        return await asyncio.create_task(shown())

    async def shown() -> str:
        return to_type("approve")

    assert tuple(await asyncio.gather(one("a"), one("b"))) == ("a approve", "b approve")
    assert copy_context().run(to_type, "approve") == "gatewright approve"
