"""The value that says why arguments were refused."""

import msgspec
import pytest

from gatewright.schemas.objection import Objection


def test_an_objection_cannot_be_changed_on_its_way_to_the_record() -> None:
    found = Objection("/a", "metacharacter", "argument /a has a shell metacharacter")
    with pytest.raises(AttributeError):
        found.path = "/b"  # type: ignore[misc]


def test_an_objection_has_a_json_form_for_the_record() -> None:
    found = Objection("/a", "pattern", "does not match")
    assert msgspec.json.decode(msgspec.json.encode(found)) == {
        "path": "/a",
        "rule": "pattern",
        "message": "does not match",
    }
