"""`audit tail`, `query`, `show` and `verify` on a real trail, beside a writer that goes on."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.mcp.wire.codes import REASONS
from gatewright.pins.store import Pins, Seen
from tests.cli.shell import DEADLINE_S, Shell
from tests.storage.parts import state_in


class Trail:
    """A trail that the test writes, with a clock that the test sets."""

    def __init__(self, shell: Shell) -> None:
        shell.state.mkdir()
        self.closed = False
        self.now = 1_893_456_000.0
        self.log = AuditLog(
            shell.state, clock=lambda: self.now, monotonic=time.monotonic, random=os.urandom
        )

    async def close(self) -> None:
        """Close it, once."""
        if not self.closed:
            self.closed = True
            await self.log.close()

    def note(self, agent: str, tool: str, outcome: str = "success", server: str = "demo") -> None:
        """One record, a second after the one before."""
        self.now += 1
        self.log.event(
            "TOOL_EXECUTED" if outcome == "success" else "TOOL_BLOCKED",
            actor=Actor("agent", agent),
            target=Subject(server, tool),
            outcome=outcome,  # type: ignore[arg-type]
            details={"duration_ms": 1.25},
            trace_id=f"trace-{tool}",
        )


@pytest.fixture
async def trail(shell: Shell) -> AsyncIterator[Trail]:
    found = Trail(shell)
    yield found
    await found.close()


@pytest.fixture
def written(trail: Trail) -> Trail:
    """Four records."""
    trail.note("ana", "read")
    trail.note("bob", "read", "denied")
    trail.note("ana", "write", server="other")
    trail.note("ana", "read2")
    return trail


def tools(shell: Shell, *arguments: str) -> list[str]:
    done = shell.run("audit", "query", *arguments)
    assert done.code == 0
    return [row[3] for row in done.rows]


async def test_records_are_rows_newest_first(shell: Shell, written: Trail) -> None:
    done = shell.run("audit", "query")
    assert (done.code, done.err) == (0, "")
    assert done.rows[0] == [
        "2030-01-01T00:00:04.000Z",
        "success",
        "ana",
        "demo__read2",
        "1.2",
        "",
        "TOOL_EXECUTED",
        "trace-read2",
    ]
    assert [row[3] for row in done.rows] == [
        "demo__read2",
        "other__write",
        "demo__read",
        "demo__read",
    ]


async def test_every_filter_restricts_and_they_combine(shell: Shell, written: Trail) -> None:
    assert tools(shell, "--agent", "bob") == ["demo__read"]
    assert tools(shell, "--server", "other") == ["other__write"]
    assert tools(shell, "--tool", "read", "--agent", "ana") == ["demo__read"]
    assert tools(shell, "--outcome", "denied") == ["demo__read"]
    assert tools(shell, "--event", "TOOL_BLOCKED") == ["demo__read"]
    assert tools(shell, "--trace", "trace-write") == ["other__write"]
    assert tools(shell, "--since", "2030-01-01T00:00:03Z") == ["demo__read2", "other__write"]
    assert tools(shell, "--until", "2030-01-01T00:00:02Z") == ["demo__read"]
    assert tools(shell, "--limit", "1") == ["demo__read2"]
    assert tools(shell, "--oldest-first", "-n", "1") == ["demo__read"]
    assert tools(shell, "--agent", "nobody") == []


async def test_json_is_one_whole_record_a_line(shell: Shell, written: Trail) -> None:
    done = shell.run("audit", "query", "--json", "--limit", "1")
    assert done.document["seq"] == 4
    assert done.document["target"] == {"server_id": "demo", "tool_name": "read2"}
    assert {"hash", "prev"} & done.document.keys()


async def test_tail_shows_the_last_ones_oldest_first(shell: Shell, written: Trail) -> None:
    done = shell.run("audit", "tail", "-n", "2")
    assert [row[3] for row in done.rows] == ["other__write", "demo__read2"]


async def test_tail_follows_until_it_is_interrupted(shell: Shell, written: Trail) -> None:
    process = await asyncio.create_subprocess_exec(
        *shell.command("audit", "tail", "-f", "-n", "1", "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=shell.environ(),
        cwd=shell.folder,
    )
    async with asyncio.timeout(DEADLINE_S):
        assert process.stdout is not None
        assert b"read2" in await process.stdout.readline()
        written.note("ana", "later")
        assert b"later" in await process.stdout.readline()
        written.note("ana", "last")
        assert b"last" in await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said = await process.communicate()
    assert (process.returncode, said) == (130, (b"", b""))


async def test_on_a_terminal_records_stand_in_columns(shell: Shell, written: Trail) -> None:
    heading, *lines = shell.run_at_terminal("audit", "tail", "-n", "2").out.splitlines()
    assert heading.split()[:3] == ["TIME", "(UTC)", "OUTCOME"]
    assert [line.index("TOOL_EXECUTED") for line in lines] == [heading.index("EVENT")] * 2
    empty = shell.run_at_terminal("audit", "query", "--agent", "nobody")
    assert empty.out.strip() == "no records"


async def test_everything_of_one_call_is_shown_member_by_member(
    shell: Shell, written: Trail
) -> None:
    done = shell.run("audit", "show", "trace-read")
    assert done.code == 0
    first, second = done.out.split("\n\n")
    assert "target.tool_name\tread\n" in first
    assert "actor.id\tana\n" in first
    assert "actor.id\tbob\n" in second
    document = shell.run("audit", "show", "trace-read", "--json").document
    assert [one["actor"]["id"] for one in document] == ["ana", "bob"]
    nobody = shell.run("audit", "show", "nonsense")
    assert (nobody.code, nobody.error["code"]) == (2, "not_found")


async def test_on_a_narrow_terminal_each_record_stays_one_line(
    shell: Shell, written: Trail
) -> None:
    shell.environment["COLUMNS"] = "60"
    lines = shell.run_at_terminal("audit", "tail", "-n", "2").out.splitlines()
    assert [len(line) for line in lines[1:]] == [60, 60]
    assert all(line.endswith("…") for line in lines[1:])


@pytest.mark.parametrize("long", ["x" * 300, "caf\u00e9 \u202e" * 40, "a b\nc" * 50])
async def test_why_a_call_was_refused_is_read_at_80_columns_whatever_is_called_how(
    shell: Shell, trail: Trail, long: str
) -> None:
    for reason in REASONS:
        trail.log.event(
            "TOOL_BLOCKED",
            actor=Actor("agent", f"agent-{long}"),
            target=Subject(f"server-{long}", f"tool-{long}"),
            outcome="denied",
            details={"reason": reason, "duration_ms": 123456.7},
            trace_id="t",
        )
    shell.environment["COLUMNS"] = "80"
    for words in (("tail", "-n", "1000"), ("query", "-n", "1000", "--oldest-first")):
        heading, *lines = shell.run_at_terminal("audit", *words).out.splitlines()
        assert len(heading) <= 80
        assert "WHY" in heading
        assert all(len(line) <= 80 for line in lines)
        assert [line.split()[3] for line in lines] == list(REASONS)
        assert all("agent-" in line for line in lines)


@pytest.mark.parametrize(
    "name", ["demo__read", "demo/read", "demo.read", "d__read", "demo__caf_", "demo/caf\u00e9"]
)
async def test_a_tool_is_asked_for_by_any_of_its_names(
    shell: Shell, written: Trail, name: str
) -> None:
    shell.write("mgp.toml", '[[servers]]\nid = "demo"\ncommand = "true"\ntool_prefix = "d"\n')
    written.note("ana", "read", server="other")
    written.note("ana", "caf\u00e9")
    pins = Pins(state_in(shell.state), clock=lambda: 1.0)
    pins.judge("demo", [Seen("caf\u00e9", "{}", "d" * 20)], ask_first=False)
    pins.close()
    own = "caf\u00e9" if "caf" in name else "read"
    expected = ["demo__read"] * 2 if own == "read" else [f"demo/{own}"]
    if name != "demo__caf_":
        assert tools(shell, "--tool", name) == expected
    assert tools(shell, "--tool", name.replace("demo__", "d__")) == expected
    assert tools(shell, "--tool", own, "--server", "demo") == expected
    assert tools(shell, "--tool", name, "--server", "other") == []


async def test_a_whole_trail_is_proven(shell: Shell, written: Trail) -> None:
    done = shell.run("audit", "verify")
    assert done.code == 0
    ((word, count, digest),) = done.rows
    assert (word, count, len(digest)) == ("ok", "4", 64)
    found = shell.run("audit", "verify", "--json").document
    assert (found["records"], found["hash"], found["problem"]) == (4, digest, None)


async def test_a_changed_record_is_named_with_exit_code_8(shell: Shell, written: Trail) -> None:
    await written.close()
    (journal,) = shell.state.glob("audit-*.jsonl")
    text = journal.read_bytes()
    assert text.count(b'"bob"') == 1
    journal.write_bytes(text.replace(b'"bob"', b'"eve"'))
    done = shell.run("audit", "verify")
    assert (done.code, done.out, done.error["code"]) == (8, "", "audit_damaged")
    assert "record 2" in done.error["message"]
    told = shell.run("audit", "verify", "--json")
    assert (told.code, told.document["problem"]["seq"]) == (8, 2)


async def test_only_the_records_before_the_wrong_one_are_called_unbroken(
    shell: Shell, written: Trail
) -> None:
    """The rows have all four; before the one that was changed in the journal stand two."""
    await written.close()
    (journal,) = shell.state.glob("audit-*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(
        b"".join([*lines[:2], lines[2].replace(b'"seq":3', b'"seq":9'), *lines[3:]])
    )
    hint = shell.run("audit", "verify").error["hint"]
    assert hint.startswith("2 records before it (1 to 2) are unbroken;")
    told = shell.run("audit", "verify", "--json").document
    assert (told["records"], told["last"]) == (2, 2)
    (shell.state / "audit.head").unlink()
    journal.write_bytes(b"".join(lines))
    done = shell.run("audit", "verify")
    assert done.error["message"].startswith("audit.head: is missing")
    assert done.error["hint"].startswith("4 records (1 to 4) are unbroken;")


async def test_number_and_hash_that_were_noted_prove_the_record_later(
    shell: Shell, written: Trail
) -> None:
    ((_, number, digest),) = shell.run("audit", "verify").rows
    assert shell.run("audit", "verify", "--kept", f"{number}:{digest}").code == 0
    other = shell.run("audit", "verify", "--kept", f"{number}:{'0' * 64}")
    assert (other.code, other.error["code"]) == (8, "audit_damaged")
    assert "no record before it is proven" in other.error["hint"]
    for nonsense in ("4", "4:abc", f"x:{digest}", f"{'9' * 30}:{digest}"):
        assert shell.run("audit", "verify", "--kept", nonsense).code == 2


@pytest.mark.parametrize("command", ["tail", "query", "verify"])
def test_without_a_record_the_hint_is_to_run_the_gateway(shell: Shell, command: str) -> None:
    done = shell.run("audit", command)
    assert (done.code, done.out, done.error["code"]) == (4, "", "not_found")
    assert "gatewright serve" in done.error["hint"]


async def test_a_moment_that_is_none_is_a_usage_error(shell: Shell, written: Trail) -> None:
    done = shell.run("audit", "query", "--since", "yesterday")
    assert (done.code, done.error["code"]) == (2, "usage")
