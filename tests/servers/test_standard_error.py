"""Last words: of the very process that failed, up to that moment, and of no other process and no other server."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

from gatewright.servers.spec import Restart, ServerSpec
from gatewright.servers.standard_error import LINES, StandardError
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import running, within

LOG = logging.getLogger("tests.standard_error")


def program(id: str, text: str, folder: Path, **more: object) -> ServerSpec:
    """A server that runs this; `said(text)` writes to standard error, `life` is how often it was started."""
    count = folder / f"{id}.lives"
    head = (
        "import sys, os, time\n"
        f"open({str(count)!r}, 'a').write('x'); life = os.path.getsize({str(count)!r})\n"
        "def said(text): print(text, file=sys.stderr, flush=True)\n"
    )
    facts = {"restart": Restart(policy="never"), **more}
    return ServerSpec(id=id, command=sys.executable, args=("-c", head + text), **facts)  # type: ignore[arg-type]


async def last_words(*specs: ServerSpec) -> dict[str, tuple[str, ...]]:
    async with running(*specs) as supervisor:
        return {one.id: one.last_words for one in supervisor.status()}


async def test_each_failed_server_has_its_own_words_and_a_silent_one_has_none(
    tmp_path: Path,
) -> None:
    found = await last_words(
        program("one", "said('no licence'); sys.exit(3)", tmp_path),
        program("two", "said('no key'); sys.exit(4)", tmp_path),
        program("mute", "sys.exit(5)", tmp_path),
        ServerSpec(id="none", command="/no/such/program", restart=Restart(policy="never")),
    )
    assert found == {"one": ("no licence",), "two": ("no key",), "mute": (), "none": ()}


async def test_a_second_life_that_says_nothing_does_not_repeat_the_first(tmp_path: Path) -> None:
    """A server that is asked the modern way first and ends on it is started again (`mcp.client.connect`)."""
    text = "sys.stdin.readline()\nif life == 1: said('I do not know that')\nsys.exit(1)"
    found = await last_words(program("old", text, tmp_path, era="auto"))
    assert (tmp_path / "old.lives").read_text() == "xx"
    assert found == {"old": ()}


async def test_what_it_writes_while_it_is_stopped_is_no_reason(tmp_path: Path) -> None:
    text = "said('starting'); sys.stdin.read(); said('input is gone'); time.sleep(0.2)"
    spec = program("slow", text, tmp_path, connect_s=1.0)
    async with running(spec) as supervisor:
        (status,) = supervisor.status()
        await within(until_written(supervisor, "input is gone"))
        (later,) = supervisor.status()
    assert "no hello" in status.reason
    assert status.last_words == later.last_words == ("starting",)


async def until_written(supervisor: Supervisor, line: str) -> None:
    while line not in supervisor.status()[0].stderr:
        await asyncio.sleep(0.02)


async def test_after_restarts_the_words_are_those_of_the_last_failure(tmp_path: Path) -> None:
    text = "said(f'life {life}'); sys.exit(1)"
    rule = Restart(max=3, window_s=600, first_s=0.05, most_s=0.05)
    async with running(program("again", text, tmp_path, restart=rule)) as supervisor:
        await within(until_state(supervisor, "error"))
        (status,) = supervisor.status()
    lives = len((tmp_path / "again.lives").read_text())
    assert lives > 2
    assert status.last_words == (f"life {lives}",)
    assert status.stderr[0] == "life 1"


async def until_state(supervisor: Supervisor, state: str) -> None:
    while supervisor.status()[0].state != state:
        await asyncio.sleep(0.02)


async def test_the_last_words_of_a_flood_are_its_last_lines(tmp_path: Path) -> None:
    text = "sys.stderr.write('noise\\n' * 20000); said('disk full'); sys.exit(1)"
    found = await last_words(program("loud", text, tmp_path))
    assert found["loud"][-1] == "disk full"


def test_another_connection_of_the_same_server_says_nothing_for_the_main_one() -> None:
    error = StandardError(LOG)
    main, lane = error.process(main=True), error.process(main=False)
    main("mine")
    lane("theirs")
    error.failed()
    lane("later")
    main("late")
    assert error.last_words == ("mine",)
    assert list(error.lines) == ["mine", "theirs", "later", "late"]


def test_an_attempt_of_which_no_process_comes_has_no_words() -> None:
    error = StandardError(LOG)
    error.process(main=True)("mine")
    error.attempt()
    error.failed()
    assert error.last_words == ()


def test_a_successor_has_the_lines_and_not_the_words() -> None:
    before, after = StandardError(LOG), StandardError(LOG)
    take = before.process(main=True)
    for number in range(LINES + 5):
        take(str(number))
    before.failed()
    after.follow(before)
    after.process(main=True)("new")
    assert (after.count, after.last_words, after.present) == (LINES + 6, (), ("new",))
    assert after.lines[-1] == "new"


def test_what_a_successor_wrote_before_it_took_over_is_kept_behind_a_full_log() -> None:
    """Often it is why it does not come up."""
    before, after = StandardError(LOG), StandardError(LOG)
    former, take = before.process(main=True), after.process(main=True)
    for number in range(LINES):
        former(str(number))
    take("no licence")
    after.follow(before)
    take("good bye")
    assert [*after.lines][-3:] == [str(LINES - 1), "no licence", "good bye"]
    assert (len(after.lines), after.count) == (LINES, LINES + 2)
