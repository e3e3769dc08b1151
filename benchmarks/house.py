"""How large is the house, and how far does a call go through it? Files, lines, comments, imports, and one recorded `tools/call`.

    python -m benchmarks.house [--json]

Lines are logical ones: statements, as the tokenizer ends them. A file is small where it has fewer than 100 lines as they are written and
is imported by one other file alone. The call is one of a key, over HTTP to a stdio server, warm: what `sys.setprofile` sees on the
gateway's loop from the request to the answer, the fewest of `CALLS`.
"""

from __future__ import annotations

import ast
import asyncio
import http.client
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from benchmarks.commands import gatewright
from benchmarks.gateway import Upstream, config
from benchmarks.processes import ROOT, Trouble
from benchmarks.rows import Options, Row, main
from gatewright.app.gateway import Gateway
from gatewright.config import load, override

__all__ = ["PREPARED", "Call", "imports", "logical", "recorded", "run"]

SOURCE = ROOT / "src" / "gatewright"
CALLS = 20
SMALL = 100
_AGENT = "measured"
PREPARED = (
    "standing.py",
    "prepared.py",
    "audit/prepared_trail.py",
    "servers/straight_line.py",
    "mcp/server/straight.py",
    "mcp/wire/plain_call.py",
)
"""What prepares calls, beside the `stands` of gates, filters and hooks."""


def logical(text: str) -> tuple[int, int]:
    """The logical lines of a source, and the comment lines."""
    lines = comments = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        lines += token.type == tokenize.NEWLINE
        comments += token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    return lines, comments


def imports(path: Path, modules: dict[str, Path]) -> set[Path]:
    """The files of the package that a file imports, wherever in it."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        found.update(modules[name] for name in names if name in modules)
    return found - {path}


def _modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _structure() -> Iterator[Row]:
    modules = _modules()
    texts = {path: path.read_text(encoding="utf-8") for path in modules.values()}
    counted = {path: logical(text) for path, text in texts.items()}
    written = sum(text.count("\n") for text in texts.values())
    importers: Counter[Path] = Counter()
    for path in texts:
        importers.update(imports(path, modules))
    once = [path for path in texts if importers[path] == 1 and path.name != "__init__.py"]
    small = [path for path in once if texts[path].count("\n") < SMALL]
    packages = list(SOURCE.rglob("__init__.py"))
    comments = sum(one for _, one in counted.values())
    fan_in = [importers[path] for path in texts]
    yield Row(
        "house.files",
        len(texts),
        "files",
        target=430,
        test="ours <=",
        extras={"folders": len(packages)},
    )
    yield Row(
        "house.lines",
        written,
        "lines",
        target=76_000,
        test="ours <=",
        extras={"logical": sum(one for one, _ in counted.values())},
    )
    yield Row("house.comments", 100 * comments / written, "%", target=3, test="ours >=")
    yield Row("house.one_importer", len(once), "files", extras={"small": len(small)})
    prepared = [SOURCE / one for one in PREPARED]
    yield Row(
        "house.prepared",
        sum(counted[path][0] for path in prepared),
        "logical lines",
        target=900,
        test="ours <=",
        extras={
            "written": sum(texts[path].count("\n") for path in prepared),
            "not_blank": sum(
                bool(line.strip()) for path in prepared for line in texts[path].splitlines()
            ),
        },
    )
    yield Row("house.fan_in", median(fan_in), "files", extras={"largest": max(fan_in)})


# -- one recorded call


class Call:
    """What one call enters, from the first function of the package to the last."""

    def __init__(self) -> None:
        self.entered: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """For `sys.setprofile`."""
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            self.entered.append(frame.f_code.co_filename)

    @property
    def files(self) -> set[str]:
        """The files that it goes through."""
        return set(self.entered)


class _Client:
    """A client that calls `echo` over one connection that stays open; in a thread, so that the gateway's loop is seen alone."""

    def __init__(self, url: str, key: str) -> None:
        where = urlsplit(url)
        self._line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
        self._path = where.path
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {key}",
        }

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def say(self, method: str, params: dict[str, Any], ident: int | None) -> bytes:
        """One message; the body of its answer."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if ident is not None:
            message["id"] = ident
        self._line.request("POST", self._path, json.dumps(message), self._headers)
        answer = self._line.getresponse()
        self._headers.setdefault("Mcp-Session-Id", answer.headers.get("Mcp-Session-Id", ""))
        return answer.read()

    def begin(self) -> None:
        """Open a session."""
        about = {"name": "house", "version": "1"}
        self.say(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about},
            1,
        )
        self.say("notifications/initialized", {}, None)

    def call(self) -> None:
        """Call the tool."""
        said = self.say("tools/call", {"name": "echo__echo", "arguments": {"text": "hello"}}, 2)
        if b'"hello"' not in said:
            raise Trouble(f"the call failed: {said[:200]!r}")


async def recorded(folder: Path, *, prepared: bool = False) -> Call:
    """The call of the fewest functions: on the walk, or as most of its kind go that are alike (decision 0090)."""
    path = folder / "mgp.toml"
    text = config([Upstream.echo("echo", "--era", "legacy")], folder / "data")
    path.write_text(text.replace('anonymous = "allow"\n', ""), encoding="utf-8")
    made = await asyncio.create_subprocess_exec(
        *gatewright("key", "create", _AGENT, "--config", str(path), "--json"),
        stdout=asyncio.subprocess.PIPE,
    )
    key = str(json.loads((await made.communicate())[0])["key"])
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with Gateway(override(load(path), port=0)) as gateway:
        gateway.kernel.prepared.mode = "on" if prepared else "off"
        serving = asyncio.create_task(gateway.serve_http(lambda said: ready.set_result(said.url)))
        client = _Client(await ready, key)
        await asyncio.to_thread(client.begin)
        best = await _fewest(client)
        client.close()
        serving.cancel()
        await asyncio.wait([serving])
    return best


async def _fewest(client: _Client) -> Call:
    best = Call()
    for _ in range(CALLS):
        seen = Call()
        sys.setprofile(seen)
        try:
            await asyncio.to_thread(client.call)
        finally:
            sys.setprofile(None)
        if not best.entered or len(seen.entered) < len(best.entered):
            best = seen
    return best


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """The house, and one call."""
    yield from _structure()
    for name, prepared in (("call", False), ("prepared_call", True)):
        folder = options.folder / name
        folder.mkdir()
        call = asyncio.run(recorded(folder, prepared=prepared))
        folders = {str(Path(one).parent) for one in call.files}
        entered = len(call.entered)
        yield Row(f"house.{name}.functions", entered, "entries", target=110, test="ours <=")
        yield Row(
            f"house.{name}.files",
            len(call.files),
            "files",
            target=45,
            test="ours <=",
            extras={"folders": len(folders)},
        )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
