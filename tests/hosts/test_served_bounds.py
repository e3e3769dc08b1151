"""What the console of a serving gateway reads of a host's file, and what commands read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.cli import doctor, serve
from gatewright.cli.finding import Finding
from gatewright.feature import Examination
from gatewright.hosts.model import CannotRead
from gatewright.hosts.parse import parse
from gatewright.hosts.served_bounds import SERVED_BYTES, check_weight, while_serving
from gatewright.hosts.whole_file import read_bytes, read_text

HEAVY = b'{"a":[' + b"[]," * 120_000 + b"1]}"
LONG = json.dumps({"a": "x" * SERVED_BYTES}).encode()


@pytest.mark.parametrize("content", [HEAVY, LONG], ids=["values", "bytes"])
def test_what_takes_long_to_read_is_for_commands_alone(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    file.write_bytes(content)
    assert read_bytes(file) == content
    assert parse(content) == json.loads(content)
    with while_serving():
        for read in (read_bytes, read_text):
            with pytest.raises(CannotRead, match=r"host\.json has more in it than") as found:
                read(file)
            assert found.value.kind == "too-large"
        # Also a text that was pasted, and what was unpacked of a bundle.
        with pytest.raises(CannotRead, match="more in it"):
            parse(content)
    assert read_bytes(file) == content


def test_a_real_file_with_much_history_is_read(tmp_path: Path) -> None:
    history = [{"display": "say hello to the world " * 12, "pastedContents": {}}] * 5000
    content = json.dumps({"mcpServers": {}, "projects": {"/a": {"history": history}}}).encode()
    with while_serving():
        check_weight("a", content)
        assert parse(content)["mcpServers"] == {}


def test_what_the_console_examines_is_read_beside_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Health looks at the files of connected hosts."""
    served: list[bool] = []

    def examined(config: Path | None) -> Iterator[Finding]:
        try:
            check_weight("a", HEAVY)
        except CannotRead:
            served.append(True)
        yield Finding(check="hosts", subject="a", level="ok", what="looked at")

    monkeypatch.setattr(doctor, "examined", examined)
    (examination,) = (one for one in serve._handed(None) if isinstance(one, Examination))
    assert [one.subject for one in examination.findings()] == ["a"]
    assert served == [True]
    check_weight("a", HEAVY)
