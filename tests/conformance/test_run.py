"""The runner counts what the suites print, and never takes silence for a pass."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from conformance import run
from gatewright import config

OUTPUT = """
=== SUMMARY ===
✓ ping: 1 passed, 0 failed
✗ tools-list: 2 passed, 1 failed
✓ server-sse-polling: 0 passed, 0 failed

Total: 3 passed, 1 failed
"""
ALL = run.Set("all", "server", "suite", ("--suite", "all"), 2)


def _frozen(folder: Path, monkeypatch: pytest.MonkeyPatch, *, side: str) -> run.Set:
    """A set whose requirement file lists three scenarios on its side and one on the other."""
    other = "client" if side == "server" else "server"
    file = folder / "suite" / "requirements" / "2026-07-28.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f"# a comment\n{side}:\n  - ping\n  - tools-list\n  - server-sse-polling\n\n"
        f"{other}:\n  - elsewhere\n\nnot_scored:\n  - scenario: extra\n    leg: {side}\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(run, "NODE_MODULES", folder)
    return run.Set("frozen", side, "suite", ("--requirements", "2026-07-28"), 3)


def test_a_failed_check_fails_its_scenario_and_the_bar_is_missed() -> None:
    outcome = run.judge(ALL, OUTPUT)
    assert (outcome.passed, outcome.scored, outcome.checks) == (2, 3, 3)
    assert outcome.failing == ("tools-list",)
    assert not outcome.met


def test_only_what_the_frozen_list_names_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = _frozen(tmp_path, monkeypatch, side="server")
    extra = OUTPUT.replace("✗ tools-list: 2 passed, 1", "✓ tools-list: 3 passed, 0")
    outcome = run.judge(chosen, extra + "✗ extra: 0 passed, 5 failed\n")
    assert (outcome.passed, outcome.scored, outcome.met) == (3, 3, True)


def test_a_scenario_that_never_ran_counts_as_failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run.judge(_frozen(tmp_path, monkeypatch, side="server"), "")
    assert (outcome.passed, outcome.scored, len(outcome.failing)) == (0, 3, 3)
    assert not outcome.met


def test_a_client_that_was_never_checked_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run.judge(_frozen(tmp_path, monkeypatch, side="client"), OUTPUT)
    assert outcome.failing == ("tools-list", "server-sse-polling")


def test_too_few_single_checks_miss_the_bar_although_no_scenario_fails() -> None:
    chosen = run.Set("counted", "server", "suite", ("--suite", "all"), 1, checks=2)
    outcome = run.judge(chosen, "✓ ping: 1 passed, 0 failed\n")
    assert outcome.failing == ()
    assert not outcome.met


def test_the_suite_of_a_gateway_that_is_down_scores_nothing_out_of_the_bar() -> None:
    outcome = run.judge(ALL, "no summary at all")
    assert (outcome.passed, outcome.scored, outcome.met) == (0, 2, False)


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_generated_configuration_names_one_unprefixed_upstream(transport: str) -> None:
    config = tomllib.loads(run.gateway_config(transport, "http://127.0.0.1:1/mcp"))
    assert config["gateway"]["unprefixed"] is True
    assert [server["transport"] for server in config["servers"]] == [transport]
    assert config["grants"] == [{"agent": "*", "server": "everything", "permission": "allow"}]


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_gateway_accepts_the_generated_configuration(transport: str, tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(run.gateway_config(transport, "http://127.0.0.1:1/mcp"), encoding="utf-8")
    loaded = config.load(file)
    assert [server.id for server in loaded.servers] == ["everything"]
    assert loaded.gateway.unprefixed


def test_a_child_that_ends_before_it_is_ready_is_reported_with_its_logs(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    with (
        pytest.raises(run.RunError, match="ended before it was ready"),
        run.serving(command, tmp_path / "child.log", tmp_path),
    ):
        pytest.fail("the block must not run")


def test_a_child_that_says_ready_is_used_and_gone_afterwards(tmp_path: Path) -> None:
    words = "import time; print('ready http://127.0.0.1:9/mcp', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", words]
    with run.serving(command, tmp_path / "child.log", tmp_path) as url:
        assert url == "http://127.0.0.1:9/mcp"
    assert (tmp_path / "child.out").read_text(encoding="utf-8").startswith("ready ")
