"""`Discovery`: imports `mcp_tools.py` below a package or folder, or one file; registers their tools; rescans after a TTL; reports failures.

Theory: what is found is files, so that looking imports nothing that has no tools; each file is then imported by
itself. A module that breaks is a line in the report and never the end of the search. A scan stays valid for the
least `cache_ttl` of its tools, 300 seconds unless one says otherwise; a module that was imported is not read again,
a new one or one that broke is.

Whoever cannot wait asks `find`: past the limit it gets what is known, while the scan goes on for the next one.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatewright.sdk.decorator import MARK, MODULE, collecting
from gatewright.sdk.errors import RegistrationError
from gatewright.sdk.registry import Registry
from gatewright.sdk.tool import CACHE_TTL_S, Tool

if TYPE_CHECKING:
    from asyncio import Future

_NOT_THEIRS = (str(Path(__file__).parent), str(Path(importlib.__file__).parent), "<frozen")
"""Where a traceback is no help to an author: in here, and in the machinery of imports."""

__all__ = ["Discovery", "Found", "Problem", "is_folder"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A module that gave no tools, and why."""

    module: str
    message: str
    """The error in one line."""
    where: str = ""
    """The file and line that raised it."""

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.module}: {self.message}{place}"


@dataclass(frozen=True, slots=True)
class Found:
    """What one scan saw."""

    tools: tuple[Tool, ...] = ()
    modules: tuple[str, ...] = ()
    """The modules that were imported without a problem."""
    problems: tuple[Problem, ...] = ()
    complete: bool = True
    """False where the time limit came first."""
    seconds: float = 0.0


def is_folder(where: str) -> bool:
    """Whether this means a folder or a file instead of a module: it has a separator, or ends in `.py`."""
    return "/" in where or os.sep in where or where.endswith(".py") or where in {".", ".."}


class Discovery:
    """The tools below one package, module or folder, kept in one registry."""

    def __init__(
        self,
        where: str,
        *,
        registry: Registry | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`where` is `app`, `app.tools`, `./tools` or `./tools.py`. `clock` gives monotonic seconds."""
        self.where = where
        self.registry = Registry(where) if registry is None else registry
        self._clock = clock
        self._found = Found(complete=False)
        self._until = float("-inf")
        self._work: Future[Found] | None = None

    @property
    def found(self) -> Found:
        """What is known, perhaps of a scan that still goes on."""
        return self._found

    def valid_s(self) -> float:
        """For how many seconds the last look still counts; below zero where it does not."""
        return self._until - self._clock()

    def scan(self, *, refresh: bool = False) -> Found:
        """Look for tools, unless the last look is still valid and `refresh` does not ask for another one."""
        begun = self._clock()
        if begun < self._until and not refresh:
            return self._found
        tools: dict[str, Tool] = {}
        modules: list[str] = []
        problems: list[Problem] = []
        for name, path in self._candidates(problems):
            problem = self._look(name, path, tools)
            if problem is None:
                modules.append(name)
            else:
                problems.append(problem)
            # After each module: `find` returns this when its time is over.
            self._found = self._report(tools, modules, problems, begun, complete=False)
        self._found = self._report(tools, modules, problems, begun, complete=True)
        self._until = self._clock() + min(
            (one.cache_ttl for one in tools.values()), default=CACHE_TTL_S
        )
        return self._found

    async def find(self, *, refresh: bool = False) -> Found:
        """`scan` beside the event loop, for at most the registry's `discovery_s` seconds."""
        import asyncio

        from gatewright.sdk.threads import run_in_thread

        if self._clock() < self._until and not refresh:
            return self._found
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(run_in_thread(lambda: self.scan(refresh=refresh)))
        limit = self.registry.limits.discovery_s
        done, _ = await asyncio.wait((self._work,), timeout=limit)
        if done:
            return self._work.result()
        late = Problem(self.where, f"the search did not end within {limit:g} s and goes on")
        known = self._found
        return Found(known.tools, known.modules, (*known.problems, late), False, limit)

    def _candidates(self, problems: list[Problem]) -> Iterator[tuple[str, Path | None]]:
        importlib.invalidate_caches()
        if is_folder(self.where):
            yield from self._in_folder(Path(self.where).expanduser().resolve(), problems)
            return
        try:
            spec = importlib.util.find_spec(self.where)
        except Exception as problem:  # noqa: BLE001 - a parent package may raise anything
            problems.append(_problem(self.where, problem))
            return
        if spec is None:
            problems.append(Problem(self.where, "there is no such module or package"))
            return
        yield self.where, None
        for place in spec.submodule_search_locations or ():
            for path in _tool_files(Path(place), problems):
                yield _dotted(self.where, Path(place), path), path

    def _in_folder(
        self, folder: Path, problems: list[Problem]
    ) -> Iterator[tuple[str, Path | None]]:
        single = folder.suffix == ".py"
        root = folder.parent if single else folder
        if not folder.exists():
            problems.append(Problem(self.where, "there is no such file or folder"))
            return
        # At the end: what the folder has may not stand in for an installed module.
        if str(root) not in sys.path:
            sys.path.append(str(root))
        for path in (folder,) if single else _tool_files(root, problems):
            yield _dotted("", root, path), path

    def _look(self, name: str, path: Path | None, tools: dict[str, Tool]) -> Problem | None:
        aside = _Aside(self.registry)
        try:
            with collecting(aside):
                module = importlib.import_module(name)
            origin = getattr(module, "__file__", None)
            # A module of that name was imported from elsewhere; its tools would be taken for those of this file.
            if path is not None and origin is not None and not path.samefile(origin):
                return Problem(name, f"is {origin} already; rename the folder or the module")
            for tool in (*aside.all(), *_declared(module)):
                kept = self.registry.register(tool)
                tools[kept.name] = kept
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - reported, and the others go on
            self._keep_what_is_whole(aside)
            return _problem(name, problem)
        return None

    def _keep_what_is_whole(self, aside: _Aside) -> None:
        """Of a module that broke, the tools of those that it had imported already: they are not read again."""
        for tool in aside.all():
            if tool.module in sys.modules:
                self.registry.register(tool)

    def _report(
        self,
        tools: dict[str, Tool],
        modules: list[str],
        problems: list[Problem],
        begun: float,
        *,
        complete: bool,
    ) -> Found:
        return Found(
            tuple(tools.values()),
            tuple(modules),
            tuple(problems),
            complete,
            self._clock() - begun,
        )


class _Aside(Registry):
    """Where the tools of one module wait until it is imported as a whole: one that breaks half-way gives none, and
    may declare them otherwise when it is corrected."""

    def __init__(self, whole: Registry) -> None:
        super().__init__(whole.name, limits=whole.limits)
        self._whole = whole

    def register(self, tool: Tool) -> Tool:
        """Keep a tool, unless the whole registry has another one of its name."""
        return self._whole.kept(tool) or super().register(tool)

    def all(self) -> list[Tool]:
        """Every version of every tool."""
        return [one for versions in self._versions.values() for one in versions.values()]


def _tool_files(root: Path, problems: list[Problem]) -> Iterator[Path]:
    """Every `mcp_tools.py` below, in a stable order. Links to folders are not followed: they may go round in circles.

    A list and no iterator of the system: a search that is stopped leaves nothing open.
    """
    try:
        names = sorted(os.listdir(root))  # noqa: PTH208 - see above
    except OSError as problem:
        problems.append(Problem(str(root), f"cannot be searched: {problem}"))
        return
    if f"{MODULE}.py" in names:
        yield root / f"{MODULE}.py"
    for name in names:
        below = root / name
        folder = name.isidentifier() and name != "__pycache__" and below.is_dir()
        if folder and not below.is_symlink():
            yield from _tool_files(below, problems)


def _dotted(package: str, root: Path, path: Path) -> str:
    inner = path.relative_to(root).with_suffix("").parts
    return ".".join((package, *inner) if package else inner)


def _declared(module: Any) -> list[Tool]:
    """The tools that a module itself declares: decorated functions, and `Tool`s that stand in it."""
    found: list[Tool] = []
    for one in list(vars(module).values()):
        tool = one if isinstance(one, Tool) else getattr(one, MARK, None)
        if isinstance(tool, Tool) and tool.module in {module.__name__, ""}:
            found.append(tool)
    return found


def _problem(module: str, problem: BaseException) -> Problem:
    frames = traceback.extract_tb(problem.__traceback__)
    mine = [one for one in frames if not one.filename.startswith(_NOT_THEIRS)]
    where = f"{mine[-1].filename}:{mine[-1].lineno}" if mine else ""
    if isinstance(problem, RegistrationError):
        return Problem(module, str(problem), where)
    if isinstance(problem, SyntaxError) and problem.filename:
        where = f"{problem.filename}:{problem.lineno}"
    return Problem(module, f"{type(problem).__name__}: {problem}", where)
