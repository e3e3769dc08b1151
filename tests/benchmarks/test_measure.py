"""The load generators reach real servers, check every answer, and nothing they start survives."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.commands import echo_http, raw_responder
from benchmarks.load.generate import right
from benchmarks.mcp_client import Session
from benchmarks.measure import Loader, System, as_system, measure, measure_pair
from benchmarks.processes import Trouble, started


@pytest.mark.parametrize("kind", ["auto", "python"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_load_counts_right_answers_of_every_client(tmp_path: Path, kind: str, era: str) -> None:
    with echo_http(tmp_path) as server:
        system = System("echo", server.url, server.pid, era)
        sample = Loader(tmp_path, kind).round(system, 4, 0.2, 0.05)
    assert sample.rate > 0
    assert 0 < sample.p50_us <= sample.p99_us
    assert len(system.sessions) == 4


def test_systems_are_loaded_by_turns_and_medians_come_back(tmp_path: Path) -> None:
    with raw_responder(tmp_path) as raw, echo_http(tmp_path) as server:
        systems = [as_system(raw, bare=True), as_system(server)]
        got = measure(Loader(tmp_path), systems, [1, 2], rounds=2, seconds=0.1, warmup=0.02)
    assert set(got) == {("raw", 1), ("raw", 2), ("echo_http", 1), ("echo_http", 2)}


@pytest.mark.parametrize("kind", ["auto", "python"])
def test_a_wrong_answer_ends_the_measurement(tmp_path: Path, kind: str) -> None:
    with echo_http(tmp_path, "--era", "modern") as server:
        system = System("echo", server.url, bare=True)  # speaks legacy to a server that does not
        with pytest.raises(Trouble, match="answers wrong"):
            Loader(tmp_path, kind).round(system, 2, 0.1, 0.0)


@pytest.mark.parametrize("kind", ["auto", "python"])
def test_a_server_that_is_gone_ends_the_measurement(tmp_path: Path, kind: str) -> None:
    with raw_responder(tmp_path) as raw:
        system = as_system(raw, bare=True)
    with pytest.raises(Trouble, match="load on raw"):
        Loader(tmp_path, kind).round(system, 1, 0.1, 0.0)


def test_answers_are_right_only_with_their_own_id_and_text() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hello 7"}]}}'
    assert right(body, 7)
    assert right(b"event: message\r\ndata: " + body + b"\r\n\r\n", 7)
    assert not right(body, 8)
    assert not right(body.replace(b'"hello 7"', b'"hello 8"'), 7)
    assert not right(body.replace(b"]}}", b'],"isError":true}}'), 7)
    assert not right(b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"hello 7"}}', 7)
    assert not right(body[:-1], 7)


def test_an_answer_to_what_is_no_json_rpc_has_no_id() -> None:
    body = b'{"result":{"content":[{"type":"text","text":"hello 7"}]},"timestamp":"t"}'
    assert right(body, 7, named=False)
    assert not right(body, 7)
    assert not right(body, 8, named=False)


def test_a_program_ends_with_its_block(tmp_path: Path) -> None:
    with raw_responder(tmp_path) as raw:
        os.kill(raw.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(raw.pid, 0)


def test_a_program_that_ends_before_it_is_ready_is_named_with_its_last_words(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such option')"]
    with (
        pytest.raises(Trouble, match=r"(?s)broken ended.*no such option"),
        started("broken", command, tmp_path),
    ):
        pytest.fail("it was taken for ready")


def test_a_session_finds_a_tool_under_the_prefix_of_a_gateway(tmp_path: Path) -> None:
    with echo_http(tmp_path, "--tools", "5") as server:
        session = Session(server.url)
        session.open()
        assert session.tool("00004") == "echo_00004"
        with pytest.raises(Trouble, match="no tool nothing"):
            session.tool("nothing")
        session.close()


def test_a_pair_is_compared_round_by_round(tmp_path: Path) -> None:
    with raw_responder(tmp_path) as raw:
        pair = as_system(raw, bare=True), as_system(raw, bare=True)
        one, other, ratio = measure_pair(Loader(tmp_path), pair, 2, rounds=3, seconds=0.1)
    assert min(one.rate, other.rate, ratio) > 0
