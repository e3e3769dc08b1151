"""Whom does a hostile input keep waiting? Every input of `arguments`, `results` and the doors, one after the other, against a gateway
with everything on, while somebody else calls a harmless tool at a steady pace from another process. Those of `doors` come after all others,
against a gateway of their own (`house`).

    python -m benchmarks.hostile [--json] [--quick] [--only NAME] [--size BYTES] [--result-size BYTES]

For each input: the innocent caller's p99 and longest wait, what became of the input, and the verdict (p99 ≤ 25 ms, longest ≤ 100 ms).
`rest.…` rows are the same without any input: what this machine does by itself. An input that misses is
made once more after a rest, and the better turn counts. 0 where every input could be made, whatever the figures.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.commands import gatewright
from benchmarks.hostile import doors, leaving
from benchmarks.hostile.arguments import TOOLS, api_calls, calls, frames
from benchmarks.hostile.caller import Hostile
from benchmarks.hostile.documents import DOCUMENTS, document
from benchmarks.hostile.house import house
from benchmarks.hostile.results import FLOODS, LARGE, NAMES
from benchmarks.hostile.steps import in_steps
from benchmarks.hostile.web import PACKED, STREAMS, api_of, served
from benchmarks.hostile_floods import FLOODS as DOOR_FLOODS
from benchmarks.hostile_floods import Flood
from benchmarks.processes import ROOT, Trouble, end, started

__all__ = ["LONGEST_RESULT", "Attack", "Innocent", "attacks", "configured", "main", "turn"]

P99_MS, LONGEST_MS = 25.0, 100.0
PACE_MS = 5.0
LONGEST_RESULT = 11_500_000
"""A little less than a message of a server may have: a longer one ends its connection, and nobody reads it."""
REST_S = 0.3
TURN_S = 1.2

CONFIG = """
[gateway]
anonymous = "allow"
[storage]
path = {state}
[limits]
call_timeout_s = 60
{limits}
[rooms]
anonymous_profile = "full"
[redaction]
level = "personal"
terms = ["Project Nightjar"]
hidden = "remove"
[[servers]]
id = "calm"
transport = "stdio"
command = {python}
args = [{calm}, "--era", "legacy"]
[[servers]]
id = "hostile"
transport = "stdio"
command = {python}
args = [{hostile}]
{tools}
[[servers]]
id = "web"
url = {web}
[[servers]]
id = "bodies"
openapi = {bodies}
base_url = {base}
[servers.tools.take]
risk_level = "safe"
[[grants]]
agent = "*"
server = "bodies"
[[grants]]
agent = "*"
server = "web"
[[grants]]
agent = "*"
server = "api"
[[grants]]
agent = "*"
server = "calm"
[[grants]]
agent = "*"
server = "hostile"
"""

Attack = Callable[[], str]

LISTS = (
    (
        "again",
        b"tools/list",
        ("descriptions", "schemas", "one", "small", "described", "unnamed", "empty"),
    ),
    ("resources", b"resources/list", ("many", "long", "twice", "empty", "wide")),
    ("templates", b"resources/templates/list", ("templates", "heads")),
    ("prompts", b"prompts/list", ("prompts",)),
)
"""Which tool of the hostile server makes it list something else, how that is asked for, and what there is."""


def configured(folder: Path, web: str) -> Path:
    """The file of a gateway with everything on, before a calm server and hostile ones; `web` is the URL of one."""
    options = {"strict": {"mode": "strict"}}
    tools = []
    for name, validator in TOOLS.items():
        tools.append(f"[servers.tools.{name}]\nvalidator = {json.dumps(validator)}")
        if name in options:
            tools.append(f'[servers.tools.{name}.validator_options]\nmode = "strict"')
    tools.append('[servers.tools.result]\nflow = ["untrusted", "private"]')
    text = CONFIG.format(
        state=json.dumps(str(folder / "state")),
        python=json.dumps(sys.executable),
        calm=json.dumps(str(ROOT / "benchmarks" / "servers" / "echo_stdio.py")),
        hostile=json.dumps(str(ROOT / "benchmarks" / "hostile" / "server.py")),
        tools="\n".join(tools),
        limits="",
        web=json.dumps(web),
        bodies=json.dumps(str(folder / "bodies.json")),
        base=json.dumps(web.removesuffix("/mcp")),
    )
    (folder / "bodies.json").write_text(json.dumps(api_of(web)), encoding="utf-8")
    path = folder / "mgp.toml"
    path.write_text(text, encoding="utf-8")
    return path


def attacks(hostile: Hostile, size: int, result: int) -> Iterator[tuple[str, Attack]]:
    """Every input by its name."""
    for name, tool, arguments in calls(size):
        yield name, partial(hostile.call, tool, arguments)
    for name, tool, arguments in calls(size):
        if name.endswith((".0.list", ".0.undeclared")):
            yield f"rest_door.{name}", partial(hostile.post, f"/tools/hostile__{tool}", arguments)
            yield f"ggen_door.{name}", partial(hostile.post, "/rpc", _ggen(tool, arguments))
    for name, arguments in api_calls(size):
        yield name, partial(hostile.call_of, "bodies__take", arguments)
    for name, frame in frames(size):
        alone = name.startswith(("frame.batch_of", "frame.modern"))
        yield name, partial(hostile.alone if alone else hostile.mcp, frame)
    yield from _of_servers(hostile, result)
    for name, flood in DOOR_FLOODS.items():
        yield f"door.{name}", partial(_poured, hostile, flood)


def _of_servers(hostile: Hostile, result: int) -> Iterator[tuple[str, Attack]]:
    for name in NAMES:
        yield f"result.{name}", partial(hostile.call, "result", _order(name, result))
    for name in FLOODS:
        yield f"flood.{name}", partial(hostile.call, "flood", _order(name, 20_000))
    yield from _at_length(hostile, result)
    for tool, method, kinds in LISTS:
        for name in kinds:
            order = _order(name, min(result, 11_500_000))
            yield f"{method.decode()}.{name}", partial(_listed, hostile, tool, method, order)


def _at_length(hostile: Hostile, result: int) -> Iterator[tuple[str, Attack]]:
    for name in LARGE:
        yield f"flood.{name}", partial(hostile.call, "flood", _order(name, 3))
    for name in ("tokens", "rows"):
        yield f"error.{name}", partial(hostile.call, "error", _order(name, result))
        yield (
            f"error.{name}.rpc",
            partial(hostile.post, "/rpc", _ggen("error", _order(name, result))),
        )
    for name in STREAMS:
        yield f"sse.{name}", partial(hostile.call_of, "web__sse", _order(name, result))
    for name in PACKED:
        yield f"packed.{name}", partial(hostile.call_of, "web__packed", _order(name, result))
    yield from in_steps(hostile, min(result, 11_500_000))
    for name in DOCUMENTS:
        yield f"openapi.{name}", partial(hostile.offered, document(name, min(result, 4_000_000)))
    yield from _in_other_words(hostile, result)
    yield from leaving.attacks(hostile)


def _in_other_words(hostile: Hostile, result: int) -> Iterator[tuple[str, Attack]]:
    """Results at the doors that say them in words of their own."""
    for name in NAMES:
        if name.startswith("shape."):
            order = _order(name, result)
            yield f"rpc.{name}", partial(hostile.post, "/rpc", _ggen("result", order))
            yield f"rest.{name}", partial(hostile.post, "/tools/hostile__result", order)


def _order(kind: str, size: int) -> bytes:
    return json.dumps({"kind": kind, "size": size}).encode()


def _ggen(tool: str, arguments: bytes) -> bytes:
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hostile__'
    return head + tool.encode() + b'","arguments":' + arguments + b"}}"


def _poured(hostile: Hostile, flood: Flood) -> str:
    return f"{flood(f'http://{hostile.host}:{hostile.port}', 1.0)} pieces"


def _listed(hostile: Hostile, tool: str, method: bytes, order: bytes) -> str:
    said = hostile.call(tool, order)
    time.sleep(1.5)
    hostile.mcp(b'{"jsonrpc":"2.0","id":8,"method":"%b"}' % method)
    hostile.call(tool, b'{"kind":"","size":0}')
    time.sleep(0.5)
    return said


class Innocent:
    """The process that calls at a steady pace."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        command = [
            sys.executable,
            "-m",
            "benchmarks.hostile.innocent",
            url,
            "calm__echo",
            str(PACE_MS),
        ]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )  # fmt: skip
        stack.callback(self.close)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def close(self) -> None:
        """End it."""
        end(self._process)  # type: ignore[arg-type]
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def figures(self) -> list[float]:
        """p50, p99, longest, calls, since they were asked for last."""
        if self._process.stdin is None or self._process.stdout is None:
            raise Trouble("the innocent caller has no pipes")
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        words = self._process.stdout.readline().split()
        if len(words) != 4:
            raise Trouble("the innocent caller has ended")
        return [float(word) for word in words]


def turn(innocent: Innocent, attack: Attack, turn_s: float = TURN_S) -> dict[str, Any]:
    """Make one input, and say how the innocent caller fared meanwhile and for a while after it, so that all takes `turn_s` at least."""
    innocent.figures()
    began = time.monotonic()
    said = attack()
    spent = time.monotonic() - began
    time.sleep(max(REST_S, turn_s - spent))
    p50, p99, longest, count = innocent.figures()
    met = p99 <= P99_MS and longest <= LONGEST_MS
    return {"p50_ms": p50, "p99_ms": p99, "longest_ms": longest, "calls": int(count), "attack_s": round(spent, 2), "met": met, "said": said}  # fmt: skip


def _row(name: str, row: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"name": f"hostile.{name}", **row}), flush=True)
        return
    verdict = "met" if row["met"] else "MISSED"
    figures = f"{row['p50_ms']:>8.1f} {row['p99_ms']:>9.1f} {row['longest_ms']:>10.1f} {row['attack_s']:>8.2f}"
    print(f"{name:<48} {figures}  {verdict:<6} {row['said'][:70]}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Make every input."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--quick", action="store_true", help="smaller inputs, one of each kind")
    parser.add_argument("--only", default="*", help="a pattern of names")
    parser.add_argument("--size", type=int, default=1_000_000, help="of what callers send")
    parser.add_argument("--result-size", type=int, default=0, help="of what servers send")
    asked = parser.parse_args(arguments)
    size = 200_000 if asked.quick else asked.size
    result = asked.result_size or (1_000_000 if asked.quick else LONGEST_RESULT)
    if not asked.json:
        print(f"{'name':<48} {'p50 ms':>8} {'p99 ms':>9} {'longest ms':>10} {'input s':>8}")
    missed = 0
    try:
        for wanted, run in (
            (not asked.only.startswith(doors.FAMILIES), _tools),
            (doors.is_wanted(asked.only), _doors),
        ):
            with tempfile.TemporaryDirectory(prefix="gatewright-hostile-") as name:
                missed += run(Path(name), asked, size, result) if wanted else 0
    except Trouble as trouble:
        print(f"benchmarks.hostile: {trouble}", file=sys.stderr)
        return 1
    if not asked.json:
        print(f"missed: {missed}")
    return 0


def _tools(folder: Path, asked: argparse.Namespace, size: int, result: int) -> int:
    """What goes through tools and servers, and the floods at each door."""
    with ExitStack() as stack:
        config = configured(folder, stack.enter_context(served()))
        command = gatewright("serve", "--config", str(config), "--port", "0")
        gateway = stack.enter_context(started("gatewright", command, folder))
        innocent, hostile = Innocent(gateway.url, stack), Hostile(gateway.url, config)
        time.sleep(1.0)
        return _all(innocent, attacks(hostile, size, result), asked)


def _doors(folder: Path, asked: argparse.Namespace, size: int, result: int) -> int:
    """What comes to the doors otherwise."""
    with ExitStack() as stack:
        open_ = stack.enter_context(house(folder))
        innocent = Innocent(open_.url, stack)
        time.sleep(1.0)
        return _all(innocent, doors.attacks(open_, size), asked)


def _is_quick(name: str) -> bool:
    if name.startswith(doors.FAMILIES):
        return doors.is_quick(name)
    return not any(part in name for part in (".3.", ".4.", ".5.", ".6."))


def _all(innocent: Innocent, every: Iterator[tuple[str, Attack]], asked: argparse.Namespace) -> int:
    missed = 0
    for number, (name, attack) in enumerate(every):
        wanted = fnmatch.fnmatch(name, asked.only) or asked.only in name
        if not wanted or (asked.quick and not _is_quick(name)):
            continue
        if number % 25 == 0:
            _row(f"rest.{number}", turn(innocent, lambda: ""), as_json=asked.json)
        row = turn(innocent, attack)
        if not row["met"]:
            time.sleep(REST_S)
            again = turn(innocent, attack)
            row = min(row, again, key=lambda one: float(one["longest_ms"]))
        missed += not row["met"]
        _row(name, row, as_json=asked.json)
    return missed


if __name__ == "__main__":
    sys.exit(main())
