"""`version` says what speaks here."""

from gatewright import __version__
from tests.cli.shell import Shell


def test_versions_of_gateway_and_protocols_are_told(shell: Shell) -> None:
    rows = dict(shell.run("version").rows)
    assert rows["gatewright"] == __version__
    assert rows["mcp"] == "2024-11-05,2025-03-26,2025-06-18,2025-11-25,2026-07-28"
    assert rows["mgp"] == "0.2.0"


def test_the_document_has_the_same_versions(shell: Shell) -> None:
    found = shell.run("version", "--json").document
    assert found["gatewright"] == __version__
    assert found["mcp"][-1] == "2026-07-28"
