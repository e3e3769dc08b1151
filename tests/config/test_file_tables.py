"""The tables as written agree with the model they become."""

from typing import get_args

import msgspec
import pytest

from gatewright.config.file_tables import (
    TRANSPORTS,
    GrantTable,
    MgpTable,
    RestartTable,
    ServerTable,
    TransportWord,
)
from gatewright.config.model import Grant, Mgp, Restart, Server


def defaults(shape: type[msgspec.Struct]) -> dict[str, object]:
    return {
        field.name: field.default
        for field in msgspec.structs.fields(shape)
        if field.default is not msgspec.NODEFAULT
    }


@pytest.mark.parametrize(
    ("written", "becomes"), [(ServerTable, Server), (GrantTable, Grant), (MgpTable, Mgp)]
)
def test_a_default_is_the_same_in_the_table_and_in_the_model(
    written: type[msgspec.Struct], becomes: type[msgspec.Struct]
) -> None:
    there, here = defaults(becomes), defaults(written)
    shared = there.keys() & here.keys() - {"command", "url", "python", "auth"}
    assert shared
    assert {name: here[name] for name in shared} == {name: there[name] for name in shared}


def test_every_spelling_of_a_transport_means_one() -> None:
    assert set(get_args(TransportWord)) == set(TRANSPORTS)
    assert set(TRANSPORTS.values()) == {"stdio", "http", "sse", "openapi", "python"}


def test_every_restart_key_can_stand_beside_the_word_and_in_its_table() -> None:
    keys = {field.name for field in msgspec.structs.fields(Restart)} - {"policy"}
    for shape in (MgpTable, RestartTable):
        assert keys <= {field.name for field in msgspec.structs.fields(shape)}
