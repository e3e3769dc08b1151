"""A definition that is longer than a page, read to its end on the console's pages: only then it is accepted, in the page and by the API."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gatewright.console import definition_pages, rendering
from gatewright.console.definition_pages import pages_of
from tests.console.hostile import look_at
from tests.console.in_process import Client, Within, within

SERVER = Path(__file__).parents[1] / "tool_servers/hostile_words.py"
SAYS = "hides " + "\u200b\u200c" * 300 + "x" * 3_380 + "its end"
_NEXT = re.compile(r'<a rel="next" href="([^"]+)"')
_FIELD = re.compile(r'name="(tool|digest|whole)" value="([^"]*)"')


@pytest_asyncio.fixture
async def console(tmp_path: Path) -> AsyncIterator[Within]:
    """A server of which nobody has accepted any tool yet."""
    words = tmp_path / "words.json"
    words.write_text(json.dumps([SAYS, "b", "c", "d"]))
    text = f'[[servers]]\nid = "words"\ncommand = "{sys.executable}"\nargs = ["{SERVER}", "{words}"]\npin = "approve"\n'
    async with within(tmp_path, text) as found:
        yield found


async def _held(client: Client) -> dict[str, Any]:
    found = (await client.api("GET", "/held-definitions")).json()["definitions"]
    one: dict[str, Any] = next(one for one in found if one["tool"] == "tool0")
    return one


async def test_it_is_read_to_its_end_and_accepted_there(console: Within) -> None:
    ann, bob = await console.person("operator", "ann"), await console.person("operator", "bob")
    one = await _held(ann)
    opened = (await ann.get(f"/inbox/{one['id']}")).text
    way = f"{pages_of('words')}?tool={one['tool']}"
    assert way in opened
    assert "Accept this definition" not in opened
    shown, pages = list[str](), list[str]()
    while way:
        page = (await ann.get(way)).text
        assert look_at(page).wrong == []
        pages.append(page)
        shown.append(
            unescape(re.sub("<[^>]*>", "", page.partition("<pre>")[2].partition("</pre>")[0]))
        )
        following = _NEXT.search(page)
        way = unescape(following[1]) if following else ""
    assert len(pages) > 1
    assert ["Accept this definition" in page for page in pages] == [False] * (len(pages) - 1) + [
        True
    ]
    assert "".join(shown).count("its end") == 9
    assert "".join(shown).count("U+200C") == 9 * 300 + 97
    form = {name: unescape(value) for name, value in _FIELD.findall(pages[-1])}
    post = pages_of("words")
    assert (await bob.form(post, form)).status == 422
    assert (await ann.form(post, {**form, "whole": ""})).status == 422
    assert (await ann.form(post, form)).headers["location"] == "/servers/words"
    assert one["id"] not in [
        left["id"] for left in (await ann.api("GET", "/held-definitions")).json()["definitions"]
    ]
    assert "It is accepted." in (await ann.get(f"{post}?tool={one['tool']}")).text


async def test_the_api_takes_the_proof_of_the_last_page(console: Within) -> None:
    ann = await console.person("operator", "ann")
    one = await _held(ann)
    said = {"digest": one["digest"]}
    at = f"/held-definitions/{one['id']}/accept"
    assert (await ann.api("POST", at, said)).json()["code"] == "not_shown"
    ask, proof, number = f"/servers/words/pin/text?tool={one['tool']}", "", 0
    while True:
        number += 1
        page = (await ann.api("GET", f"{ask}&page={number}&proof={proof}")).json()
        proof = page["proof"]
        if page["page"] == page["pages"]:
            break
        assert (await ann.api("POST", at, {**said, "whole": proof})).status == 422
    assert (await ann.api("GET", f"{ask}&page=2")).json()["code"] == "not_shown"
    assert (await ann.api("POST", at, {**said, "whole": proof})).json()["standing"] == "pinned"


async def test_it_is_gone_through_beside_the_loop(
    console: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = await console.person("operator", "ann")
    one = await _held(ann)
    real, threads = rendering.laid_out, list[int]()

    def laid_out(raw: bytes) -> str:
        threads.append(threading.get_ident())
        return real(raw)

    monkeypatch.setattr(definition_pages, "laid_out", laid_out)
    way = f"?tool={one['tool']}"
    proven = {"digest": one["digest"], "whole": "0" * 64}
    for ask in (
        ann.get(pages_of("words") + way),
        ann.api("GET", f"/servers/words/pin/text{way}"),
        ann.api("POST", f"/held-definitions/{one['id']}/accept", proven),
    ):
        threads.clear()
        await ask
        assert threads
        assert threading.get_ident() not in threads
