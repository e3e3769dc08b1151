"""The sinks of a configuration, in a real gateway."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.audit.sink_builder import positions_of, sinks_of
from gatewright.config import Settings, load
from tests.audit.parts import a_call, a_log, records, run, until


def configured(folder: Path, text: str) -> Settings:
    """The settings of a file of this text."""
    path = folder / "mgp.toml"
    path.write_text(f'[storage]\npath = "{folder / "state"}"\n{text}')
    return load(path)


def nobody(server: str, events: Sequence[dict[str, Any]]) -> bool:
    """No audit server is there."""
    return False


async def test_a_configured_file_gets_the_record(tmp_path: Path) -> None:
    """MGP-6.3-3: events are kept here, whatever becomes of other places."""
    settings = configured(
        tmp_path, '[[audit.sinks]]\nname = "archive"\ntype = "file"\npath = "logs/audit.jsonl"\n'
    )
    settings.storage.path.mkdir()
    log = a_log(settings.storage.path)
    positions = positions_of(settings)
    sinks = sinks_of(settings, positions, nobody)
    sinks.start()
    log.event("com.example.made")
    await until(lambda: positions.taken() == 1)
    await sinks.close()
    await log.close()
    written = (settings.storage.path / "logs" / "audit.jsonl").read_bytes()
    assert written == (settings.storage.path / "audit-000001.jsonl").read_bytes()


async def test_a_secret_that_is_missing_stops_its_sink_alone_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    settings = configured(
        tmp_path,
        '[[audit.sinks]]\nname = "siem"\ntype = "http"\nurl = "http://127.0.0.1:9/"\n'
        'headers = { Authorization = "Bearer ${NO_SUCH_TOKEN}" }\n'
        '[[audit.sinks]]\nname = "archive"\ntype = "file"\npath = "audit.jsonl"\n',
    )
    settings.storage.path.mkdir()
    log = a_log(settings.storage.path)
    positions = positions_of(settings)
    sinks = sinks_of(settings, positions, nobody)
    sinks.start()
    log.event("com.example.made")
    await until(lambda: sinks.states()["siem"].problem is not None)
    await until(lambda: sinks.states()["archive"].taken == 1)
    assert "NO_SUCH_TOKEN is not set" in str(sinks.states()["siem"].problem)
    assert positions.taken() == 0
    await sinks.close()
    await log.close()


def test_every_type_can_be_configured_and_none_connects_at_once(tmp_path: Path) -> None:
    settings = configured(
        tmp_path,
        '[[audit.sinks]]\nname = "a"\ntype = "syslog"\naddress = "udp://127.0.0.1:9"\n'
        '[[audit.sinks]]\nname = "b"\ntype = "postgres"\ndsn = "postgresql://nobody@127.0.0.1:9/x"\n'
        '[[audit.sinks]]\nname = "c"\ntype = "http"\nurl = "http://127.0.0.1:9/"\n',
    )
    sinks = sinks_of(settings, positions_of(settings), nobody)
    assert set(sinks.states()) == {"a", "b", "c"}


async def test_a_file_that_a_sink_names_is_the_one_beside_the_configuration(tmp_path: Path) -> None:
    """The one that was accepted with it, and none of the state folder, which the configuration may place anywhere."""
    settings = configured(
        tmp_path, '[[audit.sinks]]\nname = "a"\ntype = "file"\npath = "${file:where}"\n'
    )
    settings.storage.path.mkdir()
    (tmp_path / "where").write_text("right.jsonl\n")
    (settings.storage.path / "where").write_text("wrong.jsonl\n")
    log = a_log(settings.storage.path)
    positions = positions_of(settings)
    sinks = sinks_of(settings, positions, nobody)
    sinks.start()
    log.event("com.example.made")
    await until(lambda: positions.taken() == 1)
    await sinks.close()
    await log.close()
    assert (settings.storage.path / "right.jsonl").exists()


async def test_a_file_that_is_not_as_it_was_accepted_makes_no_sink(tmp_path: Path) -> None:
    settings = configured(
        tmp_path, '[[audit.sinks]]\nname = "a"\ntype = "file"\npath = "${file:where}"\n'
    )
    (tmp_path / "where").write_text("elsewhere.jsonl\n")
    settings.storage.path.mkdir()
    accepted = {settings.files[0]: {str(tmp_path / "where"): "another digest"}}
    sinks = sinks_of(replace(settings, accepted=accepted), positions_of(settings), nobody)
    log = a_log(settings.storage.path)
    sinks.start()
    log.event("com.example.made")
    await until(lambda: sinks.states()["a"].problem is not None)
    assert "has changed since it was looked at" in str(sinks.states()["a"].problem)
    await sinks.close()
    await log.close()
    assert not (settings.storage.path / "elsewhere.jsonl").exists()


async def test_an_audit_server_that_is_away_is_told_everything_when_it_is_back(
    tmp_path: Path,
) -> None:
    """MGP-6.3-3: meanwhile the record here grows, and nothing is lost or told twice."""
    settings = configured(
        tmp_path,
        '[[servers]]\nid = "auditor"\ncommand = "unused"\n'
        '[[audit.sinks]]\nname = "far"\ntype = "mgp"\nserver = "auditor"\n',
    )
    settings.storage.path.mkdir()
    log, positions = a_log(settings.storage.path), positions_of(settings)
    heard: list[str] = []
    there = [True]

    def inform(server: str, events: Sequence[dict[str, Any]]) -> bool:
        if there[0]:
            heard.extend(str(one["trace_id"]) for one in events)
        return there[0] and server == "auditor"

    sinks = sinks_of(settings, positions, inform)
    sinks.start()
    run(log, a_call(1))
    await until(lambda: positions.taken() == 2)
    there[0] = False
    for number in range(2, 6):
        run(log, a_call(number))
    await until(lambda: sinks.states()["far"].problem is not None)
    kept = [one["trace_id"] for one in records(settings.storage.path)]
    assert (len(kept), positions.taken()) == (10, 2)
    there[0] = True
    await until(lambda: positions.taken() == 10)
    await sinks.close()
    await log.close()
    assert heard == kept[1::2]
