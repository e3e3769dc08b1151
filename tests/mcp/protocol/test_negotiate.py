"""MGP negotiation: three places, intersections, versions."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Mgp
from gatewright.mcp.protocol import negotiate
from gatewright.mcp.protocol.negotiate import EXTENSIONS, Face, agree, announce, read_offer

ALL = Face(EXTENSIONS)


def placed(place: str, body: Any) -> dict[str, Any]:
    if place == "mgp":
        return {"mgp": body}
    key = "mgp" if place == "experimental" else negotiate.EXTENSION
    return {place: {key: body}}


@pytest.mark.parametrize("place", ["mgp", "experimental", "extensions"])
def test_the_reply_stands_where_the_offer_stood(place: str) -> None:
    """MGP-2.4-6."""
    body = {"version": "0.2.0", "extensions": ["audit"]}
    active = agree(read_offer(placed(place, body)), ALL)
    assert announce({"tools": {}}, active, ALL) == {"tools": {}} | placed(place, body)


def test_nothing_is_said_to_a_client_that_offered_nothing() -> None:
    """MGP-2.4-3 and MGP-2.2-2."""
    assert announce({"tools": {}}, agree(read_offer({"tools": {}}), ALL), ALL) == {"tools": {}}


def test_all_nine_standard_names_are_known() -> None:
    """MGP-2.2-5."""
    active = agree(read_offer({"mgp": {"version": "0.2.0", "extensions": list(EXTENSIONS)}}), ALL)
    assert active is not None
    assert active.extensions == EXTENSIONS
    assert len(EXTENSIONS) == 9


def test_the_active_set_is_the_intersection_for_every_pair_of_sets() -> None:
    """MGP-2.4-1 and MGP-2.2-6: unknown names are ignored."""
    names = ("security", "audit", "streaming")
    subsets = [set(one) for size in range(4) for one in combinations(names, size)]
    for ours in subsets:
        for theirs in subsets:
            offer = read_offer({"mgp": {"version": "0.2.0", "extensions": [*theirs, "zzz"]}})
            active = agree(offer, Face(tuple(sorted(ours))))
            assert active is not None
            assert set(active.extensions) == ours & theirs


@pytest.mark.parametrize("version", [None, "abc", 2, "1", "0.2", "01.0.0"])
def test_an_offer_without_a_semantic_version_counts_for_nothing(version: Any) -> None:
    """MGP-2.2-3."""
    offer = read_offer({"mgp": {"version": version, "extensions": []}})
    assert offer is not None
    assert "version" in offer.problem
    assert agree(offer, ALL) is None


@pytest.mark.parametrize("extensions", [None, "security", [1], {}])
def test_an_offer_without_a_list_of_names_counts_for_nothing(extensions: Any) -> None:
    """MGP-2.2-4."""
    offer = read_offer({"mgp": {"version": "0.2.0", "extensions": extensions}})
    assert offer is not None
    assert "extensions" in offer.problem
    assert agree(offer, ALL) is None


@pytest.mark.parametrize(
    ("theirs", "answered"),
    [("0.1.0", "0.1.0"), ("0.2.0", "0.2.0"), ("0.3.0", "0.2.0"), ("1.0.0", None)],
)
def test_minor_versions_meet_at_the_lower_and_major_versions_must_match(
    theirs: str, answered: str | None
) -> None:
    """MGP-2.4-4, MGP-2.4-5 and MGP-9-1."""
    active = agree(read_offer({"mgp": {"version": theirs, "extensions": []}}), ALL)
    assert (active and active.version) == answered


def test_the_specifications_pair_meets_at_security_and_audit() -> None:
    """MGP-2.3-4."""
    offered = {"version": "0.1.0", "extensions": ["security", "access_control", "audit"]}
    face = Face(
        ("security", "audit"),
        server_id="mind.cerebras",
        trust_level="standard",
        permissions_required=("shell", "network"),
    )
    active = agree(read_offer({"mgp": offered}), face)
    assert announce({}, active, face) == {
        "mgp": {
            "version": "0.1.0",
            "extensions": ["security", "audit"],
            "permissions_required": ["shell", "network"],
            "server_id": "mind.cerebras",
            "trust_level": "standard",
        }
    }


def test_optional_members_are_absent_when_nothing_was_configured() -> None:
    """MGP-2.3-2."""
    active = Mgp("0.2.0", ("audit",))
    assert announce({}, active, Face(("audit",))) == {
        "mgp": {"version": "0.2.0", "extensions": ["audit"]}
    }


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda x: (
            st.dictionaries(
                st.sampled_from(
                    ["mgp", "experimental", "extensions", "version", negotiate.EXTENSION]
                ),
                x,
            )
            | st.lists(x)
        ),
    )
)
def test_no_capabilities_break_the_reading(value: Any) -> None:
    capabilities = value if isinstance(value, dict) else {"mgp": value}
    offer = read_offer(capabilities)
    assert offer is None or offer.problem or agree(offer, ALL) is not None or offer.version
