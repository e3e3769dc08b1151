"""How well validators judge labelled data, and what a verdict costs.

`python -m benchmarks.validators --data DIR` reads shell.jsonl, network.jsonl, path.jsonl, python_code.jsonl and
readonly.jsonl from DIR: one object a line with `id`, `category`, `input` and `label` (`block`, `allow`, `either`).
Block rates and false-positive rates are percentages, as a whole and by category. Costs are microseconds of processor
time for one verdict, the median over rounds, on the inputs that are to pass: those walk through every rule. Without
--data only costs are measured, on a few inputs of our own.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, Test, main_of_data
from gatewright.validators import Objection
from gatewright.validators.registry import preparer

__all__ = ["SETS", "Set", "costs", "main", "rates"]

_ROUNDS = 5
_KIB = 1024

Judge = Callable[[Any], Objection | None]


@dataclass(frozen=True)
class Set:
    """One file of labelled data: with which validator, and what is to be reached."""

    name: str
    file: str
    validator: str
    options: Mapping[str, Any]
    least_blocked: float
    most_false: float
    left_out: tuple[str, ...] = ()
    """Categories that say nothing about this way of judging; reported, but not counted."""


_SHELL_UNKNOWN = ("shell.benign.unknown_program", "shell.benign.quoted_meta")
_STRICT = (
    *_SHELL_UNKNOWN,
    "shell.benign.pipeline",
    "shell.benign.simple_common",
    "shell.benign.trap",
)

SETS = (
    # Programs that nobody knows are refused by an allow-list by design.
    Set("shell", "shell.jsonl", "sandbox", {"pipes": True}, 99, 2, _SHELL_UNKNOWN),
    Set("shell_deny", "shell.jsonl", "sandbox", {"mode": "deny-list", "pipes": True}, 0, 100),
    Set("shell_strict", "shell.jsonl", "sandbox", {"mode": "strict"}, 0, 100, _STRICT),
    Set("network", "network.jsonl", "network_restricted", {}, 100, 0.5),
    Set("path", "path.jsonl", "paths", {"root": "/srv/workspace"}, 99, 0),
    Set("python_code", "python_code.jsonl", "code_safety", {}, 99, 1),
    Set("readonly", "readonly.jsonl", "readonly", {}, 99, 1),
)

_OF_CODE = (
    "level",
    "max_code_size_bytes",
    "allowed_imports",
    "blocked_imports",
    "blocked_patterns",
)

_OWN: Mapping[str, Sequence[str]] = {
    "shell": (
        "ls -la src",
        "grep -rn 'a b' docs | sort | uniq -c",
        "find . -name '*.py' -mtime -3",
        "wc -l notes.txt",
    ),
    "network": (
        "https://docs.example.net/guide/start?page=2",
        "http://9.9.9.9/x",
        "https://a.b.example.org/",
    ),
    "python_code": (
        "import json\n\n\ndef total(text):\n    '''Sum of all prices.'''\n    rows = json.loads(text)\n"
        "    return sum(row['price'] * row.get('count', 1) for row in rows)\n" * 6,
    ),
}


def _judge_of(one: Set, row: Mapping[str, Any], known: dict[str, Judge]) -> Judge:
    """The judge for one line of a file; lines of code bring options of their own."""
    beside = (
        {name: row[name] for name in _OF_CODE if name in row} if one.name == "python_code" else {}
    )
    key = json.dumps(beside, sort_keys=True)
    if key not in known:
        prepare = preparer(one.validator)
        assert prepare is not None
        known[key] = prepare({**one.options, **beside}, "").judge
    return known[key]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        yield from map(json.loads, lines)


def rates(one: Set, rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """The rates of one set, then those of each category."""
    known: dict[str, Judge] = {}
    counted: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for row in rows:
        blocked = _judge_of(one, row, known)(row["input"]) is not None
        key = (str(row["category"]), str(row["label"]))
        counted[key] += 1
        right[key] += blocked
    kept = [key for key in counted if key[0] not in one.left_out]
    for label, what in (("block", "blocked"), ("allow", "false")):
        keys = [key for key in kept if key[1] == label]
        if keys:
            least: Test = "ours >=" if label == "block" else "ours <="
            target = one.least_blocked if label == "block" else one.most_false
            yield _rate(f"{one.name}.{what}", counted, right, keys, target, least)
    for key in sorted(counted):
        if key[1] != "either":
            what = "blocked" if key[1] == "block" else "false"
            yield _rate(f"{one.name}.{what}.{key[0]}", counted, right, [key])


def _rate(
    name: str,
    counted: Counter[tuple[str, str]],
    hits: Counter[tuple[str, str]],
    keys: Sequence[tuple[str, str]],
    target: float | None = None,
    test: Test = "",
) -> Row:
    total, hit = sum(counted[key] for key in keys), sum(hits[key] for key in keys)
    return Row(
        name, 100 * hit / total, "%", target=target, test=test, extras={"hits": hit, "of": total}
    )


def costs(name: str, judge: Judge, inputs: Sequence[Any], target: float) -> Row:
    """Processor time a verdict in microseconds; for code, milliseconds a KiB."""
    taken = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        for one in inputs:
            judge(one)
        taken.append(time.process_time() - start)
    spent = statistics.median(taken)
    if name == "python_code":
        kib = sum(len(one) for one in inputs) / _KIB
        return Row("cost.python_code", spent * 1e3 / kib, "ms/KiB", target=target, test="ours <=")
    return Row(f"cost.{name}", spent * 1e6 / len(inputs), "us", target=target, test="ours <=")


_LEAST_REPEATS = 2000
_COSTS = {"shell": 30.0, "network": 20.0, "python_code": 0.15}


def _cost_rows(data: Path | None) -> Iterator[Row]:
    for one in SETS:
        target = _COSTS.get(one.name)
        if target is None:
            continue
        inputs: Sequence[Any] = _OWN[one.name]
        if data is not None and (data / one.file).exists():
            inputs = [
                row["input"]
                for row in _lines(data / one.file)
                if row["label"] == "allow"
                and row["category"] not in one.left_out
                and isinstance(row["input"], str)
                and row.get("level", "standard") == "standard"
            ]
        inputs = list(inputs) * max(1, _LEAST_REPEATS // len(inputs))
        yield costs(one.name, _judge_of(one, {}, {}), inputs, target)


def main(arguments: list[str] | None = None) -> int:
    """Print the rows; 1 when the data cannot be read."""
    return main_of_data(_rows, __doc__ or "", arguments)


def _rows(data: Path | None) -> Iterator[Row]:
    for one in SETS:
        if data is not None and (data / one.file).exists():
            yield from rates(one, _lines(data / one.file))
    yield from _cost_rows(data)


if __name__ == "__main__":
    sys.exit(main())
