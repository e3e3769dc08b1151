"""The paths of the administration; what it does, `tests/behaviour/test_rooms_admin.py` says."""

from __future__ import annotations

from gatewright.rooms.admin_endpoint import ADMIN
from tests.behaviour.test_rooms_admin import asked
from tests.rooms.hall import FULL, Hall


async def test_a_body_may_be_missing_where_nothing_has_to_be_said() -> None:
    assert ADMIN == "/admin/participants"
    async with Hall({"a": FULL}) as hall:
        assert (await asked(hall, "/a/block", b""))[0] == 503  # nowhere to keep it
        assert (await asked(hall, "/a/block", b"{"))[0] == 400
        assert (await asked(hall, "?x=1"))[1] == {"participants": []}
        assert (await asked(hall, "/a/b/c"))[0] == 404
