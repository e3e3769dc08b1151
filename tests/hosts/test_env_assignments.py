"""Variables that a command line sets by itself are read from it."""

from __future__ import annotations

import pytest

from gatewright.hosts.env_assignments import assigned


@pytest.mark.parametrize("command", ["env", "/usr/bin/env", "sudo", "doas"])
def test_a_command_line_that_sets_variables_is_read(command: str) -> None:
    args = ["-i", "LD_PRELOAD=/x", "A=b=c", "node", "--x=1"]
    assert list(assigned(command, args)) == ["LD_PRELOAD", "A"]
    assert list(assigned("node", args)) == []
