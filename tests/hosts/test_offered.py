"""What the console asks of hosts' files, and how it is handed to a gateway; done by `commands/test_served.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.hosts.commands.served import ServedHosts
from gatewright.hosts.offered import CannotChange, HostFiles, OfferedHosts


def test_the_command_line_offers_all_that_is_asked(tmp_path: Path) -> None:
    assert isinstance(OfferedHosts(ServedHosts(tmp_path / "mgp.toml")).files, HostFiles)
    with pytest.raises(TypeError):
        HostFiles()  # type: ignore[abstract]


def test_a_refusal_says_what_to_do() -> None:
    found = CannotChange("it is so", "do that")
    assert (str(found), found.message, found.hint) == ("it is so", "it is so", "do that")
