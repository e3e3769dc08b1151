"""Speed of tool search among many tools: build, search, memory, loading of a kept index; and searches in a gateway while calls run.

    python -m benchmarks.discovery_scale tools.jsonl queries.jsonl [COUNT]

The tools are made from those of the file: each has the name of two, and sentences of two with some words of a third or coined ones, so
that names differ, and the vocabulary grows with their number. Times are those of the process, so that others on the machine do not
count; memory is what the process has more than before. The last lines are of a gateway on one core, as its clients have them: one that
searches and one that calls a tool, each alone and both at once.
"""

from __future__ import annotations

import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.discovery_calls import whiles
from gatewright.discovery.batch import records
from gatewright.discovery.index import Entry, ToolIndex
from gatewright.discovery.kept_index import FILE, load, made_by, store
from gatewright.discovery.words import parts, split
from gatewright.transport.slices import whole

__all__ = ["made_up", "main"]

SERVERS = 200
COUNT = 100_000
_SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi xo zu kra ple sti tro".split()


def made_up(tools: Sequence[Mapping[str, Any]], count: int, seed: int = 7) -> Iterator[Entry]:
    """So many tools, mixed from these."""
    dice = random.Random(seed)
    told = [(str(one["name"]), str(one.get("description") or ""), _names(one)) for one in tools]
    words = sorted({word for name, said, _ in told for word in split(f"{name} {said}", 400)})
    names: set[str] = set()
    while len(names) < count:
        (one, said, had), (two, more, has) = dice.choice(told), dice.choice(told)
        first, last = parts(one.replace("_", " ")), parts(two.replace("_", " "))
        name = "_".join([*first[: dice.randint(1, 2)], *last[-dice.randint(1, 2) :]])
        if name in names:
            name = f"{name}_{_coined(dice)}"
        if name in names:
            continue
        names.add(name)
        text = [*split(said, 200), *split(more, 100)]
        for at in range(0, len(text), 9):
            text[at] = _coined(dice) if dice.random() < 0.05 else dice.choice(words)
        server = f"server_{len(names) * SERVERS // (count + 1)}"
        yield Entry(f"{server}/{name}", server, name, " ".join(text), (*had[:3], *has[:2]))


def _coined(dice: random.Random) -> str:
    return "".join(dice.choice(_SYLLABLES) for _ in range(dice.randint(2, 4)))


def _names(tool: Mapping[str, Any]) -> tuple[str, ...]:
    properties = (tool.get("inputSchema") or {}).get("properties") or {}
    return tuple(properties) if isinstance(properties, Mapping) else ()


def _resident() -> float:
    """MiB that the process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def main(arguments: Sequence[str]) -> int:
    """Print what it takes."""
    if len(arguments) not in {2, 3}:
        print(__doc__)
        return 2
    tools, queries = (records(Path(one)) for one in arguments[:2])
    count = int(arguments[2]) if len(arguments) > 2 else COUNT
    listed: dict[str, list[Entry]] = {}
    for one in made_up(tools, count + 500):
        listed.setdefault(one.server, []).append(one)
    last = [one for entries in listed.values() for one in entries][-500:]
    whole(ToolIndex().put("warm", last[:10]))
    before, began = _resident(), time.process_time()
    index = ToolIndex()
    for server, entries in listed.items():
        whole(index.put(server, entries))
    spent = time.process_time() - began
    print(f"{len(index)} tools: built in {spent:.1f} s, {_resident() - before:.0f} MiB")
    times = []
    for asked in queries:
        began = time.process_time()
        whole(index.search(asked["query"], limit=5))
        times.append((time.process_time() - began) * 1000)
    cuts = statistics.quantiles(times, n=100)
    print(f"search: {statistics.median(times):.2f} ms median, {cuts[98]:.2f} ms p99")
    began = time.process_time()
    whole(index.put("one more", last))
    print(f"{len(last)} tools more: {(time.process_time() - began) * 1000:.0f} ms")
    _again(index, listed)
    whiles(listed.values(), [str(one["query"]) for one in queries])
    return 0


def _again(index: ToolIndex, listed: Mapping[str, Sequence[Entry]]) -> None:
    """Keep the index, and have it again as after a start."""
    with tempfile.TemporaryDirectory() as folder:
        file, began = Path(folder, FILE), time.process_time()
        store(file, whole(index.kept()))
        stored = time.process_time() - began
        made_by()
        began = time.process_time()
        again = load(file)
        read = time.process_time() - began
        for server, entries in listed.items():
            whole(again.put(server, entries))
        spent = time.process_time() - began
        size = file.stat().st_size / 2**20
    print(
        f"kept in {stored:.1f} s, {size:.0f} MiB; loaded in {read:.2f} s, with every server listing the same {spent:.2f} s"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
