"""Whether a program can be started with what is shown, judged as the sandbox would resolve it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.transport.isolation.coverings import Shown
from gatewright.transport.isolation.interpreters import Lacking, by_env, not_shown
from gatewright.transport.isolation.rules import CannotIsolate


def program(path: Path, text: str = "ELF") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def lacking(one: str, *places: Path, path: str = "/usr/bin") -> str | None:
    found = lacks(one, *places, path=path)
    return found.path if found is not None else None


def lacks(one: str, *places: Path, path: str) -> Lacking | None:
    return not_shown(one, path, [Shown(str(place), place.resolve(), False) for place in places])


def test_programs_of_the_system_are_there() -> None:
    assert lacking("/bin/sh") is None
    assert lacking("/usr/bin/env") is None
    assert lacking("/usr/bin/no-such") == "/usr/bin/no-such"


def test_links_are_followed_by_the_names_that_the_sandbox_has(tmp_path: Path) -> None:
    """A link that is not shown leads nowhere; a place that is a link itself is a folder there."""
    real, bin_ = tmp_path / "real", tmp_path / "bin"
    program(real / "deep" / "run")
    bin_.mkdir()
    (bin_ / "far").symlink_to(tmp_path / "link" / "run")
    (bin_ / "near").symlink_to("../real/deep/run")
    (tmp_path / "link").symlink_to(real / "deep")
    assert lacking(f"{bin_}/far", bin_) == f"{tmp_path}/link/run"
    assert lacking(f"{bin_}/far", bin_, tmp_path / "link") is None
    assert lacking(f"{bin_}/near", bin_, real) is None
    assert lacking(f"{bin_}/near", bin_, tmp_path / "link") == f"{real}/deep/run"
    assert lacking(f"{tmp_path}/link/gone", tmp_path) == f"{real}/deep/gone"


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert lacking(f"{tmp_path}/a", tmp_path) == f"{tmp_path}/a"


def test_first_lines_are_followed(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    run = program(other / "run")
    script = program(mine / "tool", f"#!{run}\n")
    assert lacking(script, mine) == run
    assert lacking(script, mine, other) is None
    assert lacking(program(mine / "relative", "#!other/run\n"), mine) is None


def test_what_env_finds_is_looked_for_where_the_sandbox_finds_it(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    node = program(other / "node")
    script = program(mine / "tool", "#!/usr/bin/env node\n")
    assert lacking(script, mine, path=f"{other}") == node
    assert lacking(script, mine, other, path=f"{other}") is None
    inner = tmp_path / "inner"
    program(inner / "node")
    assert lacking(script, mine, inner, path=f"{other}:{inner}:relative") is None
    assert lacks(script, mine, path=f"{other}") == Lacking(node, "node")
    assert lacks(program(other / "plain", f"#!{tmp_path}/gone\n"), other, path="/usr/bin") == Lacking(f"{tmp_path}/gone")  # fmt: skip
    unseen = program(mine / "unseen", f"#!{tmp_path}/env node\n")
    assert lacks(unseen, mine, path=f"{other}") == Lacking(f"{tmp_path}/env")


def test_what_env_finds_nowhere_is_named_with_what_to_do(tmp_path: Path) -> None:
    """The server would have ended with a line of env, which looks where no folder of the gateway's PATH is."""
    for line in ("env no-such", "env -S no-such --flag"):
        script = program(tmp_path / "none", f"#!/usr/bin/{line}\n")
        with pytest.raises(CannotIsolate) as raised:
            lacking(script, tmp_path, path="/usr/bin:/bin")
        assert str(raised.value) == f"{script} needs no-such, which `env` does not find on the PATH that the server has there (/usr/bin:/bin); {by_env('no-such')}"  # fmt: skip
        assert lacking(script, tmp_path, path="/usr/bin:own") is None
    for line in ("env -S PATH=/own no-such", "env -S -u NAME no-such", "env ./no-such"):
        assert lacking(program(tmp_path / "else", f"#!/usr/bin/{line}\n"), tmp_path) is None
    assert by_env("") == ""


def test_a_shim_that_env_finds_is_refused_with_another_advice(tmp_path: Path) -> None:
    """The full path as `command` says nothing of what `env` finds."""
    shims, mine = tmp_path / ".pyenv" / "shims", tmp_path / "srv"
    program(shims / "python3", PYENV)
    script = program(mine / "server", "#!/usr/bin/env python3\n")
    with pytest.raises(CannotIsolate, match=r"shims/python3 is a shim.*; set PATH in `env` so that python3 is .* the interpreter as `command` and the script"):  # fmt: skip
        lacking(script, mine, shims, path=f"{shims}:/usr/bin")


PYENV = '#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT="/home/ann/.pyenv"\nexec "/home/ann/.pyenv/libexec/pyenv" exec "$program" "$@"\n'


@pytest.mark.parametrize("manager", ["pyenv", "volta", "mise"])
def test_a_shim_of_a_version_manager_is_refused_by_name(tmp_path: Path, manager: str) -> None:
    """Only its folder is shown, and it starts a program elsewhere."""
    root = tmp_path / f".{manager}"
    if manager == "pyenv":
        shim = Path(program(root / "shims" / "python", PYENV))
    else:
        shim = root / ("bin" if manager == "volta" else "shims") / "node"
        shim.parent.mkdir(parents=True)
        name = "volta-shim" if manager == "volta" else "mise"
        shim.symlink_to(program(shim.parent / name))
    with pytest.raises(CannotIsolate, match=rf"{shim} is a shim.*full path.*{manager} which"):
        lacking(str(shim), shim.parent)
    assert lacking(str(shim), root) is None


def test_what_merely_lies_in_a_folder_of_that_name_is_none(tmp_path: Path) -> None:
    server = program(tmp_path / "shims" / "server", "#!/bin/sh\nexec true\n")
    assert lacking(server, tmp_path / "shims") is None
    tool = program(tmp_path / "bin" / "mise")
    assert lacking(tool, tmp_path / "bin") is None
