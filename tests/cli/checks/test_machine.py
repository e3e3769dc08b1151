"""The configuration and the machine: what is said of each, and what to do about it."""

from pathlib import Path

from gatewright.cli.checks.machine import check_clock, check_config, check_environment
from gatewright.config import Settings, SettingsError, load

INSTALLED_S = 4_000_000_000.0
"""Later than any installation, as Unix seconds."""


def configured(folder: Path, text: str) -> Settings:
    path = folder / "mgp.toml"
    path.write_text(text)
    return load(path, environ={"GATEWRIGHT_STATE": str(folder / "state")})


def test_a_right_file_is_counted_and_it_is_said_who_may_call_without_a_grant(
    tmp_path: Path,
) -> None:
    settings = configured(tmp_path, '[[servers]]\nid = "a"\ncommand = "x"\n')
    right, open_to = check_config(settings, (), {})
    assert (right.level, right.what) == ("ok", "servers: 1, grants: 0")
    assert (open_to.level, "[[grants]]" in open_to.what) == ("ok", True)


def test_no_file_is_a_warning_that_names_the_command_to_begin_with(tmp_path: Path) -> None:
    settings = load(environ={"HOME": str(tmp_path)}, cwd=tmp_path)
    (found,) = check_config(settings, (), {})
    assert (found.level, found.fix) == ("warning", "gatewright init")


def test_each_wrong_value_is_a_problem_with_file_line_and_correction(tmp_path: Path) -> None:
    try:
        configured(tmp_path, "[gateway]\nport = 'x'\nhost = 3\n")
    except SettingsError as wrong:
        problems = wrong.problems
    found = list(check_config(load(environ={}, cwd=tmp_path.parent), problems, {}))
    assert [one.level for one in found] == ["problem", "problem"]
    assert found[0].subject == f"{tmp_path / 'mgp.toml'}:2: gateway.port"
    assert all(one.fix for one in found)


def test_an_odd_key_is_a_warning_beside_the_rest(tmp_path: Path) -> None:
    found = list(check_config(configured(tmp_path, "[gateway]\nprot = 1\n"), (), {}))
    assert [one.level for one in found] == ["warning", "ok"]


def test_a_runner_that_is_not_there_is_named_with_who_needs_it(tmp_path: Path) -> None:
    text = "".join(
        f'[[servers]]\nid = "{name}"\ncommand = "{command}"\n{more}'
        for name, command, more in (
            ("a", "npx", ""),
            ("b", "npx", ""),
            ("c", "uvx", "enabled = false\n"),
            ("d", "some-program", ""),
        )
    )
    found = list(check_environment(configured(tmp_path, text), {"PATH": str(tmp_path)}))
    assert [one.level for one in found[:-1]] == ["ok"] * (len(found) - 1)
    last = found[-1]
    assert (last.subject, last.level, last.why) == ("npx", "problem", "needed by a, b")
    assert "Node.js" in last.fix
    program = tmp_path / "npx"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    *_, there = check_environment(configured(tmp_path, text), {"PATH": str(tmp_path)})
    assert (there.subject, there.level, there.what) == ("npx", "ok", str(program))


def test_the_clock_may_not_stand_before_the_program_or_its_record() -> None:
    (right,) = check_clock("2030-01-01T00:00:00.000Z", INSTALLED_S)
    assert right.level == "ok"
    (early,) = check_clock(None, 0.0)
    assert (early.level, "installed" in early.why) == ("problem", True)
    (behind,) = check_clock("2120-01-01T00:00:00.000Z", INSTALLED_S)
    assert (behind.level, "2120-01-01" in behind.why) == ("problem", True)
    assert "timedatectl" in behind.fix
