"""What redaction finds in labelled results, what it takes for a secret that is none, and what it costs.

`python -m benchmarks.redaction --data DIR` reads secrets.jsonl and pii.jsonl there: an object a line with `id`, `category`, `label`
(`block`: nothing of `secrets` may remain; `allow`: not one byte may change), `input` (a tool's result) and `secrets`, or these
two as base64 of a JSON object under `b64`. Each input travels as text of a result and, where it is JSON, as structured
content too, through the filter as a gateway has it. Without --data only costs are measured.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT
from benchmarks.rows import Row, Test, main_of_data
from gatewright.call import ANONYMOUS, Answer, Call, Client
from gatewright.redaction.filter import Redact, Rules
from gatewright.secret_scanning import PERSONAL, Redactor

__all__ = ["costs", "main", "rates"]

FILES = {"secrets": "secrets.jsonl", "personal": "pii.jsonl"}
LEAST_FOUND = 97.0
MOST_FALSE = 2.0
_KIB = 1024
_LARGE = 100 * _KIB
_ROUNDS = 15


def _filter(kind: str) -> Redact:
    personal = frozenset(PERSONAL if kind == "personal" else ())
    return Redact(Rules(Redactor(bytes(32), secrets=kind == "secrets", personal=personal)))


def _call() -> Call:
    return Call(
        id="1",
        door="benchmark",
        kind="tool",
        method="tools/call",
        name="x",
        params={},
        caller=ANONYMOUS,
        client=Client("2025-11-25"),
        trace_id="0" * 32,
    )


def _results(said: str) -> Iterator[bytes]:
    """The result of a tool that says this, in every form that it can have."""
    yield json.dumps({"content": [{"type": "text", "text": said}]}).encode()
    try:
        value = json.loads(said)
    except ValueError:
        return
    yield json.dumps({"content": [], "structuredContent": {"value": value}}).encode()


def _text(value: Any) -> str:
    """Every string of a value, names included."""
    if isinstance(value, dict):
        return "\n".join([*value, *map(_text, value.values())])
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return value if isinstance(value, str) else ""


def _hit(clean: Redact, said: str, secrets: Iterable[str]) -> bool:
    """Whether of a result with secrets nothing remained, or one without was changed."""
    hits = []
    for raw in _results(said):
        answer = Answer(raw)
        found = clean.outcome(_call(), answer)
        assert isinstance(found, Answer)
        left = _text(json.loads(found.raw))
        hits.append(not any(one in left for one in secrets) if secrets else found is not answer)
    return all(hits) if secrets else any(hits)


def _opened(row: Mapping[str, Any]) -> dict[str, Any]:
    sealed = json.loads(base64.b64decode(row["b64"])) if "b64" in row else {}
    return {**row, **sealed}


def rates(kind: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Found and false of all, of each half of the families of rules, and of each category."""
    clean = _filter(kind)
    families: dict[str, int] = {}
    counted: Counter[tuple[str, str]] = Counter()
    hits: Counter[tuple[str, str]] = Counter()
    for row in map(_opened, rows):
        what = "found" if row["label"] == "block" else "false"
        hit = _hit(clean, row["input"], row["secrets"] if what == "found" else ())
        names = ["", f".{row['category']}"]
        if "rule" in row:
            number = families.setdefault(row["rule"], len(families))
            names.append(f".half_{number % 2 + 1}_of_the_rules")
        for name in names:
            counted[what, name] += 1
            hits[what, name] += hit
    for what, name in sorted(counted):
        test: Test = "" if name else ("ours >=" if what == "found" else "ours <=")
        target = None if name else (LEAST_FOUND if what == "found" else MOST_FALSE)
        extras = {"hits": hits[what, name], "of": counted[what, name]}
        share = 100 * extras["hits"] / extras["of"]
        yield Row(f"{kind}.{what}{name}", share, "%", target=target, test=test, extras=extras)


def _spent(work: Callable[[], object]) -> float:
    """Seconds of processor time, the least of several rounds: what others do at the same time only adds."""
    work()
    taken = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def _documents() -> Iterator[tuple[str, str]]:
    """Ordinary text: prose and code of this repository, each repeated to the size of a large result."""
    for name, pattern in (("prose", "docs/**/*.md"), ("code", "src/gatewright/servers/*.py")):
        text = "\n".join(one.read_text() for one in sorted(ROOT.glob(pattern)))
        yield name, (text * (_LARGE // len(text) + 1))[:_LARGE]


def costs() -> Iterator[Row]:
    """Processor time of the filter, by what a result holds."""
    clean, call = _filter("secrets"), _call()
    token = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    texts = dict(_documents())
    prose = texts["prose"]
    texts["with_a_secret_a_kib"] = "".join(
        f"{prose[at : at + _KIB]} {token} " for at in range(0, _LARGE, _KIB)
    )
    for name, text in texts.items():
        answer = Answer(json.dumps({"content": [{"type": "text", "text": text}]}).encode())
        spent = _spent(lambda answer=answer: clean.outcome(call, answer))  # type: ignore[misc]
        kib = len(answer.raw) / _KIB
        each = spent * 1e3 / kib
        yield Row(f"cost.{name}", each, "ms/KiB", target=0.02, test="ours <=")
        extras = {"kib": round(kib)}
        yield Row(
            f"cost.{name}.100_kib", each * 100, "ms", target=2.0, test="ours <=", extras=extras
        )
    small = Answer(b'{"content":[{"type":"text","text":"hello world"}]}')
    repeats = 2000
    spent = _spent(lambda: [clean.outcome(call, small) for _ in range(repeats)])
    yield Row("cost.small_result", spent * 1e6 / repeats, "us", target=2.0, test="ours <=")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as lines:
        yield from map(json.loads, lines)


def _rows(data: Path | None) -> Iterator[Row]:
    for kind, file in FILES.items():
        if data is not None and (data / file).exists():
            yield from rates(kind, _lines(data / file))
    yield from costs()


def main(arguments: list[str] | None = None) -> int:
    """Print the rows; 1 when the data cannot be read."""
    return main_of_data(_rows, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
