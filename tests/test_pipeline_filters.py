"""THE list of filters: complete and in order."""

from __future__ import annotations

from pathlib import Path

import gatewright.pipeline
from gatewright.call import Event
from gatewright.chunk_way import as_it_is, step_of
from gatewright.flow.filter import Flow
from gatewright.flow.taints import Taints
from gatewright.limits.size_filter import Size
from gatewright.pins.result_filter import Injection, Levels
from gatewright.pipeline import Filters, ordered_filters
from gatewright.redaction.filter import Redact, Rules
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.output_filter import OutputSchema
from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.chunks import CHUNK
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.link_filter import Links
from tests.gate_parts import a_tool, a_tool_call


def test_every_file_of_a_filter_is_in_the_list_once() -> None:
    filters = ordered_filters(
        Filters(
            Injection(Levels("mark")),
            Flow(Taints(lambda: 0.0), lambda call: ("", "", ""), idle=False),
            OutputSchema(Compiled()),
            Redact(Rules(None)),
            Links(Catalogue([])),
            Size(1),
        )
    )
    source = Path(str(gatewright.pipeline.__file__)).parent
    files = [
        ".".join(path.relative_to(source.parent).with_suffix("").parts)
        for path in source.rglob("*filter.py")
    ]
    assert sorted(type(one).__module__ for one in filters) == sorted(files)


def test_a_filter_for_which_nothing_is_configured_is_left_out() -> None:
    flow = Flow(Taints(lambda: 0.0), lambda call: ("", "", ""), idle=True)
    idle = Injection(Levels("off"))
    judged = OutputSchema(Compiled()), Redact(Rules(None))
    every = Filters(idle, flow, *judged, Links(Catalogue([])), Size(1))
    assert [one.name for one in ordered_filters(every)] == [
        "output_schema",
        "redact",
        "links",
        "size",
    ]


def test_every_filter_that_is_there_by_default_says_what_it_does_with_plain_chunks() -> None:
    """Else those of every stream would travel as events (`chunk_way`)."""
    redact, call = Redact(Rules(Redactor(b"key"))), a_tool_call(a_tool("say"))
    content = {"type": "text", "text": "one "}
    redact.event(
        call, Event(CHUNK, {"request_id": call.id, "index": 0, "content": content, "done": False})
    )
    every = Filters(
        Injection(Levels("off")),
        Flow(Taints(lambda: 0.0), lambda call: ("", "", ""), idle=False),
        OutputSchema(Compiled()),
        redact,
        Links(Catalogue([])),
        Size(1),
    )
    steps = {one.name: step_of(one, call) for one in every}
    acting = {name for name, step in steps.items() if step is not as_it_is}
    assert None not in steps.values()
    assert acting == {"redact"}
