from __future__ import annotations

import msgspec
import pytest

from gatewright.call import Caller, Client
from gatewright.discovery.search import _described
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.definition_bounds import check_members, check_size, comparable
from gatewright.servers.listing import Definition, Listing, Section
from gatewright.servers.spec import ServerSpec
from gatewright.servers.view import LISTS

MANY = msgspec.Raw(b"{%b}" % b",".join(b'"%05d":1' % number for number in range(10_001)))
"""More members than can be read while others wait."""
NAMED: dict[Section, str] = {
    "tools": "name",
    "prompts": "name",
    "resources": "uri",
    "resourceTemplates": "uriTemplate",
}


def definition(called: str, key: str = "name", /, **members: msgspec.Raw) -> Definition:
    return {key: msgspec.Raw(msgspec.json.encode(called)), **members}


@pytest.mark.parametrize("member", ["_meta", "execution"])
def test_an_object_of_which_no_list_can_be_made_is_named(member: str) -> None:
    with pytest.raises(ValueError, match=f"its '{member}' has more than 9984 members"):
        check_members(definition("t", **{member: MANY}))
    check_members(definition("t", **{member: msgspec.Raw(b"[1]"), "other": MANY}))


def test_what_is_too_long_is_named_with_its_size() -> None:
    check_size(definition("t", description=msgspec.Raw(b'"abc"')), 5)
    with pytest.raises(ValueError, match=r"its description has 6 bytes, .* is 5"):
        check_size(definition("t", description=msgspec.Raw(b'"abcd"')), 5)


def test_a_short_member_of_few_brackets_can_be_compared() -> None:
    assert comparable(msgspec.Raw(b'{"a":[1]}'))
    assert not comparable(msgspec.Raw(b"[" * 100))
    assert not comparable(msgspec.Raw(b" " * 4096))


@pytest.mark.parametrize("section", NAMED)
async def test_one_entry_of_which_no_list_can_be_made_leaves_nobody_without_a_list(
    section: Section,
) -> None:
    catalogue, key = Catalogue([ServerSpec(id="a"), ServerSpec(id="b")]), NAMED[section]
    hello = Hello("2025-11-25", {}, {}, None)
    good, odd = definition("x://good", key), definition("x://odd", key, _meta=MANY)
    catalogue.put("a", Listing(hello, {section: [odd]}))
    catalogue.put("b", Listing(hello, {section: [good]}))
    method = next(one for one, member in LISTS.items() if member == section)
    found = await catalogue.list(method, "", Caller("ann"), Client("2025-11-25"))
    assert len(msgspec.json.decode(found)[section]) == 1
    assert "'_meta' has more than 9984 members" in catalogue.shelf("a").warnings[0]


@pytest.mark.parametrize("count", [9_984, 9_985, 10_000])
async def test_an_object_is_readable_with_what_lists_put_into_it(count: int) -> None:
    catalogue = Catalogue([ServerSpec(id="a")])
    many = msgspec.Raw(b"{%b}" % b",".join(b'"%05d":1' % number for number in range(count)))
    tool = definition("t", inputSchema=msgspec.Raw(b"{}"), _meta=many)
    catalogue.put("a", Listing(Hello("2025-11-25", {}, {}, None), {"tools": [tool]}))
    items = catalogue.view("").items("tools/list")
    assert len(items) == (count == 9_984)
    for item in items:
        assert item.tool is not None
        said = jsonrpc.decode_members(item.text(mgp=True))["_meta"]
        assert len(jsonrpc.decode_members(said)) > count
        assert _described(item, item.tool, catalogue.about(item.tool))
