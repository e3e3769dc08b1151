"""Are mistakes in who is told what noticed? Mutants of the routing between callers and servers, made by hand, each one run
against the tests of it and the two-sided model.

    python -m benchmarks.routing [--survivors]

Each stands in a copy of the package, never in the tree. A mutant whose text is no longer there is an error: it has to follow
the code.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import ROOT, Trouble
from benchmarks.rows import Row

__all__ = ["MUTANTS", "Mutant", "main", "mutated"]

TARGET = 95.0
PATIENCE_S = 240.0
STEPS = 2000

TESTS = (
    "tests/links/test_questions_whose.py tests/links/test_questions.py tests/links/test_link.py tests/upstream/test_screen.py "
    "tests/upstream/test_asking.py tests/upstream/test_hub.py tests/serving/test_peer.py tests/serving/test_parked.py "
    "tests/behaviour/test_two_sided.py"
).split()


class Mutant(NamedTuple):
    """In a file of the package, one text in place of another, at the first place where it stands."""

    path: str
    before: str
    after: str


MUTANTS = (
    Mutant(
        "links/questions.py",
        "return not parties or len(parties.union(",
        "return True or len(parties.union(",
    ),
    Mutant("links/questions.py", "self._ghosts[exchange.ident] = exchange.party", "pass"),
    Mutant("links/questions.py", "            self._crowd = True", "            pass"),
    Mutant("links/questions.py", "held.ghosts[exchange.ident] = exchange.party", "pass"),
    Mutant(
        "links/questions.py", "one.call is not None and not one.answered]", "one.call is not None]"
    ),
    Mutant("links/questions.py", "if len(parties) != 1 or", "if not parties or"),
    Mutant("links/questions.py", "if not exact:\n            held", "if exact:\n            held"),
    Mutant("links/exchange.py", "call.session or call.id", "call.caller.id"),
    Mutant(
        "links/link.py",
        "self._pending.get(token) if type(token) is int else None\n        if exchange is None or exchange.token is None",
        "next(iter(self._pending.values()), None)\n        if exchange is None",
    ),
    Mutant("links/link.py", 'params["progressToken"] = exchange.token', "pass"),
    Mutant("links/link.py", "if not candidates and self.sole is not None:", "if not candidates:"),
    Mutant("links/link.py", "self.sole = None if self.sole else party", "self.sole = party"),
    Mutant(
        "links/link.py",
        "exchange = self._questions.party(candidates)\n        if",
        "exchange = (candidates or [None])[0]\n        if",
    ),
    Mutant(
        "links/pipe_link.py",
        "exchange = self._pending.get(ident)\n        if exchange",
        "exchange = next(iter(self._pending.values()), None)\n        if exchange",
    ),
    Mutant("upstream/hub.py", "if session is not None and one.session != session:", "if False:"),
    Mutant("upstream/hub.py", "            if not allowed:\n                continue\n", ""),
    Mutant(
        "upstream/hub.py",
        "for name in self._uris(one.caller, one.profile, server, uri):",
        "for name in (uri,):",
    ),
    Mutant(
        "upstream/hub.py",
        "seen[key] = self._may_see(one.caller, one.profile, server)",
        "seen[key] = True",
    ),
    Mutant("upstream/screen.py", "between = _Between(self, call, back)", "between = back"),
    Mutant("upstream/screen.py", "return self.outcome(call, found)", "return found"),
    Mutant("upstream/screen.py", "None if method in OF_THE_SERVER else link.sole or None", "None"),
    Mutant(
        "upstream/screen.py",
        '"logger": self._logger(params.get("logger"))',
        '"logger": params.get("logger")',
    ),
    Mutant("upstream/screen.py", "found[0] != call.session", "False"),
    Mutant("upstream/screen.py", 'if data.get("status") == "pending_approval":', "if False:"),
    Mutant("upstream/asking.py", '"message": quoted(server, said)', '"message": said'),
    Mutant("upstream/asking.py", '{**params, "includeContext": "none"}', "params"),
    Mutant("upstream/asking.py", "if not can_answer(client, method):", "if False:"),
    Mutant("upstream/asking.py", 'return isinstance(modes.get("url"), dict)', "return True"),
    Mutant("serving/peer.py", 'and params.get("uri") not in self._subscribed', "and False"),
    Mutant(
        "serving/peer.py",
        "asked = self.asks.get(effect.id)",
        "asked = next(iter(self.asks.values()), None)",
    ),
    Mutant("protocol/eras.py", "if state.principal != principal:", "if False:"),
    Mutant(
        "protocol/eras.py",
        'if result.find(_INPUT_REQUIRED) < 0 and result.find(b"\\\\u") < 0:',
        "if result.find(_INPUT_REQUIRED) < 0:",
    ),
    Mutant(
        "upstream/supervisor.py",
        "return self.catalogue.knows(profile) and server in self.catalogue.servers(profile, caller)",
        "return True",
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """0 when it could be run, whatever the figure."""
    parser = argparse.ArgumentParser(description="how many mistakes of routing the tests notice")
    parser.add_argument("--survivors", action="store_true", help="print each one")
    options = parser.parse_args(arguments)
    caught = 0
    with tempfile.TemporaryDirectory() as place:
        package = Path(place) / "gatewright"
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "gatewright", package, ignore=leave)
        for one in MUTANTS:
            found = _is_caught(one, package)
            caught += found
            if not found and options.survivors:
                print(f"survived: {one.path}: {one.before!r}", flush=True)
    extras = {"caught": caught, "of": len(MUTANTS)}
    share = 100.0 * caught / len(MUTANTS)
    row = Row("mutation.routing", share, "%", target=TARGET, test="ours >=", extras=extras)
    print(row.as_json(), flush=True)
    return 0


def mutated(one: Mutant, text: str) -> str:
    """The text of its file with the mistake in it. Raises `Trouble` where that cannot be made any more."""
    if one.before not in text:
        raise Trouble(f"{one.path} has no {one.before!r} any more")
    return text.replace(one.before, one.after, 1)


def _is_caught(one: Mutant, package: Path) -> bool:
    file = package / one.path
    before = file.read_text(encoding="utf-8")
    file.write_text(mutated(one, before), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    env["GATEWRIGHT_MODEL_STEPS"] = str(STEPS)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS]
    try:
        done = subprocess.run(
            command, check=False, cwd=ROOT, env=env, capture_output=True, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(before, encoding="utf-8")
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
