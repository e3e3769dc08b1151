"""A hundred reloads under 200 calls a second; the benchmark itself does a thousand."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from benchmarks.reload import measure

RELOADS = 100


def test_no_call_is_dropped_or_judged_by_a_mixture_while_the_configuration_changes(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        found = measure(tmp_path, stack, RELOADS)
    assert (found.dropped, found.mixed) == ([], [])
    assert (found.reloads, found.children) == (RELOADS, 3)
    assert found.calls > RELOADS
    assert min(found.judged["A"], found.judged["B"], found.judged["either"]) > 0
