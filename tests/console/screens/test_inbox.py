"""The inbox over HTTP: what waits is listed, and decided by whoever may."""

from __future__ import annotations

from typing import Any

from tests.console.client import Visitor
from tests.console.running import Console, eventually


def waiting(visitor: Visitor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = visitor.call("GET", "/approvals").json()
    return found


def test_a_request_is_approved_for_the_arguments_that_were_shown(
    console: Console, operator: Visitor
) -> None:
    with console.calling("demo__write_note", name="a", text="b") as call:
        eventually(lambda: bool(waiting(operator)))
        (one,) = waiting(operator)
        path, csrf = f"/approvals/{one['id']}", operator.csrf
        assert (one["server"], one["tool"], one["kind"]) == ("demo", "write_note", "owner")
        stale = operator.call("POST", f"{path}/approve", {"digest": "0" * 64}, x_csrf_token=csrf)
        assert (stale.status, stale.json()["code"]) == (409, "not_shown")
        silent = operator.call("POST", f"{path}/deny", {}, x_csrf_token=csrf)
        assert (silent.status, silent.json()["code"]) == (422, "no_reason")
        said = operator.call(
            "POST", f"{path}/approve", {"digest": one["digest"]}, x_csrf_token=csrf
        )
        assert said.status == 200
        again = operator.call(
            "POST", f"{path}/approve", {"digest": one["digest"]}, x_csrf_token=csrf
        )
        assert again.status == 409
        assert "by local" in again.json()["message"]
        assert "written" in call.communicate(timeout=20)[0]
    assert operator.get(f"/inbox/{one['id']}").status == 404


def test_other_arguments_run_instead(console: Console, operator: Visitor) -> None:
    with console.calling("demo__write_note", name="edit", text="old") as call:
        eventually(lambda: bool(waiting(operator)))
        (one,) = waiting(operator)
        fields = {
            "digest": one["digest"],
            "edited": '{"name": "edit", "text": "new"}',
            "csrf": operator.csrf,
        }
        said = operator.post(f"/inbox/{one['id']}/approve", fields)
        assert said.status == 200
        assert "Nothing waits" in said.text
        assert "written" in call.communicate(timeout=20)[0]
    assert "new" in console.command("tool", "call", "demo__read_note", "name=edit").stdout
