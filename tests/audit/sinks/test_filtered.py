from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from gatewright.audit.sinks.filtered import AlertSink, FilteredSink
from gatewright.audit.sinks.follow import SinkFailed


class Kept:
    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.closed = False
        self.fails = False

    async def deliver(self, lines: Sequence[bytes]) -> None:
        if self.fails:
            raise SinkFailed("down")
        self.batches.append(list(lines))

    async def close(self) -> None:
        self.closed = True


async def test_only_what_is_chosen_is_handed_on_and_nothing_is_no_batch() -> None:
    """GRH-cfg-9."""
    kept = Kept()
    sink = FilteredSink(kept, lambda line: line.startswith(b"a"))
    await sink.deliver([b"a1", b"b1", b"a2"])
    await sink.deliver([b"b2"])
    assert kept.batches == [[b"a1", b"a2"]]
    await sink.close()
    assert kept.closed


async def test_a_sink_that_fails_is_told_to_whoever_follows() -> None:
    """GRH-cfg-13: so that the batch is tried again."""
    kept = Kept()
    kept.fails = True
    with pytest.raises(SinkFailed):
        await FilteredSink(kept, lambda line: True).deliver([b"a"])


async def test_an_alert_is_said_in_the_log_and_to_the_hook(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """GRH-aud-4."""
    kept = Kept()
    sink = AlertSink(lambda line: b"event of " + line + b"\n", kept)
    with caplog.at_level(logging.CRITICAL, "gatewright.audit"):
        await sink.deliver([b"one", b"two"])
    assert kept.batches == [[b"one", b"two"]]
    assert [one.message for one in caplog.records] == [
        "security alert: event of one",
        "security alert: event of two",
    ]
    await sink.close()
    assert kept.closed


async def test_an_alert_without_a_hook_is_said_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """GRH-aud-4."""
    sink = AlertSink(lambda line: line, None)
    await sink.deliver([b"x"])
    await sink.close()
    assert caplog.records[0].levelno == logging.CRITICAL
