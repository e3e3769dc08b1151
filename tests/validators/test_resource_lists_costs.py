"""What a list of names costs to take apart grows with its length and no faster: counted in lines of Python, not in time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gatewright.validators import network, path_forms, resource_lists, resources, uris
from gatewright.validators.resource_lists import PARTS_MOST, listed
from gatewright.validators.resources import Resources
from tests.costs import DOUBLED, lines_run

MODULES = (resource_lists, resources, path_forms, uris, network)
SIZES = (100, 200, 400)
UNITS = (
    *(",/x", ";/srv/data/x", " /x", "|~/x", "\n/x", "',/x'", '"/x" ', "`/x`", ":/x", "(/x)", "[/x]", "<../x>", "={/x}"),
    *(",https://a.example/x", " https://a.example/x", ";file:///x", ",a/b", "a b/c ", ":a/b", ",a", " a", "\t", ",", "~5 ", ",~name"),
    *(",C:/x", ",\\\\host\\x", ",git@host:x", ",a\0b", ",%2e%2e/x", ",..", "/../", "," + "x" * 200 + "/y"),
)  # fmt: skip
MEMBERS = ("paths", "urls", "url", "text")
JUDGE = Resources([["/srv/data/**", "src/**", "https://allowed.example/**"]])


def taken_apart(member: str, unit: str, size: int) -> int:
    text = "/srv/data/x" + unit * size
    return lines_run(MODULES, lambda: (listed(member, text), [*JUDGE.parts({member: text})]))


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("unit", UNITS)
def test_twice_as_many_names_cost_twice_as_much(unit: str, member: str) -> None:
    found = [taken_apart(member, unit, size) for size in SIZES]
    grown = [after / before for before, after in pairwise(found)]
    assert max(grown) <= DOUBLED, found


@pytest.mark.parametrize("unit", UNITS)
def test_beyond_what_anybody_is_allowed_a_longer_list_costs_no_more(unit: str) -> None:
    def lines(size: int) -> int:
        return lines_run(resource_lists, lambda: listed("paths", "/x" + unit * size))

    least, most = lines(2 * PARTS_MOST), lines(8 * PARTS_MOST)
    assert most <= least * DOUBLED
