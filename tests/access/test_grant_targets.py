"""A grant is about what there is, by the server's own name for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.access.grant_targets import granted
from gatewright.access.grants import Grant
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.spec import ServerSpec
from tests.servers.test_server_catalogue import listing, tool

SETTINGS: Any = SimpleNamespace(servers=[SimpleNamespace(id="files"), SimpleNamespace(id="late")])


@pytest.fixture
def catalogue() -> Catalogue:
    found = Catalogue([ServerSpec(id="files"), ServerSpec(id="late")])
    found.put("files", listing(tools=[tool("read.file"), tool("write")]))
    return found


def test_a_grant_of_what_there_is_stays_and_names_the_tool_as_its_server_does(
    catalogue: Catalogue,
) -> None:
    for server, name in (("files", None), ("files", "write"), ("late", "any"), ("mgp", None)):
        grant = Grant("ann", server, name)
        assert granted(grant, SETTINGS, catalogue) is grant
    shown = granted(Grant("ann", "files", "files__read_file"), SETTINGS, catalogue)
    assert shown.tool == "read.file"


@pytest.mark.parametrize(
    ("server", "name", "said"),
    [
        ("fiels", None, "no server 'fiels'; did you mean files?"),
        ("files", "wriet", "no tool 'wriet'; did you mean write? (of server files)"),
        ("files", "late__write", "no tool 'late__write'"),
        ("files__write", None, "no server 'files__write'"),
        ("", "write", "no server ''"),
    ],
)
def test_a_grant_of_what_there_is_not_is_refused_with_the_name_that_was_meant(
    catalogue: Catalogue, server: str, name: str | None, said: str
) -> None:
    with pytest.raises(ValueError, match="there is no") as refused:
        granted(Grant("ann", server, name), SETTINGS, catalogue)
    assert said in str(refused.value)
