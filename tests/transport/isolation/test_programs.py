"""What a program needs to start, and what it is not believed about that."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from gatewright.transport.isolation.programs import (
    beginning,
    environment_of,
    first_words,
    folder_of,
    named_by_env,
    program_places,
    script_place,
)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "me").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "me"))


def program(path: Path, text: str = "#!/bin/sh\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def places(one: str, *write: Path, path: str = "/usr/bin", searched: bool = False) -> set[str]:
    return {*program_places(one, path, [*map(str, write)], searched=searched)}


def test_a_program_is_followed_to_its_interpreter(tmp_path: Path) -> None:
    python = program(tmp_path / "pyenv" / "3.11" / "bin" / "python3.11", "ELF")
    (tmp_path / "pyenv" / "3.11" / "lib" / "python3.11").mkdir(parents=True)
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("")
    (venv / "bin" / "python").symlink_to(python)
    tool = program(venv / "bin" / "tool", f"#!{venv}/bin/python\n")
    link = tmp_path / "me" / ".local" / "bin" / "tool"
    link.parent.mkdir(parents=True)
    (tmp_path / "me" / ".local" / "lib" / "python3.11").mkdir(parents=True)
    link.symlink_to(tool)
    found = {*program_places(str(link), "/usr/bin")}
    assert found == {
        str(link.parent),
        str(venv),
        str(venv / "bin"),
        str(tmp_path / "pyenv" / "3.11"),
        str(tmp_path / "pyenv" / "3.11" / "bin"),
    }


def test_env_is_followed_to_what_it_starts(tmp_path: Path) -> None:
    node = tmp_path / "nvm" / "bin" / "node"
    program(node, "ELF")
    (tmp_path / "nvm" / "lib" / "node_modules").mkdir(parents=True)
    tool = program(tmp_path / "tools" / "npx", "#!/usr/bin/env node\n")
    found = {*program_places(tool, str(node.parent))}
    assert found == {str(tmp_path / "tools"), str(node.parent), str(tmp_path / "nvm")}


def test_links_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len({*program_places(str(tmp_path / "a"), "")}) == 2


def test_a_program_that_the_child_may_change_is_shown_and_not_followed(tmp_path: Path) -> None:
    """Its first line, and where it leads as a link, are the child's words."""
    work, other = tmp_path / "work", tmp_path / "other"
    interpreter = program(other / "run")
    script = program(work / "server", f"#!{interpreter}\n")
    link = work / "link"
    link.symlink_to(interpreter)
    for one in (script, str(link)):
        assert str(other) in places(one)
        assert places(one, work) == {str(work)}


def test_a_program_deeper_in_what_the_child_may_change_is_followed_if_it_was_named(
    tmp_path: Path,
) -> None:
    """A mount for reading stands over its folder at every start; what is found on a path may be there since the last one."""
    work, other = tmp_path / "work", tmp_path / "other"
    interpreter = program(other / "run")
    script = program(work / "bin" / "server", f"#!{interpreter}\n")
    assert places(script, work) == {str(work / "bin"), str(other)}
    assert places(script, work, searched=True) == {str(work / "bin")}
    assert places(script, work, work / "bin") == {str(work / "bin")}


def test_a_program_is_judged_by_where_it_really_is(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    interpreter = program(other / "run")
    program(work / "bin" / "server", f"#!{interpreter}\n")
    (tmp_path / "alias").symlink_to(work)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "server").symlink_to(work / "hop")
    (work / "hop").symlink_to(interpreter)
    alias = str(tmp_path / "alias" / "bin")
    assert str(other) in places(f"{alias}/server")
    assert places(f"{alias}/server", work) == {alias}
    tools = str(tmp_path / "tools")
    assert places(f"{tools}/server", work) == {tools, str(work)}


def test_no_link_that_the_child_may_change_leads_to_a_program(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    program(other / "bin" / "server")
    work.mkdir()
    (work / "away").symlink_to(other)
    assert places(str(work / "away" / "bin" / "server"), work) == set()
    inner = program(other / "tool", f"#!{work}/away/bin/server\n")
    assert places(inner, work) == {str(other)}


def test_a_first_line_is_cut_as_the_kernel_cuts_it(tmp_path: Path) -> None:
    for line in ("{}\x0crun", "{}\x0b run", "{}\x85run", "{}\x1frun", "relative/{}", ""):
        found = places(program(tmp_path / "a" / "tool", f"#!{line.format(tmp_path / 'b' / 'x')}\n"))
        assert str(tmp_path) not in found
        assert str(tmp_path / "b") in found or not line.startswith("{}")
        assert not any("run" in one for one in found), line
    blank = program(tmp_path / "a" / "blank", f"#! \t{tmp_path}/b/run\t-x y\n")
    assert places(blank) == {str(tmp_path / "a"), str(tmp_path / "b")}


def test_nobody_is_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to as a program or as an interpreter."""
    pipe = tmp_path / "a" / "pipe"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    script = program(tmp_path / "a" / "tool", f"#!{pipe}\n")
    found: list[set[str]] = []
    looking = threading.Thread(target=lambda: found.extend(map(places, (script, str(pipe)))), daemon=True)  # fmt: skip
    looking.start()
    looking.join(10)
    assert found == [{str(tmp_path / "a")}] * 2


def test_what_the_child_can_put_there_makes_no_environment(tmp_path: Path) -> None:
    tool = program(tmp_path / "tree" / "bin" / "tool", "ELF")
    lib = tmp_path / "tree" / "lib"
    (lib / "python3.11").mkdir(parents=True)
    (lib / "node_modules").mkdir()
    assert str(tmp_path / "tree") in places(tool)
    assert places(tool, lib) == {str(tmp_path / "tree" / "bin")}
    assert str(tmp_path / "tree") in places(tool, tmp_path)


def test_a_script_is_not_shown_where_the_child_may_say_what_it_is(tmp_path: Path) -> None:
    work, me = tmp_path / "work", tmp_path / "me"
    program(tmp_path / "other" / "server")
    work.mkdir()
    (work / "scope").symlink_to(tmp_path / "other")
    (me / "server").symlink_to(tmp_path / "other" / "server")
    assert script_place(["scope/server"], str(work)) == str(work / "scope")
    assert script_place(["scope/server"], str(work), [str(work)]) is None
    assert script_place(["server"], str(me)) == str(me / "server")
    assert script_place(["server"], str(me), [str(me)]) is None


@pytest.mark.parametrize("said", ["real", "linked"])
def test_a_home_is_a_home_whichever_way_it_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """`/home` leads to `/var/home` on many systems; the whole home was shown there, keys and all."""
    real, linked = tmp_path / "var" / "home" / "ann", tmp_path / "home" / "ann"
    real.mkdir(parents=True)
    (tmp_path / "home").symlink_to("var/home")
    (real / ".local" / "lib" / "python3.11").mkdir(parents=True)
    monkeypatch.setenv("HOME", str({"real": real, "linked": linked}[said]))
    for name in ("server.py", ".local/bin/srv"):
        program(real / name)
        for home in (real, linked):
            found = places(str(home / name))
            wide = {real, linked, real.parent, linked.parent, real / ".local", linked / ".local"}
            assert found.isdisjoint(map(str, wide)), found
            assert any(one.startswith(str(home)) for one in found)
    for home in (real, linked):
        assert script_place(["server.py"], str(home)) == str(home / "server.py")
        program(real.parent / "above.py")
        assert script_place(["above.py"], str(home.parent)) == str(home.parent / "above.py")


def test_what_somebody_else_leads_to_is_neither_shown_nor_followed(tmp_path: Path) -> None:
    interpreter = program(tmp_path / "other" / "run")
    script = program(tmp_path / "mine" / "server", f"#!{interpreter}\n")
    assert {*program_places(script, "", is_led=lambda one: one.name == "other")} == {
        str(tmp_path / "mine")
    }


def test_a_first_line_says_what_env_starts(tmp_path: Path) -> None:
    for line, words, named in (
        ("#!/usr/bin/env -S A=b node --x", ["/usr/bin/env", "-S", "A=b", "node", "--x"], "node"),
        ("#!/bin/sh -e", ["/bin/sh", "-e"], ""),
        ("#!/usr/bin/env", ["/usr/bin/env"], ""),
    ):
        script = program(tmp_path / "tool", f"{line}\nrest")
        assert first_words(script) == words
        assert named_by_env(words) == named
        assert beginning(script).startswith(line.encode())
    assert first_words(program(tmp_path / "tool", "ELF")) == []


def test_the_environment_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    assert environment_of(tmp_path / "venv" / "bin") is None
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    assert environment_of(tmp_path / "venv" / "bin") == tmp_path / "venv"


def test_a_program_is_shown_with_its_folder_unless_that_is_a_home(tmp_path: Path) -> None:
    assert folder_of(f"{tmp_path}/tools/run") == tmp_path / "tools"
    assert folder_of(f"{tmp_path}/me/run") == tmp_path / "me" / "run"
