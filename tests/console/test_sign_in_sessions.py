"""Who is signed in, by the API: listed, and ended by an operator."""

from __future__ import annotations

from tests.console.client import Visitor
from tests.console.running import Console


def test_a_session_is_listed_and_ended(console: Console, operator: Visitor) -> None:
    other = Visitor(console)
    other.open(console.new_url().partition("#")[2])
    listed = operator.call("GET", "/sign-ins").json()["signed_in"]
    assert {one["person"] for one in listed} == {"local"}
    newest = listed[0]["id"]
    refused = operator.call("DELETE", f"/sign-ins/{newest}")
    assert (refused.status, refused.json()["code"]) == (403, "csrf")
    assert operator.call("DELETE", f"/sign-ins/{newest}", x_csrf_token=operator.csrf).status == 200
    assert other.get("/inbox").status == 401
    assert operator.get("/inbox").status == 200
    gone = operator.call("DELETE", f"/sign-ins/{newest}", x_csrf_token=operator.csrf)
    assert (gone.status, gone.json()["code"]) == (404, "not_found")


def test_a_url_is_made_for_a_key_and_not_for_a_session(console: Console, operator: Visitor) -> None:
    said = operator.call("POST", "/sign-in-urls", {}, x_csrf_token=operator.csrf)
    assert (said.status, said.json()["code"]) == (403, "key_needed")
    other = Visitor(console)
    assert other.open(console.new_url().partition("#")[2]).status == 200
    assert "local · operator" in other.get("/inbox").text
