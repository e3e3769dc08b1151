"""Starts a child process with three pipes, a minimal environment and a session of its own; finds the program, explains failures.

A child gets no more of our environment than a program needs to run at all (`INHERITED`), plus what its configuration
gives it. The gateway's own environment holds keys; a tool server must never find them by accident. It gets no
descriptor of ours but its three standard streams, so that when the gateway dies, even by SIGKILL, the kernel closes
the last writing end of each child's standard input, and every child sees end of file, which ends an MCP server.
It leads a session and process group of its own, so that it can be stopped together with whatever it started.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = [
    "INHERITED",
    "CannotStart",
    "CommandNotFound",
    "NoSuchDirectory",
    "NotExecutable",
    "child_environment",
    "launch",
    "locate",
    "start",
]

INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
)
"""What a child inherits without being given it: what the MCP SDKs let through, locale and temporary folder added."""


class CannotStart(Exception):  # noqa: N818 - named after what happened
    """The operating system does not start the program. The message says why and what to do."""


class CommandNotFound(CannotStart):
    """There is no such program."""


class NotExecutable(CannotStart):
    """The file is there, and the operating system cannot or may not run it."""


class NoSuchDirectory(CannotStart):
    """The working directory is not there, or not a directory."""


def child_environment(
    given: Mapping[str, str], inherited: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The whole environment of a child: `given` over what `INHERITED` takes from `inherited` (default: ours)."""
    source = os.environ if inherited is None else inherited
    environment = {
        name: source[name]
        for name in INHERITED
        # An exported shell function is code, not a value.
        if name in source and not source[name].startswith("()")
    }
    environment.setdefault("PATH", os.defpath)
    environment.update(given)
    return environment


def launch(
    command: str, args: Sequence[str], *, env: Mapping[str, str], cwd: str | None
) -> subprocess.Popen[bytes]:
    """Start `command` with three pipes, in a session of its own.

    `command` is a name looked up on the child's PATH, or a path, relative to `cwd` where it is relative.
    Blocks for the milliseconds that the operating system needs to load a program. Raises `CannotStart`.
    """
    environment = child_environment(env)
    if cwd is not None and not Path(cwd).is_dir():
        raise NoSuchDirectory(
            f"the working directory {cwd!r} does not exist; create it or change `cwd`"
        )
    program = locate(command, environment["PATH"], cwd)
    return start([program, *args], env=environment, cwd=cwd)


def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | None,
    descriptors: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a program by its path, with exactly these variables and, besides three pipes, these descriptors. Raises `CannotStart`."""
    program = command[0]
    try:
        return subprocess.Popen(  # noqa: S603 - the command line is the operator's
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env=env,
            close_fds=True,
            pass_fds=descriptors,
            start_new_session=True,
        )
    except OSError as error:
        raise _explained(program, error) from error
    except ValueError as error:
        raise CannotStart(f"{program!r} cannot be started: {error}") from error


def locate(command: str, path: str, cwd: str | None) -> str:
    """The path of the program that a command means. Raises `CannotStart`."""
    if "\0" in command or not command:
        raise CommandNotFound("the command is empty or contains a NUL; set `command` to a program")
    if "/" in command:
        return _at(Path(cwd or "").absolute() / command)
    found = shutil.which(command, path=path)
    if found is not None:
        return str(Path(found).absolute())
    # It is there and cannot be run: to say that it is not would send people looking elsewhere.
    for folder in path.split(os.pathsep):
        if (Path(folder) / command).is_file():
            return _at(Path(folder).absolute() / command)
    raise CommandNotFound(
        f"the command {command!r} is not on PATH; install it, or set `command` to its full path"
    )


def _at(program: Path) -> str:
    if not program.exists():
        raise CommandNotFound(f"there is no file {program}; install it, or correct `command`")
    if not program.is_file() or not os.access(program, os.X_OK):
        raise NotExecutable(
            f"{program} is not an executable file; `chmod +x` it, or run it by its interpreter"
        )
    return str(program)


def _explained(program: str, error: OSError) -> CannotStart:
    if error.errno == errno.ENOEXEC:
        return NotExecutable(
            f"{program} is no program for this machine and has no #! line; run it by its interpreter"
        )
    if error.errno == errno.ENOENT:
        return CommandNotFound(
            f"{program} names an interpreter in its first line that does not exist; install it"
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return NotExecutable(f"{program} may not be run: {error.strerror}; check its permissions")
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return CannotStart(f"{program} cannot be started: too many open files; raise `ulimit -n`")
    return CannotStart(f"{program} cannot be started: {error.strerror}")
