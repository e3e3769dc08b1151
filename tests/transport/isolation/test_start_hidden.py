"""What is hidden from an isolated server stays hidden while it runs, whatever is done to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.isolation.rules import Isolation, Level
from gatewright.transport.process import spawn
from tests.transport.collecting import Collector, within

MAKES = 'open(os.path.join(work, "sub/mine"), "w").close()'
UNMASKING = """
import os, sys
work = sys.argv[1]
def seen():
    found = []
    for name in ("mgp.toml", "link.toml"):
        for mode in ("r", "r+", "x"):
            try:
                with open(os.path.join(work, name), mode) as file:
                    found.append(f"{name} {mode} {file.read() if mode != 'x' else ''}")
            except OSError:
                pass
    try:
        os.rename(os.path.join(work, "sub/mine"), os.path.join(work, "mgp.toml"))
        found.append("replaced")
    except OSError:
        pass
    return found, sorted(os.listdir(work))
open(os.path.join(work, "sub/mine"), "w").close()
print(seen(), flush=True)
for line in sys.stdin:
    print(seen(), flush=True)
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("level", ["strict", "confined"])
@pytest.mark.parametrize("shown", ["work", "."])
async def test_a_hidden_file_stays_hidden_when_it_is_replaced(
    tmp_path: Path, level: Level, shown: str
) -> None:
    """By a rename, as editors save, by removal and by a new file; whether its folder is shown or one above, to read or to write."""
    top = tmp_path / "top"
    work = top / "work"
    (work / "sub").mkdir(parents=True, mode=0o777)
    (work / "sub").chmod(0o777)
    secret, link = work / "mgp.toml", work / "link.toml"
    secret.write_text("secret = 1")
    link.symlink_to(secret)
    where = str((top / shown).resolve())
    places: dict[str, Any] = {"write": (where,)}
    code = UNMASKING
    if level == "strict":  # which writes nowhere
        places, code = {"read": (where,)}, UNMASKING.replace(MAKES, "")
    isolation = Isolation(server="a", level=level, state=str(tmp_path / "state"), hidden=(str(link),), **places)  # fmt: skip
    collector = Collector()
    child = await spawn(
        sys.executable,
        ["-I", "-S", "-c", code, str(work)],
        receiver=collector,
        stderr=collector.line,
        isolation=isolation,
    )
    await within(collector.count(1))
    for number, replaced in enumerate((secret, link, secret), 2):
        other = work / "saved.tmp"
        other.write_text(f"secret = {number}")
        other.chmod(0o666)
        other.rename(replaced)
        child.send(b"{}")
        await within(collector.count(number))
    secret.unlink()
    secret.write_text("secret = 9")
    child.send(b"{}")
    found = await within(collector.count(5))
    await within(child.stop(5))
    assert set(found) == {b"([], ['sub'])"}, collector.lines
    assert secret.read_text() == "secret = 9"
