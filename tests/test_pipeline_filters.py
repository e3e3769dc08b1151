"""THE list of filters: complete and in order."""

from __future__ import annotations

from pathlib import Path

import gatewright.pipeline
from gatewright.flow.filter import Flow
from gatewright.flow.taints import Taints
from gatewright.limits.size_filter import Size
from gatewright.pins.result_filter import Injection, Levels
from gatewright.pipeline import Filters, ordered_filters
from gatewright.redaction.filter import Redact, Rules
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.output_filter import OutputSchema
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.link_filter import Links


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
