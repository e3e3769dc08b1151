"""Lines that a preset allows do no more than it says when they really run."""

from pathlib import Path

import pytest

from benchmarks import allowed_lines
from benchmarks.allowed_lines import Seen, allowed, watched
from benchmarks.line_rooms import Deeds

PROGRAMS = (
    "awk basename cat chmod cksum cmp comm cp cut date dd df diff dirname du env expand expr file find fmt fold git grep gzip head hostname "
    "id install join ln ls mkdir mktemp mv nl od paste patch printenv ps readlink realpath rm rmdir sed seq sha256sum shuf sort split stat "
    "stty tac tail tar tee touch tr truncate tsort tty uname uniq unlink wc which xargs zcat"
).split()
"""What nearly every machine has. The command takes all that are there."""


@pytest.mark.traced
@pytest.mark.parametrize(("preset", "count"), [("inspect", 100), ("develop", 50)])
def test_allowed_lines_do_no_more_than_they_may(preset: str, count: int, tmp_path: Path) -> None:
    """MGP-4.5-2"""
    seen = list(watched(preset, count, 19, tmp_path, PROGRAMS))
    assert len(seen) == count
    assert [one for one in seen if not one.deeds.is_harmless] == []
    assert sum(one.deeds.status == 0 for one in seen) > count // 5


def test_only_allowed_lines_run() -> None:
    lines = allowed("inspect", 1, ["sort", "cp"])
    found = [next(lines) for _ in range(40)]
    assert len(set(found)) == 40
    assert not any("cp " in one for one in found)


def test_what_did_more_fails_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    deeds = Deeds((), (), (), True, 0)
    monkeypatch.setattr(allowed_lines, "ready", lambda: "")
    for changed, code in (((), 0), (("/home/me/x",), 1)):
        found = [Seen("ls", deeds._replace(changed=changed))]
        monkeypatch.setattr(allowed_lines, "watched", lambda *_, found=found: iter(found))
        assert allowed_lines.main(["--lines", "1"]) == code
    assert "seen: ls\n    /home/me/x" in capsys.readouterr().out
    monkeypatch.setattr(allowed_lines, "ready", lambda: "install these first: strace")
    assert allowed_lines.main([]) == 1
