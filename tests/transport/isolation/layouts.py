"""Program that makes layouts of a gateway's files around a place that an isolated server may write to, and has a server try each of them.

`python -m tests.transport.isolation.layouts ORDER` prints what came of each layout as JSON. All of it is in a new folder, which is gone at
the end. What the server tries is to put inert files in the place of those of the gateway: to create, write, link, replace and
remove each, and to rename each folder above.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from gatewright.config import load
from gatewright.config.lookup import candidates
from gatewright.config.trust import trust_of
from gatewright.servers import gateway_code
from gatewright.servers.settings_adapters import spec_of
from gatewright.servers.spec import ServerSpec
from gatewright.transport.isolation.rules import CannotIsolate
from gatewright.transport.isolation.start import flaw
from gatewright.transport.process import spawn
from tests.accepting import accept_file
from tests.transport.collecting import Collector, within
from tests.transport.isolation.driver import become_ordinary, reachable_python

PROBE = """
import json, os, sys
order = json.loads(sys.argv[1])
could = []
def attempt(what, do, *args):
    try:
        do(*args)
    except OSError:
        return False
    could.append(what + " " + " ".join(map(str, args)))
    return True
def create(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
def write(path):
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, b"forged")
    os.close(descriptor)
def forge(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("forged")
def within(path):
    return any(path == one or path.startswith(one + "/") for one in order["write"])
def above(path):
    while within(path := os.path.dirname(path)):
        yield path
mine = [place + "/mine" for place in (*order["free"], *order["write"]) if attempt("", create, place + "/mine") or os.path.exists(place + "/mine")]
could.clear()
for path in filter(within, order["names"]):
    if path not in order["kept"]:
        attempt("read", lambda one: open(one).close(), path)
    attempt("create", create, path)
    attempt("write", write, path)
    attempt("unlink", os.unlink, path)
    attempt("symlink", os.symlink, mine[0], path)
    for one in mine:
        attempt("link", os.link, one, path)
        attempt("rename", os.rename, one, path)
    for folder in above(path):
        attempt("move", os.rename, folder, folder + ".moved")
        attempt("move away", os.rename, folder, mine[0] + ".moved")
        attempt("remove", os.unlink, folder)
        attempt("remove folder", os.rmdir, folder)
        attempt("lead away", os.symlink, mine[0], folder)
        attempt("forge", forge, path)
free = []
for place in order["free"]:
    try:
        forge(place + "/sub/free")
        free.append(place)
    except OSError:
        pass
print(json.dumps({"could": could, "free": free}), flush=True)
sys.stdin.read()
"""
SERVER = """
{rules}
[[servers]]
id = "a"
command = {python}
isolation = "confined"
[servers.sandbox]
read = {read}
write = {write}
"""
RULES = '[[rules]]\nid = "r"\nregex = "abcdef"\n'


class Layout:
    """One arrangement of configuration, state, home and places to write to, chosen by a number."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._pick = random.Random(seed)
        self.top = folder
        self.work = folder / "work"
        self.free = self.work / "free" / "deep"
        self.free.mkdir(parents=True)
        self.said: list[str] = []
        self.kept: list[Path] = []
        """Files that the server may read."""
        self.home = self._place("home", "made")
        self.project = self._place("project", "made")
        self.state = self._place("state", "made")
        self.environ = {"HOME": str(self.home), "GATEWRIGHT_STATE": str(self.state)}
        if self._pick.random() < 0.3:
            self.environ["XDG_STATE_HOME"] = str(self._place("xdg", "perhaps"))
        self._user_file()
        self._code()
        self._write()
        self._read()
        self._config()

    def _place(self, name: str, how: str) -> Path:
        """A folder some levels deep, inside or outside of what may be written to, perhaps behind a link, perhaps missing."""
        base = self.work if self._pick.random() < 0.75 else self.top / "outside"
        parts = [self._pick.choice("xyz") for _ in range(self._pick.randrange(4))]
        real = base.joinpath(*parts, name)
        self.said.append(f"{name}: {real.relative_to(self.top)}")
        if how == "perhaps" and self._pick.random() < 0.5:
            return real
        real.mkdir(parents=True, exist_ok=True)
        if self._pick.random() < 0.2:
            link = base / f"{name}-link"
            link.symlink_to(real)
            self.said.append("behind a link")
            return link
        return real

    def _user_file(self) -> None:
        folder = self.home / ".config" / "mgp"
        kind = self._pick.choice(["there", "no file", "no folder", "nothing", "link"])
        self.said.append(f"user: {kind}")
        if kind == "link":
            (self.top / "dots").mkdir()
            (self.home / ".config").symlink_to(self.top / "dots")
        if kind in {"there", "no file", "link"}:
            folder.mkdir(parents=True)
        elif kind == "no folder":
            folder.parent.mkdir()
        if kind in {"there", "link"}:
            (folder / "servers.toml").write_text("[limits]\ndepth = 9\n")

    def _code(self) -> None:
        """Folders of the gateway's own modules, of which one is above everything, and one perhaps missing."""
        self.code = [self._place("code", "made"), self._place("more", "perhaps")]
        (self.code[0] / "own.py").write_text("fixed")
        self.kept.append(self.code[0] / "own.py")
        if self._pick.random() < 0.5:
            self.code.append(self.top)

    def _write(self) -> None:
        """The places: what holds everything, and perhaps some of what is in it."""
        self.write = [self.work]
        for one in (self.project, self.state.parent, self.home, self.free):
            if self._pick.random() < 0.2 and one.is_dir() and not self._is_linked(one):
                self.write.append(one)
        self._pick.shuffle(self.write)

    def _read(self) -> None:
        """Places for reading alone, each with a file in it."""
        self.read: list[Path] = []
        for number in range(self._pick.randrange(3)):
            parts = [self._pick.choice("xyz") for _ in range(self._pick.randrange(4))]
            place = self.work.joinpath(*parts, f"read{number}")
            place.mkdir(parents=True)
            (place / "file").write_text("fixed")
            self.read.append(place)
            self.kept.append(place / "file")
        self.said.append(f"read: {[str(one.relative_to(self.work)) for one in self.read]}")

    def _is_linked(self, one: Path) -> bool:
        return one.resolve() != one

    def _config(self) -> None:
        rules = ""
        if self._pick.random() < 0.5:
            file = self.project / "sub" / "rules.toml"
            file.parent.mkdir()
            file.write_text(RULES)
            self.kept.append(file)
            rules = '[redaction]\nrules = ["sub/rules.toml"]'
        text = SERVER.format(
            rules=rules,
            python=json.dumps(reachable_python()),
            read=json.dumps([*map(str, self.read)]),
            write=json.dumps([*map(str, self.write)]),
        )
        file = self.project / "mgp.toml"
        if self._pick.random() < 0.2:
            (self.project / "real").mkdir()
            (self.project / "real" / "it.toml").write_text(text)
            file.symlink_to("real/it.toml")
        else:
            file.write_text(text)
        self.config = file if self._pick.random() < 0.5 else None
        if self._pick.random() < 0.3:
            (self.project.resolve().parent / ".git").mkdir(exist_ok=True)
        self.said.append("named" if self.config else "found")
        accept_file(file, self.environ)
        for name in ("gateway.json", "keys/one"):
            path = self.state / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("state")

    def names(self) -> list[Path]:
        """What the gateway reads, or would."""
        found = candidates(self.config, environ=self.environ, cwd=self.project)
        found += [self.home / ".config" / "mgp" / "servers.toml", trust_of(self.environ).file]
        found += [self.state / "gateway.json", self.state / "keys" / "one"]
        found += [one / "new.pth" for one in self.code[:2]]
        return [*dict.fromkeys([*found, *self.kept])]

    def content(self) -> dict[str, bytes | None]:
        """What is in each; None where there is none."""
        return {str(one): one.read_bytes() if one.exists() else None for one in self.names()}


def spec_in(layout: Layout) -> ServerSpec:
    """The server as its configuration says."""
    os.environ["HOME"] = str(layout.home)
    gateway_code._PATH = tuple(map(str, layout.code))
    settings = load(layout.config, environ=layout.environ, cwd=layout.project)
    return spec_of(settings, settings.servers[0])


async def tried(layout: Layout) -> dict[str, Any]:
    """What the server could do that is started as the configuration says."""
    spec = spec_in(layout)
    before, paths = layout.content(), [*map(str, layout.names())]
    real = [str(one.resolve()) for one in layout.names()]
    order = {
        "names": [*dict.fromkeys([*paths, *real])],
        "kept": [str(path) for one in layout.kept for path in (one, one.resolve())],
        "write": [*map(str, layout.write)],
        "free": [str(layout.free)],
    }
    collector = Collector()
    try:
        child = await spawn(
            spec.command,
            ["-I", "-S", "-c", PROBE, json.dumps(order)],
            cwd=str(layout.top),
            receiver=collector,
            stderr=collector.line,
            isolation=spec.isolation,
        )
    except CannotIsolate as problem:
        return {"layout": layout.said, "kept down": str(problem)}
    await collector.until(lambda: bool(collector.messages or collector.ends))
    if not collector.messages:
        return {
            "layout": layout.said,
            "could": [f"not start: {collector.lines}"],
            "changed": [],
            "free": [],
        }
    said = json.loads(collector.messages[0])
    await within(child.stop(5))
    after = layout.content()
    changed = [one for one in after if after[one] != before.get(one)]
    changed += [one for one in before if one not in after]
    return {
        "layout": layout.said,
        "changed": changed,
        "stderr": [*map(str, collector.lines)],
        **said,
    }


async def every(seeds: list[int], folder: Path) -> list[dict[str, Any]]:
    found = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        layout = Layout(seed, place)
        # Twice: what it did in one life is there in the next.
        found += [{"seed": seed, **await tried(layout)} for _ in range(2)]
        shutil.rmtree(place, ignore_errors=True)
    return found


def main() -> None:
    order = json.loads(sys.argv[1])
    folder = Path(tempfile.mkdtemp(prefix="gatewright-layouts-", dir="/var/tmp"))
    if order["user"] == "ordinary" and os.geteuid() == 0:
        with (
            tempfile.TemporaryDirectory() as first
        ):  # whatever that imports is for root alone as well
            spec_in(Layout(0, Path(first)))
        become_ordinary(folder)
    sys.executable = reachable_python()
    try:
        why = asyncio.run(flaw("confined"))
        found = {"flaw": why} if why else {"tried": asyncio.run(every(order["seeds"], folder))}
        sys.stdout.write(json.dumps(found))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
