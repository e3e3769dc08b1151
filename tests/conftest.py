"""Two rules for every run: nothing is skipped, and peer tests run only where the peers are.

A skipped test is a promise nobody keeps, so a run with a skip or an expected failure in it fails.
Tests that talk to foreign clients and servers carry the `peers` mark. They are left out, with one
line that says so, until `make peers` has installed what they talk to; with `--require-peers` (as
in CI) they are never left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

__all__ = ["PEER_STAMPS"]

ROOT = Path(__file__).resolve().parent.parent
PEER_STAMPS = (
    ROOT / "peers/node/node_modules/.ready",
    *(ROOT / ".peers" / name / ".ready" for name in ("sdk1", "sdk2", "fastmcp", "mcp-proxy")),
)

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

_left_out = pytest.StashKey[int]()
_not_run = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--require-peers`."""
    parser.addoption(
        "--require-peers",
        action="store_true",
        help="run the tests marked `peers` even when `make peers` has not been run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the two lists that the end of the run reads."""
    config.stash[_left_out] = 0
    config.stash[_not_run] = []
    config.pluginmanager.register(_NothingSkipped(config), "gatewright-nothing-skipped")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave peer tests out while their peers are not installed."""
    if config.getoption("--require-peers") or all(stamp.exists() for stamp in PEER_STAMPS):
        return
    left_out = [item for item in items if item.get_closest_marker("peers")]
    if left_out:
        config.stash[_left_out] = len(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("peers")]


class _NothingSkipped:
    """Turns a run with a skipped or xfailed test into a failed run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped or hasattr(report, "wasxfail"):
            self.config.stash[_not_run].append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.config.stash[_not_run].append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.config.stash[_not_run] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid in self.config.stash[_not_run]:
            terminalreporter.write_line(f"NOT RUN {nodeid}: a skipped test fails the run", red=True)
        if count := self.config.stash[_left_out]:
            terminalreporter.write_line(f"{count} peer tests left out: run `make peers` first")
