"""Names that read as another tool's, wherever that one is."""

from __future__ import annotations

from gatewright.pins.look_alikes import alike
from tests.pins.test_pinning import of


def test_names_of_the_same_server_and_of_the_gateway_are_compared() -> None:
    tools = [of("s", name) for name in ("take", "t\u0430ke", "ask", "other", "other")]
    found = alike("s", tools, [], ["ask"])
    assert found.keys() == {"t\u0430ke", "ask"}
    assert found["t\u0430ke"] == "its name looks like 'take'"


def test_of_other_servers_those_count_whose_ids_begin_alike() -> None:
    listed = [("a__b", [of("a__b", "c")]), ("z", [of("z", "b__c")]), ("a", [of("a", "b__c")])]
    assert alike("a", [of("a", "b__c"), of("a", "d")], listed, ()) == {
        "b__c": "its name is taken for 'a__b__c' of another server"
    }
