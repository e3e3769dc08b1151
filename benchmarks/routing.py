"""Are mistakes in who is told what noticed? Mutants of the routing between callers and servers (`routing.toml`), made by hand, each one run
against the tests that mirror its file, those of the routing, and the two-sided model.

    python -m benchmarks.routing [--survivors] [--area tasks,logs] [--part 2/5] [--model] [--steps 2000] [--siblings upstream/hub.py,links/link.py]

Each stands in a copy of the package, never in the tree. A mutant whose text is no longer there is an error: it has to follow
the code. With `--model` the model alone judges. With `--siblings` the mutants are not those of the table but made of files by
rule (`siblings`): each comparison in them that decides whom something is about is taken to hold always, and never. `--part 2/5` takes the
second of five parts, each of which has mutants of every area.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.overlay import SOURCE, caught, overlaid, twins
from benchmarks.processes import ROOT, Trouble
from benchmarks.rows import Row

__all__ = ["MUTANTS", "Mutant", "main", "mutated", "siblings"]

TARGET = 95.0
PATIENCE_S = 240.0
STEPS = 2000
MODEL = ("tests/behaviour/test_two_sided.py",)
ROUTING = (
    "tests/mcp/client/test_server_requests_whose.py tests/mcp/client/test_server_requests.py tests/mcp/client/test_link.py tests/servers/test_server_screen.py "
    "tests/servers/test_elicitation.py tests/servers/test_notifications.py tests/mcp/server/test_client_session.py tests/mcp/server/test_pending_input.py "
    "tests/behaviour/test_two_sided_routes.py tests/behaviour/test_two_sided_resources.py tests/behaviour/test_two_sided_waits.py tests/behaviour/test_two_sided_rooms.py tests/behaviour/test_two_sided_streams.py tests/behaviour/test_two_sided_listened.py tests/behaviour/test_two_sided_registering.py tests/behaviour/test_two_sided_tasking.py "
    "tests/behaviour/test_task_places.py"
).split()
"""What is quick and no twin of the file may fail as well."""
OF_AREA = {
    "callbacks": (
        "tests/mcp/client/test_http_link_lost_sessions.py",
        "tests/behaviour/test_callbacks.py",
    ),
    "events": ("tests/events/test_server_events_moved.py", "tests/behaviour/test_events.py"),
    "streams": ("tests/behaviour/test_streaming.py",),
    "registered": (
        "tests/behaviour/test_registration.py",
        "tests/behaviour/test_registration_life.py",
    ),
    "stopped": ("tests/behaviour/test_mgp_stopped.py",),
    "held": ("tests/behaviour/test_pinning.py",),
    "away": (
        "tests/servers/test_catalogue_absent.py",
        "tests/servers/test_uri_owners.py",
        "tests/behaviour/test_two_sided_reloading.py",
        "tests/behaviour/test_another_in_its_place.py",
    ),
    "origins": (
        "tests/servers/test_task_names.py",
        "tests/servers/test_request_state.py",
        "tests/behaviour/test_another_in_its_place.py",
    ),
    "providers": ("tests/behaviour/test_groundhog_registration.py",),
    "kept": ("tests/mcp/server/test_kept_answers.py",),
    "rights": ("tests/mcp/server/test_shown_rights.py",),
}
"""What is about an area from outside, and asked before all that is about routing."""


class Mutant(NamedTuple):
    """In a file of the package, one text in place of another, at the first place where it stands; `area` is what is led there."""

    area: str
    path: str
    before: str
    after: str


def _table() -> tuple[Mutant, ...]:
    found = tomllib.loads((Path(__file__).with_suffix(".toml")).read_text(encoding="utf-8"))
    return tuple(Mutant(**one) for one in found["mutant"])


MUTANTS = _table()


def main(arguments: list[str] | None = None) -> int:
    """0 when it could be run, whatever the figure."""
    parser = argparse.ArgumentParser(description="how many mistakes of routing the tests notice")
    parser.add_argument("--survivors", action="store_true", help="print each one")
    parser.add_argument("--each", action="store_true", help="print what noticed each one")
    parser.add_argument("--area", default="", help="only these, separated by commas")
    parser.add_argument("--part", default="1/1", help="one of so many parts: 2/5")
    parser.add_argument("--model", action="store_true", help="the two-sided model alone judges")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of the model")
    parser.add_argument("--siblings", default="", help="those of these files, made by rule")
    options = parser.parse_args(arguments)
    part, _, parts = options.part.partition("/")
    chosen = _chosen(options.siblings, options.area)[int(part) - 1 :: int(parts)]
    by: Counter[str] = Counter()
    steps = {"GATEWRIGHT_MODEL_STEPS": str(options.steps)}
    with overlaid() as overlay:
        for one in chosen:
            groups = [MODEL] if options.model else _groups(one)
            file = SOURCE / one.path
            text = mutated(one, file.read_text(encoding="utf-8"))
            number = caught(overlay, file, text, groups, PATIENCE_S, steps)
            by["nobody" if not number else "model" if groups[number - 1] is MODEL else "tests"] += 1
            if options.each or (options.survivors and not number):
                said = f"caught by {'/'.join(groups[number - 1])[:60]}" if number else "survived"
                print(f"{said}: {one.area}: {one.path}: {one.before!r}", flush=True)
    extras = {"caught": len(chosen) - by["nobody"], "of": len(chosen), **by}
    share = 100.0 * (len(chosen) - by["nobody"]) / max(1, len(chosen))
    row = Row("mutation.routing", share, "%", target=TARGET, test="ours >=", extras=extras)
    print(row.as_json(), flush=True)
    return 0


def _chosen(files: str, areas: str) -> list[Mutant]:
    if files:
        found = ((path, (SOURCE / path).read_text(encoding="utf-8")) for path in files.split(","))
        return [one for path, text in found for one in siblings(path, text)]
    return [one for one in MUTANTS if not areas or one.area in areas.split(",")]


_WHOM = re.compile(
    r"session|owner|caller|party|server|profile|door|token|ident|\bid\b|\.id\b|uri|exchange|call\b|connection|state|made|stream|link|"
    r"subscri|elicit|holder|seat|key|kind|sole|candidates|ghosts|pending|running|asks|known"
)
"""Words by which code says whom something is about."""


def siblings(path: str, text: str) -> Iterator[Mutant]:
    """Every comparison in a file that says whom something is about, taken to hold always and never."""
    seen: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        said = ast.get_source_segment(text, node) if isinstance(node, ast.Compare) else None
        if said is None or not _WHOM.search(said) or not isinstance(node, ast.Compare):
            continue
        place = _place(text, node)
        for found in ("True", "False"):
            before, after = place[0] + said + place[1], f"{place[0]}({found}){place[1]}"
            if (before + found) not in seen and text.count(before) == 1:
                seen.add(before + found)
                yield Mutant("siblings", path, before, after)


def _place(text: str, node: ast.Compare) -> tuple[str, str]:
    """What stands around a comparison, from the beginning of its line to the end; more lines where that is elsewhere, too."""
    lines = text.splitlines(keepends=True)
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode().rstrip("\n")
    whole = "".join(lines[first : last + 1])
    while first and text.count(whole) > 1:
        first -= 1
        head, whole = lines[first] + head, lines[first] + whole
    return head, tail


def mutated(one: Mutant, text: str) -> str:
    """The text of its file with the mistake in it. Raises `Trouble` where that cannot be made any more."""
    if one.before not in text:
        raise Trouble(f"{one.path} has no {one.before!r} any more")
    return text.replace(one.before, one.after, 1)


def _groups(one: Mutant) -> list[Sequence[str]]:
    """What judges a mutant, what is quick first."""
    path = Path(one.path)
    own = [str(each) for each in twins(ROOT / "tests" / path.parent, path.stem)]
    return [each for each in (own, OF_AREA.get(one.area, ()), ROUTING, MODEL) if each]


if __name__ == "__main__":
    sys.exit(main())
