"""Scripts are read from their folders alone, and judged at the level of their trust."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Refusal
from gatewright.registration import script
from gatewright.registration.registered import Registered
from gatewright.registration.rules import Denied
from gatewright.registration.script import SCRIPT_BYTES, check_places, with_script
from gatewright.transport.workers import Busy, Overtime, Workers
from tests.registration.parts import calling, registered, settings


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    found = Workers("gatewright.app.worker")
    yield found
    await found.close()


async def scripted(folder: Path, workers: Any, text: str | None, **more: Any) -> Registered:
    if text is not None:
        (folder / "x.py").write_text(text)
    one = registered(code=None, digest="", **more)
    return await with_script(one, calling(), settings(folder), workers)


async def test_the_text_that_was_judged_is_kept_with_its_digest(
    tmp_path: Path, workers: Workers
) -> None:
    one = await scripted(tmp_path, workers, "import json\n")
    assert one.code == "import json\n"
    assert one.digest == hashlib.sha256(b"import json\n").hexdigest()


async def test_mgp_15_4_2_a_blocked_import_is_refused_sandboxed_and_not_standard(
    tmp_path: Path, workers: Workers
) -> None:
    with pytest.raises(Denied) as caught:
        await scripted(tmp_path, workers, "import subprocess\n")
    refusal = caught.value.outcome
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "code_safety"
    assert refusal.details["violations"] == ["Blocked import: 'subprocess'"]
    one = await scripted(tmp_path, workers, "import subprocess\n", trust_level="standard")
    assert one.code is not None


@pytest.mark.parametrize(
    "args", [(), ("-c", "x"), ("y.py",), (".",), ("/etc/passwd",), ("../x.py",), ("\0",)]
)
async def test_what_is_no_script_in_the_folders_is_refused(
    tmp_path: Path, workers: Workers, args: tuple[str, ...]
) -> None:
    with pytest.raises(Denied) as caught:
        await scripted(tmp_path, workers, "", args=args)
    assert caught.value.outcome.reason == "invalid_params"


@pytest.mark.parametrize("text", ["#" * (SCRIPT_BYTES + 1), "a\0b"])
async def test_a_script_is_a_short_text(tmp_path: Path, workers: Workers, text: str) -> None:
    with pytest.raises(Denied):
        await scripted(tmp_path, workers, text)
    (tmp_path / "x.py").write_bytes(b"\xff")
    with pytest.raises(Denied):
        await scripted(tmp_path, workers, None)


async def test_an_operator_names_a_script_anywhere(tmp_path: Path, workers: Workers) -> None:
    place = tmp_path / "elsewhere" / "y.py"
    place.parent.mkdir()
    place.write_text("pass\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    one = await scripted(inner, workers, None, args=(str(place),), kind="operator")
    assert one.code == "pass\n"


class _Never:
    def __init__(self, problem: type[Exception]) -> None:
        self._problem = problem

    async def run(self, *_: Any) -> tuple[bytes, bytes]:
        if self._problem is KeyError:
            return b'{"error": "x"}', b""
        raise self._problem


@pytest.mark.parametrize(
    ("problem", "reason"),
    [(Busy, "resource_exhausted"), (Overtime, "invalid_params"), (KeyError, "internal")],
)
async def test_what_was_not_judged_is_refused(
    tmp_path: Path, problem: type[Exception], reason: str
) -> None:
    with pytest.raises(Denied) as caught:
        await scripted(tmp_path, _Never(problem), "pass\n")
    assert caught.value.outcome.reason == reason


async def test_arguments_of_a_program_name_nothing_elsewhere(tmp_path: Path) -> None:
    said = settings(tmp_path)
    (tmp_path / "mine.js").write_text("")
    for args in (("mine.js",), ("not-there", "--x"), ("--file=/etc/passwd",), ("a" * 5000,)):
        await check_places(registered(command="node", args=args), said)
    # The last leads nowhere for a program, and to a file where it is taken as it is spelled.
    for name in ("/etc/passwd", f"{tmp_path}/nowhere/../../../../../../../../etc/passwd"):
        with pytest.raises(Denied):
            await check_places(registered(command="node", args=("-x", name)), said)


def test_a_script_is_not_read_through_a_link_that_was_put_anywhere_on_its_way_since(
    tmp_path: Path,
) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "deep" / "x.py").write_text("pass\n")
    assert script._text(tmp_path / "real" / "deep" / "x.py") == "pass\n"
    (tmp_path / "way").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "y.py").symlink_to(tmp_path / "real" / "deep" / "x.py")
    before = list(Path("/proc/self/fd").iterdir())
    for swapped in ("way/deep/x.py", "real/y.py"):
        with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
            script._text(tmp_path / swapped)
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
