from __future__ import annotations

import asyncio
from collections.abc import Generator

import msgspec
import pytest

from gatewright.call import SHIPPED, Caller, Tool
from gatewright.discovery import versions
from gatewright.discovery.versions import ToolIds
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import META_TOOL, About
from gatewright.servers.catalogue import EVERYTHING, Catalogue
from gatewright.servers.listing import Definition, Listing
from gatewright.servers.spec import CatalogueLimits, ServerSpec
from tests.discovery.offers import Offered, made

ANN, ROOT = Caller("ann"), Caller("root")
OFFER = Offered(
    (made("gatewright", "list", "list"), About("list", "2.0.0")),
    (made("gatewright", "list.v1.0.0", "list.v1.0.0"), About("list", "1.0.0")),
    (made("files", "read"), About("read", "1.1.0")),
    (made("mail", "send"), About("send", "1")),
    (made("chat", "send"), About("send", "1")),
    (made("secret", "dig"), About("dig", "3")),
    (made("secret", "list"), About("list", "9.9.9")),
    hidden=["secret__dig", "secret__list"],
)


def meant(tool_id: str, version: str | None = None, caller: Caller = ANN) -> str:
    return asyncio.run(ToolIds(lambda: OFFER)("", caller, tool_id, version))


@pytest.mark.parametrize("version", [None, "", "2.0.0"])
def test_the_newest_version_is_the_default(version: str | None) -> None:
    """GRH-msg-4."""
    assert meant("list", version) == "list"


def test_an_older_version_is_the_tool_that_it_is() -> None:
    """GRH-msg-4."""
    assert meant("list", "1.0.0") == "list.v1.0.0"
    assert meant("gatewright/list", "1.0.0") == "list.v1.0.0"


def test_a_version_that_is_not_there_is_a_name_that_nobody_has() -> None:
    """GRH-msg-4."""
    assert meant("list", "7.0.0") == "list 7.0.0"
    assert OFFER.tool("", "list 7.0.0") is None


def test_a_tools_own_name_does_where_only_one_server_has_it() -> None:
    assert meant("read") == "files__read"
    assert meant("read", "1.1.0") == "files__read"
    assert meant("files__read", "1.1.0") == "files__read"
    assert meant("send") == "send"
    assert meant("nothing", "1") == "nothing"


def test_what_the_caller_must_not_see_is_left_to_the_kernel() -> None:
    """GRH-test-3: neither its versions nor its own name tell anything."""
    assert meant("dig") == "dig"
    assert meant("secret__dig", "3") == meant("secret__dig", "4") == "secret__dig"
    assert meant("list", "9.9.9") == "list 9.9.9"
    assert meant("dig", caller=ROOT) == "secret__dig"


async def test_a_tools_own_name_is_of_several_also_while_one_of_them_is_away() -> None:
    away = Offered((made("files", "read"), About("read", "1.1.0")), missing=["read"])
    ids = ToolIds(lambda: away)
    assert await ids("", ANN, "read", None) == "read"
    assert await ids("", ANN, "read", "1.1.0") == "read"
    assert await ids("", ANN, "files__read", None) == "files__read"


def crowded(servers: int, versions: int) -> Catalogue:
    """Servers with a tool `send` each, and one of this process with many versions of a tool."""
    hello = Hello("2025-11-25", {"tools": {}}, {"name": "x", "version": "1"}, None)
    specs = [ServerSpec(id=f"s{number}") for number in range(servers)]
    found = Catalogue(
        [*specs, ServerSpec(id=SHIPPED, local=True, catalogue=CatalogueLimits(tools=versions))]
    )
    for spec in specs:
        found.put(spec.id, Listing(hello, {"tools": [definition("send", {"version": "3"})]}))
    own = [
        definition(
            "list" if not number else f"list.v{number}", {"name": "list", "version": f"{number}"}
        )
        for number in range(versions)
    ]
    found.put(SHIPPED, Listing(hello, {"tools": own}))
    return found


def definition(name: str, said: dict[str, str]) -> Definition:
    meta = {META_TOOL: said, "rows": [{"a": 1}] * 200}
    return jsonrpc.decode_members(jsonrpc.encode({"name": name, "_meta": meta}))


async def test_no_definition_is_read_while_a_name_is_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever servers put into them: who asks for what there is not would hold up everybody else."""
    catalogue = crowded(3, 3)
    await catalogue.warm(("",))
    for name in ("decode", "decode_members", "members_named"):
        monkeypatch.setattr(jsonrpc, name, None)
    ids = ToolIds(lambda: catalogue)
    assert await ids("", ANN, "nothing", "1") == "nothing"
    assert await ids("", ANN, "s0__send", "3") == "s0__send"
    assert await ids("", ANN, "s0__send", "4") == "s0__send 4"
    assert await ids("", ANN, "list", "2") == "list.v2"
    assert await ids("", ANN, "list", "9") == "list 9"


async def test_only_what_has_the_name_is_looked_at() -> None:
    asked: list[str] = []

    def sees(caller: Caller, tool: Tool) -> bool:
        asked.append(tool.exposed)
        return True

    catalogue = crowded(3, 40)
    catalogue.sight = msgspec.structs.replace(EVERYTHING, tool=sees)
    ids = ToolIds(lambda: catalogue)
    assert await ids("", ANN, "nothing", "1") == "nothing"
    assert asked == []
    assert await ids("", ANN, "s1__send", "4") == "s1__send 4"
    assert asked == ["s1__send"]


async def test_a_thousand_versions_of_one_tool_are_looked_through_a_step_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[int] = []

    async def counted(made: Generator[None, None, str]) -> str:
        found = yield_all(made)
        steps.append(found[1])
        return found[0]

    def yield_all(made: Generator[None, None, str]) -> tuple[str, int]:
        count = 0
        while True:
            try:
                next(made)
            except StopIteration as done:
                return done.value, count
            count += 1

    monkeypatch.setattr(versions, "in_slices", counted)
    catalogue = crowded(1, 1000)
    catalogue.sight = msgspec.structs.replace(
        EVERYTHING, tool=lambda _, tool: tool.exposed == "list"
    )
    assert await ToolIds(lambda: catalogue)("", ANN, "list", "999") == "list 999"
    assert steps == [1000]


@pytest.mark.parametrize("changes", [1, 9])
async def test_a_name_is_looked_up_anew_where_something_else_is_offered_meanwhile(
    changes: int,
) -> None:
    """What has the version is called otherwise by then."""

    def offer(*versions: tuple[str, str]) -> list[tuple[Tool, About]]:
        return [(made("gatewright", name, name), About("list", said)) for name, said in versions]

    after = Offered(*offer(("list", "3"), ("list.v1", "1.5"), ("list.v2", "1")))

    class Changing(Offered):
        left = changes

        def called(self, profile: str, name: str) -> list[Tool]:
            found = super().called(profile, name)
            if self.left:
                self.left -= 1
                self.version += 1
                self._tools, self._about = after._tools, after._about
            return found

    changing = Changing(*offer(("list", "2"), ("list.v1", "1")))
    assert await ToolIds(lambda: changing)("", ANN, "list", "1") == "list.v2"
