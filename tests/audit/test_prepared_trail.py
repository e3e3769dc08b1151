"""Records from templates: the same bytes as those that are put together for each call."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from time import monotonic, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.audit.call_records import end_text, intent_text, sorted_json, templates_of, told_of
from gatewright.audit.prepared_trail import PreparedRecords
from gatewright.audit.records import encoder
from gatewright.audit.trail import AuditLog
from gatewright.call import Answer, Call, Caller, Client, Security, Target, Tool

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


def _call(name: str, program: str, arguments: Any, facts: dict[str, Any]) -> Call:
    target = Target("srv%s", name)
    tool = Tool(target, name, {}, security=Security("moderate"))
    info = {"name": program, "version": "1%d"}
    caller, client = Caller("a%b", key_id="k"), Client("2025-06-18", {}, info)
    params = {"name": name, "arguments": arguments}
    return Call("0c", "http", "tool", "tools/call", name, params, caller, client, "0a-1", "s", "", None, target, tool, None, facts)  # fmt: skip


@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT | st.integers() | st.none()), st.integers(1, 10**12), st.integers(0, 10**7))  # fmt: skip
def test_the_bytes_are_the_same(
    name: str, program: str, arguments: dict[str, Any], micros: int, size: int
) -> None:
    call = _call(name, program, arguments, {"access": "server_grant", "100%": "%s"})
    told = told_of(call)
    assert told is not None
    found = templates_of(call)
    text = sorted_json(arguments)
    asked = sha256(text).hexdigest(), len(text)
    begun = found.intended % ("i1", "t1", call.trace_id, call.id, *asked)
    assert begun.encode() == intent_text(call, ("t1", "i1"), told)
    assert (found.shared % (call.trace_id, call.id, *asked), found.details) == (told[0], told[2])
    answer = Answer(b" " * (size % 1000))
    ended = found.ended % (
        "i2",
        "t2",
        call.trace_id,
        call.id,
        *asked,
        len(answer.raw),
        micros / 1000,
    )
    assert ended.encode() == end_text(call, answer, ("t2", "i2"), told, True, micros / 1000)


@given(st.integers(0, 10**13))
def test_milliseconds_are_spelled_as_records_spell_them(micros: int) -> None:
    assert f"{micros / 1000!r}".encode() == encoder.encode(micros / 1000)


@pytest.mark.parametrize(("sync", "risk"), [("always", "moderate"), ("process", "dangerous")])
def test_what_has_to_wait_for_the_disk_has_no_such_records(
    tmp_path: Path, sync: Any, risk: Any
) -> None:
    log = AuditLog(tmp_path, clock=time, monotonic=monotonic, random=os.urandom, sync=sync)
    call = _call("x", "p", {}, {})
    assert call.tool is not None
    risky = replace(call, tool=replace(call.tool, security=Security(risk)))
    assert log.recorder(risky) is None
    log.finish()


def test_other_calls_have(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, clock=time, monotonic=monotonic, random=os.urandom)
    assert isinstance(log.recorder(_call("x", "p", {}, {})), PreparedRecords)
    log.finish()
