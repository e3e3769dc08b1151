"""THE list of filters: complete, each known by the name of its file."""

from __future__ import annotations

from pathlib import Path

import gatewright.filters
from gatewright.filters import Filters, Size, ordered


def test_every_file_of_the_folder_is_in_the_list_under_its_name() -> None:
    filters = ordered(Filters(Size(1)))
    folder = Path(str(gatewright.filters.__file__)).parent
    files = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    assert sorted(one.name for one in filters) == sorted(files)
    assert [type(one).__module__.rpartition(".")[2] for one in filters] == [
        one.name for one in filters
    ]
