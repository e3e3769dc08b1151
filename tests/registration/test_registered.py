"""What a registered server is as the configuration has one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gatewright.registration.registered import (
    Unusable,
    runs_script,
    server_of,
)
from tests.registration.parts import registered, settings


def test_the_code_of_a_script_runs_in_isolated_mode_and_no_file(tmp_path: Path) -> None:
    one = registered(args=("x.py", "--more"), code="print('${HOME}')")
    made = server_of(one, settings(tmp_path))
    assert made.command == sys.executable
    assert made.args == ("-I", "-Xutf8", "-c", "print('${HOME}')\n", "--more")
    assert (made.confinement.level, made.confinement.network) == ("strict", False)
    assert made.confinement.memory_bytes == 256 << 20
    assert made.confinement.read == ()
    assert (made.default_policy, made.pin, made.private) == ("opt-in", "first-use", True)
    assert made.registered_at == one.at > 0
    assert (made.call_timeout_s, made.created_by) == (30.0, "ann")


def test_what_an_agent_names_is_asked_for_and_what_an_operator_names_is_given(
    tmp_path: Path,
) -> None:
    said = settings(tmp_path, '[permissions]\npolicy = "auto_approve"\n')
    agents = server_of(registered(permissions=("camera",)), said).mgp
    assert agents is not None
    assert (agents.permissions_required, agents.permissions_asked) == ((), ("camera",))
    assert agents.permission_policy == "interactive"
    given = server_of(registered(permissions=("camera",), kind="operator", by="root"), said).mgp
    assert given is not None
    assert (given.permissions_required, given.permissions_asked) == (("camera",), ())
    assert given.permission_policy is None


def test_an_operators_standard_server_is_as_in_the_configuration(tmp_path: Path) -> None:
    one = registered(
        kind="operator", by="root", trust_level="standard", code=None, command="node", args=("a",)
    )
    made = server_of(one, settings(tmp_path))
    assert (made.command, made.args, made.mgp) == ("node", ("a",), None)
    assert (made.private, made.confinement.level, made.call_timeout_s) == (False, "none", None)
    assert made.cwd == tmp_path
    assert made.registered_by is None


def test_whose_it_is_is_said_by_kind_and_name(tmp_path: Path) -> None:
    """A key may be named as a host of this machine is."""
    made = server_of(registered(kind="owner", by="cursor"), settings(tmp_path))
    assert (made.registered_by, made.private) == (("owner", "cursor"), True)


def test_a_problem_keeps_it_down(tmp_path: Path) -> None:
    made = server_of(registered(), settings(tmp_path), "not here")
    assert "not here" in str(made.problem)


def test_what_the_configuration_could_not_have_is_unusable(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="id"):
        server_of(registered(id="no id"), settings(tmp_path))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python", True),
        ("python3", True),
        ("/usr/bin/python3.12", True),
        ("python-evil", False),
        ("311", False),
        ("node", False),
        ("ipython3", False),
    ],
)
def test_an_interpreter_is_known_by_its_name(command: str, expected: bool) -> None:
    assert runs_script(command) is expected
