"""The sequence diagrams of docs/ say nothing that the tables of the code do not have: methods, transitions, codes; and each flow has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.mcp.wire.codes import REASONS
from gatewright.mcp.wire.methods import WORDS
from gatewright.servers.states import STATES, allowed

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURE = re.compile(r"```mermaid\nsequenceDiagram\n(.*?)```", re.DOTALL)
ARROW = re.compile(r"^ *(\w+)(?:-->>|->>|--\)|-x)(\w+): (.*)$")
CODES = {(one.mgp_code, one.mgp_name) for one in REASONS.values()}
METHODS = {one.method for one in WORDS}
METHOD = re.compile(r"(?<![\w./])(?:mgp|notifications|tools|events|callback)(?:/[a-z_.A-Z]*[a-z])+")
CHANGE = re.compile(r"(\w+) → (\w+)")
CODE = re.compile(r"\b([1-5]\d{3}) ([A-Z_]{4,})")
FLOWS = {
    "lifecycle.md": ["mgp/lifecycle/shutdown"],
    "streaming.md": ["notifications/mgp.stream.chunk", "mgp/stream/cancel"],
    "events.md": ["mgp/events/subscribe", "mgp/events/unsubscribe", "mgp/callback/respond"],
    "registration.md": ["mgp/discovery/register", "mgp/discovery/deregister"],
}


def pictures() -> Iterator[tuple[str, str]]:
    """(page, diagram)."""
    for page in sorted(DOCS.rglob("*.md")):
        for found in PICTURE.findall(page.read_text("utf-8")):
            yield page.name, found


EVERY = list(pictures())


@pytest.mark.parametrize(
    ("page", "picture"), EVERY, ids=[f"{at} {one[0]}" for at, one in enumerate(EVERY)]
)
def test_a_picture_has_only_words_of_the_tables(page: str, picture: str) -> None:
    named = set(re.findall(r"participant (\w+)", picture))
    for line in picture.splitlines():
        arrow = ARROW.match(line)
        if arrow is None:
            assert re.match(r" *(participant|Note over) ", line), line
            continue
        assert {arrow[1], arrow[2]} <= named, line
        assert set(METHOD.findall(arrow[3])) <= METHODS, line
        for before, after in CHANGE.findall(arrow[3]):
            if before in STATES:
                assert allowed(before, after), line
        for code, name in CODE.findall(arrow[3]):
            assert (int(code), name) in CODES, line


@pytest.mark.parametrize("page", FLOWS)
def test_each_flow_has_a_picture(page: str) -> None:
    drawn = "".join(picture for name, picture in EVERY if name == page)
    assert [one for one in FLOWS[page] if f": {one}" not in drawn] == []
