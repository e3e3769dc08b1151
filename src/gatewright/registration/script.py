"""Reads a registration's Python script, has a worker judge it (`code_safety`); refuses program arguments that name files elsewhere (MGP §7)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gatewright.call import Call, Failure, Refusal
from gatewright.config import Settings
from gatewright.registration.registered import Registered
from gatewright.registration.rules import Denied
from gatewright.schemas.objection import Objection
from gatewright.transport.worker_requests import JUDGE_S, ordered, too_busy
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["SCRIPT_BYTES", "check_places", "with_script"]

SCRIPT_BYTES = 32 * 1024
"""The longest script. It is an argument of the program that runs it, of which Linux takes four times as much."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LEVELS = {"sandboxed": "standard", "standard": "unrestricted", "trusted": "unrestricted"}
"""Trust level → level of `code_safety`."""


async def with_script(
    one: Registered, call: Call, settings: Settings, workers: Workers
) -> Registered:
    """A registration with the text of the script that its arguments name, which was found good. Raises `Denied`."""
    if not one.args or one.args[0].startswith("-"):
        raise _unreadable("the first argument names the script, before options of its own")
    folders = _folders(settings, everywhere=one.by_operator)
    text = await asyncio.to_thread(_read, one.args[0], folders, everywhere=one.by_operator)
    await _judge(text, _LEVELS[one.trust_level], call, workers)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return msgspec.structs.replace(one, code=text, digest=digest)


async def check_places(one: Registered, settings: Settings) -> None:
    """Whether the arguments of an agent's program name nothing that is here: what an interpreter is to run is shown to a server
    that is isolated. Raises `Denied`."""
    folders = _folders(settings, everywhere=False)
    start = (settings.files[0] if settings.files else Path("-")).absolute().parent
    words = [arg for arg in one.args if not arg.startswith("-")]
    if await asyncio.to_thread(lambda: any(_leads_out(start / word, folders) for word in words)):
        raise Denied(
            Failure(
                "invalid_params",
                "an argument names a file that is not in the folders of [registration]",
                {"field": "args"},
            )
        )


def _leads_out(path: Path, folders: Sequence[Path]) -> bool:
    # Programs follow links on the way to `..`, and the sandbox takes the path as it is spelled: both have to be good.
    for one in (path, Path(os.path.normpath(path))):
        try:
            found = one.resolve(strict=True)
            if not any(found.is_relative_to(folder.resolve()) for folder in folders):
                return True
        except (OSError, ValueError, RuntimeError):
            continue  # there is none
    return False


def _folders(settings: Settings, *, everywhere: bool) -> Sequence[Path]:
    """Where a script may be; for operators, from where a relative name leads to it."""
    file = settings.file_of("registration.folders")
    names = (".",) if everywhere else settings.registration.folders
    return [file.absolute().parent / one for one in names]


def _read(name: str, folders: Sequence[Path], *, everywhere: bool) -> str:
    for folder in folders:
        try:
            root = folder.resolve(strict=True)
            # As links lead: where the name leads out of the folder, it is not in it.
            path = (root / name).resolve(strict=True)
            if everywhere or path.is_relative_to(root):
                return _text(path)
        except (OSError, ValueError, RuntimeError):
            continue
    raise _unreadable("there is no such script in the folders of [registration]")


def _text(path: Path) -> str:
    descriptor = _opened(path)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unreadable("the script is no regular file")
        content = file.read(SCRIPT_BYTES + 1)
    if len(content) > SCRIPT_BYTES:
        raise _unreadable(f"the script has more than {SCRIPT_BYTES} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _unreadable("the script is not UTF-8 text") from None
    if "\0" in text:
        raise _unreadable("the script has a NUL character")
    return text


def _opened(path: Path) -> int:
    """A descriptor of a path that is resolved: a link anywhere on it now was put there since. Raises `OSError`."""
    folder = os.open(path.anchor, _FOLDER)
    try:
        for name in path.parts[1:-1]:
            above, folder = folder, os.open(name, _FOLDER, dir_fd=folder)
            os.close(above)
        # Opening a pipe must not wait.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(path.name, flags, dir_fd=folder)
    finally:
        os.close(folder)


async def _judge(text: str, level: str, call: Call, workers: Workers) -> None:
    """Raises `Denied`, with the body of MGP §7.4 for code that is refused."""
    options = {"level": level, "max_code_size_bytes": SCRIPT_BYTES}
    order = {
        "do": "judge",
        "names": "code_safety",
        "options": {"code_safety": options},
        "pointers": {"code_safety": ["/code"]},
        "tool": "",
    }
    try:
        said, _ = await ordered(workers, call, order, msgspec.json.encode({"code": text}), JUDGE_S)
    except Busy:
        raise Denied(too_busy()) from None
    except Overtime:
        raise _unreadable(f"the script takes more than {JUDGE_S} s to be judged") from None
    if "objection" in said:
        found = msgspec.convert(said["objection"], Objection)
        details = {"validator": "code_safety", "rule": found.rule, **found.details}
        raise Denied(Refusal("code_safety", f"the script {found.message}", details))
    if "names" not in said:
        raise Denied(Refusal("internal", "the script could not be judged"))


def _unreadable(what: str) -> Denied:
    return Denied(Failure("invalid_params", what, {"field": "args.0"}))
