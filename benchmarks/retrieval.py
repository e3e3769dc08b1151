"""Retrieval quality of tool search: Recall@5 and nDCG@10 by kind and language of query, for plain BM25 and each strategy, with latency.

    python -m benchmarks.retrieval tools.jsonl queries.jsonl [FOLDER]

With the folder of a local model (`[discovery.embedder] path`) `auto` and `semantic` are printed with its vectors too.
Both files are JSON lines: tools with `tool_id`, `name`, `description`, `inputSchema`; queries with `query`, `relevant` (tool ids)
and, where known, `kind` and `lang`. The standard error of Recall@5 at 500 queries is about .02.

`benchmarks/paraphrases.jsonl` are 188 queries over tools of the development catalogue, written from names and descriptions as a user would
say it, without a look at what search finds. The first 73 (`blind`) are older than the lexicon's English part, by the same hand;
another 55 (`blind-after`) were written after it, and 60 (`blind-late`), over other tools, before the ranking was changed last;
nothing was mended by either.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gatewright.discovery.batch import RESULTS, entries_of, indexed, records
from gatewright.discovery.embedded_tools import Meanings, text_of
from gatewright.discovery.embedders.embedder import unit_rows
from gatewright.discovery.embedders.model_files import Model, opened
from gatewright.discovery.index import ToolIndex
from gatewright.discovery.ranking import Text, ranked
from gatewright.transport.slices import whole

__all__ = ["graded", "main", "ndcg", "recall"]

STRATEGIES = ("keyword", "semantic", "auto")

Search = Callable[[str], list[str]]


def recall(found: Sequence[str], relevant: Sequence[str], most: int = 5) -> float:
    """The share of the relevant ids among the first `most` found."""
    return len(set(found[:most]) & set(relevant)) / len(set(relevant))


def ndcg(found: Sequence[str], relevant: Sequence[str], most: int = 10) -> float:
    """Discounted gain of the relevant ids among the first `most` found, of the gain of the best order."""
    wanted = set(relevant)
    gain = sum(1 / math.log2(place + 2) for place, one in enumerate(found[:most]) if one in wanted)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(most, len(wanted))))


def graded(
    search: Search, queries: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, tuple[float, float, int]], list[float]]:
    """For all queries, each kind and each language: Recall@5, nDCG@10 and how many; and the milliseconds of each query."""
    by: dict[str, list[tuple[float, float]]] = defaultdict(list)
    times = []
    for one in queries:
        began = time.perf_counter()
        found = search(one["query"])
        times.append((time.perf_counter() - began) * 1000)
        grade = recall(found, one["relevant"]), ndcg(found, one["relevant"])
        groups = ["all"]
        groups += [str(one[key]) for key in ("kind", "lang") if one.get(key)]
        for group in groups:
            by[group].append(grade)
    return {
        group: (
            statistics.fmean(one[0] for one in grades),
            statistics.fmean(one[1] for one in grades),
            len(grades),
        )
        for group, grades in by.items()
    }, times


def searches(tools: Sequence[Mapping[str, Any]], model: Model | None = None) -> dict[str, Search]:
    """Plain BM25 and each strategy, over the same tools."""
    index = indexed(tools)
    if model is not None:
        _embedded(index, model)
    entries = [one for listed in entries_of(tools).values() for one in listed]
    texts = [Text(one.name, one.description, one.categories) for one in entries]

    def bm25(query: str) -> list[str]:
        return [entries[number].tool_id for number in whole(ranked(query, texts))[:RESULTS]]

    def by(strategy: str, model: Model | None = None) -> Search:
        def search(query: str) -> list[str]:
            vector = None if model is None else unit_rows(model.embed([query]), 1)[0]
            found = whole(index.search(query, strategy=strategy, limit=RESULTS, vector=vector))
            return [hit.tool_id for hit in found.hits]

        return search

    found = {"bm25": bm25, **{one: by(one) for one in STRATEGIES}}
    if model is not None:
        found |= {f"{one}+model": by(one, model) for one in ("semantic", "auto")}
    return found


def _embedded(index: ToolIndex, model: Model) -> None:
    """Have the vectors of a model in an index."""
    for slot, entry in index.found():
        text = text_of(entry.server, entry.name, entry.description)
        row = unit_rows(model.embed([text]), 1)[0]
        if index.meanings is None:
            index.meanings = Meanings("model", len(row))
        index.means(slot, entry, row)


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    if len(arguments) not in {2, 3}:
        print(__doc__)
        return 2
    tools, queries = (records(Path(one)) for one in arguments[:2])
    model = opened(Path(arguments[2]))[0] if len(arguments) > 2 else None
    print(f"{len(tools)} tools, {len(queries)} queries; Recall@5 / nDCG@10")
    for name, search in searches(tools, model).items():
        grades, times = graded(search, queries)
        cuts = statistics.quantiles(times, n=100)
        print(f"\n{name}: {statistics.median(times):.2f} ms median, {cuts[98]:.2f} ms p99")
        for group, (found, gain, count) in grades.items():
            print(f"  {group:14} {found:.3f} / {gain:.3f}   ({count})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
