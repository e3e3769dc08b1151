"""The leaky server gives away what it is told, on every way."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from tests.tool_servers.drive import started
from tests.tool_servers.leaky import KEPT, TOOLS


async def test_each_tool_gives_its_text_away_in_its_own_way(tmp_path: Path) -> None:
    (tmp_path / "planted").write_text("planted-text")
    async with started("leaky", str(tmp_path / "planted")) as child:
        await child.hello()
        listed = await child.answer_to(await child.ask("tools/list", {}))
        assert [one["name"] for one in listed["result"]["tools"]] == list(TOOLS)
        assert "planted-text" in listed["result"]["tools"][0]["description"]
        seen = []
        for name in TOOLS:
            meta = {"progressToken": "p"}
            asked = {"name": name, "arguments": {"text": "told-text"}, "_meta": meta}
            seen.append(await child.answer_to(await child.ask("tools/call", asked)))
        hidden = base64.b64encode(b"told-text").decode()
        said = [*map(json.dumps, seen), *map(json.dumps, child.seen)]
        assert sum("told-text" in one or hidden in one for one in said) == len(TOOLS) - 2
        read = await child.answer_to(await child.ask("resources/read", {"uri": KEPT}))
        assert read["result"]["contents"][0]["text"] == "told-text"
