"""A thousand canaries, planted on every way into a gateway: none sings in a log, a record or an answer.

What callers send is theirs: arguments reach the server as they are. What comes back to a caller from a server is cleaned, and so is
whatever the gateway keeps or says to operators, of both.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import re
import string
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests import fork_server
from tests.behaviour.gateway import COMMAND, Gateway, config, running, server
from tests.behaviour.hosts import RpcError, host
from tests.tool_servers.leaky import KEPT

EACH = 42
DEFINED = "descriptions, instructions, standard error"
_ALPHABET = string.ascii_letters + string.digits


class Canaries:
    """Makes secrets, each of its own, and remembers on which way each was planted."""

    def __init__(self) -> None:
        self._random = random.Random(4)
        self.ways: dict[str, list[str]] = {}

    def _made(self, size: int, alphabet: str = _ALPHABET) -> str:
        return "".join(self._random.choices(alphabet, k=size))

    def _forms(self) -> list[tuple[str, str]]:
        """(text with a secret in it, the secret)."""
        upper, hexes = string.ascii_uppercase + "234567", "0123456789abcdef"
        tokens = [
            "gh" + "p_" + self._made(36),
            "AK" + "IA" + self._made(16, upper),
            "xox" + "b-" + self._made(11, string.digits) + "-" + self._made(24),
            "sk_" + "live_" + self._made(24),
            "gl" + "pat-" + self._made(20),
            "np" + "m_" + self._made(36),
            "dop_" + "v1_" + self._made(64, hexes),
        ]
        words = [self._made(8) + self._made(2, string.digits) + self._made(6) for _ in range(5)]
        return [
            *((f"found {token} here", token) for token in tokens),
            (f"DB_PASSWORD={words[0]}", words[0]),
            (f'{{"client_secret": "{words[1]}"}}', words[1]),
            (f"postgresql://app:{words[2]}@db.example.org/x", words[2]),
            (f"Authorization: Bearer {words[3]}", words[3]),
            (f"api_key: '{words[4]}'", words[4]),
        ]

    def planted(self, way: str, most: int = EACH) -> str:
        """Lines with fresh canaries for one way."""
        lines: list[tuple[str, str]] = []
        while len(lines) < most:
            lines += self._forms()
        self.ways[way] = [secret for _, secret in lines[:most]]
        return "\n".join(line for line, _ in lines[:most])

    def token(self, way: str) -> str:
        """One token, for places that take a word."""
        found = "gh" + "p_" + self._made(36)
        self.ways.setdefault(way, []).append(found)
        return found

    def singing(self, text: str) -> dict[str, int]:
        """Way → canaries of it that are in a text, as they are, in JSON or in base64."""
        plain = text + _decoded(text)
        found = {way: sum(one in plain for one in ones) for way, ones in self.ways.items()}
        return {way: count for way, count in found.items() if count}


def _decoded(text: str) -> str:
    """Whatever a text says in base64."""
    runs = re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", text)
    said = [base64.b64decode(run + "=" * (-len(run) % 4)) for run in runs if len(run) % 4 != 1]
    return "\n".join(one.decode("utf-8", "replace") for one in said)


def _kept(folder: Path) -> Iterator[tuple[str, str]]:
    """(name, text) of every file that the gateway wrote: its log, its record, its databases."""
    for path in [folder / "gateway.log", *sorted((folder / "state").rglob("*"))]:
        if path.is_file():
            yield path.name, path.read_bytes().decode("latin-1")


async def _ways_through_a_server(gateway: Gateway, canaries: Canaries, heard: list[str]) -> None:
    async with host(gateway) as client:
        heard.append(json.dumps(client.hello))
        heard.append(json.dumps(await client.request("tools/list")))
        await client.request("logging/setLevel", {"level": "debug"})
        for tool in (
            *("say", "structure", "embed", "blob", "encode", "quote", "meta", "complain"),
            *("fail_as_result", "fail_in_message", "fail_in_data", "progress", "log", "notify"),
        ):
            text = canaries.planted(tool)
            asked = {"name": f"leaky__{tool}", "arguments": {"text": text}}
            with suppress(RpcError):
                await client.request("tools/call", {**asked, "_meta": {"progressToken": 7}})
        await client.call("leaky__keep", text=canaries.planted("kept for resources"))
        await client.request("resources/read", {"uri": KEPT})
        await client.call("leaky__keep", text=canaries.planted("kept for prompts"))
        await client.request("prompts/get", {"name": "leaky__kept", "arguments": {"x": "y"}})
        await client.call("leaky__keep", text=canaries.planted("kept for completions"))
        ref = {"ref": {"type": "ref/prompt", "name": "leaky__kept"}}
        await client.request("completion/complete", {**ref, "argument": {"name": "x", "value": ""}})
        heard += [frame.decode() for frame in client.frames]
        heard += [json.dumps(note) for note in client.notes]
    assert sum("[REDACTED:" in one for one in heard) >= 15


async def _words_of_callers(gateway: Gateway, canaries: Canaries) -> None:
    """What only callers say: it may be told to themselves, and is kept nowhere."""
    token = canaries.token
    async with host(gateway) as client:
        for _ in range(EACH):
            asked: list[tuple[str, dict[str, Any]]] = [
                ("tools/call", {"name": token("tool name"), "arguments": {}}),
                ("tools/call", {"name": "leaky__say", "arguments": {token("argument name"): 1}}),
                ("tools/call", {"name": "leaky__say", "trace_id": token("trace id")}),
                ("resources/read", {"uri": f"leak:///{token('resource')}"}),
                ("prompts/get", {"name": token("prompt name")}),
                (token("method"), {}),
            ]
            for method, params in asked:
                with suppress(RpcError):
                    await client.request(method, params)
    async with aiohttp.ClientSession() as session:
        for _ in range(EACH):
            headers = {
                "Authorization": f"Bearer {token('a wrong key')}",
                "Mcp-Session-Id": token("session id"),
                "User-Agent": token("user agent"),
            }
            url = f"{gateway.url}/{token('path')}?access_token={token('query')}"
            async with session.post(url, headers=headers, data=token("body")) as answer:
                await answer.read()
            async with session.post(gateway.url, headers=headers, json={}) as answer:
                await answer.read()


def _words_of_commands(gateway: Gateway, canaries: Canaries) -> Iterator[tuple[str, str]]:
    """What operators are shown."""
    plain = (
        *(("server", word) for word in ("list",)),
        *(("server", word, "leaky") for word in ("show", "logs")),
        *(("config", "show"), ("config", "show", "--json"), ("config", "check"), ("doctor",)),
        *(("audit", "query", "--limit", "100000"), ("audit", "query", "--json"), ("audit", "tail")),
        ("import", str(gateway.folder / "others.json"), "--dry-run"),
        ("server", "show", "broken"),
    )
    called = ("tool", "call", "leaky__fail_in_message", "--args")
    said = json.dumps({"text": canaries.planted("tool call of the command line")})
    for words in (*plain, (*called, said)):
        done = fork_server.run(
            [*COMMAND, *words, "--config", str(gateway.file)],
            capture_output=True,
            timeout=60,
            cwd=gateway.folder,
            env={**os.environ, "HOME": str(gateway.folder)},
            check=False,
        )
        yield "$ " + " ".join(words[:3]), (done.stdout + done.stderr).decode()


def _configuration(folder: Path, canaries: Canaries) -> dict[str, Any]:
    planted = folder / "planted.txt"
    planted.write_text(canaries.planted(DEFINED))
    env = {f"TOKEN_{n}": canaries.token("environment") for n in range(EACH)}
    broken = {"id": "broken", "command": "no-such-program", "args": []}
    broken["args"] = ["--token", canaries.token("arguments of a broken server")]
    others = {"command": "x", "env": {"API_TOKEN": canaries.token("imported environment")}}
    (folder / "others.json").write_text(json.dumps({"mcpServers": {"other": others}}))
    return config(
        server("leaky", None, str(planted), env=env, methods=["notifications/vendor.*"]), broken
    )


async def _pages(gateway: Gateway) -> list[tuple[str, str]]:
    found = []
    async with aiohttp.ClientSession() as session:
        for path in ("/metrics", "/readyz", "/livez"):
            async with session.get(gateway.url.removesuffix("/mcp") + path) as answer:
                found.append((path, await answer.text()))
    return found


@pytest.fixture(scope="module")
def sung(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """Where any canary was heard: place → way → how many. Empty where all is well."""
    folder = tmp_path_factory.mktemp("canaries")
    canaries, heard = Canaries(), list[str]()
    with running(folder, _configuration(folder, canaries), "-v") as gateway:
        asyncio.run(_ways_through_a_server(gateway, canaries, heard))
        asyncio.run(_words_of_callers(gateway, canaries))
        places = list(_words_of_commands(gateway, canaries))
        places += asyncio.run(_pages(gateway))
    places += [*_kept(folder), *(("an answer", text) for text in heard)]
    assert sum(map(len, canaries.ways.values())) >= 1000
    assert len(canaries.ways) >= 20
    found: dict[str, dict[str, int]] = {"places": {name: len(text) for name, text in places}}
    for name, text in places:
        if singing := canaries.singing(text):
            found[name] = singing
    return found


def _of(sung: dict[str, dict[str, int]], fits: Callable[[str], bool]) -> dict[str, dict[str, int]]:
    assert any(fits(name) for name in sung["places"])
    return {name: ways for name, ways in sung.items() if name != "places" and fits(name)}


def test_no_answer_carries_a_canary_of_a_server(sung: dict[str, dict[str, int]]) -> None:
    """GRH-out-1"""
    assert _of(sung, lambda name: name == "an answer") == {}


def test_no_log_carries_a_canary(sung: dict[str, dict[str, int]]) -> None:
    """GRH-out-1"""
    assert _of(sung, lambda name: name.endswith(".log")) == {}


def test_no_record_and_nothing_kept_carries_a_canary(sung: dict[str, dict[str, int]]) -> None:
    """GRH-out-1"""
    found = _of(sung, lambda name: name[0] not in "$/" and name != "an answer")
    found.get("state.db", {}).pop(DEFINED, None)  # definitions are kept whole, to be compared
    assert {name: ways for name, ways in found.items() if ways} == {}


def test_no_command_and_no_page_shows_a_canary(sung: dict[str, dict[str, int]]) -> None:
    """GRH-out-1"""
    assert _of(sung, lambda name: name[0] in "$/") == {}
