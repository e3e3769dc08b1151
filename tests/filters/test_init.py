"""THE list of filters: complete, each known by the name of its file."""

from __future__ import annotations

from pathlib import Path

import gatewright.filters
from gatewright.filters import Filters, Flow, Links, OutputSchema, Redact, Rules, Size, ordered
from gatewright.stores.taints import Taints
from gatewright.upstream.catalogue import Catalogue
from gatewright.validators.compiled import Compiled


def test_every_file_of_the_folder_is_in_the_list_under_its_name() -> None:
    filters = ordered(
        Filters(
            Flow(Taints(lambda: 0.0), lambda call: ("", "", ""), idle=False),
            OutputSchema(Compiled()),
            Redact(Rules(None)),
            Links(Catalogue([])),
            Size(1),
        )
    )
    folder = Path(str(gatewright.filters.__file__)).parent
    files = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    assert sorted(one.name for one in filters) == sorted(files)
    assert [type(one).__module__.rpartition(".")[2] for one in filters] == [
        one.name for one in filters
    ]


def test_a_filter_for_which_nothing_is_configured_is_left_out() -> None:
    flow = Flow(Taints(lambda: 0.0), lambda call: ("", "", ""), idle=True)
    every = Filters(
        flow, OutputSchema(Compiled()), Redact(Rules(None)), Links(Catalogue([])), Size(1)
    )
    assert [one.name for one in ordered(every)] == ["output_schema", "redact", "links", "size"]
