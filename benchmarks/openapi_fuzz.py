"""The REST door against its own OpenAPI document: schemathesis makes the requests.

    python -m benchmarks.openapi_fuzz [--cases 20000] [--seed 1]

A gateway whose callers need keys stands in front of tools with schemas of every kind. All checks of the
fuzzer are on: no 5xx, every answer as the document has it (status, headers, schema), bad input refused, good
input taken, a missing key noticed, methods that are not there answered with 405. One is turned down for one
path: `POST /tools/{tool_name}` describes the arguments of any tool at all, as ggen's specification has it,
so that a tool's own schema may refuse there what the document takes (400). And one verdict is asked again,
see `benchmarks/peers/whole_floats.py`.

`make peers` installs the fuzzer. Exit code 0 when so many cases were made and nothing was found.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.commands import gatewright
from benchmarks.processes import ROOT, Process, Trouble, peer_python, started
from benchmarks.servers.shapes import TOOLS

__all__ = ["Found", "fuzzed", "main"]

_OPERATIONS = 17
"""Of the document, all together; each gets its share of the cases."""
_ROUNDS = 12
_DEADLINE = 3600.0
_MADE = re.compile(r"(\d+) generated")

_CONFIG = """
[gateway]
unprefixed = true
[storage]
path = {state}
[[servers]]
id = "shapes"
command = {python}
args = [{script}]
[[grants]]
agent = "fuzzer"
server = "shapes"
"""
_HOOKS = ROOT / "benchmarks" / "peers" / "whole_floats.py"
_RULES = f"""
hooks = {json.dumps(str(_HOOKS))}
[[operations]]
include-path = "/tools/{{tool_name}}"
checks.positive_data_acceptance.expected-statuses = [
  "2xx", "400", "401", "403", "404", "409", "429"
]
"""


class Found(tuple[int, bool, str]):
    """How many cases were made, whether all were as they should be, and what the fuzzer said last."""

    __slots__ = ()


@contextmanager
def _served(folder: Path) -> Iterator[tuple[Process, str]]:
    """A gateway, and the key that lets the fuzzer in."""
    path = folder / "mgp.toml"
    text = _CONFIG.format(
        state=json.dumps(str(folder / "state")),
        python=json.dumps(sys.executable),
        script=json.dumps(str(ROOT / "benchmarks" / "servers" / "shapes.py")),
    )
    path.write_text(text, encoding="utf-8")
    config = ("--config", str(path))
    made = subprocess.run(
        gatewright("key", "create", "fuzzer", "--json", *config),
        capture_output=True,
        check=True,
        timeout=60,
    )
    key: str = json.loads(made.stdout)["key"]
    with started("gatewright", gatewright("serve", *config, "--port", "0"), folder) as process:
        yield process, key


def _once(base: str, key: str, each: int, seed: int, folder: Path) -> Found:
    rules = folder / "schemathesis.toml"
    rules.write_text(_RULES, encoding="utf-8")
    schemas = {tool["name"]: tool["inputSchema"] for tool in TOOLS}
    (folder / "schemas.json").write_text(json.dumps(schemas), encoding="utf-8")
    command = [str(peer_python("schemathesis").parent / "schemathesis")]
    command += ["--config-file", str(rules), "run", f"{base}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {key}", "--checks", "all", "--no-color"]
    command += ["--max-examples", str(each), "--seed", str(seed), "--max-failures", "20"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_DEADLINE, cwd=folder
    )
    made = _MADE.search(done.stdout)
    return Found((int(made[1]) if made else 0, done.returncode == 0, done.stdout + done.stderr))


def fuzzed(cases: int, seed: int = 1) -> Iterator[Found]:
    """Rounds of at least so many cases together, up to the first that finds something."""
    with tempfile.TemporaryDirectory(prefix="gatewright-fuzz-") as name:
        folder = Path(name)
        with _served(folder) as (process, key):
            base = process.url.removesuffix("/mcp")
            left = cases
            for turn in range(_ROUNDS):
                each = max(1, left // _OPERATIONS)
                found = _once(base, key, each, seed + turn, folder)
                yield found
                left -= found[0]
                if left <= 0 or not found[1]:
                    return


def main(arguments: list[str] | None = None) -> int:
    """0 when nothing was found in so many cases."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    total, good = 0, True
    try:
        for made, fine, said in fuzzed(asked.cases, asked.seed):
            total, good = total + made, good and fine
            if not fine:
                print(said[-6000:])
    except Trouble as trouble:
        print(f"openapi_fuzz: {trouble}", file=sys.stderr)
        return 1
    verdict = "nothing found" if good else "FOUND something; see above"
    print(f"openapi_fuzz: {total} cases of {asked.cases}, seed {asked.seed}: {verdict}")
    return 0 if good and total >= asked.cases else 1


if __name__ == "__main__":
    sys.exit(main())
